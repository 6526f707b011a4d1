package httpapi

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClientIP(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	const unknown, proxy = "invalid IP", "10.0.0.1:1"
	tests := []struct {
		name, peer   string
		forwardedFor []string
		forwarded    []string
		want         string
	}{
		{"direct", "192.0.2.1:1", nil, nil, "192.0.2.1"},
		{"direct with a forged header", "192.0.2.1:1", []string{"198.51.100.9"}, []string{"for=198.51.100.9"}, "192.0.2.1"},
		{"Unix socket", "@", nil, nil, unknown},
		{"no header", proxy, nil, nil, "10.0.0.1"},
		{"one proxy", proxy, []string{"198.51.100.9"}, nil, "198.51.100.9"},
		{"right-most untrusted", proxy, []string{"203.0.113.1, 198.51.100.9, 10.2.3.4"}, nil, "198.51.100.9"},
		{"several fields", proxy, []string{"203.0.113.1", "198.51.100.9"}, nil, "198.51.100.9"},
		{"empty elements", proxy, []string{"198.51.100.9, ,"}, nil, "198.51.100.9"},
		{"proxies only", proxy, []string{"10.0.0.2, 10.0.0.3"}, nil, "10.0.0.2"},
		{"mapped peer", "[::ffff:10.0.0.1]:1", []string{"2001:db8::1"}, nil, "2001:db8::1"},
		{"mapped client", proxy, []string{"::ffff:198.51.100.9"}, nil, "198.51.100.9"},
		{"with a port", proxy, []string{"203.0.113.9:4711"}, nil, "203.0.113.9"},
		{"IPv6 in brackets", proxy, []string{"[2001:db8::9]"}, nil, "2001:db8::9"},
		{"IPv6 with a port", proxy, []string{"[2001:db8::9]:4711"}, nil, "2001:db8::9"},
		{"unknown", proxy, []string{"198.51.100.9, unknown"}, nil, unknown},
		{"unknown alone", proxy, []string{"unknown"}, nil, unknown},
		{"left of what is believed", proxy, []string{"unknown, 198.51.100.9"}, nil, "198.51.100.9"},
		{"no port", proxy, []string{"203.0.113.9:"}, nil, unknown},
		{"open bracket", proxy, []string{"[2001:db8::9"}, nil, unknown},
		{"IPv4 in brackets", proxy, []string{"[203.0.113.9]"}, nil, unknown},
		{"host name", proxy, []string{"client.example"}, nil, unknown},
		{"many hops", proxy, []string{strings.Repeat("10.0.0.2,", maxHops+1)}, nil, unknown},

		{"Forwarded", proxy, nil, []string{"for=198.51.100.9"}, "198.51.100.9"},
		{"Forwarded with all", proxy, nil, []string{`For="[2001:db8::9]:4711" ;proto=https;by=203.0.113.43`}, "2001:db8::9"},
		{"Forwarded list", proxy, nil, []string{"for=203.0.113.1, for=198.51.100.9;host=\"a,b;c=\\\"d\", for=10.2.3.4"}, "198.51.100.9"},
		{"Forwarded fields", proxy, nil, []string{"for=203.0.113.1", "for=198.51.100.9"}, "198.51.100.9"},
		{"Forwarded with a port", proxy, nil, []string{`for="198.51.100.9:80"`}, "198.51.100.9"},
		{"Forwarded with a hidden port", proxy, nil, []string{`for="198.51.100.9:_a"`}, "198.51.100.9"},
		{"Forwarded unknown", proxy, nil, []string{"for=unknown"}, unknown},
		{"Forwarded hidden", proxy, nil, []string{"for=_hidden"}, unknown},
		{"Forwarded without for", proxy, nil, []string{"for=198.51.100.9, proto=https"}, unknown},
		{"Forwarded twice in one element", proxy, nil, []string{"for=198.51.100.9;for=203.0.113.1"}, unknown},
		{"Forwarded open string", proxy, nil, []string{`for="198.51.100.9`}, unknown},
		{"Forwarded IPv6 without quotes", proxy, nil, []string{"for=[2001:db8::9]"}, unknown},
		{"Forwarded without a value", proxy, nil, []string{"for"}, unknown},

		{"both agree", proxy, []string{"198.51.100.9"}, []string{`for="198.51.100.9:1"`}, "198.51.100.9"},
		{"both differ", proxy, []string{"198.51.100.9"}, []string{"for=203.0.113.1"}, unknown},
	}
	s := newAPI(t, "self", func(c *Config) { c.TrustedProxies = proxies }).handler.(*server)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &http.Request{RemoteAddr: tt.peer, Header: http.Header{}}
			if tt.forwardedFor != nil {
				r.Header["X-Forwarded-For"] = tt.forwardedFor
			}
			if tt.forwarded != nil {
				r.Header["Forwarded"] = tt.forwarded
			}
			assert.Equal(t, tt.want, s.clientIP(r).String())
		})
	}
}

