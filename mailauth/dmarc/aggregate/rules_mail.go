package aggregate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
)

var mailRules = rule.Rules[*evidence]{{
	Code: "dmarc.report.legitimate.blocked", Severity: diag.Error, Weight: 10, Category: factorAuthentication,
	Ref:   "RFC 9989 section 5.1.6",
	Title: "Legitimate mail was quarantined or rejected", Requirement: "No legitimate mail was quarantined or rejected",
	Advice: "Fix these sources now, as the findings about them say: usually they lack DKIM signing with your domain. " +
		"If that takes days, publish p=none until it is done.",
	When: hasOwnSenders, Fails: func(e *evidence) rule.Failures {
		n := e.classes[Legitimate].affected
		return rule.FailIf(n > 0, "%s of legitimate sources failed DMARC and did not reach the inbox: %s.",
			e.messages(n), e.affectedNames())
	},
}, {
	Code: "dmarc.report.passed.blocked", Severity: diag.Warning, Ref: "RFC 9990 section 3.1.1.9",
	Title: "Mail that passed was quarantined or rejected", Requirement: "Mail that passed was delivered",
	Advice: "Ask the receiver why: DMARC was not the reason. Receivers also judge the content and the reputation of " +
		"senders.",
	Fails: func(e *evidence) rule.Failures {
		n := e.sums.oddities.passedNotDelivered
		return rule.FailIf(n > 0, "%s passed DMARC, and yet the report says that the policy was applied.", e.messages(n))
	},
}, {
	Code: "dmarc.report.service.unaligned", Severity: diag.Warning, Weight: 20, Category: factorAuthentication,
	Ref:   "RFC 9989 section 5.1.6",
	Title: "Sending service fails DMARC: not aligned with the domain", Requirement: "All known sending services pass",
	Advice: "Set up DKIM signing with your domain at the service, and a return path in your domain where it offers one.",
	When:   hasOwnSenders, Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.failingServices, e.unaligned)
	},
	Partly: legitimateShare,
}, {
	Code: "dmarc.report.sender.failing", Severity: diag.Warning, Weight: 10, Category: factorAuthentication,
	Ref:   "RFC 9989 section 5.1.6",
	Title: "Mail from one of your own sources fails DMARC", Requirement: "Mail from your own sources passes",
	Advice: "Find out which server or service this is. Sign its mail with DKIM for your domain, and list its address " +
		"in the SPF record.",
	When: func(e *evidence) bool {
		return hasOwnSenders(e) && (len(e.ownSenders) == 0 || slices.ContainsFunc(e.ownSenders, isRelaxed))
	},
	Fails: (*evidence).ownFailures, Partly: legitimateShare,
}, {
	Code: "dmarc.report.alignment.strict", Severity: diag.Warning, Weight: 5, Category: factorAuthentication,
	Ref:         "RFC 9989 section 4.4",
	Title:       "Strict alignment fails mail that relaxed alignment would pass",
	Requirement: "Strict alignment fails no authenticated mail",
	Advice: "Remove adkim=s or aspf=s from the DMARC record, or have these senders use exactly the domain of the From " +
		"field.",
	When: func(e *evidence) bool { return e.sums.alignment.strict() },
	Fails: func(e *evidence) rule.Failures {
		c := &e.sums.oddities.strictOnly
		return rule.FailIf(c.total > 0, "%s failed although a domain of the same organization was authenticated: "+
			"%s.", e.messages(c.total), listKeys(c))
	},
}, {
	Code: "dmarc.report.spf.permerror", Severity: diag.Warning, Weight: 5, Category: factorAuthentication,
	Ref:   "RFC 7208 section 2.6.7",
	Title: "SPF record with an error (permerror)", Requirement: "The SPF record can be evaluated",
	Advice: "Check the record with spf/lookup: usually it needs more than 10 DNS lookups, or is published twice.",
	Fails: func(e *evidence) rule.Failures {
		c := &e.sums.oddities.permError
		return rule.FailIf(c.total > 0, "For %s the receiver could not evaluate the SPF record: "+
			"%s.", e.messages(c.total), listKeys(c))
	},
}, {
	Code: "dmarc.report.dkim.key", Severity: diag.Warning, Weight: 5, Category: factorAuthentication,
	Ref:   "RFC 6376 section 6.1.2",
	Title: "DKIM key that cannot be used (permerror)", Requirement: "The DKIM keys can be used",
	Advice: "Look the selector up with dkim/lookup, and publish the key that the sender signs with.",
	Fails: func(e *evidence) rule.Failures {
		c := &e.sums.oddities.badKeys
		return rule.FailIf(c.total > 0, "For %s the receiver found no key that it could use: "+
			"%s.", e.messages(c.total), listKeys(c))
	},
}, {
	Code: "dmarc.report.dkim.broken", Severity: diag.Warning, Weight: 5, Category: factorAuthentication,
	Ref:   "RFC 6376 section 6.1.3",
	Title: "DKIM signatures of your own servers do not verify", Requirement: "DKIM signatures of your own servers verify",
	Advice: "Look the selector up with dkim/lookup, and check that the server signs with that key, after everything " +
		"else that changes the message.",
	When: hasOwnSenders, Fails: func(e *evidence) rule.Failures {
		c := &e.sums.oddities.broken
		return rule.FailIf(c.total*100 > e.classes[Legitimate].messages*maxStrayPercent,
			"%s came from servers that the SPF record lists, with a signature of the domain that failed: "+
				"%s.", e.messages(c.total), listKeys(c))
	},
}, {
	Code: "dmarc.report.unlisted.failing", Severity: diag.Warning, Weight: 5, Category: factorAuthentication,
	Ref:   "RFC 9989 section 5.1.5",
	Title: "Mail that is probably your own fails DMARC", Requirement: "No mail that is probably the domain's own fails",
	Advice: "Look these addresses up in your networks and contracts: a printer, a monitoring system or a web server " +
		"may send. Add what is yours to the SPF record and have it sign with DKIM.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.unlisted.total > 0, "%s failed from sources that share a network, a name or sending days with "+
			"the domain's own mail: %s.",
			e.messages(e.unlisted.total), listKeys(&e.unlisted))
	},
	Partly: func(e *evidence) float64 { return 1 - float64(e.unlisted.total)/float64(e.sums.totals.MessageCount) },
}, {
	Code: "dmarc.report.unknown.failing", Severity: diag.Warning, Weight: 5, Category: factorAuthentication,
	Ref:   "RFC 9989 section 5.1.5",
	Title: "Mail of unknown sources fails DMARC", Requirement: "No mail of unknown sources fails",
	Advice: "Find out whether any of them is yours: look the addresses up, ask marketing, sales, support and HR, and " +
		"compare reports of several days and receivers. Set up DKIM signing with your domain for what is.",
	Fails: func(e *evidence) rule.Failures {
		n := e.classes[UnknownSource].failed()
		if n == 0 {
			return nil
		}
		f := rule.Failure{Detail: e.unknownText(n)}
		if e.gateways.total > 0 {
			f.Advice = "Find out whether your own mail leaves through the gateway. If so, list its servers in your SPF " +
				"record, and sign at the gateway, or have it leave signed mail unchanged. If not, it is a recipient's, " +
				"and must stay out of the SPF record."
		}
		return rule.Failures{f}
	},
	Partly: func(e *evidence) float64 {
		return 1 - float64(e.classes[UnknownSource].failed())/float64(e.sums.totals.MessageCount)
	},
}, {
	Code: "dmarc.report.forwarding.blocked", Severity: diag.Warning, Ref: "RFC 9989 section 7.4",
	Title: "Forwarded mail was quarantined or rejected", Requirement: "No forwarded mail was quarantined or rejected",
	Advice: "Sign all mail with DKIM, so that it passes when it is forwarded unchanged. If your users post to mailing " +
		"lists, which change messages, do not publish p=reject.",
	When: func(e *evidence) bool { return e.classes[Forwarding].messages > 0 },
	Fails: func(e *evidence) rule.Failures {
		n := e.classes[Forwarding].affected
		return rule.FailIf(n > 0, "%s came through forwarders or mailing lists, failed DMARC, and did not reach the inbox.",
			e.messages(n))
	},
}, {
	Code: "dmarc.report.dkim.coverage", Severity: diag.Info, Weight: 10, Category: factorCoverage,
	Ref:   "RFC 9989 section 7.4",
	Title: "Mail that passes by SPF alone", Requirement: "Legitimate mail passes by DKIM",
	Advice: "Sign this mail with DKIM for your domain: when it is forwarded, SPF fails, and only a signature lets it " +
		"pass.",
	When: hasPassed, Fails: func(e *evidence) rule.Failures {
		own := e.classes[Legitimate]
		return rule.FailIf(own.dkim < own.pass, "%s of legitimate sources passed without an aligned "+
			"signature.", e.messages(own.pass-own.dkim))
	},
	Partly: func(e *evidence) float64 {
		return float64(e.classes[Legitimate].dkim) / float64(e.classes[Legitimate].pass)
	},
}, {
	Code: "dmarc.report.spf.coverage", Severity: diag.Info, Weight: 5, Category: factorCoverage,
	Ref:   "RFC 9989 section 4.4.2",
	Title: "Mail that passes by DKIM alone", Requirement: "Legitimate mail passes by SPF",
	Advice: "Use a return path in your domain where the sender offers that. Where it does not, nothing is lost: DMARC " +
		"needs one of the two.",
	When: hasPassed, Fails: func(e *evidence) rule.Failures {
		own := e.classes[Legitimate]
		return rule.FailIf(own.spf < own.pass, "%s of legitimate sources passed without aligned "+
			"SPF.", e.messages(own.pass-own.spf))
	},
	Partly: func(e *evidence) float64 {
		return float64(e.classes[Legitimate].spf) / float64(e.classes[Legitimate].pass)
	},
}, {
	Code: "dmarc.report.forwarding.seen", Severity: diag.Info, Ref: "RFC 9989 section 7.4",
	Title: "Forwarded mail in the report", Requirement: "No mail was forwarded",
	Advice: "Keep signing with DKIM: forwarding breaks SPF, and signatures survive it. Do not add forwarders to the " +
		"SPF record.",
	Fails: (*evidence).forwardingSeen,
}}

