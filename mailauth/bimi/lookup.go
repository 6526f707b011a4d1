package bimi

import (
	"context"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/bimi/logo"
	"github.com/diagkit/diagkit/mailauth/bimi/markcert"
)

// LookupRequest asks for the examination of what a domain publishes.
type LookupRequest struct {
	Domain           diag.Domain   `json:"domain" doc:"domain of the From field" example:"example.com"`
	Selector         diag.Selector `json:"selector,omitempty" default:"default" doc:"selector of the record: s= of the field BIMI-Selector"`
	FetchLogo        *bool         `json:"fetch_logo,omitempty" default:"true" doc:"whether to fetch the logo and to examine it"`
	FetchCertificate *bool         `json:"fetch_certificate,omitempty" default:"true" doc:"whether to fetch the certificate and to examine it"`
}

// LookupReport says what a domain publishes, and what to think of it.
type LookupReport struct {
	diag.RecordLookup
	diag.Verdict
	Selector  diag.Selector `json:"selector" doc:"selector of the record"`
	Location  string        `json:"location,omitempty" doc:"domain at which the record was found: the domain itself or its organizational domain"`
	Inherited bool          `json:"inherited" doc:"whether the record is that of the organizational domain"`
	Fields
	DMARC                  DMARC        `json:"dmarc" doc:"whether the DMARC policy lets receivers show the logo"`
	Logo                   *logo.Logo   `json:"logo,omitempty" doc:"the logo, if it was fetched"`
	Certificate            *Certificate `json:"certificate,omitempty" doc:"the certificate, if it was fetched"`
	LogoMatchesCertificate *bool        `json:"logo_matches_certificate,omitempty" doc:"whether the logo is the same file as the one in the certificate; absent if one of them could not be read"`
	Partial                bool         `json:"partial" doc:"whether something could not be learned"`
}

// A Certificate is what is known of a certificate and what to think of it.
type Certificate struct {
	*markcert.Certificate
	Valid        bool           `json:"valid" doc:"whether receivers can use the certificate now"`
	ChainTrusted *bool          `json:"chain_trusted,omitempty" doc:"whether the chain leads to an authority for mark certificates now; absent without a mark certificate"`
	Findings     []diag.Finding `json:"findings" doc:"what is wrong with the certificate, the worst first"`
}

// Lookup finds the record of a domain, its logo and its certificate, and examines them and the DMARC policy. The error is
// a *[diag.InputError], that of the context if it ended, or wraps [diag.ErrUnavailable] if nothing could be learned.
func Lookup(ctx context.Context, env *diag.Env, req LookupRequest) (*LookupReport, error) {
	if req.Domain.IsZero() {
		return nil, diag.Invalid("domain", "is missing")
	}
	e, err := gather(ctx, env, req)
	if err != nil {
		return nil, err
	}
	return e.report(env), nil
}

// Rules describes what is examined.
func (*LookupReport) Rules() []diag.RuleInfo { return rules().Describe() }

// report judges the evidence and writes it down.
func (e *evidence) report(env *diag.Env) *LookupReport {
	at := e.discovery.Own()
	if e.place != nil && !e.nonexistent() {
		at = e.place
	}
	r := &LookupReport{
		RecordLookup: diag.NewRecordLookup(e.domain().Name(), at.Answer, e.found.Records, e.now, env.Now()),
		Verdict:      rules().Judge(e, e.texts()), Selector: e.discovery.Selector, Fields: e.fields(),
		DMARC: e.standing.report(), Partial: len(e.Unanswered()) > 0,

		LogoMatchesCertificate: e.matches,
	}
	if f := e.fetched.logo; f != nil {
		l := f.Logo()
		r.Logo, r.Partial = &l, r.Partial || len(e.logo.unknown) > 0
	}
	if m := e.fetched.mark; m != nil {
		r.Certificate = &Certificate{m.Certificate, m.Valid, m.ChainTrusted, m.Findings}
		r.Partial = r.Partial || m.Partial || len(e.mark.unknown) > 0
	}
	if e.present() {
		r.Location, r.Inherited = at.Domain, at != e.discovery.Own()
	}
	return r
}
