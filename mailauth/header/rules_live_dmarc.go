package header

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/internal/live"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

const maxSilences = 5

var liveDMARCRules = rule.Rules[*analysis]{{
	Code: "header.live.dns", Severity: diag.Warning, StateIfFailed: diag.Unknown, Category: factorDMARC,
	Ref: "RFC 9989 section 5.3.6", Title: "DNS lookups failed, so the check is incomplete",
	Requirement: "All DNS lookups that authentication needs succeeded",
	Advice: "Repeat the check later. If the name servers of the domain keep failing, its owner has to fix them: " +
		"receivers may defer or reject its mail meanwhile.",
	When: func(a *analysis) bool { return checked(a) && !passes(a) },
	Fails: func(a *analysis) rule.Failures {
		list := a.live.UnansweredTexts()
		return rule.FailIf(len(list) > 0, "%s", strings.Join(list[:min(len(list), maxSilences)], " "))
	},
}, {
	Code: "header.live.dmarc.fail", Severity: diag.Error, Weight: 40, Ref: "RFC 9989 section 5.3.5",
	Title: "DMARC fails: the author is not authenticated", Requirement: "DMARC does not fail without an explanation",
	Advice: "Treat the message as forged unless the sender confirms it through another channel. If it is genuine, " +
		"the owner of the domain has to sign it with DKIM for the domain in From, or authorize the server with SPF.",
	When:  func(a *analysis) bool { return decisive(a) && enforced(a) },
	Fails: failsDMARC(noMitigation),
}, {
	Code: "header.live.dmarc.fail.unclear", Severity: diag.Error, Weight: 20,
	DependsOn: []diag.Code{"header.live.dmarc.fail"}, Ref: "RFC 7960 section 3",
	Title:       "DMARC fails, though the message may be genuine",
	Requirement: "DMARC does not fail for a message that may be genuine",
	Advice: "Use the reasons to decide whether to trust the intermediary. Mailing lists that change messages should " +
		"rewrite From to their own address, and filters should check messages before changing them.",
	When:  func(a *analysis) bool { return current(a) && enforced(a) },
	Fails: failsDMARC(changedBody, arcVouched, filtered, claimedPass, misaligned),
}, {
	Code: "header.live.dmarc.fail.since", Severity: diag.Warning, Weight: 10, Ref: "RFC 8601 section 4.1",
	Title: "DMARC fails now, some time after delivery", Requirement: "DMARC did not start to fail after delivery",
	Advice: "Rely on the results that the receiver recorded at delivery: keys are withdrawn and records change. " +
		"Analyze messages soon after they arrive.",
	When:  func(a *analysis) bool { return passes(a) || explainedByAge(a) },
	Fails: failsDMARC(notedPass, oldMessage),
}, {
	Code: "header.live.dmarc.fail.monitored", Severity: diag.Warning, Weight: 30, Ref: "RFC 9989 section 5.3.5",
	Title:       "DMARC fails, but the policy is not enforced",
	Requirement: "DMARC passes for a domain without an enforced policy",
	Advice: "Check with the sender whether the message is genuine: without an enforced policy, forged messages are " +
		"delivered too. If it is, the owner of the domain has to sign it with DKIM or authorize the server with SPF " +
		"before enforcing the policy.",
	When:  func(a *analysis) bool { return current(a) && !enforced(a) },
	Fails: failsDMARC(noMitigation, changedBody, arcVouched, filtered, claimedPass, misaligned),
}, {
	Code: "header.live.author.nxdomain", Severity: diag.Error, Weight: 20, Fact: reach.NoName,
	Reads: []rule.Source{asksAuthor}, Ref: "RFC 9989 section 3.2.13", Title: "Sender's domain does not exist",
	Requirement: "The sender's domain exists",
	Advice:      "Treat the message as forged: a domain that does not exist can neither send nor receive mail.",
	When: func(a *analysis) bool {
		return checked(a) && a.live.BestCase != nil && a.live.BestCase.Discovery.MX.Err() == nil
	},
	Fails: func(a *analysis) rule.Failures {
		return rule.FailIf(a.live.Nonexistent(), "The DNS says that %s, the domain in the From field, does not exist.",
			a.input.Author()).About(a.input.Author())
	},
}, {
	Code: "header.live.dmarc.missing", Severity: diag.Warning, Weight: 10, Reads: []rule.Source{asksPolicy, asksAuthor},
	Ref: "RFC 9989 section 4.10", Title: "Sender's domain has no DMARC policy",
	Requirement: "The sender's domain publishes a DMARC policy",
	Advice: "Ask the owner of the domain to publish a DMARC record. Without one, receivers do not know how to " +
		"handle forged mail.",
	When: func(a *analysis) bool {
		return checked(a) && a.live.BestCase != nil && a.live.DMARC.Result != policy.ResultTempError && !a.live.Nonexistent()
	},
	Fails: func(a *analysis) rule.Failures {
		several := ""
		if n := len(a.live.BestCase.Discovery.Walk.Steps[0].Found.Records); n > 1 {
			several = fmt.Sprintf(" The name has %d DMARC records, and receivers ignore all of them.", n)
		}
		return rule.FailIf(a.live.DMARC.Result == policy.ResultNone,
			"There is no usable DMARC record for %s, so the DMARC result is none.%s",
			a.input.Author(), several).About(a.input.Author())
	},
}, {
	Code: "header.live.undecided", Severity: diag.Info, NoScore: true, Category: factorDMARC,
	Reads: []rule.Source{rule.FromRequest}, Ref: "RFC 9989 section 5.3",
	Title:       "DMARC cannot be evaluated from what was submitted",
	Requirement: "Everything that DMARC needs was submitted",
	Advice:      "Submit the whole message as received, with all Received and Return-Path fields and the body.",
	When: func(a *analysis) bool {
		return checked(a) && len(a.input.From) == 1 && a.live.DMARC.Result != policy.ResultTempError
	},
	Fails: func(a *analysis) rule.Failures {
		switch a.live.DMARC.Open {
		case live.NoBody:
			return rule.Fail("The signature of %s covers a body that was not submitted, so whether DMARC passes is unknown.",
				a.live.Signed(dkim.Unchecked).Domain)
		case live.NoHop:
			return rule.Fail("Which server delivered the message from outside is unknown, so SPF cannot be checked. "+
				"%s", a.live.Why)
		case live.NoEnvelope:
			return rule.Fail("There is no Return-Path field, so the domain to check with SPF is unknown.")
		default:
			return nil
		}
	},
}, {
	Code: "header.live.forwarded", Severity: diag.Info, Category: factorDMARC, Reads: []rule.Source{rule.FromRequest},
	Ref: "RFC 7960 section 3", Title: "Message was forwarded; DKIM authenticates the author",
	Requirement: "No forwarder is evident",
	Advice: "Leave it, and do not add forwarders to the SPF record of the author's domain: DKIM is designed " +
		"to survive forwarding.",
	When: func(a *analysis) bool { return passes(a) && a.live.Hop != nil },
	Fails: func(a *analysis) rule.Failures {
		by := a.forwarder()
		return rule.FailIf(by != "", "%s forwarded the message. SPF concerns the forwarder (%s), and the signature of %s "+
			"still verifies.", by, spfOutcome(a.live), a.input.Author())
	},
}}

