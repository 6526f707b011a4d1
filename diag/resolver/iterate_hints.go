package resolver

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// A NameServer is a host that answers for zones, with its addresses as far as they are known.
type NameServer struct {
	Name  string // absolute, in lower case
	Addrs []netip.Addr
}

// RootServers lists the servers of the root zone, where every walk begins. The list is IANA's
// (www.internic.net/domain/named.root) as related to the root zone of 2024041801; the address of
// B changed last, in November 2023.
func RootServers() []NameServer {
	return []NameServer{
		{"a.root-servers.net.", addrs("198.41.0.4", "2001:503:ba3e::2:30")},
		{"b.root-servers.net.", addrs("170.247.170.2", "2801:1b8:10::b")},
		{"c.root-servers.net.", addrs("192.33.4.12", "2001:500:2::c")},
		{"d.root-servers.net.", addrs("199.7.91.13", "2001:500:2d::d")},
		{"e.root-servers.net.", addrs("192.203.230.10", "2001:500:a8::e")},
		{"f.root-servers.net.", addrs("192.5.5.241", "2001:500:2f::f")},
		{"g.root-servers.net.", addrs("192.112.36.4", "2001:500:12::d0d")},
		{"h.root-servers.net.", addrs("198.97.190.53", "2001:500:1::53")},
		{"i.root-servers.net.", addrs("192.36.148.17", "2001:7fe::53")},
		{"j.root-servers.net.", addrs("192.58.128.30", "2001:503:c27::2:30")},
		{"k.root-servers.net.", addrs("193.0.14.129", "2001:7fd::1")},
		{"l.root-servers.net.", addrs("199.7.83.42", "2001:500:9f::42")},
		{"m.root-servers.net.", addrs("202.12.27.33", "2001:dc3::35")},
	}
}

// Bounds of a file of root hints. That of the Internet has 3 KiB and 13 servers.
const (
	maxHintsText = 64 << 10
	maxHints     = 64
)

// ParseHints reads the servers of a root zone in the format of named.root: a master file (RFC 1035
// section 5) with the NS records of the root and the addresses of the hosts that they name. Other
// records are left out. The error tells the line, or what is missing.
func ParseHints(text string) ([]NameServer, error) {
	if len(text) > maxHintsText {
		return nil, fmt.Errorf("root hints: longer than %d bytes", maxHintsText)
	}
	parser := dns.NewZoneParser(strings.NewReader(text+"\n"), ".", "")
	parser.SetDefaultTTL(3600)
	var list []NameServer
	hosts := map[string][]netip.Addr{}
	for rr, ok := parser.Next(); ok; rr, ok = parser.Next() {
		switch ns, isNS := rr.(*dns.NS); {
		case isNS && ns.Hdr.Name == ".":
			list = appendHost(list, ns.Ns, maxHints)
		case len(hosts) <= maxHints:
			if ip := AddressIn(rr); ip.IsValid() {
				host := dns.CanonicalName(rr.Header().Name)
				hosts[host] = appendAddr(hosts[host], ip)
			}
		}
	}
	if err := parser.Err(); err != nil {
		return nil, fmt.Errorf("root hints: %w", err)
	}
	kept := list[:0]
	for _, server := range list {
		if server.Addrs = hosts[server.Name]; len(server.Addrs) > 0 {
			kept = append(kept, server)
		}
	}
	if len(kept) == 0 {
		return nil, errors.New("root hints: there is no NS record of the root whose host has an address")
	}
	return kept, nil
}

// appendHost adds a host to a list unless it is there, is the root, or the list is full.
func appendHost(list []NameServer, name string, limit int) []NameServer {
	name = dns.CanonicalName(name)
	if name == "." || len(list) >= limit || hostIn(list, name) >= 0 {
		return list
	}
	return append(list, NameServer{Name: name})
}

// hostIn returns the index of a host in a list, or -1.
func hostIn(list []NameServer, name string) int {
	for i, server := range list {
		if server.Name == name {
			return i
		}
	}
	return -1
}

// maxHostAddrs bounds the addresses of one name server. Hosts have one of each family, a few have more of each.
const maxHostAddrs = 8

// appendAddr adds an address unless it is there, or there are enough.
func appendAddr(list []netip.Addr, ip netip.Addr) []netip.Addr {
	if len(list) >= maxHostAddrs || slices.Contains(list, ip) {
		return list
	}
	return append(list, ip)
}

// AddressIn returns the address in an A or AAAA record, else an invalid one.
func AddressIn(rr dns.RR) netip.Addr {
	var ip netip.Addr
	switch rr := rr.(type) {
	case *dns.A:
		ip, _ = netip.AddrFromSlice(rr.A.To4())
	case *dns.AAAA:
		ip, _ = netip.AddrFromSlice(rr.AAAA.To16())
	}
	return ip
}
