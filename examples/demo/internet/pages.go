package internet

import (
	"io"
	"net/http"
	"strings"

	"github.com/diagkit/diagkit/diag/diagtest"
)

// goodPage is a page in which crawlers find all they need.
const goodPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Bicycle repair in Sampletown | Good Shop</title>
<meta name="description" content="All makes, two days, with a bicycle on loan while you wait for yours.">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="canonical" href="https://good.example/">
<script type="application/ld+json">{"@context": "https://schema.org", "@type": "BicycleStore", "name": "Good Shop"}</script>
</head>
<body>
<h1>Bicycle repair in Sampletown</h1>
<p>We repair bicycles of all makes in our workshop, usually within two days, and lend you one while you wait for yours.
Bring it in the morning without an appointment: we look at it together, tell you what it will cost, and begin at once.</p>
<p>Tyres, brakes and chains are in stock. Parts that we have to order arrive on the next working day.</p>
<p><a href="/prices">Prices</a> <a href="https://example.com/" rel="nofollow">Partner</a></p>
<img src="/shop.jpg" alt="Our workshop">
</body>
</html>
`

// servePages opens web sites for crawlers with one fault each; see serveSites for the good one.
func servePages(world *diagtest.World) {
	world.HTTPS("hidden.example", crawled("User-agent: *\nDisallow: /\n", goodPage))
	world.HTTPS("hasty.example", crawled("", hasty.Replace(goodPage)))
}

// hasty makes a page with the faults of one that was made in a hurry.
var hasty = strings.NewReplacer("https://good.example/", "https://hasty.example/", `"Good Shop"}`, `"Hasty Shop",}`,
	` alt="Our workshop"`, "", "</body>", `<script src="http://cdn.example/slider.js"></script></body>`)

// crawled serves a page and a robots.txt, unless that is empty.
func crawled(robots, html string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/robots.txt":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, html)
		case robots == "":
			http.NotFound(w, r)
		default:
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, robots)
		}
	})
}
