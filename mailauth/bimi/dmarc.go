package bimi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
)

// A DMARC states whether the DMARC policy of a domain is strong enough for its logo to be shown.
type DMARC struct {
	Found      *bool         `json:"found,omitempty" doc:"whether a DMARC record applies to the domain; absent if that is not known"`
	Policy     policy.Policy `json:"policy,omitempty" doc:"policy for mail of the domain that fails DMARC"`
	Percentage *int          `json:"percentage,omitempty" min:"0" max:"100" doc:"share of the mail to which the policy applies (pct), if there is a record"`
	Eligible   *bool         `json:"eligible,omitempty" doc:"whether receivers that follow the BIMI draft show logos for the domain as far as DMARC is concerned; absent if that is not known"`
	Reason     string        `json:"reason,omitempty" doc:"why they do not, or why that is not known"`
}

// An obstacle is a weakness of the DMARC policy that keeps receivers from showing a logo.
type obstacle struct {
	kind      obstacleKind
	domain    string // whose record it is
	text      string // a sentence
	advice    string // empty: that of the rule
	noReports bool   // the record asks for no reports, from which its owner would learn what a stricter policy stops
}

type obstacleKind string

// The kinds of obstacles (section 7.1 of the draft).
const (
	dmarcMissing    obstacleKind = "missing"
	dmarcInvalid    obstacleKind = "invalid"
	dmarcNone       obstacleKind = "p=none"
	dmarcSubdomains obstacleKind = "sp=none"
	dmarcPartial    obstacleKind = "pct"
	dmarcTesting    obstacleKind = "t=y"
	dmarcDisputed   obstacleKind = "disputed" // one of the others, to receivers of one standard only
	// dmarcRejectPartial is no obstacle under the draft, which requires pct=100 with quarantine only; some receivers
	// require it with reject, too.
	dmarcRejectPartial obstacleKind = "pct with reject"
)

type eligibility struct {
	step      *policy.Step // the record that applies
	policy    policy.Policy
	obstacles []obstacle
	unknown   error // why not all is known
}

// assessDMARC evaluates DMARC under both standards.
func assessDMARC(d *policy.Discovery) eligibility {
	var s, older, newer eligibility
	older.evaluate(d, &d.List, policy.RFC7489)
	newer.evaluate(d, &d.Tree, policy.RFC9989)
	s.step, s.policy = newer.step, newer.policy
	if s.step == nil {
		s.step, s.policy = older.step, older.policy
	}
	s.unknown = cmp.Or(newer.unknown, older.unknown)
	s.merge(older, newer, "RFC 7489")
	s.merge(newer, older, "RFC 9989")
	return s
}

// merge adds the obstacles that receivers of a standard see. Those that the others know not to be there are disputed.
func (s *eligibility) merge(from, other eligibility, standard string) {
	for _, o := range from.obstacles {
		same := func(p obstacle) bool { return p.kind == o.kind && p.domain == o.domain }
		if !slices.ContainsFunc(other.obstacles, same) && other.unknown == nil {
			o.kind, o.text = dmarcDisputed, o.text+" This is so for receivers that follow "+standard+" only."
		}
		if !slices.ContainsFunc(s.obstacles, same) {
			s.obstacles = append(s.obstacles, o)
		}
	}
}

func (s *eligibility) evaluate(d *policy.Discovery, v *policy.View, standard policy.Standard) {
	if v.PolicyErr != nil {
		s.unknown = v.PolicyErr
		return
	}
	if v.Policy == nil {
		s.addMissing(d, v)
		return
	}
	reading := v.Policy.Record.Reading(standard)
	if s.step = v.Policy; v.Origin == policy.Own {
		s.policy = reading.Requested.Domain
	} else {
		s.policy = reading.Requested.Subdomain
	}
	s.checkRecord(v.Policy, reading)
	// The record of the organizational domain counts as well where the domain has one of its own.
	if org := d.Walk.At(v.Organizational); v.Origin == policy.Own && org != nil && org.Domain != v.Policy.Domain {
		switch {
		case org.Err() != nil:
			s.unknown = org.Err()
		case org.Record != nil:
			s.checkRecord(org, org.Record.Reading(standard))
		}
	}
}

