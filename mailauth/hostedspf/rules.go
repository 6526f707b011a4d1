package hostedspf

import (
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/spf"
)

// Rules describes what is examined.
func (*ResolveReport) Rules() []diag.RuleInfo { return rules.Describe() }

// Rules describes what is examined.
func (*FlattenReport) Rules() []diag.RuleInfo { return rules.Describe() }

func complete(e *evidence) bool { return len(e.faults) == 0 }

// near is from how many look-ups on a set is called nearly full.
const near = maxLookups - 1

var rules = diag.Rules[*evidence]{
	{
		Code: "spf.hosted.source.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown,
		Requirement: "The name servers answer all that the source record leads to",
		Ref:         "RFC 7208 section 4.4",
		Advice:      "Nothing needs to be done if it passes: the last good records stay published, and it is tried again soon.",
		Fails:       faulty(silent),
	},
	{
		Code: "spf.hosted.source.broken", Severity: diag.Critical, Weight: 30, Category: factorSource,
		Requirement: "Receivers can evaluate the source record",
		Ref:         "RFC 7208 section 4.6",
		Advice:      "Remove the term that leads there from the source record, or have that record mended.",
		Fails:       faulty(broken),
	},
	{
		Code: "spf.hosted.source.own", Severity: diag.Critical, Weight: 10, Category: factorSource,
		Requirement: "The source record does not lead to the records that are made of it",
		Advice:      "Make the profile anew from the record that the domain had before it led to the include host.",
		Fails:       faulty(own),
	},
	{
		Code: "spf.hosted.source.large", Severity: diag.Error, Weight: 5, Category: factorSource,
		Requirement: "The source record leads to no more than can be looked up",
		Ref:         "RFC 7208 section 11.1",
		Advice:      "Remove terms that are not needed.",
		Fails:       faulty(large),
	},
	{
		Code: "spf.hosted.stays.relative", Severity: diag.Error, Weight: 5, Category: factorSource,
		Requirement: "Every term can stand in another record",
		Ref:         "RFC 7208 section 7.3",
		Advice:      "Leave the term in the domain's own record, before the one that leads here, and take it out of the source.",
		When:        complete,
		Fails: func(e *evidence) diag.Failures {
			if e.unmovable == nil {
				return nil
			}
			return diag.Failures{{Detail: e.unmovable.String() + ".", Target: diag.Quote(e.unmovable.term)}}
		},
	},
	{
		Code: "spf.hosted.lookups.exceeded", Severity: diag.Critical, Weight: 30, Category: factorLimits,
		Requirement: "The flat records need fewer than 10 look-ups",
		Ref:         "RFC 7208 section 4.6.4",
		Advice:      "Remove services that are no longer used from the source record, or divide them among subdomains.",
		When:        movable,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.published == nil, "%s.", strings.ToUpper(e.excess()[:1])+e.excess()[1:])
		},
	},
	{
		Code: "spf.hosted.lookups.near", Severity: diag.Warning, Weight: 10, Category: factorLimits,
		Requirement: "The flat records leave room for more",
		Ref:         "RFC 7208 section 4.6.4",
		Advice:      "Remove services that are no longer used from the source record.",
		When:        publishable,
		Fails: func(e *evidence) diag.Failures {
			n := e.published.LookupsAfter
			return diag.FailIf(n >= near, "They need %d of %d look-ups.", n, maxLookups)
		},
	},
	{
		Code: "spf.hosted.all.pass", Severity: diag.Error, Weight: 15, Category: factorSource,
		Requirement: "The source record does not let everybody pass",
		Ref:         "RFC 7208 section 5.1",
		Advice:      "Replace +all by -all in the source record.",
		When:        movable,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.outline.all == spf.QualifierPass, "All hosts that it does not name pass.")
		},
	},
	{
		Code: "spf.hosted.all.missing", Severity: diag.Warning, Weight: 5, Category: factorSource,
		Requirement: "The source record says what to think of other hosts",
		Ref:         "RFC 7208 section 4.7",
		Advice:      "End the source record with -all or ~all.",
		When:        movable,
		Fails: func(e *evidence) diag.Failures {
			open := e.outline.all == "" && e.outline.last == nil
			return diag.FailIf(open, "It does not end with all, so that the result is neutral.")
		},
	},
	{
		Code: "spf.hosted.domain.unused", Severity: diag.Warning, Weight: 5, Category: factorDomain,
		Requirement: "The domain's own record leads to the include host",
		Ref:         "RFC 7208 section 6.1",
		Advice:      "Let the domain's record hand over to the include host.",
		When:        func(e *evidence) bool { return e.own.Err() == nil },
		Fails: func(e *evidence) diag.Failures {
			if e.handsOver() {
				return nil
			}
			return diag.Failures{{
				Detail: fmt.Sprintf("The record of %s does not name %s.", e.domain, e.host), Target: e.domain.String(),
				Suggested: version + " redirect=" + e.host,
			}}
		},
	},
	{
		Code: "spf.hosted.source.limits", Severity: diag.Info,
		Requirement: "The source record by itself keeps to the limits of receivers",
		Ref:         "RFC 7208 section 4.6.4",
		When:        complete,
		Fails: func(e *evidence) diag.Failures {
			lookups, voids := e.tree.Root.CumulativeLookups, e.tree.Voids()
			return diag.FailIf(lookups > spf.MaxLookups || voids > spf.MaxVoids,
				"It needs %d look-ups, %d of them for nothing, and would end in permerror; the flat records do not.",
				lookups, voids)
		},
	},
	{
		Code: "spf.hosted.stays.macro", Severity: diag.Info,
		Requirement: "No term depends on the mail by macros",
		Ref:         "RFC 7208 section 7",
		When:        movable,
		Fails:       staying(byMacro),
	},
	{
		Code: "spf.hosted.stays.exists", Severity: diag.Info,
		Requirement: "There is no exists",
		Ref:         "RFC 7208 section 5.7",
		When:        movable,
		Fails:       staying(byExists),
	},
	{
		Code: "spf.hosted.stays.ptr", Severity: diag.Warning, Weight: 5, Category: factorSource,
		Requirement: "There is no ptr",
		Ref:         "RFC 7208 section 5.5",
		Advice:      "Replace it by the addresses of the hosts: it is slow, and some receivers do not evaluate it.",
		When:        movable,
		Fails:       staying(byPTR),
	},
	{
		Code: "spf.hosted.stays.content", Severity: diag.Info,
		Requirement: "Every record that is included can be taken apart",
		Ref:         "RFC 7208 section 5.2",
		When:        movable,
		Fails:       staying(byContent),
	},
}

