package hostedspf

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// For any two records, of which one may include the other, nothing panics, queries stay within the bounds of a tree,
// and the published records stay within bounds and have the same meaning.
func FuzzFlatten(f *testing.F) {
	f.Add("v=spf1 include:pass.example -ip4:192.0.2.1 a mx ~all", "v=spf1 ip4:192.0.2.0/24 -all")
	f.Add("v=spf1 include:%{d1r}.x ptr exists:%{i}.%{d} redirect=n.example", "v=spf1 ?include:a.%{o} exp=%{d}.x ip6:::/0")
	f.Add("v=spf1 include:n.example", "v=spf1 a:%{d}/24//64 mx:5.%{dr} ptr redirect=%{p}.x")
	f.Add("v=spf1 ip6:::ffff:192.0.2.0/120 ip4:0.0.0.0/0 ?all", "v=spf1 include:pass.example +all")
	f.Fuzz(func(t *testing.T, source, other string) {
		if _, faults := eval.Parse(source); len(faults) > 0 || len(other) > eval.MaxRecordLength {
			return
		}
		w := world(t, "")
		w.Zone("n.example. TXT" + escaped(other))
		report := flatten(t, w, source)
		require.LessOrEqual(t, len(w.Queries()), spf.MaxQuestions+1)
		p := report.Published
		require.Equal(t, p == nil, report.Error != "")
		if p == nil {
			return
		}
		require.Less(t, p.LookupsAfter, eval.MaxLookups)
		publish(w, p.Records)
		for _, r := range p.Records {
			require.Less(t, len(r.Value), 450)
		}
		w.Zone("example.com. TXT" + escaped(source))
		for _, ip := range []string{"192.0.2.1", "192.0.2.9", "198.51.100.200", "203.0.113.1", "2001:db8::9", "2001:db9::"} {
			want := check(t, w, netip.MustParseAddr(ip), domain.String(), eval.MaxTerms)
			got := check(t, w, netip.MustParseAddr(ip), host, eval.MaxTerms)
			require.Equal(t, want.Outcome, got.Outcome, "%s %v: %s %s", ip, p.Records, want.Reason, got.Reason)
		}
	})
}

// escaped writes any bytes as character-strings of a master file.
func escaped(text string) string {
	b := []byte{}
	for i := range len(text) {
		if i%255 == 0 {
			if i > 0 {
				b = append(b, '"')
			}
			b = append(b, ' ', '"')
		}
		c := text[i]
		b = append(b, '\\', '0'+c/100, '0'+c/10%10, '0'+c%10)
	}
	if len(text) == 0 {
		b = append(b, ' ', '"')
	}
	return string(append(b, '"'))
}
