package redirect

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// View presents the report.
func (r *Report) View() *view.View {
	v := view.Of(r.NormalizedURL, r.Verdict, r.Partial)
	v.Fact("leads to", view.TextIf(r.FinalURL != r.NormalizedURL, phrase.Clip(r.FinalURL, maxShown)),
		"url.redirect.downgrade", "url.final.http")
	hops := kit.Map(r.Hops, func(h Hop) fetch.Hop { return h.Hop })
	if n := len(hops); n > 0 && r.FinalStatusCode != 0 {
		v.Fact("answer", hops[n-1].Answer(), "url.status", "url.tls.version")
	}
	v.Fact("redirects", r.redirects(), "url.redirect")
	v.Fact("title", phrase.Clip(r.Final.Title, maxShown))
	v.Fact("canonical", view.TextIf(r.Final.Canonical != r.FinalURL, phrase.Clip(r.Final.Canonical, maxShown)))
	v.Fact("domains", view.TextIf(r.CrossDomain, strings.Join(r.Domains, " → ")))
	d := fetch.Draw(v, hops, r.FinalURL, r.Error)
	for i := range r.Hops {
		if d.Rows[i].Note == "" {
			d.Rows[i].Note = r.Hops[i].notes()
		}
	}
	v.BriefIf(v.Mark() == view.Good && r.FinalStatusCode != 0,
		fmt.Sprint(r.FinalStatusCode, " ", http.StatusText(r.FinalStatusCode)), phrase.Count(r.RedirectCount, "redirect"))
	return v
}

// maxShown bounds the texts of a page that a view shows, in bytes.
const maxShown = 200

// redirects says how many there are and of what kind.
func (r *Report) redirects() string {
	if len(r.Hops) == 0 {
		return ""
	}
	if r.LoopDetected { // which leads nowhere, whatever its redirects are
		return view.List("without end: " + cmp.Or(view.TextIf(len(r.Hops) == 1, "the URL leads to itself"),
			phrase.Count(len(r.Hops), "URL")+" were opened, and the last leads back to one of them"))
	}
	return view.List(cmp.Or(view.TextIf(r.RedirectCount > 0, fmt.Sprint(r.RedirectCount)),
		view.TextIf(r.Hops[0].RedirectType != "", "none followed"), "none"),
		view.TextIf(r.Truncated, "and more that were not followed"),
		view.TextIf(r.PermanentOnly, "permanent"), view.TextIf(r.HTTPSUpgrade, "to HTTPS"),
		view.TextIf(r.Downgrade, "to plain HTTP"), view.TextIf(r.CrossDomain, "to another domain"))
}

// notes returns the remarks on a hop.
func (h *Hop) notes() string {
	return view.List(h.HostUnicode,
		view.TextIf(h.Shortener != "", "shortener "+h.Shortener),
		view.TextIf(h.DelaySeconds > 0, "after "+phrase.Count(h.DelaySeconds, "second")),
		view.TextIf(h.UpgradedByHSTS, "HTTPS because of HSTS"),
		view.TextIf(h.Downgrade, "to plain HTTP"),
		view.TextIf(h.CrossDomain, "to another domain"),
		view.TextIf(len(h.TrackingParameters) > 0, "tracking: "+phrase.Series(h.TrackingParameters, 3)),
		view.TextIf(len(h.Cookies) > 0, phrase.Count(len(h.Cookies), "cookie")),
		view.TextIf(h.ScriptTarget != "", "a script may lead to "+phrase.Clip(h.ScriptTarget, maxShown)))
}
