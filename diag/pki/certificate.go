package pki

import (
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"math/big"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag/kit"
)

// A Certificate describes an X.509 certificate (RFC 5280).
type Certificate struct {
	Subject            Name      `json:"subject" doc:"who the certificate is for"`
	Issuer             Name      `json:"issuer" doc:"who issued it"`
	SerialNumber       string    `json:"serial_number" doc:"serial number in hex"`
	NotBefore          time.Time `json:"not_before" doc:"first moment of validity"`
	NotAfter           time.Time `json:"not_after" doc:"last moment of validity"`
	DaysRemaining      int       `json:"days_remaining" doc:"whole days until the end of validity; negative a day after it"`
	Expired            bool      `json:"expired" doc:"whether the validity has ended"`
	NotYetValid        bool      `json:"not_yet_valid" doc:"whether the validity has not begun"`
	SAN                SAN       `json:"san" doc:"names that the certificate covers"`
	SignatureAlgorithm string    `json:"signature_algorithm" doc:"how it is signed" example:"ECDSA-SHA256"`
	PublicKey          PublicKey `json:"public_key" doc:"key of the subject"`
	FingerprintSHA256  string    `json:"fingerprint_sha256" doc:"SHA-256 of the whole certificate, in hex"`
	IsCA               bool      `json:"is_ca" doc:"whether it may issue certificates"`
	SelfSigned         bool      `json:"self_signed" doc:"whether it is signed with its own key"`
	KeyUsage           []string  `json:"key_usage" doc:"what the key may be used for" example:"[\"digitalSignature\"]"`
	ExtKeyUsage        []string  `json:"ext_key_usage" doc:"purposes; unknown ones as OID" example:"[\"serverAuth\"]"`
	OCSPURLs           []string  `json:"ocsp_urls" doc:"where its revocation can be asked for"`
	CAIssuerURLs       []string  `json:"ca_issuer_urls" doc:"where the issuer's certificate can be fetched"`
	SCTsCount          int       `json:"scts_count" min:"0" doc:"signed certificate timestamps embedded (RFC 6962)"`
	PEM                string    `json:"pem,omitempty" doc:"the certificate itself, if asked for"`
}

// SAN are the subject alternative names of a certificate (RFC 5280 section 4.2.1.6).
type SAN struct {
	DNS   []string     `json:"dns" doc:"host names"`
	IP    []netip.Addr `json:"ip" doc:"IP addresses"`
	Email []string     `json:"email" doc:"mail addresses"`
	URI   []string     `json:"uri" doc:"URIs"`
}

// MaxNames limits the names in a description. Public authorities allow 100; some hosters had 250.
const (
	MaxNames = 1000 // names of each kind in a SAN
	maxURLs  = 20   // URLs of each kind
)

// maxRSACheckBits bounds the RSA keys with which signatures are checked: the work grows with the
// square of the size, and the sender chooses it. It is the bound of crypto/tls; authorities use 4096.
const maxRSACheckBits = 8192

// Describe describes a certificate at the time now. It does not verify it; see [Verifier].
func Describe(c *x509.Certificate, now time.Time) Certificate {
	sum := sha256.Sum256(c.Raw)
	return Certificate{
		Subject: ParseName(c.RawSubject), Issuer: ParseName(c.RawIssuer), SerialNumber: serial(c.SerialNumber),
		NotBefore: c.NotBefore.UTC(), NotAfter: c.NotAfter.UTC(), DaysRemaining: days(c.NotAfter.Sub(now)),
		Expired: now.After(c.NotAfter), NotYetValid: now.Before(c.NotBefore), SAN: alternativeNames(c),
		SignatureAlgorithm: signatureAlgorithm(c.SignatureAlgorithm),
		PublicKey:          DescribeKey(c.PublicKey, c.RawSubjectPublicKeyInfo),
		FingerprintSHA256:  hex.EncodeToString(sum[:]),
		IsCA:               c.BasicConstraintsValid && c.IsCA, SelfSigned: SelfSigned(c), KeyUsage: keyUsage(c.KeyUsage),
		ExtKeyUsage: extKeyUsage(c), OCSPURLs: printable(c.OCSPServer, maxURLs),
		CAIssuerURLs: printable(c.IssuingCertificateURL, maxURLs), SCTsCount: countSCTs(c),
	}
}

// PEM returns a certificate in PEM (RFC 7468 section 5).
func PEM(c *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
}

// SelfSigned reports whether a certificate is signed with its own key. If the signature cannot be verified
// because its algorithm is obsolete, such as MD5, it reports whether issuer and subject are the same.
func SelfSigned(c *x509.Certificate) bool {
	if string(c.RawSubject) != string(c.RawIssuer) {
		return false
	}
	if !Checkable(c) {
		return true
	}
	err := c.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature)
	_, insecure := errors.AsType[x509.InsecureAlgorithmError](err)
	return err == nil || insecure || errors.Is(err, x509.ErrUnsupportedAlgorithm)
}

