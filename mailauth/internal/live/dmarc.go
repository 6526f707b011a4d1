package live

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/arc"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/miekg/dns"
)

// evaluate computes the DMARC result from the mechanisms that passed (RFC 9989 section 5.3): each identifier has been
// compared with the author's domain as if it had passed.
func (e *Evidence) evaluate() DMARC {
	c := e.BestCase
	switch {
	case c == nil && len(e.From) > 1: // RFC 9989 section 5.3.1
		return DMARC{Result: policy.ResultPermError, Open: NoAuthor}
	case c == nil:
		return DMARC{Open: NoAuthor}
	case c.Result == policy.ResultNone, len(c.Identifiers) == 0 && c.Result != policy.ResultFail:
		d := DMARC{Result: c.Result}
		if c.Err != nil {
			d.Reason = diag.Reason(c.Err)
		}
		return d
	}
	d := DMARC{Result: policy.ResultFail}
	var temporary error
	for i := range c.Identifiers {
		id := &c.Identifiers[i]
		switch passed, known := e.passed(id); {
		case passed && id.Aligned:
			d.By = append(d.By, id.Mechanism)
		case passed && id.Err != nil, !known && id.Aligned:
			temporary, d.Result = cmp.Or(id.Err, temporary), policy.ResultTempError
		}
	}
	if err := c.Err; err != nil && c.Tag == "" && d.Result == policy.ResultFail { // whether the domain exists is unknown
		temporary, d.Result = err, policy.ResultTempError
	}
	switch {
	case len(d.By) > 0:
		d.Result, d.By = policy.ResultPass, slices.Compact(d.By)
	case d.Result == policy.ResultTempError:
		d.Reason = e.temporary(temporary)
	case e.Signed(dkim.Unchecked) != nil:
		return DMARC{Open: NoBody}
	case e.Hop == nil:
		return DMARC{Open: NoHop}
	case e.Envelope == nil:
		return DMARC{Open: NoEnvelope}
	}
	return d
}

func (e *Evidence) temporary(err error) string {
	switch {
	case err != nil:
		return diag.Reason(err)
	case e.SPFGave(eval.Temperror):
		return e.SPF.Reason
	default:
		return "a DKIM key could not be looked up"
	}
}

// passed reports whether a mechanism authenticated an identifier, and whether that is known. A result that needs the
// missing body counts as not passed.
func (e *Evidence) passed(id *policy.Identifier) (passed, known bool) {
	if id.Mechanism == policy.SPF {
		return e.SPFGave(eval.Pass) && MailDomain(e.SPF.Domain) == id.Domain, !e.SPFGave(eval.Temperror)
	}
	known = true
	for _, s := range e.Signatures(func(s *dkim.Result) bool { return s.Domain == id.Domain.String() }) {
		if s.Result == dkim.Pass {
			return true, true
		}
		known = known && s.Result != dkim.TempError
	}
	return false, known
}

// maxNames bounds the names of an address that are looked up (RFC 7208 section 4.6.4 has the same limit).
const maxNames = 10

// PTR is the reverse DNS of the address of the sending server.
type PTR struct {
	IP               string   `json:"ip" doc:"the address"`
	Hostnames        []string `json:"hostnames" doc:"its names, in lower case; at most 10"`
	Confirmed        []string `json:"confirmed" doc:"those of them that lead back to the address"`
	ForwardConfirmed bool     `json:"forward_confirmed" doc:"whether one of them does"`
	Error            string   `json:"error,omitempty" doc:"why the names, or their addresses, are not known"`

	Err error `json:"-"` // the same
}

