package header

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/arc"
	"github.com/diagkit/diagkit/mailauth/internal/filters"
)

var authenticationRules = rule.Rules[*evidence]{{
	Code: noAuthResults, Severity: diag.Info, NoScore: true, Ref: "RFC 8601 section 2",
	Title:       "No authentication results from the receiving server",
	Requirement: "The receiving server recorded authentication results",
	Advice: "Copy the header from the recipient's mailbox, or use mail/header-analyze to check SPF, DKIM and DMARC " +
		"now.",
	Fails: failsIf("", func(e *evidence) bool {
		return !slices.ContainsFunc([]string{"spf", "dkim", "dmarc", "arc", "compauth"}, e.has)
	},
		"The receiving server recorded no Authentication-Results, so the header does not show whether the "+
			"sender is authentic."),
}, {
	Code: "header.authres.forged", Severity: diag.Warning, Weight: 3, Ref: "RFC 8601 section 5",
	Title:       "Forged Authentication-Results in the receiver's name",
	Requirement: "No Authentication-Results field uses the receiver's name falsely",
	Advice: "Ignore these results, and configure the border server to remove Authentication-Results fields with its " +
		"own name from incoming mail.",
	When: hasAuthResults,
	Fails: eachForeign(func(e *evidence, a *authField) rule.Failures {
		same := func(b authField) bool { return !b.foreign && b.header != nil && b.id == a.id }
		return rule.FailIf(a.id != "" && slices.ContainsFunc(e.authFields, same),
			"The results in line %d name %s, but are below the fields that its servers added: they came with the message.",
			a.field.Line, phrase.Quote(a.id))
	}),
}, {
	Code: "header.authres.contradicted", Severity: diag.Warning, Weight: 3, DependsOn: []diag.Code{noAuthResults},
	Ref: "RFC 8601 section 5", Title: "Authentication-Results from outside contradict the real ones",
	Requirement: "No Authentication-Results from outside contradict the real ones",
	Advice: "Trust only the results of your own servers. The others were added before the message arrived, possibly " +
		"by the sender.",
	When: hasAuthResults,
	Fails: eachForeign(func(e *evidence, a *authField) rule.Failures {
		claims := e.contradicted(a)
		return rule.FailIf(len(claims) > 0, "%s claims %s; the receiving server found otherwise.",
			cmp.Or(phrase.Quote(a.id), "An unnamed server"), strings.Join(claims, " and "))
	}),
}, {
	Code: "header.dmarc.fail", Severity: diag.Error, Weight: 20, DependsOn: []diag.Code{noAuthResults},
	Ref: "RFC 9989 section 4.4", Title: "DMARC failed: the sender is not authenticated",
	Requirement: "DMARC did not fail",
	Advice: "Do not trust the sender unless the message came through a mailing list that you know. If you sent it, " +
		"have the sending service sign with DKIM for the domain in From, or use a return path in that domain.",
	When: hasResult("dmarc"),
	Fails: func(e *evidence) rule.Failures {
		_, sealed := e.sealedPass()
		return rule.FailIf(e.value("dmarc") == "fail" && !sealed, "%s", e.dmarcText()).About(e.fromDomain)
	},
}, {
	Code: "header.dmarc.forwarded", Severity: diag.Warning, Weight: 5, DependsOn: []diag.Code{"header.dmarc.fail"},
	Ref: "RFC 8617 section 7.2.1", Title: "DMARC failed after a list or forwarder changed the message",
	Requirement: "DMARC did not fail because of a list or forwarder",
	Advice: "Leave it if you are the sender. The operator of the list can rewrite From to its own address so that " +
		"DMARC passes.",
	When: hasResult("dmarc"),
	Fails: func(e *evidence) rule.Failures {
		sealer, _ := e.sealedPass()
		return rule.FailIf(e.value("dmarc") == "fail",
			"%s DMARC had passed before the message was forwarded, according to the ARC seal of %s, and "+
				"the receiving server found the chain valid.",
			e.dmarcText(), orDomain(sealer)).About(e.fromDomain)
	},
}, {
	Code: "header.dmarc.error", Severity: diag.Warning, Weight: 5, DependsOn: []diag.Code{noAuthResults},
	Ref: "RFC 8601 section 2.7.1, RFC 7489 section 11.2", Title: "DMARC could not be evaluated",
	Requirement: "DMARC could be evaluated",
	Advice: "Check the DMARC record and the name servers of the domain. Until this is fixed, receivers apply no " +
		"DMARC policy.",
	When:  hasResult("dmarc"),
	Fails: dmarcIs("temperror", "permerror"),
}, {
	Code: "header.dmarc.none", Severity: diag.Info, DependsOn: []diag.Code{noAuthResults}, Ref: "RFC 9989 section 4.10",
	Title: "Domain in From has no DMARC record", Requirement: "The domain in From publishes a DMARC record",
	Advice: "Publish a DMARC record for the domain. Start with p=none and an address for aggregate reports (rua=).",
	When:   hasResult("dmarc", "pass", "fail", "none", "bestguesspass"),
	Fails:  dmarcIs("none", "bestguesspass"),
}, {
	Code: "header.spf.fail", Severity: diag.Error, Weight: 10, DependsOn: []diag.Code{noAuthResults},
	Ref: "RFC 7208 section 8.4", Title: "SPF failed, and nothing else authenticates the sender",
	Requirement: "SPF did not fail for a message that nothing else authenticates",
	Advice: "Do not trust the sender. If you sent the message, add the sending address to the SPF record of the " +
		"envelope sender's domain.",
	When: hasResult("spf"),
	Fails: func(e *evidence) rule.Failures {
		aligned, _ := e.aligned("dkim")
		return rule.FailIf(e.value("spf") == "fail" && !aligned && !e.has("dmarc"), "%s", e.spfText()).About("spf")
	},
}, {
	Code: "header.spf.outweighed", Severity: diag.Info, DependsOn: []diag.Code{"header.spf.fail"},
	Ref: "RFC 7208 appendix D", Title: "SPF failed at the last hop", Requirement: "SPF did not fail at the last hop",
	Advice: "Do not add forwarders to the SPF record. Forwarding breaks SPF by design, which is why DMARC also " +
		"accepts DKIM.",
	When:  hasResult("spf"),
	Fails: spfIs("fail"),
}, {
	Code: "header.spf.weak", Severity: diag.Warning, Weight: 4, DependsOn: []diag.Code{noAuthResults},
	Ref: "RFC 7208 section 8", Title: "SPF does not authorize the sending address",
	Requirement: "SPF authorizes the sending address, or DKIM authenticates the sender",
	Advice:      "Add the sending service to the SPF record of the envelope sender's domain.",
	When: func(e *evidence) bool {
		return e.value("dmarc") != "pass" && hasResult("spf", "pass", "softfail", "neutral", "none")(e)
	},
	Fails: func(e *evidence) rule.Failures {
		if signed, _ := e.aligned("dkim"); signed {
			return nil
		}
		return spfIs("softfail", "neutral", "none")(e)
	},
}, {
	Code: "header.spf.error", Severity: diag.Warning, Weight: 4, DependsOn: []diag.Code{noAuthResults},
	Ref: "RFC 7208 section 8.7", Title: "SPF could not be evaluated", Requirement: "SPF could be evaluated",
	Advice: "Check the SPF record of the envelope sender's domain. permerror means that the record is invalid, " +
		"temperror that a DNS lookup failed.",
	When:  hasResult("spf"),
	Fails: spfIs("permerror", "temperror"),
}, {
	Code: "header.dkim.fail", Severity: diag.Warning, Weight: 6, DependsOn: []diag.Code{noAuthResults},
	Ref: "RFC 6376 section 6.1", Title: "No DKIM signature verified", Requirement: "A DKIM signature verified",
	Advice: "Find out what changed the message after it was signed, such as a footer, a rewritten subject or a " +
		"filter, and check that the published key matches the signing key.",
	When: func(e *evidence) bool { return len(e.passing("dkim")) > 0 || e.failedDKIM() != "" },
	Fails: func(e *evidence) rule.Failures {
		failed := e.failedDKIM()
		return rule.FailIf(len(e.passing("dkim")) == 0 && failed != "", "The receiving server recorded %s.",
			failed).About("dkim")
	},
}, {
	Code: "header.alignment.none", Severity: diag.Warning, Weight: 6, DependsOn: []diag.Code{noAuthResults},
	Ref: "RFC 9989 section 4.4", Title: "SPF or DKIM passed, but not for the domain in From",
	Requirement: "SPF or DKIM passed for the domain in From",
	Advice:      "Have the sending service sign with DKIM for the domain in From, or use a return path in that domain.",
	When: func(e *evidence) bool {
		return e.fromDomain != "" && !e.has("dmarc") && len(e.passing("spf"))+len(e.passing("dkim")) > 0
	},
	Fails: func(e *evidence) rule.Failures {
		spf, _ := e.aligned("spf")
		dkim, _ := e.aligned("dkim")
		passed := e.passedDomains()
		return rule.FailIf(!spf && !dkim && passed != "", "From uses %s, but authentication passed for other domains: %s.",
			e.fromDomain, passed).About(e.fromDomain)
	},
}, {
	Code: "header.arc.order", Severity: diag.Warning, Ref: "RFC 8617 section 5.2",
	Title:       "ARC chain is damaged: a set is missing, incomplete or invalid",
	Requirement: "The ARC sets are complete and numbered from 1 without gaps",
	Advice:      "Ignore the chain: part of it was removed, altered or forged, so it proves nothing.",
	When:        func(e *evidence) bool { return len(e.chain.Sets)+len(e.chain.Faults) > 0 },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.chain.Faults, func(f arc.Fault) rule.Failures {
			return rule.Fail("ARC: %s", f.Text).About("arc")
		})
	},
}}