// Checkable reports whether signatures by the key of a certificate can be verified in bounded time. A
// [Verifier] reports a chain with another key as [BadChain].
func Checkable(c *x509.Certificate) bool {
	return c.PublicKeyAlgorithm != x509.RSA || len(c.RawSubjectPublicKeyInfo) <= maxRSACheckBits/8+64
}

func serial(n *big.Int) string {
	if n == nil || n.Sign() == 0 {
		return "00"
	}
	digits := hex.EncodeToString(n.Bytes())
	if n.Sign() < 0 {
		return "-" + digits
	}
	return digits
}

// days are whole days, rounded towards zero (CONTRACT 1.7): a certificate that ended an hour ago ended 0 days ago.
func days(d time.Duration) int { return int(d / (24 * time.Hour)) }

func signatureAlgorithm(a x509.SignatureAlgorithm) string {
	if a == x509.UnknownSignatureAlgorithm {
		return "unknown"
	}
	return a.String()
}

func alternativeNames(c *x509.Certificate) SAN {
	san := SAN{
		DNS: printable(c.DNSNames, MaxNames), IP: []netip.Addr{},
		Email: printable(c.EmailAddresses, MaxNames), URI: []string{},
	}
	for _, ip := range c.IPAddresses[:min(len(c.IPAddresses), MaxNames)] {
		if a, ok := netip.AddrFromSlice(ip); ok {
			san.IP = append(san.IP, a)
		}
	}
	for _, u := range c.URIs[:min(len(c.URIs), MaxNames)] {
		san.URI = append(san.URI, strings.ToValidUTF8(u.String(), "\uFFFD"))
	}
	return san
}

