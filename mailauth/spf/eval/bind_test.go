package eval

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
)

func TestBind(t *testing.T) {
	tests := []struct{ term, domain, want string }{
		{"ip4:192.0.2.0/24", "example.com", "ip4:192.0.2.0/24"},
		{"-all", "example.com", "-all"},
		{"include:_spf.example.net", "example.com", "include:_spf.example.net"},
		{"a", "example.com", "a:example.com"},
		{"~mx/24//64", "example.com", "~mx:example.com/24//64"},
		{"ptr", "example.com", "ptr:example.com"},
		{"a:www.example.org/24", "example.com", "a:www.example.org/24"},
		{"exists:%{i}.%{d}", "mail.example.com", "exists:%{i}.mail.example.com"},
		{"exists:%{l1r-}.%{d2}.example.org", "mail.example.com", "exists:%{l1r-}.example.com.example.org"},
		{"exists:%{dr}.example.org", "mail.example.com", "exists:com.example.mail.example.org"},
		{"include:%{ir}.%{v}.%{D}", "_a.example.com", "include:%{ir}.%{v}._a.example.com"},
		{"exists:%%%_%-%{o}.%{d}", "example.com", "exists:%%%_%-%{o}.example.com"},
		{"exists:%{i}.%{d}", "a%b c.example", "exists:%{i}.a%%b%_c.example"},
		{"redirect=%{d}.example.net", "example.com", "redirect=example.com.example.net"},
		{"exp=why.%{d}", "example.com", "exp=why.example.com"},
		{"x=%{d}", "example.com", "x=%{d}"},
	}
	for _, tt := range tests {
		record, faults := Parse("v=spf1 " + tt.term)
		require.Empty(t, faults, tt.term)
		bound := record.Terms[0].Bind(tt.domain)
		require.Equal(t, tt.want, bound.String(), tt.term)
		_, faults = Parse("v=spf1 " + bound.String())
		require.Empty(t, faults, tt.want)
		require.False(t, bound.Uses("d"), tt.term)
		again := bound.Bind("other.example")
		require.Equal(t, tt.want, again.String(), "a bound term means the same everywhere")
	}
}

func TestMacros(t *testing.T) {
	record, faults := Parse("v=spf1 exists:%{L1r-}.%%{.%{ir}.%{d} a:example.com x=%{h} -all")
	require.Empty(t, faults)
	for i, want := range []string{"lid", "", "", ""} {
		for _, letter := range "slodiphvcrt" {
			require.Equal(t, strings.ContainsRune(want, letter), record.Terms[i].Uses(string(letter)), "%c", letter)
		}
	}
}

// A bound term expands to the same name in the record of another domain.
func TestBindExpands(t *testing.T) {
	run := newEvaluation(nil, Request{
		IP: netip.MustParseAddr("192.0.2.1"), Sender: "a-b@example.org", HELO: "mx.example.org", Domain: "example.org",
	})
	for _, value := range []string{"%{i}.%{d}", "%{d1}.%{o}.net", "%{l-}.%{d2r}.%%.net", "%{D}.%{h}"} {
		record, faults := Parse("v=spf1 exists:" + value)
		require.Empty(t, faults, value)
		term := record.Terms[0]
		bound := term.Bind("_x.mail.example.com")
		require.Equal(t, run.target(&term, "_x.mail.example.com"), run.target(&bound, "other.example"), value)
	}
}

// Limits can be raised up to the bounds of a tree: a loop ends.
func TestCheckBeyondLimits(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(`
		example.com. TXT "v=spf1 exists:a.example exists:b.example exists:c.example include:i1.example -all"
		i1.example.  TXT "v=spf1 mx:x.example mx:x.example mx:x.example mx:x.example mx:x.example mx:x.example mx:x.example ip4:192.0.2.0/24"
		x.example.   MX 10 mx.x.example.
		mx.x.example. A 203.0.113.1
		loop.example. TXT "v=spf1 include:loop.example"
	`)
	tests := []struct {
		domain         string
		lookups, voids int
		want           Outcome
	}{
		{"example.com", 0, 0, Permerror},
		{"example.com", 0, 3, Permerror},
		{"example.com", 11, 0, Permerror},
		{"example.com", 11, 3, Pass},
		{"loop.example", 1000, 0, Permerror},
	}
	for _, tt := range tests {
		got, err := Check(t.Context(), w.Env(), Request{
			IP: netip.MustParseAddr("192.0.2.1"), Domain: diag.MustDomain(tt.domain).String(), Lookups: tt.lookups, Voids: tt.voids,
		})
		require.NoError(t, err)
		require.Equal(t, tt.want, got.Outcome, "%+v: %s", tt, got.Reason)
		require.LessOrEqual(t, got.DNSLookups, MaxTerms+1)
	}
}
