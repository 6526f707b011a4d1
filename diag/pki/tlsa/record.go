// Package tlsa verifies the certificates of a server against TLSA records, which bind a certificate or key to
// a name in the signed DNS (DANE; RFC 6698, RFC 7671). Parse records with [ParseRecord] or [RecordOf], and
// call [Verify]. The package is pure, supports all usages, selectors and matching types, and works for mail
// (RFC 7672) and other protocols.
//
// A TLSA record has four parts: the usage says which certificate of the chain it is about, and whether a
// public authority must have issued it as well; the selector, whether it is about the whole certificate or
// its public key; the matching type, whether Data is that part itself or a hash of it. The most common form,
// "3 1 1", has the SHA-256 hash of the public key of the server's own certificate.
package tlsa

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/miekg/dns"
)

// Usage is the certificate that a record is about, and what else is required of it (RFC 6698 section 2.1.1).
type Usage uint8

// The usages, by their names in RFC 7218 section 2.1.
const (
	PKIXTA Usage = 0 // an authority that issued the certificate, which must also be publicly trusted
	PKIXEE Usage = 1 // the certificate of the server, which must also be publicly trusted
	DANETA Usage = 2 // an authority that issued the certificate
	DANEEE Usage = 3 // the certificate of the server
)

// Selector is the part of the certificate that is compared (RFC 6698 section 2.1.2).
type Selector uint8

// The selectors.
const (
	Cert Selector = 0 // the whole certificate
	SPKI Selector = 1 // the public key (SubjectPublicKeyInfo)
)

// Matching is the matching type: how Data is compared with the selected part (RFC 6698 section 2.1.3).
type Matching uint8

// The matching types.
const (
	Full   Matching = 0 // the whole part
	SHA256 Matching = 1
	SHA512 Matching = 2
)

const unassigned = "unassigned"

// String returns the acronym of RFC 7218 section 2.1.
func (u Usage) String() string {
	return nameOf(int(u), "PrivCert", "PKIX-TA", "PKIX-EE", "DANE-TA", "DANE-EE")
}

// String returns the acronym of RFC 7218 section 2.2.
func (s Selector) String() string { return nameOf(int(s), "PrivSel", "Cert", "SPKI") }

// String returns the acronym of RFC 7218 section 2.3.
func (m Matching) String() string { return nameOf(int(m), "PrivMatch", "Full", "SHA2-256", "SHA2-512") }

// nameOf names a number in the registries of RFC 7218, in which 255 is for private use.
func nameOf(n int, private string, names ...string) string {
	switch {
	case n < len(names):
		return names[n]
	case n == 255:
		return private
	default:
		return unassigned
	}
}

// A Record is a TLSA record.
type Record struct {
	Usage    Usage
	Selector Selector
	Matching Matching
	Data     []byte // the certificate association data
}

// RecordOf returns the Record for a DNS record.
func RecordOf(rr *dns.TLSA) Record {
	data, _ := hex.DecodeString(rr.Certificate) // digits that the library has made of bytes
	return Record{Usage(rr.Usage), Selector(rr.Selector), Matching(rr.MatchingType), data}
}

var errNotTLSA = errors.New("not a TLSA record: it must be three numbers and hexadecimal digits")

// ParseRecord parses a record as in a zone file: its data, "3 1 1 60317c58…", or the whole line. It does not
// check whether the record is usable; see [Record.Fault].
func ParseRecord(text string) (Record, error) {
	if strings.ContainsAny(text, "\n$") { // more than one line, or a directive
		return Record{}, errNotTLSA
	}
	for _, line := range []string{text, ". TLSA " + text} {
		rr, err := dns.NewRR(line)
		tlsa, ok := rr.(*dns.TLSA)
		if err != nil || !ok {
			continue
		}
		if _, err := hex.DecodeString(tlsa.Certificate); err == nil {
			return RecordOf(tlsa), nil
		}
	}
	return Record{}, errNotTLSA
}

// String returns the record data as in a zone file.
func (r Record) String() string { return r.Numbers() + " " + hex.EncodeToString(r.Data) }

// Numbers returns usage, selector and matching type as in a zone file: "3 1 1".
func (r Record) Numbers() string { return fmt.Sprintf("%d %d %d", r.Usage, r.Selector, r.Matching) }

// maxKeyBytes bounds the public keys with which signatures are checked: RSA with 16384 bits. The work grows with the
// square of the size, and the domain chooses it.
const maxKeyBytes = 16384/8 + 64

// Fault returns why no client can use the record, as a clause about it. It returns the empty string if
// clients that support its usage can.
func (r Record) Fault() string {
	switch {
	case r.Usage > DANEEE:
		return fmt.Sprintf("has the usage %d, which is not defined", r.Usage)
	case r.Selector > SPKI:
		return fmt.Sprintf("has the selector %d, which is not defined", r.Selector)
	case r.Matching > SHA512:
		return fmt.Sprintf("has the matching type %d, which is not defined", r.Matching)
	}
	want := map[Matching]int{SHA256: sha256.Size, SHA512: sha512.Size}[r.Matching]
	if r.Matching != Full {
		if len(r.Data) == want {
			return ""
		}
		return fmt.Sprintf("has %d bytes of data, and %s has %d", len(r.Data), r.Matching, want)
	}
	if _, err := x509.ParseCertificate(r.Data); r.Selector == Cert && err != nil {
		return "has data that are not a certificate in DER"
	}
	if _, err := x509.ParsePKIXPublicKey(r.Data); r.Selector == SPKI && err != nil {
		return "has data that are not a public key in DER"
	}
	return ""
}

// UsableForSMTP reports whether senders of mail can use the record: the usages PKIX-TA and PKIX-EE have no
// effect there (RFC 7672 section 3.1.3).
func (r Record) UsableForSMTP() bool {
	return (r.Usage == DANETA || r.Usage == DANEEE) && r.Fault() == ""
}

// Matches reports whether the record matches a certificate, regardless of the usage.
func (r Record) Matches(c *x509.Certificate) bool {
	part := c.Raw
	if r.Selector == SPKI {
		part = c.RawSubjectPublicKeyInfo
	}
	switch r.Matching {
	case Full:
	case SHA256:
		sum := sha256.Sum256(part)
		part = sum[:]
	case SHA512:
		sum := sha512.Sum512(part)
		part = sum[:]
	default:
		return false
	}
	return r.Selector <= SPKI && bytes.Equal(part, r.Data)
}

// superseded marks the records that clients leave out for a stronger digest of the same usage and selector: then only
// the strongest counts, and full data beside it (RFC 7671 section 9). A record with a fault supersedes nothing.
func superseded(records []Record) []bool {
	type group struct {
		Usage
		Selector
	}
	strongest := map[group]Matching{}
	for _, r := range records {
		if g := (group{r.Usage, r.Selector}); r.Fault() == "" {
			strongest[g] = max(strongest[g], r.Matching)
		}
	}
	list := make([]bool, len(records))
	for i, r := range records {
		list[i] = r.Matching != Full && r.Matching < strongest[group{r.Usage, r.Selector}]
	}
	return list
}
