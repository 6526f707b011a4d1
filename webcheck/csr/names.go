package csr

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/registry"
	"github.com/diagkit/diagkit/diag/suffix"
)

// A Name is one name that the certificate is to have, and whether a public authority may certify it.
type Name struct {
	Value   string `json:"value" doc:"the name as written in the request"`
	Unicode string `json:"unicode,omitempty" doc:"the name in Unicode, if that is different"`
	Wild    bool   `json:"wildcard" doc:"whether it stands for all names one level below a domain"`
	Valid   bool   `json:"valid" doc:"whether a public authority may certify it"`
	Reason  string `json:"reason,omitempty" doc:"why not, as a clause"`

	Type  NameType  `json:"-"`
	Fault NameFault `json:"-"`
}

// A NameFault is a kind of fault in a name.
type NameFault int

const (
	noFault        NameFault = iota
	badSyntax                // it is not a host name
	badIDN                   // a label that begins with xn-- is not the A-label of anything
	badWildcard              // the asterisk is not the whole of the first label
	wildcardSuffix           // a wildcard for all of a public suffix
	publicSuffix             // it is a public suffix itself
	internalName             // it does not exist in the public DNS
	reverseName              // it belongs to the reverse DNS
	reservedIP               // the address is not public
	addressAsDNS             // an address where a host name should be
	foreignType              // a mail address, URI or another type
)

// The sizes of names in octets (RFC 1035 section 2.3.4).
const (
	maxName  = 253
	maxLabel = 63
)

// reservedTLDs are top-level domains that are not in the public DNS, and why (RFC 6761, RFC 6762, RFC 7686, RFC 8375,
// and resolutions of ICANN).
var reservedTLDs = map[string]string{
	"localhost": "the name denotes the machine itself", "local": ".local is for multicast DNS in local networks",
	"internal": ".internal is reserved for private use", "test": ".test is reserved for tests",
	"invalid": ".invalid is reserved for names that do not exist", "example": ".example is reserved for documentation",
	"onion": "the name is not that of an onion service of version 3",
	"alt":   ".alt is reserved for names outside of the DNS",
}

func judgeName(n generalName) Name {
	name := Name{Value: text(n.Value), Type: n.Type}
	switch n.Type {
	case DNSName:
		name.judgeDNS(n.Value)
	case IPName:
		name.judgeIP(n.IP)
	case EmailName:
		name.fail(foreignType, "certificates for servers have no mail addresses")
	case URIName:
		name.fail(foreignType, "certificates for servers have no URIs")
	default:
		name.fail(foreignType, "certificates for servers have host names and IP addresses only")
	}
	name.Valid = name.Fault == noFault
	return name
}

// fail notes what is wrong, if nothing was before.
func (n *Name) fail(fault NameFault, format string, args ...any) {
	if n.Fault == noFault {
		n.Fault, n.Reason = fault, fmt.Sprintf(format, args...)
	}
}

// judgeIP judges an address: those reserved in IANA registries are not certified (Baseline Requirements section
// 4.2.2).
func (n *Name) judgeIP(ip netip.Addr) {
	if !ip.IsValid() {
		n.fail(badSyntax, "an IP address has 4 or 16 bytes")
		return
	}
	ip = ip.Unmap()
	if _, purpose, ok := registry.PurposeOf(ip); ok {
		n.fail(reservedIP, "the address is reserved: %s (%s)", purpose.Name, purpose.RFC)
	} else if !(&diag.Env{}).Public(ip) {
		n.fail(reservedIP, "the address is not public")
	}
}

// judgeDNS judges a host name, the gravest fault first.
func (n *Name) judgeDNS(raw string) {
	base := strings.ToLower(raw)
	if rest, ok := strings.CutPrefix(base, "*."); ok {
		n.Wild, base = true, rest
	}
	if n.judgeForm(raw, base); n.Fault != noFault {
		return
	}
	n.judgeLabels(base)
	if n.Fault != noFault {
		return
	}
	if d, err := diag.ParseDomain(base); err == nil {
		if u := d.UnicodeIfDifferent(); u != "" {
			n.Unicode = u
			if n.Wild {
				n.Unicode = "*." + u
			}
		}
	}
	n.judgePlace(base)
}

