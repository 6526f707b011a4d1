package dkim

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
)

func (k *Key) readKey() {
	p, ok := k.List.Tag("p")
	if !ok {
		k.List.Add(taglist.Fault{Kind: noKey, Text: "there is no tag p= with the public key", Length: len(k.List.Text)})
		return
	}
	k.Base64 = unfold(p.Value)
	if k.Base64 == "" { // RFC 6376 section 3.6.1
		k.Revoked = true
		return
	}
	data, err := base64.StdEncoding.DecodeString(k.Base64)
	n, total := lengths(k.Base64)
	switch {
	case strings.Contains(p.Value, "PRIVATE KEY"):
		k.notBase64(secret, p, flaw{text: "p= holds a private key"})
		return
	case err != nil && n < total && k.Type != Ed25519 && whatIsWrong(p.Value).n == 0:
		k.fault(cutOff, p, fmt.Sprintf("the key in p= is cut off: it has %d of its %d bytes", n, total))
		return
	case err != nil:
		k.notBase64(badBase64, p, whatIsWrong(p.Value))
		return
	case k.Base64 != p.Value && identify(data).public == nil && formEncoded(p.Value):
		k.notBase64(badBase64, p,
			flaw{text: "the base64 value of p= has blanks in place of plus signs, as web forms make them"})
		return
	case k.Base64 != p.Value:
		k.note(blankKey, p, "p= has white space in its value")
	}
	k.Data = data
	k.readData(p)
}

// notBase64 adds a fault for text that is not base64, and removes the faults about its characters.
func (k *Key) notBase64(kind taglist.Kind, p taglist.Tag, f flaw) {
	k.List.Faults = slices.DeleteFunc(k.List.Faults, func(old taglist.Fault) bool {
		return old.Kind == taglist.BadValue && old.Offset >= p.Offset && old.Offset < p.Offset+p.Length
	})
	if f.n == 0 {
		f.n = len(p.Value)
	}
	k.List.Add(taglist.Fault{Kind: kind, Text: f.text, Offset: p.ValueOffset + f.at, Length: f.n})
}

func (k *Key) readData(p taglist.Tag) {
	found := identify(k.Data)
	switch {
	case found.secret:
		k.fault(secret, p, "p= holds a private key")
		return
	case found.public == nil && found.other != nil:
		k.Details = found.other
		k.fault(otherType, p, fmt.Sprintf("p= holds a key of the algorithm %s, which DKIM does not define", found.name()))
		return
	case found.public == nil:
		kind := badKey
		if n, ok := derLength(k.Data); ok && n > len(k.Data) && (k.Type != Ed25519 || headed(k.Data)) {
			kind = cutOff
		}
		k.fault(kind, p, whyNoKey(k.Data, k.Type))
		return
	}
	k.Details = new(pki.DescribeKey(found.public, nil))
	switch {
	case k.Type == UnknownType:
	case k.Type != found.kind:
		k.fault(otherType, p, k.typeText()+", but p= holds "+found.kind.article()+" key")
	case found.kind == Ed25519 && found.form != FormRaw: // RFC 8463 section 4
		k.fault(wrapped, p, "p= holds an Ed25519 key inside a SubjectPublicKeyInfo of 44 bytes, not its bare 32 bytes")
	default:
		k.Public, k.Form = found.public, found.form
		k.checkRSA(p)
	}
}

func (k *Key) checkRSA(p taglist.Tag) {
	key, ok := k.Public.(*rsa.PublicKey)
	if !ok {
		return
	}
	if k.Form == FormPKCS1 {
		k.note(bareRSA, p, "p= holds a bare RSAPublicKey, not a SubjectPublicKeyInfo")
	}
	if key.E < 3 || key.E%2 == 0 { // RFC 8017 section 3.1
		k.fault(exponent, p, fmt.Sprintf("the public exponent of the RSA key is %d, not an odd number above 2", key.E))
	}
	if why := pki.Factorable(key.N); why != "" {
		k.fault(factor, p, "the private key can be computed by anybody: "+why)
	}
}

