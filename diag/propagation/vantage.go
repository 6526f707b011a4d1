package propagation

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/resolver"
)

// A Vantage is a public resolver, and how to query it.
type Vantage struct {
	ID       string `json:"id"`       // short, permanent: lower-case letters, digits, hyphens
	Name     string `json:"name"`     // for people
	Operator string `json:"operator"` // its operator
	Country  string `json:"country"`  // country of the operator (ISO 3166-1 alpha-2); may be empty
	// Transport is the query transport: udp, with TCP for truncated replies; tcp, dot or doh.
	Transport resolver.Transport `json:"transport"`
	// Addresses are tried in this order, each an IP address or IP:port. For dot and doh, all must have the
	// same port, and they may be empty if TLSName is set, which is then looked up.
	Addresses []string `json:"addresses"`
	// TLSName is the name that the certificate must be valid for, over dot and doh. If empty, it must be
	// valid for the address.
	TLSName string `json:"tls_name,omitempty"`
	// Path is the path of the doh resource. Empty means /dns-query.
	Path string `json:"path,omitempty"`
}

// Bounds of a list of vantages: how many a check can query concurrently without abuse, and the width of a printed
// table.
const (
	maxVantages      = 200
	maxVantagesBytes = 1 << 20
	maxVantageText   = 100
	maxVantageAddrs  = 8
)

// ParseVantages parses a list of vantages in JSON, such as the file vantages.json that replaces the built-in
// list. It reads what json.Marshal writes for a []Vantage. The error names the invalid vantage.
func ParseVantages(data []byte) ([]Vantage, error) {
	if len(data) > maxVantagesBytes {
		return nil, fmt.Errorf("vantages: more than %d bytes", maxVantagesBytes)
	}
	var list []Vantage
	if err := diag.DecodeList(data, &list, true); err != nil {
		return nil, fmt.Errorf("vantages: %w", err)
	}
	if len(list) == 0 || len(list) > maxVantages {
		return nil, fmt.Errorf("vantages: there must be 1 to %d, not %d", maxVantages, len(list))
	}
	seen := map[string]bool{}
	for i, v := range list {
		err := v.check()
		if err == nil && seen[v.ID] {
			err = errors.New("the id appears twice")
		}
		if err != nil {
			return nil, fmt.Errorf("vantages: number %d (%.40q): %w", i+1, v.ID, err)
		}
		seen[v.ID] = true
	}
	return list, nil
}

