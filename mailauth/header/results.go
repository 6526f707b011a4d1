package header

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

func (e *evidence) dmarcText() string {
	r, _ := e.result("dmarc")
	text := fmt.Sprintf("The receiving server recorded dmarc=%s for %s", r.Value, orDomain(e.fromDomain))
	if p := strings.ToLower(cmp.Or(r.Note("p"), r.Note("policy"))); p != "" {
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

func (e *evidence) spfText() string {
	r, _ := e.result("spf")
	text := fmt.Sprintf("The receiving server recorded spf=%s for %s", diag.Quote(r.Value), orDomain(e.domainOf(&r)))
	if len(r.Comments) > 0 && r.Comments[0] != "" {
		text += " (" + diag.Quote(r.Comments[0]) + ")"
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
				text += " (" + diag.Quote(reason) + ")"
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