func (k *Key) typeText() string {
	if _, ok := k.List.Tag("k"); !ok {
		return "the tag k= is left out, which means rsa"
	}
	return "the key type is k=" + string(k.Type)
}

func (t KeyType) article() string {
	if t == Ed25519 {
		return "an Ed25519"
	}
	return "an RSA"
}

type content struct {
	public any // *rsa.PublicKey or ed25519.PublicKey; nil if they are neither
	kind   KeyType
	form   Form
	other  *pki.PublicKey // a key of another algorithm
	secret bool           // a private key
}

// names are those of further algorithms of keys (RFC 4055 section 1.2, RFC 8410 section 3).
var names = map[string]string{"1.2.840.113549.1.1.10": "RSASSA-PSS", "1.3.101.110": "X25519", "1.3.101.113": "Ed448"}

func (c content) name() string {
	if c.other.Algorithm != pki.OtherKey {
		return strings.ToUpper(string(c.other.Algorithm))
	}
	return cmp.Or(names[c.other.Curve], c.other.Curve) // Curve has the number
}

func identify(data []byte) content {
	if len(data) == ed25519.PublicKeySize && !headed(data) {
		return content{public: ed25519.PublicKey(data), kind: Ed25519, form: FormRaw}
	}
	if key, err := x509.ParsePKIXPublicKey(data); err == nil {
		switch key := key.(type) {
		case *rsa.PublicKey:
			return content{public: key, kind: RSA, form: FormSPKI}
		case ed25519.PublicKey:
			return content{public: key, kind: Ed25519, form: FormSPKI}
		}
	}
	if key := readRSA(data); key != nil {
		return content{public: key, kind: RSA, form: FormPKCS1}
	}
	if key := rsaInside(data); key != nil {
		return content{public: key, kind: RSA, form: FormSPKI}
	}
	if other, err := pki.ParseKey(data); err == nil && other.Algorithm != pki.RSA &&
		!slices.Contains(usable, other.Curve) {
		return content{other: &other}
	}
	return content{secret: isSecret(data)}
}

// headed reports whether bytes begin like a SubjectPublicKeyInfo, so that 32 of them are the beginning of a key
// rather than one of Ed25519.
func headed(data []byte) bool {
	return bytes.HasPrefix(data, []byte{0x30}) && (bytes.Contains(data, []byte("\x06\x03\x2b\x65\x70")) || // id-Ed25519
		bytes.Contains(data, []byte("\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01"))) // rsaEncryption
}

func readRSA(data []byte) *rsa.PublicKey {
	key, err := x509.ParsePKCS1PublicKey(data)
	if err != nil {
		return nil
	}
	return key
}

// oidRSA is rsaEncryption (RFC 3279 section 2.3.1).
var oidRSA = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}

// usable are the numbers of the algorithms of DKIM: rsaEncryption and id-Ed25519 (RFC 8410 section 3).
var usable = []string{oidRSA.String(), "1.3.101.112"}

// rsaInside reads an RSA key whose algorithm lacks the parameter NULL, which verifiers do not mind.
func rsaInside(data []byte) *rsa.PublicKey {
	var info struct {
		Algorithm struct {
			OID        asn1.ObjectIdentifier
			Parameters asn1.RawValue `asn1:"optional"`
		}
		Key asn1.BitString
	}
	if rest, err := asn1.Unmarshal(data, &info); err != nil || len(rest) > 0 || !info.Algorithm.OID.Equal(oidRSA) {
		return nil
	}
	return readRSA(info.Key.RightAlign())
}

// isSecret reports whether the bytes have the structure of a private key: RSAPrivateKey (RFC 8017 appendix
// A.1.2) or PrivateKeyInfo (RFC 5958 section 2). Its numbers are not checked.
func isSecret(data []byte) bool {
	var bare struct {
		Version    int
		N, E, D, P *big.Int
	}
	if _, err := asn1.Unmarshal(data, &bare); err == nil {
		return true
	}
	var info struct {
		Version   int
		Algorithm struct{ OID asn1.ObjectIdentifier }
		Key       []byte
	}
	_, err := asn1.Unmarshal(data, &info)
	return err == nil
}

