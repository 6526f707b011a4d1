package headers

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/webcheck/internal/csp"
)

// A comma is one in a Content-Security-Policy where a semicolon or a space was probably meant.
type comma struct {
	before, after string // the text on either side
	offset        int
	meant         string // the whole line
	listed        bool   // it is followed by a source, not a directive
	meta          bool   // it is the text of a meta element
}

// findCommas returns the first such comma of each field and meta element.
func (e *evidence) findCommas() (found []comma) {
	add := func(line string, meta bool) {
		if c, ok := findComma(text(line)); ok && len(found) < maxNamed {
			c.meta = meta
			found = append(found, c)
		}
	}
	for _, line := range e.values(fieldCSP) {
		add(line, false)
	}
	if e.document != nil {
		for _, line := range e.document.policies {
			add(line, true)
		}
	}
	return found
}

// findComma returns the first such comma of a line. Policies that are separate on purpose, as an application and the
// proxy before it send them, name the same directives, or no more than one of them lists sources of resources.
func findComma(line string) (comma, bool) {
	var parts []string
	var offsets []int // of the commas before them
	offset := -1
	for part := range strings.SplitSeq(line, ",") {
		if trimmed := strings.Trim(part, " \t;"); trimmed != "" {
			parts, offsets = append(parts, trimmed), append(offsets, offset)
		}
		offset += len(part) + 1
	}
	if len(parts) < 2 || len(parts) > csp.MaxPolicies {
		return comma{}, false
	}
	meant, at := parts[0], 0
	for i, part := range parts[1:] {
		name, _, _ := strings.Cut(part, " ")
		switch {
		case csp.Known(name):
			meant += "; " + part
		default:
			meant += separator(parts[i]) + part
			if at == 0 {
				at = i + 1
			}
		}
	}
	listed := at > 0
	at = max(at, 1)
	before := parts[at-1][strings.LastIndexByte(parts[at-1], ';')+1:]
	after, _, _ := strings.Cut(parts[at], ";")
	c := comma{offset: offsets[at], meant: meant, listed: listed}
	c.before, c.after = strings.TrimSpace(before), strings.TrimSpace(after)
	return c, listed || divided(parts)
}

// separator returns what a comma behind a part was probably meant to be: within a URL one that is encoded (RFC 3986
// section 2.1).
func separator(part string) string {
	if p := csp.Parse(part); len(p.Directives) > 0 && p.Directives[len(p.Directives)-1].Name == "report-uri" {
		return "%2C"
	}
	return " "
}

// divided reports whether the directives of one policy seem to be distributed among several.
func divided(parts []string) bool {
	seen, fetching := map[string]bool{}, 0
	for _, part := range parts {
		p := csp.Parse(part)
		if slices.ContainsFunc(p.Directives, func(d csp.Directive) bool { return strings.Contains(d.Name, "-src") }) {
			fetching++
		}
		for _, d := range p.Directives {
			if seen[d.Name] {
				return false
			}
			seen[d.Name] = true
		}
	}
	return fetching > 1
}

// serves reports whether a policy can replace that of the header: browsers know every part of it,
// and it lets nothing run and blocks nothing of the page that does not or is not today.
func (e *evidence) serves(value string) bool {
	p := csp.Parse(value)
	if len(p.Directives) == 0 || len(p.Faults) > 0 || strings.Contains(value, ",") || len(e.values(fieldCSP)) != 1 {
		return false
	}
	policies := append([]policy{p}, slices.DeleteFunc(slices.Clone(e.enforced), func(p policy) bool { return !p.Meta })...)
	runs := e.mayRun(policies)
	now := e.runs.List()
	for i, a := range runs.List() {
		if a.Runs && !now[i].Runs {
			return false
		}
	}
	if e.document == nil {
		return true
	}
	today := e.blocked()
	return !slices.ContainsFunc(blocked(policies, e.document, e.self), func(b block) bool {
		return !slices.ContainsFunc(today, func(t block) bool { return t.what == b.what })
	})
}

// suggested returns a policy as a field, or nothing if it cannot replace that of the header.
func (e *evidence) suggested(value string) string {
	if !e.serves(value) {
		return ""
	}
	return fieldCSP + ": " + value
}

// correctedPolicy is the policy of the header as it was probably meant, if there is one and all of it can be
// corrected.
func (e *evidence) correctedPolicy() string {
	if len(e.values(fieldCSP)) != 1 || strings.Contains(e.value(fieldCSP), ",") {
		return ""
	}
	p := csp.Parse(e.value(fieldCSP))
	return e.suggested(p.Corrected())
}

// commaRule is about commas that make several policies of one.
var commaRule = rule.Rule[*evidence]{
	Code: "headers.csp.comma", Severity: diag.Warning, Category: factorPolicy,
	DependsOn: []diag.Code{"headers.csp.missing"}, Ref: "CSP Level 3 section 2.2.2",
	Title:       "A comma splits Content-Security-Policy into several policies",
	Requirement: "Directives are separated by semicolons and sources by spaces",
	Advice: "Put a semicolon between directives and a space between sources. Send a second policy on purpose in a field " +
		"of its own, and a comma within a URL as %2C.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.commas, func(c comma) rule.Failures {
			effect := "Browsers enforce both, so what one of them allows the other can block."
			if c.listed {
				effect = "There browsers take it for the name of a directive."
			}
			f := rule.Fail("The comma after \"%s\" ends the policy, and \"%s\" begins another one. %s",
				phrase.Quote(c.before), phrase.Quote(c.after), effect).About(fieldCSP)
			if !c.meta && len(e.values(fieldCSP)) == 1 {
				f[0].Location = &diag.Location{Offset: c.offset, Length: 1}
				f[0].Suggested = e.suggested(c.meant)
			}
			return f
		})
	},
}

// behindComma reports whether a fault is that a source behind a comma is read as a directive, which the comma
// explains.
func (e *evidence) behindComma(f *csp.Fault) bool {
	if f.Kind != csp.UnknownDirective || len(e.commas) == 0 {
		return false
	}
	s, ok := csp.ParseSource(f.Directive)
	if ok && (s.Scheme != "" || s.Keyword != "" || strings.Contains(s.Host, ".")) {
		return true
	}
	return slices.ContainsFunc(e.commas, func(c comma) bool {
		return c.listed && strings.HasPrefix(strings.ToLower(c.after), f.Directive)
	})
}
