package resolve

import "net/netip"

// forDocumentation is the purpose of the addresses in examples. They are told apart from those that
// somebody uses: nobody does.
const forDocumentation = "reserved for documentation"

// purposes lists blocks of addresses that do not reach hosts on the Internet (RFC 6890 section 2.2),
// beside those that the standard library knows.
var purposes = []struct {
	prefix  netip.Prefix
	purpose string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "reserved for \"this network\""},                 // RFC 791 section 3.2
	{netip.MustParsePrefix("100.64.0.0/10"), "shared address space (carrier-grade NAT)"},  // RFC 6598
	{netip.MustParsePrefix("192.0.2.0/24"), forDocumentation},                             // RFC 5737
	{netip.MustParsePrefix("198.18.0.0/15"), "reserved for benchmarks"},                   // RFC 2544
	{netip.MustParsePrefix("198.51.100.0/24"), forDocumentation},                          // RFC 5737
	{netip.MustParsePrefix("203.0.113.0/24"), forDocumentation},                           // RFC 5737
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"},                          // RFC 1112 section 4
	{netip.MustParsePrefix("2001:db8::/32"), forDocumentation},                            // RFC 3849
	{netip.MustParsePrefix("3fff::/20"), forDocumentation},                                // RFC 9637
	{netip.MustParsePrefix("64:ff9b:1::/48"), "reserved for local IPv4/IPv6 translation"}, // RFC 8215
	{netip.MustParsePrefix("100::/64"), "a discard-only address"},                         // RFC 6666
}

// purposeOf returns what an address is for if it does not reach a host on the Internet, or nothing.
func purposeOf(ip netip.Addr) string {
	ip = ip.Unmap()
	switch {
	case !ip.IsValid():
		return ""
	case ip.IsUnspecified():
		return "the unspecified address"
	case ip.IsLoopback():
		return "a loopback address"
	case ip.IsPrivate():
		return "a private address"
	case ip.IsLinkLocalUnicast():
		return "a link-local address"
	case ip.IsMulticast():
		return "a multicast address"
	}
	for _, p := range purposes {
		if p.prefix.Contains(ip) {
			return p.purpose
		}
	}
	return ""
}
