package survey

import (
	"strings"

	"github.com/miekg/dns"
)

const (
	// ednsSize is the UDP payload that avoids fragmentation on the Internet (RFC 9715 section 3).
	ednsSize = 1232
	// UnassignedOption is an option of EDNS that nobody has registered, and UnassignedFlags are flags
	// that mean nothing (www.iana.org/assignments/dns-parameters).
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
func odd(name string, change func(*dns.OPT)) *dns.Msg {
	q := bare(name, dns.TypeSOA)
	change(q.IsEdns0())
	return q
}

// small makes a query that leaves no room for a reply with keys.
func small(name string) *dns.Msg {
	q := extended(name, dns.TypeDNSKEY)
	q.IsEdns0().SetUDPSize(dns.MinMsgSize)
	return q
}

// chaos asks for the version of a server (RFC 4892 names the custom).
func chaos() *dns.Msg {
	q := plain("version.bind.", dns.TypeTXT)
	q.Question[0].Qclass = dns.ClassCHAOS
	return q
}

// identity asks for the name of a server (RFC 5001) and whether it knows cookies (RFC 7873).
func identity(name string) *dns.Msg {
	return extended(name, dns.TypeSOA, &dns.EDNS0_NSID{Code: dns.EDNS0NSID},
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
	p := plain(q.Question[0].Name, q.Question[0].Qtype)
	p.Question[0].Qclass = q.Question[0].Qclass
	p.RecursionDesired = q.RecursionDesired
	return p
}
