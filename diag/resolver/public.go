package resolver

import "net/netip"

// A PublicResolver is a resolver that anyone may ask.
type PublicResolver struct {
	ID   string // short, lower case, permanent
	Name string // for people
	IPv4 []netip.Addr
	IPv6 []netip.Addr
	DoT  string // name in the certificate for DNS over TLS
	DoH  string // URL for DNS over HTTPS, as [ParseServer] reads it
}

// Public lists the public resolvers known by name. The addresses and names were compared with lists of resolvers in
// public configuration files in November 2026. The operators announce changes at
// developers.google.com/speed/public-dns, developers.cloudflare.com/1.1.1.1, quad9.net/service and support.opendns.com.
func Public() []PublicResolver {
	return []PublicResolver{
		{
			ID: "google", Name: "Google Public DNS", IPv4: addrs("8.8.8.8", "8.8.4.4"),
			IPv6: addrs("2001:4860:4860::8888", "2001:4860:4860::8844"), DoT: "dns.google",
			DoH: "https://dns.google/dns-query",
		},
		{
			ID: "cloudflare", Name: "Cloudflare 1.1.1.1", IPv4: addrs("1.1.1.1", "1.0.0.1"),
			IPv6: addrs("2606:4700:4700::1111", "2606:4700:4700::1001"), DoT: "one.one.one.one",
			DoH: "https://cloudflare-dns.com/dns-query",
		},
		{
			ID: "quad9", Name: "Quad9", IPv4: addrs("9.9.9.9", "149.112.112.112"),
			IPv6: addrs("2620:fe::fe", "2620:fe::9"), DoT: "dns.quad9.net", DoH: "https://dns.quad9.net/dns-query",
		},
		{
			ID: "opendns", Name: "Cisco OpenDNS", IPv4: addrs("208.67.222.222", "208.67.220.220"),
			IPv6: addrs("2620:119:35::35", "2620:119:53::53"), DoT: "dns.opendns.com",
			DoH: "https://doh.opendns.com/dns-query",
		},
	}
}

// Servers lists the servers of the resolver for one transport: one for each address over UDP and TCP, IPv4 first
// because hosts without IPv6 are the more common ones, or one with all addresses over DoT and DoH.
func (p PublicResolver) Servers(t Transport) []Server {
	all := append(append([]netip.Addr{}, p.IPv4...), p.IPv6...)
	switch t {
	case DoT:
		return []Server{{Transport: DoT, Name: p.DoT, Addrs: all}}
	case DoH:
		s, err := ParseServer(p.DoH)
		if err != nil {
			return nil
		}
		s.Addrs = all
		return []Server{s}
	}
	servers := make([]Server, len(all))
	for i, ip := range all {
		servers[i] = Server{Transport: t, Addrs: []netip.Addr{ip}}
	}
	return servers
}

func addrs(list ...string) []netip.Addr {
	ips := make([]netip.Addr, len(list))
	for i, s := range list {
		ips[i] = netip.MustParseAddr(s)
	}
	return ips
}
