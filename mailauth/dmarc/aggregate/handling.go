package aggregate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
)

// The handling that a policy requests for mail that fails (RFC 9989 section 4.7).
type requested struct {
	domain, policy, subdomain, nonexistent string
	testing, sampled                       bool
}

func requestedBy(p *Policy) requested {
	return requested{p.Domain, p.Policy, p.Subdomain, p.Nonexistent, p.Testing == "y",
		p.Percentage != nil && *p.Percentage < 100}
}

// handlingOf returns the mildest and the strictest handling requested for mail from a domain, as indexes of strengths;
// ok is false if the report does not say. Whether a subdomain exists is unknown, and receivers may or may not apply t=y
// and pct below 100.
func (q *requested) handlingOf(from string) (mildest, strictest int, ok bool) {
	p := slices.Index(strengths, q.policy)
	mildest, strictest = p, p
	if from != "" && from != q.domain {
		sp := slices.Index(strengths, cmp.Or(q.subdomain, q.policy))
		np := slices.Index(strengths, cmp.Or(q.nonexistent, q.subdomain, q.policy))
		mildest, strictest = min(sp, np), max(sp, np)
	}
	switch {
	case mildest < 0:
		return 0, 0, false
	case q.sampled:
		mildest = 0
	case q.testing:
		mildest = max(0, mildest-1)
	}
	return mildest, strictest, true
}

// A handling counts messages that failed and were not handled as the policy requests.
type handling struct {
	delivered, quarantined, stricter int64 // without a reason
	reasons                          counts[OverrideType]
}

func (c *collector) noteHandling(r *Record) {
	did := slices.Index(strengths, string(r.Disposition))
	mildest, strictest, ok := c.alignment.handlingOf(r.HeaderFrom)
	if !ok || did < 0 || mildest <= did && did <= strictest {
		return
	}
	h := c.handlings[r.Report]
	if h == nil {
		h = &handling{}
		c.handlings[r.Report] = h
	}
	i := slices.IndexFunc(r.Overrides, func(o Override) bool { return o.Type != "" })
	switch {
	case i >= 0:
		h.reasons.add(OverrideType(clipDomain(string(r.Overrides[i].Type))), r.Count)
	case did > strictest:
		h.stricter += r.Count
	case r.Disposition == DispositionQuarantine:
		h.quarantined += r.Count
	default:
		h.delivered += r.Count
	}
}

// A receiver is one whose handling differs from the policy.
type receiver struct {
	name, policy string
	handling
}

func (r *receiver) messages() int64 {
	return r.delivered + r.quarantined + r.stricter + r.reasons.total
}

// receivers returns those whose handling differs from the policy, those with the most messages first.
func (e *evidence) receivers() (list []*receiver) {
	for i, report := range e.allReports {
		h := e.sums.handlings[i]
		if h == nil {
			continue
		}
		name := cmp.Or(phrase.Quote(report.Metadata.Organization), "The receiver")
		at := slices.IndexFunc(list, func(r *receiver) bool { return strings.EqualFold(r.name, name) })
		if at < 0 {
			at = len(list)
			list = append(list, &receiver{name: name, policy: report.Policy.Policy})
		}
		r := list[at]
		r.delivered, r.quarantined, r.stricter = r.delivered+h.delivered, r.quarantined+h.quarantined, r.stricter+h.stricter
		for _, reason := range h.reasons.list {
			r.reasons.add(reason.key, reason.n)
		}
	}
	slices.SortStableFunc(list, func(a, b *receiver) int { return cmp.Compare(b.messages(), a.messages()) })
	return list
}

// joinSentences joins the sentences about the first receivers that have one.
func (e *evidence) joinSentences(sentence func(*receiver) string) rule.Failures {
	var list []string
	for _, r := range e.differingReceivers {
		if text := sentence(r); text != "" {
			list = append(list, text)
		}
	}
	if len(list) == 0 {
		return nil
	}
	text := strings.Join(list[:min(len(list), maxInSentence)], " ")
	if more := len(list) - maxInSentence; more > 0 {
		text += fmt.Sprintf(" So did %s more.", phrase.Count(int64(more), "receiver"))
	}
	return rule.Failures{{Detail: text}}
}

func (r *receiver) unexplainedText() string {
	var parts []string
	for _, did := range []struct {
		n    int64
		what string
	}{{r.delivered, "delivered"}, {r.quarantined, "only quarantined"}, {r.stricter, "quarantined or rejected"}} {
		if did.n > 0 {
			parts = append(parts, did.what+" "+countMessages(did.n))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("%s did not apply the published policy (p=%s) to mail that failed DMARC: it %s, and gives no "+
		"reason.",
		r.name, r.policy, strings.Join(parts, " and "))
}

func (r *receiver) explainedText() string {
	if r.reasons.total == 0 {
		return ""
	}
	reasons := kit.Map(r.reasons.sorted(), func(c count[OverrideType]) string {
		return fmt.Sprintf("%s (%s)", cmp.Or(overrideTexts[c.key], phrase.Quote(string(c.key))), thousands(c.n))
	})
	return fmt.Sprintf("%s did not apply the published policy (p=%s) to %s that failed DMARC, and gives as reason: %s.",
		r.name, r.policy, countMessages(r.reasons.total), strings.Join(reasons[:min(len(reasons), maxInSentence)], ", "))
}

var overrideTexts = map[OverrideType]string{
	OverrideForwarded: "forwarded", OverrideSampledOut: "spared by pct (sampled_out)",
	OverrideForwarder: "trusted forwarder (trusted_forwarder)", OverrideMailingList: "mailing list (mailing_list)",
	OverrideLocal: "its local policy (local_policy)", OverrideTestMode: "test mode (policy_test_mode)",
	OverrideOther: "another reason (other)",
}

// handlingRules are about what receivers did: that is theirs to decide, and carries no weight.
var handlingRules = rule.Rules[*evidence]{{
	Code: "dmarc.report.policy.unapplied", Severity: diag.Info, Ref: "RFC 9990 section 3.1.1.8",
	Title:       "Receiver did not apply the published policy",
	Requirement: "Receivers applied the published policy, or gave a reason",
	Advice: "Do not rely on these receivers to stop forged mail as the policy requests. If much mail is concerned, " +
		"ask them why at the contact in their report.",
	Fails: func(e *evidence) rule.Failures { return e.joinSentences((*receiver).unexplainedText) },
}, {
	Code: "dmarc.report.policy.overridden", Severity: diag.Info, Ref: "RFC 9990 section 3.1.6",
	Title: "Receiver overrode the published policy and gave a reason", Requirement: "No receiver overrode the " +
		"published policy",
	Advice: "Check that the reason fits: mail of forwarders and mailing lists is your users' own, while a local policy " +
		"may also let forged mail pass.",
	Fails: func(e *evidence) rule.Failures { return e.joinSentences((*receiver).explainedText) },
}}
