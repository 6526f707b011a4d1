package dmarcbis

import (
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
)

func steps(d *policy.Discovery) []WalkStep {
	list := []WalkStep{}
	count := 0
	for i := range d.Walk.Steps {
		s := &d.Walk.Steps[i]
		if s.Asked {
			count++
		}
		step := WalkStep{Step: i + 1, RecordName: s.Name, Outcome: s.Outcome, QueryCount: count, Detail: detail(d, i)}
		if s.Asked {
			step.Rcode = s.Answer.RcodeName()
		}
		if s.Record != nil {
			step.Record, step.PSD = strings.ToValidUTF8(s.Record.List.Text, "\uFFFD"), s.Record.PSD
		}
		list = append(list, step)
	}
	return list
}

func detail(d *policy.Discovery, i int) string {
	text := found(d, &d.Walk.Steps[i])
	if i == 0 && len(d.Walk.Steps) > 1 && strings.Count(d.Walk.Start, ".") >= policy.MaxQueries {
		text += fmt.Sprintf(" From more than 8 labels the walk continues with the last 7, at %s.", d.Walk.Steps[1].Name)
	}
	return text
}

func found(d *policy.Discovery, s *policy.Step) string {
	switch {
	case s.Outcome == policy.Failed:
		return fmt.Sprintf("The lookup failed: %s. What is published there is not known.", diag.Reason(s.Err()))
	case !s.Asked:
		return "The name is longer than 253 characters, so that nothing can be published there."
	case s.Outcome == policy.Skipped:
		return fmt.Sprintf("There are %d records, and with more than one none counts.", len(s.Found.Records))
	case s.Outcome == policy.Stopped && s.Record.PSD == policy.NotPSD:
		return fmt.Sprintf("psd=n ends the walk: %s is the organizational domain.", s.Domain)
	case s.Outcome == policy.Stopped && s.Domain != d.Walk.Start:
		return fmt.Sprintf("psd=y ends the walk: %s is a public suffix, and the organizational domain is %s below it.",
			s.Domain, d.Tree.Organizational)
	case s.Outcome == policy.Stopped:
		return fmt.Sprintf("psd=y ends the walk: %s is a public suffix, and its own organizational domain.", s.Domain)
	case s.Outcome == policy.Recorded && s.Domain == d.Tree.PolicyDomain():
		return fmt.Sprintf("There is a record, and it applies to mail from %s.", d.Walk.Start)
	case s.Outcome == policy.Recorded && d.Tree.OrganizationalErr == nil && s.Domain == d.Tree.Organizational:
		return fmt.Sprintf("There is a record. It does not apply to mail from %s, but makes %s its organizational domain.",
			d.Walk.Start, s.Domain)
	case s.Outcome == policy.Recorded && d.Tree.PolicyErr == nil:
		return fmt.Sprintf("There is a record, but it does not apply to mail from %s.", d.Walk.Start)
	case s.Outcome == policy.Recorded:
		return "There is a record."
	case len(s.Found.Strays) > 0:
		return "There is no record that receivers recognize, but a text that was probably meant as one."
	case s.DanglingAlias() != "":
		return s.DanglingAlias()
	case s.Answer.NXDomain():
		return "The name does not exist."
	default:
		return "There is no record."
	}
}

func (e *evidence) disagreement() string {
	walk, list := e.Tree.Organizational, e.List.Organizational
	last := &e.Walk.Steps[len(e.Walk.Steps)-1]
	beginning := fmt.Sprintf("The tree walk finds the organizational domain %s, the public suffix list %s", walk, list)
	switch {
	case last.Outcome == policy.Stopped && last.Record.PSD == policy.NotPSD:
		return fmt.Sprintf("%s: the record of %s declares psd=n, which the list knows nothing of.", beginning, last.Domain)
	case last.Outcome == policy.Stopped:
		return fmt.Sprintf("%s: the record of %s declares psd=y, and the list does not have %s.", beginning, last.Domain,
			last.Domain)
	case e.Tree.Policy == nil:
		return beginning + ": without any record on the way, the walk ends where it began."
	case policy.IsPublicSuffix(walk):
		return fmt.Sprintf("%s: %s is a public suffix by the list, and has a record without psd=y.", beginning, walk)
	default:
		return fmt.Sprintf("%s: no record was found above %s.", beginning, walk)
	}
}

// obsolete lists what a record has that RFC 9989 does not.
func obsolete(r *policy.Record) []ObsoleteTag {
	var list []ObsoleteTag
	for _, t := range r.List.Tags {
		if t.Repeated {
			continue
		}
		o := ObsoleteTag{Tag: strings.ToLower(t.Name), Value: strings.ToValidUTF8(t.Value, "\uFFFD")}
		switch o.Tag {
		case "pct":
			o.Replacement, o.Effect = insteadOfPercentage(r)
		case "rf":
			o.Effect = "Receivers of RFC 9989 ignore it: there is only one format of failure reports."
		case "ri":
			o.Effect = "Receivers of RFC 9989 ignore it: aggregate reports are sent daily."
		case "rua", "ruf":
			list = append(list, limits(r, o.Tag)...)
			continue
		default:
			continue
		}
		list = append(list, o)
	}
	return list
}

// insteadOfPercentage returns the RFC 9989 replacement for the pct of a record, and the effect of pct.
func insteadOfPercentage(r *policy.Record) (replacement, effect string) {
	switch pct := r.Percentage; {
	case !sampled(r):
		return "", "Receivers of RFC 9989 ignore it, and it has no effect: remove it."
	case hasTestingFlag(r):
		return "", "Receivers of RFC 9989 ignore it and follow t; those of RFC 7489 follow it and ignore t."
	default:
		return "p=" + string(r.Policy.Lowered()),
			fmt.Sprintf("Receivers of RFC 9989 ignore it and apply the policy to all mail "+
				"instead of %d percent. Nothing says the same; the lower policy is what held for the rest.", pct)
	}
}

// sampled reports whether pct makes a difference to receivers of RFC 7489.
func sampled(r *policy.Record) bool {
	p := r.Reading(policy.RFC7489).Requested
	return r.Percentage < 100 && p.Domain.Level()+p.Subdomain.Level()+p.Nonexistent.Level() > 0
}

func limits(r *policy.Record, tag string) []ObsoleteTag {
	var list []ObsoleteTag
	for _, u := range map[string][]policy.URI{"rua": r.AggregateURIs, "ruf": r.FailureURIs}[tag] {
		if u.HasSizeLimit {
			list = append(list, ObsoleteTag{
				Tag: tag, Value: u.Text, Replacement: u.URI,
				Effect: "Receivers of RFC 9989 ignore the size limit after the exclamation mark.",
			})
		}
	}
	return list
}

// missing lists tags of RFC 9989 that the record should have.
func (e *evidence) missing() []string {
	list := []string{}
	r := e.record()
	if r == nil {
		return list
	}
	covers := e.Tree.OrganizationalErr == nil && e.Tree.Organizational == e.Tree.PolicyDomain() ||
		e.Tree.Origin == policy.PublicSuffix
	if e.record() != nil && covers && !r.Has("np") {
		list = append(list, "np")
	}
	if undeclared(e) {
		list = append(list, "psd")
	}
	return list
}

func undeclared(e *evidence) bool {
	return policy.IsPublicSuffix(e.Tree.PolicyDomain()) && e.record().PSD != policy.IsPSD
}
