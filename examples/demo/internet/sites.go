package internet

import (
	"net/http"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/webcheck/hsts"
)

// preloadList is what the browsers of the demo have on their list.
const preloadList = `{"version": "2026-11-01", "source": "made up for the demo", "entries": [
	{"name": "listed.example", "include_subdomains": true, "policy": "bulk-1-year"}]}`

// serveSites opens web sites whose headers differ.
func serveSites(world *diagtest.World) {
	good := crawled("User-agent: *\nDisallow: /basket\n", goodPage)
	for _, host := range []string{"good.example", "www.good.example"} {
		world.HTTPS(host, protected(secured("max-age=63072000; includeSubDomains; preload", good)))
	}
	for _, site := range [][2]string{
		{"beginner.example", "max-age=300"},
		{"eager.example", "max-age=31536000; includeSubDomains; preload"},
		{"listed.example", "max-age=31536000; includeSubDomains"}, // preload was taken out
	} {
		host, header := site[0], site[1]
		world.HTTPS(host, secured(header, page("A web site.")))
		world.HTTP(host, toHTTPS(host))
	}
	// It leads to www before anything else, so that browsers never see its header.
	world.HTTPS("www.eager.example", secured("max-age=31536000", page("A web site.")))
	world.HTTP("eager.example", toHTTPS("www.eager.example"))
}

// serveHeaders opens web sites that do less for their visitors than good.example.
func serveHeaders(world *diagtest.World) {
	for _, site := range [][3]string{
		{"basket.example", "Set-Cookie", "sessionid=1f8a; Path=/"},
		{"loose.example", "Content-Security-Policy", "default-src 'self'; script-src 'self' 'unsafe-inline' https:"},
	} {
		host := site[0]
		world.HTTPS(host, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(site[1], site[2])
			file("text/html; charset=utf-8", "<!doctype html><title>A shop</title>").ServeHTTP(w, r)
		}))
		world.HTTP(host, toHTTPS(host))
	}
}

// protected sends the header fields that protect visitors.
func protected(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Content-Security-Policy": "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
			"X-Content-Type-Options":  "nosniff",
			"X-Frame-Options":         "DENY",
			"Referrer-Policy":         "strict-origin-when-cross-origin",
			"Permissions-Policy":      "camera=(), microphone=(), geolocation=()",
		} {
			w.Header().Set(name, value)
		}
		h.ServeHTTP(w, r)
	})
}

// secured sends the header of HSTS with each answer.
func secured(header string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(hsts.FieldName, header)
		h.ServeHTTP(w, r)
	})
}
