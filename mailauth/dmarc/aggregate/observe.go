package aggregate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/internal/provider"
)

type observation struct {
	spf, dkim     bool // passed and aligned, by the receiver's evaluation or else by its results
	forwarded     bool // the receiver knows that the messages were forwarded
	traits        traits
	service       *provider.Service
	basis         provider.Basis
	foreignDomain string
	selectors     [2]int32

	results               // the receiver's results, with alignment recomputed
	contradictedBy string // "DKIM" or "SPF" of policy_evaluated that passes without a result that does
	failedDespite  string // likewise fails in spite of one
}

type results struct {
	hasResults   bool // there is one at all, and no identity of the owner has one that the format does not define
	hasUndefined bool // an identity of the owner has such a result
	denied       bool // the owner's SPF record does not authorize the source
	forgedPath   bool // likewise the record of a foreign domain in the return path
	spf, dkim    bool // an aligned identity passed
	spfPassed    bool // SPF passed for whomever
	related      bool // an identity of the owner's organization passed that is not aligned
	strictOnly   string
	ownPermError string
	ownBadKey    string
	ownBroken    string // selector of a signature of the owner that did not verify
	notChecked   bool   // the receiver could not check an identity of the owner
	ownSelectors [2]int32
}

func (c *collector) observe(r *Record) observation {
	var o observation
	from := cmp.Or(r.HeaderFrom, c.alignment.organization)
	org := c.organizationOf(from)
	var traces provider.Traces
	c.readDKIM(r, from, &o, &traces)
	c.readSPF(r, from, &o, &traces)
	o.hasResults = o.hasResults && !o.hasUndefined
	o.service, o.basis = provider.Identify(traces)
	o.evaluate(r)
	o.forwarded = forwarded(r.Overrides)
	o.traits |= o.path()
	if o.denied {
		o.traits |= traitSPFDenied
	}
	if o.forgedPath {
		o.traits |= traitForgedPath
	}
	if o.dkim && !o.results.dkim && o.hasResults || o.spf && !o.results.spf && o.hasResults {
		o.traits |= traitContradiction
	}
	if org != c.alignment.organization {
		o.traits |= traitForeignFrom
	} else {
		o.traits |= traitCoveredFrom
	}
	return o
}

// path returns the path of the messages, by the results if there are any, since they do not depend on the evaluation,
// else by the evaluation.
func (o *observation) path() traits {
	spf, dkim := o.results.spf, o.results.dkim
	if !o.hasResults {
		spf, dkim = o.spf, o.dkim
	}
	switch {
	case spf:
		return traitSPF
	case dkim && o.spfPassed:
		return traitDKIMForeignSPF
	case dkim:
		return traitDKIM
	case !o.hasResults:
		return traitNoResults
	case o.related:
		return traitRelated
	case o.foreignDomain != "":
		if o.ownSelectors[1] != 0 {
			return traitForeign | traitBrokenSignature
		}
		return traitForeign
	case o.notChecked:
		return traitUnauthenticated | traitNotChecked
	case o.ownSelectors[1] != 0:
		return traitUnauthenticated | traitBrokenSignature
	}
	return traitUnauthenticated
}

func (c *collector) readDKIM(r *Record, from string, o *observation, traces *provider.Traces) {
	org := c.organizationOf(from)
	for i := range r.DKIMAuth {
		d := &r.DKIMAuth[i]
		o.hasResults = o.hasResults || d.Result != ""
		if d.Domain == "" || d.Result == ResultNone {
			continue
		}
		own := c.organizationOf(d.Domain) == org
		aligned := own && (d.Domain == from || !c.alignment.strictDKIM)
		switch {
		case d.Result == ResultPass && aligned:
			o.results.dkim = true
			o.ownSelectors[0] = c.selectorNumber(d)
		case d.Result == ResultPass && own:
			o.related, o.strictOnly = true, d.Domain
		case d.Result == ResultPass:
			traces.DKIM = append(traces.DKIM, d.Domain)
			o.related = o.related || ownTenant(d.Domain, org)
			o.setForeignDomain(d.Domain)
		case own && (d.Result == ResultPermError || d.Result == ResultTempError):
			o.notChecked = true
			if d.Result == ResultPermError && d.Selector != "" {
				o.ownBadKey = d.Selector + "._domainkey." + d.Domain
			}
		case own && d.Result != "" && !slices.Contains(dkimResults.defined, string(d.Result)):
			o.hasUndefined = true
		case own && (d.Result == ResultFail || d.Result == ResultPolicyBad || d.Result == ResultNeutral) && d.Selector != "":
			o.ownSelectors[1] = c.selectorNumber(d)
			o.ownBroken = d.Selector + "._domainkey." + d.Domain
		}
	}
	o.selectors = o.ownSelectors
}

// ownTenant reports whether a domain is the one with which Google signs for a customer without a key of its own:
// for example.com, example-com.20230601.gappssmtp.com.
func ownTenant(domain, org string) bool {
	rest, ok := strings.CutPrefix(domain, strings.ReplaceAll(org, ".", "-")+".")
	return ok && strings.HasSuffix(rest, "gappssmtp.com")
}

