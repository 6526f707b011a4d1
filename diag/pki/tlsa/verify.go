package tlsa

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
)

// A Peer is the chain that a server presented, and the parameters for its verification.
type Peer struct {
	Chain []*x509.Certificate // certificates as sent, that of the server first
	Names []string            // names, one of which the certificate must cover, except for DANE-EE; without final dots
	Now   time.Time
	Roots *x509.CertPool // public authorities, for PKIX-TA and PKIX-EE; nil means those of the system
}

// A Reason is the reason that a record does not authenticate a server.
type Reason string

// The reasons, ordered from the farthest from success to the closest.
const (
	Unusable   Reason = "unusable"   // no client can use the record
	NoMatch    Reason = "no_match"   // no certificate at the position that the usage requires matches
	Superseded Reason = "superseded" // it matches, but is ignored in favor of a record with a stronger digest
	BadChain   Reason = "bad_chain"  // the matching certificate did not issue that of the server, or must not
	OutOfDate  Reason = "dates"      // a certificate has expired, or is not yet valid
	WrongName  Reason = "name"       // the certificate covers none of Names
)

var reasons = []Reason{Unusable, NoMatch, Superseded, BadChain, OutOfDate, WrongName}

// A MatchError is the reason that a record does not authenticate a server.
type MatchError struct {
	Reason Reason
	Text   string // a clause
}

func (e *MatchError) Error() string { return e.Text }

// A Match is the result of one record for a server.
type Match struct {
	// Found means that Data matches a certificate at the position that the usage requires, even if Err is not
	// nil.
	Found bool
	// Err is the reason that the record does not authenticate the server; nil if it does.
	Err *MatchError
}

// A Result is the result of verifying a server against TLSA records.
type Result struct {
	Matches []Match // one for each record
}

// OK reports whether at least one of the records authenticates the server, which is sufficient.
func (r Result) OK() bool {
	return slices.ContainsFunc(r.Matches, func(m Match) bool { return m.Err == nil })
}

// Err returns the reason that no record authenticates the server, the one closest to success. It returns nil
// if a record does.
func (r Result) Err() *MatchError {
	var closest *MatchError
	for _, m := range r.Matches {
		if m.Err == nil {
			return nil
		}
		if closest == nil || slices.Index(reasons, m.Err.Reason) > slices.Index(reasons, closest.Reason) {
			closest = m.Err
		}
	}
	if closest == nil {
		return &MatchError{NoMatch, "there are no TLSA records"}
	}
	return closest
}

// Verify verifies the chain that a server presented against TLSA records (RFC 7671). It uses all records; for
// mail, pass only those for which [Record.UsableForSMTP] returns true.
//
// It agrees with OpenSSL, which most senders use. In particular, DANE-TA requires an issuer: the server's own
// certificate does not count as one, even if self-signed, unless the record has the whole public key that
// signed it.
func Verify(records []Record, p Peer) Result {
	p.Chain = p.Chain[:min(len(p.Chain), pki.MaxChain)]
	r := Result{Matches: make([]Match, len(records))}
	weaker := superseded(records)
	v := verification{Peer: p, known: map[string]*MatchError{}}
	for i, record := range records {
		m := &r.Matches[i]
		switch fault := record.Fault(); {
		case len(p.Chain) == 0:
			m.Err = &MatchError{NoMatch, "the server presented no certificate"}
			continue
		case fault != "":
			m.Err = &MatchError{Unusable, "the record " + fault}
			continue
		}
		if m.Found, m.Err = v.judge(record); weaker[i] && m.Err == nil {
			m.Err = &MatchError{Superseded, "clients that know SHA2-512 use the records with it instead"}
		}
	}
	return r
}

// A verification bounds the work for all records together: a domain chooses both its records and its certificates, and
// certificates that sign one another in many ways take long to follow.
type verification struct {
	Peer
	known  map[string]*MatchError // outcomes by places of the trust anchors in the chain; no place: public roots
	unsent int                    // trust anchors that were tried, and that the server does not send
}

