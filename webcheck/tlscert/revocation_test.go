package tlscert

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/pki/revocation"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ocsp"
)

const ocspURL = "http://ocsp.example.net/r"

// listing makes the certificate of a template name a list that has its serial number.
func (s setup) listing(c *x509.Certificate, reason int, change func(*x509.RevocationList)) {
	c.SerialNumber = big.NewInt(4711)
	c.CRLDistributionPoints = []string{s.a.public.publish(s.t, change, x509.RevocationListEntry{
		SerialNumber: c.SerialNumber, RevocationTime: start.AddDate(0, 0, -2), ReasonCode: reason})}
}

// responder opens the OCSP responder that answers with a response as modified by change.
func (s setup) responder(change func(*ocsp.Response), answer func(http.ResponseWriter, *http.Request, []byte)) {
	s.w.HTTP("ocsp.example.net", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		encoded, err := url.QueryUnescape(strings.TrimPrefix(r.URL.EscapedPath(), "/r/"))
		request, _ := base64.StdEncoding.DecodeString(encoded)
		if r.Method == http.MethodPost {
			request, err = io.ReadAll(r.Body)
		}
		parsed, bad := ocsp.ParseRequest(request)
		if err != nil || bad != nil {
			http.Error(rw, "bad request", http.StatusBadRequest)
			return
		}
		response := ocsp.Response{SerialNumber: parsed.SerialNumber, ThisUpdate: start.Add(-time.Hour),
			NextUpdate: start.Add(time.Hour)}
		if change != nil {
			change(&response)
		}
		der, err := ocsp.CreateResponse(s.a.public.cert, s.a.public.cert, response, s.a.public.key)
		if err != nil {
			panic(err)
		}
		if answer != nil {
			answer(rw, r, der)
			return
		}
		rw.Write(der)
	}))
}

// asking serves a certificate that names the responder, and a list if there is one.
func (s setup) asking(lists ...string) {
	s.serve(func(c *x509.Certificate) { c.OCSPServer, c.CRLDistributionPoints = []string{ocspURL}, lists })
}

func revoke(r *ocsp.Response) {
	r.Status, r.RevokedAt, r.RevocationReason = ocsp.Revoked, start.AddDate(0, 0, -3), ocsp.KeyCompromise
}

