package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

// MaxSCTs is the maximum number of timestamps of a certificate that are read. Real certificates have up to 5.
const MaxSCTs = 20

// An SCT is a signed certificate timestamp: the promise of a log of Certificate Transparency to publish a certificate
// (RFC 6962 section 3.2).
type SCT struct {
	Version   uint8
	LogID     [sha256.Size]byte // SHA-256 of the key of the log
	Timestamp time.Time         // at most the end of the year 9999; zero if the version is unknown

	millis     uint64
	extensions []byte
	hash       uint8 // of the signature, as in TLS 1.2
	algorithm  uint8
	signature  []byte
}

// errSCT says that the extension cannot be read.
var errSCT = errors.New("the list of timestamps is not encoded as RFC 6962 section 3.3 says")

// SCTs returns the timestamps embedded in a certificate, at most [MaxSCTs]. If the list, or one of them, is
// malformed, it returns an error and the timestamps before it.
func SCTs(c *x509.Certificate) ([]SCT, error) {
	for _, ext := range c.Extensions {
		if ext.Id.String() == sctExtension {
			return parseSCTs(ext.Value)
		}
	}
	return nil, nil
}

func parseSCTs(value cryptobyte.String) ([]SCT, error) {
	var octets, list cryptobyte.String
	if !value.ReadASN1(&octets, asn1.OCTET_STRING) || !value.Empty() || !octets.ReadUint16LengthPrefixed(&list) ||
		!octets.Empty() {
		return nil, errSCT
	}
	var found []SCT
	for !list.Empty() && len(found) < MaxSCTs {
		var one cryptobyte.String
		if !list.ReadUint16LengthPrefixed(&one) {
			return found, errSCT
		}
		s, ok := parseSCT(one)
		if !ok {
			return found, errSCT
		}
		found = append(found, s)
	}
	return found, nil
}

// parseSCT reads one timestamp. Of other versions than the first nothing but the version is known.
func parseSCT(in cryptobyte.String) (s SCT, ok bool) {
	if !in.ReadUint8(&s.Version) {
		return s, false
	}
	if s.Version != 0 {
		return s, true
	}
	var extensions, signature cryptobyte.String
	if !in.CopyBytes(s.LogID[:]) || !in.ReadUint64(&s.millis) || !in.ReadUint16LengthPrefixed(&extensions) ||
		!in.ReadUint8(&s.hash) || !in.ReadUint8(&s.algorithm) || !in.ReadUint16LengthPrefixed(&signature) || !in.Empty() {
		return s, false
	}
	s.extensions, s.signature = extensions, signature
	s.Timestamp = time.UnixMilli(int64(min(s.millis, uint64(latest.UnixMilli())))).UTC()
	return s, true
}

// latest is the last moment that RFC 3339, and with it JSON, has a form for; a timestamp has room for later ones.
var latest = time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)

// The algorithms of signatures, as TLS 1.2 numbers them (RFC 5246 section 7.4.1.4.1). RFC 6962 section 2.1.4 allows no
// others.
const (
	tlsSHA256 = 4
	tlsRSA    = 1
	tlsECDSA  = 3
)

// Verify verifies the signature of a timestamp that is embedded in leaf, a certificate signed by issuer. The
// log signed the certificate as it was before the timestamps were embedded, and a hash of the issuer's key
// (RFC 6962 section 3.2).
func (s SCT) Verify(leaf, issuer *x509.Certificate, log crypto.PublicKey) error {
	if s.Version != 0 || s.hash != tlsSHA256 {
		return errors.New("the timestamp has an unknown version or algorithm")
	}
	tbs, err := withoutSCTs(leaf.RawTBSCertificate)
	if err != nil {
		return err
	}
	if len(tbs) >= 1<<24 {
		return errors.New("the certificate is too large to be logged")
	}
	key := sha256.Sum256(issuer.RawSubjectPublicKeyInfo)
	signed := append(make([]byte, 0, len(tbs)+len(s.extensions)+64), 0, 0) // v1, certificate_timestamp
	signed = binary.BigEndian.AppendUint64(signed, s.millis)
	signed = append(signed, 0, 1) // precert_entry
	signed = append(signed, key[:]...)
	signed = append(signed, byte(len(tbs)>>16), byte(len(tbs)>>8), byte(len(tbs)))
	signed = append(signed, tbs...)
	signed = binary.BigEndian.AppendUint16(signed, uint16(len(s.extensions)))
	signed = append(signed, s.extensions...)
	return s.check(log, sha256.Sum256(signed))
}