// maxUnsent is how many trust anchors that the server does not send are tried. One is usual, two during a change.
const maxUnsent = 4

// judge looks for the certificate of a record, and then at all else that the usage demands.
func (v *verification) judge(r Record) (found bool, err *MatchError) {
	switch r.Usage {
	case DANEEE:
		// Names and dates do not matter (RFC 7671 section 5.1).
		if r.Matches(v.Chain[0]) {
			return true, nil
		}
		return false, errOther
	case DANETA:
		return v.daneTA(r)
	case PKIXEE:
		if !r.Matches(v.Chain[0]) {
			return false, errOther
		}
		return true, cmp.Or(v.public(), v.named())
	default:
		return v.pkixTA(r)
	}
}

func (v *verification) daneTA(r Record) (found bool, err *MatchError) {
	pool, places := v.anchors(r)
	if len(places) > 0 {
		err, done := v.known[string(places)]
		if !done {
			err = cmp.Or(v.path(pool), v.named())
			v.known[string(places)] = err
		}
		return true, err
	}
	if r.Matching != Full {
		return false, errNoIssuer
	}
	if v.unsent++; v.unsent > maxUnsent {
		return false, errTooMany
	}
	switch err := v.path(pool); {
	case err == nil:
		return true, v.named()
	case !(pki.Verifier{Roots: pool, Now: v.Now}).Complete(v.Chain):
		return false, errNoIssuer // no path at any time shows that the record has to do with the server
	default:
		return true, err
	}
}

func (v *verification) public() *MatchError {
	err, done := v.known[""]
	if !done {
		err = v.path(v.Roots)
		v.known[""] = err
	}
	return err
}

var (
	errOther    = &MatchError{NoMatch, "it is not that of the certificate that the server presents"}
	errNoIssuer = &MatchError{NoMatch, "no issuer of the certificate that the server presents has it"}
	errTooMany  = &MatchError{NoMatch, "there are too many trust anchors that the server does not send"}
)

// anchors are the certificates that a record makes trust anchors: those that the server sends beside its own, with
// their places in the chain, or else that in the record itself. A public key becomes an anchor for every certificate
// that it signed (RFC 7671 section 5.2.3).
func (p *Peer) anchors(r Record) (pool *x509.CertPool, places []byte) {
	pool = x509.NewCertPool()
	for i, c := range p.Chain {
		if i > 0 && r.Matches(c) && !c.Equal(p.Chain[0]) {
			pool.AddCert(anchor(c))
			places = append(places, byte(i))
		}
	}
	if r.Matching != Full || len(r.Data) > maxAnchorBytes || len(places) > 0 {
		return pool, places
	}
	if r.Selector == SPKI {
		named := map[string]bool{}
		for i, c := range p.Chain {
			if anchor := bareKey(r.Data, c.RawIssuer, byte(i)); anchor != nil && !named[string(c.RawIssuer)] {
				pool.AddCert(anchor)
				named[string(c.RawIssuer)] = true
			}
		}
		return pool, nil
	}
	if c, err := x509.ParseCertificate(r.Data); err == nil && !c.Equal(p.Chain[0]) &&
		len(c.RawSubjectPublicKeyInfo) <= maxKeyBytes {
		pool.AddCert(c)
	}
	return pool, nil
}

// anchor makes a trust anchor of a certificate that was sent. Like OpenSSL it takes the dates of one that signed itself
// into account, and not those of an intermediate one (RFC 5280 section 6.1.1 leaves out both).
func anchor(c *x509.Certificate) *x509.Certificate {
	if bytes.Equal(c.RawSubject, c.RawIssuer) {
		return c
	}
	timeless := *c
	timeless.NotBefore, timeless.NotAfter = always()
	return &timeless
}

