package markcert

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/bimi/record"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/miekg/dns"
)

// ParseRequest is a request to judge a text.
type ParseRequest struct {
	PEM    string      `json:"pem" minlen:"1" maxbytes:"262144" doc:"one or more CERTIFICATE blocks, the mark certificate first" example:"-----BEGIN CERTIFICATE-----\nMIIE0jCCBHegAwIBAgIJAMnGstMlT1cxMAoGCCqGSM49BAMCMDsxFTATBgNVBAoT\nDG1hcmtjZXJ0dGVzdDEiMCAGA1UEAxMZbWFya2NlcnR0ZXN0IEludGVybWVkaWF0\nZTAeFw0yNjAxMDEwMDAwMDBaFw0yNzAxMDEwMDAwMDBaMIH8MRMwEQYLKwYBBAGC\nNzwCAQMTAlVTMR8wHQYKKwYBBAGDnl8BDRMPUmVnaXN0ZXJlZCBNYXJrMRIwEAYK\nKwYBBAGDnl8BAxMCVVMxFzAVBgorBgEEAYOeXwEEEwc3NjU0MzIxMRQwEgYDVQQK\nEwtFeGFtcGxlIEx0ZDEdMBsGA1UEDxMUUHJpdmF0ZSBPcmdhbml6YXRpb24xFDAS\nBgNVBAMTC0V4YW1wbGUgTHRkMQ4wDAYDVQQFEwUxMjM0NTELMAkGA1UEBhMCVVMx\nFDASBgNVBAcTC1NwcmluZ2ZpZWxkMRkwFwYDVQQJExAxIEV4YW1wbGUgU3RyZWV0\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEGSWPwUU2kDAsGeky+VpPuRIdLeZS\nkYaczc8qA/XVxgld1iOk5Czvy5mwq5Kjt/yy21Nm6URWOqEw6vPjNdw0taOCAqAw\nggKcMBMGA1UdJQQMMAoGCCsGAQUFBwMfMAwGA1UdEwEB/wQCMAAwHwYDVR0jBBgw\nFoAUhhtpyfvO6ig1AteZfV8TKT3WxgQwFgYDVR0RBA8wDYILZXhhbXBsZS5jb20w\nFwYDVR0gBBAwDjAMBgorBgEEAYOeXwEBMDEGA1UdHwQqMCgwJqAkoCKGIGh0dHA6\nLy9jcmwuZXhhbXBsZS5uZXQvbWFya3MuY3JsMIIBZAYIKwYBBQUHAQwEggFWMIIB\nUqKCAU6gggFKMIIBRjCCAUIwggE+Fg1pbWFnZS9zdmcreG1sMDEwLzALBglghkgB\nZQMEAgEEIDAwpuoxW+/YIUOJRtGbOU0Rhd2+CJxy5j+GJZDYZTN1MIH5FoH2ZGF0\nYTppbWFnZS9zdmcreG1sO2Jhc2U2NCxINHNJQUFBQUFBQUEveVRPc1c3RElCQ0E0\nVmM1WGVjYTZyb2VLbUNvMUQydllDY0huSVNOQlNkdzNqNkt2UDMvOXBuYUFweGIy\ncXZGS0hMOEt0VjdIL3Iza0V0UW85WmExUllRR3BYS2ViZjROWXdJNjFMcFZyTG5S\nQmFGOStmblVSRWFVLy9McDBVTkd1WUo1Z21kRVpaRTd2OWN0aU9SVWRlYVFuZUJ6\nZytKRnVjSklSS0hLRmQ3VHNuaWgxNS92UGVvbkhrTDNDc0FBUC8vcWNQQ1hha0FB\nQUE9MIGJBgorBgEEAdZ5AgQCBHsEeQB3AHUAJpmrPZWo1dQjLKUxVwlMN9OKf2CN\n+BGamNxCpqX00noAAAGbdtqoAAAABAMARjBEAiBdI6EFuZB22qFGBNwkFYEDXwfW\nmQjWj5juyY0YWjc2mwIgFiU0dCjHD4GgND6b+CwPsQWtlJzaeuWxfkJc6a/xlMkw\nCgYIKoZIzj0EAwIDSQAwRgIhANZ3NjaI5wYQvBSmez7ilTNJ/8VMiP3DWWpwpXto\nyUPOAiEAgithQKmejwtKuCGrnaFQLwPHXFmGMA5cCij+RawbhzE=\n-----END CERTIFICATE-----\n-----BEGIN CERTIFICATE-----\nMIIB1jCCAX2gAwIBAgIBATAKBggqhkjOPQQDAjAzMRUwEwYDVQQKEwxtYXJrY2Vy\ndHRlc3QxGjAYBgNVBAMTEW1hcmtjZXJ0dGVzdCBSb290MCAXDTAwMDEwMTAwMDAw\nMFoYDzIxMDAwMTAxMDAwMDAwWjA7MRUwEwYDVQQKEwxtYXJrY2VydHRlc3QxIjAg\nBgNVBAMTGW1hcmtjZXJ0dGVzdCBJbnRlcm1lZGlhdGUwWTATBgcqhkjOPQIBBggq\nhkjOPQMBBwNCAAQw42loRv60ZFo7kiZuUlB8tXBxmSLMXy14CmZ5On6SR54jPQC7\n+9Z/yghmgcS+I5dq+zJpH3UM3zIAhJPIeqaoo3gwdjAOBgNVHQ8BAf8EBAMCAQYw\nEwYDVR0lBAwwCgYIKwYBBQUHAx8wDwYDVR0TAQH/BAUwAwEB/zAdBgNVHQ4EFgQU\nhhtpyfvO6ig1AteZfV8TKT3WxgQwHwYDVR0jBBgwFoAUDQXfG4foSb3YlNPxbYOR\ntqgeWVIwCgYIKoZIzj0EAwIDRwAwRAIgObuqUTOQB55gS4DwcwXIuH+8gtNiRXUE\nTyKIxe7dQigCIBkII9SunMS4fhl2lTz3NBhzblfVBUENq7y0ICvXZMo+\n-----END CERTIFICATE-----\n"`
	Domain diag.Domain `json:"domain,omitempty" doc:"domain that the certificate is to cover" example:"example.com"`
}

