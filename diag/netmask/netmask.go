package netmask

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
	"net/netip"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
)

// A Request asks about an address in a network.
type Request struct {
	// IP is an IPv4 address, alone or followed by a slash and a mask: "192.0.2.1", "192.0.2.1/24",
	// "192.0.2.1/255.255.255.0".
	IP      string `json:"ip" maxlen:"100" doc:"IPv4 address, IPv4/prefix length or IPv4/mask" example:"192.0.2.77/26"`
	Netmask Mask   `json:"netmask,omitempty" doc:"prefix length, dotted mask or wildcard mask; required when ip has none, forbidden when it has"`
}

// A Mask is a network mask in one of three forms: a prefix length from 0 to 32, in decimal digits; a netmask,
// such as 255.255.255.0; or a wildcard mask, such as 0.0.0.255. In JSON, a prefix length may be a number. The
// ambiguous 0.0.0.0 and 255.255.255.255 are read as netmasks: /0 and /32. The empty Mask means that none is
// given.
type Mask string

// maxMask bounds the text of a mask: four octets of three digits and three dots.
const maxMask = 15

// UnmarshalJSON accepts a string or an integer.
func (m *Mask) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		*m = Mask(s)
		return nil
	}
	if _, err := strconv.ParseUint(string(data), 10, 8); err != nil {
		return input.Invalid("netmask", "must be a string or an integer from 0 to 32")
	}
	*m = Mask(data)
	return nil
}

// Schema returns the JSON Schema of the type.
func (Mask) Schema() map[string]any {
	return map[string]any{"anyOf": []any{
		map[string]any{"type": "integer", "minimum": 0, "maximum": 32},
		map[string]any{"type": "string", "maxLength": maxMask, "pattern": `^[0-9]{1,2}$|^[0-9]{1,3}(\.[0-9]{1,3}){3}$`},
	}}
}

// A Report is the result for an address and a mask.
type Report struct {
	IP                 netip.Addr  `json:"ip" doc:"the address"`
	CIDR               string      `json:"cidr" doc:"the network with its prefix length"`
	PrefixLength       int         `json:"prefix_length" min:"0" max:"32" doc:"number of bits that the addresses have in common"`
	Netmask            netip.Addr  `json:"netmask" doc:"the mask, with ones for the common bits"`
	Wildcard           netip.Addr  `json:"wildcard" doc:"the mask, with zeros for the common bits"`
	Network            netip.Addr  `json:"network" doc:"first address of the network"`
	Broadcast          *netip.Addr `json:"broadcast" doc:"address of all hosts; null for /31 and /32, which have none"`
	FirstHost          netip.Addr  `json:"first_host" doc:"first address for a host"`
	LastHost           netip.Addr  `json:"last_host" doc:"last address for a host"`
	AddressCount       uint64      `json:"address_count" min:"1" max:"4294967296" doc:"number of addresses"`
	UsableHostCount    uint64      `json:"usable_host_count" min:"1" max:"4294967294" doc:"number of addresses for hosts"`
	Class              Class       `json:"class" doc:"historic class of the address"`
	Scope              Scope       `json:"scope" doc:"what the address is for"`
	IsNetworkAddress   bool        `json:"is_network_address" doc:"whether the address names the network"`
	IsBroadcastAddress bool        `json:"is_broadcast_address" doc:"whether the address reaches all hosts"`
	Decimal            Decimal     `json:"decimal" doc:"addresses as numbers"`
	Binary             Binary      `json:"binary" doc:"addresses in bits, a dot between the octets"`
	Hex                Hex         `json:"hex" doc:"addresses in hexadecimal digits"`
	ReverseZones       []string    `json:"reverse_zones" doc:"zones of the DNS that hold the host names of the addresses"`
}

// Decimal holds addresses as numbers.
type Decimal struct {
	IP        uint32  `json:"ip" doc:"the address"`
	Network   uint32  `json:"network" doc:"first address of the network"`
	Broadcast *uint32 `json:"broadcast" doc:"address of all hosts; null for /31 and /32"`
}

// Binary holds addresses in bits.
type Binary struct {
	IP      string `json:"ip" doc:"the address"`
	Netmask string `json:"netmask" doc:"the mask"`
	Network string `json:"network" doc:"first address of the network"`
}

// Hex holds addresses in hexadecimal digits.
type Hex struct {
	IP      string `json:"ip" doc:"the address"`
	Netmask string `json:"netmask" doc:"the mask"`
}

