package crawl

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/webcheck/internal/page"
	"github.com/diagkit/diagkit/webcheck/internal/robots"
)

// The bounds of a request (CONTRACT 3.4).
const (
	minBytes     = 64 << 10
	maxBytes     = 15 << 20
	defaultBytes = 5 << 20
)

// A Request asks for the examination of one page.
type Request struct {
	URL             diag.URL `json:"url" maxlen:"8192" doc:"the page" example:"https://example.com/"`
	UserAgent       Agent    `json:"user_agent,omitempty" default:"default" doc:"crawler as which the page is asked for"`
	UserAgentString string   `json:"user_agent_string,omitempty" maxlen:"256" doc:"User-Agent of the crawler, with user_agent custom only"`
	RespectRobots   *bool    `json:"respect_robots,omitempty" default:"true" doc:"do not fetch what robots.txt forbids"`
	MaxBytes        int64    `json:"max_bytes,omitempty" default:"5242880" min:"65536" max:"15728640" doc:"how much of the page is read, after decompression"`
}

// Memory returns an upper bound of the memory that a check uses, in bytes.
func (r *Request) Memory() int64 {
	n := r.MaxBytes
	if n == 0 {
		n = defaultBytes
	}
	return 2*n + page.Memory(n) + 2<<20 + 8*maxTarget
}

// A Report describes a page as a crawler sees it.
type Report struct {
	URL        diag.URL    `json:"url" doc:"the page, normalised"`
	FinalURL   diag.URL    `json:"final_url" doc:"where the redirects ended"`
	StatusCode int         `json:"status_code,omitempty" doc:"status of the last answer; absent if there was none"`
	Hops       []fetch.Hop `json:"hops" maxitems:"11" doc:"requests for the page, in order"`
	Timings    Timings     `json:"timings,omitzero" doc:"how long the last request took"`
	Size       Size        `json:"size,omitzero" doc:"size of the page"`

	ContentType string          `json:"content_type,omitempty" doc:"media type of the page"`
	Charset     string          `json:"charset,omitempty" doc:"encoding of the page" example:"utf-8"`
	Language    string          `json:"language,omitempty" doc:"language that the page states" example:"en"`
	Robots      RobotsReport    `json:"robots" doc:"what crawlers may do"`
	Metadata    Metadata        `json:"metadata,omitzero" doc:"what the page says of itself"`
	Canonical   CanonicalReport `json:"canonical_target,omitzero" doc:"what is at the canonical URL, if that is another page"`
	Structured  []Item          `json:"structured_data" maxitems:"100" doc:"structured data"`
	Headings    []Heading       `json:"headings" maxitems:"500" doc:"headings in the order of the page"`
	Links       Links           `json:"links,omitzero" doc:"links"`
	Images      Images          `json:"images,omitzero" doc:"images"`
	Scripts     *int            `json:"scripts_count,omitempty" min:"0" doc:"scripts, inline ones too"`
	Stylesheets *int            `json:"stylesheets_count,omitempty" min:"0" doc:"linked style sheets"`
	Text        TextReport      `json:"text,omitzero" doc:"visible text"`
	Security    SecurityReport  `json:"security" doc:"how the page and what it loads are transported"`

	diag.Verdict
	Partial bool `json:"partial" doc:"whether something could not be learned"`
	diag.Timing
}

// Timings are the durations of the parts of a request.
type Timings struct {
	DNSMS     int64 `json:"dns_ms" min:"0" doc:"until the addresses of the host were known"`
	ConnectMS int64 `json:"connect_ms" min:"0" doc:"until the connection was made"`
	TLSMS     int64 `json:"tls_ms" min:"0" doc:"for the TLS handshake"`
	TTFBMS    int64 `json:"ttfb_ms" min:"0" doc:"from the request to the first byte of the answer"`
	TotalMS   int64 `json:"total_ms" min:"0" doc:"of all that, and of the body"`

	known bool // so that zeros are not absent
}

// UnmarshalJSON implements json.Unmarshaler. A value that is present counts even if all its fields are zero.
func (t *Timings) UnmarshalJSON(data []byte) error {
	type plain Timings
	t.known = true
	return json.Unmarshal(data, (*plain)(t))
}

