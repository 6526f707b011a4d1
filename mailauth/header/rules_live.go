package header

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/ground"
	"github.com/diagkit/diagkit/mailauth/arc"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/spf"
)

// The factors of what was checked live.
var (
	liveDMARC = diag.Category{Code: "live_dmarc", Label: "DMARC now"}
	liveAuth  = diag.Category{Code: "live_authentication", Label: "SPF and DKIM now"}
	liveHost  = diag.Category{Code: "live_server", Label: "Sending server"}
)

// checked reports whether the live checks were made.
func checked(a *analysis) bool { return a.live != nil }

// judged reports whether SPF has a result for the envelope sender.
func judged(a *analysis) bool {
	return checked(a) && a.live.spf != nil && a.live.spf.Outcome != spf.Temperror
}

// decisive reports whether DMARC passes or fails.
func decisive(a *analysis) bool {
	return passes(a) || checked(a) && a.live.dmarc.result == policy.ResultFail
}

// current reports whether DMARC passes, or fails for no reason that lies in the time since delivery.
func current(a *analysis) bool {
	return passes(a) || decisive(a) && !slices.Contains([]excuse{notedPass, longAgo}, a.excuse())
}

// passes reports whether DMARC passes.
func passes(a *analysis) bool { return checked(a) && a.live.dmarc.result == policy.ResultPass }

// liveRules judge what the DNS says about a message.
var liveRules = sync.OnceValue(func() diag.Rules[*analysis] {
	return slices.Concat(liveDMARCRules.Reading(asksPolicy, asksExcuse), liveSPFRules.Reading(asksSPF, asksPath),
		standing(liveDKIMRules.Reading(asksKeys)), liveServerRules.Reading(asksNames), liveListed.Reading(diag.FromRequest))
})

// standing lets failures of rules about one of several stand, whatever is not known of the others.
func standing(rules diag.Rules[*analysis]) diag.Rules[*analysis] {
	for i := range rules {
		rules[i].Stands = true
	}
	return rules
}

// maxSilences bounds the lookups that a sentence tells of.
const maxSilences = 5

