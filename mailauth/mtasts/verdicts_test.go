package mtasts

import (
	"context"
	"crypto/tls"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// tlsVerdicts judges policy hosts with all kinds of certificates.
func tlsVerdicts(t *testing.T) []diag.Verdict {
	old := &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	tests := []struct {
		cert  diagtest.Cert
		age   int // days that pass
		old   *tls.Config
		codes string
	}{
		{diagtest.CertGood, 0, nil, ""},
		{diagtest.CertExpired, 0, nil, "mtasts.policy.certificate.expired"},
		{diagtest.CertNotYetValid, 0, nil, "mtasts.policy.certificate.untrusted"},
		{diagtest.CertSelfSigned, 0, nil, "mtasts.policy.certificate.untrusted"},
		{diagtest.CertUnknownAuthority, 0, nil, "mtasts.policy.certificate.untrusted"},
		{diagtest.CertMissingIntermediate, 0, nil, "mtasts.policy.certificate.untrusted"},
		{diagtest.CertWrongName, 0, nil, "mtasts.policy.certificate.name"},
		{diagtest.CertGood, 50, nil, "mtasts.policy.certificate.expiring"},
		{diagtest.CertGood, 0, old, "mtasts.policy.tls.version"},
		{diagtest.CertGood, 0, &tls.Config{}, "mtasts.policy.tls.handshake"},
	}
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run(fmt.Sprintf("certificate %s after %d days: %s", tt.cert, tt.age, tt.codes), func(t *testing.T) {
			w := published(t, good, nil)
			site := diagtest.Site{Host: "mta-sts.example.com", Handler: serve(policy), Cert: tt.cert, TLS: tt.old}
			if site.TLS == old {
				cert := w.Certificate(diagtest.CertSpec{Names: []string{"mta-sts.example.com"}})
				site.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: old.MinVersion,
					MaxVersion: old.MaxVersion, Time: w.Now}
				site.HTTP1 = true
			}
			w.Site(site)
			w.Advance(time.Duration(tt.age) * 24 * time.Hour)
			r := lookup(t, w)
			require.Equal(t, tt.codes, join(seen.Add(r.Verdict)), "%+v", r.Findings)
			require.Equal(t, r.State == diag.Valid || r.State == diag.Warned, r.Valid)
			require.False(t, r.Partial)
		})
	}
	return seen
}

// unknownVerdicts judges worlds in which servers do not say: that is never held against the domain.
func unknownVerdicts(t *testing.T) []diag.Verdict {
	tests := []struct {
		name  string
		spoil func(*diagtest.World)
		codes string
		score string
		cause string // in the detail of the finding
	}{
		{"record SERVFAIL", func(w *diagtest.World) { w.Break("_mta-sts.example.com", dns.RcodeServerFailure) },
			"mtasts.record.unknown", "none",
			"_mta-sts.example.com failed: the resolver answered SERVFAIL."},
		{"record silent", func(w *diagtest.World) { w.Silence("_mta-sts.example.com") }, "mtasts.record.unknown", "none",
			"_mta-sts.example.com failed: no response."},
		{"policy host SERVFAIL", func(w *diagtest.World) { w.Break("mta-sts.example.com", dns.RcodeServerFailure) },
			"mtasts.policy.unknown", "none", "the resolver answered SERVFAIL"},
		{"policy host unreachable", func(w *diagtest.World) { w.Behave("192.0.2.1:443", diagtest.Unreachable) },
			"mtasts.policy.unknown", "none", "No connection to mta-sts.example.com came about in time."},
		{"policy host hangs", func(w *diagtest.World) { w.Behave("192.0.2.1:443", diagtest.Hangs) },
			"mtasts.policy.unknown", "none", "The TLS handshake did not end in time."},
		{"MX SERVFAIL", func(w *diagtest.World) {
			w.Fault("example.com", dns.TypeMX, diagtest.Fault{Rcode: dns.RcodeServerFailure})
		},
			"mtasts.mx.unknown", "none", "The MX lookup of example.com failed: the resolver answered SERVFAIL."},
		{"address of the MX SERVFAIL", func(w *diagtest.World) { w.Break("mx.example.com", dns.RcodeServerFailure) },
			"mtasts.mx.unknown", "none", "The address lookup of mx.example.com failed: the resolver answered SERVFAIL."},
		{"TLSRPT SERVFAIL", func(w *diagtest.World) { w.Break("_smtp._tls.example.com", dns.RcodeServerFailure) },
			"", "100", ""},
	}
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := published(t, good, serve(policy))
				tt.spoil(w)
				ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
				defer cancel()
				r, err := Lookup(ctx, w.Env(), request)
				require.NoError(t, err)
				require.Equal(t, tt.codes, join(seen.Add(r.Verdict)), "%+v", r.Findings)
				require.Equal(t, tt.score, diagtest.Score(r.Verdict))
				require.True(t, r.Partial)
				for _, f := range r.Findings {
					require.Contains(t, f.Detail, tt.cause)
				}
				require.Equal(t, tt.codes != "", r.State == diag.Unknown)
			})
		})
	}
	return seen
}