func (s *eligibility) addMissing(d *policy.Discovery, v *policy.View) {
	for _, domain := range []string{d.Domain.String(), v.Organizational} {
		step := d.Walk.At(domain)
		switch {
		case step == nil:
		case step.DanglingAlias() != "":
			s.add(dmarcMissing, d.Domain.String(), "%s", step.DanglingAlias())
			s.obstacles[len(s.obstacles)-1].advice = "Have the DMARC record published at the target of the CNAME, or replace " +
				"the CNAME with a TXT record: receivers show no logo before there is one with quarantine or reject."
			return
		case len(step.Found.Records) > 1:
			s.add(dmarcInvalid, domain, "There are %d DMARC records at %s, and receivers use none of them.",
				len(step.Found.Records), step.Name)
			return
		case len(step.Found.Strays) > 0:
			s.add(dmarcInvalid, domain, "Receivers ignore the DMARC record %q at %s: %s.",
				phrase.Quote(step.Found.Strays[0].Text), step.Name, step.Found.Strays[0].Why)
			return
		}
	}
	where := "_dmarc." + d.Domain.String()
	if v.Organizational != d.Domain.String() {
		where += " or _dmarc." + v.Organizational
	}
	s.add(dmarcMissing, d.Domain.String(), "There is no DMARC record at %s.", where)
}

// checkRecord adds what is wrong with a record (section 7.1 of the draft).
func (s *eligibility) checkRecord(step *policy.Step, reading policy.Reading) {
	r := step.Record
	switch {
	case !reading.Usable:
		s.add(dmarcInvalid, step.Domain, "Receivers cannot use the DMARC record at %s: %s.", step.Name, reading.Reason)
		return
	case reading.Assumed:
		s.add(dmarcInvalid, step.Domain, "Receivers take the DMARC record at %s for p=none: %s.", step.Name, reading.Reason)
		return
	case reading.Requested.Domain == policy.None:
		s.add(dmarcNone, step.Domain, "The DMARC record at %s has p=none.", step.Name)
	case r.Percentage < policy.DefaultPercentage && reading.Requested.Domain == policy.Quarantine:
		s.add(dmarcPartial, step.Domain, "The DMARC record at %s has p=quarantine with pct=%d.", step.Name, r.Percentage)
	case r.Percentage < policy.DefaultPercentage:
		s.add(dmarcRejectPartial, step.Domain, "The DMARC record at %s has pct=%d.", step.Name, r.Percentage)
	}
	if r.SubdomainPolicy == policy.None {
		s.add(dmarcSubdomains, step.Domain, "The DMARC record at %s has sp=none.", step.Name)
	}
	if r.Testing { // RFC 9989 section 4.7
		s.add(dmarcTesting, step.Domain, "The DMARC record at %s has t=y: the policy is in test mode.", step.Name)
	}
	if len(r.AggregateURIs) == 0 {
		for i := range s.obstacles {
			o := &s.obstacles[i]
			o.noReports = o.noReports || o.domain == step.Domain
		}
	}
}

func (s *eligibility) add(kind obstacleKind, domain, format string, args ...any) {
	s.obstacles = append(s.obstacles, obstacle{kind: kind, domain: domain, text: fmt.Sprintf(format, args...)})
}

func (s *eligibility) ofKind(kind obstacleKind) []obstacle {
	return slices.DeleteFunc(slices.Clone(s.obstacles), func(o obstacle) bool { return o.kind != kind })
}

// eligible reports whether logos are shown as far as DMARC is concerned, and why not; nil if unknown.
func (s *eligibility) eligible() (yes *bool, reason string) {
	for _, o := range s.obstacles {
		if o.kind != dmarcRejectPartial {
			return new(false), o.text
		}
	}
	if s.unknown != nil {
		return nil, "The lookup of the DMARC record failed: " + diag.Reason(s.unknown) + "."
	}
	return new(true), ""
}

func (s *eligibility) firstObstacle() string {
	for _, o := range s.obstacles {
		if o.kind != dmarcRejectPartial && o.kind != dmarcDisputed {
			return o.text
		}
	}
	return ""
}

func (s *eligibility) report() DMARC {
	d := DMARC{Policy: s.policy}
	d.Eligible, d.Reason = s.eligible()
	if s.step != nil {
		d.Found, d.Percentage = new(true), new(s.step.Record.Percentage)
	} else if s.unknown == nil {
		d.Found = new(false)
	}
	d.Reason = strings.ToValidUTF8(d.Reason, "\uFFFD")
	return d
}
