package revocation

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

// CRL returns the status of a certificate according to a certificate revocation list in DER or PEM, at the
// time now (RFC 5280 section 6.3). The issuer is the certificate of its authority. Large lists are searched
// without keeping their entries in memory.
func CRL(text []byte, cert, issuer *x509.Certificate, now time.Time) Answer {
	if block, _ := pem.Decode(text); block != nil {
		text = block.Bytes
	}
	l, err := readList(text, cert)
	if err != nil {
		return unusable(err)
	}
	a := Answer{Status: Good, ThisUpdate: l.ThisUpdate.UTC(), NextUpdate: l.NextUpdate.UTC()}
	partial, err := l.covers(cert, issuer)
	if err != nil {
		a.Status, a.Err = Unusable, err
		return a
	}
	for _, entry := range l.RevokedCertificateEntries {
		if entry.ReasonCode != removed {
			a.Status, a.RevokedAt, a.Reason = Revoked, entry.RevocationTime.UTC(), reasons[entry.ReasonCode]
		}
	}
	if partial && a.Status == Good {
		a.Status, a.Err = Unusable, errors.New("it covers some reasons only, and does not list the certificate")
	}
	return a.current(now)
}

// A list is a revocation list with those of its entries only that are of one certificate.
type list struct {
	*x509.RevocationList
	signed cryptobyte.String // what the signature is made over: with all entries
}

var errList = errors.New("it is not a revocation list of version 2 in DER (RFC 5280 section 5.1)")

// readList reads a list without the entries of other certificates, of which there may be hundreds of thousands.
func readList(der []byte, cert *x509.Certificate) (*list, error) {
	in := cryptobyte.String(der)
	var whole, signed, tbs cryptobyte.String
	if !in.ReadASN1(&whole, asn1.SEQUENCE) || !in.Empty() || !whole.ReadASN1Element(&signed, asn1.SEQUENCE) {
		return nil, errList
	}
	body := signed
	if !body.ReadASN1(&tbs, asn1.SEQUENCE) {
		return nil, errList
	}
	head, issuer, ok := readHead(&tbs)
	if !ok {
		return nil, errList
	}
	var entries, kept cryptobyte.String
	if tbs.PeekASN1Tag(asn1.SEQUENCE) {
		if !tbs.ReadASN1(&entries, asn1.SEQUENCE) {
			return nil, errList
		}
		var err error
		if kept, err = entriesOf(entries, issuer, cert); err != nil {
			return nil, err
		}
	}
	var b cryptobyte.Builder
	b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
			b.AddBytes(head)
			if len(kept) > 0 {
				b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) { b.AddBytes(kept) })
			}
			b.AddBytes(tbs)
		})
		b.AddBytes(whole)
	})
	short, err := b.Bytes()
	if err != nil {
		return nil, errList
	}
	parsed, err := x509.ParseRevocationList(short)
	if err != nil {
		return nil, errList
	}
	return &list{parsed, signed}, nil
}

// readHead reads what comes before the entries: version, algorithm, issuer and the two times.
func readHead(tbs *cryptobyte.String) (head, issuer cryptobyte.String, ok bool) {
	start := *tbs
	var next cryptobyte.String
	if !tbs.SkipOptionalASN1(asn1.INTEGER) || !tbs.SkipASN1(asn1.SEQUENCE) ||
		!tbs.ReadASN1Element(&issuer, asn1.SEQUENCE) {
		return nil, nil, false
	}
	for tbs.PeekASN1Tag(asn1.UTCTime) || tbs.PeekASN1Tag(asn1.GeneralizedTime) {
		var tag asn1.Tag
		if !tbs.ReadAnyASN1Element(&next, &tag) {
			return nil, nil, false
		}
	}
	return start[:len(start)-len(*tbs)], issuer, true
}

