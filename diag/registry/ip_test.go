package registry

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// network is ARIN's answer for a network. No documentation address is public, so it is a well-known one.
const network = `{
	"objectClassName": "ip network", "handle": "NET-8-8-8-0-2", "name": "EXAMPLE", "type": "DIRECT ALLOCATION",
	"startAddress": "8.8.8.0", "endAddress": "8.8.8.255", "ipVersion": "v4", "parentHandle": "NET-8-0-0-0-0",
	"cidr0_cidrs": [{"v4prefix": "8.8.8.0", "length": 24}], "arin_originas0_originautnums": [64500],
	"status": ["active"],
	"events": [{"eventAction": "last changed", "eventDate": "2023-12-28T17:24:56-05:00"},
		{"eventAction": "registration", "eventDate": "2023-12-28T17:24:33-05:00"}],
	"entities": [{"objectClassName": "entity", "handle": "EXAMPLE", "roles": ["registrant"],
		"vcardArray": ["vcard", [["version", {}, "text", "4.0"], ["fn", {}, "text", "Example LLC"],
			["adr", {"label": "1 Example Street\nExample City\nUnited States"}, "text", ["", "", "", "", "", "", ""]],
			["kind", {}, "text", "org"]]],
		"entities": [
			{"objectClassName": "entity", "handle": "ABUSE-1", "roles": ["abuse"],
				"vcardArray": ["vcard", [["fn", {}, "text", "Abuse"], ["email", {}, "text", "abuse@example.com"],
					["tel", {"type": ["work", "voice"]}, "text", "+1-555-555-0100"],
					["tel", {"type": ["work", "fax"]}, "text", "+1-555-555-0101"]]]},
			{"objectClassName": "entity", "handle": "ADMIN-1", "roles": ["technical", "administrative"],
				"remarks": [{"title": "REDACTED FOR PRIVACY"}],
				"vcardArray": ["vcard", [["fn", {}, "text", "Example Operations"]]]}]}]}`

const system = `{"objectClassName": "autnum", "handle": "AS64500", "startAutnum": 64500, "endAutnum": 64500,
	"name": "EXAMPLE-AS"}`

const arin = "rdap.arin.net"

var ipRequest = IPRequest{IP: diag.MustIP("8.8.8.8")}

// answering is a world in which ARIN answers over RDAP. The made-up autonomous system is one of RIPE.
func answering(answer string) func(*diagtest.World) {
	return func(w *diagtest.World) {
		w.RDAP(arin, map[string]string{"/registry/ip/8.8.8.8": answer, "/registry/autnum/64500": system})
	}
}

// systems of documentation (RFC 5398) belong to no registry, so the tests have a list of their own.
func client(t *testing.T) *Client {
	b, err := ParseBootstrap([]byte(`{"asn": {"services": [[["64496-64511"], ["https://rdap.arin.net/registry/"]]]}}`))
	require.NoError(t, err)
	return &Client{Bootstrap: b}
}

const whoisNetwork = `
# comment

NetRange:       8.0.0.0 - 8.127.255.255
CIDR:           8.0.0.0/9
NetName:        PARENT
NetHandle:      NET-8-0-0-0-1
NetType:        Direct Allocation
Organization:   Parent (PARENT)

NetRange:       8.8.8.0 - 8.8.8.255
CIDR:           8.8.8.0/24
NetName:        EXAMPLE
NetHandle:      NET-8-8-8-0-2
Parent:         NET8 (NET-8-0-0-0-0)
NetType:        Direct Allocation
OriginAS:       AS64500
Organization:   Example LLC (EXAMPLE)
RegDate:        2023-12-28
Updated:        2023-12-28

OrgName:        Example LLC
OrgId:          EXAMPLE
Country:        US

OrgAbuseHandle: ABUSE-1
OrgAbuseName:   Abuse
OrgAbusePhone:  +1-555-555-0100
OrgAbuseEmail:  abuse@example.com

OrgTechHandle: TECH-1
OrgTechName:   Tech
OrgTechEmail:  tech@example.com
`

