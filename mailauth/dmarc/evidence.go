package dmarc

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/internal/reception"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
	"github.com/miekg/dns"
)

type evidence struct {
	domain  diag.Name
	offline bool // only a text is known
	now     time.Time
	// What receivers use: found are the records at the name that decides, record the one that applies.
	found         taglist.Found
	record        *policy.Record
	reading       policy.Reading // by RFC 9989
	legacyReading policy.Reading // by RFC 7489
	location      string         // domain of the record; empty if unknown
	suggested     string         // the record as it should be written; empty if unknown
	latentPolicy  bool           // the text requests more than is in force, and gets it once corrected
	// What a lookup adds.
	discovery    *policy.Discovery
	own          *policy.Step // at the domain itself
	mail         reception.Reception
	elsewhere    taglist.Elsewhere
	senders      bool     // the domain has an SPF record that names some
	spf          []string // SPF records at the name
	fragments    []string // texts there that begin with a DMARC tag
	wildcard     error    // why the answer of a wildcard is unknown
	destinations []destination
	unchecked    int // destinations beyond maxDestinations
}

type destination struct {
	domain   string
	uris     []policy.URI // that lead there
	external bool
	mail     reception.Reception
	consent  policy.Consent
}

func (e *evidence) setRecord(r *policy.Record) {
	e.record = r
	e.reading, e.legacyReading = r.Reading(policy.RFC9989), r.Reading(policy.RFC7489)
	e.suggested = e.correct()
}

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

// missing reports whether it is known that no record applies to the domain.
func (e *evidence) missing() bool {
	return !e.offline && isUnconfigured(e) && e.own.Err() == nil && e.discovery.Tree.PolicyErr == nil &&
		e.elsewhere.Unknown == ""
}

const (
	fromRecord    rule.Source = "record"    // which record applies
	fromList      rule.Source = "list"      // which applies for receivers of RFC 7489
	fromExistence rule.Source = "existence" // whether the domain exists
	fromMail      rule.Source = "mail"      // whether it receives mail
	fromElsewhere rule.Source = "elsewhere" // wrong names, which only matter where no record applies
	fromWildcard  rule.Source = "wildcard"  // where other texts at the name come from
	fromConsent   rule.Source = "consent"   // of all external destinations of reports
	fromReports   rule.Source = "reports"   // whether all destinations receive mail
)

// Unanswered implements [rule.Unanswerer].
func (e *evidence) Unanswered() []rule.Source {
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
	return rule.Unanswered(map[rule.Source]bool{
		fromRecord: e.own.Err() == nil && e.discovery.Tree.PolicyErr == nil, fromList: e.discovery.List.PolicyErr == nil,
		fromExistence: exists || !e.own.Answer.NXDomain(), fromMail: receives,
		fromElsewhere: e.record != nil || e.elsewhere.Unknown == "",
		fromWildcard:  e.wildcard == nil || len(e.own.Answer.Records) == len(e.own.Found.Records),
		fromConsent:   consent, fromReports: reports,
	})
}

// serious are the faults that make a record invalid: the tag has no effect.
var serious = []taglist.Kind{taglist.NoEquals, taglist.BadName, taglist.BadValue,
	taglist.MissingSemicolon, taglist.Repeated,
	policy.BadPolicy, policy.BadAlignment, policy.BadFlag, policy.BadURI}

func (e *evidence) valid() bool {
	unpublishable := func(s string) bool { return len(s) > dnsmsg.MaxTXTString }
	faulty := func(f taglist.Fault) bool { return slices.Contains(serious, f.Kind) }
	return tagRules.HasOne(e) && e.reading.Usable && !slices.ContainsFunc(e.record.List.Faults, faulty) &&
		!slices.ContainsFunc(e.found.Strings, unpublishable)
}

// maxDestinations bounds the report domains that are examined: receivers need to serve two addresses only (RFC 7489
// section 6.2).
const maxDestinations = 10

