package dashboard

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// A screen is the data of the templates.
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

// May reports whether the visitor may use what needs a role.
func (s *screen) May(role member.Role) bool { return s.Visitor != nil && s.Visitor.May(role) }

// A file is a response that is not shown in the frame.
type file struct {
	media, name string // without a name it is shown inline
	data        []byte
	write       func(io.Writer) error // in place of data, where that is long
}

// render shows data by a template in the frame, or sends a file.
func (d *dashboard) render(w http.ResponseWriter, r *http.Request, name string, data any) error {
	s := sceneOf(r)
	if f, ok := data.(file); ok {
		w.Header().Set("Content-Type", f.media)
		if f.name != "" {
			w.Header().Set("Content-Disposition", `attachment; filename="`+f.name+`"`)
		}
		if f.write != nil {
			if err := f.write(w); err != nil {
				if r.Context().Err() == nil {
					d.Log.Error("dashboard", "page", s.page.pattern, "error", err)
				}
				panic(http.ErrAbortHandler) // a truncated file must not look complete
			}
			return nil
		}
		_, _ = w.Write(f.data) // an error means that the browser has gone
		return nil
	}
	shown := &screen{Title: s.title, Visitor: s.visitor, Form: s.form, Data: data,
		Notice: d.notices[r.URL.Query().Get("notice")]}
	if s.visitor != nil {
		shown.Nav, shown.Path = d.navigation(r.URL.Path)
	}
	var body, whole bytes.Buffer
	if err := d.templates().ExecuteTemplate(&body, name+".html", shown); err != nil {
		return err
	}
	shown.Body = template.HTML(body.String()) // which its template has escaped
	if err := d.templates().ExecuteTemplate(&whole, "layout.html", shown); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(s.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(whole.Bytes()) // as above
	}
	return nil
}

// navigation is all that it has, and which of it a path belongs to.
func (d *dashboard) navigation(at string) (all []place, current string) {
	switch {
	case strings.HasPrefix(at, "/dashboard/domains/"):
		at = "/dashboard"
	case strings.HasPrefix(at, "/dashboard/deliveries/"):
		at = "/dashboard/channels"
	}
	for _, p := range d.pages {
		if p.nav == "" {
			continue
		}
		all = append(all, place{p.pattern, p.nav})
		if at == p.pattern || p.pattern != "/dashboard" && strings.HasPrefix(at, p.pattern+"/") {
			current = p.pattern
		}
	}
	return all, current
}

// see sends the browser on to a path below /dashboard of this very site, with a notice of the table.
func see(w http.ResponseWriter, path, notice string) {
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

// redirectable returns an address that is valid in a header and leads to no other site.
func redirectable(to string) bool {
	odd := func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }
	return strings.HasPrefix(to, "/dashboard") && !strings.Contains(to, "//") && !strings.ContainsFunc(to, odd)
}

// functions are those of the templates.
func (d *dashboard) functions() template.FuncMap {
	return template.FuncMap{
		"when":      func(t any) template.HTML { return d.when(t, relative) },
		"date":      func(t any) template.HTML { return d.when(t, nil) },
		"number":    func(n any) string { return message.NewPrinter(language.English).Sprint(n) },
		"money":     money,
		"count":     func(n any, word string) string { return diag.Count(reflect.ValueOf(n).Int(), word) },
		"printable": render.Printable,
		"says":      d.says,
		"span":      diag.Span,
		"join":      joined,
		"operation": operationName,
		"took":      took,
		"percent":   percent,
		"whole":     whole,
		"name":      domainName,
		"sign":      func(m view.Mark) string { return signs[m] },
		"wrong":     d.wrong,
		"covered":   covered,
		"counted":   tallied,
		"standing":  standing,
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

// relative describes how far away an instant is.
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

// A form holds the submitted or initial values of fields, and their faults.
type form struct {
	values url.Values
	known  []string // the fields next to which faults are shown
	faults map[string]string
}

// refused reports whether an error, or one of several, is about the form, and records the faults.
func (f *form) refused(err error) bool {
	list := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		list = joined.Unwrap()
	}
	f.faults = map[string]string{}
	for _, err := range list {
		if e, ok := errors.AsType[*metering.FieldError](err); ok {
			field, _, _ := strings.Cut(e.Field, "[") // of a list, one of its values
			f.faults[field] = e.Reason
		} else if e, ok := errors.AsType[*refusal](err); ok {
			f.faults[""] = e.reason
		}
	}
	return len(f.faults) > 0
}

// A refusal is the reason why an action was refused, in words for the member.
type refusal struct{ reason string }

func (e *refusal) Error() string { return e.reason }

// begin sets the initial values of a form that was not submitted yet.
func (f *form) begin(values url.Values) {
	if f.values == nil {
		f.values = values
	}
}

// wordsOf are values as a form sends them.
func wordsOf[S ~string](list []S) []string {
	return diag.Map(list, func(s S) string { return string(s) })
}

// Value returns the value of a field.
func (f *form) Value(field string) string { return f.values.Get(field) }

// Has reports whether a field has a value, among possibly several.
func (f *form) Has(field string, value any) bool {
	return slices.Contains(f.values[field], fmt.Sprint(value))
}

// Invalid are the attributes of an input whose field has a fault.
func (f *form) Invalid(field string) template.HTMLAttr {
	if f.faults[field] == "" {
		return ""
	}
	return template.HTMLAttr(` aria-invalid="true" aria-describedby="` + field + `-fault"`) // field is our own word
}

// Fault returns the fault of a field, to be shown next to it.
func (f *form) Fault(field string) template.HTML {
	reason := f.faults[field]
	if reason == "" {
		return ""
	}
	return template.HTML(`<p class="fault" id="` + field + `-fault">` + template.HTMLEscapeString(reason) + `</p>`)
}

// Faults counts the faults.
func (f *form) Faults() int { return len(f.faults) }

// Others are the faults of no field of the page.
func (f *form) Others() (list []string) {
	for field, reason := range f.faults {
		if !slices.Contains(f.known, field) {
			list = append(list, reason)
		}
	}
	slices.Sort(list)
	return list
}
