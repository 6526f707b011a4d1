package markcert

import (
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	_ "embed"
	"encoding/asn1"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
)

type trust struct {
	Trusted    bool // it leads to a root of the list, and every certificate is valid now
	Recognized bool // it leads there at a time at which all are valid

	Reason pki.Reason          // why it is not trusted
	Text   string              // the same as a clause
	Chain  []*x509.Certificate // from the leaf to the root, if recognized; without the root if that is all there is
	Root   *x509.Certificate   // nil if not recognized
}

// verify follows the issuers of a certificate to one of the roots (RFC 5280 section 6.1). The others are certificates
// that may lie between, in any order.
func verify(leaf *x509.Certificate, others []*x509.Certificate, roots *RootSet, now time.Time) trust {
	chain := slices.Concat([]*x509.Certificate{withoutHandled(leaf)}, others)
	v := pki.Verifier{Roots: roots.pool, Now: now, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
	err := v.Trust(chain)
	t := trust{Trusted: err == nil}
	if e, ok := errors.AsType[*pki.TrustError](err); ok {
		t.Reason, t.Text = explain(e, leaf, others)
	}
	if slices.ContainsFunc(chain, func(c *x509.Certificate) bool { return !pki.Checkable(c) }) {
		return t
	}
	t.Chain = findChain(chain, roots, now)
	if t.Recognized = len(t.Chain) > 0; t.Recognized {
		t.Root, t.Chain[0] = t.Chain[len(t.Chain)-1], leaf
	} else if !t.Trusted && (t.Reason == pki.Expired || t.Reason == pki.NotYetValid) {
		// The whole chain is valid at no time, so waiting does not help.
		t.Reason, t.Text = pki.BadChain, "the validity of its certificates does not overlap"
	}
	return t
}

// withoutHandled returns a copy of a certificate without the extensions among its unhandled critical ones that this
// package handles, which crypto/x509 does not know.
func withoutHandled(c *x509.Certificate) *x509.Certificate {
	known := *c
	known.UnhandledCriticalExtensions = slices.DeleteFunc(slices.Clone(c.UnhandledCriticalExtensions),
		func(oid asn1.ObjectIdentifier) bool { return oid.Equal(oidPilot) || oid.Equal(oidLogotype) })
	return &known
}

// findChain finds a chain to a root, all of whose certificates are valid at some time: now, if there is such a one. The
// signatures are checked once, regardless of dates, since the input determines the cost.
func findChain(chain []*x509.Certificate, roots *RootSet, now time.Time) []*x509.Certificate {
	chain = chain[:min(len(chain), pki.MaxChain)]
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(timeless(c))
	}
	found, err := timeless(chain[0]).Verify(x509.VerifyOptions{
		Roots: roots.timeless, Intermediates: between, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	if err != nil {
		return nil
	}
	var other []*x509.Certificate
	for _, path := range found {
		path = dated(path, slices.Concat(chain, roots.Certificates))
		switch from, until := validity(path); {
		case !now.Before(from) && !now.After(until):
			return path
		case !from.After(until) && other == nil:
			other = path
		}
	}
	return other
}

// timeless returns a copy of a certificate that is always valid. Its signature is over bytes that stay as they are.
func timeless(c *x509.Certificate) *x509.Certificate {
	always := *c
	always.NotBefore, always.NotAfter = time.Time{}, time.Unix(1<<40, 0)
	return &always
}

func dated(path, originals []*x509.Certificate) []*x509.Certificate {
	list := make([]*x509.Certificate, len(path))
	for i, c := range path {
		list[i] = originals[slices.IndexFunc(originals, c.Equal)]
	}
	return list
}

func validity(path []*x509.Certificate) (from, until time.Time) {
	from = slices.MaxFunc(path, func(a, b *x509.Certificate) int { return a.NotBefore.Compare(b.NotBefore) }).NotBefore
	until = slices.MinFunc(path, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) }).NotAfter
	return from, until
}

// explain says why a chain is not trusted, in the words of mark certificates. If the issuer of the certificate is
// missing, the chain cannot be followed; a root may be omitted.
func explain(e *pki.TrustError, leaf *x509.Certificate, others []*x509.Certificate) (pki.Reason, string) {
	top := topOf(leaf, others)
	switch {
	case e.Reason == pki.SelfSignedLeaf:
		return e.Reason, "the certificate is signed with its own key, not by an authority"
	case e.Reason != pki.Incomplete && e.Reason != pki.UnknownAuthority:
		return e.Reason, e.Text
	case top == leaf:
		return pki.Incomplete, fmt.Sprintf("the certificate of its issuer %s is missing from the text", issuer(leaf))
	default:
		return pki.UnknownAuthority, fmt.Sprintf("its chain leads to %s, which is not an authority for mark "+
			"certificates",
			issuer(top))
	}
}

