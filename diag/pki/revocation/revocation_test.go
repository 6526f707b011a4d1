package revocation_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/pki/revocation"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ocsp"
)

var now = time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)

// An authority signs certificates, lists and responses.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

func (a *authority) issue(t testing.TB, c *x509.Certificate) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	c.NotBefore, c.NotAfter = now.AddDate(-1, 0, 0), now.AddDate(1, 0, 0)
	c.BasicConstraintsValid = true
	parent, signer := c, crypto.Signer(key)
	if a != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &authority{cert, key}
}

func newAuthority(t testing.TB, name string, usage x509.KeyUsage) *authority {
	return (*authority)(nil).issue(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, KeyUsage: usage, SerialNumber: big.NewInt(1),
	})
}

const signsBoth = x509.KeyUsageCertSign | x509.KeyUsageCRLSign

const point = "http://crl.example.org/1.crl"

// leaf has a serial number whose first bit is set.
func (a *authority) leaf(t testing.TB) *x509.Certificate {
	return a.issue(t, &x509.Certificate{
		SerialNumber: big.NewInt(200), DNSNames: []string{"example.com"}, CRLDistributionPoints: []string{point},
	}).cert
}

// A listed is an entry of a list.
type listed struct {
	serial int64
	reason int
	ext    []pkix.Extension
}

func (a *authority) list(t testing.TB, entries []listed, change func(*x509.RevocationList)) []byte {
	t.Helper()
	l := &x509.RevocationList{Number: big.NewInt(7), ThisUpdate: now.Add(-time.Hour), NextUpdate: now.Add(time.Hour)}
	for _, e := range entries {
		l.RevokedCertificateEntries = append(l.RevokedCertificateEntries, x509.RevocationListEntry{
			SerialNumber: big.NewInt(e.serial), RevocationTime: now.AddDate(0, 0, -3), ReasonCode: e.reason,
			ExtraExtensions: e.ext,
		})
	}
	if change != nil {
		change(l)
	}
	der, err := x509.CreateRevocationList(rand.Reader, l, a.cert, a.key)
	require.NoError(t, err)
	return der
}

func oid(last ...int) asn1.ObjectIdentifier { return append(asn1.ObjectIdentifier{2, 5, 29}, last...) }

// scope is an issuing distribution point with a URL, if there is one, and another field.
func scope(url string, field ...byte) pkix.Extension {
	var body []byte
	if url != "" {
		name := append([]byte{0x86, byte(len(url))}, url...)
		full := append([]byte{0xa0, byte(len(name))}, name...)
		body = append([]byte{0xa0, byte(len(full))}, full...)
	}
	body = append(body, field...)
	return pkix.Extension{Id: oid(28), Critical: true, Value: append([]byte{0x30, byte(len(body))}, body...)}
}

// entryIssuer names the issuer of the entries from here on.
func entryIssuer(name []byte) pkix.Extension {
	body := append([]byte{0xa4, byte(len(name))}, name...)
	return pkix.Extension{Id: oid(29), Critical: true, Value: append([]byte{0x30, byte(len(body))}, body...)}
}

func with(exts ...pkix.Extension) func(*x509.RevocationList) {
	return func(l *x509.RevocationList) { l.ExtraExtensions = append(l.ExtraExtensions, exts...) }
}