// entriesOf returns the entries of a certificate. The issuer of an entry is the last one named up to it, else that
// of the list (RFC 5280 section 5.3.3). If any entry has a critical extension that is unknown here, the whole list
// must not be used (section 5.3).
func entriesOf(entries, issuer cryptobyte.String, cert *x509.Certificate) (kept cryptobyte.String, err error) {
	number, err := serialOf(cert)
	if err != nil {
		return nil, err
	}
	for !entries.Empty() {
		var element, entry, serial cryptobyte.String
		var tag asn1.Tag
		if !entries.ReadASN1Element(&element, asn1.SEQUENCE) {
			return nil, errList
		}
		rest := element
		if !rest.ReadASN1(&entry, asn1.SEQUENCE) || !entry.ReadASN1(&serial, asn1.INTEGER) ||
			!entry.ReadAnyASN1(new(cryptobyte.String), &tag) {
			return nil, errList
		}
		if !entry.Empty() {
			named, err := readEntryExtensions(entry)
			if err != nil {
				return nil, err
			}
			if named != nil {
				issuer = named
			}
		}
		if bytes.Equal(serial, number) && bytes.Equal(issuer, cert.RawIssuer) {
			kept = append(kept, element...)
		}
	}
	return kept, nil
}

// serialOf is the serial number of a certificate, as an entry encodes it.
func serialOf(cert *x509.Certificate) (number cryptobyte.String, err error) {
	var b cryptobyte.Builder
	b.AddASN1BigInt(cert.SerialNumber)
	der, err := b.Bytes()
	if whole := cryptobyte.String(der); err != nil || !whole.ReadASN1(&number, asn1.INTEGER) {
		return nil, errors.New("the certificate has no serial number")
	}
	return number, nil
}

// The extensions that are known here: of entries by the contents of their object identifiers (RFC 5280 section 5.3), of
// lists by their names (section 5.2).
const (
	entryReason     = "\x55\x1d\x15" // 2.5.29.21
	entryInvalidity = "\x55\x1d\x18" // 2.5.29.24
	entryIssuer     = "\x55\x1d\x1d" // 2.5.29.29

	listNumber       = "2.5.29.20"
	listDelta        = "2.5.29.27"
	listScope        = "2.5.29.28"
	listAuthorityKey = "2.5.29.35"
)

var errCritical = errors.New("it has a critical extension that is unknown to this check (RFC 5280 section 5.2)")

// readEntryExtensions returns the issuer of the certificate of an entry, in DER, if one of the extensions names it.
func readEntryExtensions(in cryptobyte.String) (issuer cryptobyte.String, err error) {
	var list cryptobyte.String
	if !in.ReadASN1(&list, asn1.SEQUENCE) || !in.Empty() {
		return nil, errList
	}
	for !list.Empty() {
		var ext, id, value cryptobyte.String
		var critical bool
		if !list.ReadASN1(&ext, asn1.SEQUENCE) || !ext.ReadASN1(&id, asn1.OBJECT_IDENTIFIER) ||
			ext.PeekASN1Tag(asn1.BOOLEAN) && !ext.ReadASN1Boolean(&critical) || !ext.ReadASN1(&value, asn1.OCTET_STRING) {
			return nil, errList
		}
		switch string(id) {
		case entryReason, entryInvalidity:
		case entryIssuer:
			if issuer = directoryName(value); issuer == nil {
				return nil, errors.New("an entry names an issuer that cannot be read")
			}
		default:
			if critical {
				return nil, errCritical
			}
		}
	}
	return issuer, nil
}

// The kinds of GeneralName that are read: a distinguished name, and a URI (RFC 5280 section 4.2.1.6).
var (
	tagDirectory = asn1.Tag(4).ContextSpecific().Constructed()
	tagURI       = asn1.Tag(6).ContextSpecific()
)

// directoryName returns the distinguished name among GeneralNames, in DER; nil without one.
func directoryName(value cryptobyte.String) (name cryptobyte.String) {
	var names, one cryptobyte.String
	var tag asn1.Tag
	if !value.ReadASN1(&names, asn1.SEQUENCE) {
		return nil
	}
	for names.ReadAnyASN1(&one, &tag) {
		if tag == tagDirectory {
			return one
		}
	}
	return nil
}

