package spf

import (
	"fmt"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// No name exists below a nonexistent one, whatever the values of the macros before it.
func TestMacrosBelowNothing(t *testing.T) {
	const zone = hosts + "example.com. MX 10 mx.example.com.\n" +
		"x.there.example.net. A 192.0.2.1\nalias.example.net. CNAME nowhere.example.org.\nexample.org. A 192.0.2.1\n"
	tests := []struct{ record, want string }{
		{"v=spf1 include:%{ir}.%{v}.%{d}.spf.gone.example.net -all", "invalid 39 spf.include.missing"},
		{"v=spf1 include:%{i}._spf.%{d} -all", "invalid 39 spf.include.missing"},
		{"v=spf1 include:%{i}-x._spf.gone.example.net -all", "invalid 39 spf.include.missing"},
		{"v=spf1 mx redirect=%{l}.gone.example.net", "invalid 39 spf.redirect.missing"},
		{"v=spf1 include:%{i}.gone-domain.net -all", "invalid 39 spf.term.dangling spf.include.missing"},
		{"v=spf1 mx exists:%{i}.gone.example.net -all", "warning 89 spf.exists.void"},
		{"v=spf1 mx a:%{l}.gone.example.net -all", "warning 89 spf.a.void"},
		{"v=spf1 mx mx:%{h}.gone.example.net -all", "warning 89 spf.mx.void"},
		{"v=spf1 exists:%{i}.gone.example.net -all", "invalid 69 spf.senders.none spf.exists.void"},
		{"v=spf1 include:%{i}.there.example.net -all", "valid 100"},
		{"v=spf1 include:%{i}.alias.example.net -all", "valid 100"},
		{"v=spf1 include:%{i}.there.%{l} -all", "valid 100"},
		{"v=spf1 exists:%{i}.%{h} -all", "valid 100"},
	}
	for _, tt := range tests {
		for _, ip := range []string{"", "192.0.2.77", "2001:db8::77"} {
			t.Run(tt.record+" "+ip, func(t *testing.T) {
				w := zoneWith(t, tt.record, zone)
				req := request
				if ip != "" {
					req.IP = diag.MustIP(ip)
				}
				r, err := Lookup(t.Context(), w.Env(), req)
				require.NoError(t, err)
				got := fmt.Sprintf("%s %s %s", r.State, diagtest.Score(r.Verdict), join(diagtest.Codes(r.Verdict)))
				require.Equal(t, tt.want, strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(got), "spf.ip.result")), "%+v", r.Findings)
				if strings.Contains(tt.want, ".missing") {
					require.True(t, ip == "" || r.IPTest.Result == eval.Permerror)
					require.Equal(t, !strings.Contains(tt.record, " mx "), r.Broken())
				}
			})
		}
	}
	w := zoneWith(t, "v=spf1 mx include:%{i}.silent.example.net -all", zone)
	w.Fault("silent.example.net", dns.TypeTXT, diagtest.Fault{Rcode: dns.RcodeServerFailure})
	r := lookup(t, w)
	require.False(t, r.Valid)
	require.True(t, r.Partial)
	for _, c := range r.Passed {
		require.NotEqual(t, diag.Code("spf.senders.none"), c.Code)
	}
	w = zoneWith(t, "v=spf1 mx include:%{i}.gone.example.net -all", zone)
	require.Equal(t, "v=spf1 mx ~all", lookup(t, w).Recommendations[0].SuggestedValue)
	require.Equal(t, 1, w.Asked("gone.example.net", dns.TypeTXT))
	w = zoneWith(t, "v=spf1 include:%{ir}.%{v}.%{d}.there.example.net -all", zone)
	require.True(t, lookup(t, w).Valid)
	require.Equal(t, 1, w.Asked("there.example.net", dns.TypeTXT))
}