// judgeForm finds what is not a name at all.
func (n *Name) judgeForm(raw, base string) {
	_, notIP := netip.ParseAddr(strings.Trim(raw, "[]"))
	_, notNet := netip.ParsePrefix(raw)
	switch {
	case raw == "":
		n.fail(badSyntax, "it is empty")
	case strings.Contains(raw, "\x00"):
		n.fail(badSyntax, "it has a NUL character, at which some software stops reading")
	case notIP == nil:
		n.fail(addressAsDNS, "an IP address must be in the request as such, not as a host name")
	case notNet == nil:
		n.fail(addressAsDNS, "it is a network, not a host name")
	case strings.Contains(raw, "://"):
		n.fail(badSyntax, "it is a URL, not a host name")
	case strings.Contains(raw, "@"):
		n.fail(badSyntax, "it is a mail address, not a host name")
	case strings.ContainsAny(raw, "/?#"):
		n.fail(badSyntax, "it has a path, which a host name does not have")
	case strings.Contains(raw, ":"):
		n.fail(badSyntax, "it has a port or prefix, which a host name does not have")
	case strings.ContainsAny(raw, " \t\r\n,;"):
		n.fail(badSyntax, "it has a space or a separator: each name must be by itself")
	case strings.Contains(base, "*") || raw == "*":
		n.fail(badWildcard, "an asterisk may only be the whole of the first label, as in *.example.com")
	case !ascii(raw):
		n.fail(badSyntax,
			"it has characters beyond ASCII: international names are written as A-labels, which begin with xn--")
	case strings.HasSuffix(raw, "."):
		n.fail(badSyntax, "it ends with a dot")
	case len(raw) > maxName:
		n.fail(badSyntax, "it has more than %d octets", maxName)
	}
}

// judgeLabels checks each label (RFC 5280 section 4.2.1.6, RFC 1123 section 2.1, RFC 5890 section 2.3.1).
func (n *Name) judgeLabels(base string) {
	for label := range strings.SplitSeq(base, ".") {
		switch {
		case label == "":
			n.fail(badSyntax, "it has an empty label")
		case len(label) > maxLabel:
			n.fail(badSyntax, "a label has more than %d octets", maxLabel)
		case strings.HasPrefix(label, "xn--"):
			if _, err := diag.ParseDomain(label + ".example"); err != nil {
				n.fail(badIDN, "%s is not a valid A-label of IDNA 2008", label)
			}
		case strings.Contains(label, "_"):
			n.fail(badSyntax, "it has an underscore, which host names must not have")
		case strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
			n.fail(badSyntax, "it has a character other than letters, digits and hyphens")
		case label[0] == '-' || label[len(label)-1] == '-':
			n.fail(badSyntax, "a label begins or ends with a hyphen")
		case len(label) >= 4 && label[2:4] == "--":
			n.fail(badSyntax, "the label %s has hyphens in the third and fourth place, which are reserved", label)
		}
	}
}

func (n *Name) judgePlace(name string) {
	top := name[strings.LastIndexByte(name, '.')+1:]
	suffix, public := suffix.Registry(name, nil)
	reason, reserved := reservedTLDs[top]
	switch {
	case top == "onion" && isOnion(name):
	case reserved:
		n.fail(internalName, "%s", reason)
	case under(name, "home.arpa"):
		n.fail(internalName, "home.arpa is for home networks")
	case under(name, "in-addr.arpa") || under(name, "ip6.arpa"):
		n.fail(reverseName, "it belongs to the reverse DNS, and certificates are no longer issued for such names")
	case strings.Trim(top, "0123456789") == "":
		n.fail(badSyntax, "it ends in a number, which makes it an IP address")
	case !public && !strings.Contains(name, "."):
		n.fail(internalName, "a single label is not a name of the public DNS")
	case !public:
		n.fail(internalName, "there is no top-level domain .%s", top)
	case suffix == name && n.Wild: // Baseline Requirements section 3.2.2.6
		n.fail(wildcardSuffix, "%s is a public suffix, below which anyone can register domains", name)
	case suffix == name:
		n.fail(publicSuffix, "%s is a public suffix, which cannot be owned", name)
	}
}

