package spf

import (
	"testing"

	"github.com/diagkit/diagkit/mailauth/internal/provider"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/stretchr/testify/require"
)

// Terms with an error are repaired if the error implies the intent.
func TestRepair(t *testing.T) {
	tests := []struct{ text, want string }{
		{"v=spf1 a\tmx", ""},
		{"v=spf1 \u2013all", ""},
		{"v=spf1 a:b\u00fccher.example", ""},
		{"v=spf1 a:\u200bx.example", ""},
		{"v=spf1 --all", "-all"},
		{"v=spf1 -", ""},
		{"v=spf1 ~redirect=x.example", "redirect=x.example"},
		{"v=spf1 moo", ""},
		{"v=spf1 -ipv4:192.0.2.1", "-ip4:192.0.2.1"},
		{"v=spf1 192.0.2.0/24", "ip4:192.0.2.0/24"},
		{"v=spf1 2001:db8::1", "ip6:2001:db8::1"},
		{"v=spf1 _spf.example.com", "include:_spf.example.com"},
		{"v=spf1 :x", ""},
		{"v=spf1 =all", ""},
		{"v=spf1 1up=foo", ""},
		{"v=spf1 redirect:x.example", "redirect=x.example"},
		{"v=spf1 ip4:192.0.2.1-all", "ip4:192.0.2.1 -all"},
		{"v=spf1 include:x.example~all", "include:x.example ~all"},
		{"v=spf1 redirect=x.example?all", "redirect=x.example ?all"},
		{"v=spf1 mx-all", "mx -all"},
		{"v=spf1 include", ""},
		{"v=spf1 a:", ""},
		{"v=spf1 ip4:", ""},
		{"v=spf1 exp=", ""},
		{"v=spf1 -all.", "-all"},
		{"v=spf1 -all/8", "-all"},
		{"v=spf1 ptr/0", "ptr"},
		{"v=spf1 ip4:192.0.2", ""},
		{"v=spf1 ip4:192.000.02.1/24", "ip4:192.0.2.1/24"},
		{"v=spf1 ip4:192.0.2.1:25", ""},
		{"v=spf1 ip6::CAFE::BABE", ""},
		{"v=spf1 ip4:2001:db8::1", "ip6:2001:db8::1"},
		{"v=spf1 ~ip6:192.0.2.1/24", "~ip4:192.0.2.1/24"},
		{"v=spf1 ip6:fe80::1%eth0", ""},
		{"v=spf1 ip4:192.0.2.0/33", ""},
		{"v=spf1 ip4:192.0.2.0//32", ""},
		{"v=spf1 ip4:192.0.2.0/", ""},
		{"v=spf1 ip6:::1/129", ""},
		{"v=spf1 a/024", ""},
		{"v=spf1 a//129", ""},
		{"v=spf1 mx:x.example/33//64", ""},
		{"v=spf1 a/24/64", ""},
		{"v=spf1 mx/", ""},
		{"v=spf1 a:museum.", ""},
		{"v=spf1 a:192.0.2.1", "ip4:192.0.2.1"},
		{"v=spf1 a:x.123", ""},
		{"v=spf1 a:x.-com", ""},
		{"v=spf1 include:x.example/24", "include:x.example"},
		{"v=spf1 include:/24", ""},
		{"v=spf1 redirect=-all", ""},
		{"v=spf1 a:%{d}com", ""},
		{"v=spf1 a:x%", ""},
		{"v=spf1 a:x%a.example", ""},
		{"v=spf1 a:%{d.example", ""},
		{"v=spf1 a:%{}.example", ""},
		{"v=spf1 a:%{d0}.example", ""},
		{"v=spf1 a:%{dx}.example", ""},
		{"v=spf1 a:%{c}.example", ""},
		{"v=spf1 x=%{t}", ""},
		{"v=spf1 redirect=x.example redirect=x.example", ""},
	}
	for _, tt := range tests {
		record, faults := eval.Parse(tt.text)
		for i := range record.Terms {
			if one := &record.Terms[i]; one.Offset == faults[0].Begin {
				got := repair(one, &faults[0])
				if tt.want != "" && got == "" {
					got = correctTerm(one.Raw) // which does not use the error
				}
				require.Equal(t, tt.want, got, tt.text)
			}
		}
	}
}

func TestResembles(t *testing.T) {
	for _, text := range []string{" v=spf1 -all", "v=spf", "\"v=spf1 -all\"", "v = spf1 -all", "\ufeffv=spf1", "V=SPF10",
		"spf1 mx -all", "v:spf1 -all", "v=spf1\t-all", "\u00a0v=spf1", "v=spf2.0 mx"} {
		require.True(t, resembles(text) && Meant(text), "%q", text)
	}
	for _, text := range []string{"", "v=spf1", "v=spf1 -all", "V=sPf1 mx", "v=DMARC1; p=none", "spf2.0/pra", "hello"} {
		require.False(t, resembles(text), "%q", text)
	}
}

func TestProviders(t *testing.T) {
	require.Equal(t, "Google Workspace", providerOf("_SPF.google.com"))
	require.Equal(t, "Twilio SendGrid", providerOf("u1234.wl.sendgrid.net"))
	require.Empty(t, providerOf("example.com"))
	for _, s := range provider.Services() {
		for _, domain := range s.SPF {
			require.Empty(t, targetFault(domain))
			require.Equal(t, s.Name, providerOf(domain))
		}
	}
}
