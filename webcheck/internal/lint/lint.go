package lint

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/pki"
	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

// A Profile is whose rules hold.
type Profile int

// The profiles. A private authority need not follow the Baseline Requirements, and many do not.
const (
	WebPKI  Profile = 0 // authorities that browsers trust: RFC 5280 as the Baseline Requirements change it
	RFC5280 Profile = 1 // all others
)

// A Fault is a rule that a certificate or the path breaks.
type Fault struct {
	ID        string            // of the rule, such as "serial.zero"; permanent
	Detail    string            // what is wrong, a sentence without a full stop
	Reference string            // the document and section of the rule
	Cert      *x509.Certificate // that breaks it; nil if it is the path as a whole
}

// Untrusted is the ID of the fault that no path leads to a trusted root.
const Untrusted = "path.untrusted"

// Server says in what the certificates that a TLS server sent, its own first, break the rules of a profile as of v.Now,
// and returns the path that it judged, leaf first and root last. Of several paths it is the one with the fewest faults.
// Without any the only fault is [Untrusted], and the path is nil. Of the certificates the first [pki.MaxChain] are
// looked at. Revocation lists are used where one is by an issuer of the path; none is fetched.
func Server(
	sent []*x509.Certificate, v pki.Verifier, p Profile, lists []*x509.RevocationList,
) ([]*x509.Certificate, []Fault) {
	sent = sent[:min(len(sent), pki.MaxChain)]
	if len(sent) == 0 {
		return nil, []Fault{{ID: Untrusted, Detail: "There is no certificate", Reference: "RFC 8446 section 4.4.2"}}
	}
	v.Now = v.Now.Truncate(time.Second) // RFC 5280 section 4.1.2.5: validity has no fractions of a second
	var best []*x509.Certificate
	var least []Fault
	for _, path := range paths(sent, v) {
		if faults := judge(path, v, p, lists); best == nil || len(faults) < len(least) {
			best, least = path, faults
		}
	}
	if best == nil {
		return nil, []Fault{{
			ID: Untrusted, Cert: sent[0], Reference: "RFC 5280 section 6.1",
			Detail: "No chain of the certificates sent leads to a trusted authority",
		}}
	}
	return best, least
}

func judge(path []*x509.Certificate, v pki.Verifier, p Profile, lists []*x509.RevocationList) []Fault {
	faults := []Fault{}
	for i, c := range path {
		faults = append(faults, certificate(c, roleOf(i, path), p)...)
	}
	faults = append(faults, validity(path, v.Now)...)
	faults = append(faults, pathLength(path)...)
	faults = append(faults, purposes(path)...)
	faults = append(faults, constraints(path)...)
	faults = append(faults, revocation(path, lists, v.Now)...)
	if v.ServerName != "" {
		if err := v.Name(path[0]); err != nil {
			faults = append(faults, Fault{"name.mismatch", "The certificate does not cover " + v.ServerName,
				"RFC 9525 section 6", path[0]})
		}
	}
	if p == RFC5280 {
		faults = slices.DeleteFunc(faults, func(f Fault) bool { return strings.HasPrefix(f.Reference, "BR ") })
	}
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Compare(slices.Index(path, a.Cert), slices.Index(path, b.Cert))
	})
	return faults
}

func validity(path []*x509.Certificate, now time.Time) []Fault {
	var faults []Fault
	for _, c := range path {
		switch {
		case now.After(c.NotAfter):
			faults = append(faults, Fault{"validity.expired", "The certificate expired on " + date(c.NotAfter),
				"RFC 5280 section 4.1.2.5", c})
		case now.Before(c.NotBefore):
			faults = append(faults, Fault{"validity.early", "The certificate is valid only from " + date(c.NotBefore),
				"RFC 5280 section 4.1.2.5", c})
		}
	}
	return faults
}

