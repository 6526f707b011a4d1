package propagation

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVantages(t *testing.T) {
	list := Vantages()
	assert.GreaterOrEqual(t, len(list), 24)
	text, err := json.Marshal(list)
	require.NoError(t, err)
	parsed, err := ParseVantages(text)
	require.NoError(t, err)
	assert.Equal(t, list, parsed)

	seen, countries, transports := map[string]string{}, map[string]bool{}, map[resolver.Transport]bool{}
	for _, v := range list {
		servers, err := v.servers()
		require.NoError(t, err, v.ID)
		assert.NotEmpty(t, v.Operator, v.ID)
		assert.NotEmpty(t, v.Country, v.ID)
		countries[v.Country], transports[v.Transport] = true, true
		for _, server := range servers {
			for _, ip := range server.Addrs {
				assert.Empty(t, seen[ip.String()], "%s has the address of another", v.ID)
				seen[ip.String()] = v.ID
				assert.True(t, ip.IsGlobalUnicast() && !ip.IsPrivate(), "%s: %s", v.ID, ip)
			}
		}
	}
	assert.GreaterOrEqual(t, len(countries), 12)
	for _, transport := range []resolver.Transport{resolver.UDP, resolver.DoT, resolver.DoH} {
		assert.True(t, transports[transport], transport)
	}
}

func TestParseVantages(t *testing.T) {
	good := func(more string) string {
		return `[{"id":"a","name":"A","operator":"","country":"","transport":"udp","addresses":["192.0.2.1"]` + more + `}]`
	}
	tests := []struct{ name, text, err string }{
		{"good", good(""), ""},
		{"port", strings.ReplaceAll(good(""), "192.0.2.1", "[2001:db8::1]:5353"), ""},
		{"two", strings.ReplaceAll(good(""), `"192.0.2.1"`, `"192.0.2.1","2001:db8::1"`), ""},
		{"dot by name", `[{"id":"a","name":"A","transport":"dot","tls_name":"dns.example"}]`, ""},
		{"doh", `[{"id":"a","name":"A","transport":"doh","addresses":["192.0.2.1:8443"],
			"tls_name":"dns.example","path":"/p"}]`, ""},
		{"nothing", `[]`, "1 to 200, not 0"},
		{"no list", `{}`, "cannot unmarshal"},
		{"no JSON", `[`, "unexpected EOF"},
		{"two lists", good("") + "[]", "something follows"},
		{"unknown field", good(`,"colour":"red"`), "unknown field"},
		{"too long", strings.Repeat(" ", 1<<20+1), "more than 1048576 bytes"},
		{"too many", "[" + strings.Repeat("{},", 200) + "{}]", "not 201"},
		{"no id", strings.ReplaceAll(good(""), `"a"`, `""`), "the id must be"},
		{"bad id", strings.ReplaceAll(good(""), `"a"`, `"A B"`), "the id must be"},
		{"no name", strings.ReplaceAll(good(""), `"A"`, `""`), "the name must be there"},
		{"bad country", strings.ReplaceAll(good(""), `"country":""`, `"country":"de"`), "two capital letters"},
		{"no address", strings.ReplaceAll(good(""), `"192.0.2.1"`, ``), "there must be addresses"},
		{"no IP", strings.ReplaceAll(good(""), `192.0.2.1`, `dns.example`), "neither an IP address"},
		{"a zone", strings.ReplaceAll(good(""), `192.0.2.1`, `fe80::1%eth0`), "neither an IP address"},
		{"port 0", strings.ReplaceAll(good(""), `192.0.2.1`, `192.0.2.1:0`), "neither an IP address"},
		{"too many addresses", strings.ReplaceAll(good(""), `"192.0.2.1"`,
			strings.Repeat(`"192.0.2.1",`, 8)+`"192.0.2.2"`), "at most 8"},
		{"name over UDP", good(`,"tls_name":"dns.example"`), "no tls_name"},
		{"no transport", strings.ReplaceAll(good(""), `udp`, ``), "is none"},
		{"unknown transport", strings.ReplaceAll(good(""), `udp`, `quic`), "is none"},
		{"dot without anything", `[{"id":"a","name":"A","transport":"dot"}]`, "is none"},
		{"dot with two ports", strings.ReplaceAll(strings.ReplaceAll(good(""), "udp", "dot"), `"192.0.2.1"`,
			`"192.0.2.1:853","192.0.2.2:8853"`), "the same port"},
		{"bad path", `[{"id":"a","name":"A","transport":"doh","tls_name":"dns.example","path":"p?x"}]`, "is none"},
		{"twice", strings.TrimSuffix(good(""), "]") + "," + strings.TrimPrefix(good(""), "["),
			`number 2 ("a"): the id appears twice`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list, err := ParseVantages([]byte(tt.text))
			if tt.err == "" {
				require.NoError(t, err)
				assert.NotEmpty(t, list)
				return
			}
			assert.ErrorContains(t, err, tt.err)
			assert.Nil(t, list)
		})
	}
}

