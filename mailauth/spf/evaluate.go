package spf

import (
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// A hostResult is what the record of one domain leads to.
type hostResult struct {
	outcome Outcome
	term    string // the mechanism that matched
	domain  string // whose record has it
	reason  string // of none, temperror and permerror
}

func because(o Outcome, format string, args ...any) hostResult {
	return hostResult{outcome: o, reason: fmt.Sprintf(format, args...)}
}

// checkHost evaluates the record of a domain (RFC 7208 section 4). Each call beyond the first is counted
// as a lookup by the caller, so it is at most eleven levels deep, or one more than a caller allows.
func (e *evaluation) checkHost(domain string, included bool) hostResult {
	domain = strings.TrimSuffix(domain, ".")
	if fault := undomain(domain); fault != "" {
		return because(None, "%.255q has no record: %s", domain, fault)
	}
	p := e.dns.published(domain)
	switch {
	case p.answer.Err() != nil:
		return because(Temperror, "%v", failure(p.answer))
	case len(p.records) == 0:
		return because(None, "%s has no SPF record", domain)
	case len(p.records) > 1:
		return because(Permerror, "%s has %d SPF records", domain, len(p.records))
	}
	if len(p.faults) > 0 {
		return because(Permerror, "the record of %s has an error at byte %d: %s", domain, p.faults[0].Offset,
			p.faults[0].Text)
	}
	return e.terms(p.parsed, domain, included)
}

// undomain says why a text is not a domain with a record, or nothing (RFC 7208 section 4.3).
func undomain(s string) string {
	switch {
	case s == "":
		return "it is empty"
	case s[0] == '[':
		return "it is an address"
	case malformed(s) != "":
		return malformed(s)
	case strings.IndexFunc(s, func(r rune) bool { return r > 0x7e }) >= 0:
		return "it has characters beyond ASCII"
	case !strings.Contains(s, "."):
		return "it has one label only"
	default:
		return ""
	}
}

// terms evaluates a record without errors.
func (e *evaluation) terms(record *Record, domain string, included bool) hostResult {
	for i := range record.Terms {
		t := &record.Terms[i]
		if t.Kind != Mechanism {
			continue
		}
		matched, failed := e.match(record, t, domain)
		if failed != nil {
			return *failed
		}
		if matched == nil {
			continue
		}
		matched.outcome = t.Qualifier.Outcome()
		if matched.outcome == Fail && !included {
			e.explain(record.find(Exp), domain)
		}
		return *matched
	}
	if t := record.find(Redirect); t != nil { // with all, which always matches, this is never reached
		return e.redirect(record, t, domain, included)
	}
	return hostResult{outcome: Neutral} // RFC 7208 section 4.7
}

// redirect hands over to another record (RFC 7208 section 6.1).
func (e *evaluation) redirect(record *Record, t *Term, domain string, included bool) hostResult {
	if e.dns == nil {
		return needsDNS(t)
	}
	if failed := e.count(t, domain); failed != nil {
		return *failed
	}
	e.lookAhead(record, domain)
	v := e.checkHost(e.target(t, domain), included)
	if v.outcome == None {
		v.outcome = Permerror
	}
	return v
}

func needsDNS(t *Term) hostResult { return because(NeedsDNS, "%s depends on the DNS", t.Raw) }

// count counts a term that needs the DNS, and the lookup of the client's name if it uses the macro p.
func (e *evaluation) count(t *Term, domain string) *hostResult {
	if e.counted += t.cost(); e.counted > e.maxLookups {
		v := because(Permerror, "%s in the record of %s exceeds the limit of %d DNS lookups", t.Raw, domain, e.maxLookups)
		return &v
	}
	return nil
}

// void counts a term for which the DNS has nothing.
func (e *evaluation) void(t *Term, domain string) *hostResult {
	if e.voids++; e.voids > e.maxVoids {
		v := because(Permerror, "%s in the record of %s exceeds the limit of %d void lookups", t.Raw, domain, e.maxVoids)
		return &v
	}
	return nil
}

// match reports whether a mechanism matches the client. It returns two nils if not.
func (e *evaluation) match(record *Record, t *Term, domain string) (matched, failed *hostResult) {
	yes := &hostResult{term: t.Raw, domain: domain}
	switch t.Name {
	case All:
		return yes, nil
	case ip4, ip6:
		if t.Network.Contains(e.ip) {
			return yes, nil
		}
		return nil, nil
	}
	if e.dns == nil {
		v := needsDNS(t)
		return nil, &v
	}
	if failed := e.count(t, domain); failed != nil {
		return nil, failed
	}
	if !e.asciiLocal && t.spec.uses("sl") { // RFC 8616 section 4: such terms never match
		return nil, nil
	}
	e.lookAhead(record, domain)
	name := e.target(t, domain)
	if t.Name == Include {
		return e.include(name)
	}
	if malformed(name) != "" { // RFC 7208 section 4.8: nothing can match
		return nil, nil
	}
	var hit bool
	switch t.Name {
	case a:
		hit, failed = e.matchA(t, name, domain)
	case MX:
		hit, failed = e.matchMX(t, name, domain)
	case PTR:
		hit, failed = e.matchPTR(t, name, domain)
	case Exists:
		hit, failed = e.matchExists(t, name, domain)
	}
	if failed != nil || !hit {
		return nil, failed
	}
	return yes, nil
}

// include matches if the other record passes (RFC 7208 section 5.2).
func (e *evaluation) include(name string) (matched, failed *hostResult) {
	switch v := e.checkHost(name, true); v.outcome {
	case Pass:
		return &v, nil
	case None:
		v.outcome = Permerror
		return nil, &v
	case Temperror, Permerror:
		return nil, &v
	default:
		return nil, nil
	}
}

// matchA is RFC 7208 section 5.3. Only addresses of the client's family are asked for.
func (e *evaluation) matchA(t *Term, name, domain string) (bool, *hostResult) {
	a := e.dns.addressesOf(name, e.ip.Is4(), e.ip.Is6())
	if a.err != nil {
		v := because(Temperror, "%v", a.err)
		return false, &v
	}
	if len(a.v4)+len(a.v6) == 0 {
		return false, e.void(t, domain)
	}
	return e.among(t, a), nil
}

// among reports whether the client is in a network of the term around one of the addresses.
func (e *evaluation) among(t *Term, a addresses) bool {
	for _, ip := range append(a.v4, a.v6...) {
		if t.around(ip).Contains(e.ip) {
			return true
		}
	}
	return false
}

// matchMX is RFC 7208 section 5.4. The hosts are asked for at once, and looked at in order.
func (e *evaluation) matchMX(t *Term, name, domain string) (bool, *hostResult) {
	answer := ask[*dns.MX](e.dns, name, dns.TypeMX)
	switch {
	case answer.Err() != nil:
		v := because(Temperror, "%v", failure(answer))
		return false, &v
	case len(answer.Records) == 0:
		return false, e.void(t, domain)
	case len(answer.Records) > MaxMX: // section 4.6.4
		v := because(Permerror, "%s has %d MX hosts", name, len(answer.Records))
		return false, &v
	}
	hosts := mxHosts(answer)
	found := make([]addresses, len(hosts))
	var g diag.Group
	for i, host := range hosts {
		g.Go(func() { found[i] = e.dns.addressesOf(host, e.ip.Is4(), e.ip.Is6()) })
	}
	g.Wait()
	for _, a := range found {
		if e.among(t, a) {
			return true, nil
		}
		if a.err != nil {
			v := because(Temperror, "%v", a.err)
			return false, &v
		}
	}
	return false, nil
}

// matchExists is RFC 7208 section 5.7: the address may be any, and is one of IPv4 always.
func (e *evaluation) matchExists(t *Term, name, domain string) (bool, *hostResult) {
	a := e.dns.addressesOf(name, true, false)
	if a.err != nil {
		v := because(Temperror, "%v", a.err)
		return false, &v
	}
	if len(a.v4) == 0 {
		return false, e.void(t, domain)
	}
	return true, nil
}