// lookupPTR looks up the names of an address and then the addresses of these: two round trips.
func lookupPTR(ctx context.Context, env *diag.Env, ip netip.Addr) *PTR {
	p := &PTR{IP: ip.String(), Hostnames: []string{}, Confirmed: []string{}}
	answer := diag.Lookup[*dns.PTR](ctx, env, diag.IP{Addr: ip}.Reverse())
	p.fail(answer.Err())
	for _, r := range answer.Records {
		d, err := diag.ParseDomain(r.Ptr)
		if err == nil && !slices.Contains(p.Hostnames, d.String()) && len(p.Hostnames) < maxNames {
			p.Hostnames = append(p.Hostnames, d.String())
		}
	}
	hosts := make([]diag.Addresses, len(p.Hostnames))
	var g diag.Group
	for i, host := range p.Hostnames {
		if ip.Is4() {
			g.Go(func() { hosts[i].V4 = diag.Lookup[*dns.A](ctx, env, host+".") })
		} else {
			g.Go(func() { hosts[i].V6 = diag.Lookup[*dns.AAAA](ctx, env, host+".") })
		}
	}
	g.Wait()
	for i, host := range p.Hostnames {
		if slices.Contains(hosts[i].All(), ip) {
			p.Confirmed = append(p.Confirmed, host)
		}
	}
	if p.ForwardConfirmed = len(p.Confirmed) > 0; !p.ForwardConfirmed {
		for _, a := range hosts {
			p.fail(cmp.Or(a.V4.Err(), a.V6.Err()))
		}
	}
	return p
}

func (p *PTR) fail(err error) {
	if err != nil && p.Err == nil {
		p.Err, p.Error = err, diag.Reason(err)
	}
}

// HopUnanswered reports whether the hop is unknown because the names of its candidates are unknown.
func (e *Evidence) HopUnanswered() bool {
	return e.Hop == nil && slices.ContainsFunc(e.servers, func(s server) bool { return s.PTR.Err != nil })
}

// NamesUnanswered reports whether the names of the server are unknown.
func (e *Evidence) NamesUnanswered() bool {
	return e.HopUnanswered() || e.PTR != nil && e.PTR.Err != nil
}

// KeyUnanswered reports whether the key of a signature could not be looked up.
func (e *Evidence) KeyUnanswered() bool { return e.signature(unknownKey) != nil }

// unknownKey reports whether the key of a signature could not be looked up; a signature whose body was changed fails
// regardless.
func unknownKey(s *dkim.Result) bool {
	return s.Result == dkim.TempError || s.Result == dkim.Fail && s.SignatureOK == nil
}

// AuthorUnanswered reports whether the existence of the author's domain is unknown and matters.
func (e *Evidence) AuthorUnanswered() bool {
	if e.BestCase == nil || e.DMARC.Result != policy.ResultNone {
		return false
	}
	_, err := e.BestCase.Discovery.Exists()
	return err != nil
}

// MitigationUnanswered reports whether DMARC fails and a query that might explain the failure went unanswered.
func (e *Evidence) MitigationUnanswered() bool {
	return e.DMARC.Result == policy.ResultFail &&
		(e.SPFGave(eval.Temperror) || e.KeyUnanswered() || e.NamesUnanswered() || e.ARC.Result == arc.Unknown)
}

// UnansweredTexts lists the unanswered queries that matter, as sentences.
func (e *Evidence) UnansweredTexts() (list []string) {
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if e.SPFGave(eval.Temperror) {
		say("SPF for %s could not be evaluated (temperror): %s.", phrase.Quote(e.SPF.Domain), phrase.Quote(e.SPF.Reason))
	}
	for _, s := range e.Signatures(unknownKey) {
		say("The DKIM key of %s could not be looked up: %s", s.Domain, s.Reason)
	}
	if e.BestCase != nil && e.BestCase.Err != nil && e.DMARC.Result == policy.ResultTempError {
		say("The DMARC policy of %s could not be looked up: %s.", e.Author(), diag.Reason(e.BestCase.Err))
	}
	if e.AuthorUnanswered() {
		say("Whether %s exists could not be looked up.", e.Author())
	}
	if e.HopUnanswered() {
		list = append(list, e.Why)
	}
	if e.MitigationUnanswered() && e.PTR != nil && e.PTR.Err != nil {
		say("The PTR record of %s could not be looked up: %s.", e.PTR.IP, e.PTR.Error)
	}
	if e.MitigationUnanswered() && e.ARC.Result == arc.Unknown {
		list = append(list, "The ARC chain could not be verified. "+e.ARC.Reason)
	}
	return list
}