// gather makes all lookups in two round trips: first the record, wherever it may be, then the destinations that it
// names.
func gather(ctx context.Context, env *diag.Env, req LookupRequest) (*evidence, error) {
	e := &evidence{domain: req.Domain.Name(), now: env.Now()}
	bounded, cancel := diag.Within(ctx, policy.Timeout)
	defer cancel()
	names := misplaced(req.Domain)
	answers := make([]diag.Answer[*dns.TXT], len(names))
	var failure error
	var g diag.Group
	g.Go(func() { e.discovery, failure = policy.Discover(ctx, env, e.domain) })
	g.Go(func() { e.mail.Addresses = diag.LookupAddresses(bounded, env, e.domain.FQDN()) })
	for i, name := range names {
		if len(name) > maxName+len(".") { // nothing can be published there
			continue
		}
		g.Go(func() { answers[i] = diag.Lookup[*dns.TXT](bounded, env, name) })
	}
	g.Wait()
	if failure != nil {
		return nil, fmt.Errorf("examining DMARC of %s: %w", req.Domain, failure)
	}
	if err := e.discovery.Unavailable(); err != nil && e.mail.Addresses.V4.Silent() {
		return nil, err
	}
	e.mail.MX, e.own = e.discovery.MX, &e.discovery.Walk.Steps[0]
	e.wildcard = answers[0].Err()
	e.elsewhere = policy.Format.Look(&e.own.Found, e.own.Answer, answers[0], answers[1:])
	e.senders = slices.ContainsFunc(answers[1].Records, func(r *dns.TXT) bool {
		text := strings.ToLower(strings.Join(strings.Fields(dnsmsg.TXT(r)), " "))
		return strings.HasPrefix(text, "v=spf1 ") && text != "v=spf1 -all"
	})
	e.sort(answers[0].Records)
	e.find()
	if req.CheckReporting == nil || *req.CheckReporting {
		e.follow(ctx, env)
	}
	return e, ctx.Err()
}

// misplaced lists the wildcard of the domain, and the names under which records are published by mistake: the domain
// itself, and those that result from a control panel that appends a domain to the entered name. For a long domain some
// exceed the maximum length of a name.
func misplaced(d diag.Domain) []string {
	return []string{d.Sub("*"), d.FQDN(), d.Sub("dmarc"), d.Sub("_dmarc." + d.String()), d.Sub("_dmarc._dmarc")}
}

// sort keeps the texts next to the record that do not come from a wildcard.
func (e *evidence) sort(wildcard []*dns.TXT) {
	if len(e.own.Answer.Aliases) > 0 {
		return // they are at another name, where they may well belong
	}
	strays := e.own.Found.Strays
	for _, r := range e.own.Answer.Records {
		text := dnsmsg.TXT(r)
		stray := func(s taglist.Stray) bool { return s.Text == text }
		everywhere := func(r *dns.TXT) bool { return dnsmsg.TXT(r) == text }
		switch {
		case policy.Format.Is(text), slices.ContainsFunc(strays, stray), slices.ContainsFunc(wildcard, everywhere):
		case strings.HasPrefix(strings.ToLower(text), "v=spf1"):
			e.spf = append(e.spf, text)
		case isFragment(text):
			e.fragments = append(e.fragments, text)
		}
	}
}

func isFragment(text string) bool {
	name, value, ok := strings.Cut(text, "=")
	name, value = strings.ToLower(strings.TrimSpace(name)), strings.ToLower(strings.TrimSpace(value))
	switch name {
	case "p", "sp", "np":
		word, _, _ := strings.Cut(value, ";")
		return ok && slices.Contains(policy.None.Values(), strings.TrimSpace(word))
	case "rua", "ruf", "adkim", "aspf", "pct":
		return ok
	}
	return false
}

func (e *evidence) find() {
	e.found, e.location = e.own.Found, e.own.Domain
	if step := e.discovery.Tree.Policy; step != nil {
		e.location = step.Domain
		if len(e.own.Found.Records) == 0 {
			e.found = step.Found
		}
		e.found.List = step.Record.List
		e.setRecord(step.Record)
		return
	}
	e.suggested = e.correct()
}

func (e *evidence) follow(ctx context.Context, env *diag.Env) {
	if e.record == nil {
		return
	}
	for _, u := range slices.Concat(e.record.AggregateURIs, e.record.FailureURIs) {
		if !u.Valid() || u.Domain == "" {
			continue
		}
		i := slices.IndexFunc(e.destinations, func(d destination) bool { return d.domain == u.Domain })
		switch {
		case i >= 0:
			e.destinations[i].uris = append(e.destinations[i].uris, u)
		case len(e.destinations) < maxDestinations:
			e.destinations = append(e.destinations, destination{
				domain: u.Domain, uris: []policy.URI{u}, external: e.external(u),
			})
		default:
			e.unchecked++
		}
	}
	bounded, cancel := diag.Within(ctx, policy.Timeout)
	defer cancel()
	var g diag.Group
	for i := range e.destinations {
		d := &e.destinations[i]
		if d.external {
			g.Go(func() { d.consent = policy.LookupConsent(bounded, env, e.location, d.domain) })
		}
		if d.domain == e.domain.String() {
			d.mail = e.mail
			continue
		}
		g.Go(func() {
			if name, err := diag.ParseName(d.domain); err == nil {
				d.mail = reception.Lookup(bounded, env, name)
			}
		})
	}
	g.Wait()
}
