package eval

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/miekg/dns"
)

type evaluation struct {
	mail
	maxLookups, maxVoids int
	counted, voids       int
	explanation          string

	prefetch   prefetch
	prefetched bool // whether queries were sent ahead for the current record
}

// A verdict is the result of the record of one domain. Without an outcome it is still open.
type verdict struct {
	outcome Outcome
	term    string // the mechanism that matched; empty if the evaluation ended otherwise
	domain  string // the domain whose record has it
	reason  string // of none, temperror and permerror
}

func newVerdict(o Outcome, format string, args ...any) verdict {
	return verdict{outcome: o, reason: fmt.Sprintf(format, args...)}
}

// checkHost evaluates the record of a domain (RFC 7208 section 4). Each call beyond the first is counted
// as a lookup by the caller, so it is at most eleven levels deep, or one more than a caller allows.
func (e *evaluation) checkHost(domain string, included bool) verdict {
	domain = strings.TrimSuffix(domain, ".")
	if fault := DomainFault(domain); fault != "" {
		return newVerdict(None, "%.255q has no record: %s", domain, fault)
	}
	text, count, err := e.record(domain)
	switch {
	case err != nil:
		return newVerdict(Temperror, "%v", err)
	case count == 0:
		return newVerdict(None, "%s has no SPF record", domain)
	case count > 1:
		return newVerdict(Permerror, "%s has %d SPF records", domain, count)
	}
	record, faults := Parse(text)
	if len(faults) > 0 {
		return newVerdict(Permerror, "the record of %s has an error at byte %d: %s", domain, faults[0].Offset, faults[0].Text)
	}
	foreseen := e.prefetched
	v := e.terms(record, domain, included)
	e.prefetched = foreseen
	return v
}

// terms evaluates a record without errors.
func (e *evaluation) terms(record *Record, domain string, included bool) verdict {
	for i := range record.Terms {
		t := &record.Terms[i]
		if t.Kind != Mechanism {
			continue
		}
		v, hit := e.match(record, t, domain)
		switch {
		case hit:
			if v.outcome = t.Qualifier.Outcome(); v.outcome == Fail && !included {
				e.explain(record.Find(Exp), domain)
			}
			return v
		case v.outcome != "":
			return v
		}
	}
	if t := record.Find(Redirect); t != nil { // not reached with all, which always matches
		return e.redirect(record, t, domain, included)
	}
	return verdict{outcome: Neutral} // RFC 7208 section 4.7
}

// redirect continues with another record (RFC 7208 section 6.1).
func (e *evaluation) redirect(record *Record, t *Term, domain string, included bool) verdict {
	if v := e.count(t, domain); v.outcome != "" {
		return v
	}
	e.prefetchQueries(record, domain)
	v := e.checkHost(e.target(t, domain), included)
	if v.outcome == None {
		v.outcome = Permerror
	}
	return v
}

// prefetchQueries starts the queries that the record of a domain needs, once the DNS is slow.
func (e *evaluation) prefetchQueries(record *Record, domain string) {
	if !e.prefetched && e.slow() {
		e.prefetched = true // including the records to which this one leads
		e.prefetch.follow(record, domain)
	}
}

// count counts a term that needs the DNS, and the lookup of the client's names if it uses the macro p.
func (e *evaluation) count(t *Term, domain string) verdict {
	if e.counted += t.Cost(); e.counted > e.maxLookups {
		return newVerdict(Permerror, "%s in the record of %s exceeds the limit of %d DNS lookups",
			t.Raw, domain, e.maxLookups)
	}
	return verdict{}
}

func (e *evaluation) void(t *Term, domain string) verdict {
	if e.voids++; e.voids > e.maxVoids {
		return newVerdict(Permerror, "%s in the record of %s exceeds the limit of %d void lookups", t.Raw, domain, e.maxVoids)
	}
	return verdict{}
}

