package crawl

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/webcheck/internal/robots"
)

// An AgentReport lists what one crawler may do with the page. What is not known is absent.
type AgentReport struct {
	Agent      string  `json:"agent" doc:"product token of the crawler" example:"Googlebot"`
	Allowed    *bool   `json:"allowed,omitempty" doc:"whether robots.txt lets it fetch the page and what redirects to it"`
	Indexable  *bool   `json:"indexable,omitempty" doc:"whether it may index the page"`
	Followable *bool   `json:"followable,omitempty" doc:"whether it may follow its links"`
	CrawlDelay float64 `json:"crawl_delay_seconds,omitempty" min:"0" doc:"pause that robots.txt asks for; of Bingbot only"`
	By         []Cause `json:"by" maxitems:"20" doc:"what decided; empty if nothing is said about it"`
}

// A Cause is a line, a header field or an element that allows or forbids something.
type Cause struct {
	Place Place  `json:"place" doc:"where it stands"`
	URL   string `json:"url,omitempty" doc:"the robots.txt that it is in"`
	Line  int    `json:"line,omitempty" min:"1" doc:"line of robots.txt"`
	Text  string `json:"text" doc:"the rule or directive, or how robots.txt was served" example:"googlebot: noindex"`
}

// Place is where a cause is set: robots_txt, x_robots_tag or meta.
type Place string

// The places.
const (
	InRobotsTxt Place = "robots_txt"
	InHeader    Place = "x_robots_tag"
	InMeta      Place = "meta"
)

// Values lists the places.
func (Place) Values() []string { return kit.Values(InRobotsTxt, InHeader, InMeta) }

// A robot is one of the crawlers of which the reply speaks.
type robot struct {
	crawler
	visit    visit // the first URL of the chain that it may not fetch, else the last
	decision robots.Decision
	effect   robots.Effect
}

// A visit is a URL of the chain of redirects, and the robots.txt of its host.
type visit struct {
	url  diag.URL
	file *robotsTxt
}

// rule is the rule that decided, as written in the file; empty if none did.
func (r *robot) rule() string {
	if r.decision.Rule == nil {
		return ""
	}
	return clip(r.decision.Rule.String(), maxValue)
}

// silent reports whether the robots.txt that applies to it is unknown.
func (r *robot) silent() bool { return r.visit.file.silent() }

// learnRobots determines what each crawler may do: our own, those of the large search engines, and the one that was
// asked for.
func (e *evidence) learnRobots() {
	for _, c := range []crawler{crawlers[Default], crawlers[GoogleDesktop], crawlers[Bing], e.agent} {
		if slices.ContainsFunc(e.robots, func(r *robot) bool { return r.token == c.token }) {
			continue
		}
		r := &robot{crawler: c, effect: robots.Combine(slices.Concat(e.header, e.meta), c.token, e.now)}
		for _, v := range e.visits {
			r.visit, r.decision = v, v.file.decide(c, v.url)
			if !r.decision.Allowed {
				break
			}
		}
		e.robots = append(e.robots, r)
	}
}

// robot returns what a crawler may do.
func (e *evidence) robot(c crawler) *robot {
	return e.robots[slices.IndexFunc(e.robots, func(r *robot) bool { return r.token == c.token })]
}

func (e *evidence) google() *robot    { return e.robot(crawlers[GoogleDesktop]) }
func (e *evidence) bing() *robot      { return e.robot(crawlers[Bing]) }
func (e *evidence) requested() *robot { return e.robot(e.agent) }

// agents reports for each crawler what it may do, as far as it is known.
func (e *evidence) agents() []AgentReport {
	if e.dead() {
		return []AgentReport{}
	}
	return kit.Map(e.robots, func(r *robot) AgentReport {
		a := AgentReport{Agent: r.name, By: e.causes(r)}
		if r.silent() {
			return a
		}
		a.Allowed = &r.decision.Allowed
		if r.token == crawlers[Bing].token {
			a.CrawlDelay = r.visit.file.of(r.dialect).CrawlDelay(r.token).Seconds()
		}
		if e.final() != nil && e.wall == "" {
			may := r.decision.Allowed && e.succeeded()
			a.Indexable, a.Followable = new(may && !r.effect.NoIndex), new(may && !r.effect.NoFollow)
		}
		return a
	})
}

