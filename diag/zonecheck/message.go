package zonecheck

import (
	"strings"

	"github.com/miekg/dns"
)

const (
	// ednsSize is the UDP payload that avoids fragmentation on the Internet (RFC 9715 section 3).
	ednsSize = 1232

	// unassignedOption is an option of EDNS that nobody has registered, and unassignedFlags are flags
	// that mean nothing (www.iana.org/assignments/dns-parameters).
	unassignedOption = 137
	unassignedFlags  = 0x0003

	// absentLabel is a label that no zone is expected to have.
	absentLabel = "no-such-name-7f3a9c"

	// clientCookie is half a cookie (RFC 7873 section 4.1). It need not be secret here, for no reply is
	// believed for its sake.
	clientCookie = "24a5ac1f7d3b90e6"
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

// versioned makes a query with a version of EDNS that does not exist (RFC 6891 section 6.1.3).
func versioned(name string) *dns.Msg {
	q := bare(name, dns.TypeSOA)
	q.IsEdns0().SetVersion(1)
	return q
}

// flagged makes a query with flags of EDNS that nobody has assigned (RFC 6891 section 6.1.4).
func flagged(name string) *dns.Msg {
	q := bare(name, dns.TypeSOA)
	q.IsEdns0().SetZ(unassignedFlags)
	return q
}

// optioned makes a query with an option of EDNS that nobody knows (RFC 6891 section 6.1.2).
func optioned(name string) *dns.Msg {
	q := bare(name, dns.TypeSOA)
	q.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_LOCAL{Code: unassignedOption}}
	return q
}

// small makes a query that leaves no room for a reply with keys.
func small(name string) *dns.Msg {
	q := extended(name, dns.TypeDNSKEY)
	q.IsEdns0().SetUDPSize(dns.MinMsgSize)
	return q
}

// recursive makes a query for the server to find the answer elsewhere.
func recursive(name string) *dns.Msg { return new(dns.Msg).SetQuestion(name, dns.TypeSOA) }

// chaos asks for the version of a server (RFC 4892 names the custom).
func chaos() *dns.Msg {
	q := plain("version.bind.", dns.TypeTXT)
	q.Question[0].Qclass = dns.ClassCHAOS
	return q
}

// identity asks for the name of a server (RFC 5001) and whether it knows cookies (RFC 7873).
func identity(name string) *dns.Msg {
	return extended(name, dns.TypeSOA, &dns.EDNS0_NSID{Code: dns.EDNS0NSID},
		&dns.EDNS0_COOKIE{Code: dns.EDNS0COOKIE, Cookie: clientCookie})
}

// located asks on behalf of a network for documentation (RFC 7871), which has no answer of its own.
func located(name string) *dns.Msg {
	return extended(name, dns.TypeA, &dns.EDNS0_SUBNET{
		Code: dns.EDNS0SUBNET, Family: 1, SourceNetmask: 24, Address: []byte{198, 51, 100, 0},
	})
}

// mixed writes every other letter of a name in upper case.
func mixed(name string) string {
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

// optOf returns the EDNS of a reply, or nil.
func optOf(r reply) *dns.OPT {
	if !r.ok() {
		return nil
	}
	return r.msg.IsEdns0()
}

// set picks the records of one name and type from a section.
func set[R dns.RR](section []dns.RR, name string) []R {
	var list []R
	for _, rr := range section {
		if r, ok := rr.(R); ok && strings.EqualFold(rr.Header().Name, name) && rr.Header().Class == dns.ClassINET {
			list = append(list, r)
		}
	}
	return list
}

// bareName writes a name as it stands in reports: without the final dot, unless it is the root.
func bareName(name string) string {
	if name == "." {
		return name
	}
	return strings.TrimSuffix(strings.ToLower(name), ".")
}

// above returns the name without its first label.
func above(name string) string {
	i, end := dns.NextLabel(name, 0)
	if end {
		return "."
	}
	return name[i:]
}

// inside reports whether a name is another or below it.
func inside(zone, name string) bool { return dns.IsSubDomain(zone, name) }