func under(name, zone string) bool { return name == zone || strings.HasSuffix(name, "."+zone) }

// isOnion reports whether a name is that of an onion service of version 3 (Baseline Requirements appendix B).
func isOnion(name string) bool {
	labels := strings.Split(name, ".")
	service := labels[max(0, len(labels)-2)]
	return len(labels) >= 2 && len(service) == 56 && strings.Trim(service, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// The object identifiers of attributes of a subject (RFC 5280 appendix A.1).
const (
	oidCommonName = "2.5.4.3"
	oidCountry    = "2.5.4.6"
	oidUnit       = "2.5.4.11"
	oidEmail      = "1.2.840.113549.1.9.1"
)

// maxCommonName is the upper bound of common names, in characters (RFC 5280 appendix A.1, ub-common-name).
const maxCommonName = 64

// bounds are the upper bounds of attributes, in characters (RFC 5280 appendix A.1).
var bounds = map[string]int{
	oidCommonName: maxCommonName, oidCountry: 2, "2.5.4.7": 128, "2.5.4.8": 128, "2.5.4.10": 64, oidUnit: 64,
	"2.5.4.5": 64, oidEmail: 255,
}

var attributeNames = map[string]string{
	oidCommonName: "common name", oidCountry: "country", "2.5.4.7": "locality", "2.5.4.8": "state or province",
	"2.5.4.10": "organization", oidUnit: "organizational unit", "2.5.4.5": "serial number", oidEmail: "mail address",
	"2.5.4.9": "street address", "2.5.4.17": "postal code", "2.5.4.4": "surname", "2.5.4.42": "given name",
	"2.5.4.15": "business category", "0.9.2342.19200300.100.1.25": "domain component",
	"0.9.2342.19200300.100.1.1": "user id",
	"1.2.840.113549.1.9.2":      "unstructured name", "1.2.840.113549.1.9.8": "unstructured address",
}

func attributeName(oid string) string { return cmp.Or(attributeNames[oid], "attribute "+oid) }

func tooLong(a subjectAttribute) bool {
	bound, ok := bounds[a.OID]
	return ok && a.OID != oidCountry && utf8.RuneCountInString(a.Value) > bound
}

// defaults are the values that programs fill in, and examples of their manuals, in lower case.
var defaults = map[string][]string{
	"2.5.4.8":  {"some-state", "state", "my state"},
	"2.5.4.7":  {"default city", "city", "my city"},
	"2.5.4.10": {"internet widgits pty ltd", "default company ltd", "my company", "organization", "company"},
	oidUnit:    {"section", "unit"},
	oidCountry: {},
}

// isDefault reports whether a value is one that a program filled in.
func isDefault(a subjectAttribute) bool {
	return slices.Contains(defaults[a.OID], strings.ToLower(strings.TrimSpace(a.Value)))
}

// isPlaceholder reports whether a value is a placeholder (Baseline Requirements section 7.1.2.7.4: only '.', '-' or
// ' ').
func isPlaceholder(s string) bool {
	trimmed := strings.ToLower(strings.Trim(s, ". -_"))
	return trimmed == "" || trimmed == "n/a" || trimmed == "na" || trimmed == "none" || trimmed == "null"
}

// countries are the codes of ISO 3166-1, and XX, which is for countries without one (Baseline Requirements section
// 7.1.2.7.4); as of 2026-11-22.
const countries = " AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS " +
	"BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI " +
	"FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR " +
	"IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM " +
	"MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT " +
	"PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM " +
	"TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS XX YE YT ZA ZM ZW "

// isCountry reports whether a text is the code of a country.
func isCountry(s string) bool { return len(s) == 2 && strings.Contains(countries, " "+s+" ") }