// Size is the size of the page.
type Size struct {
	HTMLBytes         int64  `json:"html_bytes" min:"0" doc:"bytes that were read, after decompression"`
	TransferBytes     int64  `json:"transfer_bytes" min:"0" doc:"bytes as they came"`
	Encoding          string `json:"encoding,omitempty" doc:"content coding" example:"gzip"`
	Truncated         bool   `json:"truncated" doc:"there is more than was read"`
	CrawlerLimitBytes int64  `json:"crawler_limit_bytes" min:"0" doc:"how much of a page the crawler reads"`
	OverCrawlerLimit  bool   `json:"over_crawler_limit" doc:"the page is longer than that"`
}

// RobotsReport lists what crawlers may do. What is not known is absent.
type RobotsReport struct {
	RobotsTxtFound *bool    `json:"robots_txt_found,omitempty" doc:"whether the host has a robots.txt"`
	RobotsTxtURL   string   `json:"robots_txt_url,omitempty" doc:"where it is"`
	Allowed        *bool    `json:"allowed,omitempty" doc:"whether the crawler may fetch the page"`
	MatchedRule    string   `json:"matched_rule,omitempty" doc:"rule that decided" example:"Disallow: /private/"`
	MatchedLine    int      `json:"matched_line,omitempty" min:"1" doc:"line of that rule"`
	MatchedAgent   string   `json:"matched_agent,omitempty" doc:"which crawlers its group names, * for all"`
	Meta           []string `json:"meta" maxitems:"200" doc:"directives of meta elements" example:"noindex"`
	XRobotsTag     []string `json:"x_robots_tag" maxitems:"200" doc:"directives of X-Robots-Tag fields" example:"googlebot: noindex"`
	Indexable      *bool    `json:"indexable,omitempty" doc:"whether the crawler may index the page"`
	Followable     *bool    `json:"followable,omitempty" doc:"whether the crawler may follow its links"`

	Agents  []AgentReport `json:"agents,omitempty" maxitems:"4" doc:"the same for diagkit, Googlebot, Bingbot, and the crawler asked for"`
	Refused []string      `json:"ai_crawlers_disallowed,omitempty" maxitems:"20" doc:"AI crawlers that robots.txt names and forbids"`
}

// Metadata is what a page declares about itself. Lengths are in characters.
type Metadata struct {
	Title               string              `json:"title,omitempty" doc:"of the title element"`
	TitleLength         int                 `json:"title_length" min:"0" doc:"length of the title"`
	TitleFallback       Fallback            `json:"title_fallback,omitzero" doc:"what crawlers show instead, if there is no title"`
	Description         string              `json:"description,omitempty" doc:"of the meta element"`
	DescriptionLength   int                 `json:"description_length" min:"0" doc:"length of the description"`
	DescriptionFallback Fallback            `json:"description_fallback,omitzero" doc:"what previews show instead, if there is no description"`
	Canonical           string              `json:"canonical,omitempty" doc:"URL that the page says is its own"`
	Viewport            string              `json:"viewport,omitempty" doc:"of the meta element"`
	Author              string              `json:"author,omitempty" doc:"of the meta element"`
	Generator           string              `json:"generator,omitempty" doc:"software that made the page"`
	Favicon             string              `json:"favicon,omitempty" doc:"first icon that the page names"`
	Hreflang            []Hreflang          `json:"hreflang" maxitems:"500" doc:"the page in other languages"`
	OpenGraph           map[string][]string `json:"open_graph" doc:"values of Open Graph, by property"`
	Twitter             map[string][]string `json:"twitter" doc:"values of Twitter cards, by name"`
	Feeds               []string            `json:"feeds" maxitems:"100" doc:"feeds that the page names"`
}

// A Fallback replaces something that is missing.
type Fallback struct {
	Value  string `json:"value" doc:"what is shown"`
	Source string `json:"source" doc:"where it is from" example:"og:title"`
}

// An Hreflang is a version of the page in another language.
type Hreflang struct {
	Lang string `json:"lang" doc:"language, or x-default" example:"de"`
	URL  string `json:"url" doc:"the page; empty if it cannot be resolved"`
}

