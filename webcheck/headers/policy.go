package headers

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/webcheck/internal/csp"
)

// mayRun answers what runs under some policies beside the rest of the header.
func (e *evidence) mayRun(policies []policy) csp.Runs {
	runs := csp.MayRun(policies, e.self)
	// Where there is frame-ancestors, it decides alone (CSP Level 3 section 6.4.2.2).
	if runs.Embedding.By == "" && e.frameOption() != "" {
		runs.Embedding = csp.Answer{By: "X-Frame-Options"}
	}
	return runs
}

// strengthOf returns the strength of policies that let this run.
func strengthOf(runs *csp.Runs) Strength {
	switch {
	case runs.InlineScript.Runs || runs.EventHandler.Runs ||
		runs.ForeignScript.Runs && len(fromAnyone(&runs.ForeignScript)) > 0:
		return Weak
	case runs.ForeignScript.Runs || runs.Eval.Runs || runs.Plugin.Runs || runs.Base.Runs:
		return Good
	default:
		return Strong
	}
}

// fromAnyone returns the sources of an answer that match no particular host.
func fromAnyone(a *csp.Answer) []string {
	return slices.DeleteFunc(slices.Clone(a.Sources), func(v string) bool { _, ok := bypassOf(v); return ok })
}

// bypasses returns the sources of an answer that match a host where anyone can publish a script.
func bypasses(a *csp.Answer) []string {
	return slices.DeleteFunc(slices.Clone(a.Sources), func(v string) bool { _, ok := bypassOf(v); return !ok })
}

func bypassOf(source string) (csp.Bypass, bool) {
	s, _ := csp.ParseSource(source)
	return csp.BypassOf(s)
}

// by names the directive that decided, with its policy if there are several.
func (e *evidence) by(a *csp.Answer) string {
	if len(e.enforced) < 2 || a.Policy == 0 {
		return a.By
	}
	return fmt.Sprintf("%s of policy %d", a.By, a.Policy)
}

// insecureSources returns sources of http in the policies of a page of https, as far as browsers heed them.
func (e *evidence) insecureSources() []string {
	var found []string
	for i := range e.enforced {
		p := &e.enforced[i]
		if p.Get("upgrade-insecure-requests") != nil {
			return nil
		}
		for _, d := range p.Directives {
			if !strings.Contains(d.Name, "-src") && d.Name != "form-action" ||
				strings.HasPrefix(d.Name, "script-src") && d.Sources().StrictDynamic() {
				continue
			}
			for _, v := range d.Values {
				if s, ok := csp.ParseSource(v); ok && (s.Scheme == "http" || s.Scheme == "ws") && len(found) < maxNamed &&
					!slices.Contains(found, v) {
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
			governs := p.Governing(kindOf(l.directive))
			if governs == nil {
				continue
			}
			u := l.url
			if u.Scheme == "http" && self.Scheme == "https" &&
				(upgrade || l.directive == "img-src" || l.directive == "media-src") {
				u = secured(u)
			}
			list := sources(governs)
			if left -= list.Len(); left < 0 {
				return found
			}
			byNonce := l.directive == "script-src" || l.directive == "style-src"
			if byNonce && list.AllowsScript(u, self, l.nonce, l.integrity) || !byNonce && list.Allows(u, self) {
				continue
			}
			add(l.raw, governs)
		}
		inlined := func(what, directive string, list []inline, script bool) {
			governs := p.Governing(kindOf(directive))
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

// kindOf returns the directive that governs the elements of a directive's kind.
func kindOf(directive string) string {
	if directive == "script-src" || directive == "style-src" {
		return directive + "-elem"
	}
	return directive
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

// deadlocked returns the directive by which no script can run although some are listed, or nil.
func (e *evidence) deadlocked() *csp.Directive {
	for i := range e.enforced {
		if d := e.enforced[i].Governing("script-src-elem"); d != nil && d.Sources().StrictDynamic() &&
			!d.Sources().Vouches() {
			return d
		}
	}
	return nil
}

// shortestNonce is the length of 128 bits in base64 (CSP Level 3 section 7.1).
const shortestNonce = 22

func (e *evidence) shortNonce() string {
	return first(slices.DeleteFunc(nonces(e.enforced), func(n string) bool {
		return len(strings.TrimRight(n, "=")) >= shortestNonce
	}))
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
