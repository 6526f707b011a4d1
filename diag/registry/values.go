package registry

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"go4.org/netipx"
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
	list := netipx.IPRangeFrom(start, end).Prefixes()
	return list[:min(len(list), maxPrefixes)]
}

// hostName returns a host name in lower case and ASCII, without a final dot; empty if it is not one.
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
