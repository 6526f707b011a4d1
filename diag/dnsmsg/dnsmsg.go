// Package dnsmsg makes and reads DNS messages and records, for checks that need more than diag.Lookup.
// [Question] makes a query, [FollowAliases] returns the records that answer it, [TXT] the text of a TXT
// record, [PastedTXT] the text in a line pasted from a zone file, and [ExtendedErrors] the extended errors of
// a reply (RFC 8914).
package dnsmsg

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// maxReasons bounds the extended errors that are put into words; servers give one or two.
const maxReasons = 4

// ExtendedTexts returns the first extended errors as text, each in parentheses after a space.
func ExtendedTexts(list []dns.EDNS0_EDE) string {
	var b strings.Builder
	for _, e := range list[:min(len(list), maxReasons)] {
		b.WriteString(" (" + ExtendedText(e) + ")")
	}
	return b.String()
}

// ExtendedText returns an extended error as text: its name in the IANA registry, and the server's
// explanation.
func ExtendedText(e dns.EDNS0_EDE) string {
	name, ok := dns.ExtendedErrorCodeToString[e.InfoCode]
	if !ok {
		name = fmt.Sprintf("extended error %d", e.InfoCode)
	}
	if e.ExtraText == "" {
		return name
	}
	return fmt.Sprintf("%s: %.200q", name, strings.ToValidUTF8(e.ExtraText, "\uFFFD"))
}

// Filtered returns the resolver's explanation if it changed the answer by a policy of its own, such as a
// block list, otherwise the empty string (RFC 8914 sections 4.16 to 4.18). Such an answer tells nothing about
// the name.
func Filtered(m *dns.Msg) string { return FilterReason(ExtendedErrors(m)) }

// FilterReason is [Filtered] for the extended errors of a message.
func FilterReason(list []dns.EDNS0_EDE) string {
	for _, x := range list {
		switch x.InfoCode {
		case dns.ExtendedErrorCodeBlocked, dns.ExtendedErrorCodeCensored, dns.ExtendedErrorCodeFiltered:
			return ExtendedText(x)
		}
	}
	return ""
}

// RcodeName returns the standard name of an rcode, or RCODEnnn (RFC 6895 section 2.3).
func RcodeName(rcode int) string {
	if rcode == dns.RcodeBadVers {
		return "BADVERS" // 16 is BADSIG in TSIG alone (RFC 6891 section 9, RFC 8945 section 3)
	}
	if name, ok := dns.RcodeToString[rcode]; ok {
		return name
	}
	return fmt.Sprintf("RCODE%d", rcode)
}

// ednsSize is the UDP payload that avoids fragmentation on the Internet (RFC 9715 section 3).
const ednsSize = 1232

// A query is a message with one question and EDNS, in one piece of memory.
type query struct {
	msg      dns.Msg
	question [1]dns.Question
	opt      dns.OPT
	extra    [1]dns.RR
}

// Question returns a query with EDNS, recursion desired (RD), and AD set, to learn whether the resolver
// validated the answer. With dnssec it also asks for DNSSEC records (DO).
func Question(name string, qtype uint16, dnssec bool) *dns.Msg {
	q := &query{question: [1]dns.Question{{Name: dns.Fqdn(name), Qtype: qtype, Qclass: dns.ClassINET}}}
	var id [2]byte // unpredictable (RFC 5452 section 9.2); dns.Id takes three times as long
	_, _ = rand.Read(id[:])
	q.msg.Id = binary.BigEndian.Uint16(id[:])
	q.msg.RecursionDesired, q.msg.AuthenticatedData = true, true // RFC 6840 section 5.7
	q.opt.Hdr.Name, q.opt.Hdr.Rrtype = ".", dns.TypeOPT
	q.opt.SetUDPSize(ednsSize)
	if dnssec {
		q.opt.SetDo()
	}
	q.extra[0] = &q.opt
	q.msg.Question, q.msg.Extra = q.question[:], q.extra[:]
	return &q.msg
}

// MaxAliases is the maximum length of a chain of CNAMEs. Resolvers follow between 8 and 16.
const MaxAliases = 16

// FollowAliases returns the records of a type in the answer section, at the end of the chain of CNAMEs that
// begins with the name asked for (RFC 1034 section 3.6.2), and the chain. CNAMEs synthesized from a DNAME
// (RFC 6672 section 3.1) are followed like any other. The chain ends before a CNAME that leads back into it,
// and after [MaxAliases].
func FollowAliases(m *dns.Msg, name string, qtype uint16) (chain []*dns.CNAME, rrs []dns.RR) {
	chain, rrs, _ = Follow[dns.RR](m, name, qtype)
	return chain, rrs
}

// Follow is [FollowAliases] for records of one Go type. It also returns their smallest time to live, in
// seconds. If there are none, records is nil and ttl has no meaning.
func Follow[R dns.RR](m *dns.Msg, name string, qtype uint16) (chain []*dns.CNAME, records []R, ttl uint32) {
	owner := dns.CanonicalName(name)
	owns := func(rr dns.RR) bool {
		h := rr.Header()
		return h.Class == dns.ClassINET && (h.Name == owner || dns.CanonicalName(h.Name) == owner)
	}
	for ttl = math.MaxUint32; ; {
		var alias *dns.CNAME
		for _, rr := range m.Answer {
			if absent(rr) || !owns(rr) {
				continue
			}
			if h := rr.Header(); h.Rrtype == qtype {
				ttl = min(ttl, h.Ttl)
				if records == nil {
					records = make([]R, 0, len(m.Answer))
				}
				if r, ok := rr.(R); ok {
					records = append(records, r)
				}
			} else if c, ok := rr.(*dns.CNAME); ok && alias == nil {
				alias = c
			}
		}
		if records != nil || alias == nil || len(chain) == MaxAliases {
			return chain, records, ttl
		}
		owner = dns.CanonicalName(alias.Target)
		seen := func(c *dns.CNAME) bool { return dns.CanonicalName(c.Target) == owner }
		if owner == dns.CanonicalName(name) || slices.ContainsFunc(chain, seen) {
			return chain, nil, ttl
		}
		chain = append(chain, alias)
	}
}

// absent reports whether there is no record behind the interface. No server can cause that, but a
// resolver of the user's own may.
func absent(rr dns.RR) bool {
	if rr == nil {
		return true
	}
	v := reflect.ValueOf(rr)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// ExtendedErrors returns the extended errors of a message (RFC 8914).
func ExtendedErrors(m *dns.Msg) []dns.EDNS0_EDE {
	var list []dns.EDNS0_EDE
	for _, rr := range m.Extra {
		opt, ok := rr.(*dns.OPT)
		if !ok || opt == nil {
			continue
		}
		for _, o := range opt.Option {
			if e, ok := o.(*dns.EDNS0_EDE); ok && e != nil {
				list = append(list, *e)
			}
		}
	}
	return list
}

// AddressRecord returns an A or AAAA record. The ttl is in seconds.
func AddressRecord(name string, ip netip.Addr, ttl uint32) dns.RR {
	header := dns.RR_Header{Name: dns.Fqdn(name), Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: ttl}
	if ip.Is4() {
		return &dns.A{Hdr: header, A: ip.AsSlice()}
	}
	header.Rrtype = dns.TypeAAAA
	return &dns.AAAA{Hdr: header, AAAA: ip.AsSlice()}
}
