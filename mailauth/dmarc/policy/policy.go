package policy

import (
	"cmp"
	"context"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
)

// A Result is the outcome of DMARC for one message (RFC 9989 section 9.2, RFC 8601 section 2.7).
type Result string

// The results.
const (
	ResultPass      Result = "pass"      // an authenticated identifier is aligned
	ResultFail      Result = "fail"      // a policy applies, and no authenticated identifier is aligned
	ResultNone      Result = "none"      // no policy applies
	ResultTempError Result = "temperror" // the DNS did not answer
	ResultPermError Result = "permerror" // DMARC is not defined for the message, as with two domains in the From field
)

// Values lists the results.
func (Result) Values() []string {
	return kit.Values(ResultPass, ResultFail, ResultNone, ResultTempError, ResultPermError)
}

// A Mechanism is the mechanism that authenticated an identifier.
type Mechanism string

// The mechanisms.
const (
	SPF  Mechanism = "spf"
	DKIM Mechanism = "dkim"
)

// Values lists the mechanisms.
func (Mechanism) Values() []string { return kit.Values(SPF, DKIM) }

// maxIdentifiers bounds the domains of SPF and DKIM that are examined. A message with more valid signatures of
// different domains is not meant for delivery, but to exhaust receivers.
const maxIdentifiers = 20

// A Message holds the properties of a message that DMARC evaluates.
type Message struct {
	From diag.Name   // domain of the From field
	SPF  diag.Name   // domain of MAIL FROM for which SPF passed; zero if it did not
	DKIM []diag.Name // domains of valid signatures
}

// An Identifier is a domain that SPF or DKIM authenticated, and its alignment.
type Identifier struct {
	Mechanism Mechanism
	Domain    diag.Name
	Strict    bool // whether the policy demands that the domain is the same
	Aligned   bool
	// Walk is the tree walk from the domain, which alignment needs unless the domains are the same or must be;
	// else nil. Organizational is its result.
	Walk           *Walk
	Organizational string
	// Err is why the alignment of the domain is unknown.
	Err error
}

// An Evaluation is the result of evaluating a message under RFC 9989.
type Evaluation struct {
	Result      Result
	Discovery   *Discovery
	Identifiers []Identifier // those of the message without duplicates, SPF first; empty if no policy applies
	Omitted     int          // identifiers beyond the first 20
	// Tag is the tag of the record that decides: p, sp or np; empty if no policy applies or it is unknown. Policy is
	// its value, and Applied the policy that remains under t=y, for messages that fail.
	Tag     string
	Policy  Policy
	Applied Policy
	// Err is why the result, or the policy, is unknown.
	Err error
}

// Evaluate evaluates DMARC for a message. All walks run concurrently. The error is that of the context, or a
// *[diag.InputError]; failures of the DNS are results.
func Evaluate(ctx context.Context, env *diag.Env, m Message) (*Evaluation, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	e := &Evaluation{Discovery: &Discovery{Domain: m.From}}
	identifiers := m.identifiers()
	e.Omitted = max(0, len(identifiers)-maxIdentifiers)
	identifiers = identifiers[:len(identifiers)-e.Omitted]
	l, err := e.Discovery.gather(ctx, env, identifiers...)
	if err != nil {
		return nil, err
	}
	e.digest(l, identifiers)
	return e, nil
}

func (m *Message) check() error {
	faults := []error{checkDomain("from", m.From)}
	if !m.SPF.IsZero() {
		faults = append(faults, checkDomain("spf", m.SPF))
	}
	for i, d := range m.DKIM {
		faults = append(faults, checkDomain(fmt.Sprintf("dkim[%d]", i), d))
	}
	return cmp.Or(faults...)
}

// identifiers lists the authenticated domains of a message, each once for each mechanism.
func (m *Message) identifiers() []Identifier {
	var list []Identifier
	if !m.SPF.IsZero() {
		list = append(list, Identifier{Mechanism: SPF, Domain: m.SPF})
	}
	seen := map[diag.Name]bool{}
	for _, d := range m.DKIM {
		if !seen[d] {
			seen[d] = true
			list = append(list, Identifier{Mechanism: DKIM, Domain: d})
		}
	}
	return list
}

// digest draws the conclusions of the answers (RFC 9989 section 5.3).
func (e *Evaluation) digest(l *lookups, identifiers []Identifier) {
	view := &e.Discovery.Tree
	if view.PolicyErr != nil {
		e.Result, e.Err = ResultTempError, view.PolicyErr
		return
	}
	if view.Policy == nil || !view.Policy.Record.Reading(RFC9989).Usable {
		e.Result = ResultNone
		return
	}
	undecided := e.choose()
	e.Identifiers = identifiers
	var aligned bool
	var unaligned error
	for i := range identifiers {
		id := &identifiers[i]
		id.align(l, e.Discovery)
		aligned, unaligned = aligned || id.Aligned, cmp.Or(unaligned, id.Err)
	}
	switch e.Err = cmp.Or(unaligned, undecided); {
	case aligned:
		e.Result, e.Err = ResultPass, undecided
	case e.Err != nil: // RFC 9989 section 5.3.6
		e.Result = ResultTempError
	default:
		e.Result = ResultFail
	}
}

// choose finds the policy that applies to the domain of the message (RFC 9989 section 4.10.1). The error says why it
// is unknown.
func (e *Evaluation) choose() error {
	record, origin := e.Discovery.Tree.Policy.Record, e.Discovery.Tree.Origin
	reading := record.Reading(RFC9989)
	p, applied := reading.Requested, reading.Applied
	e.Tag, e.Policy, e.Applied = "p", p.Domain, applied.Domain
	if origin == Own {
		return nil
	}
	exists, err := e.Discovery.Exists()
	if err != nil && p.Subdomain != p.Nonexistent {
		e.Tag, e.Policy, e.Applied = "", "", ""
		return err
	}
	e.Policy, e.Applied = p.Subdomain, applied.Subdomain
	switch {
	case reading.Assumed:
	case err == nil && !exists && record.Has("np"):
		e.Tag, e.Policy, e.Applied = "np", p.Nonexistent, applied.Nonexistent
	case record.Has("sp"):
		e.Tag = "sp"
	}
	return nil
}

// align finds out whether an identifier is aligned with the domain of the message (RFC 9989 section 4.10.2).
func (id *Identifier) align(l *lookups, d *Discovery) {
	record := d.Tree.Policy.Record
	id.Strict = record.DKIMAlignment == Strict
	if id.Mechanism == SPF {
		id.Strict = record.SPFAlignment == Strict
	}
	// The same domain has the same organizational domain, whatever that is.
	id.Aligned = id.Domain == d.Domain
	if id.Aligned || id.Strict {
		return
	}
	walk := l.walk(id.Domain.String())
	id.Walk = &walk
	var err error
	if id.Organizational, err = walk.organizational(); err == nil {
		err = d.Tree.OrganizationalErr
	}
	if id.Err = err; err == nil {
		id.Aligned = id.Organizational == d.Tree.Organizational
	}
}