// An Item is a block of structured data.
type Item struct {
	Format string   `json:"format" doc:"json-ld, microdata or rdfa"`
	Type   string   `json:"type" doc:"its types, such as Product; empty if it has none"`
	Types  []string `json:"types" maxitems:"20" doc:"the same as a list"`
	Valid  bool     `json:"valid" doc:"whether crawlers can read it"`
	Error  string   `json:"error,omitempty" doc:"what is wrong with it"`
	Line   int      `json:"line,omitempty" min:"1" doc:"where in the block, from 1"`
	Column int      `json:"column,omitempty" min:"1" doc:"where in that line, in characters from 1"`
}

// A Heading is a heading of the page, h1 to h6.
type Heading struct {
	Level int    `json:"level" min:"1" max:"6" doc:"from 1 to 6"`
	Text  string `json:"text" doc:"its text"`
}

// Links counts and lists the links in the page.
type Links struct {
	InternalCount  int    `json:"internal_count" min:"0" doc:"links to the same host"`
	ExternalCount  int    `json:"external_count" min:"0" doc:"links to other hosts"`
	OtherCount     int    `json:"other_count" min:"0" doc:"mailto, tel and whatever else is no page"`
	NofollowCount  int    `json:"nofollow_count" min:"0" doc:"links that are marked nofollow"`
	UGCCount       int    `json:"ugc_count" min:"0" doc:"links that are marked as of users"`
	SponsoredCount int    `json:"sponsored_count" min:"0" doc:"links that are marked as paid"`
	Items          []Link `json:"items" maxitems:"500" doc:"the first of them"`
}

// A Link is a link in the page.
type Link struct {
	URL      string   `json:"url" doc:"where it leads; empty if it cannot be resolved"`
	Text     string   `json:"text" doc:"its text, or that of its image"`
	Kind     string   `json:"kind" doc:"internal, external or other"`
	Rel      []string `json:"rel" maxitems:"20" doc:"its relations, such as nofollow"`
	Nofollow bool     `json:"nofollow" doc:"whether it is marked nofollow, ugc or sponsored"`
}

// Images counts the images of the page.
type Images struct {
	Count           int      `json:"count" min:"0" doc:"img elements"`
	MissingAltCount int      `json:"missing_alt_count" min:"0" doc:"those without alt; an empty one marks decoration"`
	MissingAlt      []string `json:"missing_alt" maxitems:"20" doc:"the first of those"`
}

// TextReport counts the visible text.
type TextReport struct {
	Words   int `json:"words" min:"0" doc:"words by the rules of Unicode (UAX 29)"`
	Percent int `json:"text_to_html_percent" min:"0" max:"100" doc:"share of visible text in the HTML"`

	known bool // so that zeros are not absent
}

// UnmarshalJSON implements json.Unmarshaler. A value that is present counts even if all its fields are zero.
func (t *TextReport) UnmarshalJSON(data []byte) error {
	type plain TextReport
	t.known = true
	return json.Unmarshal(data, (*plain)(t))
}

// SecurityReport describes how the page and its resources are transported.
type SecurityReport struct {
	HTTPS bool    `json:"https" doc:"whether the page came over HTTPS"`
	Mixed []Mixed `json:"mixed_content" maxitems:"100" doc:"what it loads or sends over HTTP although it came over HTTPS"`
}

// Mixed is a resource that a page loads over HTTP although it came over HTTPS.
type Mixed struct {
	URL     string `json:"url" doc:"what is loaded"`
	Element string `json:"element" doc:"element that loads it" example:"img"`
	Blocked bool   `json:"blocked" doc:"whether browsers refuse to load it; others they upgrade to HTTPS"`
}

// Check fetches a page as a crawler would, and examines it. The error is that of the context if it ended, a
// *[diag.InputError] if the request is invalid, or wraps [diag.ErrUnavailable] if nothing could be learned.
func Check(ctx context.Context, env *diag.Env, req Request) (*Report, error) {
	switch {
	case req.URL.IsZero():
		return nil, input.Invalid("url", "is missing")
	case req.MaxBytes == 0:
		req.MaxBytes = defaultBytes
	case req.MaxBytes < minBytes || req.MaxBytes > maxBytes:
		return nil, input.Invalid("max_bytes", "must be from %d to %d", minBytes, maxBytes)
	}
	agent, err := req.crawler()
	if err != nil {
		return nil, err
	}
	e, err := gather(ctx, env, req, agent)
	if err != nil {
		return nil, err
	}
	return e.report(env.Now()), nil
}

