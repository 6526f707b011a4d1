package internet

import (
	"crypto/tls"
	_ "embed"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/bimi/markcert/markcerttest"
	"github.com/diagkit/diagkit/webcheck/hsts"
)

// preloadList is the HSTS preload list of the demo's browsers.
const preloadList = `{"version": "2026-11-01", "source": "made up for the demo", "entries": [
	{"name": "listed.example", "include_subdomains": true, "policy": "bulk-1-year"}]}`

func serveSites(world *diagtest.World) {
	good := withRobots("User-agent: *\nDisallow: /basket\n", goodPage)
	for _, host := range []string{"good.example", "www.good.example"} {
		world.HTTPS(host, withHeader(withHSTS("max-age=63072000; includeSubDomains; preload", good),
			"Content-Security-Policy",
			"default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
			"X-Content-Type-Options", "nosniff", "X-Frame-Options", "DENY", "Referrer-Policy", "strict-origin-when-cross-origin",
			"Permissions-Policy", "camera=(), microphone=(), geolocation=()"))
	}
	for _, site := range [][2]string{
		{"beginner.example", "max-age=300"},
		{"eager.example", "max-age=31536000; includeSubDomains; preload"},
		{"listed.example", "max-age=31536000; includeSubDomains"}, // preload was taken out
	} {
		host, header := site[0], site[1]
		world.HTTPS(host, withHSTS(header, textPage("A web site.")))
		world.HTTP(host, redirectToHTTPS(host))
	}
	// It leads to www before anything else, so that browsers never see its header.
	world.HTTPS("www.eager.example", withHSTS("max-age=31536000", textPage("A web site.")))
	world.HTTP("eager.example", redirectToHTTPS("www.eager.example"))
}

// serveHeaders opens web sites that do less for their visitors than good.example.
func serveHeaders(world *diagtest.World) {
	for _, site := range [][3]string{
		{"basket.example", "Set-Cookie", "sessionid=1f8a; Path=/"},
		{"loose.example", "Content-Security-Policy", "default-src 'self'; script-src 'self' 'unsafe-inline' https:"},
	} {
		world.HTTPS(site[0], withHeader(htmlPage("<!doctype html><title>A shop</title>"), site[1:]...))
		world.HTTP(site[0], redirectToHTTPS(site[0]))
	}
}

// withHeader sends header fields, of which names and values alternate.
func withHeader(h http.Handler, fields ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for field := range slices.Chunk(fields, 2) {
			w.Header().Set(field[0], field[1])
		}
		h.ServeHTTP(w, r)
	})
}

func withHSTS(header string, h http.Handler) http.Handler {
	return withHeader(h, hsts.FieldName, header)
}

func htmlPage(text string) http.Handler { return file("text/html; charset=utf-8", text) }

// goodPage is a page in which crawlers find all they need.
//
//go:embed good.html
var goodPage string

// servePages opens web sites for crawlers with one fault each; see serveSites for the good one.
func servePages(world *diagtest.World) {
	world.HTTPS("hidden.example", withRobots("User-agent: *\nDisallow: /\n", goodPage))
	world.HTTPS("hasty.example", withRobots("", hasty.Replace(goodPage)))
}

// hasty makes a page with typical faults.
var hasty = strings.NewReplacer("https://good.example/", "https://hasty.example/", `"Good Shop"}`, `"Hasty Shop",}`,
	` alt="Our workshop"`, "", "</body>", `<script src="http://cdn.example/slider.js"></script></body>`)

// withRobots serves a page and a robots.txt, unless that is empty.
func withRobots(robots, text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/robots.txt":
			htmlPage(text).ServeHTTP(w, r)
		case robots == "":
			http.NotFound(w, r)
		default:
			textPage(robots).ServeHTTP(w, r)
		}
	})
}

