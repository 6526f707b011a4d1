package hostedspf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/miekg/dns"
)

// Rules describes the checks.
func (*ResolveReport) Rules() []rule.Description { return rules.Describe() }

// Rules describes the checks.
func (*FlattenReport) Rules() []rule.Description { return rules.Describe() }

// near is from how many lookups on a set is called nearly full.
const near = maxLookups - 1

const (
	fromTree rule.Source = "tree" // the tree of the source record
	fromOwn  rule.Source = "own"  // the published record of the domain
)

// Unanswered implements [rule.Unanswerer].
func (e *evidence) Unanswered() []rule.Source {
	mute := slices.ContainsFunc(e.faults, func(f fault) bool { return f.kind == silent })
	return rule.Unanswered(map[rule.Source]bool{fromTree: !mute, fromOwn: e.own.Err() == nil})
}

// The rules about the domain's own record, also used when a profile is only shown.
const (
	unusedCode   diag.Code = "spf.hosted.domain.unused"
	unusedText             = "The SPF record of %s does not lead to %s."
	danglingCode diag.Code = "spf.hosted.domain.dangling"
	danglingText           = "The record of %s leads to %s, which has no records: receivers end in permerror."
)

var rules = rule.Rules[*evidence]{{
	Code: "spf.hosted.source.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: "RFC 7208 section 4.4",
	Title:       "Name servers did not answer",
	Requirement: "The name servers answered every lookup that the source record needs",
	Advice:      "Wait for the next resolution, which is automatic. If it fails too, tell the operator.",
	Fails:       faulty(silent),
}, {
	Code: "spf.hosted.source.broken", Severity: diag.Critical, Weight: 30, Category: factorSource,
	HoldsWhenUnanswered: true,
	Ref:                 "RFC 7208 section 4.6",
	Title:               "The source record leads to a broken SPF record", Requirement: "Receivers can evaluate the source record",
	Advice: "Remove the term that leads there from the source record, or have that record fixed.",
	Fails:  faulty(broken),
}, {
	Code: "spf.hosted.source.own", Severity: diag.Critical, Weight: 10, Category: factorSource, HoldsWhenUnanswered: true,
	Ref:         "RFC 7208 section 5.2",
	Title:       "The source record includes its own flattened records",
	Requirement: "The source record does not include its own flattened records",
	Advice:      "Create the profile again from the record that the domain had before it included the hosted one.",
	Fails:       faulty(own),
}, {
	Code: "spf.hosted.source.large", Severity: diag.Error, Weight: 5, Category: factorSource, HoldsWhenUnanswered: true,
	Ref:         "RFC 7208 section 11.1",
	Title:       "The source record needs too many lookups to be resolved",
	Requirement: "The source record can be resolved completely",
	Advice:      "Remove includes that are not needed.",
	Fails:       faulty(large),
}, {
	Code: "spf.hosted.stays.relative", Severity: diag.Error, Weight: 5, Category: factorSource,
	Ref:   "RFC 7208 section 7.3",
	Title: "A term cannot be moved to another record", Requirement: "Every term can be moved to another record",
	Advice: "Move the term to the domain's own record, before the include of the hosted one.",
	When:   complete, Fails: func(e *evidence) rule.Failures {
		if e.unmovable == nil {
			return nil
		}
		return rule.Failures{{Detail: e.unmovable.String() + ".", Target: phrase.Quote(e.unmovable.term)}}
	},
}, {
	Code: "spf.hosted.lookups.exceeded", Severity: diag.Critical, Weight: 30, Category: factorLimits,
	Ref:         "RFC 7208 section 4.6.4",
	Title:       "The flattened records do not fit into 9 DNS lookups",
	Requirement: "The flattened records fit into 9 DNS lookups",
	Advice:      "Remove services that are no longer used from the source record, or divide them among subdomains.",
	When:        movable, Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.published == nil, "%s.", phrase.Capitalize(e.excess()))
	},
}, {
	Code: "spf.hosted.lookups.near", Severity: diag.Warning, Weight: 10, Category: factorLimits,
	Ref:         "RFC 7208 section 4.6.4",
	Title:       "The flattened records are close to the limit of 9 DNS lookups",
	Requirement: "The flattened records leave room for more senders",
	Advice:      "Remove services that are no longer used from the source record.",
	When:        publishable, Fails: func(e *evidence) rule.Failures {
		n := e.published.LookupsAfter
		return rule.FailIf(n >= near, "The flattened records need %d of %d DNS lookups.", n, maxLookups)
	},
}, {
	Code: "spf.hosted.sets.answered", Severity: diag.Info, Ref: "RFC 7208 section 5.7",
	Title:       "Networks are published as exists:%{i}, not as addresses",
	Requirement: "All networks are published as addresses",
	Advice: "Keep the bundled name server the only one of the zone. To publish plain records again, remove services " +
		"that are no longer used.",
	When: publishable, Fails: func(e *evidence) rule.Failures {
		n := 0
		for _, s := range e.published.Sets {
			n += len(s.Networks)
		}
		return rule.FailIf(n > 0, "%d networks do not fit into %d records, so the name server answers for them address "+
			"by address: receivers need a DNS lookup for each sender address, and the name server sees who receives "+
			"mail from which address.", n, maxRecords)
	},
}, {
	Code: "spf.hosted.all.pass", Severity: diag.Error, Weight: 15, Category: factorSource, Ref: "RFC 7208 section 5.1",
	Title: "The source record authorizes every host", Requirement: "The source record does not authorize every host",
	Advice: "Replace +all with -all in the source record.",
	When:   movable, Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.outline.all == eval.QualifierPass, "Every host that the source record does not list passes.")
	},
}, {
	Code: "spf.hosted.all.missing", Severity: diag.Warning, Weight: 5, Category: factorSource,
	Ref:   "RFC 7208 section 4.7",
	Title: "The source record does not end with all", Requirement: "The source record ends with all or redirect",
	Advice: "End the source record with -all or ~all.",
	When:   movable, Fails: func(e *evidence) rule.Failures {
		open := e.outline.all == "" && e.outline.last == nil
		return rule.FailIf(open, "The source record does not end with all, so hosts that it does not list get neutral.")
	},
}, {
	Code: danglingCode, Severity: diag.Critical, Weight: 10, Category: factorDomain,
	Reads: []rule.Source{fromOwn}, Ref: "RFC 7208 section 5.2",
	Title:       "The domain uses the include host, where nothing is published yet",
	Requirement: "The domain does not use an include host without records",
	Advice:      "Publish the domain's former record until a resolution of the profile has succeeded.",
	When:        func(e *evidence) bool { return !e.served() },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.handsOver(), danglingText, e.domain, e.host)
	},
}, {
	Code: unusedCode, Severity: diag.Warning, Weight: 5, Category: factorDomain,
	Reads: []rule.Source{fromOwn}, Ref: "RFC 7208 section 6.1",
	Title: "The domain does not use the hosted record", Requirement: "The domain's own record leads to the include host",
	Advice: "Point the domain's record to the include host, with include or redirect.",
	When:   (*evidence).served, Fails: func(e *evidence) rule.Failures {
		if e.handsOver() {
			return nil
		}
		lookups := maxLookups
		if e.published != nil {
			lookups = e.published.LookupsAfter
		}
		return rule.Fail(unusedText, e.domain, e.host).About(e.domain.String()).Suggesting(e.suggestion(lookups))
	},
}, {
	Code: "spf.hosted.stays.macro", Optional: true, Severity: diag.Info, Ref: "RFC 7208 section 7",
	Title: "A term with macros cannot be flattened", Requirement: "No term depends on the message through macros",
	Advice: "Leave it if the term is needed: its lookups count as before.",
	When:   movable, Fails: keptBy(byMacro),
}, {
	Code: "spf.hosted.stays.ptr", Severity: diag.Warning, Weight: 5, Category: factorSource, Ref: "RFC 7208 section 5.5",
	Title: "ptr cannot be flattened", Requirement: "There is no ptr",
	Advice: "Replace ptr with the addresses of the hosts: it is slow, and some receivers do not evaluate it.",
	When:   movable, Fails: keptBy(byPTR),
}, {
	Code: "spf.hosted.stays.content", Optional: true, Severity: diag.Info, Ref: "RFC 7208 section 5.2",
	Title: "An included record cannot be flattened", Requirement: "Every included record can be flattened",
	Advice: "Leave it if the service is needed: its lookups count as before.",
	When:   movable, Fails: keptBy(byContent),
}}.Reading(fromTree)

