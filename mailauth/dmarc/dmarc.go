package dmarc

import (
	"context"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
)

// LookupRequest is a request to examine one domain.
type LookupRequest struct {
	Domain         diag.Domain `json:"domain" doc:"domain in the From field of mail" example:"example.com"`
	CheckReporting *bool       `json:"check_reporting,omitempty" default:"true" doc:"whether to check the destinations of reports"`
}

// A LookupReport describes what a domain publishes or inherits, with the verdict.
type LookupReport struct {
	diag.RecordLookup
	Details
	Location             string        `json:"location,omitempty" doc:"domain whose record applies; absent if none does"`
	Inherited            bool          `json:"inherited" doc:"whether the record is that of another domain"`
	OrganizationalDomain string        `json:"organizational_domain,omitempty" doc:"by the DNS tree walk of RFC 9989; absent if a failed query leaves it open"`
	DiscoveryMethod      policy.Method `json:"discovery_method" doc:"how the record was found"`
	ExternalDestinations []Destination `json:"external_destinations" maxitems:"10" doc:"destinations of reports in other organizations"`
	Views                []View        `json:"views" doc:"what receivers of either standard find and do; without those of a standard for which a failed query leaves it open"`
	Partial              bool          `json:"partial" doc:"whether something could not be learned"`
}

// A Destination is a domain of another organization to which reports go.
type Destination struct {
	URI        string `json:"uri" doc:"the first URI that leads there"`
	Domain     string `json:"domain" doc:"domain of the destination"`
	RecordName string `json:"record_name" doc:"where the domain would publish its consent"`
	Authorized *bool  `json:"authorized,omitempty" doc:"whether it did; absent if that is not known"`
	Wildcard   bool   `json:"wildcard" doc:"whether it accepts reports for every domain"`
	Rcode      string `json:"rcode,omitempty" doc:"reply code of the DNS, if a reply came"`
}

// A View is the record that receivers of one standard find for the domain, and how they treat its mail that fails.
type View struct {
	Standard             policy.Standard `json:"standard" doc:"by which receivers read records"`
	OrganizationalDomain string          `json:"organizational_domain,omitempty" doc:"as they find it; absent if a failed query leaves it open"`
	PolicyDomain         string          `json:"policy_domain,omitempty" doc:"domain whose record applies; absent if none does"`
	Usable               bool            `json:"usable" doc:"whether DMARC applies to mail of the domain"`
	AppliedPolicy        policy.Policy   `json:"applied_policy" doc:"what they apply to mail of the domain; none also where DMARC does not apply"`
	Percentage           int             `json:"percentage" min:"0" max:"100" doc:"share of the mail to which they apply it"`
	Reason               string          `json:"reason,omitempty" doc:"why the record has another effect than it says"`
}

// Lookup finds the record that applies to a domain and examines it. The error is a *[diag.InputError], that of the
// context if it ended, or wraps [diag.ErrUnavailable] if nothing could be determined.
func Lookup(ctx context.Context, env *diag.Env, req LookupRequest) (*LookupReport, error) {
	if req.Domain.IsZero() {
		return nil, input.Invalid("domain", "is missing")
	}
	e, err := gather(ctx, env, req)
	if err != nil {
		return nil, err
	}
	answer := e.own.Answer
	if e.record != nil && e.inherited() && len(e.own.Found.Records) == 0 {
		answer = e.discovery.Tree.Policy.Answer
	}
	r := &LookupReport{
		RecordLookup: diag.NewRecordLookup(e.domain, answer, e.found.Records, e.now, env.Now()), Details: e.details(),
		Location: e.discovery.Tree.PolicyDomain(), Inherited: e.inherited(),
		OrganizationalDomain: organizational(&e.discovery.Tree), DiscoveryMethod: policy.TreeWalk,
		ExternalDestinations: []Destination{}, Views: e.views(),
		Partial: len(e.Unanswered()) > 0 || e.discovery.Walk.Err() != nil,
	}
	for i := range e.destinations {
		if d := &e.destinations[i]; d.external {
			r.ExternalDestinations = append(r.ExternalDestinations, d.report())
		}
	}
	return r, nil
}

// InForce returns the policy that receivers of RFC 9989 apply to mail of the domain that fails, and the domain whose
// record requests it: the domain itself or one that it inherits from; from is empty without one. The record of from
// may be void, see [View.Usable]: then the policy is none. The policy is unknown if name servers did not answer.
func (r *LookupReport) InForce() (applied policy.Policy, from string, known bool) {
	for _, v := range r.Views {
		if v.Standard == policy.RFC9989 {
			return v.AppliedPolicy, v.PolicyDomain, true
		}
	}
	return policy.None, "", false
}

// Rules describes what is examined.
func (*LookupReport) Rules() []rule.Description { return rules().Describe() }

