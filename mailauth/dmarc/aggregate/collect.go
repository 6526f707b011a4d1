package aggregate

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
)

// The bounds of what is kept of a report, whatever is in its records. The rest is counted, not named.
const (
	maxSources       = 500    // sources in the reply, as many as people go through
	maxBadTexts      = 100    // distinct texts in place of addresses
	maxDistinctNames = 10_000 // distinct domains and selectors for classifying sources
	maxListed        = 20     // domains that a finding is about
)

// An alignment holds the alignment modes of a report's policy, and the requested handling of failures.
type alignment struct {
	organization          string // organizational domain of the reported domain
	strictDKIM, strictSPF bool
	requested
}

func (a alignment) strict() bool { return a.strictDKIM || a.strictSPF }

// alignmentOf returns the alignment that a report's policy sets. Without a domain in it the guess is kept.
func alignmentOf(p *Policy, guess alignment) alignment {
	f := alignment{guess.organization, p.DKIMAlignment == "s", p.SPFAlignment == "s", requestedBy(p)}
	if p.Domain != "" {
		f.organization = organization(p.Domain)
	}
	return f
}

// organization uses the public suffix list, which works offline: the tree walk of RFC 9989 would need the network.
var organization = policy.PublicSuffixOrganizational

// traits is the set of observations about a source.
type traits uint16

const (
	traitSPF             traits = 1 << iota // SPF passed, aligned
	traitDKIM                               // DKIM passed, aligned, and SPF passed for no domain
	traitDKIMForeignSPF                     // DKIM passed, aligned, and SPF passed for a foreign domain
	traitRelated                            // nothing aligned; an identity of the owner's organization passed
	traitForeign                            // nothing aligned; a foreign identity passed
	traitUnauthenticated                    // nothing passed
	traitBrokenSignature                    // likewise nothing of the owner, but there was a signature of the owner
	traitNotChecked                         // nothing passed, and the receiver could not check
	traitNoResults                          // nothing passed, and the receiver does not say what it checked
	traitContradiction                      // something passed by policy_evaluated, nothing by auth_results
	traitForeignFrom                        // the From field names a foreign domain
	traitCoveredFrom                        // the From field names a domain that the report is about
	traitSPFDenied                          // the owner's SPF record says that it may not send
	traitForgedPath                         // likewise the record of a foreign domain in the return path
	traitOwnName                            // its confirmed name in reverse DNS is one of the domain
	traitSameDays                           // its volume follows that of the mail that passes
)

type collector struct {
	alignments     map[int]alignment // of the reports to sum up, by number; nil while unknown
	usedAlignments map[int]alignment // that their records were read by
	alignment      alignment         // of the report that is being read

	totals    Totals
	passed    map[int]int64 // messages that passed, by report
	networks  map[netip.Prefix]bool
	scattered bool // sources without passing mail are spread over many networks
	tallies   tallies
	byIP      map[netip.Addr]int32
	byText    map[string]int32

	details     map[int32]*source // by index in tallies; nil once there are more than most
	maxDetailed int

	selectors       map[string]int32 // "selector domain" of the owner's signatures, numbered from 1
	directSelectors map[int32]bool   // those that passed from an address that SPF authorizes
	organizations   map[string]string

	foreignDomains map[string]*string

	contradictions contradictions
	oddities       oddities
	handlings      map[int]*handling // of what failed, by report
}

// contradictions counts messages of records that contradict themselves.
type contradictions struct {
	passed, failed int64  // policy_evaluated says pass, auth_results fail, and vice versa
	example        string // a sentence about the first
}

type oddities struct {
	foreign            counts[string] // From fields with domains of others
	permError          counts[string] // domains of the owner for which SPF cannot be evaluated
	badKeys            counts[string] // the owner's selectors whose key cannot be used
	broken             counts[string] // the owner's selectors whose signatures break where SPF passes
	strictOnly         counts[string] // identities that fail only by strict alignment
	overridden         counts[string] // From fields of failed mail to which an enforcing policy was not applied
	overrideReasons    counts[OverrideType]
	local              counts[string] // comments on overrides by local policy
	noResults          int64          // records without results
	passedNotDelivered int64          // messages that passed and were not delivered all the same
}

func newCollector(alignments map[int]alignment, maxDetailed int) *collector {
	return &collector{
		alignments: alignments, maxDetailed: maxDetailed, usedAlignments: map[int]alignment{}, passed: map[int]int64{},
		handlings: map[int]*handling{},
		byIP:      map[netip.Addr]int32{}, byText: map[string]int32{}, details: map[int32]*source{},
		selectors: map[string]int32{}, directSelectors: map[int32]bool{}, organizations: map[string]string{},
		foreignDomains: map[string]*string{},
	}
}

// untilDone wraps a consumer of records to stop when a context ends, which it checks periodically.
func untilDone(ctx context.Context, each func(*Record) error) func(*Record) error {
	const checkEvery = 100 // records: a fraction of a millisecond
	return func(r *Record) error {
		if r.Number%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		return each(r)
	}
}

func (c *collector) add(r *Record) error {
	if !c.setAlignment(r) {
		return nil
	}
	at := c.tallyOf(r)
	o := c.observe(r)
	c.addToTally(c.tallies.at(at), r, &o)
	c.noteOddities(r, &o)
	if c.details != nil {
		c.details[at].add(r)
	}
	return nil
}

