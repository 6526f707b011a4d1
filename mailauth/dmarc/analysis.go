package dmarc

import (
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/taglist"
)

// Details are what a record says, and what to think of it. What is not known for want of a record is absent.
type Details struct {
	diag.Verdict
	Valid                      bool          `json:"valid" doc:"whether receivers can use the record, and no tag has an error"`
	Version                    string        `json:"version,omitempty" doc:"version of the record" example:"DMARC1"`
	Policy                     policy.Policy `json:"policy,omitempty" doc:"policy (p), if it is valid"`
	SubdomainPolicy            policy.Policy `json:"subdomain_policy,omitempty" doc:"policy for subdomains (sp), if it is valid"`
	NonexistentSubdomainPolicy policy.Policy `json:"nonexistent_subdomain_policy,omitempty" doc:"policy for subdomains that do not exist (np), if it is valid"`
	Effective                  Effective     `json:"effective,omitzero" doc:"what receivers of RFC 9989 apply"`

	Percentage            *int             `json:"percentage,omitempty" min:"0" max:"100" doc:"share of the mail (pct), or 100; receivers of RFC 9989 ignore it"`
	Testing               bool             `json:"testing" doc:"whether t=y asks receivers to apply the policy one level lower"`
	PSD                   policy.PSD       `json:"psd,omitempty" doc:"whether the domain is a public suffix; u: undeclared"`
	DKIMAlignment         policy.Alignment `json:"dkim_alignment,omitempty" doc:"alignment that DKIM needs"`
	SPFAlignment          policy.Alignment `json:"spf_alignment,omitempty" doc:"alignment that SPF needs"`
	FailureOptions        []string         `json:"failure_options" doc:"when failure reports are sent: 0, 1, d, s"`
	ReportFormats         []string         `json:"report_formats" doc:"formats of failure reports"`
	ReportIntervalSeconds *uint32          `json:"report_interval_seconds,omitempty" doc:"time between aggregate reports"`
	AggregateURIs         []URI            `json:"aggregate_uris" doc:"destinations of aggregate reports (rua), in order"`
	FailureURIs           []URI            `json:"failure_uris" doc:"destinations of failure reports (ruf), in order"`

	Errors     []string            `json:"errors" doc:"details of the findings that are errors or worse"`
	Warnings   []string            `json:"warnings" doc:"details of the findings that are warnings"`
	ParsedTags []taglist.ParsedTag `json:"parsed_tags" doc:"tags of the record, and defaults of those that it lacks"`
}

// Effective are the policies that receivers apply: after the fallbacks from np to sp and from sp to p, one level
// lower under t=y, and none where the record has no effect.
type Effective struct {
	Policy                     policy.Policy `json:"policy" doc:"for the domain of the record"`
	SubdomainPolicy            policy.Policy `json:"subdomain_policy" doc:"for subdomains that have no record"`
	NonexistentSubdomainPolicy policy.Policy `json:"nonexistent_subdomain_policy" doc:"for subdomains that do not exist"`
}

// A URI is a destination of reports.
type URI struct {
	URI            string  `json:"uri" doc:"as it was written"`
	Scheme         string  `json:"scheme" doc:"its scheme, empty if it has none" example:"mailto"`
	Address        string  `json:"address" doc:"the mail address, or the host"`
	SizeLimitBytes *uint64 `json:"size_limit_bytes,omitempty" doc:"largest report, if an obsolete suffix says so"`
	External       *bool   `json:"external,omitempty" doc:"whether it belongs to another organization; absent without a domain"`
	Valid          bool    `json:"valid" doc:"whether its syntax is valid"`
}

func (e *evidence) details() Details {
	words := texts
	if e.offline {
		words = textsOffline
	}
	d := Details{
		Verdict: rules().Judge(e, words), Valid: e.valid(),
		FailureOptions: []string{}, ReportFormats: []string{}, AggregateURIs: []URI{}, FailureURIs: []URI{},
		Errors: []string{}, Warnings: []string{}, ParsedTags: []taglist.ParsedTag{},
	}
	for _, f := range d.Findings {
		switch {
		case f.Severity >= diag.Error:
			d.Errors = append(d.Errors, f.Detail)
		case f.Severity == diag.Warning:
			d.Warnings = append(d.Warnings, f.Detail)
		}
	}
	if r := e.record; r != nil {
		d.describe(e, r)
	}
	return d
}

func (d *Details) describe(e *evidence, r *policy.Record) {
	if r.Is() {
		d.Version = policy.Format.Version
	}
	d.Policy, d.SubdomainPolicy = r.Policy, r.SubdomainPolicy
	d.NonexistentSubdomainPolicy = r.NonexistentSubdomainPolicy
	d.Effective = effective(e.reading)
	d.Percentage, d.Testing, d.PSD = new(r.Percentage), r.Testing, r.PSD
	d.DKIMAlignment, d.SPFAlignment = r.DKIMAlignment, r.SPFAlignment
	d.FailureOptions = append(d.FailureOptions, r.FailureOptions...)
	d.ReportFormats = append(d.ReportFormats, r.ReportFormats...)
	d.ReportIntervalSeconds = new(r.ReportInterval)
	d.AggregateURIs = append(d.AggregateURIs, e.uris(r.AggregateURIs)...)
	d.FailureURIs = append(d.FailureURIs, e.uris(r.FailureURIs)...)
	d.ParsedTags = r.List.Parsed()
}

func effective(v policy.Reading) Effective {
	if !v.Usable {
		return Effective{policy.None, policy.None, policy.None}
	}
	return Effective{v.Applied.Domain, v.Applied.Subdomain, v.Applied.Nonexistent}
}

func (e *evidence) uris(list []policy.URI) []URI {
	var all []URI
	for _, u := range list {
		one := URI{URI: strings.ToValidUTF8(u.Text, "\uFFFD"), Scheme: u.Scheme, Address: u.Address, Valid: u.Valid()}
		if u.HasSizeLimit {
			one.SizeLimitBytes = new(u.SizeLimit)
		}
		if e.location != "" && u.Domain != "" {
			one.External = new(e.external(u))
		}
		all = append(all, one)
	}
	return all
}

// external reports whether a destination belongs to another organization than the record: its consent is needed
// (RFC 9990 section 4). Organizations are told apart by the public suffix list: a tree walk for every destination
// would find another result only where one organization declares several with psd=n.
func (e *evidence) external(u policy.URI) bool {
	return u.Domain != "" && e.location != "" &&
		policy.PublicSuffixOrganizational(u.Domain) != policy.PublicSuffixOrganizational(e.location)
}