// readSPF reads the results of SPF. That of the HELO name counts where there is no return path (RFC 7489
// section 3.1.2, RFC 9989 section 4.4.2).
func (c *collector) readSPF(r *Record, from string, o *observation, traces *provider.Traces) {
	org := c.organizationOf(from)
	for i := range r.SPFAuth {
		s := &r.SPFAuth[i]
		o.hasResults = o.hasResults || s.Result != ""
		if s.Domain == "" {
			continue
		}
		own := c.organizationOf(s.Domain) == org
		aligned := own && (s.Domain == from || !c.alignment.strictSPF)
		o.spfPassed = o.spfPassed || s.Result == ResultPass && s.Scope != ScopeHELO
		switch {
		case s.Result == ResultPass && aligned && s.Scope == ScopeHELO && (r.EnvelopeFrom != "" || r.SPF == ResultFail):
			o.related = true // the report may leave out a return path that was there
		case s.Result == ResultPass && aligned:
			o.results.spf = true
		case s.Result == ResultPass && own:
			o.related, o.strictOnly = true, s.Domain
		case s.Result == ResultPass:
			traces.Envelope = append(traces.Envelope, s.Domain)
			o.setForeignDomain(s.Domain)
		case own && s.Result == ResultPermError:
			o.ownPermError, o.notChecked = s.Domain, true
		case own && s.Result == ResultTempError:
			o.notChecked = true
		case s.Result == ResultFail && s.Scope != ScopeHELO:
			o.denied, o.forgedPath = o.denied || own, o.forgedPath || !own
		case own && s.Result != "" && !slices.Contains(spfResults.defined, string(s.Result)):
			o.hasUndefined = true
		}
	}
}

func (o *observation) setForeignDomain(domain string) {
	o.foreignDomain = cmp.Or(o.foreignDomain, domain)
}

// evaluate uses the receiver's evaluation, computes it if missing, and compares the two.
func (o *observation) evaluate(r *Record) {
	o.dkim, o.spf = r.DKIM == ResultPass, r.SPF == ResultPass
	if r.DKIM != ResultPass && r.DKIM != ResultFail {
		o.dkim = o.results.dkim
	}
	if r.SPF != ResultPass && r.SPF != ResultFail {
		o.spf = o.results.spf
	}
	if !o.hasResults {
		return
	}
	for _, m := range []struct {
		name         string
		said, worked bool
	}{{"DKIM", o.dkim, o.results.dkim}, {"SPF", o.spf, o.results.spf}} {
		switch {
		case m.said && !m.worked && o.contradictedBy == "":
			o.contradictedBy = m.name
		case !m.said && m.worked && o.failedDespite == "":
			o.failedDespite = m.name
		}
	}
}

// forwarded reports whether the receiver knows that messages were forwarded (RFC 7489 appendix C, RFC 9990
// section 3.1.1.9). ARC is reported as a local policy with a comment such as "arc=pass".
func forwarded(overrides []Override) bool {
	for _, o := range overrides {
		switch o.Type {
		case OverrideForwarded, OverrideForwarder, OverrideMailingList:
			return true
		case OverrideLocal, OverrideOther:
			if strings.Contains(strings.ToLower(o.Comment), "arc=pass") {
				return true
			}
		}
	}
	return false
}

func (c *collector) noteOddities(r *Record, o *observation) {
	n, odd := r.Count, &c.oddities
	if n == 0 {
		return
	}
	if o.traits&traitForeignFrom != 0 {
		odd.foreign.add(r.HeaderFrom, n)
	}
	odd.permError.add(o.ownPermError, n)
	odd.badKeys.add(o.ownBadKey, n)
	if o.traits&traitSPF != 0 && !o.results.dkim {
		odd.broken.add(o.ownBroken, n)
	}
	passed := o.spf || o.dkim
	if !passed {
		odd.strictOnly.add(o.strictOnly, n)
	}
	if !o.hasResults && !o.hasUndefined {
		odd.noResults += n
	}
	switch {
	case passed && (r.Disposition == DispositionQuarantine || r.Disposition == DispositionReject):
		odd.passedNotDelivered += n
	case !passed && r.Disposition == DispositionNone:
		odd.overridden.add(r.HeaderFrom, n)
		for _, why := range r.Overrides {
			odd.overrideReasons.add(why.Type, n)
		}
	}
	for _, why := range r.Overrides {
		if why.Type == OverrideLocal {
			odd.local.add(phrase.Quote(why.Comment), n)
		}
	}
	if o.selectors[0] != 0 && o.traits&traitSPF != 0 && len(c.directSelectors) < maxDistinctNames {
		c.directSelectors[o.selectors[0]] = true
	}
	c.contradictions.add(r, o)
	if !passed && o.traits&traitForeignFrom == 0 {
		c.noteHandling(r)
	}
}

func (k *contradictions) add(r *Record, o *observation) {
	switch {
	case o.contradictedBy != "":
		k.passed += r.Count
		if k.example == "" {
			k.example = fmt.Sprintf("for %s, policy_evaluated says that %s passed, but no result of an aligned domain in "+
				"auth_results does", addressText(r.SourceIP, r.SourceText), o.contradictedBy)
		}
	case o.failedDespite != "":
		k.failed += r.Count
		if k.example == "" {
			k.example = fmt.Sprintf("for %s, policy_evaluated says that %s failed, but auth_results hold a pass for an "+
				"aligned domain", addressText(r.SourceIP, r.SourceText), o.failedDespite)
		}
	}
}
