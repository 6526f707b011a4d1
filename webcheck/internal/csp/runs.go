package csp

import (
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// fallbacks are the directives that may govern a kind of resource, the most particular first (section 6.8.3). A kind
// that is not listed is governed by the directive of its own name and else by default-src.
var fallbacks = map[string][]string{
	"script-src-elem": {"script-src-elem", "script-src", "default-src"},
	"script-src-attr": {"script-src-attr", "script-src", "default-src"},
	"script-src":      {"script-src", "default-src"}, // of eval (section 4.4.1)
	"style-src-elem":  {"style-src-elem", "style-src", "default-src"},
	"style-src-attr":  {"style-src-attr", "style-src", "default-src"},
	"frame-src":       {"frame-src", "child-src", "default-src"},
	"worker-src":      {"worker-src", "child-src", "script-src", "default-src"},
	"base-uri":        {"base-uri"},
	"form-action":     {"form-action"},
	"frame-ancestors": {"frame-ancestors"},
}

// Governing returns the directive that governs a kind of resource, such as "script-src-elem" or "img-src", or nil if
// the policy does not restrict it.
func (p *Policy) Governing(kind string) *Directive {
	names := fallbacks[kind]
	if names == nil {
		names = []string{kind, "default-src"}
	}
	for _, name := range names {
		if d := p.Get(name); d != nil {
			return d
		}
	}
	return nil
}

// Runs reports which kinds of injected content the policies of a page let run. It measures the strength of a policy.
type Runs struct {
	InlineScript  Answer `json:"inline_script" doc:"an injected script element, or a link with javascript:"`
	EventHandler  Answer `json:"event_handler" doc:"an injected event handler, such as an onerror attribute"`
	Eval          Answer `json:"eval" doc:"text that reaches eval() or the like"`
	ForeignScript Answer `json:"foreign_script" doc:"an injected script from a place where anyone can put one"`
	Plugin        Answer `json:"plugin" doc:"an injected object or embed element with content of another site"`
	Base          Answer `json:"base" doc:"an injected base element that leads relative URLs to another site"`
	Frame         Answer `json:"frame" doc:"an injected frame with a page of another site"`
	Embedding     Answer `json:"embedding" doc:"the page in a frame of another site; without frame-ancestors X-Frame-Options decides"`
}

// An Answer reports whether something runs, and what decides. Every policy must allow it.
type Answer struct {
	Runs    bool     `json:"runs" doc:"whether it runs"`
	By      string   `json:"by,omitempty" doc:"directive that decides; absent if none governs it" example:"script-src"`
	Policy  int      `json:"policy,omitempty" min:"1" doc:"which policy it is in, from 1: those of header fields, then of meta elements"`
	Sources []string `json:"sources,omitempty" maxitems:"20" doc:"source expressions of that directive that let it run"`
}

// List returns the answers in the order of their fields.
func (r *Runs) List() []*Answer {
	return []*Answer{&r.InlineScript, &r.EventHandler, &r.Eval, &r.ForeignScript, &r.Plugin, &r.Base, &r.Frame,
		&r.Embedding}
}

// MayRun answers for the enforced policies of a page with this URL.
func MayRun(policies []Policy, self *url.URL) Runs {
	return Runs{
		InlineScript:  inline(policies, "script-src-elem"),
		EventHandler:  inline(policies, "script-src-attr"),
		Eval:          eval(policies),
		ForeignScript: foreign(policies, self, "script-src-elem", scripting),
		Plugin:        foreign(policies, self, "object-src", plugins),
		Base:          foreign(policies, self, "base-uri", nothing),
		Frame:         foreign(policies, self, "frame-src", nothing),
		Embedding:     foreign(policies, self, "frame-ancestors", nothing),
	}
}

// scripting and plugins return what of a sandbox forbids scripts and plug-ins (HTML Standard, Sandboxing): it lets
// plug-ins run in no case.
func scripting(p *Policy) *Directive {
	d := p.Get("sandbox")
	if d == nil || slices.ContainsFunc(d.Values, func(v string) bool { return strings.EqualFold(v, "allow-scripts") }) {
		return nil
	}
	return d
}

func plugins(p *Policy) *Directive { return p.Get("sandbox") }

func nothing(*Policy) *Directive { return nil }

// decide asks each policy for the directive that governs something, and for the sources in it by which it runs. A
// policy without such a directive allows it.
func decide(policies []Policy, ask func(*Policy) (governs *Directive, sources []string)) Answer {
	a := Answer{Runs: true}
	for i := range policies {
		switch d, sources := ask(&policies[i]); {
		case d == nil:
		case len(sources) == 0:
			return Answer{By: d.Name, Policy: i + 1}
		case a.By == "":
			a = Answer{Runs: true, By: d.Name, Policy: i + 1, Sources: sources}
		}
	}
	return a
}

// inline reports whether inline scripts of a kind run that show neither nonce nor hash (section 6.7.3.2). Links with
// javascript: are governed like script elements (section 6.8.2).
func inline(policies []Policy, kind string) Answer {
	return decide(policies, func(p *Policy) (*Directive, []string) {
		if d := scripting(p); d != nil {
			return d, nil
		}
		d := p.Governing(kind)
		if d == nil || !d.Sources().AllInline(true) {
			return d, nil
		}
		return d, []string{"'unsafe-inline'"}
	})
}

// eval is section 4.4.1. With Trusted Types a text does not reach it (Trusted Types section 4.2.5).
func eval(policies []Policy) Answer {
	return decide(policies, func(p *Policy) (*Directive, []string) {
		if d := scripting(p); d != nil {
			return d, nil
		}
		d := p.Governing("script-src")
		if d != nil && !d.Sources().Has("unsafe-eval") {
			return d, nil
		}
		if types := p.Get("require-trusted-types-for"); types != nil && slices.Contains(types.Values, "'script'") {
			return types, nil
		}
		return d, []string{"'unsafe-eval'"}
	})
}

// maxPlaces bounds the places that are held against the policies: a header of 256 KiB can list thousands.
const maxPlaces = 20

// foreign reports whether something of a kind may come from a place where anyone can put it. Such places are read off
// the sources of all policies, and are held against each policy as a browser does (section 6.7.2.7).
func foreign(policies []Policy, self *url.URL, kind string, forbids func(*Policy) *Directive) Answer {
	script := kind == "script-src-elem"
	lists := make([]List, len(policies))
	var places []*url.URL
	for i := range policies {
		if d := policies[i].Governing(kind); d != nil {
			lists[i] = d.Sources()
			places = lists[i].addPlaces(places, script)
		}
	}
	everywhere := slices.DeleteFunc(slices.Clone(places), func(u *url.URL) bool {
		for i := range policies {
			if policies[i].Governing(kind) != nil && !lists[i].lets(u, self, script) {
				return true
			}
		}
		return false
	})
	if len(everywhere) > 0 {
		places = everywhere
	}
	a := decide(policies, func(p *Policy) (*Directive, []string) {
		if d := forbids(p); d != nil {
			return d, nil
		}
		d := p.Governing(kind)
		return d, d.letting(places, self, script)
	})
	if len(everywhere) == 0 && a.By != "" { // each policy allows another place
		a.Runs, a.Sources = false, nil
	}
	return a
}

// lets reports whether the list allows a URL to something that shows neither nonce nor hash.
func (l List) lets(u, self *url.URL, script bool) bool {
	return !(script && l.StrictDynamic()) && l.Allows(u, self)
}

// letting returns the sources of a directive that allow one of these places.
func (d *Directive) letting(places []*url.URL, self *url.URL, script bool) (sources []string) {
	if d == nil || script && d.Sources().StrictDynamic() {
		return nil
	}
	for _, v := range d.Values {
		s, ok := ParseSource(v)
		allows := func(u *url.URL) bool { return s.matches(u, self) }
		if ok && len(sources) < maxPlaces && slices.ContainsFunc(places, allows) && !slices.Contains(sources, v) {
			sources = append(sources, v)
		}
	}
	return sources
}

// addPlaces adds the places of the sources of a list to others.
func (l List) addPlaces(places []*url.URL, script bool) []*url.URL {
	for _, s := range l.sources {
		u := s.place(script)
		if u != nil && len(places) < maxPlaces && !slices.ContainsFunc(places, func(v *url.URL) bool { return *u == *v }) {
			places = append(places, u)
		}
	}
	return places
}

// stranger is a host that anyone could have.
const stranger = "stranger"

// place returns a URL that the source allows and where anyone can publish something, or nil if none is known. URLs
// of blob: and filesystem: are made by the page's own scripts; and browsers load no scripts and frames by ws: and
// wss:, although section 6.7.2.9 has them match https.
func (s Source) place(script bool) *url.URL {
	if s.Host == "" && s.Scheme == "data" {
		return &url.URL{Scheme: "data", Opaque: ","}
	}
	host := s.anyHost(script)
	path, err := url.PathUnescape(s.Path)
	if host == "" || err != nil || s.Scheme != "" && s.Scheme != "http" && s.Scheme != "https" {
		return nil
	}
	if s.Port != "" && s.Port != "*" && s.Port != "80" && s.Port != "443" {
		host += ":" + s.Port
	}
	return &url.URL{Scheme: "https", Host: host, Path: path} // which http allows as well
}

// anyHost returns a host that the source allows and that anyone can have, or where anyone can put a script.
func (s Source) anyHost(script bool) string {
	suffix, wild := strings.CutPrefix(s.Host, "*.")
	switch {
	case s.Host == "*", s.Host == "" && s.Scheme != "":
		return stranger + ".example"
	case wild:
		if public, registry := publicsuffix.PublicSuffix(suffix); registry && public == suffix {
			return stranger + "." + suffix
		}
	}
	if b, ok := BypassOf(s); ok && script {
		if strings.HasPrefix(b.Host, ".") {
			return stranger + b.Host
		}
		return b.Host
	}
	return ""
}
