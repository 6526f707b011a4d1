package spf

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/mailauth/provider"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	text := "v=spf1 -IP4:192.0.2.0/24 ip6:2001:db8::1 ?a:%{d}/24//64 mx//96 ~include:A.example. ptr " +
		"exists:%{ir}.x.example redirect=b.example x-y.z=%_1 +all"
	r, faults := Parse(text)
	require.Empty(t, faults)
	got, err := json.MarshalIndent(r, "", " ")
	require.NoError(t, err)
	for _, want := range []string{
		`"Name": "ip4",`, `"Network": "192.0.2.0/24"`, `"Network": "2001:db8::1/128"`, `"Value": "A.example."`,
		`"Value": "%{d}"`, `"PrefixV4": 24`, `"PrefixV6": 64`, `"PrefixV6": 96`, `"Unknown": "x-y.z"`,
	} {
		require.Contains(t, string(got), want)
	}
	for i := range r.Terms {
		term := &r.Terms[i]
		require.Equal(t, term.Raw, text[term.Offset:term.Offset+len(term.Raw)])
	}
	require.Equal(t, "v=spf1 -ip4:192.0.2.0/24 ip6:2001:db8::1 ?a:%{d}/24//64 mx//96 ~include:A.example. ptr "+
		"exists:%{ir}.x.example redirect=b.example x-y.z=%_1 all", r.String())
}

// endless is more than is read.
var endless = strings.Repeat("a ", MaxRecordLength)

