package dane

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// When the vectors were made, which is within the validity of all certificates but the expired ones.
var vectorTime = time.Date(2026, time.November, 21, 0, 0, 0, 0, time.UTC)

// Verify agrees with OpenSSL.
func TestConformanceVectors(t *testing.T) {
	type vector struct {
		Name, Chain, Host, Why string
		TLSA                   []string
		OK                     *bool `json:"openssl_ok"`
	}
	passed, total := 0, 0
	for _, file := range diagtest.Vectors(t, "mail/dane/*.json") {
		for _, c := range diagtest.Cases[vector](t, []string{file}) {
			total++
			t.Run(c.Name, func(t *testing.T) {
				require.NotNil(t, c.OK)
				var records []Record
				for _, text := range c.TLSA {
					r, err := ParseRecord(text)
					require.NoError(t, err)
					records = append(records, r)
				}
				r := Verify(records, Peer{
					Chain: readChain(t, filepath.Join(filepath.Dir(file), "chain-"+c.Chain+".pem")),
					Names: []string{c.Host}, Now: vectorTime, Roots: x509.NewCertPool(),
				})
				require.Equal(t, *c.OK, r.OK(), "OpenSSL: %s; here: %v", c.Why, r.Err())
				passed++
			})
		}
	}
	t.Logf("vectors: %d/%d", passed, total)
}

func readChain(t testing.TB, path string) (chain []*x509.Certificate) {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			require.NotEmpty(t, chain)
			return chain
		}
		c, err := x509.ParseCertificate(block.Bytes)
		require.NoError(t, err)
		chain, text = append(chain, c), rest
	}
}
