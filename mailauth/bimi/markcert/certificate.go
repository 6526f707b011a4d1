package markcert

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/pki"
)

// A Certificate describes a mark certificate.
type Certificate struct {
	pki.Certificate

	Type                Type     `json:"type" doc:"verified mark certificate (vmc) or common mark certificate (cmc), by the mark type"`
	MarkType            MarkType `json:"mark_type,omitempty" doc:"how the mark was verified" example:"Registered Mark"`
	TrademarkID         string   `json:"trademark_registration_id,omitempty" doc:"number of the trademark at its office"`
	TrademarkCountry    string   `json:"trademark_country_or_region,omitempty" doc:"country or region of the trademark office" example:"US"`
	TrademarkOffice     string   `json:"trademark_office_name,omitempty" doc:"name of the trademark office"`
	StatuteCitation     string   `json:"statute_citation,omitempty" doc:"law by which the mark of a government was granted"`
	PriorUseURL         string   `json:"prior_use_mark_source_url,omitempty" doc:"page on which the authority saw the logo"`
	JurisdictionCountry string   `json:"jurisdiction_country,omitempty" doc:"country of the register that lists the subject" example:"US"`
	BusinessCategory    string   `json:"business_category,omitempty" doc:"kind of organization" example:"Private Organization"`
	Pilot               bool     `json:"pilot,omitempty" doc:"whether it has the extension of the pilot of common mark certificates"`
	LogoEmbedded        bool     `json:"logo_embedded" doc:"whether it holds a logo that can be decoded"`
	LogoSHA256          string   `json:"logo_sha256,omitempty" doc:"SHA-256 of the logo after decompression, in hex"`
	LogotypeSVGBytes    *int     `json:"logotype_svg_bytes,omitempty" min:"0" doc:"size of the logo after decompression"`
	CoversDomain        *bool    `json:"covers_domain,omitempty" doc:"whether its names cover the domain; absent if none was given"`
	CARecognized        bool     `json:"ca_recognized" doc:"whether its chain leads to an authority for mark certificates, whatever the date"`
	CTLogged            bool     `json:"ct_logged" doc:"whether a log that is known has signed that it was logged (RFC 6962)"`
}

// A markCert is a certificate, read as one for marks.
type markCert struct {
	X509     *x509.Certificate
	Subject  subject
	Coverage coverage
	Logotype *logoExtension // nil without such an extension
	Pilot    bool           // it has the extension of the pilot of CMCs
}

// readMark reads a certificate as one for marks.
func readMark(c *x509.Certificate) *markCert {
	m := &markCert{X509: c, Subject: readSubject(c), Coverage: readCoverage(c.DNSNames),
		Pilot: extension(c, oidPilot) != nil}
	if ext := extension(c, oidLogotype); ext != nil {
		m.Logotype = readLogotype(ext.Value)
	}
	return m
}

// forMarks reports whether the certificate has the purpose of mark certificates and is not that of an authority.
func (m *markCert) forMarks() bool { return forMarks(m.X509) && !m.X509.IsCA }

// logo returns the decompressed logo, or nil if it is missing or cannot be decoded.
func (m *markCert) logo() []byte {
	if m.Logotype == nil || m.Logotype.Fault != "" {
		return nil
	}
	return m.Logotype.Image.SVG
}

// describe describes the certificate as of a time. Whom it covers, and who recognizes it, is not part of it.
func (m *markCert) describe(now time.Time) Certificate {
	c := Certificate{
		Certificate: pki.Describe(m.X509, now),
		Type:        m.Subject.Type(), MarkType: MarkType(bounded(string(m.Subject.markType()))),
		TrademarkID: m.Subject.show(trademarkID), TrademarkCountry: m.Subject.show(trademarkCountry),
		TrademarkOffice: m.Subject.show(trademarkOffice), StatuteCitation: m.Subject.show(statuteCitation),
		PriorUseURL: m.Subject.show(priorUseURL), JurisdictionCountry: m.Subject.show(jurisdictionCountry),
		BusinessCategory: m.Subject.show(businessCategory), Pilot: m.Pilot,
	}
	if logo := m.logo(); logo != nil {
		c.LogoEmbedded, c.LogoSHA256, c.LogotypeSVGBytes = true, m.Logotype.Image.SHA256, new(len(logo))
	}
	return c
}

func (s subject) show(f field) string { return bounded(s.get(f)) }

// maxShown bounds the value of a field in a report, in bytes. The X.520 bound of most of them is 64 characters.
const maxShown = 500

func bounded(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return clean(s[:maxShown])
}

// The extensions and key purposes of mark certificates.
var (
	oidLogotype = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 12}       // RFC 9399 section 4.1
	oidPilot    = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 53087, 4, 1}    // of certificates from before the MCR had CMCs
	oidUsage    = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 31}       // id-kp-BrandIndicatorforMessageIdentification
	oidPolicy   = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 53087, 1, 1}    // Mark Certificate General Policy Identifier
	oidPoison   = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 3} // of a precertificate (RFC 6962 section 3.1)
	oidNames    = asn1.ObjectIdentifier{2, 5, 29, 30}                     // name constraints
)

func extension(c *x509.Certificate, oid asn1.ObjectIdentifier) *pkix.Extension {
	if i := slices.IndexFunc(c.Extensions, func(x pkix.Extension) bool { return x.Id.Equal(oid) }); i >= 0 {
		return &c.Extensions[i]
	}
	return nil
}

func forMarks(c *x509.Certificate) bool {
	return slices.ContainsFunc(c.UnknownExtKeyUsage, oidUsage.Equal)
}

// wellKnown is the label between the selector and the domain in the name of a record.
const wellKnown = "_bimi"

