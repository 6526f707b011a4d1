package nameserver

import (
	"net/netip"
	"strings"

	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/miekg/dns"
)

// An answered set is one about which receivers ask address by address: "exists:%{i}.name" (RFC 7208 section 5.7).
type answered struct {
	set spf.Set
	ttl uint32
}

// listed is the answer for an address in a set. That there is one is all that counts.
var listed = netip.AddrFrom4([4]byte{127, 0, 0, 2})

// member answers for a name below that of a set, and reports whether there is such a set. All names below exist: a
// resolver that asks label by label (RFC 9156) must not take the absence of one for that of all below (RFC 8020),
// and 4.3.2.1 can be an IPv4 address as well as the end of one of IPv6.
func (s *snapshot) member(m *dns.Msg, q dns.Question, name string) bool {
	client, set, ok := s.setOf(name)
	if !ok {
		return false
	}
	if set.has(client) && q.Qtype == dns.TypeA {
		rr := address(q.Name, listed)
		rr.Header().Ttl = set.ttl
		m.Answer = []dns.RR{rr}
		return true
	}
	m.Ns = []dns.RR{s.negative}
	return true
}

func (a answered) has(client string) bool {
	ip, ok := expanded(client)
	return ok && a.set.Contains(ip)
}

// setOf finds the set that a name is below of, and what stands before the name of the set.
func (s *snapshot) setOf(name string) (client string, set answered, ok bool) {
	for i := 0; i < len(name) && len(s.sets) > 0; i++ {
		if name[i] == '.' {
			if set, ok = s.sets[name[i+1:]]; ok {
				return name[:i], set, true
			}
		}
	}
	return "", answered{}, false
}

// nibbles is how many labels an IPv6 address has where the macro i is expanded (RFC 7208 section 7.3).
const nibbles = 32

// expanded reads an address as the macro i writes it: dotted decimal for IPv4, nibbles with dots for IPv6.
func expanded(text string) (netip.Addr, bool) {
	if strings.Count(text, ".") != nibbles-1 {
		ip, err := netip.ParseAddr(text)
		return ip, err == nil && ip.Is4()
	}
	var bytes [16]byte
	if len(text) != 2*nibbles-1 {
		return netip.Addr{}, false
	}
	for i := range nibbles {
		digit := strings.IndexByte("0123456789abcdef", text[2*i])
		if digit < 0 {
			return netip.Addr{}, false
		}
		bytes[i/2] = bytes[i/2]<<4 | byte(digit)
	}
	return netip.AddrFrom16(bytes), true
}