func complete(e *evidence) bool { return len(e.faults) == 0 }

func movable(e *evidence) bool { return complete(e) && e.unmovable == nil }

func publishable(e *evidence) bool { return e.published != nil }

// served reports whether there are records at the include host, those of an earlier resolution or new ones.
func (e *evidence) served() bool { return e.published != nil || e.existing }

func faulty(kind faultKind) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		return rule.FailEach(e.faults, func(f fault) rule.Failures {
			detail := strings.ToValidUTF8(f.detail, "\uFFFD")
			return rule.FailIf(f.kind == kind, "%s.", phrase.Capitalize(detail)).About(f.name)
		})
	}
}

func keptBy(why reason) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		return rule.FailEach(e.outline.kept(), func(s *keptTerm) rule.Failures {
			return rule.FailIf(s.reason == why, "%s", s.sentence()).About(phrase.Quote(s.written))
		})
	}
}

func (s *keptTerm) sentence() string {
	cost := phrase.Count(s.lookups, "DNS lookup")
	if s.atLeast {
		cost = "at least " + cost
	}
	return fmt.Sprintf("%s of %s is kept as it is, and costs %s.", phrase.Quote(s.written), phrase.Quote(s.domain), cost)
}

// handsOver reports whether the domain's own record names the include host.
func (e *evidence) handsOver() bool {
	for _, text := range recordsOf(e.own) {
		record, faults := eval.Parse(text)
		if len(faults) > 0 {
			continue
		}
		for _, t := range record.Terms {
			leads := t.Kind == eval.Mechanism && t.Name == eval.Include || t.Kind == eval.Modifier && t.Name == eval.Redirect
			if leads && strings.EqualFold(strings.TrimSuffix(t.Value, "."), e.host) {
				return true
			}
		}
	}
	return false
}