// ValidateRequest is a request to validate the text of a record, published or not.
type ValidateRequest struct {
	Record string      `json:"record" minlen:"1" maxlen:"8192" doc:"text of the record, or its character-strings in quotes as in a zone file" example:"v=DMARC1; p=quarantine; rua=mailto:dmarc@example.com"`
	Domain diag.Domain `json:"domain,omitempty" doc:"domain of the record; tells external destinations from its own"`
}

// An Analysis is a record with its meaning and its verdict.
type Analysis struct {
	Record  string `json:"record" doc:"the record that was examined"`
	Details `later:"state score score_band verdict_headline verdict_sub score_factors score_breakdown recommendations passed_checks parsed_tags"`
}

// MaxRecordLength bounds the text of a record, in bytes (CONTRACT 3.3.1).
const MaxRecordLength = 8192

// Validate examines the text of a record, without DNS lookups. The error is a *[diag.InputError].
func Validate(req ValidateRequest) (*Analysis, error) {
	if strings.TrimSpace(req.Record) == "" {
		return nil, input.Invalid("record", "is empty; give the text of the TXT record, such as v=DMARC1; p=none")
	}
	if len(req.Record) > MaxRecordLength {
		return nil, input.Invalid("record", "is longer than %d bytes", MaxRecordLength)
	}
	parts, _ := taglist.Pasted(req.Record)
	text := strings.Join(parts, "")
	e := &evidence{domain: req.Domain.Name(), location: req.Domain.String(), offline: true}
	e.found = policy.Format.Read(req.Record)
	for i := range e.found.Strays {
		if zoneFileLine().MatchString(text) {
			e.found.Strays[i].Why = "it is a line of a zone file, of which only the text in quotes is the record"
		}
	}
	record := policy.Parse(text)
	if tagRules.HasOne(e) {
		record = policy.Read(e.found.List)
		e.found.List = record.List
	}
	e.setRecord(&record)
	return &Analysis{strings.ToValidUTF8(text, "\uFFFD"), e.details()}, nil
}

// Rules describes what is examined.
func (*Analysis) Rules() []rule.Description { return rules().Describe() }

// GenerateRequest describes the record to generate.
type GenerateRequest struct {
	Policy                     policy.Policy    `json:"policy" doc:"policy for mail of the domain that fails DMARC" example:"reject"`
	Domain                     diag.Domain      `json:"domain,omitempty" doc:"domain of the record; tells external report addresses from its own" example:"example.com"`
	SubdomainPolicy            policy.Policy    `json:"subdomain_policy,omitempty" doc:"policy for subdomains (sp); that of the domain if absent"`
	NonexistentSubdomainPolicy policy.Policy    `json:"nonexistent_subdomain_policy,omitempty" doc:"policy for subdomains that do not exist (np); that for subdomains if absent; style dmarcbis only"`
	DKIMAlignment              policy.Alignment `json:"dkim_alignment,omitempty" default:"relaxed" doc:"how near the domain of a DKIM signature must be to that of the From field"`
	SPFAlignment               policy.Alignment `json:"spf_alignment,omitempty" default:"relaxed" doc:"how near the domain of SPF must be to that of the From field"`
	AggregateReports           []string         `json:"aggregate_reports,omitempty" maxitems:"10" doc:"mail addresses for aggregate reports, with or without mailto:" example:"dmarc@example.com"`
	FailureReports             []string         `json:"failure_reports,omitempty" maxitems:"10" doc:"mail addresses for failure reports, with or without mailto:"`
	FailureOptions             []string         `json:"failure_options,omitempty" maxitems:"4" unique:"true" doc:"when failure reports are sent; 0 if absent: 0 if all of SPF and DKIM fail, 1 if one fails, d for each DKIM signature that fails, s if SPF fails; needs failure_reports"`
	Percentage                 *int             `json:"percentage,omitempty" min:"0" max:"100" doc:"share of the mail to which the policy applies; legacy: below 100 only in the style rfc7489"`
	Testing                    bool             `json:"testing,omitempty" doc:"whether the policy is only tested (t=y); style dmarcbis only"`
	PSD                        policy.PSD       `json:"psd,omitempty" doc:"y for a public suffix, n for an organizational domain; style dmarcbis only"`
	Style                      Style            `json:"style,omitempty" default:"dmarcbis" doc:"for receivers of which standard the record is written"`
}

// GenerateReport is a record to publish, and the way to it.
type GenerateReport struct {
	Record                 string          `json:"record" doc:"the record"`
	Name                   string          `json:"name" doc:"where to publish it; relative to the domain if that is not given"`
	Type                   string          `json:"type" doc:"type of the DNS record" example:"TXT"`
	Value                  string          `json:"value" doc:"what to publish, the same as the record"`
	TTL                    int             `json:"ttl" doc:"time to live in seconds" example:"3600"`
	ZoneLine               string          `json:"zone_line,omitempty" doc:"the record as a line of a zone file, in strings of at most 255 bytes"`
	Analysis               *Analysis       `json:"analysis" doc:"the record as dmarc/validate sees it"`
	ExternalAuthorizations []Authorization `json:"external_authorizations" doc:"what the owners of report addresses in other organizations have to publish"`
	Rollout                []RolloutStep   `json:"rollout" doc:"how to get to the record without losing mail, from monitoring on"`
	Findings               []diag.Finding  `json:"findings" doc:"what to know before the record is published, the worst first"`
}