// ParseReport describes the content of a text, with the verdict. It does not cover revocation.
type ParseReport struct {
	Valid        bool              `json:"valid" doc:"whether receivers can use the certificate now: nothing worse than a warning was found"`
	Certificate  Certificate       `json:"certificate,omitzero" doc:"the mark certificate, or what is in its place"`
	Chain        []pki.Certificate `json:"chain" maxitems:"20" doc:"all certificates of the text, in its order, each with its PEM form left out"`
	ChainTrusted *bool             `json:"chain_trusted,omitempty" doc:"whether the chain leads to an authority for mark certificates now; absent without a mark certificate"`
	RootName     string            `json:"root_name,omitempty" doc:"name of the authority to which the chain leads"`
	Timestamps   []Timestamp       `json:"timestamps" maxitems:"20" doc:"signed certificate timestamps in the mark certificate (RFC 6962)"`
	diag.Verdict
}

// Parse judges the text of a certificate by the clock, the roots and the logs of the environment. It makes no network
// requests. The error is a *[diag.InputError], or that of a list that cannot be read.
func Parse(_ context.Context, env *diag.Env, req ParseRequest) (*ParseReport, error) {
	if strings.TrimSpace(req.PEM) == "" {
		return nil, input.Invalid("pem", "is empty")
	}
	if len(req.PEM) > maxBytes {
		return nil, input.Invalid("pem", "has more than %d bytes", maxBytes)
	}
	e, err := newEvidence(env)
	if err != nil {
		return nil, err
	}
	if !req.Domain.IsZero() {
		e.place = newPlace(req.Domain, "")
	}
	e.parse([]byte(req.PEM))
	return e.report(parseRules()), nil
}

func newPlace(d diag.Domain, selector string) *Place {
	return &Place{d.String(), policy.PublicSuffixOrganizational(d.String()), selector}
}

// Rules describes what is examined.
func (*ParseReport) Rules() []rule.Description { return parseRules().Describe() }

func newEvidence(env *diag.Env) (*evidence, error) {
	roots, unrooted := roots(env)
	logs, unlogged := logs(env)
	return &evidence{now: env.Now(), roots: roots, logs: logs, bundle: &bundle{}}, cmp.Or(unrooted, unlogged)
}

func (e *evidence) report(rules rule.Rules[*evidence]) *ParseReport {
	r := &ParseReport{Timestamps: []Timestamp{}, Verdict: rules.Judge(e, texts)}
	r.Chain = kit.Map(e.bundle.Certificates, func(c *x509.Certificate) pki.Certificate { return pki.Describe(c, e.now) })
	if e.mark == nil {
		return r
	}
	r.Timestamps = append(r.Timestamps, e.timestamps...)
	c := e.mark.describe(e.now)
	c.CARecognized, c.CTLogged = e.trust.Recognized, e.isLogged()
	if e.place != nil {
		c.CoversDomain = new(e.coversDomain())
	}
	r.Certificate = c
	if e.isMark() {
		r.ChainTrusted = new(e.trust.Trusted)
		r.Valid = e.trust.Trusted && (r.State == diag.Valid || r.State == diag.Warned)
	}
	if e.trust.Recognized {
		r.RootName = bounded(pki.ParseName(e.trust.Root.RawSubject).CommonName)
	}
	return r
}

