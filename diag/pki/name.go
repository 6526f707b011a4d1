package pki

import (
	"encoding/asn1"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
)

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

// ParseName describes the DER form of a distinguished name, such as RawSubject of a certificate. Of a
// name that cannot be decoded it describes what comes before the fault.
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
		return string(diag.Map(v.Bytes, func(c byte) rune { return rune(c) })), true
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
	Value string // as text; empty if the value is none
}

// Attributes lists the parts of the DER form of a distinguished name, in their order and at most maxAttributes. Of a
// name that cannot be decoded it lists what comes before the fault.
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