func hasOwnSenders(e *evidence) bool { return e.classes[Legitimate].messages+e.serviceTotal() > 0 }

// serviceTotal is the mail of known services without passing mail.
func (e *evidence) serviceTotal() int64 { return e.classes[Unlisted].messages - e.unlisted.total }

// isRelaxed reports whether a source fails for more than strict alignment, of which another finding tells.
func isRelaxed(s *sender) bool { return !s.strictOnly }

func hasPassed(e *evidence) bool { return e.classes[Legitimate].pass > 0 }

func legitimateShare(e *evidence) float64 {
	own := e.classes[Legitimate]
	return float64(own.pass) / float64(max(1, own.messages+e.serviceTotal()))
}

// unaligned finds that a service fails. What to do is the service's own way.
func (e *evidence) unaligned(s *sender) rule.Failures {
	detail := fmt.Sprintf("%s: %s from %s failed DMARC for "+
		"%s.", s.name, e.messages(s.failed), phrase.Count(int64(s.sources), "source"), e.domain())
	if s.affected > 0 {
		detail += fmt.Sprintf(" Of it, %s did not reach the inbox.", countMessages(s.affected))
	}
	if s.foreignDomains.total > 0 {
		names := s.foreignDomains.names()
		names = names[:min(len(names), maxInSentence)]
		detail += fmt.Sprintf(" Its mail is authenticated as %s.", phrase.Quote(strings.Join(names, ", ")))
	}
	steps := fmt.Sprintf("Set up %s for your domain. %s", s.name, s.service.Sign)
	if s.service.ReturnPath != "" {
		steps += " " + s.service.ReturnPath
	}
	if s.service.Docs != "" {
		steps += " See " + s.service.Docs + "."
	}
	steps += " If nobody in your organization uses it, someone else does so in your name: report it to the service, " +
		"and enforce the policy once all your own mail passes."
	return rule.Failures{{Detail: detail, Target: s.name, Advice: steps}}
}