func TestCRL(t *testing.T) {
	ca, other := newAuthority(t, "CA", signsBoth), newAuthority(t, "Other CA", signsBoth)
	same := newAuthority(t, "CA", signsBoth) // another key under one name
	mute := newAuthority(t, "CA", x509.KeyUsageCertSign)
	cert := ca.leaf(t)
	here := []listed{{serial: 3, reason: 4}, {serial: 200, reason: 1}, {serial: 201}}
	unknown := pkix.Extension{Id: oid(99), Critical: true, Value: []byte{5, 0}}
	harmless := pkix.Extension{Id: oid(99), Value: []byte{5, 0}}
	old := func(l *x509.RevocationList) {
		l.ThisUpdate, l.NextUpdate = now.AddDate(0, 0, -9), now.AddDate(0, 0, -2)
	}
	early := func(l *x509.RevocationList) { l.ThisUpdate, l.NextUpdate = now.Add(time.Hour), now.AddDate(0, 0, 2) }
	for _, tt := range []struct {
		name   string
		list   []byte
		issuer *authority
		want   revocation.Status
		reason revocation.Reason
		err    string
	}{
		{"empty", ca.list(t, nil, nil), ca, revocation.Good, "", ""},
		{"listed", ca.list(t, here, nil), ca, revocation.Revoked, "keyCompromise", ""},
		{"others", ca.list(t, []listed{{serial: 3}, {serial: -56}, {serial: 456}}, nil), ca, revocation.Good, "", ""},
		{"without a reason", ca.list(t, []listed{{serial: 200}}, nil), ca, revocation.Revoked, "", ""},
		{"hold", ca.list(t, []listed{{serial: 200, reason: 6}}, nil), ca, revocation.Revoked, revocation.Hold, ""},
		{"removed", ca.list(t, []listed{{serial: 200, reason: 8}}, nil), ca, revocation.Good, "", ""},
		{"PEM", pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: ca.list(t, here, nil)}), ca, revocation.Revoked,
			"keyCompromise", ""},
		{"outdated", ca.list(t, nil, old), ca, revocation.Unusable, "", "valid until 2026-10-30"},
		{"listed in an outdated list", ca.list(t, here, old), ca, revocation.Revoked, "keyCompromise", ""},
		{"hold in an outdated list", ca.list(t, []listed{{serial: 200, reason: 6}}, old), ca, revocation.Unusable, "",
			"valid until"},
		{"early", ca.list(t, here, early), ca, revocation.Unusable, "", "valid only from"},
		{"another authority", other.list(t, here, nil), ca, revocation.Unusable, "", "issued by Other CA"},
		{"another key", same.list(t, here, nil), ca, revocation.Unusable, "", "not signed with the key"},
		{"may not sign lists", ca.list(t, here, nil), mute, revocation.Unusable, "", "may not sign lists"},
		{"delta", ca.list(t, here, with(pkix.Extension{Id: oid(27), Critical: true, Value: []byte{2, 1, 1}})), ca,
			revocation.Unusable, "", "delta"},
		{"unknown critical extension", ca.list(t, here, with(unknown)), ca, revocation.Unusable, "", "critical"},
		{"unknown extension", ca.list(t, here, with(harmless)), ca, revocation.Revoked, "keyCompromise", ""},
		{"unknown critical extension of another entry",
			ca.list(t, []listed{{serial: 3, ext: []pkix.Extension{unknown}}, {serial: 200}}, nil), ca, revocation.Unusable, "",
			"critical"},
		{"unknown extension of an entry", ca.list(t, []listed{{serial: 200, ext: []pkix.Extension{harmless}}}, nil), ca,
			revocation.Revoked, "", ""},
		{"its distribution point", ca.list(t, nil, with(scope(point, 0x81, 1, 0xff))), ca, revocation.Good, "", ""},
		{"another distribution point", ca.list(t, nil, with(scope("http://crl.example.org/2.crl"))), ca,
			revocation.Unusable, "", "another distribution point"},
		{"of authorities", ca.list(t, nil, with(scope("", 0x82, 1, 0xff))), ca, revocation.Unusable, "",
			"other kinds of certificates"},
		{"of attributes", ca.list(t, nil, with(scope("", 0x85, 1, 0xff))), ca, revocation.Unusable, "",
			"other kinds of certificates"},
		{"covers some reasons", ca.list(t, nil, with(scope("", 0x83, 2, 1, 2))), ca, revocation.Unusable, "",
			"covers some reasons"},
		{"some reasons, listed", ca.list(t, here, with(scope("", 0x83, 2, 1, 2))), ca, revocation.Revoked,
			"keyCompromise", ""},
		{"a scope that cannot be read", ca.list(t, nil, with(scope("", 0x30, 0))), ca, revocation.Unusable, "",
			"cannot be read"},
		{"indirect, of another issuer", ca.list(t, []listed{{serial: 3, ext: []pkix.Extension{
			entryIssuer(other.cert.RawSubject)}}, {serial: 200}}, with(scope("", 0x84, 1, 0xff))), ca, revocation.Good, "", ""},
		{"indirect, of the issuer", ca.list(t, []listed{
			{serial: 3, ext: []pkix.Extension{entryIssuer(other.cert.RawSubject)}},
			{serial: 200, ext: []pkix.Extension{entryIssuer(ca.cert.RawSubject)}}}, with(scope("", 0x84, 1, 0xff))), ca,
			revocation.Revoked, "", ""},
		{"rubbish", []byte("<html>"), ca, revocation.Unusable, "", "not a revocation list"},
		{"nothing", nil, ca, revocation.Unusable, "", "not a revocation list"},
		{"a certificate", cert.Raw, ca, revocation.Unusable, "", "not a revocation list"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := revocation.CRL(tt.list, cert, tt.issuer.cert, now)
			assert.Equal(t, tt.want, a.Status, "%v", a.Err)
			assert.Equal(t, tt.reason, a.Reason)
			assert.Equal(t, tt.want == revocation.Revoked, !a.RevokedAt.IsZero())
			if tt.err == "" {
				assert.NoError(t, a.Err)
			} else {
				assert.ErrorContains(t, a.Err, tt.err)
			}
		})
	}
}

