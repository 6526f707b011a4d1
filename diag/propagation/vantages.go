package propagation

import "github.com/diagkit/diagkit/diag/resolver"

// Vantages lists the public resolvers that are asked if no others are given. Of operators with several services it is
// the one that filters least. The addresses are facts that the operators publish; they were taken from the list of
// providers of AdGuard's knowledge base as of 2026-07-21 and the list of public resolvers of the DNSCrypt project as of
// 2026-07-24, those of the first four from [resolver.Public]. All are asked over UDP that offer it, since that is how
// most of the world asks them; the others over TLS or HTTPS.
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
	for _, p := range resolver.Public() {
		if p.ID != id {
			continue
		}
		v := Vantage{ID: id, Name: p.Name, Operator: operator, Country: country, Transport: resolver.UDP}
		for _, server := range p.Servers(resolver.UDP) {
			v.Addresses = append(v.Addresses, server.Addrs[0].String())
		}
		return v
	}
	return Vantage{ID: id, Name: id}
}
