package compose

import (
	"cmp"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
)

type finding struct {
	diag.Finding
	part *Summary
}

func (f *finding) effect() effect { return effectOf(f.Code, f.Severity) }

// cause returns the gravest finding of the list that causes this one; nil without any.
func (f *finding) cause(list []finding) *finding {
	r, ok := causesOf[f.Code]
	if !ok {
		return nil
	}
	var found *finding
	unexplained := f.hosts() // those without a reported cause
	for i := range list {
		other := &list[i]
		hasPrefix := func(c string) bool { return strings.HasPrefix(string(other.Code), c) }
		graveEnough := other.Severity > diag.Info || f.Severity == diag.Info || other.aboutResolver()
		if r.criticalOnly {
			graveEnough = other.Severity == diag.Critical
		}
		about := func(host string) bool { return slices.Contains(other.hosts(), host) }
		if other.Code == f.Code || !graveEnough || r.sameHost && !slices.ContainsFunc(f.hosts(), about) ||
			!slices.ContainsFunc(r.causes, hasPrefix) {
			continue
		}
		unexplained = slices.DeleteFunc(unexplained, about)
		if found == nil || other.Severity > found.Severity {
			found = other
		}
	}
	if r.sameHost && len(unexplained) > 0 {
		return nil
	}
	return found
}

func (f *finding) hosts() []string {
	list := []string{f.Target}
	if len(f.Places) > 0 {
		list = nil
	}
	for _, p := range f.Places {
		list = append(list, p.Target)
	}
	return list
}

// dropConsequences leaves out the findings whose cause is reported, or may exist. A finding graver than its cause is a
// fault of its own. Failed lookups may be merged into one finding, but still count as causes.
func (c *Composite) dropConsequences(list, failed []finding) (rest []finding) {
	causes := slices.Concat(list, failed)
	for i := range list {
		cause := list[i].cause(causes)
		if cause == nil && !c.mayHaveCause(list[i].Code) || cause != nil && cause.Severity < list[i].Severity &&
			!cause.aboutResolver() {
			rest = append(rest, list[i])
		}
	}
	return rest
}

// mayHaveCause reports whether a cause of the fault, which would be reported instead, is unknown.
func (c *Composite) mayHaveCause(code diag.Code) bool {
	r := causesOf[code]
	causes := func(open diag.Code) bool {
		return slices.ContainsFunc(r.causes, func(c string) bool { return strings.HasPrefix(string(open), c) })
	}
	return !r.sameHost && !r.criticalOnly && slices.ContainsFunc(c.allParts(), func(p *Summary) bool {
		return slices.ContainsFunc(p.verdict.Open(), causes)
	})
}

// lookupCodes are the codes, apart from those that end in "record.unknown", of failed lookups about the domain. They
// nearly always fail together.
var lookupCodes = []diag.Code{"dmarc.record.inherited.unknown", "dmarc.mail.unknown", "mtasts.mx.unknown",
	"dnssec.answer.unavailable", "dnssec.ds.unavailable", "mx.lookup.unknown", "smtp.mx.unknown",
	"mx.domain.address.unknown", "bimi.dmarc.unknown", "dane.mx.unknown", "score.address.unknown",
	"check.part.unavailable", "check.part.timeout"}

// auxiliaryCodes are the codes about auxiliary queries of a part, which say nothing about the domain: its name need not
// have the records that DNSSEC is tested with.
var auxiliaryCodes = []string{"dnssec.answer.nodata"}

func (f *finding) aboutResolver() bool { return slices.Contains(resolverCodes, string(f.Code)) }

// mergedFindings merges the findings of all parts into one list without duplicates, the worst first.
func (c *Composite) mergedFindings() []finding {
	var all, failed []finding
	for _, p := range c.allParts() {
		for _, found := range p.Findings {
			f := finding{found, p}
			switch {
			case slices.Contains(auxiliaryCodes, string(f.Code)):
			case f.aboutResolver():
				f.Severity = diag.Info
				all = append(all, f)
			case strings.HasSuffix(string(f.Code), ".record.unknown") || slices.Contains(lookupCodes, f.Code):
				failed = append(failed, f)
			default:
				all = append(all, f)
			}
		}
	}
	all = append(all, c.mergeLookups(failed)...)
	all = slices.DeleteFunc(all, func(f finding) bool { return c.isUnneeded(&f) })
	list := c.dropConsequences(all, failed)
	type fact struct {
		code   diag.Code
		detail string
		key    string // two selectors with the same fault are two faults
	}
	seen := map[fact]bool{}
	list = slices.DeleteFunc(list, func(f finding) bool {
		found := fact{f.Code, f.Detail, f.part.target}
		again := seen[found]
		seen[found] = true
		return again
	})
	slices.SortStableFunc(list, func(a, b finding) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.effect(), b.effect()))
	})
	return list
}

// mergeLookups merges the failed lookups of several parts into one finding. Those of a single part are kept as they
// are.
func (c *Composite) mergeLookups(failed []finding) []finding {
	var labels []string
	for _, f := range failed {
		if !slices.Contains(labels, f.part.kind.Label) {
			labels = append(labels, f.part.kind.Label)
		}
	}
	if len(labels) < 2 {
		return failed
	}
	worst := slices.MaxFunc(failed, func(a, b finding) int { return cmp.Compare(a.Severity, b.Severity) })
	if i := slices.IndexFunc(failed, func(f finding) bool { return f.Advice == diag.AdviceRepairDNSSEC }); i >= 0 {
		worst = failed[i]
	}
	e := &lookupEvidence{labels: labels, all: !c.anyKnown(), detail: worst.Detail,
		bogus: worst.Advice == diag.AdviceRepairDNSSEC}
	s := Summarize(Kind{Code: worst.part.kind.Code, Label: "DNS"}, Judge(wholeRules, e, partTexts))
	return kit.Map(s.Findings, func(f diag.Finding) finding { return finding{f, &s} })
}