// Compute computes the report for an address and a mask. The error is a *diag.InputError.
func Compute(req Request) (*Report, error) {
	ip, prefix, err := req.parse()
	if err != nil {
		return nil, err
	}
	mask := ^uint32(0) << (32 - prefix)
	network, last := ip&mask, ip|^mask
	r := &Report{
		IP: addr(ip), CIDR: netip.PrefixFrom(addr(network), prefix).String(), PrefixLength: prefix, Netmask: addr(mask),
		Wildcard: addr(^mask), Network: addr(network), FirstHost: addr(network), LastHost: addr(last),
		AddressCount: 1 << (32 - prefix), UsableHostCount: 1 << (32 - prefix), Class: classOf(ip),
		Scope: scopeOf(addr(ip)), Decimal: Decimal{IP: ip, Network: network},
		Binary: Binary{dottedBits(ip), dottedBits(mask), dottedBits(network)},
		Hex:    Hex{fmt.Sprintf("%08X", ip), fmt.Sprintf("%08X", mask)}, ReverseZones: reverseZones(network, prefix),
	}
	if prefix < 31 { // RFC 3021 section 2.1
		r.FirstHost, r.LastHost = addr(network+1), addr(last-1)
		r.UsableHostCount -= 2
		r.Broadcast, r.Decimal.Broadcast = new(addr(last)), &last
		r.IsNetworkAddress, r.IsBroadcastAddress = ip == network, ip == last
	}
	return r, nil
}

func (req Request) parse() (ip uint32, prefix int, err error) {
	text, mask, found := strings.Cut(req.IP, "/")
	if ip, err = parseIPv4("ip", text); err != nil {
		return 0, 0, err
	}
	field := "ip"
	switch {
	case found && req.Netmask != "":
		return 0, 0, input.Invalid("netmask", "must not be given: ip already has a mask")
	case !found && req.Netmask == "":
		return 0, 0, input.Invalid("netmask", "is required: give it here, or in ip as 192.0.2.1/24")
	case !found:
		field, mask = "netmask", string(req.Netmask)
	}
	prefix, err = parseMask(field, mask)
	return ip, prefix, err
}

// parseIPv4 reads four octets in decimal. Leading zeros are refused: some programs take such a number for an octal one.
func parseIPv4(field, s string) (uint32, error) {
	ip, err := netip.ParseAddr(s)
	if err != nil {
		return 0, input.Invalid(field, "%.60q is not an IPv4 address", s)
	}
	if !ip.Is4() {
		return 0, input.Invalid(field, "%.60q is an IPv6 address: give an IPv4 address", s)
	}
	b := ip.As4()
	return binary.BigEndian.Uint32(b[:]), nil
}

func parseMask(field, s string) (int, error) {
	if len(s) > maxMask {
		return 0, input.Invalid(field, "the mask %.60q is too long", s)
	}
	if !strings.Contains(s, ".") {
		n, err := strconv.ParseUint(s, 10, 8)
		if err != nil || n > 32 || strconv.Itoa(int(n)) != s {
			return 0, input.Invalid(field, "the prefix length %q is not a number from 0 to 32", s)
		}
		return int(n), nil
	}
	mask, err := parseIPv4(field, s)
	if err != nil {
		return 0, input.Invalid(field, "the mask %q is neither a number nor of the form 255.255.255.0", s)
	}
	if wildcard := mask>>31 == 0 && mask != 0; wildcard {
		mask = ^mask
	}
	ones := bits.LeadingZeros32(^mask)
	if mask<<ones != 0 {
		return 0, input.Invalid(field, "the mask %q is not contiguous: its ones must all be together at one end", s)
	}
	return ones, nil
}

func addr(ip uint32) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(ip >> 24), byte(ip >> 16), byte(ip >> 8), byte(ip)})
}

func dottedBits(ip uint32) string {
	b := addr(ip).As4()
	return fmt.Sprintf("%08b.%08b.%08b.%08b", b[0], b[1], b[2], b[3])
}

// reverseZones lists the zones with the host names of a network (RFC 1035 section 3.5). Zones end at
// octets. A network that does not end there has several, 128 at most: a /22 has four of the size of a
// /24. The names of a network that is smaller than a /24 lie in the zone of the /24 around it; how its
// owner may have divided that further (RFC 2317 section 4) is a matter of taste that cannot be computed.
func reverseZones(network uint32, prefix int) []string {
	octets := min((prefix+7)/8, 3)
	count := 1 << max(0, octets*8-prefix)
	zones := make([]string, 0, count)
	for i := range count {
		b := addr(network + uint32(i)<<(32-octets*8)).As4()
		name := "in-addr.arpa"
		for _, octet := range b[:octets] {
			name = strconv.Itoa(int(octet)) + "." + name
		}
		zones = append(zones, name)
	}
	return zones
}

// Class is the historic class of an address (RFC 791 section 3.2, RFC 1112 section 4). Since RFC 4632, it
// does not determine the size of a network.
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
func (Class) Values() []string { return kit.Values(ClassA, ClassB, ClassC, ClassD, ClassE) }

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

// Scope is the purpose of an address.
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
	return kit.Values(Public, Private, Loopback, LinkLocal, CGNAT, Multicast, Reserved, Documentation)
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
