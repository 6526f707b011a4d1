//go:build mta

package smtpcheck_test

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/dane"
	"github.com/stretchr/testify/require"
)

// testDANE compares TLSA records with the certificates that real servers present after STARTTLS.
func testDANE(t *testing.T, pki *diagtest.World, chains map[string]tls.Certificate) {
	key := func(file string) string { // usage DANE-EE, of the public key
		cert, err := x509.ParseCertificate(chains[file].Certificate[0])
		require.NoError(t, err)
		return fmt.Sprintf("3 1 1 %x", sha256.Sum256(cert.RawSubjectPublicKeyInfo))
	}
	authority := fmt.Sprintf("2 0 1 %x", sha256.Sum256(chains["good"].Certificate[1]))
	tests := []struct {
		name   string
		host   host
		record string
		want   dane.Status
	}{
		{"its key", wellRun, key("good"), dane.Pass},
		{"its authority", wellRun, authority, dane.Pass},
		{"another key", wellRun, key("expired"), dane.Failed},
		{"its key, in an expired certificate", expired, key("expired"), dane.Pass}, // RFC 7672 section 3.1.1
		{"its authority, and an expired certificate", expired, authority, dane.Failed},
		{"no TLS", unencrypted, key("good"), dane.Failed},
	}
	for _, m := range mtas {
		encrypts := handshakes(t, m)
		for _, tt := range tests {
			t.Run(m.name+": "+tt.name, func(t *testing.T) {
				zone := fmt.Sprintf("example.com. MX 10 %s.\n%s. A %s\n_25._tcp.%s. TLSA %s\n", name, name,
					m.address(tt.host, 25).Addr(), name, tt.record)
				r, err := dane.Lookup(t.Context(), env(t, pki, zone), dane.Request{Domain: diag.MustDomain("example.com")})
				require.NoError(t, err)
				require.Len(t, r.Hosts, 1)
				want := tt.want
				if !encrypts {
					want = dane.Failed // senders with DANE do not deliver there, whatever the record
				}
				h := r.Hosts[0]
				require.Equal(t, want, h.Status, "%s %+v", h.Error, r.Findings)
				require.Equal(t, tt.host != unencrypted, h.StartTLS != nil && *h.StartTLS)
			})
		}
	}
}