// LookupRequest is a request to examine a published certificate, given by its URL or by the BIMI record of a domain.
type LookupRequest struct {
	URL      string        `json:"url,omitempty" oneof:"subject" maxlen:"8192" doc:"https URL of the certificate" example:"https://example.com/mark.pem"`
	Domain   diag.Domain   `json:"domain,omitempty" oneof:"subject" doc:"domain whose BIMI record names the certificate"`
	Selector diag.Selector `json:"selector,omitempty" default:"default" doc:"selector of the record; with domain only"`
}

// LookupReport describes what is published, with the verdict. It does not cover revocation.
type LookupReport struct {
	ParseReport
	Domain      diag.Domain `json:"domain,omitzero" doc:"domain that was asked for"`
	Selector    string      `json:"selector,omitempty" doc:"selector of the record"`
	RecordName  string      `json:"record_name,omitempty" doc:"where the record that applies stands, or the first place that was asked"`
	Record      string      `json:"record,omitempty" doc:"the record, if exactly one applies"`
	URL         string      `json:"url,omitempty" doc:"URL of the certificate, as given or as the record has it"`
	FinalURL    string      `json:"final_url,omitempty" doc:"URL to which redirects led"`
	StatusCode  int         `json:"status_code,omitempty" doc:"status of the last answer"`
	ContentType string      `json:"content_type,omitempty" doc:"media type of the last answer"`
	SizeBytes   *int64      `json:"size_bytes,omitempty" min:"0" doc:"size of the file; more than 262144 is not read"`
	Partial     bool        `json:"partial" doc:"whether something could not be learned"`
	diag.Timing
}

// Rules describes what is examined.
func (*LookupReport) Rules() []rule.Description { return lookupRules().Describe() }

// Lookup fetches a certificate and judges it. The error is a *[diag.InputError], that of the context if it ended, that
// of a list that cannot be read, or wraps [diag.ErrUnavailable] if nothing could be determined.
func Lookup(ctx context.Context, env *diag.Env, req LookupRequest) (*LookupReport, error) {
	if err := input.ExactlyOne([]string{"url", "domain"}, req.URL != "", !req.Domain.IsZero()); err != nil {
		return nil, err
	}
	if req.URL != "" && !req.Selector.IsZero() {
		return nil, input.Invalid("selector", "goes with domain, not with url")
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
			e.url, diag.Unavailable(e.fetched.URL.Host().String(), e.fetched.Err))
	case e.recordErr != nil:
		return nil, fmt.Errorf("looking for the certificate of %s: %w",
			req.Domain, diag.Unavailable(diag.DefaultResolver, e.recordErr))
	}
	return e.lookupReport(env), nil
}

// Check fetches the certificate at a URL and judges it for the record at a place, or for no record if that is nil. It
// is [Lookup] for callers that have read the record themselves. The error is a *[diag.InputError], that of the context
// if it ended, or that of a list that cannot be read; unresponsive servers are in the report.
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
	e.nonexistent, e.domainUnknown = own.NXDomain(), own.Err() != nil
	e.applies, e.recordErr = e.discovery.Applies(e.discovery.Organizational())
	if !hasRecord(e) || e.recordErr != nil {
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
var login = kit.Regexp(`//[^/?#]*@`)

func (e *evidence) fetch(ctx context.Context, env *diag.Env, text string) error {
	e.url = login().ReplaceAllString(text, "//")
	u, err := diag.ParseURL(text)
	switch {
	case err != nil:
		e.urlFault = errorClause(err)
		return nil
	case u.Scheme() != "https":
		e.urlFault = "it does not begin with https://"
		return nil
	}
	if e.fetched, err = fetchText(ctx, env, u); err != nil {
		return err
	}
	if body := e.text(); body != nil {
		e.parse(body)
	}
	return nil
}

func errorClause(err error) string {
	if e, ok := errors.AsType[*diag.InputError](err); ok {
		if _, why, ok := strings.Cut(e.Reason, "is not a URL to fetch: "); ok {
			return phrase.Quote(why)
		}
		return phrase.Quote(e.Reason)
	}
	return phrase.Quote(err.Error())
}

func (e *evidence) lookupReport(env *diag.Env) *LookupReport {
	r := &LookupReport{
		ParseReport: *e.report(lookupRules()), URL: bounded(clean(e.url)), Timing: diag.NewTiming(e.now, env.Now()),
	}
	if d := e.discovery; d != nil {
		r.Domain, r.Selector, r.RecordName = d.Domain, d.Selector.String(), d.Own().Name
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
	if head := e.fetched.Final(); head != nil {
		r.StatusCode, r.ContentType = head.StatusCode, bounded(clean(head.Header.Get("Content-Type")))
		r.FinalURL = e.fetched.URL.String()
	}
	if text := e.text(); text != nil {
		r.SizeBytes = new(int64(len(text)))
	}
	return r
}
