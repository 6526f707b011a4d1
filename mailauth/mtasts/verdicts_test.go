package mtasts

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
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
		age   int // days that have passed
		old   *tls.Config
		codes string
	}{
		{diagtest.CertGood, 0, nil, ""},
		{diagtest.CertExpired, 0, nil, "mtasts.policy.certificate.expired"},
		{diagtest.CertNotYetValid, 0, nil, "mtasts.policy.certificate.early"},
		{diagtest.CertSelfSigned, 0, nil, "mtasts.policy.certificate.untrusted"},
		{diagtest.CertUnknownAuthority, 0, nil, "mtasts.policy.certificate.untrusted"},
		{diagtest.CertMissingIntermediate, 0, nil, "mtasts.policy.certificate.untrusted"},
		{diagtest.CertWrongName, 0, nil, "mtasts.policy.certificate.name"},
		{diagtest.CertGood, 50, nil, "mtasts.policy.certificate.expiring mtasts.mx.certificate.expiring"},
		{diagtest.CertGood, 57, nil, "mtasts.policy.certificate.expires_now mtasts.mx.certificate.expires_now"},
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

// unknownVerdicts judges worlds with unanswered queries: silence never counts against the domain.
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
			"mtasts.policy.unknown", "none", "No connection to port 443 of mta-sts.example.com was made in time."},
		{"policy host hangs", func(w *diagtest.World) { w.Behave("192.0.2.1:443", diagtest.Hangs) },
			"mtasts.policy.unknown", "none", "The TLS handshake with mta-sts.example.com did not end in time."},
		{"MX SERVFAIL", func(w *diagtest.World) {
			w.Fault("example.com", dns.TypeMX, diagtest.Fault{Rcode: dns.RcodeServerFailure})
		},
			"mtasts.mx.unknown", "none", "the MX lookup of example.com failed: the resolver answered SERVFAIL."},
		{"address of the MX SERVFAIL", func(w *diagtest.World) { w.Break("mx.example.com", dns.RcodeServerFailure) },
			"mtasts.mx.unknown", "none", "The address lookup of mx.example.com failed: the resolver answered SERVFAIL."},
		{"TLSRPT SERVFAIL", func(w *diagtest.World) { w.Break("_smtp._tls.example.com", dns.RcodeServerFailure) },
			"", "89", ""},
		{"wrong name SERVFAIL", func(w *diagtest.World) { w.Break("_mta_sts.example.com", dns.RcodeServerFailure) }, "", "100", ""},
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
				require.Equal(t, tt.name != "wrong name SERVFAIL", r.Partial)
				for _, f := range r.Findings {
					require.Contains(t, f.Detail, tt.cause)
				}
				require.Equal(t, tt.codes != "", r.State == diag.Unknown)
			})
		})
	}
	return seen
}

