package tlscert

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// loggedAt is the extension with two timestamps.
func loggedAt(first, second time.Time) pkix.Extension {
	ext := embedded(2)
	const size = 1 + 32 + 8 + 2 + 5 // of a timestamp
	inner := ext.Value[len(ext.Value)-2*(size+2):]
	for i, at := range []time.Time{first, second} {
		one := inner[i*(size+2)+2:]
		binary.BigEndian.PutUint64(one[1+32:], uint64(at.UnixMilli()))
	}
	return ext
}

// under is a net of authorities below a root of a name.
func under(t testing.TB, organization, name string) authorities {
	root := (*ca)(nil).authority(t, organization, name, start.AddDate(-15, 0, 0), start.AddDate(9, 0, 0))
	return authorities{root: root, public: root.authority(t, organization, "Issuing CA", start.AddDate(-5, 0, 0),
		start.AddDate(2, 0, 0))}
}

func TestDistrust(t *testing.T) {
	date := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 9, 0, 0, 0, time.UTC) }
	for _, tt := range []struct {
		name, root      string
		issued, logged  time.Time
		code            diag.Code
		details, absent []string
	}{
		{"before both dates", "Entrust Root Certification Authority - G2", date(2024, time.November, 1),
			date(2024, time.November, 1),
			"tls.chain.distrust_announced", []string{"Chrome 131", "logged after 2024-11-11", "Firefox",
				"issued after 2024-11-30"}, nil},
		{"logged after the first", "Entrust Root Certification Authority - G2", date(2024, time.November, 12),
			date(2024, time.November, 12), "tls.chain.distrusted", []string{"Chrome 131", "logged on 2024-11-12"},
			[]string{"Firefox"}},
		{"issued before, logged after", "AffirmTrust Commercial", date(2024, time.November, 11),
			date(2024, time.November, 12),
			"tls.chain.distrusted", []string{"Chrome 131"}, []string{"Firefox"}},
		{"after both", "Entrust Root Certification Authority", date(2024, time.December, 2), date(2024, time.December, 2),
			"tls.chain.distrusted", []string{"Chrome 131", "Firefox"}, nil},
		{"all certificates of a root", "DigiCert Global Root CA", date(2026, time.January, 2), date(2026, time.January, 2),
			"tls.chain.distrusted", []string{"since 2026-04-15"}, nil},
		{"another root of the authority", "DigiCert Global Root G2", date(2026, time.January, 2),
			date(2026, time.January, 2),
			"", nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			org := "Entrust, Inc."
			if tt.root[0] == 'A' {
				org = "AffirmTrust"
			}
			r := check(t, under(t, org, tt.root), "", nil, func(s setup) {
				s.serve(func(c *x509.Certificate) {
					c.NotBefore = tt.issued
					c.ExtraExtensions = []pkix.Extension{loggedAt(tt.logged.Add(time.Hour), tt.logged)}
				})
			})
			var got []diag.Finding
			for _, f := range r.Findings {
				if f.Code == "tls.chain.distrusted" || f.Code == "tls.chain.distrust_announced" {
					got = append(got, f)
				}
			}
			if tt.code == "" {
				require.Empty(t, got)
				return
			}
			require.NotEmpty(t, got)
			require.Equal(t, tt.code, got[0].Code)
			refused := func(d Distrust) bool { return d.Refused }
			require.Equal(t, tt.code == "tls.chain.distrusted", slices.ContainsFunc(r.Distrust, refused))
			for _, part := range tt.details {
				require.Contains(t, got[0].Detail, part)
			}
			for _, part := range tt.absent {
				require.NotContains(t, got[0].Detail, part)
			}
		})
	}
}