func whyNoKey(data []byte, t KeyType) string {
	if bytes.HasPrefix(data, []byte("\x00\x00\x00")) && bytes.HasPrefix(data[min(len(data), 4):], []byte("ssh-")) {
		return "p= holds a public key in the format of OpenSSH, which is not a SubjectPublicKeyInfo"
	}
	if t == Ed25519 && !headed(data) { // RFC 8463 section 4
		return fmt.Sprintf("the Ed25519 key in p= has %s, not %d", phrase.Count(len(data), "byte"), ed25519.PublicKeySize)
	}
	declared, ok := derLength(data)
	switch {
	case !ok:
		return fmt.Sprintf("the %s in p= are not an RSA key: a SubjectPublicKeyInfo in DER does not begin so",
			phrase.Count(len(data), "byte"))
	case declared > len(data):
		return fmt.Sprintf("the key in p= is cut off: it has %d of its %d bytes", len(data), declared)
	case declared < len(data):
		return fmt.Sprintf("%s follow the key in p=, which has %d", phrase.Count(len(data)-declared, "byte"), declared)
	default:
		return fmt.Sprintf("the %d bytes in p= are not a SubjectPublicKeyInfo with an RSA key", len(data))
	}
}

// derLength returns the declared length of a SEQUENCE, including its header (X.690 section 8.1.3).
func derLength(data []byte) (n int, ok bool) {
	const sequence = 0x30
	if len(data) < 2 || data[0] != sequence {
		return 0, false
	}
	if data[1] < 0x80 {
		return 2 + int(data[1]), true
	}
	octets := int(data[1] & 0x7f)
	if octets == 0 || octets > 2 || len(data) < 2+octets { // more than 64 KiB is no key
		return 0, false
	}
	for _, b := range data[2 : 2+octets] {
		n = n<<8 | int(b)
	}
	return 2 + octets + n, true
}

// formEncoded reports whether base64 becomes a key with plus signs in place of its blanks.
func formEncoded(value string) bool {
	data, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(value, " ", "+"))
	return err == nil && identify(data).public != nil
}

// lengths returns the number of base64 bytes present, and the length that the key declares.
func lengths(text string) (n, total int) {
	data, err := base64.StdEncoding.DecodeString(text[:len(text)/4*4])
	if err != nil {
		return 0, 0
	}
	total, _ = derLength(data)
	return len(data), total
}

// unfold removes the white space that may occur anywhere in base64 (RFC 6376 section 2.10).
func unfold(s string) string {
	if !strings.ContainsAny(s, white) {
		return s
	}
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(white, r) }), "")
}

type flaw struct {
	text  string
	at, n int // where in the value; n is 0 if all of it is meant
}

func whatIsWrong(value string) flaw {
	digits := strings.TrimRight(unfold(value), "=")
	padding := strings.IndexByte(value, '=')
	foreign := strings.IndexFunc(value, func(r rune) bool {
		return !('A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune("+/="+white, r))
	})
	switch lines := armour().FindStringIndex(value); {
	case lines != nil:
		return flaw{"p= holds the lines of a PEM file (-----BEGIN …-----), which are not base64",
			lines[0], lines[1] - lines[0]}
	case strings.HasPrefix(value, "ssh-"):
		return flaw{"p= holds a public key in the format of OpenSSH, which is not a SubjectPublicKeyInfo", 0,
			strings.Index(value+" ", " ")}
	case foreign >= 0:
		_, n := utf8.DecodeRuneInString(value[foreign:])
		return flaw{"p= has the character " + quoted(value[foreign:foreign+n]) + ", which base64 does not have", foreign, n}
	case strings.Contains(digits, "="):
		return flaw{"p= has an equals sign before the end of its base64 value", padding, 1}
	case len(digits)%4 == 1:
		return flaw{text: fmt.Sprintf("the base64 value of p= has %d characters, so that at least one is missing",
			len(digits))}
	default:
		return flaw{text: "the base64 value of p= is not padded with equals signs to a multiple of 4 characters"}
	}
}
