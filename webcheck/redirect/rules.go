package redirect

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/ground"
)

type rule = diag.Rule[*evidence]

// rules is the table of all that is examined, in the order in which a visitor would meet it.
var rules = sync.OnceValue(func() diag.Rules[*evidence] {
	onTheWay := slices.Concat(
		bodyRules.With(rule{Category: factorReach}), redirectRules.With(rule{Category: factorRedirects}),
		locationRules.With(rule{Category: factorRedirects, When: answered}),
		refreshRules.With(rule{Category: factorRedirects, Reads: []diag.Source{ground.SourceAnswer, sourceBody}}),
		transportRules.With(rule{Category: factorTransport}), destinationRules.With(rule{Category: factorDestination}),
		wayRules.With(rule{Category: factorDestination}))
	// What was met on the way stands, and nothing is praised unless the end is known.
	return slices.Concat(diag.Rules[*evidence]{portRule}, serverRules,
		onTheWay.With(rule{Reads: []diag.Source{ground.SourceAnswer}, Stands: true}))
})

func answered(e *evidence) bool { return len(e.steps) > 0 }

func arrived(e *evidence) bool { return e.end() != nil }

// each fails for every hop for which the test has something to say, and names the hop as its target.
func each(test func(e *evidence, s *step) string) func(*evidence) diag.Failures {
	return func(e *evidence) (all diag.Failures) {
		for i := range e.steps {
			if detail := test(e, &e.steps[i]); detail != "" {
				all = append(all, diag.Failure{Detail: detail, Target: hop(&e.steps[i])})
			}
		}
		return all
	}
}

// hop is how a finding names a hop.
func hop(s *step) string { return fmt.Sprintf("hop %d", s.hop.Index) }

// text writes a URL in a sentence.
func text(s fmt.Stringer) string { return diag.Quote(s.String()) }

// at writes the URL of a hop in a sentence.
func (s *step) at() string { return diag.Quote(s.hop.URL) }

// target writes where a hop leads in a sentence.
func (s *step) target() string { return text(s.hop.Target) }

// host is where the chain ended.
func (e *evidence) host() string { return e.result.URL.Host().String() }

// led writes how the chain came to its end, in front of what was wrong there.
func (e *evidence) led() string {
	if !e.elsewhere() {
		return ""
	}
	return fmt.Sprintf("%s leads to %s. ", diag.Quote(e.last().hop.URL), text(e.result.URL))
}

// list writes at most five items with commas.
func list(items []string) string {
	const most = 5
	if more := len(items) - most; more > 0 {
		return strings.Join(items[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(items, ", ")
}
