package dmarc

import (
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/reception"
	"github.com/diagkit/diagkit/mailauth/taglist"
)

type evidence struct {
	domain  diag.Name
	offline bool // only a text is known
	now     time.Time
	// What receivers use: found are the records at the name that decides, record the one that applies.
	found     taglist.Found
	record    *policy.Record
	reading   policy.Reading // by RFC 9989
	older     policy.Reading // by RFC 7489
	location  string         // domain of the record; empty if that is not known
	suggested string         // the record as it should be written; empty if that is not known
	// What a lookup adds.
	discovery    *policy.Discovery
	own          *policy.Step // at the domain itself
	mail         reception.Reception
	beside       beside
	places       []place // where records are published by mistake
	unsearched   string  // why not all these places are known, for a sentence; empty if they are
	wildcard     error   // why it is not known what a wildcard answers
	destinations []destination
	unchecked    int // destinations beyond maxDestinations
}

// beside are the TXT records at _dmarc.<domain> that are no DMARC records.
type beside struct {
	spf       []string
	fragments []string // that begin with a tag of DMARC
	unrelated []string
	wildcard  string // a text that answers at every name; empty if none does
}

// A place is a name at which a record was found, and at which no receiver looks.
type place struct {
	name   string
	record string
}

type destination struct {
	domain   string
	uris     []policy.URI // that lead there
	external bool
	mail     reception.Reception
	consent  policy.Consent
}

// judged takes a record as that which is judged.
func (e *evidence) judged(r *policy.Record) {
	e.record = r
	e.reading, e.older = r.Reading(policy.RFC9989), r.Reading(policy.RFC7489)
	e.suggested = e.correct()
}

// inherited reports whether the record that applies is that of another domain.
func (e *evidence) inherited() bool {
	return e.record != nil && !e.offline && e.location != e.domain.String()
}

// applied is the policy that receivers of RFC 9989 apply to mail of the domain itself.
func (e *evidence) applied(p policy.Policies) policy.Policy {
	switch {
	case !e.reading.Usable:
		return policy.None
	case !e.inherited():
		return p.Domain
	case e.nonexistent():
		return p.Nonexistent
	default:
		return p.Subdomain
	}
}

func (e *evidence) nonexistent() bool {
	if e.offline || e.own.Answer.Exists() {
		return false
	}
	exists, known := e.mail.Exists()
	return known && !exists
}

// The sources that rules read.
const (
	fromRecord    diag.Source = "record"    // which record applies
	fromList      diag.Source = "list"      // which applies for receivers of RFC 7489
	fromExistence diag.Source = "existence" // whether the domain exists
	fromMail      diag.Source = "mail"      // whether it receives mail
	fromElsewhere diag.Source = "elsewhere" // wrong names, which only matter where no record applies
	fromWildcard  diag.Source = "wildcard"  // where other texts at the name come from
	fromConsent   diag.Source = "consent"   // of all external destinations of reports
	fromReports   diag.Source = "reports"   // whether all destinations receive mail
)

// Unanswered implements [diag.Asked].
func (e *evidence) Unanswered() []diag.Source {
	if e.offline {
		return nil
	}
	_, exists := e.mail.Exists()
	_, receives := e.mail.Receives()
	consent, reports := e.unchecked == 0, e.unchecked == 0
	for i := range e.destinations {
		d := &e.destinations[i]
		_, given := d.consent.Given()
		consent, reports = consent && (given || !d.external), reports && d.mail.Unknown() == ""
	}
	return diag.Unanswered(map[diag.Source]bool{
		fromRecord: e.own.Err() == nil && e.discovery.Tree.PolicyErr == nil, fromList: e.discovery.List.PolicyErr == nil,
		fromExistence: exists || !e.own.Answer.NXDomain(), fromMail: receives,
		fromElsewhere: e.record != nil || e.unsearched == "",
		fromWildcard:  e.wildcard == nil || len(e.own.Answer.Records) == len(e.own.Found.Records),
		fromConsent:   consent, fromReports: reports,
	})
}

// serious are the faults for which a record is not valid: what the tag says has no effect.
var serious = []taglist.Kind{taglist.NoEquals, taglist.BadName, taglist.BadValue, taglist.Unparted, taglist.Repeated,
	policy.BadPolicy, policy.BadAlignment, policy.BadFlag, policy.BadURI}

// valid reports whether receivers can use the record, and no tag has an error.
func (e *evidence) valid() bool {
	unpublishable := func(s string) bool { return len(s) > diag.MaxTXTString }
	faulty := func(f taglist.Fault) bool { return slices.Contains(serious, f.Kind) }
	return kit.One(e) && e.reading.Usable && !slices.ContainsFunc(e.record.List.Faults, faulty) &&
		!slices.ContainsFunc(e.found.Strings, unpublishable)
}
