package markcert

import (
	"crypto/sha256"
	"crypto/x509"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// RootsFile is the list that replaces the built-in roots, see [diag.List].
const RootsFile = "mark-roots.pem"

//go:embed data/mark-roots.pem
var rootsText []byte

// BuiltInRoots returns the built-in file of roots, to be changed and used as [RootsFile].
func BuiltInRoots() []byte { return slices.Clone(rootsText) }

// A RootSet is a list of authorities for mark certificates. It does not change once made.
type RootSet struct {
	Certificates []*x509.Certificate
	pool         *x509.CertPool
	timeless     *x509.CertPool      // the same, always valid
	refused      map[string]distrust // by fingerprint
}

func newRootSet(certificates ...*x509.Certificate) *RootSet {
	s := &RootSet{Certificates: certificates, pool: x509.NewCertPool(), timeless: x509.NewCertPool(), refused: distrusted}
	for _, c := range certificates {
		s.pool.AddCert(c)
		s.timeless.AddCert(timeless(c))
	}
	return s
}

var defaultRoots = sync.OnceValue(func() *RootSet {
	s, err := ParseRoots(rootsText)
	if err != nil {
		panic(err) // the list is part of the program, and a test reads it
	}
	return s
})

// ParseRoots reads a list of root certificates as PEM. Lines outside the blocks are comments.
func ParseRoots(text []byte) (*RootSet, error) {
	b := readPEM(text)
	switch {
	case b.Form != PEM || len(b.Certificates) == 0:
		return nil, errors.New("the file has no CERTIFICATE block")
	case len(b.Broken) > 0:
		return nil, fmt.Errorf("certificate %d: %s", b.Broken[0].Index, b.Broken[0].Text)
	case b.Excess > 0:
		return nil, fmt.Errorf("the file has more than %d certificates", maxCertificates)
	}
	for _, c := range b.Certificates {
		if !c.IsCA || !c.BasicConstraintsValid {
			return nil, fmt.Errorf("the certificate of %s is not that of an authority", name(c))
		}
	}
	return newRootSet(b.Certificates...), nil
}

// roots returns the authorities of an environment. The error names the file that could not be read.
func roots(env *diag.Env) (*RootSet, error) {
	return diag.List(env, RootsFile, defaultRoots, ParseRoots)
}

// A distrust says that a provider does not accept what a root has issued since some day.
type distrust struct {
	operator, by string
	since        time.Time // certificates issued later are refused
	source       string
}

// distrusted are roots that only some providers still accept, by the SHA-256 of the certificate.
var distrusted = map[string]distrust{
	"7831d95a47d42508cd5c9e6264f9096bac19f04eb9b7c8bdd35fffc71c189617": {"Entrust", "Apple",
		time.Date(2024, time.November, 15, 23, 59, 59, 0, time.UTC),
		"https://www.entrust.com/tls-certificate-information-center/apple-changes-regarding-entrust-roots"},
}

func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}
