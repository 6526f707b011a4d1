package survey

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// A Result is the outcome of a query.
type Result int

// The results. Only Answered comes with a message.
const (
	NotAsked   Result = 0 // nobody asked, or there was no time for it
	Answered   Result = 1
	TimedOut   Result = 2 // nothing came that was a reply
	Refused    Result = 3 // nobody listens: the connection was refused
	Reset      Result = 4 // the connection was closed before a reply
	Malformed  Result = 5 // the reply cannot be read
	Unroutable Result = 6 // there is no route to the address from here
	Blocked    Result = 7 // the guard refused the address
	Truncated  Result = 8 // the reply was cut off, and TCP did not bring the rest
)

// A Reply is what came back for one query.
type Reply struct {
	Result      Result
	Msg         *dns.Msg // if answered
	Latency     time.Duration
	TCP         bool
	CaseChanged bool           // the question came back in other letter case
	Forged      int            // datagrams that were no reply to the query
	From        netip.AddrPort // another address that a reply came from
	By          *Address       // who was asked, where it may be one of several
}

// OK reports whether there is a reply at all.
func (r Reply) OK() bool { return r.Result == Answered }

// Rcode returns the rcode of a reply, or -1.
func (r Reply) Rcode() int {
	if !r.OK() {
		return -1
	}
	return r.Msg.Rcode
}

// Settled reports whether a reply says that there is something, or that there is nothing.
func (r Reply) Settled() bool {
	return r.Rcode() == dns.RcodeSuccess || r.Rcode() == dns.RcodeNameError
}

// EDNS returns the OPT record of a reply, or nil.
func (r Reply) EDNS() *dns.OPT {
	if !r.OK() {
		return nil
	}
	return r.Msg.IsEdns0()
}

// whole returns the reply unless it was cut off, for nobody knows what is missing then (RFC 2181 section 9).
func (r Reply) whole() Reply {
	if r.OK() && r.Msg.Truncated {
		r.Result, r.Msg = Truncated, nil
	}
	return r
}

// A Standing is what a server is to the zone, by its answer for the SOA record.
type Standing int

// The standings.
const (
	noAnswer         Standing = 0 // no reply, or none that can be read
	Authoritative    Standing = 1
	NonAuthoritative Standing = 2 // gives the answer without the flag AA
	UpwardReferral   Standing = 3 // refers to a parent zone
	Lame             Standing = 4 // anything else
)

// Standing returns what the server that gave this reply for the SOA record is to the zone.
func (r Reply) Standing(zone string) Standing {
	if !r.OK() {
		return noAnswer
	}
	m := r.Msg
	has := len(Set[*dns.SOA](m.Answer, zone))+len(Set[*dns.CNAME](m.Answer, zone)) > 0
	switch {
	case m.Rcode == dns.RcodeSuccess && m.Authoritative:
		return Authoritative
	case m.Rcode == dns.RcodeSuccess && has:
		return NonAuthoritative
	case m.Rcode == dns.RcodeSuccess && refersUp(m, zone):
		return UpwardReferral
	default:
		return Lame
	}
}

// refersUp reports whether a reply refers to the servers of a parent zone.
func refersUp(m *dns.Msg, zone string) bool {
	return len(m.Answer) == 0 && slices.ContainsFunc(m.Ns, func(rr dns.RR) bool {
		owner := dns.CanonicalName(rr.Header().Name)
		return rr.Header().Rrtype == dns.TypeNS && owner != zone && dns.IsSubDomain(owner, zone)
	})
}

// Set picks the records of one name and type from a section.
func Set[R dns.RR](section []dns.RR, name string) []R {
	var list []R
	for _, rr := range section {
		if r, ok := rr.(R); ok && strings.EqualFold(rr.Header().Name, name) && rr.Header().Class == dns.ClassINET {
			list = append(list, r)
		}
	}
	return list
}

// RRSet picks the records of a name and type. It is empty and not nil if there are none.
func RRSet(section []dns.RR, name string, qtype uint16) []dns.RR {
	list := []dns.RR{}
	for _, rr := range section {
		h := rr.Header()
		if h.Rrtype == qtype && h.Class == dns.ClassINET && strings.EqualFold(h.Name, name) {
			list = append(list, rr)
		}
	}
	return list
}

// HostsOf lists the names in NS records, in lower case, sorted, without duplicates.
func HostsOf(records []*dns.NS) []string {
	hosts := diag.Map(records, func(r *dns.NS) string { return dns.CanonicalName(r.Ns) })
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// MailServers lists the mail servers in a reply, in lower case, sorted, the null MX left out.
func MailServers(r Reply, zone string) []string {
	var list []string
	if !r.OK() {
		return nil
	}
	for _, mx := range Set[*dns.MX](r.Msg.Answer, zone) {
		if mx.Mx != "." {
			list = append(list, dns.CanonicalName(mx.Mx))
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return list[:min(len(list), maxMailServers)]
}

// BareName writes a name as it stands in reports: without the final dot, unless it is the root.
func BareName(name string) string {
	if name == "." {
		return name
	}
	return strings.TrimSuffix(strings.ToLower(name), ".")
}

// parentName returns the name without its first label.
func parentName(name string) string {
	i, end := dns.NextLabel(name, 0)
	if end {
		return "."
	}
	return name[i:]
}

// Literal returns the address that the name of a host is, by mistake.
func Literal(host string) netip.Addr {
	ip, err := netip.ParseAddr(BareName(host))
	if err != nil {
		return netip.Addr{}
	}
	return ip
}
