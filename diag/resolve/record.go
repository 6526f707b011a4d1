package resolve

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/miekg/dns"
)

// A DNSRecord describes one record.
type DNSRecord struct {
	Name  string `json:"name" doc:"whose record it is, in lower case, without a final dot"`
	Type  string `json:"type" doc:"its type"`
	Class string `json:"class" doc:"its class, IN for the Internet"`
	TTL   uint32 `json:"ttl" doc:"how long it may be kept, in seconds"`
	Data  string `json:"data" doc:"its data as written in a zone file"`
	// Fields has the data as separate fields, with names that depend on the type. Host names are in lower
	// case without a final dot; bytes are in hexadecimal or base64 as in zone files. Text that is not UTF-8
	// is in hexadecimal, under the name with "_hex" appended. Unknown types have the single field
	// "rdata_hex".
	Fields Fields `json:"fields" doc:"its data taken apart, by names that depend on the type"`
}

// Fields are the data of a record by name. The values are strings, booleans, integers (int64), lists of
// strings, times and, for the parameters of SVCB and HTTPS, Fields.
type Fields map[string]any

// NewDNSRecord describes a record. The 32-bit times of signatures are interpreted relative to now; see
// [SerialTime].
func NewDNSRecord(rr dns.RR, now time.Time) DNSRecord {
	h := rr.Header()
	return DNSRecord{
		Name: nameText(h.Name), Type: dns.Type(h.Rrtype).String(), Class: dns.Class(h.Class).String(), TTL: h.Ttl,
		Data: dataText(rr), Fields: fieldsOf(rr, now),
	}
}

// dataText returns the data as written in a zone file.
func dataText(rr dns.RR) string {
	r, unknown := rr.(*dns.RFC3597)     // the library writes its header in another way
	if null, ok := rr.(*dns.NULL); ok { // the library writes its data as they are
		r, unknown = &dns.RFC3597{Rdata: hex.EncodeToString([]byte(null.Data))}, true
	}
	if unknown {
		return strings.TrimSpace(fmt.Sprintf(`\# %d %s`, len(r.Rdata)/2, strings.ToLower(r.Rdata)))
	}
	return strings.ToValidUTF8(strings.TrimPrefix(rr.String(), rr.Header().String()), "\uFFFD")
}

// NewDNSRecords describes at most limit records, without OPT and other pseudo-records and without duplicates.
// The result is never nil.
func NewDNSRecords(rrs []dns.RR, limit int, now time.Time) []DNSRecord {
	list, seen := []DNSRecord{}, map[string]bool{}
	for _, rr := range rrs {
		if len(list) == limit {
			break
		}
		if rr.Header().Rrtype == dns.TypeOPT {
			continue
		}
		r := NewDNSRecord(rr, now)
		if key := r.Name + " " + r.Type + " " + r.Data; !seen[key] { // RFC 2181 section 5
			seen[key] = true
			list = append(list, r)
		}
	}
	return list
}

// nameText returns a name in lower case without a final dot except for the root.
func nameText(name string) string {
	if name == "." {
		return name
	}
	return strings.TrimSuffix(dns.CanonicalName(name), ".")
}

// setText sets a field to a text, or the field with "_hex" appended to its bytes if it is no UTF-8.
func (f Fields) setText(name, text string) {
	if !utf8.ValidString(text) {
		name, text = name+"_hex", hex.EncodeToString([]byte(text))
	}
	f[name] = text
}

// setTexts is setText for a list, which is in hexadecimal digits if one of its texts is no UTF-8.
func (f Fields) setTexts(name string, texts []string) {
	if slices.ContainsFunc(texts, func(text string) bool { return !utf8.ValidString(text) }) {
		name, texts = name+"_hex", kit.Map(texts, func(text string) string { return hex.EncodeToString([]byte(text)) })
	}
	f[name] = slices.Concat([]string{}, texts)
}

// Lowered returns a copy of a record with the names in its data in lower case.
func Lowered(rr dns.RR) dns.RR {
	rr = dns.Copy(rr)
	lowerNames(reflect.ValueOf(rr).Elem())
	return rr
}