func TestParseErrors(t *testing.T) {
	tests := []struct {
		text      string
		kind      SyntaxKind
		at        string // the part of the text that the error points to
		suggested string
	}{
		{"", badVersion, "", ""},
		{"v=spf1mx -all", badVersion, "v=spf1mx", ""},
		{"v=spf2 -all", badVersion, "v=spf2", ""},
		{"hello world", badVersion, "hello world", ""},
		{"v=spf1 a\tmx", badCharacter, "\t", ""},
		{"v=spf1 \u2013all", badCharacter, "\u2013", ""},
		{"v=spf1 a:b\u00fccher.example", badCharacter, "\u00fc", ""},
		{"v=spf1 a:\u200bx.example", badCharacter, "\u200b", ""},
		{"v=spf1 --all", badQualifier, "--", "-all"},
		{"v=spf1 -", badQualifier, "-", ""},
		{"v=spf1 ~redirect=x.example", badQualifier, "~", "redirect=x.example"},
		{"v=spf1 moo", badMechanism, "moo", ""},
		{"v=spf1 -ipv4:192.0.2.1", badMechanism, "-ipv4:192.0.2.1", "-ip4:192.0.2.1"},
		{"v=spf1 192.0.2.0/24", badMechanism, "192.0.2.0/24", "ip4:192.0.2.0/24"},
		{"v=spf1 2001:db8::1", badMechanism, "2001:db8::1", "ip6:2001:db8::1"},
		{"v=spf1 _spf.example.com", badMechanism, "_spf.example.com", "include:_spf.example.com"},
		{"v=spf1 :x", badMechanism, ":x", ""},
		{"v=spf1 =all", badModifier, "", ""},
		{"v=spf1 1up=foo", badModifier, "1up", ""},
		{"v=spf1 redirect:x.example", colonModifier, "redirect:x.example", "redirect=x.example"},
		{"v=spf1 ip4:192.0.2.1-all", gluedTerms, "-all", "ip4:192.0.2.1 -all"},
		{"v=spf1 include:x.example~all", gluedTerms, "~all", "include:x.example ~all"},
		{"v=spf1 redirect=x.example?all", gluedTerms, "?all", "redirect=x.example ?all"},
		{"v=spf1 mx-all", gluedTerms, "-all", "mx -all"},
		{"v=spf1 include", valueMissing, "include", ""},
		{"v=spf1 a:", valueMissing, "a:", ""},
		{"v=spf1 ip4:", valueMissing, "ip4:", ""},
		{"v=spf1 exp=", valueMissing, "exp=", ""},
		{"v=spf1 -all.", badMechanism, "-all.", "-all"},
		{"v=spf1 -all/8", valueUnexpected, "/8", "-all"},
		{"v=spf1 ptr/0", valueUnexpected, "/0", "ptr"},
		{"v=spf1 ip4:192.0.2", badIP4, "192.0.2", ""},
		{"v=spf1 ip4:192.000.02.1/24", badIP4, "192.000.02.1", "ip4:192.0.2.1/24"},
		{"v=spf1 ip4:192.0.2.1:25", badIP4, "192.0.2.1:25", ""},
		{"v=spf1 ip6::CAFE::BABE", badIP6, ":CAFE::BABE", ""},
		{"v=spf1 ip4:2001:db8::1", wrongFamily, "2001:db8::1", "ip6:2001:db8::1"},
		{"v=spf1 ~ip6:192.0.2.1/24", wrongFamily, "192.0.2.1", "~ip4:192.0.2.1/24"},
		{"v=spf1 ip6:fe80::1%eth0", macroInNetwork, "%eth0", ""},
		{"v=spf1 ip4:192.0.2.0/33", badPrefix, "33", ""},
		{"v=spf1 ip4:192.0.2.0//32", badPrefix, "/32", ""},
		{"v=spf1 ip4:192.0.2.0/", badPrefix, "", ""},
		{"v=spf1 ip6:::1/129", badPrefix, "129", ""},
		{"v=spf1 a/024", badPrefix, "024", ""},
		{"v=spf1 a//129", badPrefix, "129", ""},
		{"v=spf1 mx:x.example/33//64", badPrefix, "33", ""},
		{"v=spf1 a/24/64", badPrefix, "64", ""},
		{"v=spf1 mx/", badPrefix, "/", ""},
		{"v=spf1 a:museum.", badDomain, "museum.", ""},
		{"v=spf1 a:192.0.2.1", badDomain, "192.0.2.1", "ip4:192.0.2.1"},
		{"v=spf1 a:x.123", badDomain, "x.123", ""},
		{"v=spf1 a:x.-com", badDomain, "x.-com", ""},
		{"v=spf1 include:x.example/24", badDomain, "x.example/24", "include:x.example"},
		{"v=spf1 include:/24", badDomain, "/24", ""},
		{"v=spf1 redirect=-all", badDomain, "-all", ""},
		{"v=spf1 a:%{d}com", badDomain, "%{d}com", ""},
		{"v=spf1 a:x%", badMacro, "%", ""},
		{"v=spf1 a:x%a.example", badMacro, "%a", ""},
		{"v=spf1 a:%{d.example", badMacro, "%{d.example", ""},
		{"v=spf1 a:%{}.example", badMacro, "%{}", ""},
		{"v=spf1 a:%{d0}.example", badMacro, "%{d0}", ""},
		{"v=spf1 a:%{dx}.example", badMacro, "%{dx}", ""},
		{"v=spf1 a:%{c}.example", badMacro, "%{c}", ""},
		{"v=spf1 x=%{t}", badMacro, "%{t}", ""},
		{"v=spf1 redirect=x.example redirect=x.example", repeatedTerm, "redirect=x.example", ""},
		{"v=spf1 " + endless, badLength, endless[MaxRecordLength-len("v=spf1 "):], ""},
	}
	for _, tt := range tests {
		t.Run(tt.text[:min(len(tt.text), 60)], func(t *testing.T) {
			_, faults := Parse(tt.text)
			require.Len(t, faults, 1, "%v", faults)
			f := faults[0]
			require.Equal(t, tt.kind, f.Kind, f.Text)
			require.Equal(t, tt.at, tt.text[f.Offset:f.Offset+f.Length])
			require.Equal(t, tt.suggested, f.Suggested)
			require.ErrorContains(t, &f, f.Text)
		})
	}
}