// covers checks that the list may be used for a certificate (RFC 5280 section 6.3.3); partial says that it lists those
// only that were revoked for some reasons.
func (l *list) covers(cert, issuer *x509.Certificate) (partial bool, err error) {
	switch {
	case !bytes.Equal(l.RawIssuer, cert.RawIssuer):
		name := pki.ParseName(l.RawIssuer)
		return false, fmt.Errorf("it was issued by %s, and not by the issuer of the certificate", phrase.Quote(name.Short()))
	case issuer.KeyUsage != 0 && issuer.KeyUsage&x509.KeyUsageCRLSign == 0:
		return false, errors.New("the issuer of the certificate may not sign lists")
	case !pki.Checkable(issuer) || issuer.CheckSignature(l.SignatureAlgorithm, l.signed, l.Signature) != nil:
		return false, errors.New("it is not signed with the key of the issuer of the certificate")
	}
	for _, ext := range l.Extensions {
		switch ext.Id.String() {
		case listNumber, listAuthorityKey:
		case listDelta:
			return false, errors.New("it is a delta list, which holds changes only")
		case listScope:
			s, ok := readScope(ext.Value)
			if !ok {
				return false, errors.New("its issuing distribution point cannot be read")
			}
			if err := s.excludes(cert); err != nil {
				return false, err
			}
			partial = s.reasons
		default:
			if ext.Critical {
				return false, errCritical
			}
		}
	}
	return partial, nil
}

// A scope is which certificates a list is about, as its issuing distribution point says (RFC 5280 section 5.2.5).
type scope struct {
	named                         bool     // it is of one distribution point
	urls                          []string // of that point
	users, authorities, attribute bool     // it is of such certificates only
	reasons                       bool     // it is of some reasons only
}

func readScope(value cryptobyte.String) (s scope, ok bool) {
	var body, point, name cryptobyte.String
	flag := func(to *bool, n uint8) bool {
		var one cryptobyte.String
		tag := asn1.Tag(n).ContextSpecific()
		if !body.PeekASN1Tag(tag) {
			return true
		}
		if !body.ReadASN1(&one, tag) || len(one) != 1 {
			return false
		}
		*to = one[0] != 0
		return true
	}
	some := asn1.Tag(3).ContextSpecific()
	var indirect bool
	if !value.ReadASN1(&body, asn1.SEQUENCE) ||
		!body.ReadOptionalASN1(&point, &s.named, asn1.Tag(0).ContextSpecific().Constructed()) ||
		!flag(&s.users, 1) || !flag(&s.authorities, 2) || !body.ReadOptionalASN1(&name, &s.reasons, some) ||
		!flag(&indirect, 4) || !flag(&s.attribute, 5) || !body.Empty() {
		return s, false
	}
	full := asn1.Tag(0).ContextSpecific().Constructed()
	if s.named && point.PeekASN1Tag(full) {
		var names, one cryptobyte.String
		var tag asn1.Tag
		if !point.ReadASN1(&names, full) {
			return s, false
		}
		for !names.Empty() {
			if !names.ReadAnyASN1(&one, &tag) {
				return s, false
			}
			if tag == tagURI {
				s.urls = append(s.urls, string(one))
			}
		}
	}
	return s, true
}

// excludes says why the list is not about a certificate; nil if it is.
func (s scope) excludes(cert *x509.Certificate) error {
	isAuthority := cert.BasicConstraintsValid && cert.IsCA
	points := func(url string) bool { return slices.Contains(cert.CRLDistributionPoints, url) }
	switch {
	case s.attribute, s.users && isAuthority, s.authorities && !isAuthority:
		return errors.New("it covers other kinds of certificates only")
	case s.named && !slices.ContainsFunc(s.urls, points):
		return errors.New("it covers another distribution point than the certificate names")
	}
	return nil
}