func failsDMARC(with ...mitigation) func(*analysis) rule.Failures {
	return func(a *analysis) rule.Failures {
		l := a.live
		if l.DMARC.Result != policy.ResultFail || !slices.Contains(with, a.findMitigation()) {
			return nil
		}
		return rule.Fail("DMARC fails for %s, whose policy is %s=%s: %s; %s.", l.Author(), l.BestCase.Tag, l.BestCase.Policy,
			spfOutcome(l), dkimOutcome(l)).About(l.Author())
	}
}

func spfOutcome(l *live.Evidence) string {
	switch {
	case l.SPF == nil:
		return "SPF was not checked"
	case l.SPFGave(eval.Pass) && !l.SPFAligned():
		return fmt.Sprintf("SPF passes, but for %s, which is not aligned", phrase.Quote(l.SPF.Domain))
	default:
		return fmt.Sprintf("SPF for %s and the domain %s gives %s", l.Hop.IP, phrase.Quote(l.SPF.Domain), l.SPF.Outcome)
	}
}

func dkimOutcome(l *live.Evidence) string {
	aligned := len(l.Signatures(func(s *dkim.Result) bool { return l.Aligned(policy.DKIM, s.Domain) }))
	switch n := len(l.DKIM.Signatures); {
	case n == 0:
		return "there is no DKIM signature"
	case aligned == 0:
		return fmt.Sprintf("no aligned domain among %s", phrase.Count(n, "DKIM signature"))
	default:
		return fmt.Sprintf("%s of an aligned domain, but none verifies", phrase.Count(aligned, "DKIM signature"))
	}
}
