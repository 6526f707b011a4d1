package diag

import (
	"fmt"
	"net/netip"
	"slices"
)

// A Guard says which addresses and ports a diagnostic may reach. Its zero value allows public
// addresses only: everything in the special-purpose registries of IANA is refused.
type Guard struct {
	AllowNetworks []netip.Prefix // may be reached although they are not public
	AllowPorts    []uint16       // may be reached beside those of the protocol
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

// A BlockedError says that the guard refused an address.
type BlockedError struct {
	Addr   netip.AddrPort
	Reason string
}

func (e *BlockedError) Error() string { return fmt.Sprintf("connecting to %s: %s", e.Addr, e.Reason) }

// Check returns a *BlockedError if the address must not be reached.
func (g *Guard) Check(addr netip.AddrPort, ports Ports) error {
	if !slices.Contains(ports, addr.Port()) && !slices.Contains(g.AllowPorts, addr.Port()) {
		return &BlockedError{addr, "the port is not allowed"}
	}
	ip := addr.Addr()
	for _, p := range g.AllowNetworks {
		if p.Contains(ip) || p.Contains(ip.Unmap()) {
			return nil
		}
	}
	if ip := ip.Unmap(); ip.Zone() != "" || !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return &BlockedError{addr, "the address is not public"}
	}
	return nil
}
