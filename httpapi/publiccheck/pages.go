package publiccheck

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/internal/ui"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/diagkit/diagkit/metering/budget"
)

//go:embed templates
var files embed.FS

var templates = sync.OnceValue(func() *template.Template {
	return ui.Templates(template.FuncMap{
		"markOf": view.MarkOf,
		"symbol": func(m view.Mark) string { return markSymbols[m] },
		"detail": render.DetailWithTarget,
		"count":  func(n int, noun string) string { return phrase.Count(n, noun) },
	}, files, "templates/*.html")
})

// markSymbols are the signs of marks.
var markSymbols = map[view.Mark]string{
	view.Critical: "✖", view.Error: "✖", view.Warning: "▲", view.Unknown: "?", view.Info: "·", view.Good: "✔",
	view.Optional: "–",
}

// The most findings and steps that a page lists: some pages have to fit into [budget.PublicPages].
const (
	maxFindings = 60
	maxSteps    = 40
)

// A report is the result of a check as its page shows it.
type report struct {
	Mark          view.Mark
	Headline, Sub string
	Counts        string // how many findings there are of each severity
	Coverage      string // how many checks have a result
	Body          template.HTML
	busy          bool // whether a check had no result because the server had no room for it
}

// body is the data of the template that makes the page of a report, below its headline.
type body struct {
	*view.View
	First, Later            []step
	MoreSteps, MoreFindings int // that are not listed
}

// A step is one of the plan.
type step struct {
	view.Step
	Number int
	Note   string // who can take it, by when, and after which
}

// firstSteps is how many steps a page shows, which has the others in a part that can be opened.
const firstSteps = 3

// newReport returns the result of all checks of a domain.
func newReport(w *target.Whole) (*report, error) {
	v := w.View()
	known, all := w.Coverage()
	r := &report{Mark: v.Mark(), Headline: render.Printable(v.Headline), Sub: render.Printable(v.Sub),
		Counts:   strings.ReplaceAll(v.Counts, "  ", ", "),
		Coverage: fmt.Sprintf("%d of %s", known, phrase.Count(all, "check"))}
	for _, p := range w.Parts {
		r.busy = r.busy || errors.Is(p.Err, budget.ErrFull)
	}
	b := &body{View: v, MoreSteps: max(0, len(v.Steps)-maxSteps), MoreFindings: max(0, len(v.Findings)-maxFindings)}
	v.Findings = v.Findings[:len(v.Findings)-b.MoreFindings]
	for i, s := range v.Steps[:len(v.Steps)-b.MoreSteps] {
		listed := step{s, i + 1, s.Note(v.Steps)}
		if i < firstSteps {
			b.First = append(b.First, listed)
		} else {
			b.Later = append(b.Later, listed)
		}
	}
	var text bytes.Buffer
	if err := templates().ExecuteTemplate(&text, "report", b); err != nil {
		return nil, err
	}
	r.Body = template.HTML(text.String()) // which its template has escaped
	return r, nil
}

// pageData is the data of a page.
type pageData struct {
	ui.Layout
	Word    string // of the field
	Fault   string // of it
	Problem string // why there is no result
	Domain  string // that was entered
	Running bool
	Waiting string // checks that run
	Report  *report
	EndedAt time.Time
	Age     string // since then
	Watch   string // where a member watches the domain
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", ui.ScriptPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("X-Robots-Tag", "noindex, nofollow")
	header.Set("Cache-Control", "no-store")
	h.mux.ServeHTTP(w, r)
}

// maxForm bounds the body of a form.
const maxForm = 4 << 10