// mailServerVerdicts judges mail servers under an enforced policy.
func mailServerVerdicts(t *testing.T) []diag.Verdict {
	two := "example.com. MX 20 b.example.com.\nb.example.com. A 192.0.2.26\n"
	tests := []struct {
		name    string
		zone    string
		mode    string
		server  diagtest.SMTP
		days    int
		spoil   func(*diagtest.World)
		want    string
		partial bool
	}{
		{"good", "", "enforce", diagtest.SMTP{}, 0, nil, "valid 100", false},
		{"expired", "", "enforce", diagtest.SMTP{Cert: diagtest.CertExpired}, 0, nil, "invalid 39 certificate.expired", false},
		{"expired, testing", "", "testing", diagtest.SMTP{Cert: diagtest.CertExpired}, 0, nil, "warning 88 ", false},
		{"not yet valid", "", "enforce", diagtest.SMTP{Cert: diagtest.CertNotYetValid}, 0, nil, "invalid 39 certificate.early", false},
		{"self-signed", "", "enforce", diagtest.SMTP{Cert: diagtest.CertSelfSigned}, 0, nil, "invalid 39 certificate.untrusted", false},
		{"without intermediate", "", "enforce", diagtest.SMTP{Cert: diagtest.CertMissingIntermediate}, 0, nil,
			"invalid 39 certificate.untrusted", false},
		{"other name", "", "enforce", diagtest.SMTP{Cert: diagtest.CertWrongName}, 0, nil, "invalid 39 certificate.name", false},
		{"no STARTTLS", "", "enforce", diagtest.SMTP{NoStartTLS: true}, 0, nil, "invalid 39 starttls", false},
		{"STARTTLS refused", "", "enforce", diagtest.SMTP{Replies: map[string]string{"STARTTLS": "500 no"}}, 0, nil,
			"invalid 39 starttls", false},
		{"STARTTLS deferred", "", "enforce", diagtest.SMTP{Replies: map[string]string{"STARTTLS": "454 later"}}, 0, nil,
			"valid 100 tls.unknown", true},
		{"no handshake", "", "enforce", diagtest.SMTP{TLS: &tls.Config{}}, 0, nil, "invalid 39 handshake", false},
		{"client not welcome", "", "enforce", diagtest.SMTP{Replies: map[string]string{"CONNECT": "554 go away"}}, 0, nil,
			"valid 100 tls.unknown", true},
		{"refused", "", "enforce", diagtest.SMTP{}, 0, func(w *diagtest.World) {
			w.Behave("192.0.2.25:25", diagtest.Refuses)
		}, "valid 100 tls.unknown", true},
		{"unreachable", "", "enforce", diagtest.SMTP{}, 0, func(w *diagtest.World) {
			w.Behave("192.0.2.25:25", diagtest.Unreachable)
		}, "valid 100 tls.unknown", true},
		{"hangs", "", "enforce", diagtest.SMTP{}, 0, func(w *diagtest.World) {
			w.Behave("192.0.2.25:25", diagtest.Hangs)
		}, "valid 100 tls.unknown", true},
		{"one of two unreachable", two, "enforce", diagtest.SMTP{}, 0, nil, "valid 100 tls.unknown", true},
		{"one expired, one unreachable", two, "enforce", diagtest.SMTP{Cert: diagtest.CertExpired}, 0, nil,
			"invalid 39 certificate.expired tls.unknown", true},
		{"soon", "", "enforce", diagtest.SMTP{}, 50, nil, "warning 89 certificate.expiring", false},
		{"now", "", "enforce", diagtest.SMTP{}, 55, nil, "invalid 69 certificate.expires_now", false},
	}
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run("mail server "+tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := diagtest.NewWorld(t)
				w.Zone(good + tt.zone)
				tt.server.Host = "mx.example.com"
				w.SMTP(tt.server)
				w.Advance(time.Duration(tt.days) * 24 * time.Hour)
				text := strings.ReplaceAll(strings.ReplaceAll(policy, "mx.", "*."), "enforce", tt.mode)
				cert := w.Certificate(diagtest.CertSpec{Names: []string{"mta-sts.example.com"}, NotAfter: w.Now().AddDate(0, 2, 0)})
				w.Site(diagtest.Site{Host: "mta-sts.example.com", Handler: serve(text), HTTP1: true,
					TLS: &tls.Config{Certificates: []tls.Certificate{cert}, Time: w.Now}})
				if tt.spoil != nil {
					tt.spoil(w)
				}
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
				defer cancel()
				r, err := Lookup(ctx, w.Env(), request)
				require.NoError(t, err)
				require.Less(t, time.Since(began), 15*time.Second)
				got := string(r.State) + " " + diagtest.Score(r.Verdict)
				for _, code := range seen.Add(r.Verdict) {
					got += " " + strings.TrimPrefix(string(code), "mtasts.mx.")
				}
				require.Equal(t, strings.TrimSpace(tt.want), strings.Replace(got, " mtasts.policy.mode.testing", "", 1), "%+v", r.Findings)
				require.Equal(t, tt.partial, r.Partial)
				require.Equal(t, tt.partial, strings.Contains(r.Sub, "was not tested") || r.State != diag.Valid && tt.partial)
				for _, check := range r.Passed { // untested checks do not count as passed
					require.False(t, tt.partial && strings.HasPrefix(string(check.Code), "mtasts.mx.certificate"), check.Code)
				}
			})
		})
	}
	return seen
}
