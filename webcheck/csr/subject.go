package csr

import (
	"slices"
	"strings"
	"unicode/utf8"
)

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

// attributeNames are what the attributes are called.
var attributeNames = map[string]string{
	oidCommonName: "common name", oidCountry: "country", "2.5.4.7": "locality", "2.5.4.8": "state or province",
	"2.5.4.10": "organization", oidUnit: "organizational unit", "2.5.4.5": "serial number", oidEmail: "mail address",
	"2.5.4.9": "street address", "2.5.4.17": "postal code", "2.5.4.4": "surname", "2.5.4.42": "given name",
	"2.5.4.15": "business category", "0.9.2342.19200300.100.1.25": "domain component", "0.9.2342.19200300.100.1.1": "user id",
	"1.2.840.113549.1.9.2": "unstructured name", "1.2.840.113549.1.9.8": "unstructured address",
}

func attributeName(oid string) string {
	if name, ok := attributeNames[oid]; ok {
		return name
	}
	return "attribute " + oid
}

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

// isPlaceholder reports whether a value stands for the lack of one (Baseline Requirements section 7.1.2.7.4: only '.', '-' or ' ').
func isPlaceholder(s string) bool {
	trimmed := strings.ToLower(strings.Trim(s, ". -_"))
	return trimmed == "" || trimmed == "n/a" || trimmed == "na" || trimmed == "none" || trimmed == "null"
}

// countries are the codes of ISO 3166-1, and XX, which stands for countries without one (Baseline Requirements section
// 7.1.2.7.4); as of 2026-11-22.
const countries = " AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY " +
	"BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR " +
	"GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP " +
	"KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT " +
	"MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW " +
	"SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG " +
	"UM US UY UZ VA VC VE VG VI VN VU WF WS XX YE YT ZA ZM ZW "

// isCountry reports whether a text is the code of a country.
func isCountry(s string) bool { return len(s) == 2 && strings.Contains(countries, " "+s+" ") }
