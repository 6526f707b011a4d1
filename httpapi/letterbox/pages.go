package letterbox

import (
	"bytes"
	_ "embed" // for template and style
	"html/template"
	"net/http"

	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/httpapi"
)

// policy allows a page its style, and nothing else.
const policy = "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

var (
	//go:embed letterbox.html
	pageText string
	//go:embed style.css
	styleText string
	page      = template.Must(template.New("").Parse(pageText))
)

// ServeHTTP implements [http.Handler].
func (b *Box) ServeHTTP(w http.ResponseWriter, r *http.Request) { b.pages.ServeHTTP(w, r) }

// Patterns are those of its pages, as [httpapi.Mux] has them.
func (b *Box) Patterns() []string { return b.mux.Patterns() }

func (b *Box) newPages() http.Handler {
	mux := &b.mux
	mux.HandleFunc("GET /letterbox", func(w http.ResponseWriter, _ *http.Request) { b.show(w, http.StatusOK, content{}) })
	mux.HandleFunc("POST /letterbox", b.hand)
	mux.HandleFunc("GET /letterbox/{token}", func(w http.ResponseWriter, r *http.Request) {
		l, ok := b.open(r.PathValue("token"))
		if !ok {
			b.show(w, http.StatusNotFound, content{Problem: "This address does not exist, or is forgotten by now."})
			return
		}
		c := content{Letter: &l, View: template.HTML(l.Report)} // as render.HTML has escaped it
		if c.Wait = l.State == waiting || l.State == analyzing; c.Wait {
			w.Header().Set("Refresh", "5") // without JavaScript
		}
		b.show(w, http.StatusOK, c)
	})
	mux.Handle("GET /letterbox/style.css",
		httpapi.NewFile("text/css; charset=utf-8", []byte(render.Style+styleText)))
	own := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer") // the path is a secret
		h.Set("X-Robots-Tag", "noindex, nofollow")
		h.Set("Cache-Control", "no-store")
		own.ServeHTTP(w, r)
	})
}

// content is the data of a page: a problem, a letter, or the button alone.
type content struct {
	Problem string
	Letter  *letter
	View    template.HTML
	Wait    bool // until the letter has a result
}

// hand makes an address for the visitor.
func (b *Box) hand(w http.ResponseWriter, r *http.Request) {
	token, ok := b.create(httpapi.ClientIP(r, b.TrustedProxies))
	if ok {
		http.Redirect(w, r, "/letterbox/"+token, http.StatusSeeOther)
		return
	}
	w.Header().Set("Retry-After", "600")
	b.show(w, http.StatusTooManyRequests, content{Problem: "Ten addresses an hour are the most. Try again later."})
}

func (b *Box) show(w http.ResponseWriter, status int, c content) {
	var body bytes.Buffer
	if err := page.Execute(&body, c); err != nil {
		b.Log.Error("writing a page", "error", err)
		http.Error(w, "The page could not be made.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = body.WriteTo(w)
}
