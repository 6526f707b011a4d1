package diagtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
	"golang.org/x/net/publicsuffix"
)

// names is the DNS of a world as its resolvers see it.
type names struct {
	faults     faultTable // of resolvers
	everywhere faultTable // of resolvers and name servers

	mu      sync.Mutex
	records []dns.RR
	zones   map[string]*zone    // made of the records when needed
	sealed  map[*zone]*zone     // of zones that servers have of their own
	signing map[string]*Signing // by zone
	asked   map[string]bool     // zones that exist although the records may not have their SOA
	implied map[string]bool     // zones that exist because they are above others
}

func newNames() *names {
	return &names{signing: map[string]*Signing{}, asked: map[string]bool{}, implied: map[string]bool{}}
}

// Zone adds records in master file format (RFC 1035 section 5), of any zones:
//
//	world.Zone(`
//		example.com.     MX 10 mx.example.com.
//		mx.example.com.  A  192.0.2.25
//	`)
//
// The default time to live is 300 seconds, and $ORIGIN is initially the root. An SOA record makes its owner
// the apex of a zone; without one, negative answers have a generated SOA record.
func (w *World) Zone(text string) {
	if w.t != nil {
		w.t.Helper()
	}
	records, err := parseZone(text, ".")
	if err != nil {
		w.check(err)
		return
	}
	w.dns.add(records...)
	for _, rr := range records {
		if ip := resolver.AddressIn(rr); ip.IsValid() {
			w.net.reserve(ip)
		}
	}
}

// change applies f to what zones are made of.
func (n *names) change(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
	n.zones = nil
}

func (n *names) add(records ...dns.RR) {
	n.change(func() { n.records = append(n.records, records...) })
}

// Remove removes the records for which match returns true from the zones of the world.
func (w *World) Remove(match func(dns.RR) bool) {
	w.dns.change(func() { w.dns.records = slices.DeleteFunc(w.dns.records, match) })
}

func (n *names) current() map[string]*zone {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.zones == nil {
		n.zones = n.build()
	}
	return n.zones
}

// maxAliases bounds the chain that a resolver follows, as common resolvers do. Beyond it, and in a
// circle, the reply is SERVFAIL with the chain as far as it was followed.
const maxAliases = 16

// A recursion is the work on one question: a walk along its aliases.
type recursion struct {
	zones   map[string]*zone
	now     time.Time
	overlay map[string]*zone // of one resolver, instead of zones; may be nil
	faults  []*faultTable

	fault   Fault
	rcode   int
	results []result
	secure  bool // all zones on the way are signed, up to the root
	bogus   *trouble
}

func (r *recursion) walk(name string, qtype uint16) {
	seen := map[string]bool{}
	r.secure = true
	for range maxAliases + 1 {
		seen[dns.CanonicalName(name)] = true
		found := r.step(name, qtype)
		r.results = append(r.results, found)
		r.rcode = found.rcode
		if found.next == "" || r.fault.Rcode != 0 {
			return
		}
		if name = found.next; seen[dns.CanonicalName(name)] {
			break
		}
	}
	r.rcode = dns.RcodeServerFailure // a loop, or no end in sight
}

// overlaid returns the contents that a configured resolver returns for a name in place of the true ones.
func (r *recursion) overlaid(name string) *zone {
	name = dns.CanonicalName(name)
	for _, z := range r.overlay {
		if z.exists[name] && name != "." {
			return z
		}
	}
	return nil
}

func (r *recursion) reply(q *dns.Msg) *dns.Msg {
	m := new(dns.Msg).SetReply(q)
	m.RecursionAvailable = true
	m.CheckingDisabled = q.CheckingDisabled
	do := dnssecOK(q)
	m.Rcode = r.rcode
	switch {
	case r.fault.Rcode != 0:
		m.Rcode = r.fault.Rcode
	case r.bogus != nil && !q.CheckingDisabled:
		m.Rcode = dns.RcodeServerFailure
	default:
		for i, found := range r.results {
			found.write(m, q.Question[0].Qtype, do, i == len(r.results)-1)
		}
	}
	// RFC 6840 section 5.8: AD is set only for clients that request it.
	m.AuthenticatedData = (q.AuthenticatedData || do) && m.Rcode != dns.RcodeServerFailure &&
		(r.fault.Secure || r.secure)
	r.explain(q, m)
	return m
}