var liveDMARCRules = diag.Rules[*analysis]{
	{
		Code: "header.live.dns", Severity: diag.Warning, StateIfFailed: diag.Unknown, Category: liveDMARC,
		Ref:         "RFC 9989 section 5.3.6",
		Title:       "DNS lookups failed, so the check is incomplete",
		Requirement: "All DNS lookups that authentication needs succeeded",
		Advice: "Repeat the check later. If the name servers of the domain keep failing, its owner has to " +
			"fix them: receivers may defer or reject its mail meanwhile.",
		When: func(a *analysis) bool { return checked(a) && !passes(a) },
		Fails: func(a *analysis) diag.Failures {
			list := a.live.silences()
			return diag.FailIf(len(list) > 0, "%s", strings.Join(list[:min(len(list), maxSilences)], " "))
		},
	},
	{
		Code: "header.live.dmarc.fail", Severity: diag.Error, Weight: 40, Category: liveDMARC,
		Ref:         "RFC 9989 section 5.3.5",
		Title:       "DMARC fails: the author is not authenticated",
		Requirement: "DMARC does not fail without an explanation",
		Advice: "Treat the message as forged unless the sender confirms it through another channel. If it " +
			"is genuine, the owner of the domain has to sign it with DKIM for the domain in From, or authorize " +
			"the server with SPF.",
		When:  func(a *analysis) bool { return decisive(a) && enforced(a.live) },
		Fails: func(a *analysis) diag.Failures { return a.failsDMARC(noExcuse) },
	},
	{
		Code: "header.live.dmarc.fail.unclear", Severity: diag.Error, Weight: 20, Category: liveDMARC,
		DependsOn: []diag.Code{"header.live.dmarc.fail"}, Ref: "RFC 7960 section 3",
		Title:       "DMARC fails, though the message may be genuine",
		Requirement: "DMARC does not fail for a message that may be genuine",
		Advice: "Use the reasons to decide whether to trust the intermediary. Mailing lists that change " +
			"messages should rewrite From to their own address, and filters should check messages before " +
			"changing them.",
		When: func(a *analysis) bool { return current(a) && enforced(a.live) },
		Fails: func(a *analysis) diag.Failures {
			return a.failsDMARC(changedBody, vouched, filtered, claimedPass, sameSide)
		},
	},
	{
		Code: "header.live.dmarc.fail.since", Severity: diag.Warning, Weight: 10, Category: liveDMARC,
		Ref:   "RFC 8601 section 4.1",
		Title: "DMARC fails now, some time after delivery", Requirement: "DMARC did not start to fail after delivery",
		Advice: "Rely on the results that the receiver recorded at delivery: keys are withdrawn and " +
			"records change. Analyze messages soon after they arrive.",
		When: func(a *analysis) bool {
			return passes(a) || decisive(a) && slices.Contains([]excuse{notedPass, longAgo}, a.excuse())
		},
		Fails: func(a *analysis) diag.Failures { return a.failsDMARC(notedPass, longAgo) },
	},
	{
		Code: "header.live.dmarc.fail.monitored", Severity: diag.Warning, Weight: 30, Category: liveDMARC,
		Ref:         "RFC 9989 section 5.3.5",
		Title:       "DMARC fails, but the policy is not enforced",
		Requirement: "DMARC passes for a domain without an enforced policy",
		Advice: "Check with the sender whether the message is genuine: without an enforced policy, forged " +
			"messages are delivered too. If it is, the owner of the domain has to sign it with DKIM or " +
			"authorize the server with SPF before enforcing the policy.",
		When: func(a *analysis) bool { return current(a) && !enforced(a.live) },
		Fails: func(a *analysis) diag.Failures {
			return a.failsDMARC(noExcuse, changedBody, vouched, filtered, claimedPass, sameSide)
		},
	},
	{
		Code: "header.live.author.nxdomain", Severity: diag.Error, Weight: 20, Category: liveDMARC, Fact: ground.NoName,
		Reads: []diag.Source{asksAuthor}, Ref: "RFC 9989 section 3.2.13",
		Title: "Sender's domain does not exist", Requirement: "The sender's domain exists",
		Advice: "Treat the message as forged: a domain that does not exist can neither send nor receive mail.",
		When: func(a *analysis) bool {
			return checked(a) && a.live.could != nil && a.live.could.Discovery.MX.Err() == nil
		},
		Fails: func(a *analysis) diag.Failures {
			return diag.FailIf(a.live.nonexistent(), "The DNS says that %s, the domain in the From field, does not exist.",
				a.author()).About(a.author())
		},
	},
	{
		Code: "header.live.dmarc.missing", Severity: diag.Warning, Weight: 10, Category: liveDMARC,
		Reads: []diag.Source{asksPolicy, asksAuthor}, Ref: "RFC 9989 section 4.10",
		Title: "Sender's domain has no DMARC policy", Requirement: "The sender's domain publishes a DMARC policy",
		Advice: "Ask the owner of the domain to publish a DMARC record. Without one, receivers are not " +
			"told how to handle forged mail.",
		When: func(a *analysis) bool {
			return checked(a) && a.live.could != nil && a.live.dmarc.result != policy.ResultTempError && !a.live.nonexistent()
		},
		Fails: func(a *analysis) diag.Failures {
			several := ""
			if n := len(a.live.could.Discovery.Walk.Steps[0].Found.Records); n > 1 {
				several = fmt.Sprintf(" The name has %d DMARC records, and receivers ignore all of them.", n)
			}
			return diag.FailIf(a.live.dmarc.result == policy.ResultNone,
				"There is no usable DMARC record for %s, so the DMARC result is none.%s",
				a.author(), several).About(a.author())
		},
	},
	{
		Code: "header.live.undecided", Severity: diag.Info, NoScore: true, Category: liveDMARC,
		Reads: []diag.Source{diag.FromRequest}, Ref: "RFC 9989 section 5.3",
		Title:       "DMARC cannot be evaluated from what was submitted",
		Requirement: "Everything that DMARC needs was submitted",
		Advice:      "Submit the whole message as received, with all Received and Return-Path fields and the body.",
		When: func(a *analysis) bool {
			return checked(a) && len(a.input.from) == 1 && a.live.dmarc.result != policy.ResultTempError
		},
		Fails: func(a *analysis) diag.Failures {
			switch a.live.dmarc.open {
			case noBody:
				return diag.Fail("The signature of %s covers a body that was not submitted, so whether DMARC passes is unknown.",
					a.live.signed(dkim.Unchecked).Domain)
			case noHop:
				return diag.Fail("Which server delivered the message from outside is unknown, so SPF cannot be checked. "+
					"%s", a.live.why)
			case noEnvelope:
				return diag.Fail("There is no Return-Path field, so the domain to check with SPF is unknown.")
			default:
				return nil
			}
		},
	},
	{
		Code: "header.live.forwarded", Severity: diag.Info, Category: liveDMARC, Reads: []diag.Source{diag.FromRequest},
		Ref:   "RFC 7960 section 3",
		Title: "Message was forwarded; DKIM authenticates the author", Requirement: "No forwarder is evident",
		Advice: "No action is needed. Do not add forwarders to the SPF record of the author's domain: " +
			"DKIM is designed to survive forwarding.",
		When: func(a *analysis) bool { return passes(a) && a.live.hop != nil },
		Fails: func(a *analysis) diag.Failures {
			by := a.forwarder()
			return diag.FailIf(by != "", "%s forwarded the message. SPF concerns the forwarder (%s), and the signature of %s "+
				"still verifies.", by, a.live.spfOutcome(), a.author())
		},
	},
}

