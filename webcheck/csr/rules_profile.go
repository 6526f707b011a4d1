package csr

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/pki"
)

// subjectRef is where the content of the subject is decided, for certificates that name an organization.
const subjectRef = br + "7.1.2.7.4"

// subjectRule is one that each attribute of the subject may fail.
func subjectRule(code diag.Code, severity diag.Severity, title, requirement, ref, advice, detail string, fails func(subjectAttribute) bool) rule {
	return rule{
		Code: code, Severity: severity, Title: title, Requirement: requirement, Ref: ref, Advice: advice, When: readable,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailEach(e.csr.Attributes, func(a subjectAttribute) diag.Failures {
				if !fails(a) {
					return nil
				}
				return diag.Fail(detail, attributeName(a.OID), diag.Quote(a.Value)).About(attributeName(a.OID)).
					Suggesting(e.correction())
			})
		},
	}
}

// subjectRules are about the subject, of which authorities certify only what they have verified.
var subjectRules = diag.Rules[*evidence]{
	subjectRule("csr.subject.country", diag.Warning, "Invalid country code", "The country is a code of ISO 3166-1", subjectRef,
		"Write the two letters of ISO 3166-1 in upper case, such as GB, or leave the country out, as the suggested command does.",
		"The %s is %q, which is not an ISO 3166-1 code.", func(a subjectAttribute) bool { return a.OID == oidCountry && !isCountry(a.Value) }),
	subjectRule("csr.subject.default", diag.Warning, "Default value in the subject", "No value is a program's default", subjectRef,
		"Leave the value out, as the suggested command does, or write your own.",
		"The %s is %q, the default value of a program.", isDefault),
	subjectRule("csr.subject.placeholder", diag.Warning, "Placeholder in the subject", "The subject has no placeholders", subjectRef,
		"Leave the value out, as the suggested command does.",
		"The %s is %q. Authorities may not certify placeholders.", func(a subjectAttribute) bool { return !isDefault(a) && isPlaceholder(a.Value) }),
	subjectRule("csr.subject.length", diag.Error, "Value in the subject is too long", "No value of the subject is too long", br+"7.1.4.2, RFC 5280 appendix A.1",
		"Shorten the value. Long host names belong in the subjectAltName only; the suggested command does so.",
		"The %s is too long: %s.", tooLong),
	subjectRule("csr.subject.unit", diag.Warning, "Organizational unit (OU) in the subject", "The subject has no organizational unit", subjectRef,
		"Leave the organizational unit out, as the suggested command does: authorities have not been allowed to certify it since September 2022.",
		"The subject has the %s %q.", func(a subjectAttribute) bool { return a.OID == oidUnit && !isDefault(a) && !isPlaceholder(a.Value) }),
}

