package resolve

import (
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// A Type is a type of records to ask for (RFC 6895 section 3.1). Its zero value is no type.
type Type uint16

var common = []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeCAA, dns.TypeCNAME, dns.TypeDNSKEY, dns.TypeDS, dns.TypeHTTPS,
	dns.TypeMX, dns.TypeNAPTR, dns.TypeNS, dns.TypeNSEC, dns.TypeNSEC3PARAM, dns.TypePTR, dns.TypeRRSIG, dns.TypeSOA,
	dns.TypeSRV, dns.TypeSSHFP, dns.TypeSVCB, dns.TypeTLSA, dns.TypeTXT}

// refusals say why a type that there is cannot be asked for.
var refusals = map[uint16]string{
	dns.TypeANY:  "servers answer ANY with whatever they like (RFC 8482): ask for each type",
	dns.TypeAXFR: "AXFR transfers a whole zone and is not a query for records",
	dns.TypeIXFR: "IXFR transfers changes of a zone and is not a query for records",
	dns.TypeOPT:  "OPT is part of the protocol (RFC 6891): no name has such a record",
	dns.TypeTSIG: "TSIG is part of the protocol (RFC 8945): no name has such a record",
	dns.TypeTKEY: "TKEY is part of the protocol (RFC 2930): no name has such a record",
}

// TypeNames lists the names of the common types. [ParseType] knows those of all others that the DNS
// library can read too, such as LOC, CDS and OPENPGPKEY.
func TypeNames() []string {
	return diag.Map(common, func(t uint16) string { return dns.TypeToString[t] })
}

// ParseType reads the name of a type in any letter case, or TYPEnnn. The error is a
// *[diag.InputError].
func ParseType(s string) (Type, error) {
	name := strings.ToUpper(s)
	code, known := dns.StringToType[name]
	if digits, ok := strings.CutPrefix(name, "TYPE"); !known && ok && len(digits) <= len("65535") {
		n, err := strconv.ParseUint(digits, 10, 16)
		code, known = uint16(n), err == nil && n > 0
	}
	if !known {
		return 0, diag.Invalid("qtype", "%.40q is not a record type: give %s, another type by its name, or TYPEnnn",
			s, strings.Join(TypeNames(), ", "))
	}
	return Type(code), Type(code).check()
}

// check refuses types that nobody can ask for: those of the protocol itself, and 65535, which is
// reserved (RFC 6895 section 3.1).
func (t Type) check() error {
	if reason := refusals[uint16(t)]; reason != "" {
		return diag.Invalid("qtype", "%s", reason)
	}
	if t == 0 {
		return diag.Invalid("qtype", "is required")
	}
	if 128 <= t && t <= 255 || t == 65535 {
		return diag.Invalid("qtype", "%s is reserved for the protocol: no name has such a record", t)
	}
	return nil
}

// String returns the name of the type.
func (t Type) String() string {
	if name, ok := dns.TypeToString[uint16(t)]; ok {
		return name
	}
	return "TYPE" + strconv.Itoa(int(t))
}

// MarshalText implements [encoding.TextMarshaler].
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (t *Type) UnmarshalText(text []byte) (err error) {
	*t, err = ParseType(string(text))
	return err
}
