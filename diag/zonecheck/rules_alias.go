package zonecheck

import (
	"errors"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/zonecheck/survey"
)

// longChain is how many aliases some resolvers find too many.
const longChain = 7

// followed reports whether any chain of aliases was followed to its end, or to where no end is in sight.
func followed(e *evidence) bool {
	return chainKnown(e) || slices.ContainsFunc(e.Chains, func(c survey.Chain) bool {
		return errors.Is(c.Err, survey.ErrLong)
	})
}

// aliasRules are about where aliases lead.
var aliasRules = diag.Rules[*evidence]{{
	Code: "zone.alias.loop", Severity: diag.Error, Weight: 3, Ref: "RFC 1034 section 3.6.2",
	Title: "CNAME loop", Requirement: "No CNAME leads back to itself",
	Advice: "Point the CNAME to a name with addresses.", When: followed,
	Fails: eachChain(func(c survey.Chain) string {
		if !c.Loop {
			return ""
		}
		return "is an alias that leads back to " + survey.BareName(c.Targets[len(c.Targets)-1])
	}),
}, {
	Code: "zone.alias.long", Severity: diag.Warning, Weight: 1, Ref: "RFC 1034 section 5.2.2",
	Title: "Long CNAME chain", Requirement: "No CNAME chain is longer than resolvers follow",
	Advice: "Point the first CNAME to the last name of the chain: some resolvers give up after eight.", When: followed,
	Fails: eachChain(func(c survey.Chain) string {
		if c.Loop || len(c.Targets) <= longChain {
			return ""
		}
		return "is the start of a chain of at least " + diag.Count(len(c.Targets), "CNAME")
	}),
}, {
	Code: "zone.alias.dangling", Severity: diag.Warning, Weight: 2, Ref: "RFC 1912 section 2.4",
	Title: "Dangling CNAME", Requirement: "No CNAME leads to a name that does not exist",
	Advice: "Remove the CNAME: whoever registers the name that it leads to can answer for yours.", When: followed,
	Fails: eachChain(func(c survey.Chain) string {
		if !c.NXDomain || len(c.Targets) == 0 {
			return ""
		}
		return "is an alias of " + diag.Quote(survey.BareName(c.Targets[len(c.Targets)-1])) + ", which does not exist"
	}),
}}

// eachChain reports names with whose aliases something is wrong.
func eachChain(wrong func(survey.Chain) string) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		return diag.FailEach(e.Chains, func(c survey.Chain) diag.Failures { return about(c.Name, wrong(c)) })
	}
}
