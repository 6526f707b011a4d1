package markcert

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

var domainRules = diag.Rules[*evidence]{{
	Code: "markcert.names.missing", Severity: diag.Critical, Weight: 4, Ref: draft + "4.3",
	Title: "No domain in the certificate", Requirement: "The certificate names a domain",
	Advice: "Have the certificate reissued with your domain as a DNS name: receivers look at no other field.",
	When:   marked, Fails: func(e *evidence) diag.Failures {
		if len(e.mark.X509.DNSNames) > 0 {
			return nil
		}
		if cn := e.described().Subject.CommonName; strings.Contains(cn, ".") {
			return diag.Fail("The certificate has no DNS name among its subject alternative names; the common name %s does "+
				"not count.", diag.Quote(cn))
		}
		return diag.Fail("The certificate has no DNS name among its subject alternative names.")
	},
}, {
	Code: "cert_domain_mismatch", Severity: diag.Critical, Weight: 10, DependsOn: []diag.Code{"markcert.names.missing"},
	Ref:   draft + "5.2",
	Title: "Certificate is for another domain", Requirement: "The certificate covers the domain",
	Advice: "Have the certificate reissued with the domain in it, or publish that of this domain: receivers show no " +
		"logo of another one.",
	When: placed, Fails: mismatch,
}, {
	Code: "markcert.names.wildcard", Severity: diag.Warning, Weight: 1, Ref: draft + "5.2",
	Title: "Wildcard in a mark certificate", Requirement: "The certificate has no wildcard names",
	Advice: "Have the certificate reissued with each domain by name. A record of the organizational domain covers its " +
		"subdomains anyway.",
	When: marked, Fails: func(e *evidence) diag.Failures {
		list := e.mark.Coverage.Wildcards
		return diag.FailIf(len(list) > 0, "The certificate names %s. Names are compared as they are, so that a wildcard "+
			"covers no domain.", join(list))
	},
}}

func mismatch(e *evidence) diag.Failures {
	if e.covers() {
		return nil
	}
	names := slices.Concat(e.mark.Coverage.Domains, e.mark.Coverage.Selectors, e.mark.Coverage.Wildcards)
	for i, n := range names {
		names[i] = diag.Quote(n)
	}
	list := diag.Series(names, maxInSentence)
	place := *e.place
	if place.Selector != "" {
		if place.Selector = ""; e.mark.Coverage.Covers(place) {
			return diag.Failures{{
				Detail: fmt.Sprintf("The certificate is for %s, not for the selector %s of %s.",
					list, e.place.Selector, e.place.Domain),
				Advice: "Publish the record at the selector that the certificate names, or have it reissued for the domain " +
					"without a selector.",
			}}
		}
	}
	f := diag.Fail("The certificate is for %s, not for %s.", list, e.place.Domain)
	below := func(n string) bool { return strings.HasSuffix(n, "."+e.place.Domain) }
	if slices.ContainsFunc(e.mark.Coverage.Domains, below) {
		f[0].Advice = "Have the certificate reissued with the domain itself: the name of a subdomain does not cover it."
	}
	return f
}