func (v Vantage) check() error {
	switch {
	case v.ID == "" || len(v.ID) > 40 || strings.Trim(v.ID, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
		return errors.New("the id must be 1 to 40 lower-case letters, digits and hyphens")
	case v.Name == "" || len(v.Name) > maxVantageText || len(v.Operator) > maxVantageText:
		return fmt.Errorf("the name and the operator must have at most %d bytes, and the name must be there", maxVantageText)
	case v.Country != "" && (len(v.Country) != 2 || strings.Trim(v.Country, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != ""):
		return errors.New("the country must be two capital letters (ISO 3166-1 alpha-2)")
	}
	_, err := v.servers()
	return err
}

// servers returns where to ask: a server for each address over UDP and TCP, one in all over TLS and HTTPS.
func (v Vantage) servers() ([]resolver.Server, error) {
	if len(v.Addresses) > maxVantageAddrs {
		return nil, fmt.Errorf("there may be at most %d addresses", maxVantageAddrs)
	}
	plain := v.Transport == resolver.UDP || v.Transport == resolver.TCP
	if plain && (len(v.Addresses) == 0 || v.TLSName != "" || v.Path != "") {
		return nil, fmt.Errorf("over %s there must be addresses, and no tls_name or path", v.Transport)
	}
	one := resolver.Server{Transport: v.Transport, Name: v.TLSName, Path: v.Path}
	var list []resolver.Server
	for i, text := range v.Addresses {
		addr, err := parseAddr(text)
		if err != nil {
			return nil, err
		}
		if plain {
			list = append(list, resolver.Server{
				Transport: v.Transport, Addrs: []netip.Addr{addr.Addr()}, Port: addr.Port(),
			})
			continue
		}
		if i > 0 && one.Port != addr.Port() {
			return nil, fmt.Errorf("over %s all addresses must have the same port", v.Transport)
		}
		one.Addrs, one.Port = append(one.Addrs, addr.Addr()), addr.Port()
	}
	if !plain {
		list = []resolver.Server{one}
	}
	for i, server := range list {
		checked, err := resolver.ParseServer(server.String()) // knows all the rules
		if err != nil || v.Transport == "" {
			return nil, fmt.Errorf("the transport, an address, the tls_name or the path is none: %w", err)
		}
		list[i] = checked
	}
	return list, nil
}

// parseAddr reads an IP address with or without a port, which is 0 then.
func parseAddr(text string) (netip.AddrPort, error) {
	if ip, err := netip.ParseAddr(text); err == nil && ip.Zone() == "" {
		return netip.AddrPortFrom(ip.Unmap(), 0), nil
	}
	addr, err := netip.ParseAddrPort(text)
	if err != nil || addr.Port() == 0 || addr.Addr().Zone() != "" {
		return netip.AddrPort{}, fmt.Errorf("%.60q is neither an IP address nor one with a port", text)
	}
	return netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port()), nil
}

// Vantages returns the built-in list of public resolvers. If an operator has several services, the list has
// the one that filters least. The addresses are facts that the operators publish; they were taken from the
// list of providers of AdGuard's knowledge base as of 2026-07-21 and the list of public resolvers of the
// DNSCrypt project as of 2026-07-24, those of the first four from [resolver.Public]. Resolvers are asked over
// UDP if they offer it, as most clients do, otherwise over TLS or HTTPS.
func Vantages() []Vantage {
	list := []Vantage{public("google", "Google", "US"), public("cloudflare", "Cloudflare", "US"),
		public("quad9", "Quad9 Foundation", "CH"), public("opendns", "Cisco", "US")}
	const udp, dot, doh = resolver.UDP, resolver.DoT, resolver.DoH
	add := func(id, name, operator, country string, t resolver.Transport, tlsName string, addresses ...string) {
		list = append(list, Vantage{
			ID: id, Name: name, Operator: operator, Country: country, Transport: t, TLSName: tlsName, Addresses: addresses,
		})
	}
	// North America
	add("controld", "Control D", "Control D", "CA", udp, "", "76.76.2.0", "76.76.10.0", "2606:1a40::", "2606:1a40:1::")
	add("cira", "CIRA Canadian Shield", "Canadian Internet Registration Authority", "CA", udp, "",
		"149.112.121.10", "149.112.122.10", "2620:10a:80bb::10", "2620:10a:80bc::10")
	add("hurricane", "Hurricane Electric", "Hurricane Electric", "US", udp, "", "74.82.42.42", "2001:470:20::2")
	add("ultradns", "UltraDNS Public", "Vercara", "US", udp, "",
		"156.154.70.1", "156.154.71.1", "2610:a1:1018::1", "2610:a1:1019::1")
	add("cleanbrowsing", "CleanBrowsing Security Filter", "CleanBrowsing", "US", udp, "",
		"185.228.168.9", "185.228.169.9", "2a0d:2a00:1::2", "2a0d:2a00:2::2")
	add("comodo", "Comodo Secure DNS", "Comodo", "US", udp, "", "8.26.56.26", "8.20.247.20")
	add("nextdns", "NextDNS", "NextDNS", "US", doh, "anycast.dns.nextdns.io", "45.90.30.0", "2a07:a8c0::")
	add("wikimedia", "Wikimedia DNS", "Wikimedia Foundation", "US", dot, "wikimedia-dns.org",
		"185.71.138.138", "2001:67c:930::1")
	// Europe
	add("dns4eu", "DNS4EU Unfiltered", "Whalebone", "CZ", udp, "",
		"86.54.11.100", "86.54.11.200", "2a13:1001::86:54:11:100")
	add("cznic", "CZ.NIC ODVR", "CZ.NIC", "CZ", udp, "",
		"193.17.47.1", "185.43.135.1", "2001:148f:ffff::1", "2001:148f:fffe::1")
	add("adguard", "AdGuard DNS Non-filtering", "AdGuard", "CY", udp, "",
		"94.140.14.140", "94.140.14.141", "2a10:50c0::1:ff", "2a10:50c0::2:ff")
	add("dnssb", "DNS.SB", "xTom", "DE", udp, "", "185.222.222.222", "45.11.45.11", "2a09::", "2a11::")
	add("ffmuc", "Freifunk München", "Freifunk München", "DE", dot, "dot.ffmuc.net",
		"5.1.66.255", "185.150.99.255", "2001:678:e68:f000::", "2001:678:ed0:f000::")
	add("surfshark", "Surfshark DNS", "Surfshark", "NL", udp, "", "194.169.169.169", "2a09:a707:169::")
	add("dns4all", "DNS4all", "SIDN Labs", "NL", doh, "doh.dns4all.eu", "194.0.5.3", "2001:678:8::3")
	add("switch", "SWITCH DNS", "SWITCH", "CH", dot, "dns.switch.ch", "130.59.31.248", "2001:620:0:ff::2")
	add("digiges", "Digitale Gesellschaft DNS", "Digitale Gesellschaft", "CH", dot, "dns.digitale-gesellschaft.ch",
		"185.95.218.43", "185.95.218.42", "2a05:fc84::43", "2a05:fc84::42")
	add("mullvad", "Mullvad DNS", "Mullvad", "SE", doh, "dns.mullvad.net", "194.242.2.2", "2a07:e340::2")
	add("uncensored", "UncensoredDNS", "UncensoredDNS", "DK", dot, "anycast.uncensoreddns.org",
		"91.239.100.100", "2001:67c:28a4::")
	add("restena", "Restena Public DNS", "Fondation Restena", "LU", doh, "dnspub.restena.lu",
		"158.64.1.29", "2001:a18:1::29")
	add("aaisp", "Andrews & Arnold DNS", "Andrews & Arnold", "GB", doh, "dns.aa.net.uk",
		"217.169.20.22", "217.169.20.23", "2001:8b0::2022", "2001:8b0::2023")
	add("fdn", "FDN", "French Data Network", "FR", doh, "ns1.fdn.fr", "80.67.169.40", "2001:910:800::40")
	add("libredns", "LibreDNS", "LibreOps", "GR", dot, "dot.libredns.gr", "116.202.176.26")
	add("yandex", "Yandex DNS Basic", "Yandex", "RU", udp, "",
		"77.88.8.8", "77.88.8.1", "2a02:6b8::feed:ff", "2a02:6b8:0:1::feed:ff")
	// Asia
	add("quad101", "Quad101", "Taiwan Network Information Center", "TW", udp, "",
		"101.101.101.101", "101.102.103.104", "2001:de4::101", "2001:de4::102")
	add("iij", "IIJ Public DNS", "Internet Initiative Japan", "JP", dot, "public.dns.iij.jp", "103.2.57.5")
	add("alidns", "AliDNS", "Alibaba Cloud", "CN", udp, "", "223.5.5.5", "223.6.6.6", "2400:3200::1", "2400:3200:baba::1")
	add("dnspod", "DNSPod Public DNS", "Tencent", "CN", udp, "", "119.29.29.29", "2402:4e00::")
	add("114dns", "114DNS", "Nanjing XinFeng", "CN", udp, "", "114.114.114.114", "114.114.115.115")
	add("onedns", "OneDNS Pure Edition", "ThreatBook", "CN", udp, "",
		"117.50.10.10", "52.80.52.52", "2400:7fc0:849e:200::8", "2404:c2c0:85d8:901::8")
	add("bytedance", "ByteDance Public DNS", "ByteDance", "CN", udp, "", "180.184.1.1", "180.184.2.2")
	return list
}

// public makes a vantage of a resolver that is known elsewhere too.
func public(id, operator, country string) Vantage {
	known := resolver.Public()
	p := known[slices.IndexFunc(known, func(p resolver.PublicResolver) bool { return p.ID == id })]
	return Vantage{
		ID: id, Name: p.Name, Operator: operator, Country: country, Transport: resolver.UDP,
		Addresses: kit.Map(slices.Concat(p.IPv4, p.IPv6), netip.Addr.String),
	}
}
