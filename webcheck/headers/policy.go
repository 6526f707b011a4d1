package headers

import (
	"net/url"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/webcheck/headers/csp"
	"golang.org/x/net/publicsuffix"
)

// governing are the directives that may govern what a directive's name stands for, the most particular first (CSP
// Level 3 section 6.8.3).
var governing = map[string][]string{
	"script-src":   {"script-src-elem", "script-src", "default-src"},
	"style-src":    {"style-src-elem", "style-src", "default-src"},
	"frame-src":    {"frame-src", "child-src", "default-src"},
	"img-src":      {"img-src", "default-src"},
	"media-src":    {"media-src", "default-src"},
	"font-src":     {"font-src", "default-src"},
	"connect-src":  {"connect-src", "default-src"},
	"object-src":   {"object-src", "default-src"},
	"manifest-src": {"manifest-src", "default-src"},
}

// scripts returns, for each policy that restricts script elements, the sources that it allows.
func (e *evidence) scripts() []csp.List { return lists(e.enforced, governing["script-src"]...) }

func lists(policies []csp.Policy, names ...string) []csp.List {
	var all []csp.List
	for i := range policies {
		if d := policies[i].Effective(names...); d != nil {
			all = append(all, d.Sources())
		}
	}
	return all
}

// every reports whether there are such lists and a condition holds for all of them: the strictest policy decides.
func every(lists []csp.List, holds func(csp.List) bool) bool {
	return len(lists) > 0 && !slices.ContainsFunc(lists, func(l csp.List) bool { return !holds(l) })
}

// inlineScripts reports whether any script that is smuggled into the page runs.
func (e *evidence) inlineScripts() bool {
	return every(e.scripts(), func(l csp.List) bool { return l.AllInline(true) })
}

// broad returns the sources of a list from which anybody may serve a script.
func broad(l csp.List) []string {
	if l.StrictDynamic() {
		return nil // hosts and schemes do not count
	}
	var found []string
	for _, s := range l.Each() {
		switch suffix, wild := strings.CutPrefix(s.Host, "*."); {
		case s.Host == "*":
			found = append(found, sourceText(s))
		case s.Host == "" && slices.Contains([]string{"http", "https", "data", "blob", "ws", "wss", "filesystem"}, s.Scheme):
			found = append(found, s.Scheme+":")
		case wild:
			if public, _ := publicsuffix.PublicSuffix(suffix); public == suffix && !strings.Contains(suffix, ".") {
				found = append(found, s.Host)
			}
		}
	}
	return found
}

func sourceText(s csp.Source) string {
	if s.Scheme != "" && s.Host != "" {
		return s.Scheme + "://" + s.Host
	}
	return s.Host
}

// broadScripts returns the sources from which anybody may serve scripts, if no policy forbids that.
func (e *evidence) broadScripts() []string { return inEach(e.scripts(), broad) }

// inEach returns what is found in the first list, if something is found in each.
func inEach[T any](lists []csp.List, find func(csp.List) []T) []T {
	if !every(lists, func(l csp.List) bool { return len(find(l)) > 0 }) {
		return nil
	}
	return find(lists[0])
}

// A weakness is a source that lets anybody have a script served.
type weakness struct {
	source string
	bypass csp.Bypass
}

// bypasses returns sources by which the policies can be got round, if no policy forbids them.
func (e *evidence) bypasses() []weakness {
	return inEach(e.scripts(), func(l csp.List) (found []weakness) {
		if l.StrictDynamic() {
			return nil
		}
		for _, s := range l.Each() {
			if b, ok := csp.BypassOf(s); ok {
				found = append(found, weakness{sourceText(s), b})
			}
		}
		return found
	})
}

// insecureSources returns sources of http in the policies of a page of https.
func (e *evidence) insecureSources() []string {
	var found []string
	for i := range e.enforced {
		p := &e.enforced[i]
		if p.Get("upgrade-insecure-requests") != nil {
			return nil
		}
		for _, d := range p.Directives {
			if !strings.HasSuffix(d.Name, "-src") && d.Name != "form-action" {
				continue
			}
			for _, v := range d.Values {
				if s, ok := csp.ParseSource(v); ok && (s.Scheme == "http" || s.Scheme == "ws") && len(found) < maxNamed && !slices.Contains(found, v) {
					found = append(found, v)
				}
			}
		}
	}
	return found
}

