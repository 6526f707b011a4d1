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
	PEM    string      `json:"pem" minlen:"1" maxbytes:"262144" doc:"one or more CERTIFICATE blocks, the mark certificate first" example:"-----BEGIN CERTIFICATE-----\nMIIE0jCCBHegAwIBAgIJAMnGstMlT1cxMAoGCCqGSM49BAMCMDsxFTATBgNVBAoT\nDG1hcmtjZXJ0dGVzdDEiMCAGA1UEAxMZbWFya2NlcnR0ZXN0IEludGVybWVkaWF0\nZTAeFw0yNjAxMDEwMDAwMDBaFw0yNzAxMDEwMDAwMDBaMIH8MRMwEQYLKwYBBAGC\nNzwCAQMTAlVTMR8wHQYKKwYBBAGDnl8BDRMPUmVnaXN0ZXJlZCBNYXJrMRIwEAYK\nKwYBBAGDnl8BAxMCVVMxFzAVBgorBgEEAYOeXwEEEwc3NjU0MzIxMRQwEgYDVQQK\nEwtFeGFtcGxlIEx0ZDEdMBsGA1UEDxMUUHJpdmF0ZSBPcmdhbml6YXRpb24xFDAS\nBgNVBAMTC0V4YW1wbGUgTHRkMQ4wDAYDVQQFEwUxMjM0NTELMAkGA1UEBhMCVVMx\nFDASBgNVBAcTC1NwcmluZ2ZpZWxkMRkwFwYDVQQJExAxIEV4YW1wbGUgU3RyZWV0\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEGSWPwUU2kDAsGeky+VpPuRIdLeZS\nkYaczc8qA/XVxgld1iOk5Czvy5mwq5Kjt/yy21Nm6URWOqEw6vPjNdw0taOCAqAw\nggKcMBMGA1UdJQQMMAoGCCsGAQUFBwMfMAwGA1UdEwEB/wQCMAAwHwYDVR0jBBgw\nFoAUhhtpyfvO6ig1AteZfV8TKT3WxgQwFgYDVR0RBA8wDYILZXhhbXBsZS5jb20w\nFwYDVR0gBBAwDjAMBgorBgEEAYOeXwEBMDEGA1UdHwQqMCgwJqAkoCKGIGh0dHA6\nLy9jcmwuZXhhbXBsZS5uZXQvbWFya3MuY3JsMIIBZAYIKwYBBQUHAQwEggFWMIIB\nUqKCAU6gggFKMIIBRjCCAUIwggE+Fg1pbWFnZS9zdmcreG1sMDEwLzALBglghkgB\nZQMEAgEEIDAwpuoxW+/YIUOJRtGbOU0Rhd2+CJxy5j+GJZDYZTN1MIH5FoH2ZGF0\nYTppbWFnZS9zdmcreG1sO2Jhc2U2NCxINHNJQUFBQUFBQUEveVRPc1c3RElCQ0E0\nVmM1WGVjYTZyb2VLbUNvMUQydllDY0huSVNOQlNkdzNqNkt2UDMvOXBuYUFweGIy\ncXZGS0hMOEt0VjdIL3Iza0V0UW85WmExUllRR3BYS2ViZjROWXdJNjFMcFZyTG5S\nQmFGOStmblVSRWFVLy9McDBVTkd1WUo1Z21kRVpaRTd2OWN0aU9SVWRlYVFuZUJ6\nZytKRnVjSklSS0hLRmQ3VHNuaWgxNS92UGVvbkhrTDNDc0FBUC8vcWNQQ1hha0FB\nQUE9MIGJBgorBgEEAdZ5AgQCBHsEeQB3AHUAJpmrPZWo1dQjLKUxVwlMN9OKf2CN\n+BGamNxCpqX00noAAAGbdtqoAAAABAMARjBEAiBdI6EFuZB22qFGBNwkFYEDXwfW\nmQjWj5juyY0YWjc2mwIgFiU0dCjHD4GgND6b+CwPsQWtlJzaeuWxfkJc6a/xlMkw\nCgYIKoZIzj0EAwIDSQAwRgIhANZ3NjaI5wYQvBSmez7ilTNJ/8VMiP3DWWpwpXto\nyUPOAiEAgithQKmejwtKuCGrnaFQLwPHXFmGMA5cCij+RawbhzE=\n-----END CERTIFICATE-----\n-----BEGIN CERTIFICATE-----\nMIIB1jCCAX2gAwIBAgIBATAKBggqhkjOPQQDAjAzMRUwEwYDVQQKEwxtYXJrY2Vy\ndHRlc3QxGjAYBgNVBAMTEW1hcmtjZXJ0dGVzdCBSb290MCAXDTAwMDEwMTAwMDAw\nMFoYDzIxMDAwMTAxMDAwMDAwWjA7MRUwEwYDVQQKEwxtYXJrY2VydHRlc3QxIjAg\nBgNVBAMTGW1hcmtjZXJ0dGVzdCBJbnRlcm1lZGlhdGUwWTATBgcqhkjOPQIBBggq\nhkjOPQMBBwNCAAQw42loRv60ZFo7kiZuUlB8tXBxmSLMXy14CmZ5On6SR54jPQC7\n+9Z/yghmgcS+I5dq+zJpH3UM3zIAhJPIeqaoo3gwdjAOBgNVHQ8BAf8EBAMCAQYw\nEwYDVR0lBAwwCgYIKwYBBQUHAx8wDwYDVR0TAQH/BAUwAwEB/zAdBgNVHQ4EFgQU\nhhtpyfvO6ig1AteZfV8TKT3WxgQwHwYDVR0jBBgwFoAUDQXfG4foSb3YlNPxbYOR\ntqgeWVIwCgYIKoZIzj0EAwIDRwAwRAIgObuqUTOQB55gS4DwcwXIuH+8gtNiRXUE\nTyKIxe7dQigCIBkII9SunMS4fhl2lTz3NBhzblfVBUENq7y0ICvXZMo+\n-----END CERTIFICATE-----\n"`
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

// Parse judges the text of a certificate by the clock, the roots and the logs of the environment. It asks nobody. The
// error is a *[diag.InputError], or that of a list that cannot be read.
func Parse(_ context.Context, env *diag.Env, req ParseRequest) (*ParseReport, error) {
	if strings.TrimSpace(req.PEM) == "" {
		return nil, diag.Invalid("pem", "is empty")
	}
	if len(req.PEM) > maxBytes {
		return nil, diag.Invalid("pem", "has more than %d bytes", maxBytes)
	}
	e, err := newEvidence(env)
	if err != nil {
		return nil, err
	}
	if !req.Domain.IsZero() {
		e.place = at(req.Domain, "")
	}
	e.digest([]byte(req.PEM))
	return e.report(parseRules()), nil
}

// at returns the place of the record of a domain. An empty selector means any.
func at(d diag.Domain, selector string) *Place {
	return &Place{d.String(), policy.PublicSuffixOrganizational(d.String()), selector}
}

// Rules describes what is examined.
func (*ParseReport) Rules() []diag.RuleInfo { return parseRules().Describe() }

// newEvidence begins with what the environment knows.
func newEvidence(env *diag.Env) (*evidence, error) {
	roots, err := roots(env)
	if err != nil {
		return nil, err
	}
	logs, err := logs(env)
	if err != nil {
		return nil, err
	}
	return &evidence{now: env.Now(), roots: roots, logs: logs, bundle: &bundle{}}, nil
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