var revocationCases = []testCase{
	{name: "listed", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) { s.listing(c, 1, nil) })
	}, codes: codes("tls.revocation.revoked"), state: diag.Bad},
	{name: "on hold", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) { s.listing(c, 6, nil) })
	}, codes: codes("tls.revocation.revoked"), state: diag.Bad},
	{name: "listed by a list that is outdated", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) {
			s.listing(c, 0, func(l *x509.RevocationList) { l.NextUpdate = start.Add(-time.Minute) })
		})
	}, codes: codes("tls.revocation.revoked"), state: diag.Bad},
	{name: "outdated list", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) {
			c.CRLDistributionPoints = []string{s.a.public.publish(s.t, func(l *x509.RevocationList) {
				l.NextUpdate = start.Add(-time.Minute)
			})}
		})
	}, codes: codes("tls.revocation.unknown"), state: diag.Valid},
	{name: "list of another authority", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) { c.CRLDistributionPoints = []string{s.a.root.publish(s.t, nil)} })
	}, codes: codes("tls.revocation.unknown"), state: diag.Valid},
	{name: "no list", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) { c.CRLDistributionPoints = []string{"http://" + crlHost + "/none"} })
	}, codes: codes("tls.revocation.unknown"), state: diag.Valid},
	{name: "no list and a mirror", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) {
			c.CRLDistributionPoints = []string{"http://" + crlHost + "/none", s.a.public.publish(s.t, nil)}
		})
	}, codes: codes("tls.revocation.service"), state: diag.Valid},
	{name: "by LDAP alone", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) { c.CRLDistributionPoints = []string{"ldap:///CN=CA"} })
	}, state: diag.Valid},
	{name: "by LDAP and HTTP", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) {
			c.CRLDistributionPoints = []string{"ldap:///CN=CA", s.a.public.publish(s.t, nil)}
		})
	}, state: diag.Valid},
	{name: "a list at an internal address", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) { c.CRLDistributionPoints = []string{"http://127.0.0.1/x.crl"} })
	}, state: diag.Valid},
	{name: "no service", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) { c.CRLDistributionPoints = []string{} })
	}, codes: codes("tls.revocation.missing"), state: diag.Valid},
	{name: "no service, short-lived", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) {
			c.CRLDistributionPoints, c.NotBefore, c.NotAfter = []string{}, start.AddDate(0, 0, -1), start.AddDate(0, 0, 5)
		})
	}, state: diag.Valid},
	{name: "good by OCSP", setup: func(s setup) { s.responder(nil, nil); s.asking() }, state: diag.Valid},
	{name: "revoked by OCSP", setup: func(s setup) { s.responder(revoke, nil); s.asking() },
		codes: codes("tls.revocation.revoked"), state: diag.Bad},
	{name: "revoked by OCSP, not by the list", setup: func(s setup) {
		s.responder(revoke, nil)
		s.asking(s.a.public.publish(s.t, nil))
	}, codes: codes("tls.revocation.revoked"), state: diag.Bad},
	{name: "unknown by OCSP", setup: func(s setup) {
		s.responder(func(r *ocsp.Response) { r.Status = ocsp.Unknown }, nil)
		s.asking()
	}, codes: codes("tls.revocation.status"), state: diag.Warned},
	{name: "OCSP by POST only", setup: func(s setup) {
		s.responder(revoke, func(rw http.ResponseWriter, r *http.Request, der []byte) {
			if r.Method != http.MethodPost {
				http.Error(rw, "", http.StatusMethodNotAllowed)
				return
			}
			rw.Write(der)
		})
		s.asking()
	}, codes: codes("tls.revocation.revoked"), state: diag.Bad},
	{name: "unauthorized", setup: func(s setup) {
		s.responder(nil, func(rw http.ResponseWriter, _ *http.Request, _ []byte) { rw.Write(ocsp.UnauthorizedErrorResponse) })
		s.asking()
	}, codes: codes("tls.revocation.unknown"), state: diag.Valid},
	{name: "no responder, but a list", setup: func(s setup) { s.asking(s.a.public.publish(s.t, nil)) },
		codes: codes("tls.revocation.service"), state: diag.Valid},
	{name: "a staple, and no responder", setup: func(s setup) {
		cert, key := s.a.public.issue(s.t, leaf(func(c *x509.Certificate) { c.OCSPServer = []string{ocspURL} }))
		s.site(key, []*x509.Certificate{cert, s.a.public.cert},
			func(c *tls.Config) { c.Certificates[0].OCSPStaple = s.staple(cert, nil) })
	}, codes: codes("tls.revocation.service"), state: diag.Valid},
	{name: "intermediate in good standing", setup: func(s setup) {
		middle := s.a.intermediate(s.t, s.a.root.publish(s.t, nil))
		s.chain(middle, nil, middle.cert)
	}, state: diag.Valid},
	{name: "revoked intermediate", setup: func(s setup) {
		middle := s.a.intermediate(s.t, s.a.root.publish(s.t, nil, x509.RevocationListEntry{
			SerialNumber: big.NewInt(77), RevocationTime: start.AddDate(0, -1, 0), ReasonCode: 2}))
		s.chain(middle, nil, middle.cert)
	}, codes: codes("tls.revocation.intermediate"), state: diag.Bad},
	{name: "revoked intermediate beside another path", setup: func(s setup) {
		middle := s.a.intermediate(s.t, s.a.root.publish(s.t, nil, x509.RevocationListEntry{
			SerialNumber: big.NewInt(77), RevocationTime: start.AddDate(0, -1, 0)}))
		middle.cert = s.a.root.issueFor(s.t, &x509.Certificate{
			Subject: pkix.Name{Organization: []string{"Let's Encrypt"}, CommonName: "E94"}, SerialNumber: big.NewInt(77),
			NotBefore: start.AddDate(-1, 0, 0), NotAfter: start.AddDate(1, 0, 0), IsCA: true,
			KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, CRLDistributionPoints: middle.cert.CRLDistributionPoints,
		}, middle.key)
		other := s.a.public.issueFor(s.t, &x509.Certificate{Subject: middle.cert.Subject, NotBefore: start.AddDate(-1, 0, 0),
			NotAfter: start.AddDate(1, 0, 0), IsCA: true, KeyUsage: x509.KeyUsageCertSign}, middle.key)
		s.chain(middle, nil, middle.cert, other, s.a.public.cert)
	}, codes: codes("tls.revocation.intermediate"), state: diag.Warned},
	{name: "silent list of an intermediate", setup: func(s setup) {
		middle := s.a.intermediate(s.t, "http://"+crlHost+"/none")
		s.chain(middle, nil, middle.cert)
	}, codes: codes("tls.revocation.service"), state: diag.Valid},
}

