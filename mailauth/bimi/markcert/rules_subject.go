package markcert

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/rule"
)

const fieldsRef = mcr + " section 7.1.4.2.2"

const reissue = "Ask the authority to reissue the certificate with the right fields. Receivers currently show " +
	"the logo regardless."

// required are the fields of every mark certificate, and those that a mark type requires in addition.
var (
	required    = []field{organization, streetAddress, country, businessCategory, registrationNumber, jurisdictionCountry}
	requiredFor = map[MarkType][]field{
		Registered: {trademarkCountry, trademarkID}, ModifiedRegistered: {trademarkCountry, trademarkID},
		Government: {statuteCountry, statuteCitation},
	}
	trademarks = []MarkType{Registered, ModifiedRegistered}
	// allowedFor are the mark types that have a field at all.
	allowedFor = []struct {
		field field
		types []MarkType
	}{
		{trademarkOffice, trademarks}, {trademarkCountry, trademarks}, {trademarkID, trademarks},
		{statuteCountry, []MarkType{Government}}, {statuteState, []MarkType{Government}},
		{statutePlace, []MarkType{Government}},
		{statuteCitation, []MarkType{Government}}, {statuteURL, []MarkType{Government}},
		{priorUseURL, []MarkType{PriorUse}},
	}
	// implied are fields that require another one: a city requires its state.
	implied = map[field]field{jurisdictionPlace: jurisdictionState, statutePlace: statuteState}
)

// categories are the kinds of organizations (section 4.1.1 of the EV Guidelines).
var categories = []string{"Private Organization", "Government Entity", "Business Entity", "Non-Commercial Entity"}

// sourceSince is the date from which certificates for marks in prior use name the source at which the authority saw
// the mark.
var sourceSince = time.Date(2025, time.April, 15, 0, 0, 0, 0, time.UTC)

func hasType(e *evidence) bool {
	return isMark(e) && e.mark.Subject.Type() != UnknownType && e.mark.Subject.markType() != Provisional
}

var subjectRules = rule.Rules[*evidence]{{
	Code: "markcert.type.unknown", Severity: diag.Error, Weight: 3, Ref: fieldsRef,
	Title: "Mark type missing or unknown", Requirement: "The certificate says how the mark was verified",
	Advice: "Ask the authority to reissue the certificate with the mark type: mailboxes choose by it whether to show " +
		"the logo, and whether with a check mark.",
	Fails: func(e *evidence) rule.Failures {
		t := e.mark.Subject.markType()
		if e.mark.Subject.Type() != UnknownType {
			return nil
		}
		if t == "" {
			return rule.Fail("The subject has no mark type (1.3.6.1.4.1.53087.1.13), and no trademark from which it could " +
				"be inferred.")
		}
		return rule.Fail("The mark type is %q, which is not a known one: Registered Mark, Government Mark, "+
			"Prior Use Mark, Modified Registered Mark.", phrase.Quote(string(t)))
	},
}, {
	Code: "markcert.type.common", Severity: diag.Info, DependsOn: []diag.Code{"markcert.type.unknown"}, Ref: mcr,
	Title: "Common mark certificate (CMC)", Requirement: "The certificate is a verified mark certificate (VMC)",
	Advice: "Check that the mailboxes that matter to you accept it: Gmail shows the logo without the check mark, Apple " +
		"Mail asks for a verified mark certificate, which needs a registered trademark.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.mark.Subject.Type() == CMC, "The mark type %s makes it a common mark certificate.",
			e.mark.Subject.markType())
	},
}, {
	Code: "markcert.subject.missing", Severity: diag.Warning, Weight: 2, Ref: fieldsRef,
	Title: "Required fields missing in the subject", Requirement: "The subject has all required fields",
	Advice: reissue,
	Fails: func(e *evidence) rule.Failures {
		s, t := e.mark.Subject, e.mark.Subject.markType()
		return rule.FailEach(slices.Concat(required, requiredFor[t]), func(f field) rule.Failures {
			what := "each mark certificate"
			if slices.Contains(requiredFor[t], f) {
				what = "a certificate for a " + string(t)
			}
			return rule.FailIf(!s.has(f), "The subject has no %s, which %s must have.", f, what).About(string(f))
		})
	},
}, {
	Code: "markcert.subject.place", Severity: diag.Warning, Weight: 1, Ref: fieldsRef,
	Title: "Neither locality nor state in the subject", Requirement: "The subject has a locality or a state",
	Advice: reissue,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!e.mark.Subject.has(locality) && !e.mark.Subject.has(stateOrProvince),
			"The subject has neither localityName nor stateOrProvinceName; one of the two is required.")
	},
}, {
	Code: "markcert.subject.state", Severity: diag.Warning, Weight: 1, Ref: fieldsRef,
	Title: "Place without its state in the subject", Requirement: "Places in the subject come with their state",
	Advice: reissue,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach([]field{jurisdictionPlace, statutePlace}, func(f field) rule.Failures {
			return rule.FailIf(e.mark.Subject.has(f) && !e.mark.Subject.has(implied[f]),
				"The subject has %s without %s.", f, implied[f]).About(string(f))
		})
	},
}, {
	Code: "markcert.subject.category", Severity: diag.Warning, Weight: 1, Ref: fieldsRef,
	Title: "Unknown business category", Requirement: "The business category is one of the four that are defined",
	Advice: reissue,
	When:   func(e *evidence) bool { return isMark(e) && e.mark.Subject.has(businessCategory) },
	Fails: func(e *evidence) rule.Failures {
		c := e.mark.Subject.get(businessCategory)
		return rule.FailIf(!slices.Contains(categories, c), "The businessCategory is %q, not one of: %s.",
			phrase.Quote(c), strings.Join(categories, ", ")).About(string(businessCategory))
	},
}, {
	Code: "markcert.subject.source", Severity: diag.Warning, Weight: 1, Ref: fieldsRef,
	Title:       "Source of the mark in prior use missing",
	Requirement: "A certificate for a mark in prior use says where the mark was seen",
	Advice:      reissue,
	When:        func(e *evidence) bool { return isMark(e) && e.mark.Subject.markType() == PriorUse },
	Fails: func(e *evidence) rule.Failures {
		begin := e.mark.X509.NotBefore
		return rule.FailIf(!begin.Before(sourceSince) && !e.mark.Subject.has(priorUseURL),
			"The subject has no %s, which certificates for a Prior Use Mark must have since %s; this one is of %s.",
			priorUseURL, date(sourceSince), date(begin)).About(string(priorUseURL))
	},
}, {
	Code: "markcert.subject.foreign", Severity: diag.Warning, Weight: 1, Ref: fieldsRef,
	Title: "Fields of another mark type in the subject", Requirement: "The subject has no field of another mark type",
	Advice: reissue,
	When:   hasType, Fails: func(e *evidence) rule.Failures {
		var all rule.Failures
		for _, a := range allowedFor {
			if e.mark.Subject.has(a.field) && !slices.Contains(a.types, e.mark.Subject.markType()) {
				all = append(all, rule.Fail("The subject has %s, which a certificate for a %s must not have.",
					a.field, e.mark.Subject.markType()).About(string(a.field))...)
			}
		}
		return all
	},
}}

