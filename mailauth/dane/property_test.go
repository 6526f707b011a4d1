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

// A suggestion can be published next to the existing records, and then mail is delivered again. Nothing is suggested
// where no authority vouches for the server's certificate.
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
				require.Contains(t, []diag.Code{"dane.certificate.mismatch", "dane.tlsa.unusable", "dane.tlsa.usage.pkix",
					"dane.tlsa.location", "dane.tlsa.dormant"}, rec.Code)
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
				for _, code := range []diag.Code{"dane.certificate.mismatch", "dane.tlsa.unusable", "dane.tlsa.location", "dane.tlsa.dormant"} {
					require.NotContains(t, diagtest.Codes(fixed.Verdict), code)
				}
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

// Records that the advice would bring into force are judged as if they were: one is only said to match, or to be
// moved, if the server presents its key.
func TestDormant(t *testing.T) {
	const away = "_25._tcp.example.com. TLSA "
	stale := strings.Fields(other)[3]
	tests := []struct {
		name            string
		s               setting
		advice, suggest string // what they hold, of the first finding
	}{
		{"old key at the domain", setting{zone: oneMX + away + other}, "Do not move these", "_25._tcp.mx.example.com. IN TLSA 3 1 1"},
		{"present key at the domain", setting{zone: oneMX + away + "3 1 1 {key}\n"}, "match the present key",
			"_25._tcp.mx.example.com. IN TLSA 3 1 1"},
		{"old key at the domain, not compared", setting{zone: oneMX + away + other, req: Request{Verify: new(false)}},
			"unless they match", ""},
		{"old key at the domain, no TLS", setting{zone: oneMX + away + other, smtp: diagtest.SMTP{NoStartTLS: true}},
			"unless they match", ""},
		{"old key at the domain, untested address", setting{zone: oneMX + "mx.example.com. A 192.0.2.26\n" + away + other},
			"Do not move these", ""},
		{"old key at the domain, unsigned", setting{zone: oneMX + away + other, signed: "none"}, "Do not move these", ""},
		{"old key, unsigned", setting{zone: oneMX + at + other, signed: "none"}, "before the zone is signed",
			"_25._tcp.mx.example.com. IN TLSA 3 1 1"},
		{"present key, unsigned", setting{zone: oneMX + key, signed: "none"}, "Sign the zone", ""},
		{"present key, unsigned, not compared", setting{zone: oneMX + key, signed: "none", req: Request{Verify: new(false)}},
			"Check first that the TLSA records match", ""},
		{"present key with an unknown usage", setting{zone: oneMX + key + at + other + at + "4 1 1 {key}\n"},
			"Publish the record as 3 1 1", ""},
		{"old key with an unknown usage", setting{zone: oneMX + key + at + other + at + "4 1 1" + other[5:]}, "Remove the record", ""},
		{"old key with a cut digest", setting{zone: oneMX + key + at + other + at + "3 1 2 abab\n"}, "Remove the record", ""},
		{"certificate with the unknown selector", setting{zone: oneMX + key + at + other + at + "3 2 1 {cert}\n"},
			"Publish the record as 3 0 1", ""},
		{"only the usage of PKIX, present key", setting{zone: oneMX + at + "1 1 1 {key}\n"}, "Publish a TLSA record 3 1 1",
			"_25._tcp.mx.example.com. IN TLSA 3 1 1"},
		{"only the usage of PKIX, old key", setting{zone: oneMX + at + "1 1 1" + other[5:]}, "Publish a TLSA record 3 1 1",
			"_25._tcp.mx.example.com. IN TLSA 3 1 1"},
		{"root that is not sent", setting{zone: oneMX + at + "2 1 1 {rootkey}\n"}, "Let the server send the certificate of",
			"_25._tcp.mx.example.com. IN TLSA 3 1 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := tt.s.lookup(t)
			require.Contains(t, r.Findings[0].Advice, tt.advice)
			value := r.Recommendations[0].SuggestedValue
			require.Contains(t, value, tt.suggest)
			require.Equal(t, tt.suggest == "", value == "", value)
			require.NotContains(t, value, stale)
		})
	}
}