// explain adds EDNS to a reply if the question has it, and the extended errors.
func (r *recursion) explain(q, m *dns.Msg) {
	var why trouble
	if r.fault.Rcode != 0 && r.fault.Explain != 0 || r.fault.Text != "" {
		why = trouble{r.fault.Explain, r.fault.Text}
	} else if r.bogus != nil {
		why = *r.bogus
	}
	extend(q, m, why.code, why.text)
}

// extend adds EDNS to a reply if the question has it, and an extended error if there is one.
func extend(q, m *dns.Msg, code uint16, text string) {
	if q.IsEdns0() == nil {
		m.Rcode &= 0xf // there is no place for more, RFC 6891 section 6.1.3
		return
	}
	m.SetEdns0(ednsSize, dnssecOK(q))
	if code != 0 || text != "" {
		m.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_EDE{InfoCode: code, ExtraText: text}}
	}
}

func dnssecOK(q *dns.Msg) bool {
	opt := q.IsEdns0()
	return opt != nil && opt.Do()
}

// write adds a zone's answer to a message. Only the last of a chain has a negative side.
func (r result) write(m *dns.Msg, qtype uint16, do, last bool) {
	m.Answer = append(m.Answer, copied(r.dname)...)
	m.Answer = append(m.Answer, r.answer...)
	if do && r.zone.signer != nil {
		r.zone.signer.prove(m, r, qtype)
	}
	if last && len(r.answer) == 0 && (r.rcode == dns.RcodeSuccess || r.rcode == dns.RcodeNameError) {
		m.Ns = append(m.Ns, r.zone.negative(r.name, do)...)
	}
}

// negative returns the SOA record of a negative answer (RFC 2308 section 3).
func (z *zone) negative(name string, do bool) []dns.RR {
	soas := z.apex()[dns.TypeSOA]
	switch {
	case len(soas) == 0 && z.around != nil:
		return z.around.negative(name, do)
	case len(soas) == 0:
		return []dns.RR{madeUpSOA(name)}
	}
	soa := dns.Copy(soas[0]).(*dns.SOA)
	list := []dns.RR{soa}
	if do && z.signer != nil {
		list = append(list, z.signer.signatures(z.origin, z.origin, dns.TypeSOA)...)
	}
	for _, rr := range list {
		rr.Header().Ttl = min(soa.Hdr.Ttl, soa.Minttl)
	}
	return list
}

// madeUpSOA returns the SOA record of the zone in which a name would most likely be.
func madeUpSOA(name string) dns.RR {
	apex := dns.Fqdn(name)
	if d, err := publicsuffix.EffectiveTLDPlusOne(strings.TrimSuffix(apex, ".")); err == nil {
		apex = dns.Fqdn(d)
	} else if labels := dns.SplitDomainName(apex); len(labels) > 0 {
		apex = labels[len(labels)-1] + "."
	}
	return soaOf(apex)
}

// soaOf returns an SOA record with common values.
func soaOf(apex string) dns.RR {
	below := strings.TrimPrefix(apex, ".")
	return &dns.SOA{
		Hdr: dns.RR_Header{Name: apex, Rrtype: dns.TypeSOA, Class: dns.ClassINET, Ttl: 300}, Ns: "ns." + below,
		Mbox: "hostmaster." + below, Serial: 1, Refresh: 7200, Retry: 3600, Expire: 1209600, Minttl: 300,
	}
}

// Exchange implements [diag.Resolver]: the world is a validating resolver.
func (w *World) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(q.Question) != 1 {
		return new(dns.Msg).SetRcode(q, dns.RcodeFormatError), nil
	}
	question := q.Question[0]
	w.queries.add(Query{Name: dns.CanonicalName(question.Name), Type: question.Qtype, Time: w.Now()})
	r := w.recurse(question, nil, nil)
	if err := w.wait(ctx, w.Latencies().DNS+r.fault.Delay); err != nil {
		return nil, err
	}
	if r.fault.Silent {
		return nil, fmt.Errorf("asking for %s: %w", question.Name, w.silence(ctx))
	}
	return r.reply(q), nil
}

// recurse works on a question as a resolver with its own faults and contents does.
func (w *World) recurse(q dns.Question, faults *faultTable, overlay map[string]*zone) *recursion {
	r := &recursion{zones: w.dns.current(), now: w.Now(), overlay: overlay}
	if faults != nil {
		r.faults = []*faultTable{faults}
	}
	r.faults = append(r.faults, &w.dns.faults, &w.dns.everywhere)
	r.walk(q.Name, q.Qtype)
	return r
}