func hasAuthResults(e *evidence) bool {
	return slices.ContainsFunc(e.authFields, func(a authField) bool { return a.header != nil })
}

// eachForeign is about the fields Authentication-Results that the receiving side did not write.
func eachForeign(fails func(*evidence, *authField) rule.Failures) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		return rule.FailEach(e.authFields, func(a authField) rule.Failures {
			if a.header == nil || !a.foreign {
				return nil
			}
			return fails(e, &a).About(a.id)
		})
	}
}

// hasResult returns the condition that a method has a result that counts: one of the values, if any are given.
func hasResult(method string, values ...string) func(*evidence) bool {
	return func(e *evidence) bool {
		return e.has(method) && (len(values) == 0 || slices.Contains(values, e.value(method)))
	}
}

func dmarcIs(values ...string) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		v := e.value("dmarc")
		return rule.FailIf(slices.Contains(values, v), "The receiving server recorded dmarc=%s for %s.", v,
			orDomain(e.fromDomain)).About(e.fromDomain)
	}
}

func spfIs(values ...string) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		return rule.FailIf(slices.Contains(values, e.value("spf")), "%s", e.spfText()).About("spf")
	}
}

func (e *evidence) dmarcText() string {
	r, _ := e.result("dmarc")
	text := fmt.Sprintf("The receiving server recorded dmarc=%s for %s", r.Value, orDomain(e.fromDomain))
	if p := strings.ToLower(cmp.Or(r.Note("p"), r.Note("policy"))); p != "" {
		text += ", whose policy is " + phrase.Quote(p)
	}
	var why []string
	for _, method := range []string{"spf", "dkim"} {
		passing := e.passing(method)
		aligned, known := e.aligned(method)
		switch {
		case !known || aligned:
		case len(passing) > 0:
			passed := orDomain(e.domainOf(&passing[0]))
			why = append(why, fmt.Sprintf("%s passed for %s, another domain", strings.ToUpper(method), passed))
		default:
			why = append(why, strings.ToUpper(method)+": "+phrase.Quote(e.value(method)))
		}
	}
	if len(why) > 0 {
		text += " (" + strings.Join(why, "; ") + ")"
	}
	if e.mailingList() {
		text += ". The message came through a mailing list; lists that change subject or body break signatures"
	}
	return text + "."
}

