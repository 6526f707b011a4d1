package tlscert

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/stretchr/testify/require"
)

// cross is a certificate over name and key of an authority by another one, which expired a month ago.
func (a *ca) cross(t testing.TB, of *ca) *x509.Certificate {
	return a.issueFor(t, &x509.Certificate{
		Subject: of.cert.Subject, NotBefore: start.AddDate(-5, 0, 0), NotAfter: start.AddDate(0, -1, 0), IsCA: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}, of.key)
}

// older is an expired authority that is no longer trusted.
func older(t testing.TB) *ca {
	return (*ca)(nil).authority(t, "Digital Signature Trust Co.", "DST Root CA X9", start.AddDate(-20, 0, 0),
		start.AddDate(0, -2, 0))
}

// constrained is an intermediate with name constraints.
func (a authorities) constrained(t testing.TB, change func(*x509.Certificate)) *ca {
	c := &x509.Certificate{
		Subject:   pkix.Name{Organization: []string{"Let's Encrypt"}, CommonName: "E95"},
		NotBefore: start.AddDate(-1, 0, 0), NotAfter: start.AddDate(1, 0, 0), IsCA: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, PermittedDNSDomainsCritical: true,
	}
	change(c)
	cert, key := a.root.issue(t, c)
	return &ca{cert, key}
}

// pathCases are about the paths from a certificate to a root.
var pathCases = []testCase{
	{name: "expired cross-sign", setup: func(s setup) {
		s.chain(s.a.public, nil, s.a.public.cert, older(s.t).cross(s.t, s.a.root))
	}, codes: codes("tls.chain.expired_extra"), state: diag.Warned},
	{name: "expired cross-sign and its root", setup: func(s setup) {
		old := older(s.t)
		s.chain(s.a.public, nil, s.a.public.cert, old.cross(s.t, s.a.root), old.cert)
	}, codes: codes("tls.chain.expired_extra"), state: diag.Warned},
	{name: "expired cross-sign of the intermediate", setup: func(s setup) {
		s.chain(s.a.public, nil, s.a.public.cert, older(s.t).cross(s.t, s.a.public))
	}, codes: codes("tls.chain.expired_extra"), state: diag.Warned},
	{name: "expired cross-sign of the intermediate first", setup: func(s setup) {
		s.chain(s.a.public, nil, older(s.t).cross(s.t, s.a.public), s.a.public.cert)
	}, codes: codes("tls.chain.expired_extra"), state: diag.Warned},
	{name: "expired cross-sign of an untrusted root", setup: func(s setup) {
		other := (*ca)(nil).authority(s.t, "Example Ltd", "Example CA", start.AddDate(-1, 0, 0), start.AddDate(1, 0, 0))
		s.chain(other, nil, older(s.t).cross(s.t, other), other.cert)
	}, codes: codes("tls.chain.untrusted", "tls.chain.expired"), state: diag.Bad},
	{name: "expired and unrelated", setup: func(s setup) {
		s.chain(s.a.public, nil, s.a.public.cert, older(s.t).cert)
	}, codes: codes("tls.chain.extra"), state: diag.Valid},
	{name: "cross-sign beside the root", setup: func(s setup) {
		other := (*ca)(nil).authority(s.t, "Example Ltd", "Example CA", start.AddDate(-1, 0, 0), start.AddDate(1, 0, 0))
		cross := other.issueFor(s.t, &x509.Certificate{Subject: s.a.root.cert.Subject, NotBefore: start.AddDate(-1, 0, 0),
			NotAfter: start.AddDate(1, 0, 0), IsCA: true, KeyUsage: x509.KeyUsageCertSign}, s.a.root.key)
		s.chain(s.a.public, nil, s.a.public.cert, cross)
	}, state: diag.Valid},
	{name: "an intermediate that expires first beside one that does not", setup: func(s setup) {
		other := (*ca)(nil).authority(s.t, "Internet Security Research Group", "ISRG Root X8", start.AddDate(-1, 0, 0),
			start.AddDate(9, 0, 0))
		soon := s.a.root.issueFor(s.t, &x509.Certificate{Subject: other.cert.Subject, NotBefore: start.AddDate(-1, 0, 0),
			NotAfter: start.AddDate(0, 0, 40), IsCA: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign}, other.key)
		late := s.a.public.issueFor(s.t, &x509.Certificate{Subject: other.cert.Subject, NotBefore: start.AddDate(-1, 0, 0),
			NotAfter: start.AddDate(1, 0, 0), IsCA: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign}, other.key)
		s.chain(other, nil, soon, late, s.a.public.cert)
	}, state: diag.Valid},
	{name: "outside of the permitted names", setup: func(s setup) {
		middle := s.a.constrained(s.t, func(c *x509.Certificate) {
			c.PermittedDNSDomains = []string{"example.org", "example.net"}
		})
		s.chain(middle, nil, middle.cert)
	}, codes: codes("tls.chain.name_constraints"), state: diag.Bad},
	{name: "inside of the excluded names", setup: func(s setup) {
		middle := s.a.constrained(s.t, func(c *x509.Certificate) { c.ExcludedDNSDomains = []string{"com"} })
		s.chain(middle, nil, middle.cert)
	}, codes: codes("tls.chain.name_constraints"), state: diag.Bad},
	{name: "an excluded address", setup: func(s setup) {
		middle := s.a.constrained(s.t, func(c *x509.Certificate) {
			c.ExcludedIPRanges = []*net.IPNet{{IP: net.IPv4(192, 0, 2, 0).To4(), Mask: net.CIDRMask(24, 32)}}
		})
		s.chain(middle, func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(192, 0, 2, 10)} }, middle.cert)
	}, codes: codes("tls.chain.name_constraints"), state: diag.Bad},
}

func TestPathDetails(t *testing.T) {
	a := newAuthorities(t)
	for name, want := range map[string][]string{
		"expired cross-sign": {"sends an expired certificate over the key of an authority of the chain: ISRG Root X9 by " +
			"DST Root CA X9 (expired on 2026-10-01)"},
		"expired cross-sign and its root": {"DST Root CA X9 (expired on 2026-09-01)", "ISRG Root X9 by DST Root CA X9"},
		"expired and unrelated": {"belongs to no path from the certificate of the server, and expired on " +
			"2026-09-01"},
		"outside of the permitted names": {`The certificate for example.com breaks name constraints. The name ` +
			`constraints of E95 permit "example.org" and "example.net" only, and not the name "example.com"`},
		"inside of the excluded names": {`The name constraints of E95 exclude "com", and with it the name "example.com"`},
		"an excluded address": {"The name constraints of E95 exclude 192.0.2.0/24, and with it the name " +
			"192.0.2.10"},
	} {
		for _, tt := range pathCases {
			if tt.name != name {
				continue
			}
			r := check(t, a, tt.zone, tt.req, tt.setup)
			for _, part := range want {
				require.Contains(t, r.Findings[0].Detail, part)
			}
			for _, passed := range r.Passed {
				contradicts := passed.Code == "tls.chain.expired" || passed.Code == "tls.chain.extra"
				require.False(t, contradicts && strings.HasPrefix(name, "expired"), "%s: %s", name, passed.Label)
			}
		}
	}
}