// enforced reports whether the policy asks receivers to act.
func enforced(l *liveEvidence) bool {
	return l.could != nil && l.could.Applied != policy.None && l.could.Applied != ""
}

// failsDMARC says that DMARC fails, if it does with one of these excuses.
func (a *analysis) failsDMARC(with ...excuse) diag.Failures {
	l := a.live
	if l.dmarc.result != policy.ResultFail || !slices.Contains(with, a.excuse()) {
		return nil
	}
	return diag.Fail("DMARC fails for %s, whose policy is %s=%s: %s; %s.", a.author(), l.could.Tag, l.could.Policy,
		l.spfOutcome(), l.dkimOutcome()).About(a.author())
}

// spfOutcome says how SPF went, in a clause.
func (l *liveEvidence) spfOutcome() string {
	switch {
	case l.spf == nil:
		return "SPF was not checked"
	case l.spf.Outcome == spf.Pass && !l.aligned(policy.SPF, l.spfDomain()):
		return fmt.Sprintf("SPF passes, but for %s, which is not aligned", diag.Quote(l.spf.Domain))
	default:
		return fmt.Sprintf("SPF for %s and the domain %s gives %s", l.hop.ip, diag.Quote(l.spf.Domain), l.spf.Outcome)
	}
}

// dkimOutcome says how DKIM went, in a clause.
func (l *liveEvidence) dkimOutcome() string {
	aligned := 0
	for i := range l.dkim.Signatures {
		if s := &l.dkim.Signatures[i]; l.aligned(policy.DKIM, s.Domain) {
			aligned++
		}
	}
	switch n := len(l.dkim.Signatures); {
	case n == 0:
		return "there is no DKIM signature"
	case aligned == 0:
		return fmt.Sprintf("no aligned domain among %s", diag.Count(n, "DKIM signature"))
	default:
		return fmt.Sprintf("%s of an aligned domain, but none verifies", diag.Count(aligned, "DKIM signature"))
	}
}

// silences says what the DNS did not answer that matters.
func (l *liveEvidence) silences() (list []string) {
	if l.spf != nil && l.spf.Outcome == spf.Temperror {
		list = append(list, fmt.Sprintf("SPF for %s could not be evaluated (temperror): %s.", diag.Quote(l.spf.Domain),
			diag.Quote(l.spf.Reason)))
	}
	for i := range l.dkim.Signatures {
		if s := &l.dkim.Signatures[i]; unknownKey(s) {
			list = append(list, fmt.Sprintf("The DKIM key of %s could not be looked up: %s", s.Domain, s.Reason))
		}
	}
	if l.could != nil && l.could.Err != nil && l.dmarc.result == policy.ResultTempError {
		list = append(list, fmt.Sprintf("The DMARC policy of %s could not be looked up: %s.", l.input.from[0],
			diag.Reason(l.could.Err)))
	}
	if l.authorSilent() {
		list = append(list, fmt.Sprintf("Whether %s exists could not be looked up.", l.input.from[0]))
	}
	if l.hopSilent() {
		list = append(list, l.why)
	}
	if l.excuseSilent() && l.ptr != nil && l.ptr.err != nil {
		list = append(list, fmt.Sprintf("The PTR record of %s could not be looked up: %s.", l.ptr.IP, l.ptr.Error))
	}
	if l.excuseSilent() && l.arc.Result == arc.Unknown {
		list = append(list, "The ARC chain could not be verified. "+l.arc.Reason)
	}
	return list
}