func (e *evidence) spfText() string {
	r, _ := e.result("spf")
	text := fmt.Sprintf("The receiving server recorded spf=%s for %s", phrase.Quote(r.Value), orDomain(e.domainOf(&r)))
	if len(r.Comments) > 0 && r.Comments[0] != "" {
		text += " (" + phrase.Quote(r.Comments[0]) + ")"
	}
	return text + "."
}

const maxNamedResults = 5

func (e *evidence) failedDKIM() string {
	var list []string
	for _, r := range e.results("dkim") {
		failed := slices.Contains([]string{"fail", "permerror", "temperror", "policy", "neutral", "invalid"}, r.Value)
		if failed && len(list) < maxNamedResults {
			text := "dkim=" + r.Value + " for " + orDomain(r.Domain())
			if reason := cmp.Or(append([]string{r.Reason}, r.Comments...)...); reason != "" {
				text += " (" + phrase.Quote(reason) + ")"
			}
			list = append(list, text)
		}
	}
	return strings.Join(list, " and ")
}

func (e *evidence) passedDomains() string {
	var list []string
	for _, method := range []string{"spf", "dkim"} {
		for _, r := range e.passing(method) {
			text := strings.ToUpper(method) + " for " + orDomain(e.domainOf(&r))
			if e.domainOf(&r) != "" && len(list) < maxNamedResults && !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	}
	return strings.Join(list, " and ")
}

// contradicted lists the methods that a foreign field reports as passed and the receiving side as not passed.
func (e *evidence) contradicted(a *authField) []string {
	var claims []string
	for _, r := range a.header.Results {
		found, ok := e.result(r.Method)
		if claim := r.Method + "=pass"; passed(r) && ok && !passed(found) && !slices.Contains(claims, claim) {
			claims = append(claims, claim)
		}
	}
	return claims
}

// sealedPass reports whether the receiving side found the chain of ARC valid, and DMARC passed before it was sealed:
// a mailing list changed the message. The sealer is the domain that sealed first.
func (e *evidence) sealedPass() (sealer string, passed bool) {
	if len(e.chain.Sets) == 0 || e.chain.Sets[0].Authentication == nil || e.value("arc") != "pass" {
		return "", false
	}
	first := &e.chain.Sets[0]
	return first.Domain, slices.ContainsFunc(first.Authentication.Results,
		func(r result) bool { return r.Method == "dmarc" && r.Value == "pass" })
}

var filterRules = rule.Rules[*evidence]{{
	Code: "header.spam.malicious", Severity: diag.Error, Weight: 10,
	Ref:         "RFC 5322 section 3.6.8, documentation of the filter",
	Title:       "Filter classified the message as phishing, spoofing or malware",
	Requirement: "No filter classified the message as phishing, spoofing or malware",
	Advice: "Do not open links or attachments. If the message is genuine, fix its authentication first, which " +
		"filters weigh heavily.",
	When:  hasFilterVerdicts,
	Fails: classified(filters.Phishing, filters.Spoofing, filters.Malware),
}, {
	Code: "header.spam.spam", Severity: diag.Warning, Weight: 8,
	Ref: "RFC 5322 section 3.6.8, documentation of the filter", Title: "Filter classified the message as spam",
	Requirement: "No filter classified the message as spam",
	Advice: "Check in the details of the verdict which tests added to the score. If the message is genuine, fix " +
		"authentication first, then review links and wording.",
	When:  hasFilterVerdicts,
	Fails: classified(filters.Spam),
}}

func hasFilterVerdicts(e *evidence) bool { return len(e.spam) > 0 }

func classified(as ...filters.Judgment) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		return rule.FailEach(e.spam, func(v filters.Verdict) rule.Failures {
			return rule.FailIf(slices.Contains(as, v.Verdict), "%s", v.String()).About(v.Vendor)
		})
	}
}