func date(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// pathLength counts the intermediates below each authority. Self-issued ones do not count, and the
// last certificate is not an intermediate (RFC 5280 section 4.2.1.9).
func pathLength(path []*x509.Certificate) []Fault {
	var faults []Fault
	below := 0
	for i, c := range path[1:] {
		if c.BasicConstraintsValid && (c.MaxPathLen > 0 || c.MaxPathLenZero) && below > c.MaxPathLen {
			faults = append(faults, Fault{"path.length", fmt.Sprintf(
				"The authority allows %d intermediate certificates below it, and the path has %d", c.MaxPathLen, below),
				"RFC 5280 section 4.2.1.9", path[i+1]})
		}
		if !selfIssued(c) {
			below++
		}
	}
	return faults
}

// purposes checks the usages of the leaf and those of its authorities for TLS servers. A
// root's do not count (RFC 5280 section 6.1), and are a fault of their own.
func purposes(path []*x509.Certificate) []Fault {
	var faults []Fault
	for i, c := range path {
		if i > 0 && i == len(path)-1 || !present(c, oidExtKeyUsage) {
			continue
		}
		server := slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		if !server && !(i > 0 && slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageAny)) {
			faults = append(faults, Fault{"eku.server", "The certificate was not issued for TLS servers",
				"RFC 5280 section 4.2.1.12", c})
		}
	}
	return faults
}

// parseConstraints reads the extension (RFC 5280 section 4.2.1.10).
func parseConstraints(der []byte) (t subtree, ok bool) {
	in := cryptobyte.String(der)
	var body, permitted, excluded cryptobyte.String
	var some, other bool
	if !in.ReadASN1(&body, asn1.SEQUENCE) || !in.Empty() ||
		!body.ReadOptionalASN1(&permitted, &some, asn1.Tag(0).ContextSpecific().Constructed()) ||
		!body.ReadOptionalASN1(&excluded, &other, asn1.Tag(1).ContextSpecific().Constructed()) || !body.Empty() {
		return subtree{}, false
	}
	var fine bool
	if t.permitted, ok = subtrees(permitted); ok {
		t.excluded, fine = subtrees(excluded)
	}
	return t, ok && fine
}

// subtrees reads GeneralSubtrees. The distances minimum and maximum are not used (RFC 5280 section 4.2.1.10).
func subtrees(in cryptobyte.String) (list []generalName, ok bool) {
	for !in.Empty() {
		var one cryptobyte.String
		if !in.ReadASN1(&one, asn1.SEQUENCE) {
			return nil, false
		}
		n, ok := readGeneralName(&one)
		if !ok {
			return nil, false
		}
		list = append(list, n)
	}
	return list, true
}

func readGeneralName(in *cryptobyte.String) (generalName, bool) {
	var value cryptobyte.String
	var tag asn1.Tag
	if !in.ReadAnyASN1(&value, &tag) || tag&0xc0 != 0x80 {
		return generalName{}, false
	}
	return generalName{uint8(tag) & 0x1f, value}, true
}

// namesOf returns what is held against name constraints: the alternative names, the subject, and mail
// addresses in it if the alternative names have none. It is false if they cannot be read.
func namesOf(c *x509.Certificate) (list []generalName, ok bool) {
	if e := find(c, oidSAN); e != nil {
		in := cryptobyte.String(e.Value)
		var body cryptobyte.String
		if !in.ReadASN1(&body, asn1.SEQUENCE) {
			return nil, false
		}
		for !body.Empty() {
			n, ok := readGeneralName(&body)
			if !ok {
				return list, false
			}
			list = append(list, n)
		}
	}
	if len(c.EmailAddresses) == 0 {
		for _, a := range pki.Attributes(c.RawSubject) {
			if a.Type == emailAddress {
				list = append(list, generalName{emailName, []byte(a.Value)})
			}
		}
	}
	if !emptyName(c.RawSubject) {
		list = append(list, generalName{directoryName, c.RawSubject})
	}
	return list, true
}

const emailAddress = "1.2.840.113549.1.9.1"

// Bounds of the search: real chains have one path, cross-signed ones a handful. A chain of ten
// certificates that all sign each other has millions.
const (
	maxPaths      = 20
	maxSignatures = 100 // checked in one search
)

// A search is for paths among the certificates that a server sent.
type search struct {
	sent       []*x509.Certificate
	verifier   pki.Verifier
	signatures int
	found      [][]*x509.Certificate
}

// paths returns the paths from the first certificate to a trusted root, the root last.
func paths(sent []*x509.Certificate, v pki.Verifier) [][]*x509.Certificate {
	s := search{sent: sent, verifier: v}
	if slices.ContainsFunc(sent[:1], pki.Checkable) {
		s.extend(sent[:1:1])
	}
	return s.found
}

