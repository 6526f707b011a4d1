package hsts

import (
	"fmt"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/rule"
)

// Unanswered lists what is not known.
func (e *evidence) Unanswered() []rule.Source {
	open := e.observation().Unanswered()
	broken := func(r *fetch.Result) bool { err := brokenOff(r); return err != nil && err.Unanswered || tooLong(r) }
	if silent(e.http) {
		open = append(open, sourceHTTP, sourceChain)
	} else if broken(e.http) || broken(e.https) {
		open = append(open, sourceChain)
	}
	if e.www != nil && (silent(e.www) || first(e.www) == nil && e.wwwHTTP != nil && silent(e.wwwHTTP)) {
		open = append(open, sourceWWW)
	}
	return open
}

// tooLong reports whether a chain ended at a URL that is longer than what is read here.
func tooLong(r *fetch.Result) bool { return r.Err != nil && r.Err.Limit }

// Scope lists the two ways to the site, if one of them was not followed to its end.
func (e *evidence) Scope() []diag.ScopePart {
	if !tooLong(e.https) && !tooLong(e.http) {
		return nil
	}
	var parts []diag.ScopePart
	for _, way := range []struct {
		name   string
		result *fetch.Result
	}{{"redirects from HTTPS", e.https}, {"redirects from plain HTTP", e.http}} {
		part := diag.ScopePart{Part: way.name, State: diag.Examined}
		if tooLong(way.result) {
			part.State, part.Reason = diag.LeftOut, fmt.Sprintf("one is longer than %d octets", input.MaxURL)
		}
		parts = append(parts, part)
	}
	return parts
}

// wwwDoubtful reports whether there may be a web site at www that browsers cannot open over HTTPS.
func (e *evidence) wwwDoubtful() bool {
	return len(brokenWWW(e)) > 0 || slices.Contains(e.Unanswered(), sourceWWW)
}
