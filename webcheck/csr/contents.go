package csr

import (
	"cmp"
	"encoding/asn1"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/pki"
	"golang.org/x/crypto/cryptobyte"
	asn1tag "golang.org/x/crypto/cryptobyte/asn1"
)

// contents are the decoded fields of a request (RFC 2986 section 4). Values are verbatim: none of them is known to be
// sensible.
type contents struct {
	Version    int64
	Subject    pki.Name
	Attributes []subjectAttribute // of the subject
	Key        *pki.Key

	Extensions  []extension
	Names       []generalName // of the subjectAltName
	HasSAN      bool
	Unreadable  bool // the subjectAltName cannot be read to its end, so that there may be more names
	KeyUsage    []string
	HasUsage    bool
	ExtKeyUsage []string
	HasPurposes bool
	Constraints *BasicConstraints
	MustStaple  bool
	Challenge   bool     // there is a password in it
	NoList      bool     // the list of attributes is missing, which must be there even if it is empty
	Faults      []string // parts that cannot be read, as sentences

	Algorithm pki.SignatureAlgorithm
	Signature []byte
	Signed    []byte // what the signature is of
	Rest      int    // bytes behind the request
}

type subjectAttribute struct {
	OID   string
	Value string
}

// An extension that is asked for.
type extension struct {
	OID      string
	Critical bool
	Value    []byte
}

// BasicConstraints is the extension that tells whether the certificate is requested for an authority (RFC
// 5280 section 4.2.1.9).
type BasicConstraints struct {
	IsCA    bool `json:"is_ca" doc:"whether a certificate is asked for that may issue others"`
	PathLen *int `json:"max_path_length,omitempty" min:"0" doc:"how many authorities may follow"`

	known bool // so that zeros are not absent
}

// UnmarshalJSON reads what is there, zeros included.
func (b *BasicConstraints) UnmarshalJSON(data []byte) error {
	type plain BasicConstraints
	b.known = true
	return json.Unmarshal(data, (*plain)(b))
}

// A NameType is the type of an alternative name.
type NameType string

const (
	DNSName   NameType = "dns"
	IPName    NameType = "ip"
	EmailName NameType = "email"
	URIName   NameType = "uri"
	OtherName NameType = "other"
)

type generalName struct {
	Type  NameType
	Value string     // the bytes, or the name of the type if it is not one of the four
	IP    netip.Addr // of an address that can be read
}

// The object identifiers of attributes (RFC 2985 sections 5.4.1 and 5.4.2, and Microsoft's of the time before) and of
// extensions (RFC 5280 section 4.2, RFC 7633).
const (
	oidChallenge    = "1.2.840.113549.1.9.7"
	oidExtensions   = "1.2.840.113549.1.9.14"
	oidMSExtensions = "1.3.6.1.4.1.311.2.1.14"
	oidSAN          = "2.5.29.17"
	oidKeyUsage     = "2.5.29.15"
	oidExtKeyUsage  = "2.5.29.37"
	oidConstraints  = "2.5.29.19"
	oidTLSFeature   = "1.3.6.1.5.5.7.1.24"
)

// The limits of reading a request. Within MaxBytes there could be tens of thousands of each.
const (
	maxExtensions = 100
	maxPurposes   = 100
	maxFaults     = 20
)

// A malformedError says why bytes are no request, as a sentence.
type malformedError struct{ Reason string }

func (e *malformedError) Error() string { return "reading the request: " + e.Reason }

func malformed(format string, args ...any) error {
	return &malformedError{fmt.Sprintf(format, args...)}
}

