package dmarc

import (
	"context"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
)

// LookupRequest asks for the examination of one domain.
type LookupRequest struct {
	Domain         diag.Domain `json:"domain" doc:"domain in the From field of mail" example:"example.com"`
	CheckReporting *bool       `json:"check_reporting,omitempty" default:"true" doc:"whether to check the destinations of reports"`
}

// A LookupReport says what a domain publishes, or inherits, and what to think of it.
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

// A View is what receivers of one standard find for the domain, and what they do with mail of it that fails.
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
// context if it ended, or wraps [diag.ErrUnavailable] if nothing could be learned.
func Lookup(ctx context.Context, env *diag.Env, req LookupRequest) (*LookupReport, error) {
	if req.Domain.IsZero() {
		return nil, diag.Invalid("domain", "is missing")
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

// Rules describes what is examined.
func (*LookupReport) Rules() []diag.RuleInfo { return rules().Describe() }

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

// views are those of both standards, as far as the servers said what receivers find.
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

// organizational is the organizational domain that a method finds; empty if that is not known.
func organizational(v *policy.View) string {
	if v.OrganizationalErr != nil {
		return ""
	}
	return v.Organizational
}

// view is what receivers of a standard find and do.
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
	if v.AppliedPolicy != policy.None { // of nothing there is no share
		v.Percentage = reading.Percentage
	}
	return v
}