// intermediate is one below the root, with serial number 77, that names a list.
func (a authorities) intermediate(t testing.TB, list string) *ca {
	c := leaf(nil)
	c.DNSNames, c.ExtKeyUsage, c.ExtraExtensions = nil, nil, nil
	c.Subject, c.IsCA, c.SerialNumber = a.public.cert.Subject, true, big.NewInt(77)
	c.NotAfter, c.KeyUsage = start.AddDate(1, 0, 0), x509.KeyUsageCertSign|x509.KeyUsageCRLSign
	c.CRLDistributionPoints = []string{list}
	cert, key := a.root.issue(t, c)
	return &ca{cert, key}
}

// The report says by which method what is known, and what was asked.
func TestRevocation(t *testing.T) {
	a := newAuthorities(t)
	find := func(name string) *Report {
		for _, tt := range revocationCases {
			if tt.name == name {
				return check(t, a, tt.zone, tt.req, tt.setup)
			}
		}
		t.Fatalf("there is no case %s", name)
		return nil
	}
	r := find("listed")
	require.Equal(t, "Certificate was revoked on 2026-10-30 (CRL, keyCompromise)", r.Headline)
	require.Contains(t, r.Findings[0].Detail, "was revoked on 2026-10-30 according to the revocation list of the "+
		"authority (http://"+crlHost+"/")
	require.Contains(t, r.Findings[0].Detail, "reason keyCompromise")
	require.Equal(t, revocation.Revoked, r.Revocation.Status)
	require.Equal(t, ByCRL, r.Revocation.Method)
	require.Equal(t, start.AddDate(0, 0, -2), r.Revocation.Checked[0].RevokedAt)
	require.NotEqual(t, r.Findings[0].Advice, find("on hold").Findings[0].Advice)

	r = find("revoked by OCSP, not by the list")
	require.Equal(t, ByOCSP, r.Revocation.Method)
	require.Len(t, r.Revocation.Checked, 2)

	r = find("unauthorized")
	require.Equal(t, revocation.Unusable, r.Revocation.Status)
	require.Contains(t, r.Findings[0].Detail, `http://ocsp.example.net/r: the responder answered "unauthorized"`)
	require.True(t, r.Partial)
	require.LessOrEqual(t, *r.Score, diag.Warning.Cap())

	r = find("no responder, but a list")
	require.Equal(t, revocation.Good, r.Revocation.Status)
	require.False(t, r.Partial)
	require.Equal(t, 100, *r.Score)

	r = find("by LDAP alone")
	require.Equal(t, revocation.LeftOut, r.Revocation.Status)
	require.Contains(t, r.Revocation.Checked[0].Error, "http and https only")
	require.Equal(t, 100, *r.Score)
	require.Contains(t, r.Sub, "Examined: 1 of 2 parts; left out: revocation of the certificate (this check asks over "+
		"http")
	require.Equal(t, revocation.LeftOut, find("a list at an internal address").Revocation.Status)
	require.Equal(t, revocation.NotOffered, find("no service, short-lived").Revocation.Status)

	r = check(t, a, "", nil, func(s setup) { s.stapled(revoke, nil) })
	require.Equal(t, ByStaple, r.Revocation.Method)
	require.Equal(t, "Certificate was revoked on 2026-10-29 (stapled OCSP, keyCompromise)", r.Headline)
	require.Equal(t, []diag.Code{"tls.ocsp.revoked"}, diagtest.Codes(r.Verdict))
}