// Rules describes the rules behind the findings.
func (*Report) Rules() []rule.Description { return rules().Describe() }

func (e *evidence) report(ended time.Time) *Report {
	r := &Report{URL: e.request.URL, FinalURL: e.url, Hops: e.hops, Robots: e.robotsReport(),
		Canonical: e.target.report(), Structured: []Item{}, Headings: []Heading{},
		Security: SecurityReport{HTTPS: e.url.Scheme() == "https", Mixed: []Mixed{}},
		Verdict:  rules().Judge(e, texts), Partial: len(e.Unanswered()) > 0, Timing: diag.NewTiming(e.now, ended)}
	if h := e.final(); h != nil {
		r.StatusCode, r.ContentType = h.StatusCode, e.mediaType
		t := e.result.Timing
		r.Timings = Timings{t.DNS.Milliseconds(), t.Connect.Milliseconds(), t.TLS.Milliseconds(),
			t.FirstByte.Milliseconds(), t.Total.Milliseconds(), true}
		r.Size = Size{HTMLBytes: int64(len(e.result.Body)), TransferBytes: e.result.TransferBytes,
			Encoding: clip(e.result.Encoding, 100), Truncated: e.result.Truncated, CrawlerLimitBytes: e.agent.limit,
			OverCrawlerLimit: e.overLimit()}
	}
	if e.page != nil {
		e.describe(r)
	} else if h := e.final(); h != nil && e.result.Err == nil && len(e.result.Body) == 0 &&
		slices.Contains(htmlTypes, e.mediaType) {
		r.Text = TextReport{known: true}
	}
	return r
}

// The bounds of lists in a report.
const (
	maxLinks      = 500
	maxMissingAlt = 20
	maxHreflang   = 500
	maxFeeds      = 100
)

// robotsReport says what crawlers may do, as far as it is known.
func (e *evidence) robotsReport() RobotsReport {
	r := RobotsReport{Meta: kit.Map(e.meta, robots.Directive.String),
		XRobotsTag: kit.Map(e.header, robots.Directive.String), Agents: e.agents(), Refused: e.refused()}
	if e.robotsTxt == nil || e.dead() {
		return r
	}
	r.RobotsTxtURL = e.robotsTxt.url
	if e.robotsTxt.silent() {
		return r
	}
	if !e.robotsTxt.unreachable(e.agent) {
		r.RobotsTxtFound = new(e.robotsTxt.of(e.agent.dialect).All == robots.ByRules)
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
	r.Structured = kit.Map(p.Structured, func(s page.Structured) Item {
		return Item{s.Format, strings.Join(s.Types, " "), s.Types, s.Valid, s.Error, s.Line, s.Column}
	})
	r.Headings = kit.Map(p.Headings, func(h page.Heading) Heading { return Heading{h.Level, clip(h.Text, maxValue)} })
	r.Links = links(p)
	r.Images = Images{Count: p.Counts.Images, MissingAltCount: p.Counts.MissingAlt, MissingAlt: []string{}}
	for _, i := range p.Images {
		if !i.HasAlt && len(r.Images.MissingAlt) < maxMissingAlt {
			r.Images.MissingAlt = append(r.Images.MissingAlt, clip(i.Raw, maxValue))
		}
	}
	r.Scripts, r.Stylesheets = &p.Counts.Scripts, &p.Counts.Stylesheets
	r.Text = TextReport{Words: e.words, known: true}
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
	if len(e.statements) > 0 {
		m.Canonical = clip(e.statements[0].URL, input.MaxURL)
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

// meta1 returns the content of a meta element; empty if absent.
func (e *evidence) meta1(name string) string {
	s, _ := e.page.Meta(name)
	return clip(page.Collapse(s), maxValue)
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
			Nofollow: slices.ContainsFunc(a.Rel, func(r string) bool {
				return r == "nofollow" || r == "ugc" || r == "sponsored"
			})}
		if item.Rel == nil {
			item.Rel = []string{}
		}
		l.Items = append(l.Items, item)
	}
	return l
}