// readDER takes a request in DER form apart. The error is a *malformedError; what is wrong in a part of the request,
// such as one extension, is in Faults.
func readDER(der []byte) (*contents, error) {
	length, header, ok := derLength(der)
	switch {
	case !ok || der[0] != tagSequence:
		return nil, malformed("The %d bytes are not a signing request: they do not begin as DER does.", len(der))
	case length+header > len(der):
		return nil, malformed("The request is cut off: %d of its %d bytes are there.", len(der), length+header)
	}
	c := &contents{Rest: len(der) - length - header}
	input := cryptobyte.String(der)
	var all, signed, info, algorithm cryptobyte.String
	var signature asn1.BitString
	if !input.ReadASN1(&all, asn1tag.SEQUENCE) || !all.ReadASN1Element(&signed, asn1tag.SEQUENCE) ||
		!all.ReadASN1Element(&algorithm, asn1tag.SEQUENCE) || !all.ReadASN1BitString(&signature) || !all.Empty() {
		return nil, malformed("The structure is not that of a signing request: content, algorithm and signature.")
	}
	c.Signed, c.Signature = signed, signature.RightAlign()
	if c.Algorithm, ok = pki.ReadSignatureAlgorithm(algorithm); !ok {
		return nil, malformed("The algorithm of the signature cannot be read.")
	}
	var subject, key, attributes cryptobyte.String
	if !signed.ReadASN1(&info, asn1tag.SEQUENCE) || !info.ReadASN1Integer(&c.Version) {
		return nil, malformed("The version of the request cannot be read.")
	}
	if !info.ReadASN1Element(&subject, asn1tag.SEQUENCE) || !info.ReadASN1Element(&key, asn1tag.SEQUENCE) {
		return nil, malformed("Subject and public key of the request cannot be read.")
	}
	var err error
	if c.Key, err = pki.ReadKey(key); err != nil {
		return nil, malformed("The public key of the request cannot be read.")
	}
	c.Subject = pki.ParseName(subject)
	c.readSubject(subject)
	context0 := asn1tag.Tag(0).ContextSpecific().Constructed()
	if c.NoList = info.Empty(); c.NoList {
		return c, nil
	}
	if !info.ReadASN1(&attributes, context0) || !info.Empty() {
		return nil, malformed("The attributes of the request cannot be read.")
	}
	c.readAttributes(attributes)
	return c, nil
}

// fault notes a part that cannot be read.
func (c *contents) fault(format string, args ...any) {
	if len(c.Faults) < maxFaults {
		c.Faults = append(c.Faults, fmt.Sprintf(format, args...))
	}
}

func (c *contents) readSubject(der cryptobyte.String) {
	c.Attributes = kit.Map(pki.Attributes(der), func(a pki.Attribute) subjectAttribute {
		return subjectAttribute{a.Type, a.Value}
	})
	var name, set cryptobyte.String
	der.ReadASN1(&name, asn1tag.SEQUENCE)
	for name.ReadASN1(&set, asn1tag.SET) {
	}
	if !name.Empty() {
		c.fault("The subject cannot be read to its end.")
	}
}

func (c *contents) readAttributes(list cryptobyte.String) {
	for !list.Empty() {
		var attribute, values cryptobyte.String
		var id asn1.ObjectIdentifier
		if !list.ReadASN1(&attribute, asn1tag.SEQUENCE) || !attribute.ReadASN1ObjectIdentifier(&id) ||
			!attribute.ReadASN1(&values, asn1tag.SET) {
			c.fault("The attributes of the request cannot be read to their end.")
			return
		}
		switch id.String() {
		case oidChallenge:
			c.Challenge = true
		case oidExtensions, oidMSExtensions:
			c.readExtensions(values)
		}
	}
}

func (c *contents) readExtensions(values cryptobyte.String) {
	var list cryptobyte.String
	if !values.ReadASN1(&list, asn1tag.SEQUENCE) {
		c.fault("The requested extensions cannot be read.")
		return
	}
	for !list.Empty() && len(c.Extensions) < maxExtensions {
		var ext, content cryptobyte.String
		var id asn1.ObjectIdentifier
		var critical bool
		if !list.ReadASN1(&ext, asn1tag.SEQUENCE) || !ext.ReadASN1ObjectIdentifier(&id) ||
			!readFlag(&ext, &critical) || !ext.ReadASN1(&content, asn1tag.OCTET_STRING) {
			c.fault("The requested extensions cannot be read to their end.")
			return
		}
		e := extension{id.String(), critical, content}
		c.Extensions = append(c.Extensions, e)
		if !c.readExtension(e) {
			c.fault("The extension %s cannot be read.", extensionName(e.OID))
		}
	}
}

// readFlag reads a BOOLEAN that is false where it is absent.
func readFlag(input *cryptobyte.String, flag *bool) bool {
	return !input.PeekASN1Tag(asn1tag.BOOLEAN) || input.ReadASN1Boolean(flag)
}