// A list of certificates of servers is not one of authorities.
func TestCRLOfAuthorities(t *testing.T) {
	ca := newAuthority(t, "CA", signsBoth)
	sub := ca.issue(t, &x509.Certificate{SerialNumber: big.NewInt(9), IsCA: true,
		Subject: pkix.Name{CommonName: "Sub"}}).cert
	users := ca.list(t, nil, with(scope("", 0x81, 1, 0xff)))
	require.Equal(t, revocation.Unusable, revocation.CRL(users, sub, ca.cert, now).Status)
	authorities := ca.list(t, []listed{{serial: 9, reason: 2}}, with(scope("", 0x82, 1, 0xff)))
	a := revocation.CRL(authorities, sub, ca.cert, now)
	require.Equal(t, revocation.Revoked, a.Status)
	require.Equal(t, revocation.Reason("cACompromise"), a.Reason)
}

func TestOCSP(t *testing.T) {
	ca, other := newAuthority(t, "CA", signsBoth), newAuthority(t, "CA", signsBoth)
	cert := ca.leaf(t)
	responder := func(from *authority, usage x509.ExtKeyUsage) *authority {
		return from.issue(t, &x509.Certificate{SerialNumber: big.NewInt(5), Subject: pkix.Name{CommonName: "R"},
			ExtKeyUsage: []x509.ExtKeyUsage{usage}})
	}
	expired := responder(ca, x509.ExtKeyUsageOCSPSigning)
	answer := func(by *authority, embed bool, change func(*ocsp.Response)) []byte {
		r := ocsp.Response{SerialNumber: cert.SerialNumber, ThisUpdate: now.Add(-time.Hour), NextUpdate: now.Add(time.Hour)}
		if embed {
			r.Certificate = by.cert
		}
		if change != nil {
			change(&r)
		}
		der, err := ocsp.CreateResponse(ca.cert, by.cert, r, by.key)
		require.NoError(t, err)
		return der
	}
	revoked := func(r *ocsp.Response) {
		r.Status, r.RevokedAt, r.RevocationReason = ocsp.Revoked, now.AddDate(0, 0, -1), ocsp.Superseded
	}
	for _, tt := range []struct {
		name string
		der  []byte
		at   time.Time
		want revocation.Status
		err  string
	}{
		{"good", answer(ca, false, nil), now, revocation.Good, ""},
		{"good with the issuer's certificate", answer(ca, true, nil), now, revocation.Good, ""},
		{"revoked", answer(ca, false, revoked), now, revocation.Revoked, ""},
		{"revoked, outdated", answer(ca, false, revoked), now.AddDate(0, 0, 1), revocation.Revoked, ""},
		{"unknown", answer(ca, false, func(r *ocsp.Response) { r.Status = ocsp.Unknown }), now, revocation.Unknown, ""},
		{"outdated", answer(ca, false, nil), now.AddDate(0, 0, 1), revocation.Unusable, "valid until"},
		{"early", answer(ca, false, nil), now.AddDate(0, 0, -1), revocation.Unusable, "valid only from"},
		{"delegated", answer(responder(ca, x509.ExtKeyUsageOCSPSigning), true, nil), now, revocation.Good, ""},
		{"for servers", answer(responder(ca, x509.ExtKeyUsageServerAuth), true, nil), now, revocation.Unusable, "signed"},
		{"delegated by another", answer(responder(other, x509.ExtKeyUsageOCSPSigning), true, nil), now,
			revocation.Unusable, "signed"},
		{"by another key", answer(other, false, nil), now, revocation.Unusable, "signed"},
		{"of another certificate", answer(ca, false, func(r *ocsp.Response) { r.SerialNumber = big.NewInt(201) }), now,
			revocation.Unusable, "not for this certificate"},
		{"responder expired", answer(expired, true, func(r *ocsp.Response) { r.NextUpdate = time.Time{} }),
			now.AddDate(2, 0, 0), revocation.Unusable, "signed"},
		{"unauthorized", ocsp.UnauthorizedErrorResponse, now, revocation.Unusable, `answered "unauthorized"`},
		{"try later", ocsp.TryLaterErrorResponse, now, revocation.Unusable, `answered "try later"`},
		{"rubbish", []byte("<html>"), now, revocation.Unusable, "cannot be read"},
		{"too long", make([]byte, revocation.MaxResponse+1), now, revocation.Unusable, "longer than 16 KiB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := revocation.OCSP(tt.der, cert, ca.cert, tt.at)
			assert.Equal(t, tt.want, a.Status, "%v", a.Err)
			if tt.err == "" {
				assert.NoError(t, a.Err)
			} else {
				assert.ErrorContains(t, a.Err, tt.err)
			}
			if tt.want == revocation.Revoked {
				assert.Equal(t, revocation.Reason("superseded"), a.Reason)
			}
		})
	}
}