func FuzzForwarded(f *testing.F) {
	for _, seed := range []string{`for="[2001:db8::9]:1";by=a, for=b`, `for="\"`, ";;,,=", `a="b"c`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		hops, ok := forwarded([]string{text})
		if !ok && hops != nil {
			t.Errorf("%q: a fault has no hops, not %q", text, hops)
		}
		for _, hop := range append(hops, text) {
			if ip, ok := parseNode(hop); ok && (!ip.IsValid() || ip.Zone() != "" || ip.Is4In6()) {
				t.Errorf("%q: %s", hop, ip)
			}
		}
	})
}

// An unparsable address matches no allowlist, and the address of a proxy must not replace it. Without an allowlist
// such requests share a bucket of their own.
func TestAddressThatCannotBeRead(t *testing.T) {
	a := newAPI(t, "self", func(c *Config) {
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}
		c.IPRate = 2
	}, row("/x", 1, echo))
	_, listed, err := a.admin.CreateKey(t.Context(), metering.KeyRequest{
		Account: a.account.ID, Name: "listed", Scopes: []metering.Scope{metering.DNSRead},
		IPAllowlist: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("::/0")},
	})
	require.NoError(t, err)
	good := []string{"Authorization", "Bearer " + listed.Reveal()}
	for _, header := range []string{"unknown", "[2001:db8::9", "203.0.113.9:4711"} {
		r := a.post("/x", `{}`, append(good, "X-Forwarded-For", header)...)
		require.Equal(t, 403, r.Code, header)
		require.Equal(t, IPNotAllowed, r.problem().Code, header)
		a.clock.Advance(time30)
	}
	require.Equal(t, 200, a.post("/x", `{}`, append(good, "X-Forwarded-For", "[2001:db8::9]:4711")...).Code)

	bad := []string{"Authorization", "Bearer x", "X-Forwarded-For"}
	a.clock.Advance(2 * time30)
	for range 2 {
		require.Equal(t, 401, a.post("/x", `{}`, append(bad, "unknown")...).Code)
	}
	require.Equal(t, 429, a.post("/x", `{}`, append(bad, "_hidden")...).Code)
	require.Equal(t, 401, a.post("/x", `{}`, "Authorization", "Bearer x").Code, "the proxy has its own bucket")
	require.Equal(t, 401, a.post("/x", `{}`, append(bad, "203.0.113.9")...).Code)
}

// An unconfigured proxy is logged once.
func TestWarningOfProxy(t *testing.T) {
	a := newAPI(t, "self", nil, row("/x", 1, echo))
	for range 3 {
		a.post("/x", `{}`, "X-Forwarded-For", "203.0.113.9")
		a.post("/x", `{}`, "Forwarded", "for=203.0.113.9")
	}
	require.Equal(t, 1, strings.Count(a.log.String(), "--trusted-proxies"), a.log.String())
	require.Contains(t, a.log.String(), `"peer":"198.51.100.1"`)
}

const time30 = 30 * second
