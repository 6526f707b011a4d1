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
	VMC         Type = "vmc"     // verified mark certificate
	CMC         Type = "cmc"     // common mark certificate
	UnknownType Type = "unknown" // the mark type is missing, or none that is known
)

// Values lists the kinds.
func (Type) Values() []string { return []string{string(VMC), string(CMC), string(UnknownType)} }

// A MarkType says how the authority came to know that the mark belongs to the subject (MCR section 7.1.4.2.2).
type MarkType string

// The mark types.
const (
	Registered         MarkType = "Registered Mark"          // a trademark with a logo
	Government         MarkType = "Government Mark"          // granted to a government by law
	PriorUse           MarkType = "Prior Use Mark"           // shown on the web site for a year
	ModifiedRegistered MarkType = "Modified Registered Mark" // a trademark whose logo was changed a little
	Provisional        MarkType = "Provisional Mark"         // accepted by the logs for CMCs since 2026
)

// markTypes are those that are known, with the kind of certificate that they make.
var markTypes = map[MarkType]Type{
	Registered: VMC, Government: VMC, PriorUse: CMC, ModifiedRegistered: CMC, Provisional: CMC,
}

// A Field is an attribute of the subject of a mark certificate, by the name that the MCR give it.
type Field string

// The fields that say who the subject is, and which mark is theirs (MCR section 7.1.4.2.2).
const (
	Organization       Field = "organizationName"
	StreetAddress      Field = "streetAddress"
	Locality           Field = "localityName"
	StateOrProvince    Field = "stateOrProvinceName"
	Country            Field = "countryName"
	BusinessCategory   Field = "businessCategory"
	RegistrationNumber Field = "serialNumber"
	JurisdictionPlace  Field = "jurisdictionLocalityName"
	JurisdictionState  Field = "jurisdictionStateOrProvinceName"
	JurisdictionLand   Field = "jurisdictionCountryName"
	MarkTypeField      Field = "markType"
	TrademarkOffice    Field = "trademarkOfficeName"
	TrademarkLand      Field = "trademarkCountryOrRegionName"
	TrademarkID        Field = "trademarkIdentifier"
	StatuteLand        Field = "statuteCountryName"
	StatuteState       Field = "statuteStateOrProvinceName"
	StatutePlace       Field = "statuteLocalityName"
	StatuteCitation    Field = "statuteCitation"
	StatuteURL         Field = "statuteURL"
	PriorUseURL        Field = "priorUseMarkSourceURL"
)

// fields are the attributes of a subject by their identifiers; those of which nothing is asked have a name only.
var fields = map[string]Field{
	"2.5.4.10": Organization, "2.5.4.9": StreetAddress, "2.5.4.7": Locality, "2.5.4.8": StateOrProvince,
	"2.5.4.6":  Country,
	"2.5.4.15": BusinessCategory, "2.5.4.5": RegistrationNumber,
	"1.3.6.1.4.1.311.60.2.1.1": JurisdictionPlace,
	"1.3.6.1.4.1.311.60.2.1.2": JurisdictionState,
	"1.3.6.1.4.1.311.60.2.1.3": JurisdictionLand,
	"1.3.6.1.4.1.53087.1.13":   MarkTypeField,
	"1.3.6.1.4.1.53087.1.2":    TrademarkOffice,
	"1.3.6.1.4.1.53087.1.3":    TrademarkLand,
	"1.3.6.1.4.1.53087.1.4":    TrademarkID,
	"1.3.6.1.4.1.53087.3.2":    StatuteLand,
	"1.3.6.1.4.1.53087.3.3":    StatuteState,
	"1.3.6.1.4.1.53087.3.4":    StatutePlace,
	"1.3.6.1.4.1.53087.3.5":    StatuteCitation,
	"1.3.6.1.4.1.53087.3.6":    StatuteURL,
	"1.3.6.1.4.1.53087.5.1":    PriorUseURL,
	"2.5.4.3":                  "commonName",
	"2.5.4.11":                 "organizationalUnitName",
	"2.5.4.17":                 "postalCode",
	"2.5.4.97":                 "organizationIdentifier",
	"1.3.6.1.4.1.53087.1.5":    "legalEntityIdentifier",
	"1.3.6.1.4.1.53087.1.6":    "wordMark",
}

// A Subject is who a mark certificate is for, and which mark is theirs.
type Subject struct {
	values  map[Field][]string
	Unknown []string // identifiers of attributes that the MCR do not know
}

// readSubject reads the attributes of a subject.
func readSubject(c *x509.Certificate) Subject {
	s := Subject{values: map[Field][]string{}}
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
func (s Subject) Get(f Field) string {
	if list := s.values[f]; len(list) > 0 {
		return strings.TrimSpace(list[0])
	}
	return ""
}

// Has reports whether the subject has a field with a value.
func (s Subject) Has(f Field) bool { return s.Get(f) != "" }

// All returns all values of a field.
func (s Subject) All(f Field) []string { return slices.Clone(s.values[f]) }

// MarkType returns the mark type. Certificates from before the MCR had mark types are those of registered marks, which
// the trademark tells.
func (s Subject) MarkType() MarkType {
	switch {
	case s.Has(MarkTypeField):
		return MarkType(s.Get(MarkTypeField))
	case s.Has(TrademarkID) && s.Has(TrademarkLand):
		return Registered
	default:
		return ""
	}
}

// Type returns the kind of certificate that the mark type makes.
func (s Subject) Type() Type {
	if t, ok := markTypes[s.MarkType()]; ok {
		return t
	}
	return UnknownType
}
