package registry

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/stretchr/testify/require"
)

func TestBuiltInTables(t *testing.T) {
	b, s := DefaultBootstrap(), DefaultServers()
	for _, kind := range kinds {
		l := b.lists[kind]
		require.NotEmpty(t, l.Description, kind)
		require.Regexp(t, `^20\d\d-\d\d-\d\d$`, l.Publication, kind)
		for _, v := range l.Services {
			require.Len(t, usableURLs(v.urls), len(v.urls), "%s: %v", kind, v.urls)
		}
	}
	for name, host := range s.hosts {
		require.Equal(t, name, diag.MustDomain(name).String())
		require.NotEmpty(t, hostName(host), name)
	}
	require.Greater(t, len(b.names), 1000)
	require.Greater(t, len(s.hosts), 150)
	for name := range b.seeds {
		require.Nil(t, b.names[name], "%s is in the list of IANA: no seed is needed", name)
	}
	for p := range special() {
		require.Equal(t, p.Masked(), p)
	}
}

func TestBootstrapLookup(t *testing.T) {
	b, err := ParseBootstrap([]byte(`{
		"dns": {"services": [
			[["example", "sub.example"],
				["http://rdap.example", "https://rdap.example/x", "ftp://rdap.example/", "https://%%/"]],
			[["Bücher"], ["https://rdap.xn--bcher-kva/"]],
			[["bad name", "good"], ["https://rdap.good/"]],
			[["unusable"], ["gopher://x/"]]]},
		"seeds": {"services": [[["seeded", "example"], ["https://seed.example/"]], [["."], ["https://root.example/"]]]},
		"ipv4": {"services": [
			[["192.0.2.0/24", "x"], ["https://a.example/"]], [["192.0.2.128/25"], ["https://b.example/"]]]},
		"ipv6": {"services": [[["2001:db8::/32"], ["https://c.example/"]]]},
		"asn": {"services": [
			[["64500-64510", "64512"], ["https://d.example/"]], [["64496", "9-8", "x"], ["https://e.example/"]]]}}`))
	require.NoError(t, err)
	tests := []struct {
		name string
		got  []string
		want []string
	}{
		{"https first, slash at the end", b.forDomain("www.example"),
			[]string{"https://rdap.example/x/", "http://rdap.example/"}},
		{"internationalized", b.forDomain("a.xn--bcher-kva"), []string{"https://rdap.xn--bcher-kva/"}},
		{"beside a bad entry", b.forDomain("www.good"), []string{"https://rdap.good/"}},
		{"no URL that can be asked", b.forDomain("www.unusable"), nil},
		{"seed", b.forDomain("www.seeded"), []string{"https://seed.example/"}},
		{"top-level domain", b.forDomain("good"), []string{"https://root.example/"}},
		{"unknown", b.forDomain("www.unknown"), nil},
		{"address", b.forAddress(netip.MustParseAddr("192.0.2.1")), []string{"https://a.example/"}},
		{"longest prefix", b.forAddress(netip.MustParseAddr("192.0.2.200")), []string{"https://b.example/"}},
		{"IPv6", b.forAddress(netip.MustParseAddr("2001:db8::1")), []string{"https://c.example/"}},
		{"address unknown", b.forAddress(netip.MustParseAddr("198.51.100.1")), nil},
		{"first system", b.forSystem(64500), []string{"https://d.example/"}},
		{"last system", b.forSystem(64510), []string{"https://d.example/"}},
		{"single system", b.forSystem(64512), []string{"https://d.example/"}},
		{"between systems", b.forSystem(64511), nil},
		{"system below all", b.forSystem(1), nil},
		{"system above all", b.forSystem(1 << 31), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, tt.got) })
	}
}

// One file of IANA will do, whatever it is about.
func TestBootstrapOfOneFile(t *testing.T) {
	b, err := ParseBootstrap([]byte(`{"version": "1.0", "publication": "2026-01-01T00:00:00Z", "services": [
		[["com", "192.0.2.0/24", "2001:db8::/32", "64500-64510"], ["https://rdap.example/"]]]}`))
	require.NoError(t, err)
	want := []string{"https://rdap.example/"}
	require.Equal(t, want, b.forDomain("example.com"))
	require.Equal(t, want, b.forAddress(netip.MustParseAddr("192.0.2.1")))
	require.Equal(t, want, b.forAddress(netip.MustParseAddr("2001:db8::1")))
	require.Equal(t, want, b.forSystem(64505))
	require.Equal(t, []string{"https://rdap.denic.de/"}, b.forDomain("example.de"))

	b, err = ParseBootstrap([]byte(`{"services": [[["com"], ["https://rdap.example/"]]]}`))
	require.NoError(t, err)
	require.Equal(t, DefaultBootstrap().forSystem(1), b.forSystem(1))
}

