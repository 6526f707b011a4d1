package markcerttest

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

var subject = map[string]string{
	"2.5.4.3": "Example Ltd", "2.5.4.10": "Example Ltd", "2.5.4.9": "1 Example Street", "2.5.4.7": "Springfield",
	"2.5.4.6": "US", "2.5.4.5": "12345", "2.5.4.15": "Private Organization",
	"1.3.6.1.4.1.311.60.2.1.3": "US",
	"1.3.6.1.4.1.53087.1.13":   "Registered Mark",
	"1.3.6.1.4.1.53087.1.3":    "US",
	"1.3.6.1.4.1.53087.1.4":    "7654321",
}

func (m Mark) template() *x509.Certificate {
	names := m.Domains
	if names == nil {
		names = []string{"example.com"}
	}
	sum := sha256.Sum256([]byte(fmt.Sprint(names, m.SVG)))
	year := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(sum[:8]), Subject: pkix.Name{ExtraNames: m.names()},
		NotBefore: cmp.Or(m.NotBefore, year), NotAfter: cmp.Or(m.NotAfter, year.AddDate(1, 0, 0)), DNSNames: names,
		BasicConstraintsValid: true, UnknownExtKeyUsage: []asn1.ObjectIdentifier{usage},
		PolicyIdentifiers: []asn1.ObjectIdentifier{policy}, Policies: []x509.OID{must(x509.ParseOID(policy.String()))},
		CRLDistributionPoints: []string{"http://crl.example.net/marks.crl"},
		ExtraExtensions:       []pkix.Extension{{Id: logotype, Value: Image(cmp.Or(m.SVG, Logo)).Encode()}},
	}
}

// names are the attributes of the subject, in the order of their identifiers.
func (m Mark) names() []pkix.AttributeTypeAndValue {
	all := maps.Clone(subject)
	maps.Copy(all, m.Fields)
	var list []pkix.AttributeTypeAndValue
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if all[id] != "" {
			list = append(list, pkix.AttributeTypeAndValue{Type: identifier(id), Value: all[id]})
		}
	}
	return list
}

func identifier(s string) (oid asn1.ObjectIdentifier) {
	for part := range strings.SplitSeq(s, ".") {
		oid = append(oid, must(strconv.Atoi(part)))
	}
	return oid
}

// A Details is an image of a logotype extension (RFC 9399 section 4.1).
type Details struct {
	MediaType string
	Hash      []byte // SHA-256
	URI       string
}

// Image describes an image as authorities do: compressed, in a data URI, with the hash of what it was before.
func Image(svg string) Details {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err := w.Write([]byte(svg))
	must(0, err)
	must(0, w.Close())
	return Details{"image/svg+xml", Sum(svg), "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(zipped.Bytes())}
}

// Sum is the hash of an image.
func Sum(svg string) []byte {
	sum := sha256.Sum256([]byte(svg))
	return sum[:]
}

var sha256OID = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}

// Encode writes the value of an extension with this image and others.
func (d Details) Encode(others ...Details) []byte {
	type hash struct {
		Algorithm pkix.AlgorithmIdentifier
		Value     []byte
	}
	type details struct {
		MediaType string `asn1:"ia5"`
		Hashes    []hash
		URIs      []asn1.RawValue
	}
	type image struct{ Details details }
	var images []image
	for _, d := range append([]Details{d}, others...) {
		uri := asn1.RawValue{Tag: asn1.TagIA5String, Bytes: []byte(d.URI)}
		images = append(images, image{details{d.MediaType, []hash{{pkix.AlgorithmIdentifier{Algorithm: sha256OID}, d.Hash}}, []asn1.RawValue{uri}}})
	}
	data := must(asn1.Marshal(images))
	direct := must(asn1.Marshal(asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: data}))
	logo := must(asn1.Marshal(asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 2, IsCompound: true, Bytes: direct}))
	return must(asn1.Marshal(asn1.RawValue{Tag: asn1.TagSequence, IsCompound: true, Bytes: logo}))
}
