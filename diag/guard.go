package diag

import (
	"fmt"
	"net/netip"
	"slices"
	"syscall"

	"code.dny.dev/ssrf"
)

// A Guard decides which addresses and ports a diagnostic may reach. Its zero value allows public addresses
// only. It refuses every address in IANA's special-purpose registries, even those marked globally reachable;
// multicast; and IPv6 outside 2000::/3 (RFC 4291 section 2.4), which includes IPv4-mapped, NAT64, site-local
// and unique local addresses. Within 2000::/3 it refuses 6to4 and Teredo.
type Guard struct {
	// AllowNetworks may be reached although they are not public. An IPv4 network also allows the IPv4-mapped
	// form of its addresses, but not their NAT64 or 6to4 forms: list those networks too where they are in
	// use. An IPv6 network never allows an IPv4 address.
	AllowNetworks []netip.Prefix
	// DenyNetworks may not be reached even if they are public or in AllowNetworks; list the operator's own,
	// for example.
	DenyNetworks []netip.Prefix
	// AllowPorts may be reached in addition to those of the protocol.
	AllowPorts []uint16
}

// Ports are the ports that a protocol may use.
type Ports []uint16

// The ports of each protocol (CONTRACT 1.9).
var (
	WebPorts   = Ports{80, 443, 8080, 8443}
	SMTPPorts  = Ports{25, 465, 587}
	DNSPorts   = Ports{53, 443, 853}
	WhoisPorts = Ports{43}
)

// cloudAddr is where Azure's platform answers every virtual machine: a public address by its number,
// and an internal service by its use (learn.microsoft.com, "What is IP address 168.63.129.16?").
// The metadata services of other clouds have special-purpose addresses.
var cloudAddr = netip.MustParseAddr("168.63.129.16")

// The reasons of a BlockedError. They tell nothing but what follows from the caller's own input: in
// particular not which network refused, or whether anything listens there.
const (
	portRefused    = "the port is not allowed"
	addressRefused = "the address is not public"
	nameRefused    = "the name stands for the machine itself" // RFC 6761 section 6.3
)

// A BlockedError means that the guard refused an address. Nothing has been sent to it.
type BlockedError struct {
	Addr   netip.AddrPort // the address part is invalid if the host was not looked up
	Reason string
}

func (e *BlockedError) Error() string {
	if !e.Addr.Addr().IsValid() {
		return fmt.Sprintf("connecting to port %d: %s", e.Addr.Port(), e.Reason)
	}
	return fmt.Sprintf("connecting to %s: %s", e.Addr, e.Reason)
}

// Check returns a *BlockedError if the address must not be reached.
func (g *Guard) Check(addr netip.AddrPort, ports Ports) error {
	if !g.allowsPort(addr.Port(), ports) {
		return &BlockedError{addr, portRefused}
	}
	if !g.allowsAddr(addr.Addr()) {
		return &BlockedError{addr, addressRefused}
	}
	return nil
}

func (g *Guard) allowsPort(port uint16, ports Ports) bool {
	return port != 0 && (slices.Contains(ports, port) || slices.Contains(g.AllowPorts, port))
}

func (g *Guard) allowsAddr(ip netip.Addr) bool {
	if !ip.IsValid() || ip.Zone() != "" { // a zone means a link of this machine (RFC 4007 section 6)
		return false
	}
	switch plain := ip.Unmap(); {
	case contains(g.DenyNetworks, plain):
		return false
	case contains(g.AllowNetworks, plain):
		return true
	default:
		return public(ip)
	}
}

// Public reports whether an address is public as the zero [Guard] defines it, or in AllowNetworks of the
// environment's Guard. Unlike [Guard.Check], it ignores DenyNetworks.
func (e *Env) Public(ip netip.Addr) bool {
	return ip.IsValid() && ip.Zone() == "" && (public(ip) || contains(e.orReal().Guard.AllowNetworks, ip.Unmap()))
}

// contains reports whether one of the networks has the address, which is not an IPv4-mapped one.
// Networks may be written in the IPv4-mapped form.
func contains(networks []netip.Prefix, ip netip.Addr) bool {
	for _, p := range networks {
		if p.Addr().Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// public reports whether an address is one of the public Internet. That is never so in the mapped
// spelling of IPv4, which has no business on the wire (RFC 4291 section 2.5.5.2, CONTRACT 1.9). The
// lists are generated from IANA's registries; a test holds them against the registries themselves.
func public(ip netip.Addr) bool {
	if ip.Is4() {
		return ip != cloudAddr && !contains(ssrf.IPv4DeniedPrefixes, ip)
	}
	return ssrf.IPv6GlobalUnicast.Contains(ip) && !contains(ssrf.IPv6DeniedPrefixes, ip)
}

// control is the guard as the hook that [net.Dialer] calls with the very address it is about to connect to.
func (g *Guard) control(ports Ports) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		addr, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("connecting: %w", err)
		}
		return g.Check(addr, ports)
	}
}