func FuzzParseVantages(f *testing.F) {
	f.Add([]byte(`[{"id":"a","name":"A","transport":"udp","addresses":["192.0.2.1"]}]`))
	f.Add([]byte(`[{"id":"a","name":"A","transport":"doh","addresses":["[2001:db8::1]:1"],"tls_name":"x.y","path":"/z"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := ParseVantages(data)
		if (err == nil) != (len(list) > 0) {
			t.Fatalf("%d vantages, %v", len(list), err)
		}
		for _, v := range list {
			if servers, err := v.servers(); err != nil || len(servers) == 0 {
				t.Fatalf("%+v: %v", v, err)
			}
		}
		if err != nil {
			return
		}
		text, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseVantages(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	})
}

func TestParseValue(t *testing.T) {
	tests := []struct {
		qtype uint16
		text  string
		want  string // empty: not the data of such a record
	}{
		{dns.TypeA, "192.0.2.1", "192.0.2.1"},
		{dns.TypeA, " 192.0.2.1 ", "192.0.2.1"},
		{dns.TypeA, "2001:db8::1", ""},
		{dns.TypeA, "", ""},
		{dns.TypeA, "192.0.2.1\n$INCLUDE /etc/passwd", ""},
		{dns.TypeA, ";\n$INCLUDE /etc/passwd", ""},
		{dns.TypeAAAA, "2001:DB8:0:0::1", "2001:db8::1"},
		{dns.TypeMX, "10 MX.Example.com", "10 mx.example.com."},
		{dns.TypeMX, "10 mx.example.com.", "10 mx.example.com."},
		{dns.TypeCNAME, "WWW.example.com", "www.example.com."},
		{dns.TypeTXT, "v=spf1 -all", "v=spf1 -all"},
		{dns.TypeTXT, `"v=spf1 " "-all"`, "v=spf1 -all"},
		{dns.TypeTXT, `"unfinished`, ""},
		{dns.TypeTXT, `"größer"`, "größer"},
		{dns.TypeTXT, "größer", "größer"},
		{dns.TypeTXT, "\xff", ""},
		{dns.TypeTXT, "token\u200B", `token\226\128\139`},
		{dns.TypeTXT, "a\u00A0b", `a\194\160b`},
		{dns.TypeTXT, "a\x1b[31m\n", `a\027[31m\010`},
		{dns.TypeTXT, `"a\027[31m\010"`, `a\027[31m\010`},
		{dns.TypeMX, "10 größer.example", ""},
		{dns.TypeSRV, "0 5 5060 SIP.example.com.", "0 5 5060 sip.example.com."},
		{dns.TypeCAA, `0 issue "ca.example"`, `0 issue "ca.example"`},
		{65280, `\# 2 ABCD`, `\# 2 abcd`},
		{dns.TypeA, strings.Repeat(" ", 5000), ""},
	}
	for _, tt := range tests {
		got, err := parseValue(resolve.Type(tt.qtype), tt.text)
		if tt.want == "" {
			assert.Error(t, err, "%q", tt.text)
			continue
		}
		require.NoError(t, err, "%q", tt.text)
		assert.Equal(t, tt.want, got)
	}
}

// Values that a type does not distinguish are one value, and others are two.
func TestSameValues(t *testing.T) {
	const key = "mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ=="
	tests := []struct {
		name, qtype, one, other string
		same                    bool
	}{
		{"digits of hexadecimal numbers", "TLSA", "3 1 1 ABCDEF00", "3 1 1 abcdef00", true},
		{"space within them", "TLSA", "3 1 1 abcd ef00", "3 1 1 abcdef00", true},
		{"leading zeros", "TLSA", "03 01 01 abcdef00", "3 1 1 abcdef00", true},
		{"the form for unknown types", "TLSA", `\# 7 030101ABCDEF00`, "3 1 1 abcdef00", true},
		{"other digits", "TLSA", "3 1 1 abcdef01", "3 1 1 abcdef00", false},
		{"SMIMEA", "SMIMEA", "3 1 1 ABCDEF00", "3 1 1 abcdef00", true},
		{"by number", "TYPE53", "3 1 1 ABCDEF00", "3 1 1 abcdef00", true},
		{"DS", "DS", "60485 RSASHA1 1 2BB183AF5F22588179A53B0A98631FAD1A292118",
			"60485 5 1 ( 2bb183af5f22588179a53b0a98631fad1a292118 )", true},
		{"CDS", "CDS", "60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118",
			"60485 5 1 2bb183af5f22588179a53b0a98631fad1a292118", true},
		{"SSHFP", "SSHFP", "4 2 ABCDEF00", "4 2 abcdef00", true},
		{"ZONEMD", "ZONEMD", "1 1 1 ABCDEF00", "1 1 1 abcdef00", true},
		{"NSEC3PARAM", "NSEC3PARAM", "1 0 0 AABB", "1 0 0 aabb", true},
		{"NSEC3", "NSEC3", "1 0 0 aabb 2T7B4G4VSA5SMI47K61MV5BV1A22BOJR A RRSIG",
			"1 0 0 AABB 2t7b4g4vsa5smi47k61mv5bv1a22bojr RRSIG A", true},
		{"NSEC", "NSEC", "Host.example.com. MX A", "host.example.com. A MX", true},
		{"space within base64", "DNSKEY", "257 3 13 " + key, "257 3 13 " + key[:20] + " " + key[20:], true},
		{"letters of base64", "DNSKEY", "257 3 13 " + key, "257 3 13 " + strings.ToLower(key), false},
		{"CERT", "CERT", "PKIX 0 0 AQMFD5raczCJHViKtLYhWGz8hMY=", "1 0 0 AQMFD5rac zCJHViKtLYhWGz8hMY=", true},
		{"AAAA", "AAAA", "2001:0DB8:0:0:0:0:0:1", "2001:db8::1", true},
		{"MX", "MX", "010 MX.Example.com", "10 mx.example.com.", true},
		{"MX with another preference", "MX", "20 mx.example.com", "10 mx.example.com.", false},
		{"an escape in a name", "CNAME", `\119\087w.example.com`, "www.example.com.", true},
		{"SOA", "SOA", "NS1.example.com. Root.example.com. 7 2h 15m 2w 5m", "ns1.example.com. root.example.com. 7 7200 900 1209600 300",
			true},
		{"tag of CAA", "CAA", `0 ISSUE "ca.example"`, `0 issue "ca.example"`, true},
		{"issuer of CAA", "CAA", `0 issue "CA.Example"`, `0 issue ca.example`, true},
		{"space around parameters of CAA", "CAA", `0 issue "ca.example ; account=A"`, `0 issue "ca.example;account=A"`, true},
		{"parameter of CAA", "CAA", `0 issue "ca.example; account=A"`, `0 issue "ca.example; account=a"`, false},
		{"address of CAA", "CAA", `0 iodef "mailto:A@example.com"`, `0 iodef "mailto:a@example.com"`, false},
		{"parameters of HTTPS", "HTTPS", `1 Svc.example.com. port=443 alpn="h2,h3" ipv6hint=2001:DB8::1`,
			`1 svc.example.com. alpn=h2,h3 ipv6hint=2001:db8:0::1 port=443`, true},
		{"order within a parameter of SVCB", "SVCB", `1 . alpn="h3,h2"`, `1 . alpn="h2,h3"`, false},
		{"NAPTR", "NAPTR", `10 1 "U" "E2U+sip" "!^.*$!sip:a@example.com!" .`, `10 1 "u" "e2u+SIP" "!^.*$!sip:a@example.com!" .`, true},
		{"expression of NAPTR", "NAPTR", `10 1 "u" "E2U+sip" "!^.*$!sip:A@example.com!" .`,
			`10 1 "u" "E2U+sip" "!^.*$!sip:a@example.com!" .`, false},
		{"LOC", "LOC", "52 22 23.000 N 4 53 32.000 E -2.00m 0.00m 10000m 10m", "52 22 23 N 4 53 32 E -2 0 10000 10", true},
		{"strings of TXT", "TXT", `"v=spf1 " "-all"`, "v=spf1 -all", true},
		{"escapes of TXT", "TXT", `"\118=spf1 \"-all"`, `v=spf1 "-all`, true},
		{"letters of TXT", "TXT", "aBcD", "abcd", false},
		{"space of TXT", "TXT", `"v=spf1  -all"`, "v=spf1 -all", false},
		{"unknown type", "TYPE65280", `\# 3 ABCDEF`, `\# 3 ab cdef`, true},
	}
	for _, tt := range tests {
		qtype, err := resolve.ParseType(tt.qtype)
		require.NoError(t, err)
		one, err := parseValue(qtype, tt.one)
		require.NoError(t, err, tt.name)
		other, err := parseValue(qtype, tt.other)
		require.NoError(t, err, tt.name)
		assert.Equal(t, tt.same, one == other, "%s: %s, %s", tt.name, one, other)
	}
	_, err := parseValue(resolve.Type(dns.TypeTLSA), "3 1 1 ABC")
	assert.Error(t, err, "half a byte")
}

// A value that was read reads again as itself, and never as something else.
func FuzzParseValue(f *testing.F) {
	f.Add(dns.TypeA, "192.0.2.1")
	f.Add(dns.TypeMX, "10 mx.example.com")
	f.Add(dns.TypeTXT, `"a" "b\"c"`)
	f.Add(dns.TypeHTTPS, `1 . alpn="h2,h3"`)
	f.Add(dns.TypeNAPTR, `1 1 "u" "" "!^.*$!x!" .`)
	f.Fuzz(func(t *testing.T, qtype uint16, text string) {
		kind := resolve.Type(qtype)
		// How the library writes odd data of other types is its own affair.
		common := []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeMX, dns.TypeNS, dns.TypePTR, dns.TypeSRV}
		value, err := parseValue(kind, text)
		if err != nil || !slices.Contains(common, qtype) {
			return
		}
		if again, err := parseValue(kind, value); err != nil || again != value {
			t.Fatalf("%s %q is %q is %q, %v", kind, text, value, again, err)
		}
	})
}