func (e *evidence) ownFailures() rule.Failures {
	var all rule.Failures
	for _, s := range e.ownSenders {
		if s.strictOnly {
			continue
		}
		detail := fmt.Sprintf("%s of %s failed, though other mail of this source passes or is authenticated by your "+
			"organization.", e.messages(s.failed), s.name)
		all = append(all, rule.Failure{Detail: detail, Target: s.name})
	}
	if len(all) == 0 && e.ownFailed > 0 {
		return rule.Fail("%s of many small sources failed, which belong to your organization.", e.messages(e.ownFailed))
	}
	return all
}

func (e *evidence) affectedNames() string {
	var c counts[string]
	for _, list := range [][]*sender{e.failingServices, e.ownSenders} {
		for _, s := range list {
			if s.affected > 0 {
				c.add(s.name, s.affected)
			}
		}
	}
	if c.total == 0 {
		return "a few messages of sources that are set up"
	}
	return listKeys(&c)
}

func (e *evidence) unknownText(failed int64) string {
	text := fmt.Sprintf("%s of unknown sources failed.", e.messages(failed))
	if e.foreignDomains.total > 0 {
		text += fmt.Sprintf(" Authentication passed, but not aligned with %s, for domains that tell who sent this mail: "+
			"%s.", e.domain(), listKeys(&e.foreignDomains))
	}
	if e.unexplained.total > 0 {
		text += fmt.Sprintf(" Nothing shows whose these are: %s. A server of your own that nobody listed and a forger look "+
			"alike in a report. Telling signs are who runs the network, its name in reverse DNS, and whether it sends on the "+
			"days on which your servers do.", listKeys(&e.unexplained))
	}
	if e.gateways.total > 0 {
		text += fmt.Sprintf(" Mail gateways among them: %s.", listKeys(&e.gateways))
	}
	if n := e.classes[UnknownSource].affected; n > 0 {
		text += fmt.Sprintf(" Quarantined or rejected: %s.", countMessages(n))
	}
	return text
}

func (e *evidence) forwardingSeen() rule.Failures {
	sum := e.classes[Forwarding]
	if sum.messages == 0 {
		return nil
	}
	detail := fmt.Sprintf("%s came through forwarders: %s.", e.messages(sum.messages), listKeys(&e.forwarders))
	switch failed := sum.failed(); {
	case failed == 0:
		detail += " All of it passed, because its signatures survived."
	case sum.pass == 0:
		detail += " None of it passed: not signed for the domain, or changed on the way."
	default:
		detail += fmt.Sprintf(" Of it, %s did not pass: not signed for the domain, or changed on the "+
			"way.", countMessages(failed))
	}
	return rule.Failures{{Detail: detail}}
}
