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

type told struct {
	diag.Finding
	part *Summary
}

func (t *told) effect() effect { return effectOf(t.Code, t.Severity) }

// cause returns the gravest finding of the list that causes this one; nil without any.
func (t *told) cause(list []told) *told {
	r, ok := roots[t.Code]
	if !ok {
		return nil
	}
	var found *told
	open := t.hosts() // those without a reported cause
	for i := range list {
		other := &list[i]
		begins := func(c string) bool { return strings.HasPrefix(string(other.Code), c) }
		weighs := other.Severity > diag.Info || t.Severity == diag.Info || other.ours()
		if r.grave {
			weighs = other.Severity == diag.Critical
		}
		about := func(host string) bool { return slices.Contains(other.hosts(), host) }
		if other.Code == t.Code || !weighs || r.host && !slices.ContainsFunc(t.hosts(), about) || !slices.ContainsFunc(r.causes, begins) {
			continue
		}
		open = slices.DeleteFunc(open, about)
		if found == nil || other.Severity > found.Severity {
			found = other
		}
	}
	if r.host && len(open) > 0 {
		return nil
	}
	return found
}

func (t *told) hosts() []string {
	list := []string{t.Target}
	if len(t.Places) > 0 {
		list = nil
	}
	for _, p := range t.Places {
		list = append(list, p.Target)
	}
	return list
}

// attribute leaves out the findings whose cause is reported, or may exist. A finding graver than its cause is a fault
// of its own. Failed lookups may be merged into one finding, but still count as causes.
func (w *Whole) attribute(list, failed []told) (rest []told) {
	causes := slices.Concat(list, failed)
	for i := range list {
		cause := list[i].cause(causes)
		if cause == nil && !w.mayFollow(list[i].Code) || cause != nil && cause.Severity < list[i].Severity && !cause.ours() {
			rest = append(rest, list[i])
		}
	}
	return rest
}

// mayFollow reports whether a cause of the fault, which would be reported instead, is unknown.
func (w *Whole) mayFollow(code diag.Code) bool {
	r := roots[code]
	causes := func(open diag.Code) bool {
		return slices.ContainsFunc(r.causes, func(c string) bool { return strings.HasPrefix(string(open), c) })
	}
	return !r.host && !r.grave && slices.ContainsFunc(w.parts(), func(p *Summary) bool {
		return slices.ContainsFunc(p.verdict.Open(), causes)
	})
}

// lookups are the codes, apart from those that end in "record.unknown", of failed lookups about the domain. They
// nearly always fail together.
var lookups = []diag.Code{"dmarc.record.inherited.unknown", "dmarc.mail.unknown", "mtasts.mx.unknown",
	"dnssec.answer.unavailable", "dnssec.ds.unavailable", "mx.lookup.unknown", "smtp.mx.unknown",
	"mx.domain.address.unknown", "bimi.dmarc.unknown", "dane.mx.unknown", "score.address.unknown",
	"check.part.unavailable", "check.part.timeout"}

// aside are the codes about auxiliary queries of a part, which say nothing about the domain: its name need not have
// the records that DNSSEC is tested with.
var aside = []string{"dnssec.answer.nodata"}

func (t *told) ours() bool { return slices.Contains(ours, string(t.Code)) }

// merge merges the findings of all parts into one list without duplicates, the worst first.
func (w *Whole) merge() []told {
	var all, failed []told
	for _, p := range w.parts() {
		for _, f := range p.Findings {
			t := told{f, p}
			switch {
			case slices.Contains(aside, string(t.Code)):
			case t.ours():
				t.Severity = diag.Info
				all = append(all, t)
			case strings.HasSuffix(string(t.Code), ".record.unknown") || slices.Contains(lookups, t.Code):
				failed = append(failed, t)
			default:
				all = append(all, t)
			}
		}
	}
	all = append(all, w.lookups(failed)...)
	all = slices.DeleteFunc(all, func(t told) bool { return w.unneeded(&t) })
	list := w.attribute(all, failed)
	type fact struct {
		code   diag.Code
		detail string
		key    string // two selectors with the same fault are two faults
	}
	seen := map[fact]bool{}
	list = slices.DeleteFunc(list, func(t told) bool {
		f := fact{t.Code, t.Detail, t.part.target}
		again := seen[f]
		seen[f] = true
		return again
	})
	slices.SortStableFunc(list, func(a, b told) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.effect(), b.effect()))
	})
	return list
}

// lookups merges the failed lookups of several parts into one finding. Those of a single part are kept as they are.
func (w *Whole) lookups(failed []told) []told {
	var labels []string
	for _, t := range failed {
		if !slices.Contains(labels, t.part.kind.Label) {
			labels = append(labels, t.part.kind.Label)
		}
	}
	if len(labels) < 2 {
		return failed
	}
	worst := slices.MaxFunc(failed, func(a, b told) int { return cmp.Compare(a.Severity, b.Severity) })
	if i := slices.IndexFunc(failed, func(t told) bool { return t.Advice == diag.AdviceRepairDNSSEC }); i >= 0 {
		worst = failed[i]
	}
	e := &lookupEvidence{labels: labels, all: !w.known(), detail: worst.Detail, bogus: worst.Advice == diag.AdviceRepairDNSSEC}
	s := Summarize(Kind{Code: worst.part.kind.Code, Label: "DNS"}, Judge(wholeRules, e, partTexts))
	return kit.Map(s.Findings, func(f diag.Finding) told { return told{f, &s} })
}

type lookupEvidence struct {
	labels []string
	all    bool // everything is unknown
	detail string
	bogus  bool // resolvers refuse the answers of the domain
}

func (e *lookupEvidence) failed(cond bool, format string, args ...any) rule.Failures {
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
		return e.failed(e.all && len(e.labels) > 1, "Nothing could be examined. %s", e.detail)
	},
}, {
	Code: "check.lookups.failed", Severity: diag.Error, StateIfFailed: diag.Unknown,
	DependsOn: []diag.Code{"check.domain.unavailable"}, Ref: "RFC 9520 section 2",
	Title: "DNS lookups failed for several parts", Requirement: "The DNS answers for all parts",
	Advice: "Check that every name server of the domain answers for these names, and try again.",
	Fails: func(e *lookupEvidence) rule.Failures {
		return e.failed(len(e.labels) > 1, "%s could not be examined completely. %s",
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