// lowerNames knows names by the tags of the DNS library: compressible ones, and those of later types.
func lowerNames(data reflect.Value) {
	for field, value := range data.Fields() {
		switch field.Tag.Get("dns") {
		case "cdomain-name", "domain-name":
			if value.Kind() == reflect.String {
				value.SetString(dns.CanonicalName(value.String()))
			}
		}
		if field.Anonymous {
			lowerNames(value)
		}
	}
}

// SerialTime returns the time for a 32-bit number of seconds since 1970: of all times equal to it modulo
// 2^32, the one nearest to now (RFC 4034 section 3.1.5, RFC 1982).
func SerialTime(seconds uint32, now time.Time) time.Time {
	base := now.Unix()
	return time.Unix(base+int64(int32(seconds-uint32(base))), 0).UTC()
}

// A Type is a record type that can be queried (RFC 6895 section 3.1). Its zero value is not a type.
type Type uint16

var common = []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeCAA, dns.TypeCNAME, dns.TypeDNSKEY, dns.TypeDS, dns.TypeHTTPS,
	dns.TypeMX, dns.TypeNAPTR, dns.TypeNS, dns.TypeNSEC, dns.TypeNSEC3PARAM, dns.TypePTR, dns.TypeRRSIG, dns.TypeSOA,
	dns.TypeSRV, dns.TypeSSHFP, dns.TypeSVCB, dns.TypeTLSA, dns.TypeTXT}

// refusals say why a type that there is cannot be asked for.
var refusals = map[uint16]string{
	dns.TypeANY: "servers answer ANY with whatever they like (RFC 8482): ask for each type",
	dns.TypeAXFR: "AXFR transfers a whole zone and is not a query for records: " +
		"domain/dns-check says who may transfer it",
	dns.TypeIXFR: "IXFR transfers changes of a zone and is not a query for records: domain/dns-check says who may transfer it",
	dns.TypeOPT:  "OPT is part of the protocol (RFC 6891): no name has such a record",
	dns.TypeTSIG: "TSIG is part of the protocol (RFC 8945): no name has such a record",
	dns.TypeTKEY: "TKEY is part of the protocol (RFC 2930): no name has such a record",
}

// TypeNames lists the names of the common types. [ParseType] also accepts less common ones, such as LOC, CDS
// and OPENPGPKEY.
func TypeNames() []string {
	return kit.Map(common, func(t uint16) string { return dns.TypeToString[t] })
}

// ParseType parses the name of a type in any letter case, or TYPEnnn. The error is a *[diag.InputError].
func ParseType(s string) (Type, error) {
	name := strings.ToUpper(s)
	code, known := dns.StringToType[name]
	if digits, ok := strings.CutPrefix(name, "TYPE"); !known && ok && len(digits) <= len("65535") {
		n, err := strconv.ParseUint(digits, 10, 16)
		code, known = uint16(n), err == nil && n > 0
	}
	if !known {
		return 0, input.Invalid("qtype", "%.40q is not a record type: give %s, another type by its name, or TYPEnnn",
			s, strings.Join(TypeNames(), ", "))
	}
	return Type(code), Type(code).check()
}

// check refuses types that cannot be queried: those of the protocol itself, and 65535, which is reserved (RFC 6895
// section 3.1).
func (t Type) check() error {
	if reason := refusals[uint16(t)]; reason != "" {
		return input.Invalid("qtype", "%s", reason)
	}
	if t == 0 {
		return input.Invalid("qtype", "is required")
	}
	if 128 <= t && t <= 255 || t == 65535 {
		return input.Invalid("qtype", "%s is reserved for the protocol: no name has such a record", t)
	}
	return nil
}

// String returns the name of the type.
func (t Type) String() string { return dns.Type(t).String() }

// MarshalText implements [encoding.TextMarshaler].
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (t *Type) UnmarshalText(text []byte) (err error) {
	*t, err = ParseType(string(text))
	return err
}
