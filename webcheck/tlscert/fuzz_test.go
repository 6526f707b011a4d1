package tlscert

import (
	"crypto/x509"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ocsp"
)

// Whatever certificates and response a server serves are judged without a panic, in little time, into valid JSON; and
// nothing is trusted that does not lead to the root.
func FuzzServed(f *testing.F) {
	a := newAuthorities(f)
	cert, _ := a.public.issue(f, leaf(nil))
	staple := setup{a: a, t: f}.staple(cert, func(r *ocsp.Response) { r.Status = ocsp.Revoked })
	f.Add(cert.Raw, a.public.cert.Raw, staple)
	f.Add(cert.Raw, cert.Raw, []byte{0x30, 0})
	f.Add(a.root.cert.Raw, a.root.cert.Raw, []byte(nil))
	roots := x509.NewCertPool()
	roots.AddCert(a.root.cert)
	f.Fuzz(func(t *testing.T, first, second, staple []byte) {
		e := &evidence{
			req: Request{Host: MustHost(host), CheckVersions: new(false)}, began: start, now: start, name: host,
			roots: roots, served: [][]byte{first, second}, staple: staple,
		}
		began := diagtest.ProcessorTime()
		x := &examination{}
		x.settle(e, caa{}, dane{})
		r := x.report(start)
		require.Less(t, diagtest.ProcessorTime()-began, 5*time.Second)
		text, err := json.Marshal(r)
		require.NoError(t, err)
		require.True(t, json.Valid(text))
		require.Equal(t, r.DaysRemaining != nil, r.Trusted != nil)
		require.Equal(t, r.Trusted != nil && *r.Trusted, len(r.VerifiedChain) > 0)
		require.True(t, r.OCSP.Status == "" || r.OCSP.Stapled)
	})
}

// Whatever a CAA record says, a value that cannot be read authorizes no issuer, and no issuer is authorized twice.
func FuzzCAA(f *testing.F) {
	f.Add("issue", "letsencrypt.org; validationmethods=dns-01", byte(0))
	f.Add("issuewild", ";", byte(128))
	f.Add("ISSUE", "lets encrypt", byte(1))
	f.Fuzz(func(t *testing.T, tag, value string, flag byte) {
		c := caa{queried: true, domain: host, records: []*dns.CAA{{Flag: flag, Tag: tag, Value: value}}}
		for _, wildcard := range []bool{false, true} {
			domains, found := c.relevant(wildcard)
			require.LessOrEqual(t, len(domains), 1)
			require.True(t, found || len(domains) == 0)
			for _, d := range domains {
				_, err := diag.ParseDomain(d)
				require.NoError(t, err)
				require.Equal(t, strings.ToLower(d), d)
				require.Empty(t, c.malformed())
			}
		}
		require.LessOrEqual(t, len(c.malformed())+len(c.unknownCritical()), 1)
	})
}