func recordsOf(own diag.Answer[*dns.TXT]) []string {
	other := func(text string) bool { return !eval.IsRecord(text) }
	return slices.DeleteFunc(kit.Map(own.Records, dnsmsg.TXT), other)
}

var (
	factorSource = rule.Category{Code: "source", Label: "Source record"}
	factorLimits = rule.Category{Code: "limits", Label: "Limits"}
	factorDomain = rule.Category{Code: "domain", Label: "Domain's own record"}
)

// The texts about what remains published after a failed resolution.
const (
	lastGood = "The last good records stay published."
	noneYet  = "Nothing is published yet."
)

func textsFor(existing bool) rule.Texts {
	if existing {
		return texts
	}
	first := rule.Texts{}
	for code, t := range texts {
		t.Sub = strings.Replace(t.Sub, lastGood, noneYet, 1)
		first[code] = t
	}
	return first
}

var texts = rule.Texts{
	"valid": {Headline: "The SPF record is flattened and published",
		Sub: "The published records authorize the same hosts with fewer DNS lookups. Nothing needs to be done."},
	"spf.hosted.source.unknown": {Headline: "The SPF record could not be resolved completely",
		Sub: "Name servers did not answer. " + lastGood + " It is resolved again soon."},
	"spf.hosted.source.broken": {Headline: "The SPF record leads to a broken one and was not resolved",
		Sub: lastGood + " Remove the term that leads there, or have that record fixed."},
	"spf.hosted.source.own": {Headline: "The SPF source record includes its own flattened records",
		Sub: lastGood + " Create the profile again from the original record."},
	"spf.hosted.source.large": {Headline: "The SPF record needs too many lookups to be resolved",
		Sub: lastGood + " Remove includes that are not needed."},
	"spf.hosted.stays.relative": {Headline: "The SPF record has a term that cannot be moved",
		Sub: lastGood + " Put that term into the domain's own record."},
	"spf.hosted.lookups.exceeded": {Headline: "The flattened SPF records do not fit into 9 DNS lookups",
		Sub: lastGood + " Remove services that are no longer used."},
	"spf.hosted.lookups.near": {Headline: "The SPF record is flattened, but nearly full",
		Sub: "With one or two services more it no longer fits. Remove what is not needed."},
	"spf.hosted.all.pass": {Headline: "The SPF record authorizes every host",
		Sub: "It ends with +all, which takes all protection away. Replace it with -all."},
	string(danglingCode): {Headline: "The domain's SPF record leads to a name without records",
		Sub: "Receivers return permerror. Publish the domain's former record until a resolution has succeeded."},
	string(unusedCode): {Headline: "The SPF records are ready, but the domain does not use them",
		Sub: "Point the domain's record to the include host."},
}