// start starts the check of the domain of a form.
func (h *Handler) start(w http.ResponseWriter, r *http.Request) {
	if h.origins.Check(r) != nil {
		h.render(w, r, http.StatusForbidden, &pageData{Problem: "This request comes from another site."})
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		status := http.StatusBadRequest
		if _, tooLong := errors.AsType[*http.MaxBytesError](err); tooLong {
			status = http.StatusRequestEntityTooLarge
		}
		h.render(w, r, status, &pageData{Problem: "The form could not be read."})
		return
	}
	word := r.PostForm.Get("domain")
	t, domain, fault := parse(word)
	if fault != "" {
		h.render(w, r, http.StatusUnprocessableEntity, &pageData{Word: phrase.Clip(word, maxName), Fault: fault})
		return
	}
	refused := h.begin(t, httpapi.ClientIP(r, h.TrustedProxies))
	if refused == nil {
		w.Header().Set("Location", "/check?"+url.Values{"domain": {t.Text}}.Encode())
		w.WriteHeader(http.StatusSeeOther)
		return
	}
	seconds := int(math.Ceil(refused.retryAfter.Seconds()))
	w.Header().Set("Retry-After", strconv.Itoa(max(1, seconds)))
	page, status := &pageData{Word: domain.Unicode()}, http.StatusServiceUnavailable
	page.Problem = "All places for checks are taken. Try again in " + phrase.Count(seconds, "second") + "."
	if refused.rate {
		status = http.StatusTooManyRequests
		page.Problem = fmt.Sprintf("Your network can start %d checks per hour. Try again in %s, or sign in.",
			budget.Of(budget.PublicChecks).Network, phrase.Duration(refused.retryAfter.Round(time.Minute)+time.Minute))
	}
	h.render(w, r, status, page)
}

// show shows the field, the progress of a check, or its result.
func (h *Handler) show(w http.ResponseWriter, r *http.Request) {
	word := r.URL.Query().Get("domain")
	if word == "" {
		h.render(w, r, http.StatusOK, &pageData{})
		return
	}
	t, domain, fault := parse(word)
	if fault != "" {
		h.render(w, r, http.StatusUnprocessableEntity, &pageData{Word: phrase.Clip(word, maxName), Fault: fault})
		return
	}
	found, ok := h.lookUp(t.Text)
	if ok && found.ended.IsZero() && r.Method == http.MethodGet {
		timer := time.NewTimer(waitTime)
		defer timer.Stop()
		select {
		case <-found.done:
		case <-timer.C:
		case <-r.Context().Done():
			return // the browser has gone
		}
		found, ok = h.lookUp(t.Text)
	}
	page := &pageData{Word: domain.Unicode(), Domain: domain.Unicode(), Problem: found.problem, Report: found.report,
		Watch: "/dashboard/check?" + url.Values{"domain": {t.Text}}.Encode()}
	switch {
	case !ok:
		page.Domain = ""
	case found.ended.IsZero():
		page.Running, page.Waiting = true, strings.Join(found.waiting, ", ")
		w.Header().Set("Refresh", strconv.Itoa(int(refreshTime/time.Second))) // without JavaScript
	default:
		page.Word, page.EndedAt, page.Age = "", found.ended.UTC(), "just now"
		if age := h.now().Sub(found.ended); age >= time.Minute {
			page.Age = phrase.Count(int(age/time.Minute), "minute") + " ago"
		}
	}
	h.render(w, r, http.StatusOK, page)
}

// form is the field with its fault.
func (p *pageData) Form() *ui.Form {
	form := &ui.Form{Values: url.Values{"domain": {render.Printable(p.Word)}}, Known: []string{"domain"}}
	if p.Fault != "" {
		form.Faults = map[string]string{"domain": p.Fault}
	}
	return form
}

func (h *Handler) render(w http.ResponseWriter, r *http.Request, status int, data *pageData) {
	title := "Check a domain"
	switch {
	case data.Running:
		title = "Checking " + data.Domain
	case data.Domain != "":
		title = "Check of " + data.Domain
	}
	data.Layout = ui.Layout{Title: render.Printable(title), Kind: "narrow", Home: "/", Style: "/docs/style.css",
		Icon: "/docs/icon.svg", Script: "/docs/docs.js"}
	page, err := ui.Render(templates(), "check.html", data)
	if err != nil {
		h.Log.Error("writing a page", "error", err)
		http.Error(w, "The page could not be made.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(page) // an error means that the browser has gone
	}
}
