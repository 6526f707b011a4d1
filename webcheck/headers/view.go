package headers

import (
	"cmp"
	"fmt"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/webcheck/internal/csp"
)

// View presents the report.
func (r *Report) View() *view.View {
	v := view.Of(r.URL, r.Verdict, r.Partial)
	if r.StatusCode == 0 {
		fetch.Draw(v, r.Hops, r.FinalURL, r.Error)
		return v
	}
	n := len(r.Hops)
	if r.FinalURL != r.URL && n > 1 {
		v.Fact("judged page", phrase.Clip(r.FinalURL, maxURL)+" after "+phrase.Count(n-1, "redirect"),
			"headers.redirect", "headers.https")
	}
	if n > 0 {
		v.Fact("answer", r.Hops[n-1].Answer(), "headers.status")
	}
	o := r.Observatory
	v.Fact("grade", view.TextIf(o.Grade != "", fmt.Sprintf("%s (HTTP Observatory, %d points)", o.Grade, o.Score)))
	if p := &r.SecurityHeaders.ContentSecurityPolicy; p.Present {
		v.Fact("policy lets run", cmp.Or(phrase.Series(running(&p.Runs), 3), "nothing injected"), "headers.csp.scripts",
			"headers.csp.objects",
			"headers.csp.base")
	}
	v.Fact("cookies", r.cookies(), "headers.cookies")
	v.Fact("caching", cmp.Or(phrase.Clip(r.Caching.CacheControl, maxURL),
		view.TextIf(r.Caching.Cacheable, "not specified (caches decide)"), "none"), "headers.cache")
	software := kit.Map(r.Disclosure, func(d Disclosure) string { return phrase.Clip(d.Value, maxShown) })
	v.Fact("software", phrase.Series(software, 3), "headers.disclosure")
	if s := r.SecurityTxt; s.Present {
		v.Fact("security contact", view.Join(phrase.Clip(phrase.Series(s.Contact, 1), maxURL),
			view.TextIf(!s.Expires.IsZero(), "until "+s.Expires.Format(time.DateOnly))), "headers.security_txt")
	}
	if t := r.TLS; len(t.Chain) > 0 {
		v.Fact("certificate", view.Join(t.Chain[0].Remaining(), t.Chain[0].Issuer.Maker()), "headers.site.certificate")
	}
	d := v.Rows(view.Table, "Header fields that protect visitors", "field", "protection", "value")
	protected, lacking := 0, ""
	for i, h := range r.SecurityHeaders.list() {
		if h.Strength == Strong || h.Strength == Good {
			protected++
		}
		mark, name := h.mark(), protecting[i].name
		lacking = cmp.Or(lacking, view.TextIf(!h.Present && mark != view.Optional, "no "+name)) // the first that is a fault
		d.Marked(mark, "", name, string(h.Strength), phrase.Clip(h.Value, maxShown))
	}
	v.BriefIf(o.Grade != "" && (v.Mark() == view.Good || v.Mark() == view.Warning),
		"grade "+o.Grade, cmp.Or(lacking, fmt.Sprintf("%d of %d protecting fields", protected, len(protecting))))
	return v
}

// running names the injected content that runs, with the directive that lets it.
func running(runs *csp.Runs) (list []string) {
	for _, r := range []struct {
		what   string
		answer *csp.Answer
	}{
		{"inline scripts", &runs.InlineScript}, {"event handlers", &runs.EventHandler}, {"eval", &runs.Eval},
		{"scripts of others", &runs.ForeignScript}, {"plug-ins", &runs.Plugin}, {"base elements", &runs.Base},
	} {
		if a := r.answer; a.Runs {
			list = append(list, r.what+view.TextIf(a.By != "", " ("+a.By+")"))
		}
	}
	return list
}

// The limits of a view, in bytes: of a value, and of a URL.
const (
	maxShown = 64
	maxURL   = 200
)

// mark is that of the gravest finding, or how well the field protects.
func (h *Header) mark() view.Mark {
	switch v := view.Of("", diag.Verdict{Findings: h.Findings}, false); {
	case len(v.Findings) > 0:
		return v.Mark()
	case h.Strength == Good || h.Strength == Strong:
		return view.Good
	case h.Present:
		return view.Info
	}
	return view.Optional
}

// cookies counts the cookies, and those without a protection.
func (r *Report) cookies() string {
	if len(r.Cookies) == 0 {
		return "none"
	}
	without := func(text string, has func(Cookie) bool) string {
		n := len(r.Cookies) - view.CountIf(r.Cookies, has)
		return view.TextIf(n > 0, fmt.Sprintf("%d without %s", n, text))
	}
	return view.List(fmt.Sprint(len(r.Cookies)), without("Secure", func(c Cookie) bool { return c.Secure }),
		without("HttpOnly", func(c Cookie) bool { return c.HTTPOnly }),
		without("SameSite", func(c Cookie) bool { return c.SameSite != "" }))
}
