package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestVerifier(t *testing.T) {
	root := issue(t, authority("Root"), nil)
	middle := issue(t, authority("Middle"), root)
	stranger := issue(t, authority("Stranger"), nil)
	old := authority("Old middle")
	old.NotAfter = now.AddDate(0, 0, -1)
	oldMiddle := issue(t, old, root)

	good := issue(t, server("mx.example.com", "*.example.com"), middle)
	withAIA := server("mx.example.com")
	withAIA.IssuingCertificateURL = []string{"http://ca.example.net/middle.der"}
	forClients := server("mx.example.com")
	forClients.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	nameless := server()
	many := server("a.example.net", "b.example.net", "c.example.net", "d.example.net")

	tests := []struct {
		name   string
		chain  []*x509.Certificate
		at     time.Time
		server string
		trust  Reason
		match  Reason
		whole  bool
		text   string
	}{
		{"good", list(good, middle), now, "mx.example.com", "", "", true, ""},
		{"wildcard for one label", list(good, middle), now, "other.example.com", "", "", true, ""},
		{"wildcard for two labels", list(good, middle), now, "a.b.example.com", "", WrongName, true,
			`the certificate is for mx.example.com, *.example.com, not for a.b.example.com`},
		{"common name only", list(issue(t, nameless, middle), middle), now, "mail", "", WrongName, true,
			"the certificate lists no host names at all"},
		{"many names", list(issue(t, many, middle), middle), now, "mx.example.com", "", WrongName, true,
			"none of the 4 names in the certificate is mx.example.com"},
		{"root sent too", list(good, middle, root), now, "mx.example.com", "", "", true, ""},
		{"wrong order", list(good, root, middle), now, "mx.example.com", "", "", true, ""},
		{"expired", list(good, middle), now.AddDate(0, 0, 61), "mx.example.com", Expired, "", true,
			"the certificate expired on 2026-03-02"},
		{"not yet valid", list(good, middle), now.AddDate(0, 0, -31), "mx.example.com", NotYetValid, "", true,
			"the certificate is valid only from 2025-12-02"},
		{"intermediate expired", list(issue(t, server("mx.example.com"), oldMiddle), oldMiddle), now,
			"mx.example.com", Expired, "", true,
			`the certificate of the authority "Old middle" expired on 2025-12-31`},
		{"intermediate missing", list(issue(t, withAIA, middle)), now, "mx.example.com", Incomplete, "", false,
			`the server does not send the intermediate certificate of "Middle"`},
		{"unknown issuer", list(good), now, "mx.example.com", UnknownAuthority, "", false,
			`the chain leads to "Middle", which is not a trusted certificate authority`},
		{"unknown root", list(issue(t, server("mx.example.com"), stranger), stranger), now, "mx.example.com",
			UnknownAuthority, "", false, `the chain leads to "Stranger", which is not a trusted certificate authority`},
		{"self-signed", list(issue(t, server("mx.example.com"), nil)), now, "mx.example.com", SelfSignedLeaf, "",
			false, "the certificate is signed with its own key, not by a certificate authority"},
		{"for clients", list(issue(t, forClients, middle), middle), now, "mx.example.com", WrongUsage, "", true,
			"the certificate was not issued for this purpose"},
		{"issued by a server", list(issue(t, server("mx.example.com"), leafNamed(t, "Server", middle)),
			leafNamed(t, "Server", middle), middle), now, "mx.example.com",
			BadChain, "", false, `the certificate of "Server" may not sign others`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := Verifier{Roots: x509.NewCertPool(), ServerName: tt.server, Now: tt.at}
			v.Roots.AddCert(root.Certificate)
			got := v.DescribeChain(tt.chain)
			require.Equal(t, tt.trust, reasonOf(got.Trust))
			require.Equal(t, tt.match, reasonOf(got.Name))
			require.Equal(t, tt.trust == "", got.Trusted)
			require.Equal(t, tt.match == "", got.HostnameMatch)
			require.Equal(t, tt.whole, got.ChainComplete)
			require.Len(t, got.Chain, len(tt.chain))
			text := ""
			if err := got.Err(); err != nil {
				text = err.Error()
			}
			require.Equal(t, tt.text, text)
		})
	}
}

func TestVerifierNameConstraint(t *testing.T) {
	limited := authority("Limited")
	limited.PermittedDNSDomains, limited.PermittedDNSDomainsCritical = []string{"example.org"}, true
	root := issue(t, limited, nil)
	v := Verifier{Roots: x509.NewCertPool(), ServerName: "mx.example.com", Now: now}
	v.Roots.AddCert(root.Certificate)
	err := v.Trust(list(issue(t, server("mx.example.com"), root)))
	require.Equal(t, BadChain, reasonOf(err))
	require.ErrorAs(t, err, new(x509.CertificateInvalidError))
}

func TestVerifierNoCertificate(t *testing.T) {
	got := Verifier{ServerName: "mx.example.com", Now: now}.DescribeChain(nil)
	require.Equal(t, NoCertificate, reasonOf(got.Err()))
	require.Nil(t, got.Leaf())
	require.False(t, got.ChainComplete)
	require.NotNil(t, got.Chain)
}

func TestVerifierLongChain(t *testing.T) {
	root := issue(t, authority("Root"), nil)
	chain := list(issue(t, server("mx.example.com"), root))
	for range 5 * MaxChain {
		chain = append(chain, root.Certificate)
	}
	v := Verifier{Roots: x509.NewCertPool(), ServerName: "mx.example.com", Now: now}
	require.Len(t, v.DescribeChain(chain).Chain, MaxChain)
}

func TestVerifierIPAddress(t *testing.T) {
	template := server("mx.example.com")
	template.IPAddresses = append(template.IPAddresses, []byte{192, 0, 2, 1})
	template.Subject = pkix.Name{}
	leaf := issue(t, template, nil)
	require.NoError(t, Verifier{ServerName: "192.0.2.1"}.Name(leaf.Certificate))
	require.Error(t, Verifier{ServerName: "192.0.2.2"}.Name(leaf.Certificate))
}

// leafNamed issues a certificate that may not issue others.
func leafNamed(t *testing.T, name string, issuer *issued) *issued {
	template := server("other.example.com")
	template.Subject = pkix.Name{CommonName: name}
	return issue(t, template, issuer)
}

func list(certs ...*issued) []*x509.Certificate {
	var out []*x509.Certificate
	for _, c := range certs {
		out = append(out, c.Certificate)
	}
	return out
}

func reasonOf(err error) Reason {
	if e, ok := errors.AsType[*TrustError](err); ok {
		return e.Reason
	}
	return ""
}
