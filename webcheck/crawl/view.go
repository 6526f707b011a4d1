package crawl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// View presents the report.
func (r *Report) View() *view.View {
	v := view.Of(r.URL.String(), r.Verdict, r.Partial)
	if n := len(r.Hops); n > 0 {
		v.Fact("answer", view.Join(r.Hops[n-1].Answer(), r.ContentType, r.Charset),
			"crawl.status", "crawl.type", "crawl.charset")
	}
	if len(r.Hops) > 0 || r.Robots.Allowed != nil {
		v.Fact("crawlers", r.Robots.text(), "crawl.robots", "crawl.index", "crawl.wall", "crawl.google",
			"crawl.bing")
	}
	if m := r.Metadata; m.Feeds != nil {
		v.Fact("title", orNone(m.Title, m.TitleFallback), "crawl.title")
		v.Fact("description", orNone(m.Description, m.DescriptionFallback), "crawl.description")
		v.Fact("canonical", view.Join(phrase.Clip(m.Canonical, maxShown), r.Canonical.text()), "crawl.canonical")
	}
	words, s, l, i := phrase.Count(r.Text.Words, "word"), r.Size, r.Links, r.Images
	size := fmt.Sprintf("%d KB of HTML", (s.HTMLBytes+1023)/1024) +
		view.TextIf(s.Encoding != "", ", sent as "+s.Encoding) + view.TextIf(s.Truncated, ", and more")
	v.Fact("text", view.TextIf(r.Text.known, view.Join(words, size)), "crawl.body", "crawl.size")
	v.Fact("links", view.TextIf(l.Items != nil, fmt.Sprintf("%d internal, %d external", l.InternalCount, l.ExternalCount)+
		view.TextIf(l.NofollowCount > 0, fmt.Sprintf(", %d nofollow", l.NofollowCount))), "crawl.link")
	v.Fact("images", view.TextIf(i.MissingAlt != nil, fmt.Sprintf("%d, %d without alt", i.Count, i.MissingAltCount)),
		"crawl.image")
	if len(r.Hops) == 1 && r.FinalURL == r.URL && len(r.Headings) > 0 {
		d := v.Rows(view.Tree, "Headings")
		top := slices.MinFunc(r.Headings, func(a, b Heading) int { return cmp.Compare(a.Level, b.Level) }).Level
		for _, h := range r.Headings {
			d.Node(h.Level-top, view.None, "", fmt.Sprintf("h%d %s", h.Level, phrase.Clip(h.Text, maxShown)))
		}
	} else if len(r.Hops) > 1 {
		fetch.Draw(v, r.Hops, r.FinalURL.String(), fetch.Error{})
	}
	v.BriefIf(v.Mark() == view.Good && r.Text.known, fmt.Sprint(r.StatusCode),
		view.Known(r.Robots.Indexable, "indexable", "not indexable", ""), words)
	return v
}

// maxShown bounds the texts of a page that a view shows, in bytes.
const maxShown = 160

// orNone returns what the page declares, or what is shown in its place.
func orNone(said string, instead Fallback) string {
	return cmp.Or(phrase.Clip(said, maxShown), "none"+view.TextIf(instead.Source != "",
		fmt.Sprintf("; shown instead: %s (%s)", phrase.Clip(instead.Value, maxShown), instead.Source)))
}

// text says what was found at a canonical URL that is another page, if anything is wrong there.
func (c CanonicalReport) text() string {
	switch {
	case c.RedirectTo != "":
		return "redirects to " + phrase.Clip(c.RedirectTo, maxShown)
	case c.StatusCode >= 300:
		return fmt.Sprintf("status %d", c.StatusCode)
	}
	return view.Join(view.Known(c.Allowed, "", "Google must not fetch it", ""),
		view.Known(c.Indexable, "", "not indexable", ""),
		view.TextIf(c.Canonical != "", "names "+phrase.Clip(c.Canonical, maxShown)))
}

// may says what a crawler may do.
func may(fetch, index, follow *bool) string {
	return view.Join(view.Known(fetch, "may fetch", "must not fetch", ""),
		view.Known(index, "may index", "must not index", ""),
		view.Known(follow, "may follow links", "must not follow links", ""))
}

// text says what one crawler may do, and by what.
func (a AgentReport) text() string {
	s := a.Agent + " " + may(a.Allowed, a.Indexable, a.Followable)
	for _, c := range a.By {
		s = view.Join(s, phrase.Clip(c.Text, maxShown)+view.TextIf(c.Line > 0, fmt.Sprintf(" (line %d)", c.Line)))
	}
	return s
}

// differs reports whether two crawlers may not do the same.
func differs(a, b *bool) bool { return a != nil && b != nil && *a != *b }

// text says what crawlers may do.
func (r RobotsReport) text() string {
	s := may(r.Allowed, r.Indexable, r.Followable)
	if s == "" {
		return "not known"
	}
	s = view.Join(s, r.MatchedRule, view.Known(r.RobotsTxtFound, "", "no robots.txt", ""))
	for _, a := range r.Agents {
		if a.Agent != defaultToken && (differs(a.Allowed, r.Allowed) || differs(a.Indexable, r.Indexable)) {
			s += "; " + a.text()
		}
	}
	return s + view.TextIf(len(r.Refused) > 0, "; forbidden: "+strings.Join(r.Refused, ", "))
}