// whoisOnly is a world in which ARIN answers over WHOIS only.
func whoisOnly(text string) func(*diagtest.World) {
	return func(w *diagtest.World) {
		w.Whois("whois.arin.net", map[string]string{"n + 8.8.8.8": text})
		w.Behave(arin+":443", diagtest.Refuses)
	}
}

// as112 is a world in which ARIN answers about an address of AS112.
func as112(answer string) func(*diagtest.World) {
	return func(w *diagtest.World) {
		w.RDAP(arin, map[string]string{"/registry/ip/192.175.48.1": strings.NewReplacer("8.8.8.0", "192.175.48.0",
			"8.8.8.255", "192.175.48.255").Replace(answer), "/registry/autnum/64500": system})
	}
}

func TestLookupIP(t *testing.T) {
	change := func(old, replacement string) func(*diagtest.World) {
		return answering(strings.Replace(network, old, replacement, 1))
	}
	tests := []struct {
		name  string
		ip    string
		setup func(*diagtest.World)
		want  string // source, registry, and codes of the findings
	}{
		{"exemplary", "8.8.8.8", answering(network), "rdap arin"},
		{"no abuse contact", "8.8.8.8", change(`["abuse"]`, `["noc"]`), "rdap arin ipwhois.abuse.missing"},
		{"bad parts", "8.8.8.8", change(`["fn", {}, "text", "Abuse"]`, `7`), "rdap arin"},
		{"nobody's", "8.8.8.8", answering(`{"errorCode": 404}`), "rdap arin ipwhois.network.missing"},
		{"other addresses", "8.8.8.8", change(`"startAddress": "8.8.8.0"`, `"startAddress": "8.8.8.9"`),
			"error"},
		{"a domain", "8.8.8.8", change(`ip network`, `domain`), "error"},
		{"too many questions", "8.8.8.8", answering(`{"errorCode": 429}`), "error"},
		{"moved", "8.8.8.8", func(w *diagtest.World) {
			w.RDAP(arin, map[string]string{"/registry/ip/8.8.8.8": "https://rdap.db.ripe.net/ip/8.8.8.8"})
			w.RDAP("rdap.db.ripe.net", map[string]string{"/ip/8.8.8.8": network})
		}, "rdap ripe"},
		{"private", "10.1.2.3", func(*diagtest.World) {}, "none none ipwhois.address.special"},
		{"nobody answers", "8.8.8.8", func(*diagtest.World) {}, "error"},
		{"AS112", "192.175.48.1", as112(network), "rdap arin ipwhois.address.service"},
		{"AS112 without a holder", "192.175.48.1", as112(`{"errorCode": 404}`), "rdap arin ipwhois.address.special"},
		{"AS112, too many questions", "192.175.48.1", as112(`{"errorCode": 429}`),
			"none arin ipwhois.registry.unreadable ipwhois.address.service"},
		{"AS112, nobody answers", "2620:4f:8000::1", func(*diagtest.World) {},
			"none arin ipwhois.registry.unreadable ipwhois.address.service"},
		{"reached from anywhere, of no registry", "2001:4:112::1", func(*diagtest.World) {}, "none none ipwhois.address.special"},

		{"WHOIS", "8.8.8.8", whoisOnly(whoisNetwork), "whois arin"},
		{"WHOIS: nobody's", "8.8.8.8", whoisOnly("# x\n\nNo match found for n + 8.8.8.8\n"),
			"whois arin ipwhois.network.missing"},
		{"WHOIS: too many questions", "8.8.8.8", whoisOnly("%ERROR:201: access denied for 192.0.2.1\n"),
			"error"},
		{"WHOIS: referred", "8.8.8.8", func(w *diagtest.World) {
			whoisOnly(whoisNetwork + "ReferralServer: whois://whois.ripe.net:43\n")(w)
			w.Whois("whois.ripe.net", map[string]string{"-B 8.8.8.8": rpsl})
		}, "whois ripe"},
		{"WHOIS: referred to who does not know", "8.8.8.8", func(w *diagtest.World) {
			whoisOnly(whoisNetwork + "ReferralServer: whois://whois.ripe.net\n")(w)
			w.Whois("whois.ripe.net", map[string]string{"": "%ERROR:101: no entries found\n"})
		}, "whois ripe ipwhois.network.missing"},
		{"WHOIS: referred to a silent registry", "8.8.8.8",
			whoisOnly(whoisNetwork + "ReferralServer: whois://whois.ripe.net\n"), "none arin ipwhois.registry.unreadable"},
		{"WHOIS: referred to a silent provider", "8.8.8.8",
			whoisOnly(whoisNetwork + "ReferralServer: whois://whois.example.net\n"),
			"whois arin"},
	}
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			tt.setup(w)
			e, err := client(t).fetchIP(t.Context(), w.Env(), diag.MustIP(tt.ip))
			if tt.want == "error" {
				require.ErrorIs(t, err, diag.ErrUnavailable)
				return
			}
			require.NoError(t, err)
			codes := seen.Add(ipRules.Judge(e, ipTexts))
			got := strings.TrimSpace(fmt.Sprintln(e.source, e.registry, strings.Trim(fmt.Sprint(codes), "[]")))
			require.Equal(t, tt.want, got, "%+v", e.report(false, e.now).Findings)
		})
	}
	diagtest.CoverRules(t, ipRules, seen)
	diagtest.CheckTexts(t, ipTexts, ipRules.Describe(), seen)
	require.NoError(t, ipRules.Check())
	require.Equal(t, ipRules.Describe(), (*IPReport)(nil).Rules())
}

