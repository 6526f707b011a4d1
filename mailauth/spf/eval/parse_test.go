package eval

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
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
		`"Value": "%{d}"`, `"Lengths": "/24//64"`, `"Lengths": "//96"`, `"Unknown": "x-y.z"`,
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

// endless is longer than the part that is read.
var endless = strings.Repeat("a ", MaxRecordLength)

func TestParseErrors(t *testing.T) {
	tests := []struct {
		text string
		kind SyntaxKind
		at   string // the part of the text that the error points to
	}{
		{"", BadVersion, ""},
		{"v=spf1mx -all", BadVersion, "v=spf1mx"},
		{"v=spf2 -all", BadVersion, "v=spf2"},
		{"hello", BadVersion, "hello"},
		{"v=spf1 a\tmx", BadCharacter, "\t"},
		{"v=spf1 \u2013all", BadCharacter, "\u2013"},
		{"v=spf1 a:b\u00fccher.example", BadCharacter, "\u00fc"},
		{"v=spf1 a:\u200bx.example", BadCharacter, "\u200b"},
		{"v=spf1 --all", BadQualifier, "--"},
		{"v=spf1 -", BadQualifier, "-"},
		{"v=spf1 ~redirect=x.example", BadQualifier, "~"},
		{"v=spf1 moo", BadMechanism, "moo"},
		{"v=spf1 -ipv4:192.0.2.1", BadMechanism, "-ipv4:192.0.2.1"},
		{"v=spf1 192.0.2.0/24", BadMechanism, "192.0.2.0/24"},
		{"v=spf1 2001:db8::1", BadMechanism, "2001:db8::1"},
		{"v=spf1 _spf.example.com", BadMechanism, "_spf.example.com"},
		{"v=spf1 :x", BadMechanism, ":x"},
		{"v=spf1 =all", BadModifier, ""},
		{"v=spf1 1up=foo", BadModifier, "1up"},
		{"v=spf1 redirect:x.example", ColonModifier, "redirect:x.example"},
		{"v=spf1 ip4:192.0.2.1-all", GluedTerms, "-all"},
		{"v=spf1 include:x.example~all", GluedTerms, "~all"},
		{"v=spf1 redirect=x.example?all", GluedTerms, "?all"},
		{"v=spf1 mx-all", GluedTerms, "-all"},
		{"v=spf1 include", ValueMissing, "include"},
		{"v=spf1 a:", ValueMissing, "a:"},
		{"v=spf1 ip4:", ValueMissing, "ip4:"},
		{"v=spf1 exp=", ValueMissing, "exp="},
		{"v=spf1 -all.", BadMechanism, "-all."},
		{"v=spf1 -all/8", ValueUnexpected, "/8"},
		{"v=spf1 ptr/0", ValueUnexpected, "/0"},
		{"v=spf1 ip4:192.0.2", BadIP4, "192.0.2"},
		{"v=spf1 ip4:192.000.02.1/24", BadIP4, "192.000.02.1"},
		{"v=spf1 ip4:192.0.2.1:25", BadIP4, "192.0.2.1:25"},
		{"v=spf1 ip6::CAFE::BABE", BadIP6, ":CAFE::BABE"},
		{"v=spf1 ip4:2001:db8::1", WrongFamily, "2001:db8::1"},
		{"v=spf1 ~ip6:192.0.2.1/24", WrongFamily, "192.0.2.1"},
		{"v=spf1 ip6:fe80::1%eth0", MacroInNetwork, "%eth0"},
		{"v=spf1 ip4:192.0.2.0/33", BadPrefix, "33"},
		{"v=spf1 ip4:192.0.2.0//32", BadPrefix, "/32"},
		{"v=spf1 ip4:192.0.2.0/", BadPrefix, ""},
		{"v=spf1 ip6:::1/129", BadPrefix, "129"},
		{"v=spf1 a/024", BadPrefix, "024"},
		{"v=spf1 a//129", BadPrefix, "129"},
		{"v=spf1 mx:x.example/33//64", BadPrefix, "33"},
		{"v=spf1 a/24/64", BadPrefix, "64"},
		{"v=spf1 mx/", BadPrefix, "/"},
		{"v=spf1 a:museum.", BadDomain, "museum."},
		{"v=spf1 a:192.0.2.1", BadDomain, "192.0.2.1"},
		{"v=spf1 a:x.123", BadDomain, "x.123"},
		{"v=spf1 a:x.-com", BadDomain, "x.-com"},
		{"v=spf1 include:x.example/24", BadDomain, "x.example/24"},
		{"v=spf1 include:/24", BadDomain, "/24"},
		{"v=spf1 redirect=-all", BadDomain, "-all"},
		{"v=spf1 a:%{d}com", BadDomain, "%{d}com"},
		{"v=spf1 a:x%", BadMacro, "%"},
		{"v=spf1 a:x%a.example", BadMacro, "%a"},
		{"v=spf1 a:%{d.example", BadMacro, "%{d.example"},
		{"v=spf1 a:%{}.example", BadMacro, "%{}"},
		{"v=spf1 a:%{d0}.example", BadMacro, "%{d0}"},
		{"v=spf1 a:%{dx}.example", BadMacro, "%{dx}"},
		{"v=spf1 a:%{c}.example", BadMacro, "%{c}"},
		{"v=spf1 x=%{t}", BadMacro, "%{t}"},
		{"v=spf1 redirect=x.example redirect=x.example", RepeatedTerm, "redirect=x.example"},
		{"v=spf1 " + endless, BadLength, endless[MaxRecordLength-len("v=spf1 "):]},
	}
	for _, tt := range tests {
		t.Run(tt.text[:min(len(tt.text), 60)], func(t *testing.T) {
			_, faults := Parse(tt.text)
			require.Len(t, faults, 1, "%v", faults)
			f := faults[0]
			require.Equal(t, tt.kind, f.Kind, f.Text)
			require.Equal(t, tt.at, tt.text[f.Offset:f.Offset+f.Length])
			require.ErrorContains(t, &f, f.Text)
		})
	}
}