// A block is something of the page that the page's own policy forbids.
type block struct{ what, directive string }

// The bounds of what is compared and kept: a header of 256 KiB can list thousands of sources, and a page of a
// megabyte load as many files.
const (
	maxMatches = 1_000_000
	maxNamed   = 50
)

// blocked returns what the enforced policies forbid of what the page loads.
func (e *evidence) blocked() []block { return blocked(e.enforced, e.document, e.self) }

func blocked(policies []csp.Policy, d *document, self *url.URL) (found []block) {
	upgrade := upgrades(policies)
	add := func(what string, d *csp.Directive) {
		if b := (block{what, d.Name}); len(found) < maxNamed && !slices.Contains(found, b) {
			found = append(found, b)
		}
	}
	left := maxMatches
	for i := range policies {
		p := &policies[i]
		sources := readOnce()
		for _, l := range d.loads {
			governs := p.Effective(governing[l.directive]...)
			if governs == nil {
				continue
			}
			u := l.url
			if u.Scheme == "http" && self.Scheme == "https" && (upgrade || l.directive == "img-src" || l.directive == "media-src") {
				u = secured(u)
			}
			list := sources(governs)
			if left -= list.Len(); left < 0 {
				return found
			}
			vouched := l.directive == "script-src" || l.directive == "style-src"
			if vouched && list.AllowsScript(u, self, l.nonce, l.integrity) || !vouched && list.Allows(u, self) {
				continue
			}
			add(l.raw, governs)
		}
		inlined := func(what, directive string, list []inline, script bool) {
			governs := p.Effective(governing[directive]...)
			for _, s := range list {
				if governs != nil && !sources(governs).AllowsInline(script, s.nonce, s.text) {
					add(what, governs)
				}
			}
		}
		inlined("an inline script", "script-src", d.scripts, true)
		inlined("an inline style sheet", "style-src", d.styles, false)
	}
	return found
}

// readOnce returns a function that reads the sources of each directive of one policy once.
func readOnce() func(*csp.Directive) csp.List {
	read := map[string]csp.List{}
	return func(d *csp.Directive) csp.List {
		if _, ok := read[d.Name]; !ok {
			read[d.Name] = d.Sources()
		}
		return read[d.Name]
	}
}

func secured(u *url.URL) *url.URL {
	v := *u
	v.Scheme = "https"
	return &v
}

// frameAncestors returns the frame-ancestors directives of the header: in a meta element it has no effect.
func (e *evidence) frameAncestors() []*csp.Directive {
	var all []*csp.Directive
	for i := range e.enforced {
		if d := e.enforced[i].Get("frame-ancestors"); d != nil && !e.enforced[i].Meta {
			all = append(all, d)
		}
	}
	return all
}

func nonces(policies []csp.Policy) []string {
	var all []string
	for i := range policies {
		for _, d := range policies[i].Directives {
			for _, v := range d.Values {
				if s, ok := csp.ParseSource(v); ok && s.Nonce != "" && len(all) < maxNamed && !slices.Contains(all, s.Nonce) {
					all = append(all, s.Nonce)
				}
			}
		}
	}
	return all
}

// deadlocked reports whether sources allow no script at all.
func deadlocked(l csp.List) bool { return l.StrictDynamic() && !l.Vouches() }

// shortestNonce is the length of 128 bits in base64 (CSP Level 3 section 7.1).
const shortestNonce = 22

func (e *evidence) shortNonce() string {
	return first(slices.DeleteFunc(nonces(e.enforced), func(n string) bool { return len(strings.TrimRight(n, "=")) >= shortestNonce }))
}

// knownNonce reports whether an attacker can know a nonce of the page, or nobody could see that it changes.
func (e *evidence) knownNonce() bool {
	return e.reusedNonce() != "" || e.shortNonce() != "" || len(nonces(e.enforced)) > 0 && silent(e.probes.foreign)
}

// reusedNonce returns a nonce that the server sent twice: in the page and in answer to another request for it.
func (e *evidence) reusedNonce() string {
	if e.probes.foreign == nil || e.probes.foreign.Final() == nil {
		return ""
	}
	again := nonces(csp.ParseList(strings.Join(e.probes.foreign.Final().Header.Values("Content-Security-Policy"), ", ")))
	for _, n := range nonces(e.enforced) {
		if slices.Contains(again, n) {
			return n
		}
	}
	return ""
}