func name(c *x509.Certificate) string { return label(pki.ParseName(c.RawSubject)) }

func issuer(c *x509.Certificate) string { return label(pki.ParseName(c.RawIssuer)) }

func label(n pki.Name) string {
	organization := strings.Join(n.Organization[:min(1, len(n.Organization))], "")
	return "“" + phrase.Quote(cmp.Or(n.CommonName, organization, n.Raw)) + "”"
}

func topOf(leaf *x509.Certificate, others []*x509.Certificate) *x509.Certificate {
	top := leaf
	for range others {
		i := slices.IndexFunc(others, func(o *x509.Certificate) bool {
			return o != top && string(o.RawSubject) == string(top.RawIssuer)
		})
		if i < 0 || string(top.RawIssuer) == string(top.RawSubject) {
			break
		}
		top = others[i]
	}
	return top
}

// RootsFile is the list that replaces the built-in roots, see [diag.List].
const RootsFile = "mark-roots.pem"

//go:embed data/mark-roots.pem
var rootsText []byte

// BuiltInRoots returns the built-in file of roots, to be changed and used as [RootsFile].
func BuiltInRoots() []byte { return slices.Clone(rootsText) }

// A RootSet is an immutable list of authorities for mark certificates.
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
	case b.Form != pemText || len(b.Certificates) == 0:
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

func roots(env *diag.Env) (*RootSet, error) {
	return diag.List(env, RootsFile, defaultRoots, ParseRoots)
}

// A distrust is the date from which a provider does not accept certificates issued by a root.
type distrust struct {
	operator, by string
	since        time.Time // certificates issued later are refused
}

// distrusted are roots that only some providers still accept, by the SHA-256 of the certificate. Of Entrust tells
// https://www.entrust.com/tls-certificate-information-center/apple-changes-regarding-entrust-roots.
var distrusted = map[string]distrust{
	"7831d95a47d42508cd5c9e6264f9096bac19f04eb9b7c8bdd35fffc71c189617": {"Entrust", "Apple",
		time.Date(2024, time.November, 15, 23, 59, 59, 0, time.UTC)},
}

func fingerprint(c *x509.Certificate) string { return fmt.Sprintf("%x", sha256.Sum256(c.Raw)) }

// logsFile is the list of logs of an operator, see [diag.List] and [pki.ParseLogs]. The built-in logs, which are those
// of mark certificates, count in addition: the lists of web browsers do not have them.
const logsFile = "ct-logs.json"

//go:embed data/ct-logs.json
var logsText []byte

// BuiltInLogs returns the built-in file of logs, to be added to and used as ct-logs.json, see [diag.List].
func BuiltInLogs() []byte { return slices.Clone(logsText) }

var defaultLogs = sync.OnceValue(func() []pki.Log {
	logs, err := pki.ParseLogs(logsText)
	if err != nil {
		panic(err) // the list is part of the program, and a test reads it
	}
	return logs
})

func logs(env *diag.Env) ([]pki.Log, error) {
	return diag.List(env, logsFile, defaultLogs, func(data []byte) ([]pki.Log, error) {
		logs, err := pki.ParseLogs(data)
		return append(logs, defaultLogs()...), err
	})
}

// A Timestamp is the promise of a log to publish the certificate (RFC 6962 section 3.2).
type Timestamp struct {
	Log      string    `json:"log,omitempty" doc:"name of the log; absent if it is not known" example:"DigiCert Gorgon"`
	LoggedAt time.Time `json:"logged_at,omitzero" doc:"when the log received the certificate; absent if the timestamp cannot be read"`
	Verified *bool     `json:"verified,omitempty" doc:"whether the log signed it for this certificate; absent if that could not be checked"`
}

// readTimestamps reads and verifies the timestamps in a certificate. The issuer may be nil: then none can be verified.
func readTimestamps(leaf, issuer *x509.Certificate, logs []pki.Log) (list []Timestamp, broken bool) {
	scts, err := pki.SCTs(leaf)
	for _, s := range scts {
		t := Timestamp{LoggedAt: s.Timestamp}
		if i := slices.IndexFunc(logs, func(l pki.Log) bool { return l.ID == s.LogID }); i >= 0 {
			if t.Log = logs[i].Description; issuer != nil {
				t.Verified = new(s.Verify(leaf, issuer, logs[i].Key) == nil)
			}
		}
		list = append(list, t)
	}
	return list, err != nil
}