const rpsl = `% This is a comment.

% Abuse contact for '8.8.8.0 - 8.8.8.255' is 'abuse@example.net'

inetnum:        8.8.8.0 - 8.8.8.255
netname:        EXAMPLE-NET
country:        NL
org:            ORG-EX1-RIPE
admin-c:        AD1-RIPE
tech-c:         EX2-RIPE
status:         ASSIGNED PA
created:        2003-03-17T12:15:57Z
last-modified:  2017-12-04T14:42:31Z
source:         RIPE

organisation:   ORG-EX1-RIPE
org-name:       Example Network
country:        NL

role:           Example Operations
nic-hdl:        EX2-RIPE
phone:          +31 20 555 0100
e-mail:         ops@example.net
abuse-mailbox:  abuse@example.net

person:         Ad Min
nic-hdl:        AD1-RIPE
e-mail:         REDACTED

route:          8.0.0.0/9
origin:         AS64500

route:          8.8.8.0/24
origin:         AS64501
`

func TestIPReport(t *testing.T) {
	w := diagtest.NewWorld(t)
	answering(network)(w)
	r, err := client(t).LookupIP(t.Context(), w.Env(), IPRequest{IP: ipRequest.IP, Raw: true})
	require.NoError(t, err)
	require.Equal(t, network, r.Raw)
	r.Raw = ""
	golden(t, "ip.golden", r)
}

func TestIPReportWHOIS(t *testing.T) {
	tests := []struct{ file, text string }{
		{"ip_arin.golden", whoisNetwork},
		{"ip_ripe.golden", rpsl},
		{"ip_lacnic.golden", `
inetnum:     8.8.8.0/24
status:      allocated
aut-num:     AS64500
owner:       Example do Brasil
ownerid:     BR-EXBR-LACNIC
country:     BR
owner-c:     EXM
abuse-c:     EXM
created:     20030317
changed:     20171204

nic-hdl:     EXM
person:      Exemplo
e-mail:      abuse@example.com.br
phone:       +55 11 5550100
`},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			whoisOnly(tt.text)(w)
			r, err := LookupIP(t.Context(), w.Env(), ipRequest)
			require.NoError(t, err)
			golden(t, tt.file, r)
		})
	}
}

