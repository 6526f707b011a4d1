package dane

import (
	"crypto/x509"
	"slices"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// maxUnsent bounds the unsent trust anchors that are tried (package tlsa).
const maxUnsent = 4

// A kit makes records of the certificates of a world.
type fixture struct {
	leaf, issuer, root *x509.Certificate
	chain              []*x509.Certificate
	now                time.Time
}

func newKit(t testing.TB, spec diagtest.CertSpec) *fixture {
	w := diagtest.NewWorld(t)
	if spec.Names == nil {
		spec.Names = []string{"mx.example.com"}
	}
	cert := w.Certificate(spec)
	k := &fixture{leaf: cert.Leaf, now: w.Now()}
	k.root, k.issuer = w.Authorities()
	for _, der := range cert.Certificate {
		c, err := x509.ParseCertificate(der)
		require.NoError(t, err)
		k.chain = append(k.chain, c)
	}
	return k
}

func (k *fixture) verify(records ...Record) Result {
	roots := x509.NewCertPool()
	roots.AddCert(k.root)
	return Verify(records, Peer{Chain: k.chain, Names: []string{"mx.example.com"}, Now: k.now, Roots: roots})
}

// reason returns why no record authenticates the server; empty if one does.
func (k *fixture) reason(records ...Record) Reason {
	if err := k.verify(records...).Err(); err != nil {
		return err.Reason
	}
	return ""
}

func of(u Usage, s Selector, m Matching, c *x509.Certificate) Record {
	part := c.Raw
	if s == SPKI {
		part = c.RawSubjectPublicKeyInfo
	}
	r := Record{Usage: u, Selector: s, Matching: m, Data: part}
	switch m {
	case SHA256:
		r.Data, _ = hexOf(digest(part))
	case SHA512:
		r.Data, _ = hexOf(digest512(part))
	}
	return r
}

func TestVerify(t *testing.T) {
	good := newKit(t, diagtest.CertSpec{})
	expired := newKit(t, diagtest.CertSpec{Cert: diagtest.CertExpired})
	other := newKit(t, diagtest.CertSpec{Cert: diagtest.CertWrongName})
	alone := newKit(t, diagtest.CertSpec{Cert: diagtest.CertMissingIntermediate})
	self := newKit(t, diagtest.CertSpec{Cert: diagtest.CertSelfSigned})
	common := newKit(t, diagtest.CertSpec{Change: func(c *x509.Certificate) { c.DNSNames = nil }})
	for _, s := range []Selector{Cert, SPKI} {
		for _, m := range []Matching{Full, SHA256, SHA512} {
			require.Empty(t, good.reason(of(DANEEE, s, m, good.leaf)))
			require.Empty(t, good.reason(of(PKIXEE, s, m, good.leaf)))
			require.Empty(t, good.reason(of(DANETA, s, m, good.issuer)))
			require.Empty(t, good.reason(of(PKIXTA, s, m, good.issuer)))
			require.Empty(t, good.reason(of(PKIXTA, s, m, good.root)), "the root need not be sent")
			require.Empty(t, expired.reason(of(DANEEE, s, m, expired.leaf)), "RFC 7671 section 5.1")
			require.Empty(t, other.reason(of(DANEEE, s, m, other.leaf)), "RFC 7671 section 5.1")
			require.Empty(t, common.reason(of(DANETA, s, m, common.issuer)), "RFC 7672 section 3.2.3")

			require.Equal(t, OutOfDate, expired.reason(of(DANETA, s, m, expired.issuer)))
			require.Equal(t, OutOfDate, expired.reason(of(PKIXEE, s, m, expired.leaf)))
			require.Equal(t, WrongName, other.reason(of(DANETA, s, m, other.issuer)))
			require.Equal(t, WrongName, other.reason(of(PKIXEE, s, m, other.leaf)))
			require.Equal(t, WrongName, other.reason(of(PKIXTA, s, m, other.root)))
			require.Equal(t, BadChain, alone.reason(of(PKIXEE, s, m, alone.leaf)))
			require.Equal(t, NoMatch, good.reason(of(DANEEE, s, m, good.issuer)))
			require.Equal(t, NoMatch, good.reason(of(DANETA, s, m, good.leaf)), "an issuer, not the server itself")
			require.Equal(t, NoMatch, good.reason(of(DANETA, s, m, alone.issuer)), "another world")
			require.Equal(t, NoMatch, expired.reason(of(DANETA, s, m, alone.issuer)), "what is expired is not the point")
			sent := map[bool]Reason{false: NoMatch}[m == Full] // full data need not be sent
			require.Equal(t, sent, alone.reason(of(DANETA, s, m, alone.issuer)))
			require.Equal(t, sent, good.reason(of(DANETA, s, m, good.root)))
			signedItself := map[bool]Reason{false: NoMatch}[m == Full && s == SPKI]
			require.Equal(t, signedItself, self.reason(of(DANETA, s, m, self.leaf)))
		}
	}
}

// The strongest digest counts for each usage and selector, and full data always (RFC 7671 section 9).
func TestDigestAgility(t *testing.T) {
	k := newKit(t, diagtest.CertSpec{})
	strange := of(DANEEE, SPKI, SHA512, k.issuer)
	require.Equal(t, Superseded, k.reason(of(DANEEE, SPKI, SHA256, k.leaf), strange))
	require.Empty(t, k.reason(of(DANEEE, Cert, SHA256, k.leaf), strange))
	require.Empty(t, k.reason(of(DANEEE, SPKI, Full, k.leaf), strange))
	require.Empty(t, k.reason(of(DANEEE, SPKI, SHA256, k.leaf), of(DANETA, SPKI, SHA512, k.leaf)))
	broken := strange
	broken.Data = broken.Data[:63]
	require.Empty(t, k.reason(of(DANEEE, SPKI, SHA256, k.leaf), broken))
}

// Of an intermediate trust anchor that the server sends all counts but the dates, whatever the record holds of it.
func TestVerifyAnchorThatIsSent(t *testing.T) {
	k := newKit(t, diagtest.CertSpec{})
	old, mere := *k.issuer, *k.issuer
	old.NotAfter = k.now.AddDate(0, 0, -1)
	mere.IsCA = false
	for _, s := range []Selector{Cert, SPKI} {
		for _, m := range []Matching{Full, SHA256, SHA512} {
			k.chain = []*x509.Certificate{k.leaf, &old}
			require.Empty(t, k.reason(of(DANETA, s, m, &old)), "RFC 5280 section 6.1.1")
			k.chain = []*x509.Certificate{k.leaf, &mere}
			require.Equal(t, BadChain, k.reason(of(DANETA, s, m, &mere)), "it may not sign")
		}
	}
}

// Trust anchors that the server does not send are tried up to a limit, and records of those that it sends always.
func TestVerifyManyAnchors(t *testing.T) {
	k := newKit(t, diagtest.CertSpec{})
	stranger := newKit(t, diagtest.CertSpec{}).leaf
	records := slices.Repeat([]Record{of(DANETA, SPKI, Full, stranger)}, maxUnsent)
	require.Equal(t, NoMatch, k.reason(records...))
	require.Equal(t, NoMatch, k.reason(append(records, of(DANETA, SPKI, Full, k.root))...))
	require.Empty(t, k.reason(append(records[1:], of(DANETA, SPKI, Full, k.root))...))
	require.Empty(t, k.reason(append(records, of(DANETA, SPKI, Full, k.issuer))...))
}

func TestVerifyWithout(t *testing.T) {
	k := newKit(t, diagtest.CertSpec{})
	require.Equal(t, NoMatch, k.reason())
	k.chain = nil
	r := k.verify(of(DANEEE, SPKI, SHA256, k.leaf))
	require.False(t, r.OK())
	require.Equal(t, NoMatch, r.Err().Reason)
}

func TestParseRecord(t *testing.T) {
	for text, want := range map[string]string{
		"3 1 1 ABCD ef":                             "3 1 1 abcdef",
		"_25._tcp.mx.example. TLSA 2 0 1 0":         "",
		"_25._tcp.mx.example. 300 IN TLSA 2 0 1 00": "2 0 1 00",
		"3 1":                     "",
		"3 1 1 xyz":               "",
		"mx.example. A 192.0.2.1": "",
		"3 1 1 ab\n. A 192.0.2.1": "",
		"256 1 1 ab":              "",
		"$INCLUDE /etc/passwd":    "",
		"":                        "",
	} {
		r, err := ParseRecord(text)
		if want == "" {
			require.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, want, r.String())
	}
}

func TestNames(t *testing.T) {
	require.Equal(t, "PKIX-TA PKIX-EE DANE-TA DANE-EE unassigned PrivCert", PKIXTA.String()+" "+PKIXEE.String()+" "+
		DANETA.String()+" "+DANEEE.String()+" "+Usage(4).String()+" "+Usage(255).String())
	require.Equal(t, "Cert SPKI unassigned PrivSel", Cert.String()+" "+SPKI.String()+" "+Selector(2).String()+" "+Selector(255).String())
	require.Equal(t, "Full SHA2-256 SHA2-512 PrivMatch", Full.String()+" "+SHA256.String()+" "+SHA512.String()+" "+Matching(255).String())
}
