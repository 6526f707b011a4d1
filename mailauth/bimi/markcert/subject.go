package markcert

import (
	"crypto/x509"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/pki"
)

// A Type is the kind of a mark certificate.
type Type string

// The kinds.
const (
	vmc         Type = "vmc"     // verified mark certificate
	cmc         Type = "cmc"     // common mark certificate
	unknownType Type = "unknown" // the mark type is missing, or none that is known
)

// Values lists the kinds.
func (Type) Values() []string { return []string{string(vmc), string(cmc), string(unknownType)} }

// A MarkType says how the authority came to know that the mark belongs to the subject (MCR section 7.1.4.2.2).
type MarkType string

// The mark types.
const (
	registered         MarkType = "Registered Mark"          // a trademark with a logo
	Government         MarkType = "Government Mark"          // granted to a government by law
	PriorUse           MarkType = "Prior Use Mark"           // shown on the web site for a year
	modifiedRegistered MarkType = "Modified Registered Mark" // a trademark whose logo was changed a little
	provisional        MarkType = "Provisional Mark"         // accepted by the logs for CMCs since 2026
)

// markTypes are those that are known, with the kind of certificate that they make.
var markTypes = map[MarkType]Type{
	registered: vmc, Government: vmc, PriorUse: cmc, modifiedRegistered: cmc, provisional: cmc,
}

// A field is an attribute of the subject of a mark certificate, by the name that the MCR give it.
type field string

// The fields that say who the subject is, and which mark is theirs (MCR section 7.1.4.2.2).
const (
	organization       field = "organizationName"
	streetAddress      field = "streetAddress"
	locality           field = "localityName"
	stateOrProvince    field = "stateOrProvinceName"
	country            field = "countryName"
	businessCategory   field = "businessCategory"
	registrationNumber field = "serialNumber"
	jurisdictionPlace  field = "jurisdictionLocalityName"
	jurisdictionState  field = "jurisdictionStateOrProvinceName"
	jurisdictionLand   field = "jurisdictionCountryName"
	markTypeField      field = "markType"
	trademarkOffice    field = "trademarkOfficeName"
	trademarkLand      field = "trademarkCountryOrRegionName"
	trademarkID        field = "trademarkIdentifier"
	statuteLand        field = "statuteCountryName"
	statuteState       field = "statuteStateOrProvinceName"
	statutePlace       field = "statuteLocalityName"
	statuteCitation    field = "statuteCitation"
	statuteURL         field = "statuteURL"
	priorUseURL        field = "priorUseMarkSourceURL"
)

// fields are the attributes of a subject by their identifiers; those of which nothing is asked have a name only.
var fields = map[string]field{
	"2.5.4.10": organization, "2.5.4.9": streetAddress, "2.5.4.7": locality, "2.5.4.8": stateOrProvince,
	"2.5.4.6":  country,
	"2.5.4.15": businessCategory, "2.5.4.5": registrationNumber,
	"1.3.6.1.4.1.311.60.2.1.1": jurisdictionPlace,
	"1.3.6.1.4.1.311.60.2.1.2": jurisdictionState,
	"1.3.6.1.4.1.311.60.2.1.3": jurisdictionLand,
	"1.3.6.1.4.1.53087.1.13":   markTypeField,
	"1.3.6.1.4.1.53087.1.2":    trademarkOffice,
	"1.3.6.1.4.1.53087.1.3":    trademarkLand,
	"1.3.6.1.4.1.53087.1.4":    trademarkID,
	"1.3.6.1.4.1.53087.3.2":    statuteLand,
	"1.3.6.1.4.1.53087.3.3":    statuteState,
	"1.3.6.1.4.1.53087.3.4":    statutePlace,
	"1.3.6.1.4.1.53087.3.5":    statuteCitation,
	"1.3.6.1.4.1.53087.3.6":    statuteURL,
	"1.3.6.1.4.1.53087.5.1":    priorUseURL,
	"2.5.4.3":                  "commonName",
	"2.5.4.11":                 "organizationalUnitName",
	"2.5.4.17":                 "postalCode",
	"2.5.4.97":                 "organizationIdentifier",
	"1.3.6.1.4.1.53087.1.5":    "legalEntityIdentifier",
	"1.3.6.1.4.1.53087.1.6":    "wordMark",
}

type subject struct {
	values  map[field][]string
	Unknown []string // identifiers of attributes that the MCR do not know
}

func readSubject(c *x509.Certificate) subject {
	s := subject{values: map[field][]string{}}
	for _, a := range pki.Attributes(c.RawSubject) {
		f, ok := fields[a.Type]
		if !ok {
			s.Unknown = append(s.Unknown, a.Type)
			continue
		}
		s.values[f] = append(s.values[f], a.Value)
	}
	return s
}

// Get returns the first value of a field, empty if there is none.
func (s subject) Get(f field) string {
	if list := s.values[f]; len(list) > 0 {
		return strings.TrimSpace(list[0])
	}
	return ""
}

// Has reports whether the subject has a field with a value.
func (s subject) Has(f field) bool { return s.Get(f) != "" }

// All returns all values of a field.
func (s subject) All(f field) []string { return slices.Clone(s.values[f]) }

// MarkType returns the mark type. Certificates from before the MCR had mark types are those of registered marks, which
// the trademark tells.
func (s subject) MarkType() MarkType {
	switch {
	case s.Has(markTypeField):
		return MarkType(s.Get(markTypeField))
	case s.Has(trademarkID) && s.Has(trademarkLand):
		return registered
	default:
		return ""
	}
}

// Type returns the kind of certificate that the mark type makes.
func (s subject) Type() Type {
	if t, ok := markTypes[s.MarkType()]; ok {
		return t
	}
	return unknownType
}