// extensionRules are about the extensions that are asked for. Authorities make their own, and refuse a request that
// asks for what they may not give.
var extensionRules = diag.Rules[*evidence]{{
	Code: "csr.extensions.duplicate", Severity: diag.Error, Ref: "RFC 5280 section 4.2",
	Title: "Extension is requested twice", Requirement: "Each extension stands once",
	Advice: regenerate,
	Fails: func(e *evidence) diag.Failures {
		seen, list := map[string]int{}, []string(nil)
		for _, x := range e.csr.Extensions {
			if seen[x.OID]++; seen[x.OID] == 2 {
				list = append(list, extensionName(x.OID))
			}
		}
		return diag.FailIf(len(list) > 0, "The request asks more than once for: %s.", sentence(list)).Suggesting(e.correction())
	},
}, {
	Code: "csr.constraints.ca", Severity: diag.Error, Ref: br + "7.1.2.7.8",
	Title: "Request for a CA certificate", Requirement: "The request is not for a certificate that issues others",
	Advice: "Leave the basic constraints out, as the suggested command does: no public authority signs another CA on request.",
	Fails: func(e *evidence) diag.Failures {
		b := e.csr.Constraints
		return diag.FailIf(b != nil && b.IsCA, "The request asks for basic constraints with CA:TRUE.").Suggesting(e.correction())
	},
}, {
	Code: "csr.usage.signing", Severity: diag.Error, Ref: br + "7.1.2.7.11",
	Title: "Key usage of a CA", Requirement: "No key usage of an authority is asked for",
	Advice: "Leave the key usage out, as the suggested command does: the authority sets it.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(slices.Contains(e.csr.KeyUsage, "keyCertSign") || slices.Contains(e.csr.KeyUsage, "cRLSign"),
			"The request asks for these key usages: %s.", sentence(e.csr.KeyUsage)).Suggesting(e.correction())
	},
}, {
	Code: "csr.usage.unsuitable", Severity: diag.Warning, Ref: br + "7.1.2.7.11",
	Title: "Key usage does not suit the key", Requirement: "The key usage suits the key",
	Advice: "Leave the key usage out, as the suggested command does: the authority sets it.",
	When:   func(e *evidence) bool { return e.csr != nil && e.csr.HasUsage },
	Fails: func(e *evidence) diag.Failures {
		allowed := []string{"digitalSignature", "keyEncipherment", "dataEncipherment", "keyCertSign", "cRLSign"}
		if e.csr.Key.Algorithm == pki.ECDSA {
			allowed = []string{"digitalSignature", "keyAgreement", "keyCertSign", "cRLSign"}
		}
		bad := slices.DeleteFunc(slices.Clone(e.csr.KeyUsage), func(u string) bool { return slices.Contains(allowed, u) })
		return diag.FailIf(len(bad) > 0, "Certificates for servers with such a key may not have the key usage: %s.", sentence(bad)).
			Suggesting(e.correction())
	},
}, {
	Code: "csr.purpose.server", Severity: diag.Warning, Ref: br + "7.1.2.7.10",
	Title: "Purpose (EKU) is not serverAuth", Requirement: "If purposes are asked for, serverAuth is one of them",
	Advice: "Leave the purposes out or ask for serverAuth: without it browsers refuse the certificate. The suggested command leaves them out.",
	When:   func(e *evidence) bool { return e.csr != nil && e.csr.HasPurposes },
	Fails: func(e *evidence) diag.Failures {
		list := e.csr.ExtKeyUsage
		if len(list) == 0 {
			return diag.Fail("The extended key usage (EKU) of the request is empty.").Suggesting(e.correction())
		}
		return diag.FailIf(!slices.Contains(list, "serverAuth"), "The extended key usage (EKU) of the request lacks serverAuth; it has: %s.",
			sentence(list)).Suggesting(e.correction())
	},
}, {
	Code: "csr.purpose.other", Severity: diag.Warning, DependsOn: []diag.Code{"csr.purpose.server"},
	Ref:         br + "7.1.2.7.10",
	Title:       "Purpose (EKU) not allowed in certificates for servers",
	Requirement: "No purpose is asked for but serverAuth and clientAuth",
	Advice:      "Leave the purposes out, as the suggested command does.",
	When:        func(e *evidence) bool { return e.csr != nil && e.csr.HasPurposes },
	Fails: func(e *evidence) diag.Failures {
		bad := slices.DeleteFunc(slices.Clone(e.csr.ExtKeyUsage), func(u string) bool { return u == "serverAuth" || u == "clientAuth" })
		return diag.FailIf(len(bad) > 0, "The request asks for further purposes: %s.", sentence(bad)).Suggesting(e.correction())
	},
}, {
	Code: "csr.purpose.client", Severity: diag.Info, Ref: "Chrome Root Program Policy",
	Title: "Purpose clientAuth is being phased out", Requirement: "The purpose clientAuth is not asked for",
	Advice: "Use a private CA for client certificates: Chrome requires public ones to certify servers only.",
	When:   func(e *evidence) bool { return e.csr != nil && e.csr.HasPurposes },
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(slices.Contains(e.csr.ExtKeyUsage, "clientAuth"), "The request asks for the purpose clientAuth.")
	},
}, {
	Code: "csr.staple.required", Severity: diag.Info, Ref: "RFC 7633 section 4",
	Title: "Must-staple is requested", Requirement: "The request does not ask for must-staple",
	Advice: "Leave it out unless the authority runs OCSP and the server staples: Let's Encrypt has refused such requests since May 2025.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.csr.MustStaple, "The request asks for the TLS feature status_request (must-staple).")
	},
}, {
	Code: "csr.challenge.present", Severity: diag.Info, Ref: "RFC 2985 section 5.4.1",
	Title: "Challenge password in the request", Requirement: "The request has no challenge password",
	Advice: "Leave it empty next time: authorities ignore the password, and anyone can read it.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.csr.Challenge, "The request has the attribute challengePassword, which is not encrypted.")
	},
}}

// others lists the extensions beside those that the report shows one by one.
func (c *contents) others() []string {
	list := []string{}
	for _, x := range c.Extensions {
		switch x.OID {
		case oidSAN, oidKeyUsage, oidExtKeyUsage, oidConstraints, oidTLSFeature:
		default:
			if name := extensionName(x.OID); !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
	}
	return list
}