// Another path to a root that is trusted is taken.
func TestDistrustOfOnePath(t *testing.T) {
	a := under(t, "DigiCert Inc", "DigiCert Global Root CA")
	other := (*ca)(nil).authority(t, "DigiCert Inc", "DigiCert Global Root G2", start.AddDate(-9, 0, 0),
		start.AddDate(9, 0, 0))
	cross := other.issueFor(t, &x509.Certificate{Subject: a.public.cert.Subject, NotBefore: start.AddDate(-1, 0, 0),
		NotAfter: start.AddDate(2, 0, 0), IsCA: true, KeyUsage: x509.KeyUsageCertSign}, a.public.key)
	roots := x509.NewCertPool()
	roots.AddCert(a.root.cert)
	roots.AddCert(other.cert)
	cert, _ := a.public.issue(t, leaf(nil))
	for want, chain := range map[int][][]byte{1: {cert.Raw, a.public.cert.Raw},
		0: {cert.Raw, a.public.cert.Raw, cross.Raw}} {
		e := &evidence{req: Request{Host: MustHost(host), CheckVersions: new(false)}, now: start, name: host, roots: roots,
			served: chain}
		e.digest()
		require.True(t, e.tls.Trusted)
		require.Len(t, e.announced(), want)
	}
}

// Where stores have dropped the root already the announcement is the cause.
func TestDroppedRoot(t *testing.T) {
	a := newAuthorities(t)
	r := check(t, a, "", nil, func(s setup) {
		old := (*ca)(nil).authority(t, "StartCom Ltd.", "StartCom Certification Authority", start.AddDate(-15, 0, 0),
			start.AddDate(9, 0, 0))
		s.chain(old, nil, old.cert)
	})
	require.Equal(t, []diag.Code{"tls.chain.untrusted"}, diagtest.Codes(r.Verdict))
	require.Equal(t, titleDistrusted, r.Headline)
	require.Contains(t, r.Findings[0].Detail, "Chrome 61")

	r = check(t, a, "", nil, func(s setup) { // without the root, as servers should
		old := (*ca)(nil).authority(s.t, "Entrust, Inc.", "Entrust Root Certification Authority - G2",
			start.AddDate(-15, 0, 0), start.AddDate(9, 0, 0))
		middle := old.authority(s.t, "Entrust, Inc.", "Entrust L1K", start.AddDate(-5, 0, 0), start.AddDate(2, 0, 0))
		s.chain(middle, func(c *x509.Certificate) {
			c.IssuingCertificateURL = []string{"http://aia.entrust.net/l1k.cer"}
		}, middle.cert)
	})
	require.Equal(t, []diag.Code{"tls.chain.untrusted", "tls.caa.issuer"}, diagtest.Codes(r.Verdict))
	require.Equal(t, titleDistrusted, r.Headline)
}

// The end of trust in a root falls due before the certificate does.
func TestDistrustDue(t *testing.T) {
	e := &evidence{now: time.Date(2027, time.February, 1, 0, 0, 0, 0, time.UTC), roots: x509.NewCertPool(), name: host,
		req: Request{Host: MustHost(host), CheckVersions: new(false)}}
	root, signer := (*ca)(nil).issue(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "GlobalSign", OrganizationalUnit: []string{"GlobalSign Root CA - R3"}}, IsCA: true,
		NotBefore: start.AddDate(-9, 0, 0), NotAfter: start.AddDate(9, 0, 0),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	})
	e.roots.AddCert(root)
	cert, _ := (&ca{root, signer}).issue(t, leaf(func(c *x509.Certificate) { c.NotAfter = e.now.AddDate(0, 4, 0) }))
	e.served = [][]byte{cert.Raw}
	e.digest()
	require.Nil(t, e.distrusted(true))
	f := e.distrusted(false)
	require.Len(t, f, 1)
	require.Equal(t, endOf(2027, time.April, 14), f[0].Due)
	require.Contains(t, f[0].Detail, "stops trusting this root of GlobalSign on 2027-04-15")
}

// distrustCases are about authorities of which trust ends.
var distrustCases = []testCase{
	{name: "for clients too", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
		})
	}, codes: codes("tls.certificate.client_auth"), state: diag.Valid},
}

// distrustVerdicts are those of the rules about authorities that the world of the other cases does not have.
func distrustVerdicts(t *testing.T) (list []diag.Verdict) {
	for root, days := range map[string]int{"Entrust Root Certification Authority": -10, "AffirmTrust Networking": -3000} {
		r := check(t, under(t, "AffirmTrust", root), "", nil, func(s setup) {
			s.serve(func(c *x509.Certificate) { c.NotBefore, c.ExtraExtensions = start.AddDate(0, 0, days), nil })
		})
		list = append(list, r.Verdict)
	}
	return list
}