// An Authorization is a record by which a domain accepts reports for another (RFC 9990 section 4).
type Authorization struct {
	Name  string `json:"name" doc:"where to publish it"`
	Type  string `json:"type" doc:"type of the DNS record" example:"TXT"`
	Value string `json:"value" doc:"what to publish" example:"v=DMARC1"`
}

// Generate writes a record. It makes no DNS lookups. The error is a *[diag.InputError].
func Generate(req GenerateRequest) (*GenerateReport, error) {
	g, err := newGeneration(req)
	if err != nil {
		return nil, err
	}
	record := g.record(g.target)
	if len(record) > MaxRecordLength {
		return nil, input.Invalid("aggregate_reports", "and failure_reports are too long together: the record would have "+
			"more than %d bytes", MaxRecordLength)
	}
	r := &GenerateReport{
		Record: record, Name: "_dmarc", Type: "TXT", Value: record, TTL: ttl,
		ExternalAuthorizations: g.authorizations(), Rollout: g.rollout(),
	}
	if !req.Domain.IsZero() {
		r.Name = "_dmarc." + req.Domain.String()
	}
	r.ZoneLine = zoneLine(r.Name, record, !req.Domain.IsZero())
	if r.Analysis, err = Validate(ValidateRequest{Record: record, Domain: req.Domain}); err != nil {
		return nil, err
	}
	r.Findings = generateRules.Judge(g, nil).Findings
	return r, nil
}

// Rules describes what is examined.
func (*GenerateReport) Rules() []rule.Description { return generateRules.Describe() }

func (d *destination) report() Destination {
	r := Destination{
		URI: d.uris[0].Text, Domain: d.domain, RecordName: d.consent.Name, Wildcard: d.consent.ForAll(),
		Rcode: d.consent.Answer.RcodeName(),
	}
	if yes, known := d.consent.Given(); known {
		r.Authorized = new(yes)
	}
	return r
}

func (e *evidence) views() []View {
	list := []View{}
	if e.discovery.List.PolicyErr == nil {
		list = append(list, e.view(policy.RFC7489))
	}
	if e.discovery.Tree.PolicyErr == nil {
		list = append(list, e.view(policy.RFC9989))
	}
	return list
}

// organizational returns the organizational domain that a method finds; empty if unknown.
func organizational(v *policy.View) string {
	if v.OrganizationalErr != nil {
		return ""
	}
	return v.Organizational
}

func (e *evidence) view(s policy.Standard) View {
	found := &e.discovery.Tree
	if s == policy.RFC7489 {
		found = &e.discovery.List
	}
	v := View{
		Standard: s, OrganizationalDomain: organizational(found), PolicyDomain: found.PolicyDomain(),
		AppliedPolicy: policy.None, Percentage: policy.DefaultPercentage,
	}
	if found.Policy == nil {
		return v
	}
	reading := found.Policy.Record.Reading(s)
	v.Usable, v.Reason = reading.Usable, reading.Reason
	if !v.Usable {
		return v
	}
	switch {
	case found.Origin == policy.Own:
		v.AppliedPolicy = reading.Applied.Domain
	case e.nonexistent():
		v.AppliedPolicy = reading.Applied.Nonexistent
	default:
		v.AppliedPolicy = reading.Applied.Subdomain
	}
	if v.AppliedPolicy != policy.None { // no policy has no percentage
		v.Percentage = reading.Percentage
	}
	return v
}

// A ParsedTag is a tag of a record, with its meaning.
type ParsedTag = taglist.ParsedTag

// Details are the contents of a record, and their verdict. What is unknown without a record is absent.
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

	Errors     []string    `json:"errors" doc:"details of the findings that are errors or worse"`
	Warnings   []string    `json:"warnings" doc:"details of the findings that are warnings"`
	ParsedTags []ParsedTag `json:"parsed_tags" doc:"tags of the record, and defaults of those that it lacks"`
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
		Errors: []string{}, Warnings: []string{}, ParsedTags: []ParsedTag{},
	}
	if d.State == diag.Unknown && e.missing() {
		d.State = diag.Missing // of what weight that is, may be unknown
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
// (RFC 9990 section 4). Organizations are determined by the public suffix list: a tree walk for every destination
// would differ only where one organization declares several with psd=n.
func (e *evidence) external(u policy.URI) bool {
	return u.Domain != "" && e.location != "" &&
		policy.PublicSuffixOrganizational(u.Domain) != policy.PublicSuffixOrganizational(e.location)
}
