package netmask

import "net/netip"

// Class is the historic class of an address (RFC 791 section 3.2, RFC 1112 section 4). Since RFC 4632
// it no longer says how large a network is.
type Class string

// The classes by their first bits.
const (
	ClassA Class = "A" // 0
	ClassB Class = "B" // 10
	ClassC Class = "C" // 110
	ClassD Class = "D" // 1110, multicast
	ClassE Class = "E" // 1111, reserved
)

// Values lists the classes.
func (Class) Values() []string {
	return []string{string(ClassA), string(ClassB), string(ClassC), string(ClassD), string(ClassE)}
}

func classOf(ip uint32) Class {
	switch first := byte(ip >> 24); {
	case first < 128:
		return ClassA
	case first < 192:
		return ClassB
	case first < 224:
		return ClassC
	case first < 240:
		return ClassD
	default:
		return ClassE
	}
}

// Scope says what an address is for.
type Scope string

// The scopes.
const (
	Public        Scope = "public"        // reaches hosts on the Internet
	Private       Scope = "private"       // within an organization (RFC 1918)
	Loopback      Scope = "loopback"      // within a host (RFC 1122 section 3.2.1.3)
	LinkLocal     Scope = "link_local"    // within a link (RFC 3927)
	CGNAT         Scope = "cgnat"         // between a provider and its customers (RFC 6598)
	Multicast     Scope = "multicast"     // groups of hosts (RFC 5771)
	Reserved      Scope = "reserved"      // set aside for protocols, tests or the future
	Documentation Scope = "documentation" // examples (RFC 5737)
)

// Values lists the scopes.
func (Scope) Values() []string {
	return []string{string(Public), string(Private), string(Loopback), string(LinkLocal), string(CGNAT),
		string(Multicast), string(Reserved), string(Documentation)}
}

// special lists what is not public, and the public parts of it before the whole: the registry of
// special-purpose IPv4 addresses (RFC 6890, iana.org/assignments/iana-ipv4-special-registry, as of
// November 2026), with the multicast space and its part for examples.
var special = []struct {
	prefix netip.Prefix
	scope  Scope
}{
	{netip.MustParsePrefix("0.0.0.0/8"), Reserved}, // this network, RFC 791 section 3.2
	{netip.MustParsePrefix("10.0.0.0/8"), Private},
	{netip.MustParsePrefix("100.64.0.0/10"), CGNAT},
	{netip.MustParsePrefix("127.0.0.0/8"), Loopback},
	{netip.MustParsePrefix("169.254.0.0/16"), LinkLocal},
	{netip.MustParsePrefix("172.16.0.0/12"), Private},
	{netip.MustParsePrefix("192.0.0.9/32"), Public},   // port control anycast, RFC 7723
	{netip.MustParsePrefix("192.0.0.10/32"), Public},  // TURN anycast, RFC 8155
	{netip.MustParsePrefix("192.0.0.0/24"), Reserved}, // protocol assignments, RFC 6890
	{netip.MustParsePrefix("192.0.2.0/24"), Documentation},
	{netip.MustParsePrefix("192.88.99.0/24"), Reserved}, // 6to4 relays of the past, RFC 7526
	{netip.MustParsePrefix("192.168.0.0/16"), Private},
	{netip.MustParsePrefix("198.18.0.0/15"), Reserved}, // benchmarks, RFC 2544
	{netip.MustParsePrefix("198.51.100.0/24"), Documentation},
	{netip.MustParsePrefix("203.0.113.0/24"), Documentation},
	{netip.MustParsePrefix("233.252.0.0/24"), Documentation}, // multicast in examples, RFC 6676
	{netip.MustParsePrefix("224.0.0.0/4"), Multicast},
	{netip.MustParsePrefix("240.0.0.0/4"), Reserved}, // RFC 1112 section 4
}

// scopeOf returns what an IPv4 address is for.
func scopeOf(ip netip.Addr) Scope {
	for _, s := range special {
		if s.prefix.Contains(ip) {
			return s.scope
		}
	}
	return Public
}
