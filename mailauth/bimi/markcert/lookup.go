package markcert

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/bimi/record"
	"github.com/miekg/dns"
)

// LookupRequest asks for a certificate that is published: by its URL, or by the BIMI record of a domain.
type LookupRequest struct {
	URL      string        `json:"url,omitempty" oneof:"subject" maxlen:"2048" doc:"https URL of the certificate" example:"https://example.com/mark.pem"`
	Domain   diag.Domain   `json:"domain,omitempty" oneof:"subject" doc:"domain whose BIMI record names the certificate"`
	Selector diag.Selector `json:"selector,omitempty" default:"default" doc:"selector of the record; with domain only"`
}

// LookupReport says what is published, and what to think of it. Whether the certificate was revoked it does not say.
type LookupReport struct {
	ParseReport
	Domain      *diag.Domain `json:"domain,omitempty" doc:"domain that was asked for"`
	Selector    string       `json:"selector,omitempty" doc:"selector of the record"`
	RecordName  string       `json:"record_name,omitempty" doc:"where the record that applies stands, or the first place that was asked"`
	Record      string       `json:"record,omitempty" doc:"the record, if exactly one applies"`
	URL         string       `json:"url,omitempty" doc:"URL of the certificate, as given or as the record has it"`
	FinalURL    string       `json:"final_url,omitempty" doc:"URL to which redirects led"`
	StatusCode  int          `json:"status_code,omitempty" doc:"status of the last answer"`
	ContentType string       `json:"content_type,omitempty" doc:"media type of the last answer"`
	SizeBytes   *int64       `json:"size_bytes,omitempty" min:"0" doc:"size of the file; more than 262144 is not read"`
	Partial     bool         `json:"partial" doc:"whether something could not be learned"`
	diag.Timing
}

// Rules describes what is examined.
func (*LookupReport) Rules() []diag.RuleInfo { return lookupRules().Describe() }

// Lookup fetches a certificate and judges it. The error is a *[diag.InputError], that of the context if it ended, that
// of a list that cannot be read, or wraps [diag.ErrUnavailable] if nothing could be learned.
func Lookup(ctx context.Context, env *diag.Env, req LookupRequest) (*LookupReport, error) {
	if err := diag.ExactlyOne([]string{"url", "domain"}, req.URL != "", !req.Domain.IsZero()); err != nil {
		return nil, err
	}
	if req.URL != "" && !req.Selector.IsZero() {
		return nil, diag.Invalid("selector", "goes with domain, not with url")
	}
	e, err := newEvidence(env)
	if err != nil {
		return nil, err
	}
	if req.URL != "" {
		err = e.fetch(ctx, env, req.URL)
	} else {
		err = e.find(ctx, env, req)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case e.discovery == nil && e.unanswered():
		return nil, fmt.Errorf("fetching %s: %w",
			e.url, diag.Unavailable(e.fetched.Result.URL.Host().String(), e.fetched.Result.Err))
	case e.unlearned != nil:
		return nil, fmt.Errorf("looking for the certificate of %s: %w",
			req.Domain, diag.Unavailable(diag.DefaultResolver, e.unlearned))
	}
	return e.lookupReport(env), nil
}

// Check fetches the certificate at a URL and judges it for the record at a place, or for none if that is nil. It is
// [Lookup] for those who have read the record themselves. The error is a *[diag.InputError], that of the context if it
// ended, or that of a list that cannot be read; that servers were silent stands in the report.
func Check(ctx context.Context, env *diag.Env, u diag.URL, at *Place) (*LookupReport, error) {
	e, err := newEvidence(env)
	if err != nil {
		return nil, err
	}
	e.place = at
	if err := e.fetch(ctx, env, u.String()); err != nil {
		return nil, err
	}
	return e.lookupReport(env), nil
}

// find looks for the record of a domain and fetches what it names.
func (e *evidence) find(ctx context.Context, env *diag.Env, req LookupRequest) error {
	var g diag.Group
	var own diag.Answer[*dns.SOA]
	var failure error
	g.Go(func() { own = diag.Lookup[*dns.SOA](ctx, env, req.Domain.String()+".") })
	g.Go(func() { e.discovery, failure = record.Discover(ctx, env, req.Domain, req.Selector) })
	g.Wait()
	if failure != nil {
		return failure
	}
	e.nonexistent, e.unsure = own.NXDomain(), own.Err() != nil
	e.applies, e.unlearned = e.discovery.Applies(e.discovery.Organizational())
	if !recorded(e) || e.unlearned != nil {
		return nil
	}
	e.place = &Place{e.applies.Domain, e.discovery.Organizational(), e.discovery.Selector.String()}
	a := e.applies.Record.Authority
	if e.url = a.Text; a.Fault != "" {
		e.urlFault = "it " + a.Problem
		return nil
	}
	if a.Text == "" || len(e.applies.Record.Errors()) > 0 && a.URL.IsZero() {
		return nil
	}
	return e.fetch(ctx, env, a.URL.String())
}

// login is the name and password in a URL, which no report repeats.
var login = diag.Regexp(`//[^/?#]*@`)

// fetch fetches a URL and reads what is there.
func (e *evidence) fetch(ctx context.Context, env *diag.Env, text string) error {
	e.url = login().ReplaceAllString(text, "//")
	u, err := diag.ParseURL(text)
	switch {
	case err != nil:
		e.urlFault = clause(err)
		return nil
	case u.Scheme() != "https":
		e.urlFault = "it does not begin with https://"
		return nil
	}
	if e.fetched, err = Fetch(ctx, env, u); err != nil {
		return err
	}
	if body := e.fetched.Text(); body != nil {
		e.digest(body)
	}
	return nil
}

// clause says in a clause why a text is no URL.
func clause(err error) string {
	if e, ok := errors.AsType[*diag.InputError](err); ok {
		if _, why, ok := strings.Cut(e.Reason, "is not a URL to fetch: "); ok {
			return diag.Quote(why)
		}
		return diag.Quote(e.Reason)
	}
	return diag.Quote(err.Error())
}

// lookupReport judges the evidence and writes it down.
func (e *evidence) lookupReport(env *diag.Env) *LookupReport {
	r := &LookupReport{
		ParseReport: *e.report(lookupRules()), URL: bounded(clean(e.url)), Timing: diag.NewTiming(e.now, env.Now()),
	}
	if d := e.discovery; d != nil {
		r.Domain, r.Selector, r.RecordName = &d.Domain, d.Selector.String(), d.Own().Name
	}
	if e.applies != nil {
		r.RecordName = e.applies.Name
		if e.applies.Record != nil {
			r.Record = e.applies.Found.Records[0]
		}
	}
	if e.fetched == nil {
		return r
	}
	r.Partial = e.unanswered()
	r.StatusCode, r.ContentType = e.fetched.Status(), e.fetched.ContentType()
	if r.StatusCode != 0 {
		r.FinalURL = e.fetched.Result.URL.String()
	}
	if text := e.fetched.Text(); text != nil {
		r.SizeBytes = new(int64(len(text)))
	}
	return r
}
