package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"html/template"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi/internal/ui"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// A pageData is the data of the templates.
type pageData struct {
	ui.Layout
	Path    string // of the page in the navigation that this one belongs to
	Nav     []navGroup
	Session *session // nil without a session
	Form    *ui.Form
	Notice  string
	Refresh template.HTML // what loads the page again where there is no script; may be empty
	Data    any
}

// A navItem is a page in the navigation.
type navItem struct{ Path, Title string }

// A navGroup is a part of the navigation.
type navGroup struct {
	Title string
	Items []navItem
}

// navGroups are the groups, and the paths of their pages. A page that is in none of them is of the account.
var navGroups = []struct{ title, paths string }{
	{"Domains", "/dashboard /dashboard/channels /dashboard/shares /dashboard/spf"},
	{"API", "/dashboard/playground /dashboard/keys /dashboard/usage /dashboard/activity"},
	{"Account", ""},
}

// May reports whether the visitor may use what needs a role.
func (s *pageData) May(role member.Role) bool { return s.Session != nil && s.Session.May(role) }

// A file is a response that is not shown in the layout.
type file struct {
	media, name string // without a name it is shown inline
	data        []byte
	write       func(io.Writer) error // in place of data, where that is long
}

// render shows data by a template in the layout, or sends a file.
func (d *dashboard) render(w http.ResponseWriter, r *http.Request, name string, data any) error {
	s := stateOf(r)
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
		w.WriteHeader(s.status)
		_, _ = w.Write(f.data) // an error means that the browser has gone
		return nil
	}
	notice := cmp.Or(s.notice, d.notices[r.URL.Query().Get("notice")])
	page := &pageData{Session: s.session, Form: s.form, Data: data, Notice: notice,
		Layout: ui.Layout{Title: s.title, Kind: "wide", Home: "/dashboard", Style: "/dashboard/style.css",
			Icon: "/dashboard/icon.svg", Script: "/dashboard/script.js"}}
	if s.poll != "" {
		page.Refresh = template.HTML(`<noscript><meta http-equiv="refresh" content="2;url=` +
			template.HTMLEscapeString(s.poll) + `"></noscript>`)
	}
	if s.session == nil { // as other pages for visitors
		page.Kind, page.Home = "narrow", "/"
	} else {
		page.Nav, page.Path = d.navigation(r.URL.Path)
	}
	html, err := ui.Render(d.templates(), name+".html", page)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(s.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(html) // as above
	}
	return nil
}

// navigation returns the groups of the navigation, and the path of the item that a page belongs to.
func (d *dashboard) navigation(path string) (groups []navGroup, current string) {
	switch {
	case strings.HasPrefix(path, "/dashboard/domains/"):
		path = "/dashboard"
	case strings.HasPrefix(path, "/dashboard/deliveries/"):
		path = "/dashboard/channels"
	}
	for _, g := range navGroups {
		groups = append(groups, navGroup{Title: g.title})
	}
	for _, p := range d.pages {
		if p.nav == "" {
			continue
		}
		i := 0
		for i < len(groups)-1 && !slices.Contains(strings.Fields(navGroups[i].paths), p.pattern) {
			i++
		}
		groups[i].Items = append(groups[i].Items, navItem{p.pattern, p.nav})
		if path == p.pattern || p.pattern != "/dashboard" && strings.HasPrefix(path, p.pattern+"/") {
			current = p.pattern
		}
	}
	return groups, current
}

// redirect sends the browser on to a path below /dashboard of this very site, with a notice of the table.
func redirect(w http.ResponseWriter, path, notice string) {
	if !isLocalPath(path) {
		path = "/dashboard"
	}
	if notice != "" {
		before, fragment, hasFragment := strings.Cut(path, "#")
		separator := "?"
		if strings.Contains(before, "?") {
			separator = "&"
		}
		path = before + separator + url.Values{"notice": {notice}}.Encode()
		if hasFragment {
			path += "#" + fragment
		}
	}
	w.Header().Set("Location", path)
	w.WriteHeader(http.StatusSeeOther)
}

// isLocalPath reports whether an address is valid in a header and leads to no other site.
func isLocalPath(path string) bool {
	unsafe := func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }
	return strings.HasPrefix(path, "/dashboard") && !strings.Contains(path, "//") && !strings.ContainsFunc(path, unsafe)
}

