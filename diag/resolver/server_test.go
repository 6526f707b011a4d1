package resolver_test

import (
	"testing"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseServer(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.1":                                "udp://192.0.2.1",
		"192.0.2.1:5353":                           "udp://192.0.2.1:5353",
		"2001:db8::1":                              "udp://[2001:db8::1]",
		"[2001:db8::1]:5353":                       "udp://[2001:db8::1]:5353",
		"fe80::1%eth0":                             "udp://[fe80::1%eth0]",
		"::ffff:192.0.2.1":                         "", // an IPv4 address in brackets
		"udp://192.0.2.1:53":                       "udp://192.0.2.1",
		"UDP://192.0.2.1":                          "udp://192.0.2.1",
		"tcp://[2001:db8::1]:53":                   "tcp://[2001:db8::1]",
		"tls://dns.example:853":                    "tls://dns.example",
		"tls://DNS.Example.:8853":                  "tls://dns.example:8853",
		"tls://192.0.2.1":                          "tls://192.0.2.1",
		"tls://192.0.2.1#dns.example":              "tls://dns.example#192.0.2.1",
		"tls://[2001:db8::1]:1#dns.test":           "tls://dns.test:1#2001:db8::1",
		"tls://dns.example#192.0.2.1,2001:db8::1":  "tls://dns.example#192.0.2.1,2001:db8::1",
		"https://dns.example":                      "https://dns.example/dns-query",
		"https://dns.example/":                     "https://dns.example/dns-query",
		"https://dns.example:8443/a/b":             "https://dns.example:8443/a/b",
		"https://dns.example/dns-query#192.0.2.1":  "https://dns.example/dns-query#192.0.2.1",
		"https://[2001:db8::1]/dns-query":          "https://[2001:db8::1]/dns-query",
		"https://192.0.2.1:443/dns-query#dns.test": "https://dns.test/dns-query#192.0.2.1",
		"":                                    "",
		"dns.example":                         "",
		"udp://dns.example":                   "",
		"udp://192.0.2.1/path":                "",
		"udp://192.0.2.1#dns.example":         "",
		"udp://192.0.2.1:0":                   "",
		"udp://192.0.2.1:65536":               "",
		"udp://2001:db8::1:53":                "",
		"udp://[192.0.2.1]":                   "",
		"udp://[2001:db8::1":                  "",
		"quic://192.0.2.1":                    "",
		"tls://":                              "",
		"tls://300.1.1.1":                     "",
		"tls://dns..example":                  "",
		"tls://user@dns.example":              "",
		"tls://dns.example#nonsense":          "",
		"https://dns.example/dns-query{?dns}": "",
		"https://dns.example/dns-query?a=b":   "",
		"https://dns.example/a b":             "",
		"https://dns.example/%zz":             "",
	} {
		t.Run(text, func(t *testing.T) {
			s, err := resolver.ParseServer(text)
			if want == "" {
				require.Error(t, err)
				assert.Contains(t, err.Error(), "name server ")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, want, s.String())
		})
	}
}

func FuzzParseServer(f *testing.F) {
	for _, s := range []string{
		"192.0.2.1", "udp://[fe80::1%eth0]:53", "tls://dns.example#192.0.2.1,2001:db8::1",
		"https://dns.example:8443/a%20b#192.0.2.1", "tls://[::ffff:192.0.2.1]#x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := resolver.ParseServer(text)
		if err != nil {
			return
		}
		again, err := resolver.ParseServer(s.String())
		require.NoError(t, err, "%q prints as %q", text, s)
		require.Equal(t, s, again, "%q prints as %q", text, s)
	})
}

func TestPublicServers(t *testing.T) {
	ids := []string{}
	for _, p := range resolver.Public() {
		ids = append(ids, p.ID)
		assert.Len(t, p.Servers(resolver.UDP), len(p.IPv4)+len(p.IPv6), p.ID)
		for _, transport := range []resolver.Transport{resolver.UDP, resolver.TCP, resolver.DoT, resolver.DoH} {
			for _, s := range p.Servers(transport) {
				again, err := resolver.ParseServer(s.String())
				require.NoError(t, err, p.ID)
				assert.Equal(t, s, again, p.ID)
			}
		}
	}
	assert.Equal(t, []string{"google", "cloudflare", "quad9", "opendns"}, ids)
}
