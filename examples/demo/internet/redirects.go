package internet

import (
	"net/http"

	"github.com/diagkit/diagkit/diag/diagtest"
)

// serveRedirects opens sites that lead elsewhere, most of them with one fault.
func serveRedirects(world *diagtest.World) {
	for _, host := range []string{"good.example", "www.good.example"} {
		world.HTTP(host, toHTTPS(host))
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
	world.HTTP("careless.example", page("A shop."))
	world.HTTP("circle.example", toHTTPS("circle.example"))
	world.HTTPS("moved.example", file("text/html; charset=utf-8",
		`<title>We have moved</title><meta http-equiv="refresh" content="5; url=https://good.example/">`))
}

// toHTTPS redirects a host to its likeness with https.
func toHTTPS(host string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://"+host+r.URL.RequestURI(), http.StatusMovedPermanently)
	})
}