var domainRules = rule.Rules[*evidence]{{
	Code: "markcert.names.missing", Severity: diag.Critical, Weight: 4, Ref: draft + "4.3",
	Title: "No domain in the certificate", Requirement: "The certificate names a domain",
	Advice: "Have the certificate reissued with your domain as a DNS name: receivers read no other field.",
	When:   isMark, Fails: func(e *evidence) rule.Failures {
		if len(e.mark.X509.DNSNames) > 0 {
			return nil
		}
		if cn := e.described().Subject.CommonName; strings.Contains(cn, ".") {
			return rule.Fail("The certificate has no DNS name among its subject alternative names; the common name %s does "+
				"not count.", phrase.Quote(cn))
		}
		return rule.Fail("The certificate has no DNS name among its subject alternative names.")
	},
}, {
	Code: "cert_domain_mismatch", Severity: diag.Critical, Weight: 10, DependsOn: []diag.Code{"markcert.names.missing"},
	Ref:   draft + "5.2",
	Title: "Certificate is for another domain", Requirement: "The certificate covers the domain",
	Advice: "Have the certificate reissued with the domain in it, or publish that of this domain: receivers show no " +
		"logo of another one.",
	When: func(e *evidence) bool { return isMark(e) && e.place != nil }, Fails: failMismatch,
}, {
	Code: "markcert.names.wildcard", Severity: diag.Warning, Weight: 1, Ref: draft + "5.2",
	Title: "Wildcard in a mark certificate", Requirement: "The certificate has no wildcard names",
	Advice: "Have the certificate reissued with each domain by name. A record of the organizational domain covers its " +
		"subdomains anyway.",
	When: isMark, Fails: func(e *evidence) rule.Failures {
		list := e.mark.Coverage.Wildcards
		return rule.FailIf(len(list) > 0, "The certificate names %s. Names are compared as they are, so that a wildcard "+
			"covers no domain.", join(list))
	},
}}

func failMismatch(e *evidence) rule.Failures {
	if e.coversDomain() {
		return nil
	}
	names := slices.Concat(e.mark.Coverage.Domains, e.mark.Coverage.Selectors, e.mark.Coverage.Wildcards)
	for i, n := range names {
		names[i] = phrase.Quote(n)
	}
	list := phrase.Series(names, maxInSentence)
	place := *e.place
	if place.Selector != "" {
		if place.Selector = ""; e.mark.Coverage.covers(place) {
			return rule.Failures{{
				Detail: fmt.Sprintf("The certificate is for %s, not for the selector %s of %s.",
					list, e.place.Selector, e.place.Domain),
				Advice: "Publish the record at the selector that the certificate names, or have it reissued for the domain " +
					"without a selector.",
			}}
		}
	}
	f := rule.Fail("The certificate is for %s, not for %s.", list, e.place.Domain)
	below := func(n string) bool { return strings.HasSuffix(n, "."+e.place.Domain) }
	if slices.ContainsFunc(e.mark.Coverage.Domains, below) {
		f[0].Advice = "Have the certificate reissued with the domain itself: the name of a subdomain does not cover it."
	}
	return f
}

