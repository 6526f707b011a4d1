package zonecheck

import (
	"context"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/overlay"
	"github.com/diagkit/diagkit/diag/zonecheck/survey"
)

// Request asks for the audit of one domain.
type Request struct {
	Domain diag.Domain `json:"domain" doc:"domain whose name servers are examined" example:"example.com"`
}

// Report says how a domain is delegated and served, and what to think of it.
type Report struct {
	Domain        diag.Domain `json:"domain" doc:"the domain, as A-labels"`
	DomainUnicode string      `json:"domain_unicode,omitempty" doc:"the domain in Unicode, if that differs"`
	diag.Verdict
	Parent      Parent       `json:"parent" doc:"the parent zone, and what it says"`
	Zone        Zone         `json:"zone" doc:"what the zone says of itself"`
	Delegation  Delegation   `json:"delegation" doc:"how the two agree"`
	Nameservers []Nameserver `json:"nameservers" maxitems:"20" doc:"name servers, by name"`
	SOA         SOA          `json:"soa,omitzero" doc:"the SOA record, the newest if servers differ; absent if unknown"`
	Diversity   Diversity    `json:"diversity" doc:"how the name servers are spread"`
	Checks      []RuleResult `json:"checks" doc:"every rule that applied, with its result; then facts worth knowing"`
	Summary     Summary      `json:"summary" doc:"the results, counted"`
	Partial     bool         `json:"partial" doc:"whether something could not be learned"`
	diag.Timing
}

// Check audits a domain. It takes [survey.Timeout] at most. The error is that of the context if it ended, or wraps
// [diag.ErrUnavailable] if the resolver of the environment did not answer at all, and [diag.ErrUndelegated] too if that
// resolver has the zone before it is published, as package overlay does: such a zone cannot be audited.
func Check(ctx context.Context, env *diag.Env, req Request) (*Report, error) {
	if req.Domain.IsZero() {
		return nil, diag.Invalid("domain", "is missing")
	}
	s, err := survey.Ask(ctx, env, req.Domain)
	if err != nil {
		return nil, err
	}
	return newEvidence(s).report(env.Now()), nil
}

// CheckUndelegated audits a domain as if its parent zone delegated it to the given servers, with the given DS records:
// before it is delegated, or before it moves to other servers. The guard of the environment holds for their addresses.
func CheckUndelegated(ctx context.Context, env *diag.Env, req Request, d diag.Delegation) (*Report, error) {
	if len(d.Servers) == 0 {
		return nil, diag.Invalid("ns", "is missing")
	}
	d.Zone = req.Domain.FQDN()
	return Check(ctx, env.WithResolver(overlay.New(env.DNS(), overlay.Delegated(env, d))), req)
}

// Rules describes what is examined.
func (*Report) Rules() []diag.RuleInfo { return rules().Describe() }

func (e *evidence) report(ended time.Time) *Report {
	r := &Report{
		Domain: e.Domain, DomainUnicode: e.Domain.UnicodeIfDifferent(), Verdict: rules().Judge(e, texts),
		Parent: e.parentReport(), Zone: Zone{Nameservers: bareNames(e.own), TTL: e.ownTTL},
		Delegation: e.delegationReport(), Nameservers: []Nameserver{}, SOA: e.soaReport(), Diversity: e.diversity(),
		Partial: len(e.Unanswered()) > 0, Timing: diag.NewTiming(e.Began, ended),
	}
	for _, s := range e.Servers {
		n := Nameserver{Name: survey.BareName(s.Name), Addresses: []Address{}}
		for _, ad := range e.Addresses {
			if slices.Contains(s.IPs, ad.IP) {
				n.Addresses = append(n.Addresses, e.addressReport(ad))
			}
		}
		r.Nameservers = append(r.Nameservers, n)
	}
	r.Checks = append(results(r.Verdict), e.facts()...)
	r.Summary = summarize(r.Checks)
	return r
}