func TestValuesAreSets(t *testing.T) {
	var rrs []dns.RR
	for _, text := range []string{
		"a.example. 60 MX 20 B.example.", "a.example. 300 MX 10 a.example.", "a.example. 1 MX 20 b.EXAMPLE.",
	} {
		rr, err := dns.NewRR(text)
		require.NoError(t, err)
		rrs = append(rrs, rr)
	}
	assert.Equal(t, []string{"10 a.example.", "20 b.example."}, valuesOf(rrs))
	assert.Equal(t, "B.example.", rrs[0].(*dns.MX).Mx, "records are not changed")
}

func TestNewer(t *testing.T) {
	for _, tt := range []struct {
		a, b uint32
		want int
	}{{1, 1, 0}, {2, 1, 1}, {1, 2, -1}, {0, 1<<32 - 1, 1}, {1<<32 - 1, 0, -1}} {
		assert.Equal(t, tt.want, newer(&tt.a, &tt.b))
	}
	assert.Equal(t, 1, newer(new(uint32), nil))
	assert.Equal(t, 0, newer(nil, nil))
}

func TestDuration(t *testing.T) {
	for seconds, want := range map[uint32]string{
		0: "0 seconds", 119: "119 seconds", 120: "2 minutes", 121: "3 minutes", 7200: "2 hours", 172800: "2 days",
		1<<32 - 1: "49711 days",
	} {
		assert.Equal(t, want, duration(seconds))
	}
}

