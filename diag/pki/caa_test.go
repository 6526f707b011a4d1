package pki_test

import (
	"testing"

	"github.com/diagkit/diagkit/diag/pki"
	"github.com/stretchr/testify/require"
)

func TestCAAIssuer(t *testing.T) {
	for _, tt := range []struct{ value, domain, fault string }{
		{"letsencrypt.org", "letsencrypt.org", ""},
		{" LetsEncrypt.org\t", "letsencrypt.org", ""},
		{"ca", "ca", ""},
		{"xn--bcher-kva.example", "xn--bcher-kva.example", ""},
		{"", "", ""},
		{";", "", ""},
		{" ; ", "", ""},
		{"letsencrypt.org;", "letsencrypt.org", ""},
		{"letsencrypt.org; validationmethods=dns-01", "letsencrypt.org", ""},
		{"letsencrypt.org; validationmethods = dns-01,http-01; accounturi=https://ca.example/acct/1", "letsencrypt.org", ""},
		{"; policy=ev", "", ""},
		{"letsencrypt.org; validationmethods", "", "has the parameter validationmethods without a value"},
		{"letsencrypt.org; validationmethods=dns-01, http-01", "",
			"has the parameter validationmethods=dns-01, http-01 with a character that none may have"},
		{"letsencrypt.org; validation_methods=dns-01", "",
			"has the parameter validation_methods=dns-01 with a character that none may have"},
		{"letsencrypt.org validationmethods=dns-01", "", "has a parameter without a semicolon before it"},
		{"https://letsencrypt.org", "", "is a URL"},
		{"letsencrypt.org.", "", "ends with a dot"},
		{"letsencrypt.org/", "", "is not a domain"},
		{"Let's Encrypt", "", "is not a domain"},
		{"letsencrypt..org", "", "is not a domain"},
		{"-letsencrypt.org", "", "is not a domain"},
		{"security@letsencrypt.org", "", "is not a domain"},
		{"bücher.example", "", "is not a domain"},
	} {
		domain, err := pki.CAAIssuer(tt.value)
		require.Equal(t, tt.domain, domain, tt.value)
		if tt.fault == "" {
			require.NoError(t, err, tt.value)
			continue
		}
		require.EqualError(t, err, tt.fault, tt.value)
	}
}

func TestCAAParameters(t *testing.T) {
	a, err := pki.ParseCAA("CA.example; ValidationMethods = dns-01,http-01 ;accounturi=https://ca.example/acct/1?a=b;")
	require.NoError(t, err)
	require.Equal(t, pki.CAAAuthorization{Domain: "ca.example", Parameters: []pki.CAAParameter{
		{"validationmethods", "dns-01,http-01"}, {"accounturi", "https://ca.example/acct/1?a=b"}}}, a)
}

func FuzzCAAIssuer(f *testing.F) {
	f.Add("letsencrypt.org; validationmethods=dns-01")
	f.Fuzz(func(t *testing.T, value string) {
		domain, err := pki.CAAIssuer(value)
		if err != nil {
			require.Empty(t, domain)
			return
		}
		again, err := pki.CAAIssuer(domain)
		require.NoError(t, err)
		require.Equal(t, domain, again)
	})
}

func TestIssuerDomains(t *testing.T) {
	require.Contains(t, pki.IssuerDomains("DigiCert, Inc."), "digicert.com")
	require.Empty(t, pki.IssuerDomains("Example Authority"))
	require.True(t, pki.KnownIssuer("LetsEncrypt.org"))
	require.False(t, pki.KnownIssuer("example.com"))
	require.Contains(t, pki.CAATags(), "issuevmc")
}
