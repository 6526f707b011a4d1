package header

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// authenticated reports whether there is a result of SPF, DKIM or DMARC that counts.
func (e *evidence) authenticated() bool {
	return e.has("spf") || e.has("dkim") || e.has("dmarc") || e.has("arc") || e.has("compauth")
}

// noted reports whether any server wrote Authentication-Results.
func (e *evidence) noted() bool {
	return slices.ContainsFunc(e.authFields, func(a authField) bool { return a.header != nil })
}

func (e *evidence) has(method string) bool { return len(e.results(method)) > 0 }

func (e *evidence) hasDMARC() bool { return e.has("dmarc") }

// tellsPolicy reports whether the result of DMARC tells if the domain has a policy.
func (e *evidence) tellsPolicy() bool {
	return slices.Contains([]string{"pass", "fail", "none", "bestguesspass"}, e.value("dmarc"))
}

// tellsSPF reports whether SPF has a result that neither failed nor ended with an error, and DMARC did not pass.
func (e *evidence) tellsSPF() bool {
	return slices.Contains([]string{"pass", "softfail", "neutral", "none"}, e.value("spf")) && e.value("dmarc") != "pass"
}

// value is the result of a method that counts; empty if there is none.
func (e *evidence) value(method string) string {
	r, _ := e.result(method)
	return r.Value
}

// dmarcText says how DMARC came out, and why as far as the results tell.
func (e *evidence) dmarcText() string {
	text := fmt.Sprintf("The receiving server recorded dmarc=%s for %s", e.value("dmarc"), orDomain(e.fromDomain))
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
	text := fmt.Sprintf("The receiving server recorded spf=%s for %s", diag.Quote(r.Value), orDomain(e.domainOf(&r)))
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
		return "An unnamed server"
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
