// Package tlsrpt examines TLSRPT records, which ask senders to report on TLS (RFC 8460): call [Lookup] with a
// domain, [Find] with the TXT records at _smtp._tls.<domain>, or [ParseRecord] with one text; [ParseReport] reads
// the reports themselves.
//
// # How TLSRPT works
//
// A receiving domain publishes where reports go, as mailto or https URIs:
//
//	_smtp._tls.example.com. TXT "v=TLSRPTv1; rua=mailto:tls-reports@example.com"
//
// Senders that support TLSRPT send one report a day to each destination: how often TLS succeeded, and why it failed:
// no STARTTLS, a bad certificate, or an MTA-STS or DANE policy. A report is JSON, usually gzipped, sent by mail or
// HTTPS. Without MTA-STS and DANE no policy can fail, and a report says little more than how often STARTTLS worked.
//
// Senders look up only that name: a domain does not inherit its parent's record. Unlike with DMARC, a destination in
// another domain need not consent (RFC 8460 section 3).
package tlsrpt

import (
	"context"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
)

// Request names the domain to examine.
type Request struct {
	Domain diag.Domain `json:"domain" doc:"domain that receives mail" example:"example.com"`
}

// A ParsedTag is a tag of a record, with its meaning.
type ParsedTag = taglist.ParsedTag

// LookupReport holds what a domain publishes, with a verdict. It does not show whether reports arrive: only senders
// of mail send them.
type LookupReport struct {
	diag.RecordLookup
	diag.Verdict
	Valid                  bool            `json:"valid" doc:"whether senders find one record, without an error, and a destination that exists"`
	Version                string          `json:"version,omitempty" doc:"version of the record" example:"TLSRPTv1"`
	RUA                    []Destination   `json:"rua" doc:"where reports are to go"`
	ExternalAuthorizations []Authorization `json:"external_authorizations" maxitems:"10" doc:"what destinations of other organizations publish about the reports; RFC 8460 does not ask for it"`
	MTASTSFound            bool            `json:"mta_sts_found" doc:"whether the domain has an MTA-STS record"`
	DANEFound              bool            `json:"dane_found" doc:"whether one of the most preferred mail servers has a TLSA record"`
	ParsedTags             []ParsedTag     `json:"parsed_tags" doc:"fields of the record"`
	Partial                bool            `json:"partial" doc:"whether something could not be learned"`
}

// A Destination is a URI of the record.
type Destination struct {
	URI         string `json:"uri" doc:"as written in the record"`
	Scheme      string `json:"scheme,omitempty" doc:"mailto or https, or what is there instead; absent if there is none" example:"mailto"`
	Destination string `json:"destination,omitempty" doc:"mailbox or host; absent if it cannot be read"`
	External    bool   `json:"external" doc:"whether it belongs to another organization"`
	Valid       bool   `json:"valid" doc:"whether senders can use it, as far as the text tells"`
}

// An Authorization is the consent record of an external destination for reports about the domain.
type Authorization struct {
	Domain     string `json:"domain" doc:"domain of the destination"`
	RecordName string `json:"record_name" doc:"where it would say that it takes the reports"`
	Found      *bool  `json:"found,omitempty" doc:"whether it does; absent if that is not known"`
}

// Lookup finds the record of a domain and its destinations, and examines them. The error is a *[diag.InputError],
// that of the context if it ended, or wraps [diag.ErrUnavailable] if every lookup failed.
func Lookup(ctx context.Context, env *diag.Env, req Request) (*LookupReport, error) {
	if req.Domain.IsZero() {
		return nil, input.Invalid("domain", "is missing")
	}
	e, err := gather(ctx, env, req.Domain)
	if err != nil {
		return nil, err
	}
	r := &LookupReport{
		RecordLookup: diag.NewRecordLookup(e.domain.Name(), e.txt, e.found.Records, e.now, env.Now()),
		Verdict:      rules.Judge(e, texts), Valid: e.valid() && !allUndeliverable(e), RUA: []Destination{},
		ExternalAuthorizations: e.authorizations(), MTASTSFound: e.protectedBySTS(), DANEFound: e.protectedByDANE(),
		ParsedTags: e.found.List.Parsed(), Partial: e.partial(),
	}
	if tagRules.HasOne(e) {
		r.Version = format.Version
	}
	for _, a := range e.addresses {
		r.RUA = append(r.RUA, Destination{
			URI: printable(a.Text), Scheme: a.Scheme, Destination: printable(a.Address), External: e.external(a.Domain),
			Valid: a.valid(),
		})
	}
	return r, nil
}

// Rules describes the checks.
func (*LookupReport) Rules() []rule.Description { return rules.Describe() }

func (e *evidence) authorizations() []Authorization {
	list := []Authorization{}
	for i := range e.destinations {
		d := &e.destinations[i]
		if !d.external {
			continue
		}
		a := Authorization{Domain: d.domain, RecordName: d.consentName}
		if yes, known := d.authorized(); known {
			a.Found = new(yes)
		}
		list = append(list, a)
	}
	return list
}
