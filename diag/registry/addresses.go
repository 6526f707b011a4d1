package registry

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// maxPrefixes bounds the prefixes into which a range is cut. An IPv6 range has up to 254.
const maxPrefixes = 64

// parseAddress reads an address. Registries also write "192.0.2" or leading zeros, which have no one
// meaning and are refused.
func parseAddress(s string) (netip.Addr, bool) {
	ip, err := netip.ParseAddr(s)
	if err != nil || ip.Zone() != "" {
		return netip.Addr{}, false
	}
	return ip.Unmap(), true
}

// prefixes cuts a range of addresses into the fewest prefixes, the lowest first; at most maxPrefixes.
func prefixes(start, end netip.Addr) []netip.Prefix {
	var list []netip.Prefix
	for start.IsValid() && end.IsValid() && start.BitLen() == end.BitLen() && start.Compare(end) <= 0 {
		p := netip.PrefixFrom(start, start.BitLen())
		for p.Bits() > 0 {
			wider, err := start.Prefix(p.Bits() - 1)
			if err != nil || wider.Addr() != start || last(wider).Compare(end) > 0 {
				break
			}
			p = wider
		}
		list = append(list, p)
		start = last(p).Next() // not valid after the very last address
		if len(list) == maxPrefixes {
			break
		}
	}
	return list
}

// last returns the last address of a prefix.
func last(p netip.Prefix) netip.Addr {
	bytes := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < 8*len(bytes); i++ {
		bytes[i/8] |= 1 << (7 - i%8)
	}
	ip, _ := netip.AddrFromSlice(bytes)
	return ip
}

// hostName returns a host name in lower case and ASCII, without a final dot, or nothing if it is none.
func hostName(s string) string {
	d, err := diag.ParseDomain(strings.TrimSpace(s))
	if err != nil {
		return ""
	}
	return d.String()
}

// addNameserver adds a name server, or addresses to one that is there.
func addNameserver(list []Nameserver, name string, addresses []netip.Addr) []Nameserver {
	i := slices.IndexFunc(list, func(n Nameserver) bool { return n.Name == name })
	if i < 0 {
		if len(list) >= maxList {
			return list
		}
		list = append(list, Nameserver{Name: name, Addresses: []netip.Addr{}})
		i = len(list) - 1
	}
	for _, a := range addresses {
		if !slices.Contains(list[i].Addresses, a) && len(list[i].Addresses) < maxList {
			list[i].Addresses = append(list[i].Addresses, a)
		}
	}
	return list
}