// The smallest network counts, and the most specific route, in whatever order they come.
func TestSmallestNetwork(t *testing.T) {
	ip := netip.MustParseAddr("8.8.8.8")
	blocks := []string{
		"inetnum: 8.0.0.0 - 8.127.255.255\nnetname: LARGE\n\n", "inetnum: 8.8.8.0 - 8.8.8.255\nnetname: SMALL\n\n",
		"inetnum: 8.8.9.0 - 8.8.9.255\nnetname: OTHER\n\n", "inetnum: 0.0.0.0 - 255.255.255.255\nnetname: ALL\n\n",
		"route: 8.0.0.0/9\norigin: AS1\n\n", "route: 8.8.8.0/24\norigin: AS2\n\n", "route: 8.8.9.0/24\norigin: AS3\n\n",
	}
	for _, reverse := range []func([]string){func([]string) {}, slices.Reverse[[]string]} {
		reverse(blocks)
		n := readNetwork(strings.Join(blocks, ""), ip)
		require.True(t, n.found)
		require.Equal(t, "SMALL", n.facts.network.Name)
		require.Equal(t, ASN{Number: 2, Route: "8.8.8.0/24"}, n.facts.asn)
	}
	require.False(t, readNetwork("inetnum: 0.0.0.0 - 255.255.255.255\nnetname: ALL\n", ip).found)
}

func TestSpecialAddress(t *testing.T) {
	tests := []struct{ ip, name, rfc, cidr string }{
		{"127.0.0.1", "Loopback", "RFC 1122", "127.0.0.0/8"},
		{"::ffff:127.0.0.1", "Loopback", "RFC 1122", "127.0.0.0/8"},
		{"192.0.2.1", "Documentation (TEST-NET-1)", "RFC 5737", "192.0.2.0/24"},
		{"2001:1::1", "Port Control Protocol Anycast", "RFC 7723", "2001:1::1/128"},
		{"224.0.0.1", "Multicast", "RFC 5771", "224.0.0.0/4"},
		{"255.255.255.255", "Limited Broadcast", "RFC 919", "255.255.255.255/32"},
		{"::1", "Loopback Address", "RFC 4291", "::1/128"},
		{"fe80::1", "Link-Local Unicast", "RFC 4291", "fe80::/10"},
		{"2001:db8::1", "Documentation", "RFC 3849", "2001:db8::/32"},
		{"3fff::1", "Documentation", "RFC 9637", "3fff::/20"},
		{"4000::1", "Reserved by IETF", "RFC 4291", "4000::/2"},
		{"ff02::1", "Multicast", "RFC 4291", "ff00::/8"},
	}
	for _, tt := range tests {
		t.Run(tt.ip, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			r, err := LookupIP(t.Context(), w.Env(), IPRequest{IP: diag.MustIP(tt.ip)})
			require.NoError(t, err)
			require.Equal(t, tt.name, r.Purpose.Name)
			require.Equal(t, tt.rfc, r.Purpose.RFC)
			require.Equal(t, []netip.Prefix{netip.MustParsePrefix(tt.cidr)}, r.Network.CIDRs)
			require.Equal(t, FromNone, r.Source)
			require.Equal(t, NoRegistry, r.Registry)
			require.Empty(t, w.Queries())
			require.Empty(t, w.Connections())
		})
	}
}

// The report has the holder of an AS112 address, and its purpose; without an answer it has no holder.
func TestRegisteredSpecialAddress(t *testing.T) {
	w := diagtest.NewWorld(t)
	as112(network)(w)
	r, err := client(t).LookupIP(t.Context(), w.Env(), IPRequest{IP: diag.MustIP("192.175.48.1")})
	require.NoError(t, err)
	require.Equal(t, "Example LLC", r.Organization.Name)
	require.Equal(t, "Direct Delegation AS112 Service", r.Purpose.Name)
	require.Equal(t, "The holder of the address is known", r.Headline)
	require.Equal(t, "The address belongs to 192.175.48.0/24, which RFC 7534 sets aside for a service: "+
		"Direct Delegation AS112 Service. It is registered to Example LLC.", r.Findings[0].Detail)

	r, err = LookupIP(t.Context(), diagtest.NewWorld(t).Env(), IPRequest{IP: diag.MustIP("192.31.196.1")})
	require.NoError(t, err)
	require.True(t, r.Partial)
	require.Equal(t, "No readable answer from the registry", r.Headline)
	require.Equal(t, "AS112-v4", r.Network.Name)
}