func printable(list []string, limit int) []string {
	return kit.Map(list[:min(len(list), limit)], func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") })
}

// KeyUsages are the names of the bits of the Key Usage extension, in order (RFC 5280 section 4.2.1.3).
var KeyUsages = []string{"digitalSignature", "contentCommitment", "keyEncipherment", "dataEncipherment",
	"keyAgreement", "keyCertSign", "cRLSign", "encipherOnly", "decipherOnly"}

func keyUsage(usage x509.KeyUsage) []string {
	names := []string{}
	for i, name := range KeyUsages {
		if usage&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// purposes are the names of extended key usages (RFC 5280 section 4.2.1.12 and others).
var purposes = map[string]string{
	"2.5.29.37.0": "anyExtendedKeyUsage", "1.3.6.1.5.5.7.3.1": "serverAuth", "1.3.6.1.5.5.7.3.2": "clientAuth",
	"1.3.6.1.5.5.7.3.3": "codeSigning", "1.3.6.1.5.5.7.3.4": "emailProtection", "1.3.6.1.5.5.7.3.8": "timeStamping",
	"1.3.6.1.5.5.7.3.9": "OCSPSigning", "1.3.6.1.5.5.7.3.5": "ipsecEndSystem", "1.3.6.1.5.5.7.3.6": "ipsecTunnel",
	"1.3.6.1.5.5.7.3.7":      "ipsecUser",
	"1.3.6.1.5.5.7.3.17":     "ipsecIKE",
	"1.3.6.1.5.5.7.3.31":     "brandIndicatorForMessageIdentification",
	"1.3.6.1.4.1.311.10.3.3": "microsoftServerGatedCrypto", "2.16.840.1.113730.4.1": "netscapeServerGatedCrypto",
	"1.3.6.1.4.1.311.2.1.22": "microsoftCommercialCodeSigning", "1.3.6.1.4.1.311.61.1.1": "microsoftKernelCodeSigning",
}

// Purpose returns the name of an extended key usage, or the object identifier itself if it is unknown.
func Purpose(oid string) string { return cmp.Or(purposes[oid], oid) }

func extKeyUsage(c *x509.Certificate) []string {
	names := kit.Map(c.ExtKeyUsage, func(usage x509.ExtKeyUsage) string { return Purpose(usage.OID().String()) })
	names = append(names, kit.Map(c.UnknownExtKeyUsage,
		func(id asn1.ObjectIdentifier) string { return Purpose(id.String()) })...)
	return names[:min(len(names), MaxNames)]
}

// sctExtension holds the signed certificate timestamps (RFC 6962 section 3.3).
const sctExtension = "1.3.6.1.4.1.11129.2.4.2"

// countSCTs counts the timestamps embedded in a certificate; what is not well formed does not count.
func countSCTs(c *x509.Certificate) int {
	list, _ := SCTs(c)
	return len(list)
}

// A Name is a distinguished name: of the subject of a certificate, or of its issuer.
type Name struct {
	CommonName         string   `json:"common_name,omitempty" doc:"common name (CN), the last one if there are several"`
	Organization       []string `json:"organization" doc:"organizations (O)"`
	OrganizationalUnit []string `json:"organizational_unit" doc:"organizational units (OU)"`
	Country            []string `json:"country" doc:"countries (C), as two letters"`
	Locality           []string `json:"locality" doc:"localities (L)"`
	Province           []string `json:"province" doc:"states or provinces (ST)"`
	SerialNumber       string   `json:"serial_number,omitempty" doc:"number of the subject in a register"`
	Raw                string   `json:"raw" doc:"the whole name as a string (RFC 4514)"`
}

// maxAttributes bounds the attributes of a name that are described. Real names have fewer than 20.
const maxAttributes = 64

type attribute struct {
	Type  asn1.ObjectIdentifier
	Value asn1.RawValue
}

type relativeName []attribute

// ParseName describes a distinguished name in DER, such as RawSubject of a certificate. If the name is
// malformed, it describes the part before the error.
func ParseName(der []byte) Name {
	n := Name{
		Organization: []string{}, OrganizationalUnit: []string{}, Country: []string{},
		Locality: []string{}, Province: []string{},
	}
	var parts []string
	for _, rdn := range decodeName(der) {
		var values []string
		for _, a := range rdn {
			n.add(a)
			values = append(values, a.string())
		}
		parts = append(parts, strings.Join(values, "+"))
	}
	slices.Reverse(parts) // RFC 4514 section 2.1: starting with the last element of the sequence.
	n.Raw = strings.Join(parts, ",")
	return n
}

// decodeName splits a name into its parts. Values stay encoded, so that kinds unknown to Go's decoder
// do not spoil the rest.
func decodeName(der []byte) []relativeName {
	var sequence asn1.RawValue
	if _, err := asn1.Unmarshal(der, &sequence); err != nil || sequence.Tag != asn1.TagSequence {
		return nil
	}
	var rdns []relativeName
	rest := sequence.Bytes
	for count := 0; len(rest) > 0 && count < maxAttributes; {
		var set relativeName
		tail, err := asn1.UnmarshalWithParams(rest, &set, "set")
		if err != nil || len(set) > maxAttributes-count {
			break
		}
		rest, count = tail, count+max(1, len(set))
		if len(set) > 0 {
			rdns = append(rdns, set)
		}
	}
	return rdns
}

func (n *Name) add(a attribute) {
	text, ok := decodeText(a.Value)
	if !ok {
		return
	}
	lists := map[string]*[]string{
		"2.5.4.6": &n.Country, "2.5.4.7": &n.Locality, "2.5.4.8": &n.Province, "2.5.4.10": &n.Organization,
		"2.5.4.11": &n.OrganizationalUnit,
	}
	switch kind := a.Type.String(); {
	case kind == "2.5.4.3":
		n.CommonName = text
	case kind == "2.5.4.5":
		n.SerialNumber = text
	case lists[kind] != nil:
		*lists[kind] = append(*lists[kind], text)
	}
}

// attributeNames are the short names of RFC 4514 section 3.
var attributeNames = map[string]string{
	"2.5.4.3": "CN", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.10": "O", "2.5.4.11": "OU",
	"2.5.4.6": "C", "2.5.4.9": "STREET",
	"0.9.2342.19200300.100.1.25": "DC", "0.9.2342.19200300.100.1.1": "UID",
}

// string writes one attribute (RFC 4514 sections 2.3 and 2.4): those without a short name, and values
// that are no text, as numbers.
func (a attribute) string() string {
	name, known := attributeNames[a.Type.String()]
	text, ok := decodeText(a.Value)
	if !known || !ok {
		return a.Type.String() + "=#" + hex.EncodeToString(a.Value.FullBytes)
	}
	return name + "=" + escape(text)
}

// escape writes a value (RFC 4514 section 2.4).
func escape(s string) string {
	var b strings.Builder
	for i, r := range s {
		edge := i == 0 || i == len(s)-1
		switch {
		case strings.ContainsRune(`"+,;<>\`, r), r == ' ' && edge, r == '#' && i == 0:
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			b.WriteByte('\\')
			b.WriteString(hex.EncodeToString([]byte{byte(r)}))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// decodeText decodes the string types of a name (RFC 5280 section 4.1.2.4). What is not valid in its
// encoding becomes U+FFFD, so that the result can always be shown.
func decodeText(v asn1.RawValue) (string, bool) {
	if v.Class != asn1.ClassUniversal || v.IsCompound {
		return "", false
	}
	switch v.Tag {
	case asn1.TagUTF8String, asn1.TagPrintableString, asn1.TagIA5String, asn1.TagNumericString:
		return strings.ToValidUTF8(string(v.Bytes), string(utf8.RuneError)), true
	case asn1.TagT61String: // in practice Latin-1
		return string(kit.Map(v.Bytes, func(c byte) rune { return rune(c) })), true
	case asn1.TagBMPString:
		units := make([]uint16, len(v.Bytes)/2)
		for i := range units {
			units[i] = uint16(v.Bytes[2*i])<<8 | uint16(v.Bytes[2*i+1])
		}
		return string(utf16.Decode(units)), true
	default:
		return "", false
	}
}

// An Attribute is one part of a distinguished name.
type Attribute struct {
	Type  string // object identifier, such as "2.5.4.3"
	Value string // as text; empty if the value is not text
}

// Attributes returns the parts of a distinguished name in DER, in order and at most 64. If the name is
// malformed, it returns the parts before the error.
func Attributes(der []byte) []Attribute {
	var list []Attribute
	for _, rdn := range decodeName(der) {
		for _, a := range rdn {
			value, _ := decodeText(a.Value)
			list = append(list, Attribute{a.Type.String(), value})
		}
	}
	return list
}