// maxCauses bounds what is listed for one crawler.
const maxCauses = 20

func (e *evidence) causes(r *robot) []Cause {
	list := []Cause{}
	switch {
	case r.silent():
	case r.decision.Rule != nil:
		list = append(list, Cause{InRobotsTxt, r.visit.file.url, r.decision.Rule.Line, r.rule()})
	case !r.decision.Allowed:
		list = append(list, Cause{Place: InRobotsTxt, URL: r.visit.file.url, Text: r.visit.file.failure()})
	}
	for _, p := range []struct {
		place Place
		list  []robots.Directive
	}{{InHeader, e.header}, {InMeta, e.meta}} {
		for _, d := range robots.Combine(p.list, r.token, e.now).Why {
			list = append(list, Cause{Place: p.place, Text: d.String()})
		}
	}
	return list[:min(len(list), maxCauses)]
}

// failure says why robots.txt is unavailable, where that forbids everything.
func (f *robotsTxt) failure() string {
	if f.status >= http.StatusBadRequest {
		return fmt.Sprintf("status %d", f.status)
	}
	return clip(reason(f.result.Err), maxValue)
}

// trainers are crawlers that fetch texts for language models, and tokens that control that use.
var trainers = []string{"Amazonbot", "anthropic-ai", "Applebot-Extended", "Bytespider", "CCBot", "ChatGPT-User",
	"ClaudeBot", "cohere-ai", "Google-Extended", "GPTBot", "meta-externalagent", "OAI-SearchBot", "PerplexityBot"}

// refused lists the crawlers of language models that robots.txt names and forbids: a choice, and no fault.
func (e *evidence) refused() []string {
	list := []string{}
	if e.dead() || e.robotsTxt.silent() {
		return list
	}
	for _, name := range trainers {
		c := crawler{token: strings.ToLower(name), dialect: dialectOf(strings.ToLower(name))}
		if e.robotsTxt.of(c.dialect).Names(c.token) && !e.robotsTxt.decide(c, e.url).Allowed {
			list = append(list, name)
		}
	}
	return list
}

// Scope lists the crawlers of which the verdict speaks, and the page at the canonical URL.
func (e *evidence) Scope() []diag.ScopePart {
	if e.dead() {
		return nil
	}
	parts := kit.Map(e.robots, func(r *robot) diag.ScopePart {
		p := diag.ScopePart{Part: r.name, State: diag.Examined}
		switch {
		case r.silent():
			p.State, p.Reason = diag.NotAnswered, "robots.txt did not arrive in time"
		case e.wall != "":
			p.State, p.Reason = diag.NotAnswered, "bot protection answered instead of the page"
		case e.result != nil && e.result.Err != nil && e.result.Err.Unanswered:
			p.State, p.Reason = diag.NotAnswered, "the page did not arrive in time"
		case e.beyond():
			p.State, p.Reason = diag.LeftOut, "the page was not fetched: its URL is longer than what is read here"
		case e.uncoded() != nil:
			p.State, p.Reason = diag.LeftOut, "the page was not read: its content coding is not understood here"
		case e.final() == nil && r.decision.Allowed:
			p.State, p.Reason = diag.LeftOut, "the page was not fetched: robots.txt forbids "+e.agent.name
		}
		return p
	})
	if e.target != nil {
		parts = append(parts, e.target.part())
	}
	return parts
}

// dialectOf is how the crawler of a token reads robots.txt.
func dialectOf(token string) robots.Dialect {
	if strings.Contains(token, "google") {
		return robots.Google
	}
	return robots.Standard
}