// For any list, an answer is an error or a status, and only a list that crypto/x509 verifies as signed by the issuer
// has a status.
func FuzzCRL(f *testing.F) {
	ca := newAuthority(f, "CA", signsBoth)
	cert := ca.leaf(f)
	f.Add(ca.list(f, []listed{{serial: 200, reason: 1}}, with(scope(point, 0x84, 1, 0xff))))
	f.Add(ca.list(f, nil, nil))
	f.Fuzz(func(t *testing.T, der []byte) {
		a := revocation.CRL(der, cert, ca.cert, now)
		require.Equal(t, a.Status == revocation.Unusable, a.Err != nil)
		require.Equal(t, a.Status == revocation.Revoked, !a.RevokedAt.IsZero())
		if a.Status != revocation.Unusable {
			if block, _ := pem.Decode(der); block != nil {
				der = block.Bytes
			}
			l, err := x509.ParseRevocationList(der)
			require.NoError(t, err)
			require.NoError(t, l.CheckSignatureFrom(ca.cert))
		}
	})
}

// For any response, an answer is an error or a status.
func FuzzOCSP(f *testing.F) {
	ca := newAuthority(f, "CA", signsBoth)
	cert := ca.leaf(f)
	der, err := ocsp.CreateResponse(ca.cert, ca.cert, ocsp.Response{SerialNumber: cert.SerialNumber, Status: ocsp.Revoked,
		RevokedAt: now.AddDate(0, 0, -1), ThisUpdate: now, Certificate: ca.cert}, ca.key)
	require.NoError(f, err)
	f.Add(der)
	f.Add(ocsp.TryLaterErrorResponse)
	f.Fuzz(func(t *testing.T, der []byte) {
		a := revocation.OCSP(der, cert, ca.cert, now)
		require.Equal(t, a.Status == revocation.Unusable, a.Err != nil)
		require.Equal(t, a.Status == revocation.Revoked, !a.RevokedAt.IsZero())
	})
}