// A list that is missing is the built-in one; one without services switches its part off.
func TestBootstrapReplaced(t *testing.T) {
	b, err := ParseBootstrap([]byte(`{"dns": {"services": []}}`))
	require.NoError(t, err)
	require.Nil(t, b.forDomain("example.com"))
	require.Equal(t, []string{"https://rdap.denic.de/"}, b.forDomain("example.de"))
	b, err = ParseBootstrap([]byte(`{"seeds": {"services": []}}`))
	require.NoError(t, err)
	require.Nil(t, b.forDomain("example.de"))
	require.NotNil(t, b.forDomain("example.com"))
}

func TestParseBootstrapErrors(t *testing.T) {
	for _, text := range []string{
		``, `[]`, `{"dns": []}`, `{"other": {"services": []}}`, `{"dns": {"services": [[["com"]]]}}`,
		`{"dns": {"services": [[["com"], [], []]]}}`, `{"dns": {"services": [[["com"], ["x"]]]}}`,
		`{"asn": {"services": [[["2-1"], ["https://example.com/"]]]}}`,
	} {
		t.Run(text, func(t *testing.T) {
			_, err := ParseBootstrap([]byte(text))
			require.ErrorContains(t, err, "reading the RDAP bootstrap")
		})
	}
}

func TestServers(t *testing.T) {
	s, err := ParseServers([]byte(`{"example": "WHOIS.example", "co.example": "whois.co.example",
		"port.example": "[2001:DB8::1]:4343", "name.example": "whois.example:4343"}`))
	require.NoError(t, err)
	require.Equal(t, "whois.example", s.forDomain("www.example"))
	require.Equal(t, "whois.co.example", s.forDomain("a.co.example"))
	require.Equal(t, ianaWhois, s.forDomain("a.unknown"))
	require.Equal(t, ianaWhois, s.forDomain("example"))
	text, err := json.Marshal(s)
	require.NoError(t, err)
	again, err := ParseServers(text)
	require.NoError(t, err)
	require.Equal(t, s, again)
	for name, want := range map[string]string{
		"port.example": "2001:db8::1 4343", "name.example": "whois.example 4343", "co.example": "whois.co.example 43",
	} {
		host, port := endpoint(s.hosts[name])
		require.Equal(t, want, fmt.Sprint(host, " ", port))
	}
	for _, text := range []string{``, `[]`, `{"a b": "whois.example"}`, `{"example": "http://whois.example"}`,
		`{"example": "whois.example:0"}`, `{"example": "whois.example:x"}`, `{"example": "a b:43"}`} {
		_, err := ParseServers([]byte(text))
		require.ErrorContains(t, err, "reading the WHOIS servers", text)
	}
}

func TestParseList(t *testing.T) {
	l, err := parseList("# comment\nsource here\ndate 2026-01-01\n" +
		"https://rdap.nic.{}/\n  aa bb\nhttps://x/ http://x/\n  cc\n")
	require.NoError(t, err)
	require.Equal(t, list{Description: "here", Publication: "2026-01-01", Version: "1.0", Services: []service{
		{[]string{"aa"}, []string{"https://rdap.nic.aa/"}}, {[]string{"bb"}, []string{"https://rdap.nic.bb/"}},
		{[]string{"cc"}, []string{"https://x/", "http://x/"}},
	}}, l)
	_, err = parseList("  aa\n")
	require.ErrorContains(t, err, "line 1")
}

// Queries are in the syntax of the server.
func TestQueries(t *testing.T) {
	ip := netip.MustParseAddr("192.0.2.1")
	for host, want := range map[string]string{
		"whois.denic.de":         "-T dn,ace example.com",
		"whois.jprs.jp":          "example.com/e",
		"whois.verisign-grs.com": "domain example.com",
		"whois.punktum.dk":       "--charset=utf-8 example.com",
		"whois.nic.fr":           "example.com",
	} {
		require.Equal(t, want, domainQuery(host, "example.com"))
	}
	for host, want := range map[string]string{
		"whois.arin.net":  "n + 192.0.2.1",
		"whois.ripe.net":  "-B 192.0.2.1",
		"whois.apnic.net": "192.0.2.1",
	} {
		require.Equal(t, want, addressQuery(host, ip))
	}
}
