package bimi

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/bimi/logo"
	"github.com/diagkit/diagkit/mailauth/bimi/markcert"
	"github.com/diagkit/diagkit/mailauth/bimi/record"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
)

// LookupRequest is a request to examine what a domain publishes.
type LookupRequest struct {
	Domain           diag.Domain   `json:"domain" doc:"domain of the From field" example:"example.com"`
	Selector         diag.Selector `json:"selector,omitempty" default:"default" doc:"selector of the record: s= of the field BIMI-Selector"`
	FetchLogo        *bool         `json:"fetch_logo,omitempty" default:"true" doc:"whether to fetch the logo and to examine it"`
	FetchCertificate *bool         `json:"fetch_certificate,omitempty" default:"true" doc:"whether to fetch the certificate and to examine it"`
}

// LookupReport describes what a domain publishes, with the verdict.
type LookupReport struct {
	diag.RecordLookup
	diag.Verdict
	Selector  diag.Selector `json:"selector" doc:"selector of the record"`
	Location  string        `json:"location,omitempty" doc:"domain at which the record was found: the domain itself or its organizational domain"`
	Inherited bool          `json:"inherited" doc:"whether the record is that of the organizational domain"`
	Fields
	DMARC                  DMARC       `json:"dmarc" doc:"whether the DMARC policy lets receivers show the logo"`
	Logo                   logo.Logo   `json:"logo,omitzero" doc:"the logo, if it was fetched"`
	Certificate            Certificate `json:"certificate,omitzero" doc:"the certificate, if it was fetched"`
	LogoMatchesCertificate *bool       `json:"logo_matches_certificate,omitempty" doc:"whether the logo is the same file as the one in the certificate; absent if one of them could not be read"`
	Partial                bool        `json:"partial" doc:"whether something could not be learned"`
}

// A Certificate holds the facts about a certificate and their verdict.
type Certificate struct {
	markcert.Certificate
	Valid        bool           `json:"valid" doc:"whether receivers can use the certificate now"`
	ChainTrusted *bool          `json:"chain_trusted,omitempty" doc:"whether the chain leads to an authority for mark certificates now; absent without a mark certificate"`
	Findings     []diag.Finding `json:"findings" doc:"what is wrong with the certificate, the worst first"`
}

// MarshalJSON leaves the members of the certificate out if it could not be read.
func (c Certificate) MarshalJSON() ([]byte, error) {
	r := struct {
		*markcert.Certificate
		Valid        bool           `json:"valid"`
		ChainTrusted *bool          `json:"chain_trusted,omitempty"`
		Findings     []diag.Finding `json:"findings"`
	}{nil, c.Valid, c.ChainTrusted, c.Findings}
	if c.FingerprintSHA256 != "" {
		r.Certificate = &c.Certificate
	}
	return json.Marshal(r)
}

// Lookup finds the record of a domain, its logo and its certificate, and examines them and the DMARC policy. The error
// is a *[diag.InputError], that of the context if it ended, or wraps [diag.ErrUnavailable] if nothing could be
// determined.
func Lookup(ctx context.Context, env *diag.Env, req LookupRequest) (*LookupReport, error) {
	if req.Domain.IsZero() {
		return nil, input.Invalid("domain", "is missing")
	}
	e, err := gather(ctx, env, req)
	if err != nil {
		return nil, err
	}
	return e.report(env), nil
}

// Rules describes what is examined.
func (*LookupReport) Rules() []rule.Description { return rules().Describe() }

