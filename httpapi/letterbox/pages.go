package letterbox

import (
	"embed"
	"html/template"
	"net/http"
	"sync"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/internal/ui"
)

//go:embed letterbox.html
var files embed.FS

var templates = sync.OnceValue(func() *template.Template { return ui.Templates(nil, files, "letterbox.html") })

// ServeHTTP implements [http.Handler].
func (b *Box) ServeHTTP(w http.ResponseWriter, r *http.Request) { b.pages.ServeHTTP(w, r) }

// Patterns returns those of its pages, as [httpapi.Mux] has them.
func (b *Box) Patterns() []string { return b.mux.Patterns() }

func (b *Box) newPages() http.Handler {
	mux := &b.mux
	mux.HandleFunc("GET /letterbox", func(w http.ResponseWriter, _ *http.Request) {
		b.render(w, http.StatusOK, pageData{})
	})
	mux.HandleFunc("POST /letterbox", b.createAddress)
	mux.HandleFunc("GET /letterbox/{token}", func(w http.ResponseWriter, r *http.Request) {
		l, ok := b.lookUp(r.PathValue("token"))
		if !ok {
			b.render(w, http.StatusNotFound, pageData{Problem: "This address does not exist or has expired."})
			return
		}
		c := pageData{Letter: &l, View: template.HTML(l.Report)} // as render.HTML has escaped it
		if c.Waiting = l.State == waiting || l.State == analyzing; c.Waiting {
			w.Header().Set("Refresh", "5") // without JavaScript
		}
		b.render(w, http.StatusOK, c)
	})
	mux.Handle("GET /letterbox/style.css", httpapi.NewFile("text/css; charset=utf-8", ui.Style()))
	mux.Handle("GET /letterbox/script.js", httpapi.NewFile("text/javascript; charset=utf-8", ui.Script()))
	mux.Handle("GET /letterbox/icon.svg", httpapi.NewFile("image/svg+xml", ui.Icon()))
	own := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", ui.ScriptPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer") // the path is a secret
		h.Set("X-Robots-Tag", "noindex, nofollow")
		h.Set("Cache-Control", "no-store")
		own.ServeHTTP(w, r)
	})
}

// pageData is the data of a page: a problem, a letter, or the button alone.
type pageData struct {
	ui.Layout
	Problem string
	Letter  *letter
	View    template.HTML
	Waiting bool // until the letter has a result
}

// createAddress makes an address for the visitor.
func (b *Box) createAddress(w http.ResponseWriter, r *http.Request) {
	token, ok := b.newAddress(httpapi.ClientIP(r, b.TrustedProxies))
	if ok {
		http.Redirect(w, r, "/letterbox/"+token, http.StatusSeeOther)
		return
	}
	w.Header().Set("Retry-After", "600")
	b.render(w, http.StatusTooManyRequests, pageData{Problem: "You can create ten addresses per hour. Try again later."})
}

func (b *Box) render(w http.ResponseWriter, status int, data pageData) {
	data.Layout = ui.Layout{Title: "Letter box", Kind: "narrow", Home: "/", Style: "/letterbox/style.css",
		Icon: "/letterbox/icon.svg", Script: "/letterbox/script.js"}
	page, err := ui.Render(templates(), "letterbox.html", &data)
	if err != nil {
		b.Log.Error("writing a page", "error", err)
		http.Error(w, "The page could not be made.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(page) // an error means that the browser has gone
}