func always() (from, until time.Time) {
	return time.Unix(0, 0), time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)
}

// maxAnchorBytes bounds what is parsed of a record. Certificates have 1 to 2 kB.
const maxAnchorBytes = 16 << 10

// bareKey makes a trust anchor of a public key, with the name that issued a certificate: an anchor is but a name and a
// key (RFC 5280 section 6.1.1). Its dates are unlimited. It is nil for a key that signs nothing.
func bareKey(key, name []byte, serial byte) *x509.Certificate {
	if len(key) > maxKeyBytes {
		return nil
	}
	public, err := x509.ParsePKIXPublicKey(key)
	if err != nil {
		return nil
	}
	from, until := always()
	return &x509.Certificate{
		Raw:        append(slices.Clone(key), serial), // unique, because a pool distinguishes certificates by it
		RawSubject: name, PublicKey: public, PublicKeyAlgorithm: algorithm(public),
		Version: 3, BasicConstraintsValid: true, IsCA: true, MaxPathLen: -1, NotBefore: from, NotAfter: until,
	}
}

// path says why no valid path leads from the certificate of the server to one of the anchors; nil if one does.
func (p *Peer) path(anchors *x509.CertPool) *MatchError {
	err := pki.Verifier{Roots: anchors, Now: p.Now}.Trust(p.Chain)
	if err == nil {
		return nil
	}
	reason := BadChain
	if trust, ok := err.(*pki.TrustError); ok && (trust.Reason == pki.Expired || trust.Reason == pki.NotYetValid) {
		reason = OutOfDate
	}
	return &MatchError{reason, err.Error()}
}

func (v *verification) pkixTA(r Record) (found bool, err *MatchError) {
	found = slices.ContainsFunc(v.Chain[1:], r.Matches)
	if err := v.public(); err != nil {
		return found, err
	}
	sent := x509.NewCertPool()
	for _, c := range v.Chain[1:] {
		sent.AddCert(c)
	}
	paths, _ := v.Chain[0].Verify(x509.VerifyOptions{Roots: v.Roots, Intermediates: sent, CurrentTime: v.Now})
	for _, path := range paths {
		if slices.ContainsFunc(path[1:], r.Matches) {
			return true, v.named()
		}
	}
	return found, errNoIssuer
}

func (p *Peer) named() *MatchError {
	leaf := p.Chain[0]
	if slices.ContainsFunc(p.Names, func(name string) bool { return covers(leaf, name) }) {
		return nil
	}
	of := "no host name"
	switch n := len(leaf.DNSNames); {
	case n > maxNamed:
		of = fmt.Sprintf("%s and %d other names", leaf.DNSNames[0], n-1)
	case n > 0:
		of = strings.Join(leaf.DNSNames, ", ")
	case leaf.Subject.CommonName != "":
		of = leaf.Subject.CommonName
	}
	return &MatchError{WrongName, fmt.Sprintf("the certificate is for %s, not for %s", phrase.Quote(of),
		strings.Join(p.Names, " or "))}
}

const maxNamed = 3

// covers reports whether a certificate is for a name. Without any host name among the alternative names the common
// name counts, as senders of mail have it (RFC 7672 section 3.2.3).
func covers(c *x509.Certificate, name string) bool {
	if len(c.DNSNames) > 0 || c.Subject.CommonName == "" {
		return c.VerifyHostname(name) == nil
	}
	common := &x509.Certificate{DNSNames: []string{c.Subject.CommonName}, Extensions: c.Extensions}
	return common.VerifyHostname(name) == nil
}

func algorithm(key any) x509.PublicKeyAlgorithm {
	switch key.(type) {
	case *rsa.PublicKey:
		return x509.RSA
	case *ecdsa.PublicKey:
		return x509.ECDSA
	case ed25519.PublicKey:
		return x509.Ed25519
	default:
		return x509.UnknownPublicKeyAlgorithm
	}
}
