package dane

import (
	"context"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// What is suggested can be published beside the records that are there, and then mail is delivered again. Nothing is
// suggested where nobody vouches for what the server presents.
func TestSuggestions(t *testing.T) {
	suggested := 0
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := tt.lookup(t)
			for _, rec := range r.Recommendations {
				if rec.SuggestedValue == "" {
					continue
				}
				suggested++
				require.Equal(t, diag.Code("dane.certificate.mismatch"), rec.Code)
				after := tt.setting
				spoil := after.spoil
				// Each world makes new keys, so that the suggestion is that of the world itself.
				after.spoil = func(w *diagtest.World) {
					if spoil != nil {
						spoil(w)
					}
					w.Zone(tt.fresh(t, w))
				}
				fixed := after.lookup(t)
				require.NotContains(t, diagtest.Codes(fixed.Verdict), diag.Code("dane.certificate.mismatch"))
				for _, h := range fixed.Hosts {
					if strings.Contains(rec.SuggestedValue, h.RecordName+".") {
						require.NotEqual(t, Failed, h.Status, "%+v", h)
					}
				}
				for line := range strings.SplitSeq(rec.SuggestedValue, "\n") {
					record, err := ParseRecord(line)
					require.NoError(t, err)
					require.True(t, record.UsableForSMTP())
					rr, err := dns.NewRR(line)
					require.NoError(t, err)
					require.Contains(t, []string{"_25._tcp.mx.example.com.", "_25._tcp.mx.example.net.", "_25._tcp.mx2.example.com."}, rr.Header().Name)
				}
			}
		})
	}
	require.NotZero(t, suggested)
	for _, cert := range []diagtest.Cert{diagtest.CertExpired, diagtest.CertNotYetValid, diagtest.CertWrongName,
		diagtest.CertSelfSigned, diagtest.CertUnknownAuthority, diagtest.CertMissingIntermediate} {
		s := setting{zone: oneMX + at + other, cert: diagtest.CertSpec{Cert: cert}}
		r := s.lookup(t)
		require.Equal(t, "dane.certificate.mismatch", string(r.Findings[0].Code))
		for _, rec := range r.Recommendations {
			require.Empty(t, rec.SuggestedValue, "%s", cert)
		}
	}
}

// fresh returns what is suggested in a world.
func (s *setting) fresh(t *testing.T, w *diagtest.World) string {
	for _, rec := range s.ask(t, w.NewEnv()).Recommendations {
		if rec.SuggestedValue != "" {
			return rec.SuggestedValue
		}
	}
	return ""
}

// Hosts wait for the MX records only, connections for the hosts: three round trips, however many hosts there are.
func TestRoundTrips(t *testing.T) {
	for _, tt := range []struct {
		name  string
		s     setting
		trips int
	}{
		{"one host", setting{zone: oneMX + key}, 3},
		{"IPv4 and IPv6", setting{zone: oneMX + key + "mx.example.com. AAAA 2001:db8::25\n"}, 3},
		{"many hosts", setting{zone: oneMX + key + many()}, 3},
		{"no records", setting{zone: oneMX}, 2},
		{"unsigned, with proof of it", setting{zone: oneMX, signed: "none"}, 4},
		{"null MX", setting{zone: "example.com. MX 0 .\n"}, 1},
		{"implicit MX", setting{zone: "example.com. A 192.0.2.25\n_25._tcp.example.com. TLSA 3 1 1 {key}\n",
			smtp: diagtest.SMTP{Host: "example.com"}}, 2},
		{"alias", setting{zone: "example.com. MX 10 mail.example.com.\nmail.example.com. CNAME mx.example.com.\n" +
			"mx.example.com. A 192.0.2.25\n" + key}, 4},
		{"submission", setting{zone: oneMX + "_587._tcp.mx.example.com. TLSA 3 1 1 {key}\n", smtp: diagtest.SMTP{Port: 587},
			req: Request{Port: 587}}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			trips := diagtest.RoundTrips(t, tt.s.build, func(ctx context.Context, env *diag.Env) {
				tt.s.req.Domain = diag.MustDomain("example.com")
				_, err := Lookup(ctx, env, tt.s.req)
				require.NoError(t, err)
			})
			require.Equal(t, tt.trips, trips)
		})
	}
}
