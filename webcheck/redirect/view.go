package redirect

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report.
func (r *Report) View() *view.View {
	v := view.Of(r.NormalizedURL, r.Verdict)
	v.Partial = r.Partial
	if r.FinalURL != r.NormalizedURL {
		v.Fact("leads to", diag.Clip(r.FinalURL, maxShown), "url.redirect.downgrade", "url.final.http")
	}
	hops := diag.Map(r.Hops, func(h Hop) fetch.Hop { return h.Hop })
	if n := len(hops); n > 0 && r.FinalStatusCode != 0 {
		v.Fact("answer", hops[n-1].Answer(), "url.status", "url.tls.version")
	}
	v.Fact("redirects", r.redirects(), "url.redirect")
	v.Fact("title", diag.Clip(r.Final.Title, maxShown))
	if r.Final.Canonical != r.FinalURL {
		v.Fact("canonical", diag.Clip(r.Final.Canonical, maxShown))
	}
	if r.CrossDomain {
		v.Fact("domains", strings.Join(r.Domains, " → "))
	}
	d := fetch.Chain(hops, r.FinalURL, r.Error)
	for i := range r.Hops {
		if d.Rows[i].Note == "" {
			d.Rows[i].Note = r.Hops[i].notes()
		}
	}
	v.Draw(d)
	if v.Mark() == view.Good && r.FinalStatusCode != 0 {
		v.Brief = view.Join(fmt.Sprint(r.FinalStatusCode, " ", http.StatusText(r.FinalStatusCode)),
			diag.Count(r.RedirectCount, "redirect"))
	}
	return v
}

// maxShown bounds the texts of a page that a view shows, in bytes.
const maxShown = 200

// redirects says how many there are and of what kind.
func (r *Report) redirects() string {
	if len(r.Hops) == 0 {
		return ""
	}
	parts := []string{"none"}
	switch {
	case r.RedirectCount > 0:
		parts[0] = fmt.Sprint(r.RedirectCount)
	case r.Hops[0].RedirectType != "":
		parts[0] = "none followed"
	}
	for _, p := range []struct {
		is   bool
		text string
	}{
		{r.LoopDetected, "a loop"}, {r.Truncated, "and more that were not followed"}, {r.PermanentOnly, "permanent"},
		{r.HTTPSUpgrade, "to HTTPS"}, {r.Downgrade, "to plain HTTP"}, {r.CrossDomain, "to another domain"},
	} {
		if p.is {
			parts = append(parts, p.text)
		}
	}
	return strings.Join(parts, ", ")
}

// notes are what is remarkable about a hop.
func (h *Hop) notes() string {
	var list []string
	add := func(is bool, format string, args ...any) {
		if is {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	add(h.HostUnicode != "", "%s", h.HostUnicode)
	add(h.Shortener != "", "shortener %s", h.Shortener)
	add(h.DelaySeconds > 0, "after %s", diag.Count(h.DelaySeconds, "second"))
	add(h.UpgradedByHSTS, "HTTPS because of HSTS")
	add(h.Downgrade, "to plain HTTP")
	add(h.CrossDomain, "to another domain")
	add(len(h.TrackingParameters) > 0, "tracking: %s", diag.Series(h.TrackingParameters, 3))
	add(len(h.Cookies) > 0, "%s", diag.Count(len(h.Cookies), "cookie"))
	add(h.ScriptTarget != "", "a script may lead to %s", diag.Clip(h.ScriptTarget, maxShown))
	return strings.Join(list, ", ")
}
