package bimi

import (
	"cmp"
	"context"
	"fmt"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/bimi/record"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
	"github.com/miekg/dns"
)

type evidence struct {
	offline bool // only a text is known
	now     time.Time
	// What receivers use: found are the records at the name that decides, and record is the one, if there is one.
	found     taglist.Found
	record    *record.Record
	suggested string // the record as it should be written; empty if unknown
	// What a lookup adds.
	discovery           *record.Discovery
	place               *record.Place // location of the records in found; nil without records
	failing             *record.Place // the place without an answer, at which a record may or may not exist; else nil
	organizationsDiffer bool          // receivers of RFC 7489 and those of RFC 9989 find other records
	dmarc               *policy.Discovery
	apex                diag.Answer[*dns.TXT] // at the domain itself
	eligibility         eligibility
	surroundings        surroundings
	// The logo and the certificate; nil if they were not fetched.
	logo, mark *part
	fetched    fetched
	matches    *bool // whether the logo is the one in the certificate; nil if unknown
	lineEnds   bool  // it is but for its line ends
}

type surroundings struct {
	taglist.Elsewhere
	fallbackRecord string // the record of the default selector, if the requested one has no record
	openSPF        string // the SPF record if it authorizes every host
}

func validUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func (e *evidence) setRecord(found taglist.Found) {
	e.found = found
	if len(found.Records) == 1 {
		r := record.Read(found.List)
		e.record, e.found.List = &r, r.List
	}
	e.suggested = e.correct()
}

func (e *evidence) domain() diag.Domain { return e.discovery.Domain }

func (e *evidence) name() string { return e.discovery.Own().Name }

// exists reports whether the domain exists, and whether that is known: NXDOMAIN for one type holds for all.
func (e *evidence) exists() (yes, known bool) {
	if exists, err := e.dmarc.Exists(); err == nil {
		return exists, true
	}
	return !e.apex.NXDomain() || len(e.apex.Aliases) > 0, e.apex.Err() == nil
}

func (e *evidence) nonexistent() bool {
	if e.offline || !e.discovery.Own().Answer.NXDomain() || len(e.discovery.Own().Answer.Aliases) > 0 {
		return false
	}
	exists, known := e.exists()
	return known && !exists
}

const (
	fromRecord       rule.Source = "record" // the TXT records at the names where receivers look
	fromDMARC        rule.Source = "dmarc"
	fromSurroundings rule.Source = "beside" // the domain itself and wrong names
)

// Unanswered implements [rule.Unanswerer].
func (e *evidence) Unanswered() []rule.Source {
	return rule.Unanswered(map[rule.Source]bool{
		fromRecord: e.failing == nil, fromDMARC: e.eligibility.unknown == nil, fromSurroundings: e.surroundings.Unknown == "",
	})
}

func (e *evidence) hasRecords() bool { return len(e.found.Records) > 0 }

func (e *evidence) isAbsent() bool {
	return e.failing == nil && len(e.found.Records)+len(e.found.Strays) == 0 && !e.nonexistent()
}

// wantsLogo reports whether there is one record, and it does not decline.
func (e *evidence) wantsLogo() bool { return e.record != nil && !e.record.Declined }

// hasHiddenTag reports whether a tag may be hidden in another one, which leaves both unknown.
func (e *evidence) hasHiddenTag() bool {
	hides := func(f taglist.Fault) bool {
		return slices.Contains([]taglist.Kind{taglist.NoEquals, taglist.BadName, taglist.MissingSemicolon}, f.Kind)
	}
	return slices.ContainsFunc(e.found.List.Faults, hides) || e.found.Separated() != e.found.List.Text
}

func (e *evidence) isValid() bool {
	long := func(s string) bool { return len(s) > dnsmsg.MaxTXTString }
	return e.record != nil && e.record.Valid() && !slices.ContainsFunc(e.found.Strings, long)
}

// maxName is the length of a name with a dot at its end (RFC 1035 section 2.3.4).
const maxName = 254