// A Place is the location of a BIMI record: <Selector>._bimi.<Domain>.
type Place struct {
	Domain         string // of the record, in A-labels
	Organizational string // the organizational domain of that
	Selector       string // empty means any: it is unknown
}

// A coverage is the extent of a certificate's names ("VMC Domain Verification" of the draft).
type coverage struct {
	Domains   []string // names without a selector: they cover each selector of the domain, and not its subdomains
	Selectors []string // names with one, such as "default._bimi.example.com": they cover it alone
	Wildcards []string // names with an asterisk, which do not count here
}

func readCoverage(names []string) coverage {
	var c coverage
	for _, n := range names {
		n = strings.ToLower(strings.TrimSuffix(n, "."))
		switch labels := strings.Split(n, "."); {
		case strings.Contains(n, "*"):
			c.Wildcards = append(c.Wildcards, n)
		case slices.Contains(labels, wellKnown):
			c.Selectors = append(c.Selectors, n)
		default:
			c.Domains = append(c.Domains, n)
		}
	}
	return c
}

// covers reports whether a name of the certificate is that of the domain or of its organizational domain, or that of a
// record there.
func (c coverage) covers(p Place) bool {
	return slices.ContainsFunc([]string{p.Domain, p.Organizational}, func(domain string) bool {
		domain = strings.ToLower(strings.TrimSuffix(domain, "."))
		return domain != "" && (slices.Contains(c.Domains, domain) || c.selects(p.Selector, domain))
	})
}

// selects reports whether a name of the certificate is that of the record of a selector, or of any if it is empty.
func (c coverage) selects(selector, domain string) bool {
	return slices.ContainsFunc(c.Selectors, func(n string) bool {
		before, of, ok := strings.Cut(n, "."+wellKnown+".")
		return ok && of == domain && (selector == "" || strings.EqualFold(before, selector))
	})
}

// A Type is the kind of a mark certificate: vmc, cmc or unknown.
type Type string

const (
	VMC         Type = "vmc"     // verified mark certificate
	CMC         Type = "cmc"     // common mark certificate
	UnknownType Type = "unknown" // the mark type is missing, or none that is known
)

// Values lists the kinds.
func (Type) Values() []string { return kit.Values(VMC, CMC, UnknownType) }

// A MarkType is the basis on which the authority verified that the mark belongs to the subject (MCR section
// 7.1.4.2.2).
type MarkType string

// The mark types.
const (
	Registered         MarkType = "Registered Mark"          // a trademark with a logo
	Government         MarkType = "Government Mark"          // granted to a government by law
	PriorUse           MarkType = "Prior Use Mark"           // shown on the web site for a year
	ModifiedRegistered MarkType = "Modified Registered Mark" // a trademark whose logo was changed a little
	Provisional        MarkType = "Provisional Mark"         // accepted by the logs for CMCs since 2026
)

var markTypes = map[MarkType]Type{
	Registered: VMC, Government: VMC, PriorUse: CMC, ModifiedRegistered: CMC, Provisional: CMC,
}

type field string

// The fields that identify the subject and the mark (MCR section 7.1.4.2.2).
const (
	organization        field = "organizationName"
	streetAddress       field = "streetAddress"
	locality            field = "localityName"
	stateOrProvince     field = "stateOrProvinceName"
	country             field = "countryName"
	businessCategory    field = "businessCategory"
	registrationNumber  field = "serialNumber"
	jurisdictionPlace   field = "jurisdictionLocalityName"
	jurisdictionState   field = "jurisdictionStateOrProvinceName"
	jurisdictionCountry field = "jurisdictionCountryName"
	markTypeField       field = "markType"
	trademarkOffice     field = "trademarkOfficeName"
	trademarkCountry    field = "trademarkCountryOrRegionName"
	trademarkID         field = "trademarkIdentifier"
	statuteCountry      field = "statuteCountryName"
	statuteState        field = "statuteStateOrProvinceName"
	statutePlace        field = "statuteLocalityName"
	statuteCitation     field = "statuteCitation"
	statuteURL          field = "statuteURL"
	priorUseURL         field = "priorUseMarkSourceURL"
)

// fields are the attributes of a subject by OID; those without requirements have only a name.
var fields = map[string]field{
	"2.5.4.10": organization, "2.5.4.9": streetAddress, "2.5.4.7": locality, "2.5.4.8": stateOrProvince,
	"2.5.4.6":  country,
	"2.5.4.15": businessCategory, "2.5.4.5": registrationNumber,
	"1.3.6.1.4.1.311.60.2.1.1": jurisdictionPlace,
	"1.3.6.1.4.1.311.60.2.1.2": jurisdictionState,
	"1.3.6.1.4.1.311.60.2.1.3": jurisdictionCountry,
	"1.3.6.1.4.1.53087.1.13":   markTypeField,
	"1.3.6.1.4.1.53087.1.2":    trademarkOffice,
	"1.3.6.1.4.1.53087.1.3":    trademarkCountry,
	"1.3.6.1.4.1.53087.1.4":    trademarkID,
	"1.3.6.1.4.1.53087.3.2":    statuteCountry,
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

func (s subject) get(f field) string {
	if list := s.values[f]; len(list) > 0 {
		return strings.TrimSpace(list[0])
	}
	return ""
}

func (s subject) has(f field) bool { return s.get(f) != "" }

// markType returns the mark type. Certificates from before the MCR had mark types are those of registered marks, which
// the trademark tells.
func (s subject) markType() MarkType {
	switch {
	case s.has(markTypeField):
		return MarkType(s.get(markTypeField))
	case s.has(trademarkID) && s.has(trademarkCountry):
		return Registered
	default:
		return ""
	}
}

// Type returns the kind of certificate for the mark type.
func (s subject) Type() Type {
	if t, ok := markTypes[s.markType()]; ok {
		return t
	}
	return UnknownType
}