// The schema of the reply is made from the enumerations.
func TestEnumerations(t *testing.T) {
	assert.Equal(t, []string{"match", "mismatch", "nxdomain", "nodata", "servfail", "refused", "timeout", "error"},
		Status("").Values())
	assert.Equal(t, []string{"complete", "partial", "none", "inconclusive"}, Progress("").Values())
	var _ interface{ Rules() []rule.Description } = (*Report)(nil)
}

// Any reply of a server can be compared, judged and described.
func FuzzReply(f *testing.F) {
	for _, text := range []string{"www.example.com. 60 A 192.0.2.1", "www.example.com. 60 CNAME www.example.com."} {
		m := new(dns.Msg).SetQuestion("www.example.com.", dns.TypeA)
		rr, err := dns.NewRR(text)
		require.NoError(f, err)
		m.Answer = []dns.RR{rr}
		m.SetEdns0(1232, false)
		m.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_EDE{InfoCode: 17, ExtraText: "\xff"}}
		wire, err := m.Pack()
		require.NoError(f, err)
		f.Add(wire, true)
		f.Add(wire, false)
	}
	f.Fuzz(func(t *testing.T, wire []byte, authoritative bool) {
		m := new(dns.Msg)
		if m.Unpack(wire) != nil {
			return
		}
		e := &evidence{name: diag.MustName("www.example.com"), qtype: resolve.Type(dns.TypeA)}
		e.probes = []*probe{{vantage: Vantage{ID: "a"}, reply: m}}
		e.authority.zone = &resolver.Zone{Name: "example.com."}
		if authoritative {
			s := &authServer{name: "ns.example.com.", hop: resolver.Hop{Reply: m}}
			nobody := func(context.Context, resolver.Server, *dns.Msg) (*dns.Msg, error) { return nil, resolver.ErrTimeout }
			it := &resolver.Iterator{Ask: nobody}
			s.read(&follower{ctx: t.Context(), it: it, e: e, targets: map[string]*target{}}, "example.com.")
			e.authority.servers = []*authServer{s}
		}
		e.compare()
		r := e.report()
		if text, err := json.Marshal(r); err != nil || !json.Valid(text) {
			t.Fatal(err)
		}
		s := r.Summary
		if s.MatchCount > s.AnsweredCount || s.AnsweredCount > s.ResolverCount || s.PropagationPercent > 100 {
			t.Fatalf("%+v", s)
		}
	})
}