// readExtension takes those extensions apart that matter, and reports whether it could.
func (c *contents) readExtension(e extension) bool {
	input := cryptobyte.String(e.Value)
	switch e.OID {
	case oidSAN:
		c.HasSAN = true
		c.Unreadable = !c.readNames(input)
		return !c.Unreadable
	case oidKeyUsage:
		var bits asn1.BitString
		c.HasUsage = true
		if !input.ReadASN1BitString(&bits) || !input.Empty() {
			return false
		}
		for i, name := range pki.KeyUsages {
			if bits.At(i) == 1 {
				c.KeyUsage = append(c.KeyUsage, name)
			}
		}
	case oidExtKeyUsage:
		c.HasPurposes = true
		return c.readPurposes(input)
	case oidConstraints:
		return c.readConstraints(input)
	case oidTLSFeature:
		var list cryptobyte.String
		if !input.ReadASN1(&list, asn1tag.SEQUENCE) {
			return false
		}
		for !list.Empty() {
			var feature int
			if !list.ReadASN1Integer(&feature) {
				return false
			}
			c.MustStaple = c.MustStaple || feature == 5 // status_request (RFC 7633 section 4.2.3.1)
		}
	}
	return true
}

func (c *contents) readPurposes(input cryptobyte.String) bool {
	var list cryptobyte.String
	if !input.ReadASN1(&list, asn1tag.SEQUENCE) || !input.Empty() {
		return false
	}
	for !list.Empty() && len(c.ExtKeyUsage) < maxPurposes {
		var id asn1.ObjectIdentifier
		if !list.ReadASN1ObjectIdentifier(&id) {
			return false
		}
		c.ExtKeyUsage = append(c.ExtKeyUsage, pki.Purpose(id.String()))
	}
	return true
}

func (c *contents) readConstraints(input cryptobyte.String) bool {
	var body cryptobyte.String
	b := &BasicConstraints{known: true}
	if !input.ReadASN1(&body, asn1tag.SEQUENCE) || !readFlag(&body, &b.IsCA) {
		return false
	}
	if !body.Empty() {
		n := 0
		if !body.ReadASN1Integer(&n) || n < 0 {
			return false
		}
		b.PathLen = &n
	}
	c.Constraints = b
	return true
}

// readNames reads GeneralNames (RFC 5280 section 4.2.1.6).
func (c *contents) readNames(input cryptobyte.String) bool {
	var list cryptobyte.String
	if !input.ReadASN1(&list, asn1tag.SEQUENCE) || !input.Empty() {
		return false
	}
	for !list.Empty() {
		var content cryptobyte.String
		var tag asn1tag.Tag
		if !list.ReadAnyASN1(&content, &tag) {
			return false
		}
		name := generalName{Type: OtherName, Value: string(content)}
		switch tag & 0x1f {
		case 1:
			name.Type = EmailName
		case 2:
			name.Type = DNSName
		case 6:
			name.Type = URIName
		case 7:
			name.Type = IPName
			if ip, ok := netip.AddrFromSlice(content); ok {
				name.IP, name.Value = ip, ip.String()
			} else {
				name.Value = fmt.Sprintf("%x", []byte(content[:min(len(content), 40)]))
			}
		default:
			name.Value = otherNames[tag&0x1f]
		}
		c.Names = append(c.Names, name)
	}
	return true
}

// otherNames are the types of names beside the four that are shown.
var otherNames = map[asn1tag.Tag]string{
	0: "otherName", 3: "x400Address", 4: "directoryName", 5: "ediPartyName", 8: "registeredID",
}

var extensionNames = map[string]string{
	oidSAN: "subjectAltName", oidKeyUsage: "keyUsage", oidExtKeyUsage: "extKeyUsage", oidConstraints: "basicConstraints",
	oidTLSFeature: "tlsFeature", "2.5.29.14": "subjectKeyIdentifier", "2.5.29.35": "authorityKeyIdentifier",
	"2.5.29.32": "certificatePolicies", "2.5.29.31": "cRLDistributionPoints", "2.5.29.30": "nameConstraints",
	"1.3.6.1.5.5.7.1.1": "authorityInfoAccess", "2.16.840.1.113730.1.1": "netscapeCertType",
	"2.16.840.1.113730.1.13": "netscapeComment", "1.3.6.1.4.1.311.21.7": "microsoftCertificateTemplate",
	"1.3.6.1.4.1.311.20.2": "microsoftCertificateTemplateName", "1.2.840.113549.1.9.15": "smimeCapabilities",
	"1.3.6.1.4.1.311.21.10": "microsoftApplicationPolicies",
}

func extensionName(oid string) string { return cmp.Or(extensionNames[oid], oid) }

// text makes a value fit for a report.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
