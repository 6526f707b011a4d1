package markcert

import (
	"bytes"
	"crypto/sha1" // authorities write this hash of the logo into certificates
	"crypto/sha256"
	"crypto/sha512"
	encoding "encoding/asn1"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/mailauth/bimi/svg"
	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

const svgMediaType = "image/svg+xml"

// A logoExtension is the logo in a certificate (RFC 9399).
type logoExtension struct {
	Images int   // in the whole extension
	Image  image // of the subject, the first if there are several
	Fault  string
	Others []string // other kinds of logos in the extension
}

// An image is one image of a logotype (LogotypeDetails of RFC 9399 section 4.1).
type image struct {
	MediaType string
	URIs      int
	URI       string // the beginning of the first, for reports
	Embedded  bool   // the URI is a data URI

	Compressed bool   // by gzip
	SVG        []byte // decompressed; nil if there is a fault
	SHA256     string // of SVG, in hex

	HashAlgorithm string // of the first hash
	HashChecked   bool   // there is a hash that can be checked
	HashMatches   bool   // none of those disagrees with the SVG

	Fault string // why there is no SVG, as a clause; empty with one
}

// tagged is the tag of a part of the extension (RFC 9399 section 4.1).
//
//	LogotypeExtn ::= SEQUENCE {
//	   communityLogos [0] EXPLICIT SEQUENCE OF LogotypeInfo OPTIONAL,
//	   issuerLogo     [1] EXPLICIT LogotypeInfo OPTIONAL,
//	   subjectLogo    [2] EXPLICIT LogotypeInfo OPTIONAL,
//	   otherLogos     [3] EXPLICIT SEQUENCE OF OtherLogotypeInfo OPTIONAL }
//	LogotypeInfo ::= CHOICE { direct [0] LogotypeData, indirect [1] LogotypeReference }
//	LogotypeData ::= SEQUENCE { image SEQUENCE OF LogotypeImage OPTIONAL, audio [1] SEQUENCE OF LogotypeAudio OPTIONAL }
//	LogotypeImage ::= SEQUENCE { imageDetails LogotypeDetails, imageInfo LogotypeImageInfo OPTIONAL }
//	LogotypeDetails ::= SEQUENCE {
//	   mediaType    IA5String,
//	   logotypeHash SEQUENCE SIZE (1..MAX) OF HashAlgAndValue,
//	   logotypeURI  SEQUENCE SIZE (1..MAX) OF IA5String }
func tagged(n int) asn1.Tag { return asn1.Tag(n).Constructed().ContextSpecific() }

var errMalformed = errors.New("it is not encoded as RFC 9399 says")

func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func readLogotype(der []byte) *logoExtension {
	l := &logoExtension{}
	if err := l.read(cryptobyte.String(der)); err != nil {
		l.Fault = err.Error()
	}
	return l
}

func (l *logoExtension) read(s cryptobyte.String) error {
	var ext, subject cryptobyte.String
	if !s.ReadASN1(&ext, asn1.SEQUENCE) || !s.Empty() {
		return errMalformed
	}
	found := false
	for n, what := range []string{"community", "issuer", "subject", "other"} {
		var logo cryptobyte.String
		var held bool
		if !ext.ReadOptionalASN1(&logo, &held, tagged(n)) {
			return errMalformed
		}
		if what == "subject" {
			subject, found = logo, held
		} else if held {
			l.Others = append(l.Others, what)
		}
	}
	switch {
	case !ext.Empty():
		return errMalformed
	case !found:
		return errors.New("it has no logo of the subject")
	}
	return l.readSubject(subject)
}

func (l *logoExtension) readSubject(s cryptobyte.String) error {
	if s.PeekASN1Tag(tagged(1)) {
		return errors.New("it refers to logos elsewhere instead of holding one")
	}
	var direct, images, audio cryptobyte.String
	if !s.ReadASN1(&direct, tagged(0)) || !s.Empty() ||
		!direct.ReadOptionalASN1(&images, nil, asn1.SEQUENCE) ||
		!direct.ReadOptionalASN1(&audio, nil, tagged(1)) || !direct.Empty() {
		return errMalformed
	}
	for !images.Empty() {
		var image, details cryptobyte.String
		if !images.ReadASN1(&image, asn1.SEQUENCE) || !image.ReadASN1(&details, asn1.SEQUENCE) {
			return errMalformed
		}
		if l.Images++; l.Images > 1 {
			continue
		}
		if err := l.Image.read(details); err != nil {
			return err
		}
	}
	if l.Images == 0 {
		return errors.New("it holds no image")
	}
	return nil
}

func (i *image) read(s cryptobyte.String) error {
	var media, hashes, uris cryptobyte.String
	if !s.ReadASN1(&media, asn1.IA5String) || !s.ReadASN1(&hashes, asn1.SEQUENCE) ||
		!s.ReadASN1(&uris, asn1.SEQUENCE) || !s.Empty() {
		return errMalformed
	}
	i.MediaType = clean(string(media[:min(len(media), 100)]))
	var first string
	for !uris.Empty() {
		var uri cryptobyte.String
		if !uris.ReadASN1(&uri, asn1.IA5String) {
			return errMalformed
		}
		if i.URIs++; i.URIs == 1 {
			first = string(uri)
		}
	}
	i.URI = clean(first[:min(len(first), 100)])
	i.decode(first)
	return i.compareHashes(hashes)
}

// decode reads a data URI (RFC 2397): base64, and gzip inside (RFC 6170 section 5).
func (i *image) decode(uri string) {
	head, data, ok := strings.Cut(uri, ",")
	if i.Embedded = len(uri) >= 5 && strings.EqualFold(uri[:5], "data:"); !i.Embedded || !ok {
		i.Fault = "its URI is not a data URI"
		return
	}
	head = strings.ToLower(head)
	if !strings.HasSuffix(head, ";base64") {
		i.Fault = "its data URI is not encoded in Base64"
		return
	}
	if kind, _, _ := strings.Cut(strings.TrimPrefix(head, "data:"), ";"); !svgType(kind) && kind != "" {
		i.Fault = fmt.Sprintf("its data URI has the type %.100q, not %s", kind, svgMediaType)
		return
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		i.Fault = "the Base64 of its data URI is broken"
		return
	}
	image, compressed, err := svg.Decode(raw)
	if i.Compressed = compressed; err != nil {
		i.Fault = err.Error()
		return
	}
	i.SVG, i.SHA256 = image, fmt.Sprintf("%x", sha256.Sum256(image))
}

var hashes = map[string]struct {
	name string
	sum  func([]byte) []byte
}{
	"1.3.14.3.2.26":          {"SHA-1", func(b []byte) []byte { s := sha1.Sum(b); return s[:] }},
	"2.16.840.1.101.3.4.2.1": {"SHA-256", func(b []byte) []byte { s := sha256.Sum256(b); return s[:] }},
	"2.16.840.1.101.3.4.2.2": {"SHA-384", func(b []byte) []byte { s := sha512.Sum384(b); return s[:] }},
	"2.16.840.1.101.3.4.2.3": {"SHA-512", func(b []byte) []byte { s := sha512.Sum512(b); return s[:] }},
}

// maxHashes bounds the hashes of an image that are computed, for each costs a pass over the logo. Real ones have 1.
const maxHashes = 4

// compareHashes compares the hashes of the extension with the logo: they are over the text after decompression, with LF
// at the end of lines (RFC 6170 section 5.2), and some over the text as it is.
func (i *image) compareHashes(list cryptobyte.String) error {
	i.HashMatches = true
	for n := 0; !list.Empty(); n++ {
		var hash, algorithm, value cryptobyte.String
		var oid encoding.ObjectIdentifier
		if !list.ReadASN1(&hash, asn1.SEQUENCE) || !hash.ReadASN1(&algorithm, asn1.SEQUENCE) ||
			!algorithm.ReadASN1ObjectIdentifier(&oid) || !hash.ReadASN1(&value, asn1.OCTET_STRING) || !hash.Empty() {
			return errMalformed
		}
		h, known := hashes[oid.String()]
		if n == 0 {
			i.HashAlgorithm = oid.String()
			if known {
				i.HashAlgorithm = h.name
			}
		}
		if known && n < maxHashes && i.SVG != nil {
			i.HashChecked = true
			unix := bytes.ReplaceAll(bytes.ReplaceAll(i.SVG, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
			i.HashMatches = i.HashMatches && (bytes.Equal(h.sum(i.SVG), value) || bytes.Equal(h.sum(unix), value))
		}
	}
	return nil
}
