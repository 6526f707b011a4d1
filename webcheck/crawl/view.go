package crawl

import (
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report.
func (r *Report) View() *view.View {
	v := view.Of(r.URL.String(), r.Verdict)
	v.Partial = r.Partial
	if n := len(r.Hops); n > 0 {
		v.Fact("answer", view.Join(r.Hops[n-1].Answer(), r.ContentType, r.Charset),
			"crawl.status", "crawl.type", "crawl.charset")
	}
	if len(r.Hops) > 0 || r.Robots.Allowed != nil {
		v.Fact("crawlers", r.Robots.text(), "crawl.robots", "crawl.index", "crawl.wall")
	}
	if m := r.Metadata; m.Feeds != nil {
		v.Fact("title", orNone(m.Title, m.TitleFallback), "crawl.title")
		v.Fact("description", orNone(m.Description, m.DescriptionFallback), "crawl.description")
		v.Fact("canonical", m.Canonical, "crawl.canonical")
	}
	if t := r.Text; t.told {
		v.Fact("text", view.Join(diag.Count(t.Words, "word"), r.Size.text()), "crawl.body", "crawl.size")
	}
	v.Fact("links", r.Links.text(), "crawl.link")
	if i := r.Images; i.MissingAlt != nil {
		v.Fact("images", fmt.Sprintf("%d, %d without alt", i.Count, i.MissingAltCount), "crawl.image")
	}
	if len(r.Hops) == 1 && r.FinalURL == r.URL && len(r.Headings) > 0 {
		v.Draw(outline(r.Headings))
	} else if len(r.Hops) > 1 {
		v.Draw(fetch.Chain(r.Hops, r.FinalURL.String(), fetch.Error{}))
	}
	if v.Mark() == view.Good && r.Text.told {
		v.Brief = view.Join(fmt.Sprint(r.StatusCode),
			may(r.Robots.Indexable, "indexable", "not indexable"), diag.Count(r.Text.Words, "word"))
	}
	return v
}

// maxShown bounds the texts of a page that a view shows, in bytes.
const maxShown = 160

// outline draws the headings of a page.
func outline(headings []Heading) view.Drawing {
	d := view.Drawing{Kind: view.Tree, Title: "Headings"}
	top := headings[0].Level
	for _, h := range headings {
		top = min(top, h.Level)
	}
	for _, h := range headings {
		d.Node(h.Level-top, view.None, "", fmt.Sprintf("h%d %s", h.Level, diag.Clip(h.Text, maxShown)))
	}
	return d
}

// orNone is what the page says of itself, or what is shown in its place.
func orNone(said string, instead Fallback) string {
	switch {
	case said != "":
		return diag.Clip(said, maxShown)
	case instead.Source != "":
		return fmt.Sprintf("none; shown instead: %s (%s)", diag.Clip(instead.Value, maxShown), instead.Source)
	}
	return "none"
}

// text says what crawlers may do.
func (r RobotsReport) text() string {
	found := may(r.RobotsTxtFound, "", "no robots.txt")
	if s := view.Join(may(r.Allowed, "may fetch", "must not fetch"), may(r.Indexable, "may index", "must not index"),
		may(r.Followable, "may follow links", "must not follow links")); s != "" {
		return view.Join(s, r.MatchedRule, found)
	}
	return "not known"
}

func may(allowed *bool, yes, no string) string {
	switch {
	case allowed == nil:
		return ""
	case *allowed:
		return yes
	}
	return no
}

func (l Links) text() string {
	if l.Items == nil {
		return ""
	}
	s := fmt.Sprintf("%d internal, %d external", l.InternalCount, l.ExternalCount)
	if l.NofollowCount > 0 {
		s += fmt.Sprintf(", %d nofollow", l.NofollowCount)
	}
	return s
}

func (s Size) text() string {
	text := fmt.Sprintf("%d KB of HTML", (s.HTMLBytes+1023)/1024)
	if s.Encoding != "" {
		text += ", sent as " + s.Encoding
	}
	if s.Truncated {
		text += ", and more"
	}
	return text
}