// All errors are found, at any position.
func TestParseAllErrors(t *testing.T) {
	_, faults := Parse("v=spf1 moo ip4:1.2.3 -all a:%{x}.example mx/99 exp=a.example exp=b.example")
	var kinds []SyntaxKind
	for i, f := range faults {
		kinds = append(kinds, f.Kind)
		require.True(t, i == 0 || faults[i-1].Offset <= f.Offset)
	}
	require.Equal(t, []SyntaxKind{BadMechanism, BadIP4, BadMacro, BadPrefix, RepeatedTerm}, kinds)

	_, faults = Parse("v=spf1" + strings.Repeat(" x", 4000))
	require.Len(t, faults, maxFaults)
}

func TestExpand(t *testing.T) {
	// The examples of RFC 7208 section 7.4.
	l := NewLookups(t.Context(), &diag.Env{Clock: func() time.Time { return testTime }})
	e := newEvaluation(l, Request{
		IP: ip("192.0.2.3"), Sender: "strong-bad@email.example.com", HELO: "mail.example.com",
	})
	six := newEvaluation(l, Request{
		IP: ip("2001:db8::cb01"), Sender: "strong-bad@email.example.com",
	})
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
		m, fault := parseMacros(tt.macro, true)
		require.Zero(t, fault)
		got := m.expand(func(letter byte) string { return tt.run.value(letter, tt.run.sender) })
		require.Equal(t, tt.want, got, tt.macro)
	}
	require.True(t, strings.HasSuffix(truncateName(strings.Repeat("a.", 200)+"b.example.com"), ".b.example.com"))
	require.Len(t, truncateName(strings.Repeat("x.", 200)+"com"), 253)
}