// gather collects all evidence: the record, wherever it may be, and DMARC concurrently, then logo and certificate,
// which do not wait for DMARC.
func gather(ctx context.Context, env *diag.Env, req LookupRequest) (*evidence, error) {
	e := &evidence{now: env.Now()}
	bounded, cancel := diag.Within(ctx, record.Timeout)
	defer cancel()
	selector := req.Selector
	if selector.IsZero() {
		selector = diag.MustSelector(record.DefaultSelector)
	}
	names := misplaced(req.Domain, selector)
	elsewhere := make([]diag.Answer[*dns.TXT], len(names))
	var wildcard, fallback diag.Answer[*dns.TXT]
	var failures [2]error
	var first fetched
	var g diag.Group
	g.Go(func() {
		if e.discovery, failures[0] = record.Discover(ctx, env, req.Domain, selector); failures[0] == nil {
			if p, err := e.discovery.Applies(e.discovery.Organizational()); err == nil {
				first, failures[0] = fetch(ctx, env, req, e.discovery, p)
			}
		}
	})
	g.Go(func() { e.dmarc, failures[1] = policy.Discover(ctx, env, req.Domain.Name()) })
	g.Go(func() { wildcard = diag.Lookup[*dns.TXT](bounded, env, req.Domain.Sub("*")) })
	if s := record.DefaultSelector; selector.String() != s {
		g.Go(func() { fallback = diag.Lookup[*dns.TXT](bounded, env, req.Domain.Sub(s+"."+record.Node)) })
	}
	for i, name := range names {
		g.Go(func() { elsewhere[i] = diag.Lookup[*dns.TXT](bounded, env, name) })
	}
	g.Wait()
	if err := cmp.Or(failures[:]...); err != nil {
		return nil, fmt.Errorf("examining BIMI of %s: %w", req.Domain, err)
	}
	if e.discovery.Own().Answer.Silent() && e.dmarc.Unavailable() != nil {
		return nil, fmt.Errorf("examining BIMI of %s: %w", req.Domain,
			diag.Unavailable(diag.DefaultResolver, e.discovery.Own().Answer.Err()))
	}
	e.apex, e.eligibility = elsewhere[0], assessDMARC(e.dmarc)
	if e.nonexistent() { // no other rule applies (CONTRACT 1.7)
		e.eligibility.obstacles, e.eligibility.unknown = []obstacle{{text: "The domain does not exist."}}, nil
		return e, ctx.Err()
	}
	e.choosePlace()
	e.found = e.foundRecords()
	e.locateElsewhere(wildcard, fallback, elsewhere)
	e.setRecord(e.found)
	if e.place != nil && e.place.Record != first.record { // that of a domain which only a tree walk finds
		var err error
		if first, err = fetch(ctx, env, req, e.discovery, e.place); err != nil {
			return nil, fmt.Errorf("examining BIMI of %s: %w", req.Domain, err)
		}
	}
	e.setFetched(first)
	return e, ctx.Err()
}

// choosePlace determines which records apply. Receivers that use the public suffix list and those that walk the DNS
// tree may differ on the organizational domain.
func (e *evidence) choosePlace() {
	place, err := e.discovery.Applies(e.discovery.Organizational())
	if err != nil {
		e.failing = place
		return
	}
	// Without a DMARC record there is no BIMI, whatever organizational domain a walk finds then.
	if e.place = place; e.dmarc.Tree.OrganizationalErr != nil || e.dmarc.Tree.Policy == nil {
		return
	}
	other, err := e.discovery.Applies(e.dmarc.Tree.Organizational)
	if err != nil || other == e.place {
		return
	}
	e.organizationsDiffer = true
	if e.place == nil {
		e.place = other
	}
}

func (e *evidence) foundRecords() taglist.Found {
	own, org := e.discovery.Own(), e.discovery.At(e.discovery.Organizational())
	var found taglist.Found
	if e.place != nil {
		org, found = e.place, e.place.Found
	}
	if e.failing != nil {
		return found
	}
	found.Strays = slices.Clone(own.Found.Strays)
	if org != nil && org != own {
		found.Strays = append(found.Strays, org.Found.Strays...)
	}
	return found
}

// misplaced lists the names under which records are published by mistake: without the selector or without _bimi, with
// these in another form, and those that result from a control panel that appends a domain to the entered name.
func misplaced(d diag.Domain, selector diag.Selector) []string {
	s, zone := selector.String(), policy.PublicSuffixOrganizational(d.String())
	list := []string{d.FQDN(), d.Sub(record.Node), d.Sub(s), d.Sub(s + ".bimi"), d.Sub(record.Node + "." + s),
		d.Sub(s + "_bimi"), d.Sub(s + "." + record.Node + "." + d.String())}
	if zone != d.String() {
		list = append(list, d.Sub(s+"."+record.Node)+zone+".")
	}
	return slices.DeleteFunc(list, func(name string) bool { return len(name) > maxName })
}

// locateElsewhere keeps the records at wrong names, including those of domains between the requested one and its
// organizational domain, and sorts the other texts at the right name by origin.
func (e *evidence) locateElsewhere(wildcard, fallback diag.Answer[*dns.TXT], others []diag.Answer[*dns.TXT]) {
	for i, p := range e.discovery.Places {
		if i > 0 && p.Domain != e.discovery.Organizational() && p.Domain != e.dmarc.Tree.Organizational {
			others = append(others, p.Answer)
		}
	}
	e.surroundings.Elsewhere = record.Format.Look(&e.found, e.discovery.Own().Answer, wildcard, others)
	for _, r := range others[0].Records {
		if text := dnsmsg.TXT(r); authorizesAll(text) {
			e.surroundings.openSPF = text
		}
	}
	for _, r := range fallback.Records {
		if text := dnsmsg.TXT(r); record.Format.Is(text) {
			e.surroundings.fallbackRecord = text
		}
	}
}

// authorizesAll reports whether a text is an SPF record by which every host may send (RFC 7208 section 5.1).
func authorizesAll(text string) bool {
	terms := strings.Fields(strings.ToLower(text))
	if len(terms) == 0 || terms[0] != "v=spf1" {
		return false
	}
	i := slices.IndexFunc(terms, func(s string) bool { return strings.TrimLeft(s, "+-~?") == "all" })
	return i >= 0 && (terms[i] == "all" || terms[i] == "+all")
}