func (s SCT) check(log crypto.PublicKey, sum [sha256.Size]byte) error {
	valid := false
	switch key := log.(type) {
	case *ecdsa.PublicKey:
		valid = s.algorithm == tlsECDSA && ecdsa.VerifyASN1(key, sum[:], s.signature)
	case *rsa.PublicKey:
		valid = s.algorithm == tlsRSA && rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], s.signature) == nil
	}
	if !valid {
		return errors.New("the signature of the log is not valid for this certificate")
	}
	return nil
}

var tagExtensions = asn1.Tag(3).Constructed().ContextSpecific()

// withoutSCTs returns a TBSCertificate without the extension that holds the timestamps.
func withoutSCTs(der []byte) ([]byte, error) {
	in := cryptobyte.String(der)
	var tbs, fields, extensions cryptobyte.String
	if !in.ReadASN1(&tbs, asn1.SEQUENCE) {
		return nil, errSCT
	}
	start := tbs
	for !tbs.Empty() && !tbs.PeekASN1Tag(tagExtensions) {
		var field cryptobyte.String
		var tag asn1.Tag
		if !tbs.ReadAnyASN1Element(&field, &tag) {
			return nil, errSCT
		}
	}
	fields = start[:len(start)-len(tbs)]
	if !tbs.ReadASN1(&extensions, tagExtensions) || !extensions.ReadASN1(&extensions, asn1.SEQUENCE) {
		return nil, errSCT
	}
	var kept []byte
	for !extensions.Empty() {
		var element cryptobyte.String
		if !extensions.ReadASN1Element(&element, asn1.SEQUENCE) {
			return nil, errSCT
		}
		if !isSCTs(element) {
			kept = append(kept, element...)
		}
	}
	var out cryptobyte.Builder
	out.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddBytes(fields)
		if len(kept) > 0 { // RFC 5280 section 4.1: SIZE (1..MAX)
			b.AddASN1(tagExtensions, func(b *cryptobyte.Builder) {
				b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) { b.AddBytes(kept) })
			})
		}
	})
	return out.Bytes()
}

// isSCTs reports whether an extension is that of the timestamps.
func isSCTs(extension cryptobyte.String) bool {
	var inner, oid cryptobyte.String
	return extension.ReadASN1(&inner, asn1.SEQUENCE) && inner.ReadASN1(&oid, asn1.OBJECT_IDENTIFIER) &&
		string(oid) == string(sctOID)
}

// sctOID is the encoding of sctExtension.
var sctOID = []byte{0x2b, 0x06, 0x01, 0x04, 0x01, 0xd6, 0x79, 0x02, 0x04, 0x02}

// A Log is a log of Certificate Transparency.
type Log struct {
	ID          [sha256.Size]byte
	Description string
	Operator    string
	Key         crypto.PublicKey
}

// ParseLogs parses a list of logs in the format of Google and Apple: a JSON object with "operators", each
// with a "name" and with "logs" and "tiled_logs", each of which has a "description" and the "key" in Base64.
func ParseLogs(data []byte) ([]Log, error) {
	type entry struct {
		Description string `json:"description"`
		Key         string `json:"key"`
	}
	var file struct {
		Operators []struct {
			Name  string  `json:"name"`
			Logs  []entry `json:"logs"`
			Tiled []entry `json:"tiled_logs"`
		} `json:"operators"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("reading the list of logs: %w", err)
	}
	var logs []Log
	for _, o := range file.Operators {
		for _, e := range append(o.Logs, o.Tiled...) {
			spki, err := base64.StdEncoding.DecodeString(e.Key)
			if err != nil {
				return nil, fmt.Errorf("reading the list of logs: the key of %q: %w", e.Description, err)
			}
			key, err := x509.ParsePKIXPublicKey(spki)
			if err != nil {
				return nil, fmt.Errorf("reading the list of logs: the key of %q: %w", e.Description, err)
			}
			logs = append(logs, Log{sha256.Sum256(spki), e.Description, o.Name, key})
		}
	}
	if len(logs) == 0 {
		return nil, errors.New("reading the list of logs: there is none")
	}
	return logs, nil
}
