package markcert

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// usageDER is the extended key usage of mark certificates in DER.
var usageDER = []byte{0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x1f}

// certificates reads the PEM blocks of a file, in the plainest way.
func certificates(t *testing.T, file string) (list []*x509.Certificate) {
	t.Helper()
	rest, err := os.ReadFile(file)
	require.NoError(t, err)
	for {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			require.NotEmpty(t, list, "%s has no certificate", file)
			return list
		}
		c, err := x509.ParseCertificate(b.Bytes)
		require.NoError(t, err)
		list = append(list, c)
	}
}

// The certificates are read a second time, independently: by the bytes of the purpose, by crypto/x509 with the roots
// next to them, and with the logo found by its text.
func TestConformanceCertificates(t *testing.T) {
	pool := x509.NewCertPool()
	for _, file := range diagtest.Suite(t, "mail/bimi/roots/*.pem") {
		for _, c := range certificates(t, file) {
			pool.AddCert(c)
		}
	}
	accepted, refused := 0, 0
	for _, file := range diagtest.Suite(t, "mail/bimi/vmc/*.pem") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			list := certificates(t, file)
			leaf := list[0]
			middle := leaf.NotBefore.Add(leaf.NotAfter.Sub(leaf.NotBefore) / 2)
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			r, err := Parse(t.Context(), &diag.Env{Clock: func() time.Time { return middle }}, ParseRequest{PEM: string(text)})
			require.NoError(t, err)

			marks := bytes.Contains(leaf.Raw, usageDER) && !leaf.IsCA
			if !marks || !verifies(list, pool, middle) {
				refused++
				require.False(t, r.Valid)
				require.Equal(t, diag.Bad, r.State)
				require.Equal(t, !marks, r.Findings[0].Code == "cert_not_vmc", "%+v", r.Findings)
				return
			}
			accepted++
			for _, f := range r.Findings {
				require.Less(t, f.Severity, diag.Critical, "%+v", f)
			}
			require.True(t, *r.ChainTrusted && r.Certificate.CARecognized, "%+v", r)
			for _, stamp := range r.Timestamps {
				require.Equal(t, stamp.Log != "", stamp.Verified != nil && *stamp.Verified, "%+v", stamp)
			}
			require.Equal(t, searched(t, leaf.Raw), r.Certificate.LogoSHA256)
			require.Equal(t, leaf.DNSNames, r.Certificate.SAN.DNS)
			for _, name := range leaf.DNSNames {
				_, domain, selector := strings.Cut(name, "._bimi.")
				if !selector {
					domain = name
				}
				late, err := Parse(t.Context(), &diag.Env{Clock: func() time.Time { return leaf.NotAfter.Add(time.Second) }},
					ParseRequest{PEM: string(text), Domain: diag.MustDomain(domain)})
				require.NoError(t, err)
				require.Equal(t, diag.Code("cert_expired"), late.Findings[0].Code)
				require.True(t, *late.Certificate.CoversDomain && late.Certificate.CARecognized && !*late.ChainTrusted)
			}
		})
	}
	t.Logf("%d certificates accepted, %d refused", accepted, refused)
}

func verifies(list []*x509.Certificate, roots *x509.CertPool, at time.Time) bool {
	leaf := list[0]
	leaf.UnhandledCriticalExtensions = nil
	between := x509.NewCertPool()
	for _, c := range list[1:] {
		between.AddCert(c)
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	return err == nil
}

// searched finds the logo by its text and returns its hash.
func searched(t *testing.T, der []byte) string {
	t.Helper()
	const prefix = "data:image/svg+xml;base64,"
	_, rest, ok := bytes.Cut(der, []byte(prefix))
	require.True(t, ok, "there is no logo")
	end := bytes.IndexFunc(rest, func(r rune) bool {
		return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=", r)
	})
	text := rest[:end-end%4] // what follows may happen to be a letter
	data, err := base64.StdEncoding.DecodeString(string(text))
	require.NoError(t, err)
	z, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	z.Multistream(false)
	logo, err := io.ReadAll(z)
	require.NoError(t, err)
	sum := sha256.Sum256(logo)
	return hex.EncodeToString(sum[:])
}

// The built-in roots are those of the vectors.
func TestConformanceRoots(t *testing.T) {
	known := map[string]bool{}
	for _, c := range defaultRoots().Certificates {
		known[fingerprint(c)] = true
	}
	files := diagtest.Suite(t, "mail/bimi/roots/*.pem")
	for _, file := range files {
		for _, c := range certificates(t, file) {
			require.True(t, known[fingerprint(c)], "%s is missing", name(c))
		}
	}
	t.Logf("%d roots known", len(files))
}