// serveRedirects opens sites that lead elsewhere, most of them with one fault.
func serveRedirects(world *diagtest.World) {
	for _, host := range []string{"good.example", "www.good.example"} {
		world.HTTP(host, redirectToHTTPS(host))
	}
	for _, r := range []struct {
		host   string
		status int
		target string
	}{
		{"sho.example", http.StatusFound, "https://good.example/?utm_source=letter&utm_medium=email"},
		{"careless.example", http.StatusMovedPermanently, "http://careless.example/shop"},
		{"circle.example", http.StatusMovedPermanently, "http://circle.example/"},
		{"inside.example", http.StatusFound, "http://10.0.0.5/admin"},
		{"secret.example", http.StatusFound, "https://shop:hunter2@good.example/"},
	} {
		world.HTTPS(r.host, http.RedirectHandler(r.target, r.status))
	}
	world.HTTP("careless.example", textPage("A shop."))
	world.HTTP("circle.example", redirectToHTTPS("circle.example"))
	world.HTTPS("moved.example", htmlPage(
		`<title>We have moved</title><meta http-equiv="refresh" content="5; url=https://good.example/">`))
}

func redirectToHTTPS(host string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://"+host+r.URL.RequestURI(), http.StatusMovedPermanently)
	})
}

const (
	goodBrand   = "brand.good.example"
	sketchBrand = "brand.sketch.example"
)

// Two logos as drawing programs export them: one with a script and without what SVG Tiny PS asks for, one with a raster
// image, CSS and a position.
var (
	//go:embed sketch.svg
	sketch string
	//go:embed exported.svg
	exported string
)

// authority issues mark certificates. This Internet trusts it.
var authority = markcerttest.New()

// serveBrands publishes logos, and the certificate of the good one, which was issued a month ago.
func serveBrands(world *diagtest.World) {
	mux := http.NewServeMux()
	mux.Handle("/logo.svg", file("image/svg+xml", markcerttest.Logo))
	mux.Handle("/exported.svg", file("image/svg+xml", exported))
	for years, name := range []string{"/mark.pem", "/past.pem"} {
		certificate := authority.Issue(markcerttest.Mark{
			Domains:   []string{"good.example"},
			NotBefore: world.Now().AddDate(-years, -1, 0), NotAfter: world.Now().AddDate(1-years, -1, 0),
		})
		mux.Handle(name, file("application/pem-certificate-chain", certificate))
	}
	world.HTTPS(goodBrand, mux)
	world.HTTPS(sketchBrand, file("image/svg+xml", sketch))
}

const phishingSite = "paypal-secure-login.example"

// servePhishing opens a site that looks like phishing. The brand that it imitates has no site in this world.
func servePhishing(world *diagtest.World) {
	world.HTTPS(phishingSite, htmlPage(
		`<!doctype html><title>PayPal: log in</title><h1>Sign in</h1><form method="post" action="https://collect.example/in">`+
			`<input name="email" type="email"><input name="pw" type="password"><button>Sign in</button></form>`,
	))
}

// serveHarbour opens the web shop and the mail server of a company that looked after neither: the shop still speaks
// TLS 1.0, its certificate ends in five days, visitors stay on http, and its login can be overheard. The certificate
// of the mail server was forgotten.
func serveHarbour(world *diagtest.World) {
	const shop = "harbour.example"
	handler := withHeader(htmlPage(`<!doctype html><title>Harbour Coffee</title><h1>Fresh from the roaster</h1>`),
		"Set-Cookie", "sessionid=5e0c; Path=/")
	world.HTTP(shop, handler)
	cert := world.Certificate(diagtest.CertSpec{
		Names: []string{shop, "www." + shop}, NotBefore: world.Now().AddDate(0, 0, -85),
		NotAfter: world.Now().AddDate(0, 0, 5).Add(6 * time.Hour),
	})
	world.Site(diagtest.Site{Host: shop, Handler: handler, TLS: &tls.Config{
		Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS12, Time: world.Now,
	}})
	world.SMTP(diagtest.SMTP{
		Host: "mail." + shop, Cert: diagtest.CertExpired, Extensions: extensions(), Replies: closedRelay(),
	})
}

func textPage(text string) http.Handler { return file("text/plain", text) }

func file(media, text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		io.WriteString(w, text)
	})
}
