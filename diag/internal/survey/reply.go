package survey

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/miekg/dns"
)

// A Result is the outcome of a query.
type Result int

// The results. Only Answered comes with a message.
const (
	NotAsked   Result = 0 // the query was not sent, or there was no time for it
	Answered   Result = 1
	TimedOut   Result = 2 // nothing came that was a reply
	Refused    Result = 3 // no server listens: the connection was refused
	Reset      Result = 4 // the connection was closed before a reply
	Malformed  Result = 5 // the reply cannot be read
	Unroutable Result = 6 // there is no route to the address from here
	Blocked    Result = 7 // the guard refused the address
	Truncated  Result = 8 // the reply was truncated, and TCP failed too
)

// A Reply is the outcome of one query.
type Reply struct {
	Result      Result
	Msg         *dns.Msg // if answered
	Latency     time.Duration
	TCP         bool
	CaseChanged bool           // the question came back in other letter case
	Forged      int            // datagrams that were no reply to the query
	From        netip.AddrPort // another address that a reply came from
	By          *Address       // the address queried, where it may be one of several
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

// patience is how long the next reply of the same server may take.
func (r Reply) patience() time.Duration { return min(silentAfter, max(quickest, slack*r.Latency)) }

// whole returns the reply unless it is truncated, because it is unknown what is missing then (RFC 2181 section 9).
func (r Reply) whole() Reply {
	if r.OK() && r.Msg.Truncated {
		r.Result, r.Msg = Truncated, nil
	}
	return r
}

// A Standing is the status of a server for the zone, by its answer for the SOA record.
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

// names reports whether a reply has the NS records of the zone, with authority.
func (r Reply) names(zone string) bool {
	return r.Rcode() == dns.RcodeSuccess && r.Msg.Authoritative && len(Set[*dns.NS](r.Msg.Answer, zone)) > 0
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

// RRSet picks the records of a name and type. It is empty, not nil, without a match.
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
	hosts := kit.Map(records, func(r *dns.NS) string { return dns.CanonicalName(r.Ns) })
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

// BareName formats a name for reports: without the final dot, unless it is the root.
func BareName(name string) string {
	if name == "." {
		return name
	}
	return strings.TrimSuffix(strings.ToLower(name), ".")
}

// Literal returns the address that the name of a host is, by mistake.
func Literal(host string) netip.Addr {
	ip, _ := netip.ParseAddr(BareName(host))
	return ip
}

const (
	// ednsSize is the UDP payload that avoids fragmentation on the Internet (RFC 9715 section 3).
	ednsSize = 1232
	// UnassignedOption is an unassigned EDNS option, and UnassignedFlags are unassigned flags
	// (www.iana.org/assignments/dns-parameters).
	UnassignedOption = 137
	UnassignedFlags  = 0x0003
	// AbsentLabel is a label that no zone is expected to have.
	AbsentLabel = "no-such-name-7f3a9c"
	// ClientCookie is half a cookie (RFC 7873 section 4.1). It need not be secret here, for no reply is
	// believed for its sake.
	ClientCookie = "24a5ac1f7d3b90e6"
)

// plain makes a query as of 1987, without EDNS and without recursion.
func plain(name string, qtype uint16) *dns.Msg {
	q := new(dns.Msg).SetQuestion(name, qtype)
	q.RecursionDesired = false
	return q
}

// extended makes a query with EDNS that asks for signatures (RFC 3225).
func extended(name string, qtype uint16, options ...dns.EDNS0) *dns.Msg {
	q := plain(name, qtype)
	q.SetEdns0(ednsSize, true)
	q.IsEdns0().Option = options
	return q
}

// bare makes a query with EDNS that wants nothing.
func bare(name string, qtype uint16) *dns.Msg {
	q := plain(name, qtype)
	q.SetEdns0(ednsSize, false)
	return q
}

// odd makes a query with something in EDNS that servers need not know.
func odd(name string, qtype uint16, change func(*dns.OPT)) *dns.Msg {
	q := bare(name, qtype)
	change(q.IsEdns0())
	return q
}

// identity asks for the name of a server (RFC 5001) and whether it knows cookies (RFC 7873).
func identity(name string, qtype uint16) *dns.Msg {
	return extended(name, qtype, &dns.EDNS0_NSID{Code: dns.EDNS0NSID},
		&dns.EDNS0_COOKIE{Code: dns.EDNS0COOKIE, Cookie: ClientCookie})
}

// located asks on behalf of a network for documentation (RFC 7871), which has no answer of its own.
func located(name string) *dns.Msg {
	return extended(name, dns.TypeA, &dns.EDNS0_SUBNET{
		Code: dns.EDNS0SUBNET, Family: 1, SourceNetmask: 24, Address: []byte{198, 51, 100, 0},
	})
}

// MixedCase writes every other letter of a name in upper case.
func MixedCase(name string) string {
	upper := true
	return strings.Map(func(r rune) rune {
		if r < 'a' || r > 'z' {
			return r
		}
		if upper = !upper; upper {
			return r
		}
		return r - 'a' + 'A'
	}, name)
}

// without returns a query without EDNS.
func without(q *dns.Msg) *dns.Msg {
	p := q.Copy()
	p.Extra = nil
	return p
}