// templateFuncs are those of the templates.
func (d *dashboard) templateFuncs() template.FuncMap {
	return template.FuncMap{
		"timeago":     func(t any) template.HTML { return d.formatTime(t, relativeTime) },
		"clock":       clock,
		"textIf":      func(is bool, then, otherwise string) string { return cmp.Or(view.TextIf(is, then), otherwise) },
		"date":        func(t any) template.HTML { return d.formatTime(t, nil) },
		"ago":         d.formatDistance,
		"day":         func(t time.Time) string { return t.UTC().Format(time.DateOnly) },
		"money":       formatMoney,
		"monthName":   monthName,
		"thousand":    thousandCents,
		"taxRate":     formatTaxRate,
		"count":       formatCount,
		"finding":     d.findingTitle,
		"duration":    phrase.Duration,
		"join":        joinList,
		"operation":   operationName,
		"latency":     formatLatency,
		"percent":     percent,
		"bound":       formatBound,
		"displayName": displayName,
		"symbol":      func(m view.Mark) string { return markSymbols[m] },
		"summary":     d.summary,
		"coverage":    coverage,
		"severities":  severityCounts,
		"severity":    func(s diag.Severity) string { return markSymbols[view.MarkOf(s)] },
		"left":        leftText,
		"series":      func(list []string) string { return phrase.Series(list, 6) },
		"deadline": func(t time.Time) string {
			return view.Date(t) + " (" + relativeTime(t.Sub(d.now())) + ")"
		},
		"facts":      view.Join,
		"lines":      func(list []string) string { return strings.Join(list, "\n") },
		"watchState": stateText,
		"actText":    actText,
		"words":      func(s any) string { return strings.ReplaceAll(fmt.Sprint(s), "_", " ") },
		"categories": categoryNames,
		"events":     channelEvents,
		"capitalize": phrase.Capitalize,
	}
}

// formatNumber writes a number such as 10,000.
func formatNumber[N int | int64](n N) string { return message.NewPrinter(language.English).Sprint(n) }

// formatCount writes a number with its noun, such as 10,000 domains.
func formatCount(n any, noun string) string {
	_, noun, _ = strings.Cut(phrase.Count(reflect.ValueOf(n).Int(), noun), " ")
	return message.NewPrinter(language.English).Sprint(n) + " " + noun
}

// joinList writes a list whose elements have no spaces.
func joinList(list any) string {
	return strings.Join(strings.Fields(strings.Trim(fmt.Sprint(list), "[]")), ", ")
}

// formatMoney writes minor units of a currency.
func formatMoney(cents int64, currency string) string {
	sign := ""
	if cents < 0 {
		sign, cents = "-", -cents
	}
	return message.NewPrinter(language.English).Sprintf("%s%d.%02d %s", sign, cents/100, cents%100, currency)
}

// thousandCents is what a thousand credits cost beyond the allowance, for a rate of a plan.
func thousandCents(rate int64) int64 { return rate * 1000 / metering.MicrosPerCent }

// monthName writes a month, such as November 2026.
func monthName(p metering.Period) string { return fmt.Sprintf("%s %d", p.Month, p.Year) }

// formatTaxRate writes hundredths of a percent, such as 19% and 7.7%.
func formatTaxRate(basisPoints int) string {
	return strconv.FormatFloat(float64(basisPoints)/100, 'f', -1, 64) + "%"
}

// formatTime writes an instant in UTC, and in words how far away it is. A zero or nil time is a dash.
func (d *dashboard) formatTime(instant any, describe func(time.Duration) string) template.HTML {
	var t time.Time
	switch v := instant.(type) {
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
	if describe != nil {
		text += " <small>" + describe(t.Sub(d.now())) + "</small>"
	}
	return template.HTML(text) // which holds digits and our own words alone
}

// formatDistance writes in words how far away an instant is, with the instant itself as its title. A zero time is a
// dash.
func (d *dashboard) formatDistance(t time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	t = t.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, t.Format(time.RFC3339),
		t.Format("2006-01-02 15:04 UTC"), relativeTime(t.Sub(d.now()))))
}

// clock writes an instant in few characters, to the second.
func clock(t time.Time) template.HTML {
	t = t.UTC()
	return template.HTML(`<time datetime="` + t.Format(time.RFC3339) + `">` + t.Format("2 Jan 15:04:05") + "</time>")
}

// relativeTime describes how far away an instant is.
func relativeTime(ahead time.Duration) string {
	distance, text := ahead.Abs(), ""
	switch {
	case distance < time.Minute:
		return "now"
	case distance < time.Hour:
		text = phrase.Count(int(distance/time.Minute), "minute")
	case distance < 48*time.Hour:
		text = phrase.Count(int(distance/time.Hour), "hour")
	default:
		text = phrase.Count(int(distance/(24*time.Hour)), "day")
	}
	if ahead > 0 {
		return "in " + text
	}
	return text + " ago"
}

// formFaults returns the faults of a form that an error, or several joined ones, describe, by field; none if it is not
// about the form.
func formFaults(err error) map[string]string {
	faults := map[string]string{}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			maps.Copy(faults, formFaults(err))
		}
		return faults
	}
	if e, ok := errors.AsType[*metering.FieldError](err); ok {
		field, _, _ := strings.Cut(e.Field, "[") // of a list, one of its values
		faults[field] = e.Reason
	} else if e, ok := errors.AsType[*refusedError](err); ok {
		faults[""] = e.reason
	}
	return faults
}

// A refusedError is the reason why an action was refused, in words for the member.
type refusedError struct{ reason string }

func (e *refusedError) Error() string { return e.reason }

// stringsOf are values as a form sends them.
func stringsOf[S ~string](list []S) []string {
	return kit.Map(list, func(s S) string { return string(s) })
}