// pilotEnd is when certificates with the extension of the pilot of CMCs ceased to be issued.
var pilotEnd = time.Date(2025, time.March, 15, 0, 0, 0, 0, time.UTC)

var profileRules = rule.Rules[*evidence]{{
	Code: "markcert.key.weak", Severity: diag.Error, Weight: 3, Ref: mcr + " section 6.1.5",
	Title: "Weak public key", Requirement: "The key is strong enough",
	Advice: "Have the certificate reissued with an RSA key of at least 2048 bits or a key on the curve P-256 or P-384.",
	Fails: func(e *evidence) rule.Failures {
		k := e.described().PublicKey
		return rule.FailIf(k.Weak, "The key of the certificate is weak: %s.", k.WeakReason)
	},
}, {
	Code: "markcert.usage.signing", Severity: diag.Error, Weight: 1, Ref: mcr,
	Title: "Mark certificate may sign other certificates", Requirement: "The certificate may not sign others",
	Advice: "Have the certificate reissued without the key usages of an authority.",
	Fails: func(e *evidence) rule.Failures {
		c := e.mark.X509
		return rule.FailIf(c.IsCA || c.KeyUsage&(x509.KeyUsageCertSign|x509.KeyUsageCRLSign) != 0,
			"The certificate has the basic constraints or the key usage of an authority.")
	},
}, {
	Code: "markcert.usage.extra", Severity: diag.Warning, Weight: 1, DependsOn: []diag.Code{"cert_not_vmc"}, Ref: mcr,
	Title: "Mark certificate has further purposes", Requirement: "The certificate has no purpose but marks",
	Advice: "Have the certificate reissued with id-kp-BrandIndicatorforMessageIdentification as its only purpose: logs " +
		"refuse others.",
	Fails: func(e *evidence) rule.Failures {
		list := e.described().ExtKeyUsage
		return rule.FailIf(len(list) > 1, "The certificate has these purposes: %s.", join(list))
	},
}, {
	Code: "markcert.policy.missing", Severity: diag.Warning, Weight: 1, DependsOn: []diag.Code{"cert_not_vmc"}, Ref: mcr,
	Title: "Policy of mark certificates missing", Requirement: "The certificate names the policy of mark certificates",
	Advice: "Have the certificate reissued with the policy 1.3.6.1.4.1.53087.1.1: logs refuse certificates without it.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!slices.ContainsFunc(e.mark.X509.PolicyIdentifiers, oidPolicy.Equal),
			"The certificate policies do not include "+
				"1.3.6.1.4.1.53087.1.1, the Mark Certificate General Policy Identifier.")
	},
}, {
	Code: "markcert.revocation.missing", Severity: diag.Error, Weight: 1, DependsOn: []diag.Code{"cert_not_vmc"},
	Ref:   draft + "5.1",
	Title: "No revocation list named", Requirement: "The certificate names a revocation list",
	Advice: "Have the certificate reissued with a CRL distribution point: receivers must be able to check whether it " +
		"was revoked.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(len(e.mark.X509.CRLDistributionPoints) == 0, "The certificate has no CRL distribution point.")
	},
}, {
	Code: "markcert.constraints.forbidden", Severity: diag.Error, Weight: 1, Ref: "RFC 5280 section 4.2.1.10",
	Title: "Name constraints in a mark certificate", Requirement: "The certificate has no name constraints",
	Advice: "Have the certificate reissued without name constraints: they belong in certificates of authorities only.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(extension(e.mark.X509, oidNames) != nil, "The certificate has the extension name constraints "+
			"(2.5.29.30).")
	},
}, {
	Code: "markcert.pilot.late", Severity: diag.Error, Weight: 1, Ref: mcr,
	Title:       "Pilot extension in a certificate issued after the pilot",
	Requirement: "The certificate has no extension of the pilot, which ended on 2025-03-15",
	Advice:      "Have the certificate reissued without the extension 1.3.6.1.4.1.53087.4.1.",
	Fails: func(e *evidence) rule.Failures {
		begin := e.mark.X509.NotBefore
		return rule.FailIf(e.mark.Pilot && !begin.Before(pilotEnd),
			"The certificate, issued on %s, has the pilot identifier, which is forbidden since %s.",
			date(begin), date(pilotEnd))
	},
}}

func (e *evidence) described() pki.Certificate { return pki.Describe(e.mark.X509, e.now) }
