package header

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/arc"
)

// authenticationRules are about what servers found.
var authenticationRules = diag.Rules[*evidence]{
	{
		Code: "header.authres.missing", Severity: diag.Info, Category: factorAuthentication,
		DependsOn:   []diag.Code{"header.fields.none"},
		Title:       "No results of authentication that count",
		Requirement: "The receiving side wrote down results of authentication",
		Ref:         "RFC 8601 section 2",
		Advice:      "Take the header from the recipient's mailbox, or let the live analysis check the message.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(!e.authenticated(),
				"The header has no Authentication-Results of the receiving side, so it does not tell whether the sender is authentic.")
		},
	},
	{
		Code: "header.authres.syntax", Severity: diag.Info, Category: factorAuthentication,
		DependsOn:   []diag.Code{"header.authres.missing"},
		Title:       "Results of authentication depart from their syntax",
		Requirement: "Results of authentication keep to their syntax",
		Ref:         "RFC 8601 section 2.2",
		Advice:      "Nothing needs to be done: the results were read. Programs that are strict ignore the field.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailEach(e.authFields, func(a authField) diag.Failures {
				if a.header == nil || len(a.header.Faults) == 0 {
					return nil
				}
				return diag.Fail("In %s in line %d %s.", shortName(a.field), a.field.Line,
					strings.Join(a.header.Faults, "; ")).About(a.id)
			})
		},
	},
	{
		Code: "header.authres.forged", Severity: diag.Warning, Weight: 3, Category: factorAuthentication,
		DependsOn:   []diag.Code{"header.fields.none"},
		Title:       "Results pretend to be from the receiving server",
		Requirement: "No results pretend to be from the receiving server",
		Ref:         "RFC 8601 section 5",
		Advice:      "Let the border server remove Authentication-Results with its own name from incoming mail; ignore these.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailEach(e.foreignFields(), func(a authField) diag.Failures {
				return diag.FailIf(e.ownName(a.id),
					"Results in line %d name %s, but stand below what its servers wrote: they came with the message.",
					a.field.Line, diag.Quote(a.id)).About(a.id)
			})
		},
	},
	{
		Code: "header.authres.contradicted", Severity: diag.Warning, Weight: 3, Category: factorAuthentication,
		DependsOn:   []diag.Code{"header.authres.missing"},
		Title:       "Results that came with the message contradict the real ones",
		Requirement: "No results of others contradict those of the receiving side",
		Ref:         "RFC 8601 section 5",
		Advice:      "Only believe the results of your own servers. The others were written before the message arrived, perhaps by the sender.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailEach(e.foreignFields(), func(a authField) diag.Failures {
				claims := e.contradicted(&a)
				return diag.FailIf(len(claims) > 0, "%s claims %s; the receiving side found otherwise.", named(a.id),
					strings.Join(claims, " and ")).About(a.id)
			})
		},
	},
	{
		Code: "header.authres.foreign", Severity: diag.Info, Category: factorAuthentication,
		DependsOn:   []diag.Code{"header.authres.forged", "header.authres.contradicted"},
		Title:       "Results of servers before the receiving side",
		Requirement: "All results are of the receiving side",
		Ref:         "RFC 8601 section 5",
		Advice:      "Do not build anything on them: anybody can write such a field.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailEach(e.foreignFields(), func(a authField) diag.Failures {
				return diag.Fail("%s wrote results in line %d, which prove nothing here.", named(a.id),
					a.field.Line).About(a.id)
			})
		},
	},
	{
		Code: "header.dmarc.fail", Severity: diag.Error, Weight: 20, Category: factorAuthentication,
		DependsOn:   []diag.Code{"header.authres.missing"},
		Title:       "DMARC failed",
		Requirement: "DMARC did not fail",
		Ref:         "RFC 9989 section 4.4",
		Advice:      "Do not trust the sender unless the message came through a list that you know. If it is yours, let the sending service sign with DKIM for the domain in From, or use a return path of that domain.",
		When:        (*evidence).hasDMARC,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.value("dmarc") == "fail" && !e.sealedPass(), "%s", e.dmarcText()).About(e.fromDomain)
		},
	},
	{
		Code: "header.dmarc.forwarded", Severity: diag.Warning, Weight: 5, Category: factorAuthentication,
		DependsOn:   []diag.Code{"header.dmarc.fail"},
		Title:       "DMARC failed after a list or forwarder changed the message",
		Requirement: "DMARC did not fail behind a list or forwarder",
		Ref:         "RFC 8617 section 7.2.1",
		Advice:      "Nothing is wrong with the sender. Whoever runs the list can write its own address into From, so that DMARC passes.",
		When:        (*evidence).hasDMARC,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.value("dmarc") == "fail",
				"%s Before the message was passed on DMARC had passed, as %s sealed with ARC, and the receiving side found the chain valid.",
				e.dmarcText(), e.sealer()).About(e.fromDomain)
		},
	},
	{
		Code: "header.dmarc.error", Severity: diag.Warning, Weight: 5, Category: factorAuthentication,
		DependsOn:   []diag.Code{"header.authres.missing"},
		Title:       "DMARC could not be evaluated",
		Requirement: "DMARC could be evaluated",
		Ref:         "RFC 8601 section 2.7.1; RFC 7489 section 11.2",
		Advice:      "Check the DMARC record and the name servers of the domain; receivers apply no policy meanwhile.",
		When:        (*evidence).hasDMARC,
		Fails: func(e *evidence) diag.Failures {
			v := e.value("dmarc")
			return diag.FailIf(v == "temperror" || v == "permerror", "The receiving side notes dmarc=%s for %s.", v,
				orDomain(e.fromDomain)).About(e.fromDomain)
		},
	},
	{
		Code: "header.dmarc.none", Severity: diag.Info, Category: factorAuthentication,
		DependsOn:   []diag.Code{"header.authres.missing"},
		Title:       "Domain in From publishes no DMARC policy",
		Requirement: "The domain in From publishes a DMARC policy",
		Ref:         "RFC 9989 section 4.10",
		Advice:      "Publish a DMARC record for the domain, beginning with p=none and reports.",
		When:        (*evidence).hasDMARC,
		Fails: func(e *evidence) diag.Failures {
			v := e.value("dmarc")
			return diag.FailIf(v == "none" || v == "bestguesspass", "The receiving side notes dmarc=%s for %s.", v,
				orDomain(e.fromDomain)).About(e.fromDomain)
		},
	},
	{
		Code: "header.spf.fail", Severity: diag.Error, Weight: 10, Category: factorAuthentication,
		DependsOn:   []diag.Code{"header.authres.missing"},
		Title:       "SPF failed, and nothing else authenticates the sender",
		Requirement: "SPF did not fail where nothing else authenticates the sender",
		Ref:         "RFC 7208 section 8.4",
		Advice:      "Do not trust the sender. If the message is yours, add the sending address to the SPF record of the envelope sender's domain.",
		When:        func(e *evidence) bool { return e.has("spf") },
		Fails: func(e *evidence) diag.Failures {
			aligned, _ := e.aligned("dkim")
			return diag.FailIf(e.value("spf") == "fail" && !aligned && !e.hasDMARC(), "%s", e.spfText()).About("spf")
		},
	},
	{
		Code: "header.spf.outweighed", Severity: diag.Info, Category: factorAuthentication,
		DependsOn:   []diag.Code{"header.spf.fail"},
		Title:       "SPF failed at the last hop",
		Requirement: "SPF did not fail at the last hop",
		Ref:         "RFC 7208 appendix D",
		Advice:      "Do not add forwarders to the SPF record: forwarding breaks SPF by design, and DMARC goes by DKIM then.",
		When:        func(e *evidence) bool { return e.has("spf") },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.value("spf") == "fail", "%s", e.spfText()).About("spf")
		},
	},
	{
		Code: "header.spf.weak", Severity: diag.Warning, Weight: 4, Category: factorAuthentication,
		DependsOn:   []diag.Code{"header.authres.missing"},
		Title:       "SPF does not authorize the sending address",
		Requirement: "SPF authorizes the sending address, or a signature proves the sender",
		Ref:         "RFC 7208 section 8",
		Advice:      "Add the sending service to the SPF record of the envelope sender's domain.",
		When:        func(e *evidence) bool { return e.has("spf") && e.value("dmarc") != "pass" },
		Fails: func(e *evidence) diag.Failures {
			signed, _ := e.aligned("dkim")
			return diag.FailIf(!signed && slices.Contains([]string{"softfail", "neutral", "none"}, e.value("spf")),
				"%s", e.spfText()).About("spf")
		},
	},
	{
		Code: "header.spf.error", Severity: diag.Warning, Weight: 4, Category: factorAuthentication,
		DependsOn:   []diag.Code{"header.authres.missing"},
		Title:       "SPF could not be evaluated",
		Requirement: "SPF could be evaluated",
		Ref:         "RFC 7208 section 8.7",
		Advice:      "Check the SPF record of the envelope sender's domain: permerror means that it is broken, temperror that a name server failed.",
		When:        func(e *evidence) bool { return e.has("spf") },
		Fails: func(e *evidence) diag.Failures {
			v := e.value("spf")
			return diag.FailIf(v == "permerror" || v == "temperror", "%s", e.spfText()).About("spf")
		},
	},
	{
		Code: "header.dkim.fail", Severity: diag.Warning, Weight: 6, Category: factorAuthentication,
		DependsOn:   []diag.Code{"header.authres.missing"},
		Title:       "No DKIM signature verified",
		Requirement: "A DKIM signature verified, or none was there",
		Ref:         "RFC 6376 section 6.1",
		Advice:      "Find out what changed the message behind the signer: a footer, a rewritten subject, a filter; or compare the published key.",
		When:        func(e *evidence) bool { return e.has("dkim") },
		Fails: func(e *evidence) diag.Failures {
			failed := e.failedDKIM()
			return diag.FailIf(len(e.passing("dkim")) == 0 && failed != "", "The receiving side notes %s.",
				failed).About("dkim")
		},
	},
	{
		Code: "header.alignment.none", Severity: diag.Warning, Weight: 6, Category: factorAuthentication,
		DependsOn:   []diag.Code{"header.authres.missing"},
		Title:       "What passed is not the domain in From",
		Requirement: "What passed is the domain in From",
		Ref:         "RFC 9989 section 4.4",
		Advice:      "Let the sending service sign with DKIM for the domain in From, or use a return path of that domain.",
		When: func(e *evidence) bool {
			return e.fromDomain != "" && !e.hasDMARC() && len(e.passing("spf"))+len(e.passing("dkim")) > 0
		},
		Fails: func(e *evidence) diag.Failures {
			spf, _ := e.aligned("spf")
			dkim, _ := e.aligned("dkim")
			passed := e.passedDomains()
			return diag.FailIf(!spf && !dkim && passed != "", "From has %s, and what passed is %s.", e.fromDomain,
				passed).About(e.fromDomain)
		},
	},
	{
		Code: "header.arc.order", Severity: diag.Warning, Category: factorAuthentication,
		DependsOn:   []diag.Code{"header.fields.none"},
		Title:       "ARC chain is damaged: a set is missing, incomplete or invalid",
		Requirement: "ARC sets are complete and run from 1 without gaps",
		Ref:         "RFC 8617 section 5.2",
		Advice:      "Ignore the chain: a server on the way removed or forged a part of it, so that it proves nothing.",
		When:        func(e *evidence) bool { return len(e.chain.Sets)+len(e.chain.Faults) > 0 },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailEach(e.chain.Faults, func(f arc.Fault) diag.Failures {
				return diag.Fail("ARC: %s",
					f.Text).About("arc")
			})
		},
	},
	{
		Code: "header.arc.fail", Severity: diag.Info, Category: factorAuthentication,
		DependsOn:   []diag.Code{"header.arc.order"},
		Title:       "ARC chain is marked as broken",
		Requirement: "No seal marks the ARC chain as broken",
		Ref:         "RFC 8617 section 4.4",
		Advice:      "Ignore the chain. ARC itself is no reason to refuse a message.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailEach(e.chain.Sets, func(s arc.Set) diag.Failures {
				return diag.FailIf(s.State == arc.Fail,
					"Seal %d by %s says cv=fail: the chain did not verify when it arrived there.", s.Instance, orDomain(s.Domain)).About("arc")
			})
		},
	},
}