// extend looks for the issuer of the last certificate of a path: a trusted root, or another that was sent.
func (s *search) extend(path []*x509.Certificate) {
	top := path[len(path)-1]
	for _, root := range s.anchors(top) {
		s.found = append(s.found, append(slices.Clip(path), root...))
	}
	for _, issuer := range s.sent {
		if len(s.found) >= maxPaths {
			return
		}
		again := func(c *x509.Certificate) bool { return c.Equal(issuer) || sameAuthority(c, issuer) }
		if !slices.ContainsFunc(path, again) && s.signed(top, issuer) {
			s.extend(append(slices.Clip(path), issuer))
		}
	}
}

// sameAuthority reports whether two certificates have one subject and one key: a path that passes
// one again is a loop.
func sameAuthority(a, b *x509.Certificate) bool {
	return bytes.Equal(a.RawSubject, b.RawSubject) && bytes.Equal(a.RawSubjectPublicKeyInfo, b.RawSubjectPublicKeyInfo)
}

func (s *search) signed(c, issuer *x509.Certificate) bool {
	if !bytes.Equal(c.RawIssuer, issuer.RawSubject) || !pki.Checkable(issuer) || s.signatures >= maxSignatures {
		return false
	}
	s.signatures++
	return issuer.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) == nil
}

// anchors returns what to add to a path that ends in top: nothing if that is a trusted root itself, or the root
// that signed it. The pool of roots cannot be read, but it can be asked through a verification of top alone. What is to
// be said about top is for the rules, so the copy that is verified has none of what would make crypto/x509 refuse it.
func (s *search) anchors(top *x509.Certificate) [][]*x509.Certificate {
	bare := *top
	bare.UnhandledCriticalExtensions = nil
	bare.DNSNames, bare.EmailAddresses, bare.IPAddresses, bare.URIs = nil, nil, nil, nil
	bare.Extensions = slices.DeleteFunc(slices.Clone(top.Extensions), func(e extension) bool { return e.Id.Equal(oidSAN) })
	bare.NotBefore, bare.NotAfter = time.Time{}, s.verifier.Now.AddDate(1, 0, 0)
	chains, err := bare.Verify(x509.VerifyOptions{
		Roots: s.verifier.Roots, CurrentTime: s.verifier.Now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	if err != nil {
		return nil
	}
	return kit.Map(chains, func(chain []*x509.Certificate) []*x509.Certificate { return chain[1:] })
}

// revocation holds each certificate against the revocation lists of its issuer (RFC 5280 section 6.3.3). A list that
// breaks the rules says nothing, which is a fault of its own: clients that ask for lists refuse the certificate.
func revocation(path []*x509.Certificate, lists []*x509.RevocationList, now time.Time) []Fault {
	var faults []Fault
	for i, c := range path[:len(path)-1] {
		for _, list := range lists {
			if !bytes.Equal(list.RawIssuer, c.RawIssuer) {
				continue
			}
			if why := badList(list, path[i+1], now); why != "" {
				faults = append(faults, Fault{"crl.invalid", why, "RFC 5280 section 6.3.3", c})
			} else if revoked(list, c) {
				faults = append(faults, Fault{"crl.revoked", "The certificate has been revoked", "RFC 5280 section 5.3", c})
			}
		}
	}
	return faults
}

func badList(list *x509.RevocationList, issuer *x509.Certificate, now time.Time) string {
	number := slices.IndexFunc(list.Extensions, func(e extension) bool { return e.Id.Equal(oidCRLNumber) })
	switch {
	case number < 0:
		return "The revocation list has no number" // RFC 5280 section 5.2.3
	case list.Extensions[number].Critical:
		return "The number of the revocation list is marked critical"
	case present(issuer, oidKeyUsage) && issuer.KeyUsage&x509.KeyUsageCRLSign == 0:
		return "The issuer's key usage does not allow it to sign revocation lists"
	case issuer.CheckSignature(list.SignatureAlgorithm, list.RawTBSRevocationList, list.Signature) != nil:
		return "The signature of the revocation list is wrong"
	case !list.NextUpdate.IsZero() && now.After(list.NextUpdate):
		return "The revocation list expired on " + date(list.NextUpdate)
	default:
		return ""
	}
}

func revoked(list *x509.RevocationList, c *x509.Certificate) bool {
	return slices.ContainsFunc(list.RevokedCertificateEntries, func(e x509.RevocationListEntry) bool {
		return e.SerialNumber.Cmp(c.SerialNumber) == 0
	})
}