type lookupEvidence struct {
	labels []string
	all    bool // everything is unknown
	detail string
	bogus  bool // resolvers refuse the answers of the domain
}

func (e *lookupEvidence) failIf(cond bool, format string, args ...any) rule.Failures {
	f := rule.FailIf(cond, format, args...)
	if cond && e.bogus {
		f[0].Advice = diag.AdviceRepairDNSSEC
	}
	return f
}

var wholeRules = rule.Rules[*lookupEvidence]{{
	Code: "check.domain.unavailable", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: "RFC 9520 section 2",
	Title: "DNS does not answer for the domain", Requirement: "The DNS answers for the domain",
	Advice: "Check that every name server of the domain answers, and its delegation: until then mail to the domain and " +
		"mail from it is deferred.",
	Fails: func(e *lookupEvidence) rule.Failures {
		return e.failIf(e.all && len(e.labels) > 1, "Nothing could be examined. %s", e.detail)
	},
}, {
	Code: "check.lookups.failed", Severity: diag.Error, StateIfFailed: diag.Unknown,
	DependsOn: []diag.Code{"check.domain.unavailable"}, Ref: "RFC 9520 section 2",
	Title: "DNS lookups failed for several parts", Requirement: "The DNS answers for all parts",
	Advice: "Check that every name server of the domain answers for these names, and try again.",
	Fails: func(e *lookupEvidence) rule.Failures {
		return e.failIf(len(e.labels) > 1, "%s could not be examined completely. %s",
			phrase.Series(e.labels, len(e.labels)), e.detail)
	},
}}

// An effect is the consequence of a fault for mail. It orders faults of the same severity.
type effect int

// The effects, the gravest first.
const (
	refusal    effect = iota // receivers refuse all mail of the sender, whatever its records say
	loss                     // mail does not arrive, now
	forgery                  // others can send mail in the name of the domain
	acceptance               // large receivers refuse or downgrade mail of the domain
	protection               // mail arrives, but a protection is missing
	extra                    // nice to have
)

// effects maps code prefixes to the effect of a fault; the longest prefix applies.
var effects = map[string]effect{
	"spf.":                  acceptance,
	"spf.syntax.":           loss,    // permerror (RFC 7208 section 4.6)
	"spf.record.missing":    forgery, // before DMARC, which builds on it
	"spf.record.missing.":   forgery,
	"spf.record.multiple":   loss, // RFC 7208 section 4.5
	"spf.record.split":      loss,
	"spf.record.unknown":    loss, // temperror: mail is deferred
	"spf.include.":          loss,
	"spf.include.pass":      forgery,
	"spf.redirect.":         loss,
	"spf.lookups.":          loss, // RFC 7208 section 4.6.4
	"spf.voids.":            loss,
	"spf.mx.exceeded":       loss,
	"spf.senders.none":      loss,
	"spf.exists.everyone":   forgery,
	"spf.all.":              forgery,
	"spf.network.":          forgery,
	"spf.term.dangling":     forgery,
	"dkim.":                 acceptance,
	"dkim.key.factor":       forgery,
	"dkim.key.private":      forgery,
	"dkim.key.size.refused": forgery,
	"dmarc.":                forgery,
	"dmarc.destination.":    protection,
	"dmarc.rua.":            protection,
	"dmarc.uri.":            protection,
	"bimi.":                 extra,
	"mx.":                   loss,
	"mtasts.":               protection,
	"mtasts.mx.":            loss, // senders that enforce the policy do not deliver
	"mtasts.tls_rpt.":       extra,
	"dane.":                 loss, // senders that validate do not deliver (RFC 7672 section 2.2)
	"tlsrpt.":               extra,
	"smtp.":                 loss,
	"smtp.relay.":           acceptance, // blocklists list an open relay
	"smtp.ptr.":             acceptance,
	"dnssec.":               loss, // validating resolvers answer SERVFAIL
	"dnsbl.":                protection,
	"dnsbl.listed.":         refusal,
	"dnsbl.listed.obscure":  acceptance,
	"dnsbl.listed.network":  acceptance,
	"score.spf.":            loss,
	"check.":                loss,
	"name.":                 protection,
	"name.mail.":            loss,
	"name.sender.":          acceptance,
	"check.ptr.":            acceptance,
	"check.dkim.":           acceptance,
	"check.dkim.none":       forgery, // before DMARC, which builds on it
}

// effectOf returns the effect of a fault. What loses mail once it is broken only endangers it before.
func effectOf(code diag.Code, severity diag.Severity) effect {
	for name := string(code); name != ""; name = name[:strings.LastIndexByte(name[:len(name)-1], '.')+1] {
		switch e, ok := effects[name]; {
		case ok && severity < diag.Error && e == refusal:
			return loss
		case ok && severity < diag.Error && e == loss:
			return protection
		case ok:
			return e
		}
	}
	return protection
}