// movable reports whether all terms can stand in other records.
func movable(e *evidence) bool { return complete(e) && e.unmovable == nil }

func publishable(e *evidence) bool { return e.published != nil }

// faulty lists the faults of a kind.
func faulty(kind faultKind) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		var list diag.Failures
		for _, f := range e.faults {
			if f.kind == kind {
				detail := strings.ToValidUTF8(f.detail, "\uFFFD")
				list = append(list, diag.Failure{Detail: strings.ToUpper(detail[:1]) + detail[1:] + ".", Target: f.name})
			}
		}
		return list
	}
}

// maxStays bounds the findings about terms that stay.
const maxStays = 20

// staying lists the terms that stay for a reason.
func staying(why reason) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		var list diag.Failures
		for _, s := range e.outline.stays() {
			if s.reason == why && len(list) < maxStays {
				list = append(list, diag.Failure{Detail: s.sentence(), Target: diag.Quote(s.written)})
			}
		}
		return list
	}
}

// sentence says what stays and what it costs.
func (s *stay) sentence() string {
	cost := fmt.Sprintf("%d look-ups", s.lookups)
	if s.lookups == 1 {
		cost = "1 look-up"
	}
	if s.atLeast {
		cost = "at least " + cost
	}
	return fmt.Sprintf("%s of %s stays as it is, and costs %s.", diag.Quote(s.written), diag.Quote(s.domain), cost)
}

// handsOver reports whether the domain's own record names the include host.
func (e *evidence) handsOver() bool {
	for _, r := range e.own.Records {
		record, faults := spf.Parse(diag.TXT(r))
		if len(faults) > 0 {
			continue
		}
		for _, t := range record.Terms {
			named := strings.EqualFold(strings.TrimSuffix(t.Value, "."), e.host)
			if named && (t.Name == spf.Include || t.Name == spf.Redirect) {
				return true
			}
		}
	}
	return false
}
