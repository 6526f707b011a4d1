package dashboard

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// A screen is what the templates show.
type screen struct {
	Title   string
	Path    string // of the page in the navigation that this one belongs to
	Nav     []place
	Visitor *visitor // nil without a session
	Form    *form
	Notice  string
	Data    any
	Body    template.HTML // in the layout
}

// A place is a page in the navigation.
type place struct{ Path, Title string }

// May reports whether who looks may do what needs a role.
func (s *screen) May(role member.Role) bool { return s.Visitor != nil && s.Visitor.May(role) }

// titled is in data that knows the title of its page better than the table does.
type titled string

// Title is that of the page.
func (t titled) Title() string { return string(t) }

// render shows a template in the frame.
func (d *dashboard) render(w http.ResponseWriter, r *http.Request, name string, data any) error {
	return d.renderStatus(w, r, sceneOf(r).status, name, data)
}

// renderStatus is render with a status of its own.
func (d *dashboard) renderStatus(w http.ResponseWriter, r *http.Request, status int, name string, data any) error {
	s := sceneOf(r)
	view := &screen{Title: s.page.title, Visitor: s.visitor, Form: s.form, Data: data,
		Notice: notices[r.URL.Query().Get("notice")]}
	if t, ok := data.(interface{ Title() string }); ok && t.Title() != "" {
		view.Title = t.Title()
	}
	if s.visitor != nil {
		view.Nav, view.Path = d.navigation(r.URL.Path)
	}
	var body, whole bytes.Buffer
	if err := d.templates().ExecuteTemplate(&body, name+".html", view); err != nil {
		return err
	}
	view.Body = template.HTML(body.String()) // which its template has escaped
	if err := d.templates().ExecuteTemplate(&whole, "layout.html", view); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(whole.Bytes()) // an error means that the browser has gone
	}
	return nil
}

// navigation is all that it has, and which of it a path belongs to.
func (d *dashboard) navigation(at string) (all []place, current string) {
	for _, p := range d.pages {
		if p.nav == "" {
			continue
		}
		all = append(all, place{p.pattern, p.nav})
		if (at == p.pattern || strings.HasPrefix(at, p.pattern+"/")) && len(p.pattern) > len(current) {
			current = p.pattern
		}
	}
	return all, current
}

// see sends the browser on, with a notice of the table.
func (d *dashboard) see(w http.ResponseWriter, r *http.Request, path, notice string) {
	if !redirectable(path) {
		path = "/dashboard"
	}
	if notice != "" {
		mark := "?"
		if strings.Contains(path, "?") {
			mark = "&"
		}
		path += mark + url.Values{"notice": {notice}}.Encode()
	}
	w.Header().Set("Location", path)
	w.WriteHeader(http.StatusSeeOther)
}

// A problem is an error page.
type problem struct{ Heading, Text string }

// Title implements titled.
func (p problem) Title() string { return p.Heading }

// missing says that there is nothing, which is also said of what belongs to others.
func (d *dashboard) missing(w http.ResponseWriter, r *http.Request) {
	d.fail(w, r, metering.ErrNotFound)
}

func (d *dashboard) forbid(w http.ResponseWriter, r *http.Request) {
	needed := sceneOf(r).page.role
	_ = d.renderStatus(w, r, http.StatusForbidden, "error", problem{"Not allowed", fmt.Sprintf(
		"This needs the role %s. An owner of the account can change roles on the page of members.", needed)})
}

// fail shows what went wrong. Of what is not the visitor's own fault the page says little, and the log all.
func (d *dashboard) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, p := http.StatusInternalServerError, problem{"Something went wrong",
		"The server could not do this. Try again; if it happens again, tell who runs the server when it did."}
	field, isField := errors.AsType[*metering.FieldError](err)
	switch {
	case isField:
		status = http.StatusUnprocessableEntity
		p = problem{"Not possible", diag.Upper(field.Field) + " " + field.Reason + "."}
	case errors.Is(err, metering.ErrNotFound):
		status, p = http.StatusNotFound, problem{"Page not found", "There is nothing at this address, or no longer."}
	case errors.Is(err, metering.ErrUnavailable):
		status = http.StatusServiceUnavailable
		p = problem{"Not available", "The server cannot read or write what it keeps. Try again in a moment."}
	case r.Context().Err() != nil:
		return // the browser has gone
	}
	if status >= http.StatusInternalServerError {
		d.Log.Error("dashboard", "page", sceneOf(r).page.pattern, "error", err)
	}
	if err := d.renderStatus(w, r, status, "error", p); err != nil {
		d.Log.Error("dashboard", "page", "error", "error", err)
		http.Error(w, p.Heading, status)
	}
}

// functions are those of the templates.
func (d *dashboard) functions() template.FuncMap {
	return template.FuncMap{
		"when":      func(t any) template.HTML { return d.when(t, relative) },
		"date":      func(t any) template.HTML { return d.when(t, nil) },
		"number":    func(n any) string { return message.NewPrinter(language.English).Sprint(n) },
		"money":     money,
		"count":     func(n int, word string) string { return diag.Count(n, word) },
		"printable": render.Printable,
		"says":      says,
		"span":      diag.Span,
		"join":      joined,
		"words":     func(s any) string { return strings.ReplaceAll(fmt.Sprint(s), "_", " ") },
		"upper":     diag.Upper,
	}
}

// joined writes a list whose elements have no spaces.
func joined(list any) string {
	return strings.Join(strings.Fields(strings.Trim(fmt.Sprint(list), "[]")), ", ")
}

// money writes minor units of a currency.
func money(cents int64, currency string) string {
	sign := ""
	if cents < 0 {
		sign, cents = "-", -cents
	}
	return message.NewPrinter(language.English).Sprintf("%s%d.%02d %s", sign, cents/100, cents%100, currency)
}

// when writes an instant in UTC, and in words how far away it is. A zero or nil time is a dash.
func (d *dashboard) when(at any, words func(time.Duration) string) template.HTML {
	var t time.Time
	switch v := at.(type) {
	case time.Time:
		t = v
	case *time.Time:
		if v != nil {
			t = *v
		}
	}
	if t.IsZero() {
		return "–"
	}
	t = t.UTC()
	text := fmt.Sprintf(`<time datetime="%s">%s</time>`, t.Format(time.RFC3339), t.Format("2006-01-02 15:04 UTC"))
	if words != nil {
		text += " <small>" + words(t.Sub(d.now())) + "</small>"
	}
	return template.HTML(text) // which holds digits and our own words alone
}

// relative says how far away an instant is.
func relative(ahead time.Duration) string {
	away, text := ahead.Abs(), ""
	switch {
	case away < time.Minute:
		return "now"
	case away < time.Hour:
		text = diag.Count(int(away/time.Minute), "minute")
	case away < 48*time.Hour:
		text = diag.Count(int(away/time.Hour), "hour")
	default:
		text = diag.Count(int(away/(24*time.Hour)), "day")
	}
	if ahead > 0 {
		return "in " + text
	}
	return text + " ago"
}