func (e *evidence) report(env *diag.Env) *LookupReport {
	at := e.discovery.Own()
	if e.place != nil && !e.nonexistent() {
		at = e.place
	}
	r := &LookupReport{
		RecordLookup: diag.NewRecordLookup(e.domain().Name(), at.Answer, e.found.Records, e.now, env.Now()),
		Verdict:      rules().Judge(e, e.texts()), Selector: e.discovery.Selector, Fields: e.fields(),
		DMARC: e.eligibility.report(), Partial: len(e.Unanswered()) > 0,

		LogoMatchesCertificate: e.matches,
	}
	if f := e.fetched.logo; f != nil {
		r.Logo, r.Partial = f.Logo(), r.Partial || len(e.logo.findings[ignorance]) > 0
	}
	if m := e.fetched.mark; m != nil {
		r.Certificate = Certificate{m.Certificate, m.Valid, m.ChainTrusted, m.Findings}
		r.Partial = r.Partial || m.Partial || len(e.mark.findings[ignorance]) > 0
	}
	if e.hasRecords() {
		r.Location, r.Inherited = at.Domain, at != e.discovery.Own()
	}
	return r
}

// A ParsedTag is a tag of a record, with its meaning.
type ParsedTag = taglist.ParsedTag

// Fields are the contents of a record. Reports embed them.
type Fields struct {
	Valid              bool                    `json:"valid" doc:"whether receivers can use the record: there is one, without an error"`
	Version            string                  `json:"version,omitempty" doc:"version of the record" example:"BIMI1"`
	Declined           bool                    `json:"declined" doc:"whether the record declines BIMI"`
	LogoURL            string                  `json:"logo_url,omitempty" doc:"address of the logo as written in l"`
	CertificateURL     string                  `json:"certificate_url,omitempty" doc:"address of the certificate as written in a"`
	LocalPartSelectors *[]string               `json:"local_part_selectors,omitempty" doc:"beginnings of local parts that are selectors of their own (lps), empty if all are; absent without lps"`
	AvatarPreference   record.AvatarPreference `json:"avatar_preference,omitempty" doc:"what mailboxes that have an avatar of the sender are to show (avp)"`
	ParsedTags         []ParsedTag             `json:"parsed_tags" doc:"tags of the record"`
}

func (e *evidence) fields() Fields {
	f := Fields{Valid: e.isValid(), ParsedTags: []ParsedTag{}}
	if r := e.record; r != nil {
		f.Version, f.Declined = record.Format.Version, r.Declined
		f.LogoURL, f.CertificateURL = validUTF8(r.Location.Text), validUTF8(r.Authority.Text)
		f.AvatarPreference = r.AvatarPreference
		f.ParsedTags = r.List.Parsed()
		if r.LocalPartSelectors {
			list := append([]string{}, r.Prefixes...)
			f.LocalPartSelectors = &list
		}
	}
	return f
}

const maxRecordLength = 8192

// ValidateRequest is a request to validate the text of a record, published or not.
type ValidateRequest struct {
	Record string `json:"record" minlen:"1" maxlen:"8192" doc:"text of the record, or as in a zone file: its strings in quotes, with or without name and type" example:"v=BIMI1; l=https://example.com/logo.svg; a=https://example.com/mark.pem"`
}

// ValidateReport describes the meaning of a record, with the verdict. It does not cover whether logo and certificate
// can be fetched.
type ValidateReport struct {
	Record string `json:"record" doc:"the record that was examined"`
	diag.Verdict
	Fields
}

// Validate examines the text of a record alone, without network requests. The error is a *[diag.InputError].
func Validate(req ValidateRequest) (*ValidateReport, error) {
	if strings.TrimSpace(req.Record) == "" {
		return nil, input.Invalid("record", "is empty; give the text of the TXT record, such as v=BIMI1; l=https://…; a=;")
	}
	if len(req.Record) > maxRecordLength {
		return nil, input.Invalid("record", "is longer than %d bytes", maxRecordLength)
	}
	e := &evidence{offline: true}
	e.setRecord(record.Format.Read(req.Record))
	r := &ValidateReport{Verdict: rules().Judge(e, textsOffline), Fields: e.fields()}
	parts, _ := taglist.Pasted(req.Record)
	r.Record = validUTF8(strings.Join(parts, ""))
	return r, nil
}

// Rules describes what is examined.
func (*ValidateReport) Rules() []rule.Description { return rules().Describe() }