// All errors are found, wherever they stand.
func TestParseAllErrors(t *testing.T) {
	_, faults := Parse("v=spf1 moo ip4:1.2.3 -all a:%{x}.example mx/99 exp=a.example exp=b.example")
	var kinds []SyntaxKind
	for i, f := range faults {
		kinds = append(kinds, f.Kind)
		require.True(t, i == 0 || faults[i-1].Offset <= f.Offset)
	}
	require.Equal(t, []SyntaxKind{badMechanism, badIP4, badMacro, badPrefix, repeatedTerm}, kinds)

	_, faults = Parse("v=spf1" + strings.Repeat(" x", 4000))
	require.Len(t, faults, maxFaults)
}

func TestResembles(t *testing.T) {
	for _, text := range []string{" v=spf1 -all", "v=spf", "\"v=spf1 -all\"", "v = spf1 -all", "\ufeffv=spf1", "V=SPF10",
		"spf1 mx -all", "v:spf1 -all", "v=spf1\t-all", "\u00a0v=spf1", "v=spf2.0 mx"} {
		require.True(t, resembles(text), "%q", text)
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

func TestExpand(t *testing.T) {
	// The examples of RFC 7208 section 7.4.
	e := newEvaluation(nil, CheckRequest{
		IP: prefixes("192.0.2.3/32")[0].Addr(), Sender: "strong-bad@email.example.com", HELO: "mail.example.com",
	}, testTime)
	six := newEvaluation(nil, CheckRequest{
		IP: prefixes("2001:db8::cb01/128")[0].Addr(), Sender: "strong-bad@email.example.com",
	}, testTime)
	tests := []struct {
		run         *evaluation
		macro, want string
	}{
		{e, "%{s}", "strong-bad@email.example.com"},
		{e, "%{o}", "email.example.com"},
		{e, "%{d}", "email.example.com"},
		{e, "%{d4}", "email.example.com"},
		{e, "%{d3}", "email.example.com"},
		{e, "%{d2}", "example.com"},
		{e, "%{d1}", "com"},
		{e, "%{dr}", "com.example.email"},
		{e, "%{d2r}", "example.email"},
		{e, "%{l}", "strong-bad"},
		{e, "%{l-}", "strong.bad"},
		{e, "%{lr}", "strong-bad"},
		{e, "%{lr-}", "bad.strong"},
		{e, "%{l1r-}", "strong"},
		{e, "%{ir}.%{v}._spf.%{d2}", "3.2.0.192.in-addr._spf.example.com"},
		{e, "%{lr-}.lp._spf.%{d2}", "bad.strong.lp._spf.example.com"},
		{e, "%{lr-}.lp.%{ir}.%{v}._spf.%{d2}", "bad.strong.lp.3.2.0.192.in-addr._spf.example.com"},
		{e, "%{ir}.%{v}.%{l1r-}.lp._spf.%{d2}", "3.2.0.192.in-addr.strong.lp._spf.example.com"},
		{e, "%{d2}.trusted-domains.example.net", "example.com.trusted-domains.example.net"},
		{six, "%{ir}.%{v}._spf.%{d2}",
			"1.0.b.c.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6._spf.example.com"},
		{e, "%{h}", "mail.example.com"},
		{e, "%{S}", "strong-bad%40email.example.com"},
		{e, "%%%_%-", "% %20"},
		{e, "%{c} %{r} %{t}", "192.0.2.3 unknown 1767225600"},
		{six, "%{c}", "2001:db8::cb01"},
		{e, "%{d999999999999999999999}", "email.example.com"},
	}
	for _, tt := range tests {
		m, _, _, fault := parseMacros(tt.macro, true)
		require.Empty(t, fault)
		got := m.expand(func(letter byte) string { return tt.run.value(letter, tt.run.domain) })
		require.Equal(t, tt.want, got, tt.macro)
	}
	require.True(t, strings.HasSuffix(fit(strings.Repeat("a.", 200)+"b.example.com"), ".b.example.com"))
	require.Len(t, fit(strings.Repeat("x.", 200)+"com"), 253)
}
