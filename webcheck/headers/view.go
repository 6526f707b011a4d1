package headers

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report.
func (r *Report) View() *view.View {
	v := view.Of(r.URL, r.Verdict)
	v.Partial = r.Partial
	if r.StatusCode == 0 {
		v.Draw(fetch.Chain(r.Hops, r.FinalURL, r.Error))
		return v
	}
	n := len(r.Hops)
	if r.FinalURL != r.URL && n > 1 {
		v.Fact("judged page", diag.Clip(r.FinalURL, maxURL)+" after "+diag.Count(n-1, "redirect"),
			"headers.redirect", "headers.https")
	}
	if n > 0 {
		v.Fact("answer", r.Hops[n-1].Answer(), "headers.status")
	}
	if o := r.Observatory; o.Grade != "" {
		v.Fact("grade", fmt.Sprintf("%s (HTTP Observatory, %d points)", o.Grade, o.Score))
	}
	v.Fact("cookies", r.cookies(), "headers.cookies")
	v.Fact("caching", r.Caching.text(), "headers.cache")
	software := diag.Map(r.Disclosure, func(d Disclosure) string { return diag.Clip(d.Value, maxShown) })
	v.Fact("software", diag.Series(software, 3), "headers.disclosure")
	if t := r.TLS; len(t.Chain) > 0 {
		v.Fact("certificate", view.Join(t.Chain[0].Remaining(), t.Chain[0].Issuer.Maker()), "headers.site.certificate")
	}
	d := view.Drawing{Kind: view.Table, Title: "Header fields that protect visitors",
		Columns: []string{"field", "protection", "value"}}
	protecting := 0
	for i, h := range r.SecurityHeaders.list() {
		if h.Strength == strong || h.Strength == good {
			protecting++
		}
		d.Marked(h.mark(), "", names[i], string(h.Strength), diag.Clip(h.Value, maxShown))
	}
	v.Draw(d)
	if m := v.Mark(); r.Observatory.Grade != "" && (m == view.Good || m == view.Warning) {
		v.Brief = view.Join("grade "+r.Observatory.Grade, cmp.Or(
			lacking(&r.SecurityHeaders), fmt.Sprintf("%d of %d protecting fields", protecting, len(names))))
	}
	return v
}

// The bounds of what a view shows, in bytes: of a value, and of a URL.
const (
	maxShown = 64
	maxURL   = 200
)

// names are those of the fields in the order of [SecurityHeaders.list].
var names = []string{"Strict-Transport-Security", "Content-Security-Policy", "X-Frame-Options", "X-Content-Type-Options",
	"Referrer-Policy", "Permissions-Policy", "Cross-Origin-Opener-Policy",
	"Cross-Origin-Embedder-Policy", "Cross-Origin-Resource-Policy"}

// mark is that of the gravest finding, or how well the field protects.
func (h *Header) mark() view.Mark {
	switch v := view.Of("", diag.Verdict{Findings: h.Findings}); {
	case len(v.Findings) > 0:
		return v.Mark()
	case h.Strength == good || h.Strength == strong:
		return view.Good
	case h.Present:
		return view.Info
	}
	return view.Optional
}

// lacking names the first field whose lack is a fault.
func lacking(s *SecurityHeaders) string {
	for i, h := range s.list() {
		if !h.Present && h.mark() != view.Optional {
			return "no " + names[i]
		}
	}
	return ""
}

func (c Caching) text() string {
	switch {
	case c.CacheControl != "":
		return diag.Clip(c.CacheControl, maxURL)
	case c.Cacheable:
		return "as each cache sees fit"
	}
	return "none"
}

// cookies counts the cookies, and those without a protection.
func (r *Report) cookies() string {
	if len(r.Cookies) == 0 {
		return "none"
	}
	var open, readable, crossing int
	for _, c := range r.Cookies {
		open, readable, crossing = open+lacks(c.Secure), readable+lacks(c.HTTPOnly), crossing+lacks(c.SameSite != "")
	}
	parts := []string{fmt.Sprint(len(r.Cookies))}
	for _, p := range []struct {
		n    int
		text string
	}{{open, "Secure"}, {readable, "HttpOnly"}, {crossing, "SameSite"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d without %s", p.n, p.text))
		}
	}
	return strings.Join(parts, ", ")
}

func lacks(has bool) int {
	if has {
		return 0
	}
	return 1
}