// setAlignment sets what the alignment of a record depends on. It reports whether its report is one of those to sum up.
func (c *collector) setAlignment(r *Record) (ok bool) {
	if c.alignments != nil {
		c.alignment, ok = c.alignments[r.Report]
		return ok
	}
	c.alignment = c.usedAlignments[r.Report]
	if c.alignment.organization == "" {
		c.alignment.organization = c.organizationOf(r.HeaderFrom) // a guess while the policy is unknown
		if r.Policy != nil {
			c.alignment = alignmentOf(r.Policy, c.alignment)
		}
		c.usedAlignments[r.Report] = c.alignment
	}
	return true
}

// addDetails adds one record to the details of its source, if that is one of the largest.
func (c *collector) addDetails(r *Record) error {
	if !c.setAlignment(r) {
		return nil
	}
	if at, ok := c.find(r); ok && c.details[at] != nil {
		c.details[at].add(r)
	}
	return nil
}

func (c *collector) find(r *Record) (at int32, ok bool) {
	if r.SourceIP.IsValid() {
		at, ok = c.byIP[r.SourceIP]
		return at, ok
	}
	at, ok = c.byText[r.SourceText]
	if !ok && len(c.byText) >= maxBadTexts {
		at, ok = c.byText[""] // all others
	}
	return at, ok
}

func (c *collector) tallyOf(r *Record) int32 {
	at, ok := c.find(r)
	if ok {
		return at
	}
	t := tally{ip: r.SourceIP}
	if t.ip.IsValid() {
		at = c.tallies.add(t)
		c.byIP[t.ip] = at
	} else {
		if t.text = new(r.SourceText); len(c.byText) >= maxBadTexts {
			t.text = new("")
		}
		at = c.tallies.add(t)
		c.byText[*t.text] = at
	}
	if c.tallies.count > c.maxDetailed {
		c.details = nil
	}
	if c.details != nil {
		c.details[at] = &source{}
	}
	return at
}

func (c *collector) addToTally(t *tally, r *Record, o *observation) {
	n := r.Count
	t.messages += n
	c.totals.MessageCount += n
	if o.spf {
		t.spf += n
		c.totals.SPFAlignedCount += n
	}
	if o.dkim {
		t.dkim += n
		c.totals.DKIMAlignedCount += n
	}
	if o.spf || o.dkim {
		t.pass += n
		c.totals.PassCount += n
		c.passed[r.Report] += n
	} else {
		c.totals.FailCount += n
	}
	switch failed := !o.spf && !o.dkim; {
	case failed && r.Disposition == DispositionNone:
		t.delivered += n
	case failed && (r.Disposition == DispositionQuarantine || r.Disposition == DispositionReject):
		t.affected += n
	}
	c.totals.Dispositions.add(r.Disposition, n)
	if o.forwarded {
		t.overridden += n
	}
	if n == 0 {
		return
	}
	t.traits |= o.traits
	t.vote(o, n)
	if t.foreignDomain == nil && o.foreignDomain != "" {
		t.foreignDomain = c.internDomain(o.foreignDomain)
	}
	for i, selector := range o.selectors {
		t.selectors[i] = cmp.Or(t.selectors[i], selector)
	}
}

func (d *Dispositions) add(disposition Disposition, n int64) {
	switch disposition {
	case DispositionNone:
		d.None += n
	case DispositionQuarantine:
		d.Quarantine += n
	case DispositionReject:
		d.Reject += n
	case DispositionPass:
		d.Pass += n
	}
}

// organizationOf returns the organizational domain of a name, mostly from memory.
func (c *collector) organizationOf(name string) string {
	if org, ok := c.organizations[name]; ok {
		return org
	}
	if len(c.organizations) >= maxDistinctNames {
		clear(c.organizations)
	}
	org := organization(name)
	c.organizations[name] = org
	return org
}

// selectorNumber returns the number of a selector of the owner, 0 if there are too many.
func (c *collector) selectorNumber(d *DKIMAuth) int32 {
	if d.Selector == "" {
		return 0
	}
	key := d.Selector + " " + d.Domain
	if n, ok := c.selectors[key]; ok {
		return n
	}
	if len(c.selectors) >= maxDistinctNames {
		return 0
	}
	n := int32(len(c.selectors) + 1)
	c.selectors[key] = n
	return n
}

// internDomain returns one copy of a name for all sources; if there are too many, a word for the others.
func (c *collector) internDomain(name string) *string {
	kept, ok := c.foreignDomains[name]
	if !ok && (len(c.foreignDomains) >= maxDistinctNames || len(name) > maxDomain) {
		name = otherDomains
		kept, ok = c.foreignDomains[name]
	}
	if !ok {
		kept = &name
		c.foreignDomains[name] = kept
	}
	return kept
}

const otherDomains = "other domains"

// largestSources returns the largest sources, the largest first, those of one size by address. Where there are
// more than are kept, they are without details.
func (c *collector) largestSources() []*source {
	order := make([]int32, c.tallies.count)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		s, t := c.tallies.at(a), c.tallies.at(b)
		by := cmp.Or(cmp.Compare(t.messages, s.messages), s.ip.Compare(t.ip))
		if by == 0 {
			by = strings.Compare(*s.text, *t.text) // no address occurs twice
		}
		return by
	})
	list := make([]*source, 0, min(len(order), c.maxDetailed))
	for _, at := range order[:min(len(order), c.maxDetailed)] {
		s := c.details[at]
		if s == nil {
			s = &source{}
		}
		s.index, s.tally = at, c.tallies.at(at)
		list = append(list, s)
	}
	return list
}

// keepDetails makes addDetails fill these sources.
func (c *collector) keepDetails(top []*source) {
	c.details = map[int32]*source{}
	for _, s := range top {
		c.details[s.index] = s
	}
}
