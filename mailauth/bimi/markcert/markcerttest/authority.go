// Package markcerttest issues mark certificates for tests and examples: call [New] for an authority, then
// [Authority.Issue]. An environment with the files of [Authority.Files] as its Data trusts the authority and its log.
package markcerttest

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing/fstest"
	"time"
)

// Logo is a logo without a fault.
const Logo = `<svg xmlns="http://www.w3.org/2000/svg" version="1.2" baseProfile="tiny-ps" viewBox="0 0 64 64">` +
	`<title>Example</title><rect width="64" height="64" fill="#0b5fff"/></svg>`

// An Authority issues mark certificates. It and what it issues are the same every time.
type Authority struct {
	Root, Intermediate *x509.Certificate

	rootKey, key, log key
}

// New returns an authority that is valid for a century.
func New() *Authority { return Named("markcerttest") }

// Named returns an authority with the given name, and keys of its own.
func Named(name string) *Authority {
	a := &Authority{rootKey: newKey(name + " root"), key: newKey(name + " intermediate"), log: newKey(name + " log")}
	a.Root = must(sign(authority(name+" Root"), nil, a.rootKey.Public(), a.rootKey))
	a.Intermediate = a.intermediate(name+" Intermediate", nil)
	return a
}

// Below returns the authority with another intermediate certificate, whose template the function changes.
func (a *Authority) Below(name string, change func(*x509.Certificate)) *Authority {
	other := *a
	other.key = newKey(name)
	other.Intermediate = other.intermediate(name, change)
	return &other
}

func (a *Authority) intermediate(name string, change func(*x509.Certificate)) *x509.Certificate {
	template := authority(name)
	template.UnknownExtKeyUsage = []asn1.ObjectIdentifier{usage}
	if change != nil {
		change(template)
	}
	return must(sign(template, a.Root, a.key.Public(), a.rootKey))
}

func authority(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name, Organization: []string{"markcerttest"}},
		NotBefore: time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:  time.Date(2100, time.January, 1, 0, 0, 0, 0, time.UTC),
		KeyUsage:  x509.KeyUsageCertSign | x509.KeyUsageCRLSign, IsCA: true, BasicConstraintsValid: true,
	}
}

// The object identifiers of mark certificates.
var (
	usage    = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 31}
	policy   = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 53087, 1, 1}
	logotype = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 12}
	scts     = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}
)

// A Mark describes the certificate to issue. The zero value is one without a fault, for example.com.
type Mark struct {
	Domains             []string
	SVG                 string            // empty means [Logo]
	NotBefore, NotAfter time.Time         // zero means the year 2026
	Fields              map[string]string // of the subject, by identifier; replace the usual ones, and remove them if empty

	Key      crypto.PublicKey        // nil means one on the curve P-256
	Unlogged bool                    // no timestamp of a log
	Change   func(*x509.Certificate) // if set, changes the template as the last step
}

// Certificate issues a certificate.
func (a *Authority) Certificate(m Mark) (*x509.Certificate, error) {
	template := m.template()
	if m.Change != nil {
		m.Change(template)
	}
	own := m.Key
	if own == nil {
		own = newKey("mark").Public()
	}
	if !m.Unlogged {
		before, err := sign(template, a.Intermediate, own, a.key)
		if err != nil {
			return nil, err
		}
		template.ExtraExtensions = append(slices.Clone(template.ExtraExtensions), a.timestamp(before))
	}
	return sign(template, a.Intermediate, own, a.key)
}

// Issue issues a certificate, as the text that is published: without the root.
func (a *Authority) Issue(m Mark) string { return PEM(must(a.Certificate(m)), a.Intermediate) }

// Files returns the lists that make an environment trust the authority and its log.
func (a *Authority) Files() fstest.MapFS {
	spki := must(x509.MarshalPKIXPublicKey(a.log.Public()))
	logs := fmt.Sprintf(`{"operators":[{"name":"markcerttest","logs":[{"description":"markcerttest Log","key":%q}]}]}`,
		base64.StdEncoding.EncodeToString(spki))
	return fstest.MapFS{"mark-roots.pem": {Data: []byte(PEM(a.Root))}, "ct-logs.json": {Data: []byte(logs)}}
}

// PEM writes certificates as text.
func PEM(certs ...*x509.Certificate) string {
	var text []byte
	for _, c := range certs {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return string(text)
}

// timestamp is the promise of the log to publish a certificate (RFC 6962 section 3.2).
func (a *Authority) timestamp(before *x509.Certificate) pkix.Extension {
	at := binary.BigEndian.AppendUint64(nil, uint64(before.NotBefore.UnixMilli()))
	issuer := sha256.Sum256(a.Intermediate.RawSubjectPublicKeyInfo)
	tbs := before.RawTBSCertificate
	signed := slices.Concat([]byte{0, 0}, at, []byte{0, 1}, issuer[:],
		[]byte{byte(len(tbs) >> 16), byte(len(tbs) >> 8), byte(len(tbs))}, tbs, []byte{0, 0})
	sum := sha256.Sum256(signed)
	signature := must(a.log.Sign(nil, sum[:], crypto.SHA256))
	id := sha256.Sum256(must(x509.MarshalPKIXPublicKey(a.log.Public())))
	sct := slices.Concat([]byte{0}, id[:], at, []byte{0, 0, 4, 3}, prefixed(signature))
	return pkix.Extension{Id: scts, Value: must(asn1.Marshal(prefixed(prefixed(sct))))}
}

func prefixed(b []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...)
}

// A key signs without random numbers (RFC 6979): the same certificate has the same signature.
type key struct{ *ecdsa.PrivateKey }

func (k key) Sign(_ io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	return k.PrivateKey.Sign(nil, digest, opts)
}

// newKey takes the first digest of a chain that is a valid scalar.
func newKey(name string) key {
	seed := sha256.Sum256([]byte("markcerttest\x00" + name))
	for {
		if k, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), seed[:]); err == nil {
			return key{k}
		}
		seed = sha256.Sum256(seed[:])
	}
}

func sign(template, parent *x509.Certificate, of crypto.PublicKey, by key) (*x509.Certificate, error) {
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(nil, template, parent, of, by)
	if err != nil {
		return nil, fmt.Errorf("issuing a mark certificate: %w", err)
	}
	return x509.ParseCertificate(der)
}

// must returns a value whose creation cannot fail: keys and templates are our own.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

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

// Sum returns the SHA-256 of an image.
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
