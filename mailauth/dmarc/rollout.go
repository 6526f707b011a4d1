package dmarc

import (
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
)

// A RolloutStep is a record on the way to the one that was asked for.
type RolloutStep struct {
	Step         int           `json:"step" min:"1" doc:"number of the step"`
	Policy       policy.Policy `json:"policy" doc:"policy for the domain in this step"`
	Record       string        `json:"record" doc:"what to publish"`
	DurationDays int           `json:"duration_days,omitempty" min:"1" doc:"how long at least; absent for the last step, which stays"`
	Goal         string        `json:"goal" doc:"what the reports must show before the next step"`
}

// How long a step lasts at least, in days. A month under p=none and another one under p=quarantine is what RFC 9989
// section 7.4 asks of domains with users before p=reject.
const (
	monitorDays = 30
	sampleDays  = 14
	enforceDays = 30
)

// firstSample is the share of the mail with which a policy begins under RFC 7489, in percent.
const firstSample = 10

// rollout leads from monitoring to the record that was asked for: one level at a time, each tested first. The last
// step is that record.
func (g *generation) rollout() []RolloutStep {
	top := max(g.req.Policy.Level(), g.req.SubdomainPolicy.Level(), g.req.NonexistentSubdomainPolicy.Level())
	var steps []RolloutStep
	add := func(s stage, days int, goal string) {
		steps = append(steps, RolloutStep{len(steps) + 1, s.policies.Domain, g.record(s), days, goal})
	}
	if top > 0 {
		add(g.limited(0, stage{percentage: 100}), monitorDays, g.monitoring())
		if s := g.sampled(); g.record(s) != g.record(g.target) {
			add(s, sampleDays, "No legitimate mail appears among what fails DMARC in the reports, and nobody misses mail.")
		}
	}
	if full := g.limited(1, stage{percentage: 100}); top > 1 {
		add(full, enforceDays, "For the whole time all legitimate mail passes DMARC, by DKIM and not by SPF alone, also "+
			"what is forwarded and what is written to mailing lists.")
	}
	add(g.target, 0, g.arrival(top))
	return steps
}

// limited lowers the policies of the target to a level, which leaves out what was not asked for.
func (g *generation) limited(level int, s stage) stage {
	limit := func(p policy.Policy) policy.Policy {
		if p.Level() > level {
			return policy.Policy(p.Values()[level])
		}
		return p
	}
	t := g.target.policies
	s.policies = policy.Policies{
		Domain: limit(t.Domain), Subdomain: limit(t.Subdomain), Nonexistent: limit(t.Nonexistent),
	}
	return s
}

// sampled is the stage in which quarantine is tried out.
func (g *generation) sampled() stage {
	if g.req.Style == styleRFC7489 {
		return g.limited(1, stage{percentage: min(firstSample, g.target.percentage)})
	}
	return g.limited(1, stage{testing: true, percentage: policy.DefaultPercentage})
}

func (g *generation) monitoring() string {
	goal := "Every service that sends for the domain appears in the aggregate reports, and passes DMARC by an aligned " +
		"DKIM signature or an aligned SPF domain."
	if len(g.rua) == 0 {
		return "Add an address for aggregate reports (rua) first: without it nothing below can be seen. " + goal
	}
	return goal
}

func (g *generation) arrival(top int) string {
	switch {
	case top == 0 && len(g.rua) == 0:
		return "Add an address for aggregate reports (rua): without reports and without a policy the record has no effect."
	case top == 0:
		return "The reports show who sends mail in the name of the domain. Stay here until all legitimate mail passes DMARC."
	case g.target.testing:
		return "This is the record that was asked for. Remove t=y once the reports stay clean: then the policy is applied " +
			"in full."
	case g.target.percentage < policy.DefaultPercentage:
		return "This is the record that was asked for. Remove pct once the reports stay clean: then the policy is applied " +
			"in full."
	default:
		return "This is the record that was asked for. Go on reading the reports: new services have to be set up before " +
			"they send."
	}
}
