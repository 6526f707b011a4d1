package crawl

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/webcheck/page"
	"github.com/diagkit/diagkit/webcheck/robots"
)

// The bounds of lists in a report.
const (
	maxLinks      = 500
	maxMissingAlt = 20
	maxHreflang   = 500
	maxFeeds      = 100
)

// robotsReport says what crawlers may do, as far as it is known.
func (e *evidence) robotsReport() RobotsReport {
	r := RobotsReport{Meta: diag.Map(e.meta, robots.Directive.String), XRobotsTag: diag.Map(e.header, robots.Directive.String)}
	if e.robotsTxt == nil || e.dead() {
		return r
	}
	r.RobotsTxtURL = e.robotsTxt.url
	if e.robotsTxt.silent() {
		return r
	}
	if !e.robotsTxt.unreachable() {
		r.RobotsTxtFound = new(e.robotsTxt.file.All == robots.ByRules)
	}
	r.Allowed = &e.decision.Allowed
	if rule := e.decision.Rule; rule != nil {
		r.MatchedRule, r.MatchedLine, r.MatchedAgent = clip(rule.String(), maxValue), rule.Line, e.decision.Agent
	}
	if e.final() != nil && e.wall == "" {
		may := e.decision.Allowed && e.succeeded()
		r.Indexable, r.Followable = new(may && !e.effect.NoIndex), new(may && !e.effect.NoFollow)
	}
	return r
}

// maxValue bounds a value in a report, in bytes.
const maxValue = 2048

func (e *evidence) describe(r *Report) {
	p := e.page
	r.Charset, r.Language = p.Charset, p.Lang
	r.Metadata = e.metadata()
	r.Structured = diag.Map(p.Structured, func(s page.Structured) Item {
		return Item{s.Format, strings.Join(s.Types, " "), s.Types, s.Valid, s.Error, s.Line, s.Column}
	})
	r.Headings = diag.Map(p.Headings, func(h page.Heading) Heading { return Heading{h.Level, clip(h.Text, maxValue)} })
	r.Links = links(p)
	r.Images = Images{Count: p.Counts.Images, MissingAltCount: p.Counts.MissingAlt, MissingAlt: []string{}}
	for _, i := range p.Images {
		if !i.HasAlt && len(r.Images.MissingAlt) < maxMissingAlt {
			r.Images.MissingAlt = append(r.Images.MissingAlt, clip(i.Raw, maxValue))
		}
	}
	r.Scripts, r.Stylesheets = &p.Counts.Scripts, &p.Counts.Stylesheets
	r.Text = TextReport{Words: e.words, told: true}
	if n := len(e.result.Body); n > 0 {
		r.Text.Percent = min(100, 100*p.TextBytes/n)
	}
	r.Security.Mixed = append(r.Security.Mixed, e.mixed...)
}

func (e *evidence) metadata() Metadata {
	p := e.page
	m := Metadata{Hreflang: []Hreflang{}, OpenGraph: p.OpenGraph(), Twitter: p.Twitter(), Feeds: []string{}}
	m.Title = e.title()
	m.Description = e.meta1("description")
	m.TitleLength, m.DescriptionLength = utf8.RuneCountInString(m.Title), utf8.RuneCountInString(m.Description)
	if m.Title == "" {
		m.TitleFallback = e.fallback("og:title", "twitter:title")
		for _, h := range p.Headings {
			if m.TitleFallback.Source == "" && h.Level == 1 && h.Text != "" {
				m.TitleFallback = Fallback{h.Text, "h1"}
			}
		}
	}
	if m.Description == "" {
		m.DescriptionFallback = e.fallback("og:description", "twitter:description")
	}
	if c := p.Canonicals(); len(c) > 0 {
		m.Canonical = c[0].URL
	}
	m.Viewport, m.Author, m.Generator = e.meta1("viewport"), e.meta1("author"), e.meta1("generator")
	if icons := p.Icons(); len(icons) > 0 {
		m.Favicon = icons[0].URL
	}
	for _, l := range p.Hreflangs() {
		if len(m.Hreflang) < maxHreflang {
			m.Hreflang = append(m.Hreflang, Hreflang{clip(l.Hreflang, 100), l.URL})
		}
	}
	for _, f := range p.Feeds() {
		if len(m.Feeds) < maxFeeds {
			m.Feeds = append(m.Feeds, f.URL)
		}
	}
	return m
}

// meta1 returns the content of a meta element, empty if there is none.
func (e *evidence) meta1(name string) string {
	s, _ := e.page.Meta(name)
	return clip(strings.Join(strings.Fields(s), " "), maxValue)
}

func (e *evidence) fallback(names ...string) Fallback {
	for _, name := range names {
		prefix, _, _ := strings.Cut(name, ":")
		if all := e.page.Properties(prefix + ":")[name]; len(all) > 0 && all[0] != "" {
			return Fallback{clip(all[0], maxValue), name}
		}
	}
	return Fallback{}
}

func links(p *page.Page) Links {
	l := Links{InternalCount: p.Links.Internal, ExternalCount: p.Links.External, OtherCount: p.Links.Other,
		NofollowCount: p.Links.NoFollow, UGCCount: p.Links.UGC, SponsoredCount: p.Links.Sponsored, Items: []Link{}}
	for _, a := range p.Anchors[:min(len(p.Anchors), maxLinks)] {
		item := Link{URL: a.URL, Text: a.Text, Kind: string(a.Kind), Rel: a.Rel,
			Nofollow: slices.ContainsFunc(a.Rel, func(r string) bool { return r == "nofollow" || r == "ugc" || r == "sponsored" })}
		if item.Rel == nil {
			item.Rel = []string{}
		}
		l.Items = append(l.Items, item)
	}
	return l
}
