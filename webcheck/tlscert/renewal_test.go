package tlscert

import (
	"crypto/x509"
	"fmt"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// Each name of the certificate is held against the records that hold for it: wildcards against issuewild, others
// against issue, and each at its own place in the tree.
func TestRenewal(t *testing.T) {
	a := newAuthorities(t)
	const forbidden, allowed = false, true
	for _, tt := range []struct {
		name, caa string
		names     []string
		want      bool
		details   []string
	}{
		{"wildcards forbidden, none held", `0 issue "letsencrypt.org"|0 issuewild ";"`, []string{host}, allowed, nil},
		{"wildcards forbidden, one held", `0 issue "letsencrypt.org"|0 issuewild ";"`,
			[]string{host, "*.example.com"}, forbidden,
			[]string{"The CAA records of example.com let no authority issue wildcard certificates (issuewild), and so not " +
				"Let's Encrypt, which issued this certificate; it stays valid, but renewal will fail for *.example.com."}},
		{"wildcards of another", `0 issue "letsencrypt.org"|0 issuewild "pki.goog"`,
			[]string{host, "*.example.com"}, forbidden,
			[]string{"The CAA records of example.com allow pki.goog to issue wildcard certificates, and not Let's Encrypt, " +
				"which issued this certificate; it stays valid, but renewal will fail for *.example.com."}},
		{"wildcards alone", `0 issue ";"|0 issuewild "letsencrypt.org"`, []string{host, "*.example.com"}, forbidden,
			[]string{"The CAA records of example.com let no authority issue certificates without wildcards (issue), and so " +
				"not Let's Encrypt, which issued this certificate; it stays valid, but renewal will fail for example.com."}},
		{"nobody", `0 issue ";"`, []string{host, "*.example.com"}, forbidden,
			[]string{"The CAA records of example.com forbid every authority to issue, including Let's Encrypt, which issued " +
				"this certificate; it stays valid, but renewal will fail for example.com and *.example.com."}},
		{"wildcards limited alone", `0 issuewild "pki.goog"`, []string{host}, allowed, nil},
		{"another domain", `0 issue "letsencrypt.org"`, []string{host, "www.example.org"}, forbidden,
			[]string{"The CAA records of example.org allow pki.goog to issue, and not Let's Encrypt, which issued this " +
				"certificate; it stays valid, but renewal will fail for www.example.org."}},
		{"a name with records of its own", `0 issue ";"`, []string{"own.example.com"}, forbidden,
			[]string{"The CAA records of example.com forbid every authority to issue, including Let's Encrypt, which issued " +
				"this certificate; it stays valid, but renewal will fail for example.com."}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			zone := "example.com. A 192.0.2.10\nexample.org. CAA 0 issue \"pki.goog\"\nwww.example.org. A 192.0.2.11\n" +
				"own.example.com. CAA 0 issue \"letsencrypt.org\"\n"
			for record := range strings.SplitSeq(tt.caa, "|") {
				zone += "example.com. CAA " + record + "\n"
			}
			r := check(t, a, zone, nil, func(s setup) { s.serve(func(c *x509.Certificate) { c.DNSNames = tt.names }) })
			require.Equal(t, tt.want, *r.CAA.Allowed)
			var details []string
			for _, f := range r.Findings {
				if f.Code == "tls.caa.issuer" {
					details = append(details, f.Detail)
				}
			}
			require.Equal(t, tt.details, details)
		})
	}
}

// Parameters are reported verbatim.
func TestCAAParameters(t *testing.T) {
	a := newAuthorities(t)
	const zone = "example.com. A 192.0.2.10\n" +
		`example.com. CAA 0 issue "letsencrypt.org; validationmethods=dns-01,http-01; ` +
		`accounturi=https://ca.example/1"` + "\n" +
		`example.com. CAA 0 issuewild ";"` + "\n" + `example.com. CAA 0 iodef "mailto:a@example.com"` + "\n"
	r := check(t, a, zone, nil, func(s setup) { s.serve(nil) })
	require.ElementsMatch(t, []CAAAllowed{
		{"issue", "letsencrypt.org", []string{"dns-01", "http-01"}, "https://ca.example/1"}, {Property: "issuewild"},
	}, r.CAA.Allows)
}

// Records of another name that cannot be looked up are as unknown as those of the host.
func TestOtherCAAUnanswered(t *testing.T) {
	a := newAuthorities(t)
	r := check(t, a, "", nil, func(s setup) {
		s.serve(func(c *x509.Certificate) { c.DNSNames = []string{host, "www.example.com"} })
		s.w.Fault("www.example.com.", dns.TypeCAA, diagtest.Fault{Rcode: dns.RcodeServerFailure})
	})
	require.Equal(t, []diag.Code{"tls.caa.unknown"}, diagtest.Codes(r.Verdict))
	require.Contains(t, r.Findings[0].Detail, "www.example.com")
	require.True(t, r.Partial)
}

// Names beyond the bound are reported as left out.
func TestManyNames(t *testing.T) {
	a := newAuthorities(t)
	r := check(t, a, "", nil, func(s setup) {
		s.serve(func(c *x509.Certificate) {
			for i := range maxOtherNames + 3 {
				c.DNSNames = append(c.DNSNames, fmt.Sprintf("w%d.example.com", i), fmt.Sprintf("*.w%d.example.com", i))
			}
		})
	})
	require.Empty(t, r.Findings)
	require.Contains(t, r.Sub, "left out: CAA of 3 more names (at most 10 are looked up)")
	require.Equal(t, 100, *r.Score)
}