// authenticated reports whether there is a result of SPF, DKIM or DMARC that counts.
func (e *evidence) authenticated() bool {
	return e.has("spf") || e.has("dkim") || e.has("dmarc") || e.has("arc") || e.has("compauth")
}

func (e *evidence) has(method string) bool { return len(e.results(method)) > 0 }

func (e *evidence) hasDMARC() bool { return e.has("dmarc") }

// value is the result of a method that counts; empty if there is none.
func (e *evidence) value(method string) string {
	r, _ := e.result(method)
	return r.Value
}

// dmarcText says how DMARC came out, and why as far as the results tell.
func (e *evidence) dmarcText() string {
	text := fmt.Sprintf("The receiving side notes dmarc=%s for %s", e.value("dmarc"), orDomain(e.fromDomain))
	r, _ := e.result("dmarc")
	if p := strings.ToLower(firstOf(r.Note("p"), r.Note("policy"))); p != "" {
		text += ", whose policy is " + diag.Quote(p)
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
			why = append(why, strings.ToUpper(method)+": "+diag.Quote(e.value(method)))
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

// spfText says how SPF came out.
func (e *evidence) spfText() string {
	r, _ := e.result("spf")
	text := fmt.Sprintf("The receiving side notes spf=%s for %s", diag.Quote(r.Value), orDomain(e.domainOf(&r)))
	if len(r.Comments) > 0 && r.Comments[0] != "" {
		text += " (" + diag.Quote(r.Comments[0]) + ")"
	}
	return text + "."
}

// orDomain is a domain for a sentence.
func orDomain(domain string) string {
	if domain == "" {
		return "an unnamed domain"
	}
	return diag.Quote(domain)
}

// named names a server at the beginning of a sentence.
func named(id string) string {
	if id == "" {
		return "A server that does not tell its name"
	}
	return diag.Quote(id)
}

// failedDKIM lists the signatures that failed, for a sentence; empty if none did.
func (e *evidence) failedDKIM() string {
	var list []string
	for _, r := range e.results("dkim") {
		if slices.Contains([]string{"fail", "permerror", "temperror", "policy", "neutral", "invalid"},
			r.Value) && len(list) < 5 {
			text := "dkim=" + r.Value + " for " + orDomain(r.Domain())
			if reason := firstOf(append([]string{r.Reason}, r.Comments...)...); reason != "" {
				text += " (" + diag.Quote(reason) + ")"
			}
			list = append(list, text)
		}
	}
	return strings.Join(list, " and ")
}

// passedDomains lists what passed, for a sentence.
func (e *evidence) passedDomains() string {
	var list []string
	for _, method := range []string{"spf", "dkim"} {
		for _, r := range e.passing(method) {
			if text := strings.ToUpper(method) + " for " + orDomain(e.domainOf(&r)); e.domainOf(&r) != "" && len(list) < 5 && !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	}
	return strings.Join(list, " and ")
}

// foreignFields are the fields Authentication-Results that the receiving side did not write.
func (e *evidence) foreignFields() []authField {
	return slices.DeleteFunc(slices.Clone(e.authFields),
		func(a authField) bool { return a.header == nil || !a.foreign })
}

// ownName reports whether a server's name is one under which the receiving side wrote results.
func (e *evidence) ownName(id string) bool {
	return id != "" && slices.ContainsFunc(e.authFields,
		func(a authField) bool { return !a.foreign && a.header != nil && a.id == id })
}

// contradicted lists the methods that a field of others says passed, and of which the receiving side found that they
// did not.
func (e *evidence) contradicted(a *authField) []string {
	var claims []string
	for _, r := range a.header.Results {
		found, ok := e.result(r.Method)
		if claim := r.Method + "=pass"; r.Value == "pass" && ok && found.Value != "pass" && !slices.Contains(claims,
			claim) {
			claims = append(claims, claim)
		}
	}
	return claims
}

// sealedPass reports whether the receiving side found the chain of ARC valid, and DMARC passed before it was sealed:
// a mailing list changed the message.
func (e *evidence) sealedPass() bool {
	h := e.sealed()
	return e.value("arc") == "pass" && h != nil && slices.ContainsFunc(h.Results,
		func(r result) bool { return r.Method == "dmarc" && r.Value == "pass" })
}

// sealer is the domain that sealed first.
func (e *evidence) sealer() string {
	if len(e.chain.Sets) == 0 {
		return orDomain("")
	}
	return orDomain(e.chain.Sets[0].Domain)
}
