package markcert

import (
	"context"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
)

// ParseRequest asks for the judgement of a text.
type ParseRequest struct {
	PEM    string      `json:"pem" minlen:"1" maxbytes:"262144" doc:"one or more CERTIFICATE blocks, the mark certificate first" example:"-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n"`
	Domain diag.Domain `json:"domain,omitempty" doc:"domain that the certificate is to cover" example:"example.com"`
}

// ParseReport says what a text holds, and what to think of it. Whether the certificate was revoked it does not say.
type ParseReport struct {
	Valid        bool              `json:"valid" doc:"whether receivers can use the certificate now: nothing worse than a warning was found"`
	Certificate  *Certificate      `json:"certificate,omitempty" doc:"the mark certificate, or else what stands there instead"`
	Chain        []pki.Certificate `json:"chain" maxitems:"20" doc:"all certificates of the text, in its order, each with its PEM form left out"`
	ChainTrusted *bool             `json:"chain_trusted,omitempty" doc:"whether the chain leads to an authority for mark certificates now; absent without a mark certificate"`
	RootName     string            `json:"root_name,omitempty" doc:"name of the authority to which the chain leads"`
	Timestamps   []Timestamp       `json:"timestamps" maxitems:"20" doc:"signed certificate timestamps in the mark certificate (RFC 6962)"`
	diag.Verdict
}

// Parse judges the text of a certificate by the clock, the roots and the logs of the environment. It asks nobody. The error
// is a *[diag.InputError], or that of a list that cannot be read.
func Parse(_ context.Context, env *diag.Env, req ParseRequest) (*ParseReport, error) {
	if strings.TrimSpace(req.PEM) == "" {
		return nil, diag.Invalid("pem", "is empty")
	}
	if len(req.PEM) > MaxBytes {
		return nil, diag.Invalid("pem", "has more than %d bytes", MaxBytes)
	}
	e, err := newEvidence(env)
	if err != nil {
		return nil, err
	}
	if !req.Domain.IsZero() {
		e.place = At(req.Domain, "")
	}
	e.digest([]byte(req.PEM))
	return e.report(parseRules), nil
}

// At returns the place of the record of a domain. An empty selector means any.
func At(d diag.Domain, selector string) *Place {
	return &Place{d.String(), policy.PublicSuffixOrganizational(d.String()), selector}
}

// Rules describes what is examined.
func (*ParseReport) Rules() []diag.RuleInfo { return parseRules.Describe() }

// newEvidence begins with what the environment knows.
func newEvidence(env *diag.Env) (*evidence, error) {
	roots, err := Roots(env)
	if err != nil {
		return nil, err
	}
	logs, err := Logs(env)
	if err != nil {
		return nil, err
	}
	return &evidence{now: env.Now(), roots: roots, logs: logs, bundle: &Bundle{}}, nil
}

// report judges the evidence and writes it down.
func (e *evidence) report(rules diag.Rules[*evidence]) *ParseReport {
	r := &ParseReport{Chain: []pki.Certificate{}, Timestamps: []Timestamp{}, Verdict: rules.Judge(e, texts)}
	for _, c := range e.bundle.Certificates {
		r.Chain = append(r.Chain, pki.Describe(c, e.now))
	}
	if e.mark == nil {
		return r
	}
	r.Timestamps = append(r.Timestamps, e.stamps...)
	c := e.mark.Describe(e.now)
	c.CARecognized, c.CTLogged = e.trust.Recognized, e.logged()
	if e.place != nil {
		c.CoversDomain = new(e.covers())
	}
	r.Certificate = &c
	if e.attempted() {
		r.ChainTrusted = new(e.trust.Trusted)
		r.Valid = e.trust.Trusted && (r.State == diag.Valid || r.State == diag.Warned)
	}
	if e.trust.Recognized {
		r.RootName = bounded(pki.ParseName(e.trust.Root.RawSubject).CommonName)
	}
	return r
}