// A list that is too long is left out, and each is fetched once for a request.
func TestRevocationBounds(t *testing.T) {
	a := newAuthorities(t)
	var asked atomic.Int32
	w := diagtest.NewWorld(t)
	w.SetTime(start)
	w.HTTP("long.example.net", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		rw.Write(make([]byte, maxListBytes+1))
	}))
	issue := func(url string) *x509.Certificate {
		cert, _ := a.public.issue(t, leaf(func(c *x509.Certificate) { c.CRLDistributionPoints = []string{url} }))
		return cert
	}
	s := newServices(w.Env())
	var g diag.Group
	for range 3 {
		cert := issue("http://long.example.net/")
		g.Go(func() {
			list := s.askCRL(t.Context(), start, cert, a.public.cert)
			if list[0].Status != revocation.LeftOut || !strings.Contains(list[0].Error, "4096 KiB") {
				t.Errorf("%+v", list)
			}
		})
	}
	g.Wait()
	require.Equal(t, int32(1), asked.Load())
}

// Of all lists together so many bytes are held, and a list beyond is left out.
func TestListQuota(t *testing.T) {
	q := newQuota(300<<10, 100<<10)
	take := func(n int64) func(int64) *document {
		return func(size int64) *document { return &document{body: make([]byte, min(n, size))} }
	}
	for i, want := range []int64{100 << 10, 90 << 10, 100 << 10} {
		require.Len(t, q.fetch(t.Context(), take(want)).body, int(want), "%d", i)
	}
	d := q.fetch(t.Context(), take(1))
	require.Equal(t, revocation.LeftOut, d.status)
	require.EqualError(t, d.err, "this check reads 300 KiB of lists at most")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range cap(q.turns) {
		q.turns <- struct{}{}
	}
	require.Equal(t, revocation.LeftOut, q.fetch(ended, take(1)).status)
}

// Stapling is not advised where no server can have a response.
func TestMustStaple(t *testing.T) {
	a := newAuthorities(t)
	for _, tt := range issuanceCases {
		if !strings.HasPrefix(tt.name, "must-staple") {
			continue
		}
		advice := check(t, a, tt.zone, tt.req, tt.setup).Findings[0].Advice
		require.Equal(t, tt.name == "must-staple without a staple", strings.Contains(advice, "Enable OCSP stapling"),
			tt.name)
		require.Equal(t, tt.name != "must-staple without a staple", strings.Contains(advice, "reissued without"), tt.name)
	}
}

// The issuer that a certificate points to serves to read its list, and each type of key has a certificate of its own.
func TestRevocationOfParts(t *testing.T) {
	a := newAuthorities(t)
	r := check(t, a, "", nil, func(s setup) {
		s.w.HTTP("ca.example.net", http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Write(a.public.cert.Raw)
		}))
		s.chain(a.public, func(c *x509.Certificate) {
			c.IssuingCertificateURL = []string{"http://ca.example.net/e99.der"}
			s.listing(c, 1, nil)
		})
	})
	require.Equal(t, []diag.Code{"tls.revocation.revoked", "tls.chain.incomplete"}, diagtest.Codes(r.Verdict))

	r = check(t, a, "", nil, func(s setup) {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		require.NoError(t, err)
		second := a.public.issueFor(t, leaf(func(c *x509.Certificate) { s.listing(c, 1, nil) }), key)
		s.serve(nil, func(c *tls.Config) {
			c.Certificates = append(c.Certificates, tls.Certificate{PrivateKey: key,
				Certificate: [][]byte{second.Raw, a.public.cert.Raw}})
		})
	})
	require.Equal(t, []diag.Code{"tls.revocation.revoked"}, diagtest.Codes(r.Verdict))
	require.Contains(t, r.Findings[0].Detail, "Affected: the RSA certificate.")
}