// match reports whether a mechanism matches the client. If not, the verdict has an outcome where the evaluation ends.
func (e *evaluation) match(record *Record, t *Term, domain string) (v verdict, hit bool) {
	yes := verdict{term: t.Raw, domain: domain}
	switch t.Name {
	case All:
		return yes, true
	case IP4, IP6:
		return yes, t.Network.Contains(e.ip)
	}
	if v = e.count(t, domain); v.outcome != "" {
		return v, false
	}
	if !e.asciiLocal && t.Uses("sl") { // RFC 8616 section 4: such terms never match
		return v, false
	}
	e.prefetchQueries(record, domain)
	name := e.target(t, domain)
	if t.Name == Include {
		return e.include(name)
	}
	if NameFault(name) != "" { // RFC 7208 section 4.8: nothing can match
		return v, false
	}
	found, failed := 0, verdict{}
	switch t.Name {
	case MX:
		found, hit, failed = e.matchMX(t, name)
	case PTR:
		found, hit = e.matchPTR(name)
	default:
		found, hit, failed = e.matchHost(t, name)
	}
	switch {
	case failed.outcome != "":
		return failed, false
	case found == 0:
		return e.void(t, domain), false
	default:
		return yes, hit
	}
}

// include matches if the other record passes (RFC 7208 section 5.2).
func (e *evaluation) include(name string) (v verdict, hit bool) {
	switch v = e.checkHost(name, true); v.outcome {
	case Pass:
		return v, true
	case None:
		v.outcome = Permerror
		return v, false
	case Temperror, Permerror:
		return v, false
	default:
		return verdict{}, false
	}
}

// matchHost evaluates a and exists (RFC 7208 sections 5.3 and 5.7). For exists any address matches, and only IPv4 is
// queried.
func (e *evaluation) matchHost(t *Term, name string) (found int, hit bool, failed verdict) {
	var err error
	if t.Name == Exists {
		answer := Ask[*dns.A](e.Lookups, name)
		found, hit, err = len(answer.Records), len(answer.Records) > 0, AnswerError(answer)
	} else {
		found, hit, err = e.addresses(name, t)
	}
	if err != nil {
		failed = newVerdict(Temperror, "%v", err)
	}
	return found, hit, failed
}

// matchMX evaluates mx (RFC 7208 section 5.4). The hosts are evaluated in order.
func (e *evaluation) matchMX(t *Term, name string) (found int, hit bool, failed verdict) {
	answer := Ask[*dns.MX](e.Lookups, name)
	found = len(answer.Records)
	switch {
	case AnswerError(answer) != nil:
		return 0, false, newVerdict(Temperror, "%v", AnswerError(answer))
	case found > MaxMX: // section 4.6.4
		return 0, false, newVerdict(Permerror, "%s has %d MX hosts", name, found)
	}
	hosts, asked := MXHosts(answer), false
	for i, host := range hosts {
		asked = asked || e.askAll(hosts[i:])
		_, hit, err := e.addresses(host, t)
		switch {
		case hit:
			return found, true, failed
		case err != nil:
			return found, false, newVerdict(Temperror, "%v", err)
		}
	}
	return found, false, failed
}

// matchPTR evaluates ptr (RFC 7208 section 5.5): a validated host name of the client is the name or below it. Without
// an answer it does not match.
func (e *evaluation) matchPTR(name string) (found int, hit bool) {
	answer := e.reverse()
	if answer.Err() == nil && len(answer.Records) == 0 {
		return 0, false
	}
	return 1, slices.ContainsFunc(e.validated(), func(host string) bool { return Below(host, name) })
}

// explain fetches and expands the explanation of a fail. An explanation with any fault is omitted (RFC 7208 section
// 6.2).
func (e *evaluation) explain(t *Term, domain string) {
	if t == nil || NameFault(e.target(t, domain)) != "" {
		return
	}
	answer := Ask[*dns.TXT](e.Lookups, e.target(t, domain))
	if len(answer.Records) != 1 {
		return
	}
	m, fault := parseMacros(dnsmsg.TXT(answer.Records[0]), true)
	if fault.text != "" {
		return
	}
	text := m.expand(func(letter byte) string {
		if letter == 'i' { // in capitals, as in explanations of IPv6 since RFC 4408; names are case-insensitive
			return strings.ToUpper(e.value(letter, domain))
		}
		return e.value(letter, domain)
	})
	if strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) >= 0 {
		return // section 6.2: US-ASCII; macro values are untrusted
	}
	e.explanation = text
}