// Without a resolver of our own nothing is learned of such an address either.
func TestRegisteredSpecialAddressWithoutResolver(t *testing.T) {
	env := diagtest.NewWorld(t).NewEnv()
	env.Resolver = deadResolver{}
	_, err := LookupIP(t.Context(), env, IPRequest{IP: diag.MustIP("192.175.48.1")})
	require.ErrorIs(t, err, diag.ErrUnavailable)
}

// The IPv4 address embedded in an IPv6 address can be looked up.
func TestEmbeddedAddress(t *testing.T) {
	for ip, want := range map[string]string{
		"64:ff9b::808:808": "8.8.8.8", "2002:808:808::1": "8.8.8.8", "2001::f7f7:f7f7": "8.8.8.8",
	} {
		r, err := LookupIP(t.Context(), diagtest.NewWorld(t).Env(), IPRequest{IP: diag.MustIP(ip)})
		require.NoError(t, err)
		require.Contains(t, r.Findings[0].Detail, "the IPv4 address "+want)
		require.Contains(t, r.Findings[0].Advice, "Look up "+want)
	}
}

// Addresses that no bootstrap has may be known to IANA, whose own blocks are no answer.
func TestAddressOutsideBootstrap(t *testing.T) {
	b, err := ParseBootstrap([]byte(`{"ipv4": {"services": []}}`))
	require.NoError(t, err)
	w := diagtest.NewWorld(t)
	w.Whois(ianaWhois, map[string]string{"8.8.8.8": "refer: whois.arin.net\n\ninetnum: 8.0.0.0 - 8.255.255.255\n"})
	w.Whois("whois.arin.net", map[string]string{"n + 8.8.8.8": whoisNetwork})
	r, err := (&Client{Bootstrap: b}).LookupIP(t.Context(), w.Env(), ipRequest)
	require.NoError(t, err)
	require.Equal(t, "EXAMPLE", r.Network.Name)
	require.Equal(t, ARIN, r.Registry)
	require.Equal(t, []string{ianaWhois}, r.Referrals)

	w = diagtest.NewWorld(t)
	w.Whois(ianaWhois, map[string]string{"8.8.8.8": "inetnum: 8.0.0.0 - 8.255.255.255\n"})
	r, err = (&Client{Bootstrap: b}).LookupIP(t.Context(), w.Env(), ipRequest)
	require.NoError(t, err)
	require.Equal(t, FromNone, r.Source)
	require.Equal(t, []diag.Code{"ipwhois.registry.unreadable"}, diagtest.CodesOf(r.Findings))
}

func TestPrefixes(t *testing.T) {
	tests := []struct{ start, end, want string }{
		{"192.0.2.0", "192.0.2.255", "[192.0.2.0/24]"},
		{"192.0.2.1", "192.0.2.6", "[192.0.2.1/32 192.0.2.2/31 192.0.2.4/31 192.0.2.6/32]"},
		{"0.0.0.0", "255.255.255.255", "[0.0.0.0/0]"},
		{"255.255.255.254", "255.255.255.255", "[255.255.255.254/31]"},
		{"2001:db8::", "2001:db8:2:ffff:ffff:ffff:ffff:ffff", "[2001:db8::/47 2001:db8:2::/48]"},
		{"192.0.2.2", "192.0.2.1", "[]"},
		{"192.0.2.2", "2001:db8::", "[]"},
	}
	for _, tt := range tests {
		t.Run(tt.start+"-"+tt.end, func(t *testing.T) {
			got := prefixes(netip.MustParseAddr(tt.start), netip.MustParseAddr(tt.end))
			require.Equal(t, tt.want, fmt.Sprint(got))
		})
	}
	end := netip.MustParseAddr("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe")
	require.Len(t, prefixes(netip.MustParseAddr("::1"), end), maxPrefixes)
}
