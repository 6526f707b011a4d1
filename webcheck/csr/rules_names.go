package csr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/rule"
	"golang.org/x/net/publicsuffix"
)

// sanRef is where the content of the extension subjectAltName is decided.
const sanRef = br + "7.1.2.7.12"

func named(e *evidence) bool { return e.csr != nil && len(e.names) > 0 }

// nameRule returns a rule that refuses names of a kind, and reports one for all.
func nameRule(code diag.Code, title, requirement, ref, advice string, is func(Name) bool) rule.Rule[*evidence] {
	return rule.Rule[*evidence]{
		Code: code, Severity: diag.Error, Title: title, Requirement: requirement, Ref: ref, Advice: advice,
		Fails: func(e *evidence) rule.Failures {
			all := rule.FailEach(e.names, func(n Name) rule.Failures {
				switch {
				case !is(n):
					return nil
				case n.Value == "":
					return rule.Fail("A name of the request is empty.").Suggesting(e.correction())
				}
				return rule.Fail("The name %s cannot be certified: %s.", shown(n.Value), n.Reason).About(shown(n.Value)).
					Suggesting(e.correction())
			})
			if len(all) < 2 {
				return all
			}
			return all.Together("%s The same applies to another %s of the request.", all[0].Detail,
				phrase.Count(len(all)-1, "name"))
		},
	}
}

func with(fault NameFault) func(Name) bool { return func(n Name) bool { return n.Fault == fault } }
func typed(t NameType) func(Name) bool     { return func(n Name) bool { return n.Type == t } }

// maxNames is how many names many authorities put into a certificate.
const maxNames = 100

var nameRules = rule.Rules[*evidence]{
	{
		Code: "csr.names.none", Severity: diag.Error, Ref: sanRef,
		Title: "No identifier in the request", Requirement: "The request names a host",
		Advice: "Make a new request with the names of the server: " +
			"openssl req -new -key FILE -addext 'subjectAltName=DNS:NAME'.",
		When: readable,
		Fails: func(e *evidence) rule.Failures {
			return rule.FailIf(len(e.names) == 0, "The request has neither a subjectAltName with a name nor a common name.")
		},
	},
	{
		Code: "csr.names.san_missing", Severity: diag.Warning, DependsOn: []diag.Code{"csr.names.none"}, Ref: sanRef,
		Title: "Subject alternative name missing", Requirement: "The names are in the extension subjectAltName",
		Advice: "Make a new request with a subjectAltName, as the suggested command does. Many authorities add the common " +
			"name themselves; browsers read nothing but the subjectAltName.",
		When: readable,
		Fails: func(e *evidence) rule.Failures {
			detail := "The request has no subjectAltName (SAN); its only name is the common name %s."
			if e.csr.HasSAN {
				detail = "The subjectAltName (SAN) of the request is empty; the only name is the common name %s."
			}
			return rule.FailIf(len(e.csr.Names) == 0 && !e.csr.Unreadable, detail, shown(e.names[0].Value)).
				Suggesting(e.correction())
		},
	},
	nameRule("csr.names.invalid", "Invalid DNS name", "All host names are well formed",
		sanRef+", RFC 5280 section 4.2.1.6",
		"Correct the name, as the suggested command does where it can.", with(badSyntax)),
	nameRule("csr.names.idn", "Invalid internationalized name (IDN)", "All A-labels are valid",
		sanRef+", RFC 5891 section 4.2",
		"Write the name in Unicode, and let dns/idn convert it.", with(badIDN)),
	nameRule("csr.names.ip_as_dns", "IP address as a DNS name", "IP addresses are in the request as such", sanRef,
		"Write the address with the type IP, as the suggested command does.", with(addressAsDNS)),
	nameRule("csr.names.wildcard", "Invalid wildcard", "The asterisk of a wildcard is the whole of the first label",
		br+"1.6.1, RFC 9525 section 6.3",
		"Name the hosts one by one, or request a wildcard of the form *.example.com.", with(badWildcard)),
	nameRule("csr.names.wildcard_suffix", "Wildcard for a public suffix", "No wildcard covers all of a public suffix",
		br+"3.2.2.6",
		"Ask for a wildcard of your own domain.", with(wildcardSuffix)),
	nameRule("csr.names.public_suffix", "Name is a public suffix", "No name is a public suffix", br+"3.2.2.4",
		"Ask for a name in your own domain.", with(publicSuffix)),
	nameRule("csr.names.internal", "Internal name", "All names are in the public DNS", br+"4.2.2",
		"Use a name in a domain that you have registered, or a private CA for internal names.", with(internalName)),
	nameRule("csr.names.reverse", "Reverse DNS name among the names", "No name is a reverse DNS name", br+"4.2.2",
		"Ask for the host name or for the address itself.", with(reverseName)),
	nameRule("csr.names.reserved_ip", "Reserved IP address among the names", "All IP addresses are public",
		br+"4.2.2, RFC 6890",
		"Ask for a public address or a host name, or use a private CA for private addresses.", with(reservedIP)),
	nameRule("csr.names.email", "Email address among the names (SAN)", "No name is a mail address", sanRef,
		"Leave the mail address out, as the suggested command does: certificates for servers cannot contain it.",
		typed(EmailName)),
	nameRule("csr.names.uri", "URI among the names (SAN)", "No name is a URI", sanRef,
		"Leave the URI out, as the suggested command does: certificates for servers cannot contain it.", typed(URIName)),
	nameRule("csr.names.other", "Name of another type (SAN)", "All names are host names or IP addresses", sanRef,
		"Leave the name out, as the suggested command does: "+
			"certificates for servers contain host names and IP addresses only.", typed(OtherName)),
	{
		Code: "csr.names.duplicate", Severity: diag.Warning, Ref: sanRef,
		Title: "Duplicate name (SAN)", Requirement: "Each name appears once",
		Advice: "Name each host once, as the suggested command does.",
		Fails: func(e *evidence) rule.Failures {
			return rule.FailEach(e.repeated(), func(s string) rule.Failures {
				return rule.Fail("The name %s appears in the request more than once.", shown(s)).About(shown(s)).
					Suggesting(e.correction())
			})
		},
	},
	{
		Code: "csr.names.many", Severity: diag.Warning, Ref: "Let's Encrypt, Rate Limits",
		Title: "More than 100 names", Requirement: "The request has at most 100 names",
		Advice: "Ask for several certificates, or for a wildcard: most authorities stop at 100 names, " +
			"and some charge for each.",
		When: readable,
		Fails: func(e *evidence) rule.Failures {
			detail := fmt.Sprintf("The request has %d names.", len(e.csr.Names))
			if len(e.csr.Names) > maxJudged {
				detail = fmt.Sprintf("The request has %d names, and the first %d of them are "+
					"judged.", len(e.csr.Names), maxJudged)
			}
			return rule.FailIf(len(e.csr.Names) > maxNames, "%s", detail)
		},
	},
	{
		Code: "csr.names.apex", Severity: diag.Info, Ref: "RFC 9525 section 6.3",
		Title: "Wildcard without the domain itself", Requirement: "A wildcard comes with the domain itself",
		Advice: "Add the domain itself if the server answers for it: the wildcard does not cover it.",
		Fails: func(e *evidence) rule.Failures {
			return rule.FailEach(e.names, func(n Name) rule.Failures {
				base := strings.TrimPrefix(strings.ToLower(n.Value), "*.")
				apex, err := publicsuffix.EffectiveTLDPlusOne(base)
				return rule.FailIf(n.Wild && n.Valid && err == nil && apex == base && !e.has(base),
					"The wildcard %s does not cover %s, which is not among the names.", shown(n.Value), shown(base)).
					About(shown(n.Value))
			})
		},
	},
	{
		Code: "csr.cn.ip", Severity: diag.Warning, Ref: br + "7.1.4.3",
		Title:       "Common name (CN) is an IP address",
		Requirement: "The common name is not an IP address, unless it is one of the names",
		Advice:      "Put the address among the names with the type IP, as the suggested command does, or leave it out.",
		When:        func(e *evidence) bool { return e.csr != nil && len(e.common) > 0 },
		Fails: func(e *evidence) rule.Failures {
			return rule.FailEach(e.common, func(s string) rule.Failures {
				return rule.FailIf(asName(s).Type == IPName && !e.listed(s),
					"The common name (CN) is the IP address %s, which is not among the names of the request.", shown(s)).
					Suggesting(e.correction())
			})
		},
	},
	{
		Code: "csr.cn.not_in_san", Severity: diag.Warning, DependsOn: []diag.Code{"csr.cn.ip"}, Ref: br + "7.1.4.3",
		Title:       "Common name (CN) is not among the names (SAN)",
		Requirement: "The common name is one of the alternative names",
		Advice: "Add the common name to the subjectAltName, as the suggested command does, or leave it out: " +
			"browsers ignore it.",
		When: func(e *evidence) bool { return e.csr != nil && len(e.common) > 0 && len(e.csr.Names) > 0 },
		Fails: func(e *evidence) rule.Failures {
			return rule.FailEach(e.common, func(s string) rule.Failures {
				return rule.FailIf(!e.listed(s), "The common name (CN) %s is not in the subjectAltName (SAN) of the request.",
					shown(s)).
					Suggesting(e.correction())
			})
		},
	},
	{
		Code: "csr.cn.several", Severity: diag.Warning, Ref: br + "7.1.4.3",
		Title: "More than one common name (CN)", Requirement: "The subject has one common name at most",
		Advice: "Leave one common name, and put all names into the subjectAltName, as the suggested command does.",
		When:   readable,
		Fails: func(e *evidence) rule.Failures {
			return rule.FailIf(len(e.common) > 1, "The subject has %d common names: %s.", len(e.common), sentence(e.common)).
				Suggesting(e.correction())
		},
	},
}

func (e *evidence) has(name string) bool {
	return slices.ContainsFunc(e.names, func(n Name) bool { return n.Type == DNSName && strings.EqualFold(n.Value, name) })
}

// repeated lists the names that occur more than once.
func (e *evidence) repeated() (list []string) {
	seen := map[string]int{}
	for _, n := range e.csr.Names[:min(len(e.csr.Names), maxJudged)] {
		key := string(n.Type) + " " + strings.ToLower(n.Value)
		if seen[key]++; seen[key] == 2 {
			list = append(list, text(n.Value))
		}
	}
	return list
}

// subjectRef is where the content of the subject is decided, for certificates that name an organization.
const subjectRef = br + "7.1.2.7.4"

// subjectRule is one that each attribute of the subject may fail.
func subjectRule(code diag.Code, severity diag.Severity, title, requirement, ref, advice, detail string,
	fails func(subjectAttribute) bool) rule.Rule[*evidence] {
	return rule.Rule[*evidence]{
		Code: code, Severity: severity, Title: title, Requirement: requirement, Ref: ref, Advice: advice, When: readable,
		Fails: func(e *evidence) rule.Failures {
			return rule.FailEach(e.csr.Attributes, func(a subjectAttribute) rule.Failures {
				if !fails(a) {
					return nil
				}
				return rule.Fail(detail, attributeName(a.OID), phrase.Quote(a.Value)).About(attributeName(a.OID)).
					Suggesting(e.correction())
			})
		},
	}
}

// subjectRules are about the subject, of which authorities certify only what they have verified.
var subjectRules = rule.Rules[*evidence]{
	subjectRule("csr.subject.country", diag.Warning, "Invalid country code", "The country is a code of ISO 3166-1",
		subjectRef,
		"Write the two letters of ISO 3166-1 in upper case, such as GB, or leave the country out, "+
			"as the suggested command does.",
		"The %s is %q, which is not an ISO 3166-1 code.", func(a subjectAttribute) bool {
			return a.OID == oidCountry && !isCountry(a.Value)
		}),
	subjectRule("csr.subject.default", diag.Warning, "Default value in the subject", "No value is a program's default",
		subjectRef,
		"Leave the value out, as the suggested command does, or write your own.",
		"The %s is %q, the default value of a program.", isDefault),
	subjectRule("csr.subject.placeholder", diag.Warning, "Placeholder in the subject", "The subject has no placeholders",
		subjectRef,
		"Leave the value out, as the suggested command does.",
		"The %s is %q. Authorities may not certify placeholders.", func(a subjectAttribute) bool {
			return !isDefault(a) && isPlaceholder(a.Value)
		}),
	subjectRule("csr.subject.length", diag.Error, "Value in the subject is too long",
		"No value of the subject is too long", br+"7.1.4.2, RFC 5280 appendix A.1",
		"Shorten the value. Long host names belong in the subjectAltName only; the suggested command does so.",
		"The %s is too long: %s.", tooLong),
	subjectRule("csr.subject.unit", diag.Warning, "Organizational unit (OU) in the subject",
		"The subject has no organizational unit", subjectRef,
		"Leave the organizational unit out, as the suggested command does: "+
			"authorities have not been allowed to certify it since September 2022.",
		"The subject has the %s %q.", func(a subjectAttribute) bool {
			return a.OID == oidUnit && !isDefault(a) && !isPlaceholder(a.Value)
		}),
}

// extensionRules are about the extensions that are asked for. Authorities make their own, and refuse a request that
// asks for what they may not give.
var extensionRules = rule.Rules[*evidence]{{
	Code: "csr.extensions.duplicate", Severity: diag.Error, Ref: "RFC 5280 section 4.2",
	Title: "Extension is requested twice", Requirement: "Each extension appears once",
	Advice: regenerate,
	Fails: func(e *evidence) rule.Failures {
		seen, list := map[string]int{}, []string(nil)
		for _, x := range e.csr.Extensions {
			if seen[x.OID]++; seen[x.OID] == 2 {
				list = append(list, extensionName(x.OID))
			}
		}
		return rule.FailIf(len(list) > 0, "The request asks more than once for: %s.", sentence(list)).
			Suggesting(e.correction())
	},
}, {
	Code: "csr.constraints.ca", Severity: diag.Error, Ref: br + "7.1.2.7.8",
	Title: "Request for a CA certificate", Requirement: "The request is not for a certificate that issues others",
	Advice: "Leave the basic constraints out, as the suggested command does: " +
		"no public authority signs another CA on request.",
	Fails: func(e *evidence) rule.Failures {
		b := e.csr.Constraints
		return rule.FailIf(b != nil && b.IsCA, "The request asks for basic constraints with CA:TRUE.").
			Suggesting(e.correction())
	},
}, {
	Code: "csr.usage.signing", Severity: diag.Error, Ref: br + "7.1.2.7.11",
	Title: "Key usage of a CA", Requirement: "No key usage of an authority is asked for",
	Advice: "Leave the key usage out, as the suggested command does: the authority sets it.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(slices.Contains(e.csr.KeyUsage, "keyCertSign") || slices.Contains(e.csr.KeyUsage, "cRLSign"),
			"The request asks for these key usages: %s.", sentence(e.csr.KeyUsage)).Suggesting(e.correction())
	},
}, {
	Code: "csr.usage.unsuitable", Severity: diag.Warning, Ref: br + "7.1.2.7.11",
	Title: "Key usage does not suit the key", Requirement: "The key usage suits the key",
	Advice: "Leave the key usage out, as the suggested command does: the authority sets it.",
	When:   func(e *evidence) bool { return e.csr != nil && e.csr.HasUsage },
	Fails: func(e *evidence) rule.Failures {
		allowed := []string{"digitalSignature", "keyEncipherment", "dataEncipherment", "keyCertSign", "cRLSign"}
		if e.csr.Key.Algorithm == pki.ECDSA {
			allowed = []string{"digitalSignature", "keyAgreement", "keyCertSign", "cRLSign"}
		}
		bad := slices.DeleteFunc(slices.Clone(e.csr.KeyUsage), func(u string) bool { return slices.Contains(allowed, u) })
		return rule.FailIf(len(bad) > 0, "Certificates for servers with such a key may not have the key usage: %s.",
			sentence(bad)).
			Suggesting(e.correction())
	},
}, {
	Code: "csr.purpose.server", Severity: diag.Warning, Ref: br + "7.1.2.7.10",
	Title: "Purpose (EKU) is not serverAuth", Requirement: "If purposes are asked for, serverAuth is one of them",
	Advice: "Leave the purposes out or ask for serverAuth: without it browsers refuse the certificate. " +
		"The suggested command leaves them out.",
	When: func(e *evidence) bool { return e.csr != nil && e.csr.HasPurposes },
	Fails: func(e *evidence) rule.Failures {
		list := e.csr.ExtKeyUsage
		if len(list) == 0 {
			return rule.Fail("The extended key usage (EKU) of the request is empty.").Suggesting(e.correction())
		}
		return rule.FailIf(!slices.Contains(list, "serverAuth"),
			"The extended key usage (EKU) of the request lacks serverAuth; it has: %s.",
			sentence(list)).Suggesting(e.correction())
	},
}, {
	Code: "csr.purpose.other", Severity: diag.Warning, DependsOn: []diag.Code{"csr.purpose.server"},
	Ref:         br + "7.1.2.7.10",
	Title:       "Purpose (EKU) not allowed in certificates for servers",
	Requirement: "No purpose is asked for but serverAuth and clientAuth",
	Advice:      "Leave the purposes out, as the suggested command does.",
	When:        func(e *evidence) bool { return e.csr != nil && e.csr.HasPurposes },
	Fails: func(e *evidence) rule.Failures {
		bad := slices.DeleteFunc(slices.Clone(e.csr.ExtKeyUsage), func(u string) bool {
			return u == "serverAuth" || u == "clientAuth"
		})
		return rule.FailIf(len(bad) > 0, "The request asks for further purposes: %s.", sentence(bad)).
			Suggesting(e.correction())
	},
}, {
	Code: "csr.purpose.client", Severity: diag.Info, Ref: "Chrome Root Program Policy",
	Title: "Purpose clientAuth is being phased out", Requirement: "The purpose clientAuth is not asked for",
	Advice: "Use a private CA for client certificates: Chrome requires public ones to certify servers only.",
	When:   func(e *evidence) bool { return e.csr != nil && e.csr.HasPurposes },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(slices.Contains(e.csr.ExtKeyUsage, "clientAuth"), "The request asks for the purpose clientAuth.")
	},
}, {
	Code: "csr.staple.required", Severity: diag.Warning, Ref: "RFC 7633 section 4",
	Title:       "Must-staple is requested, which not every authority grants",
	Requirement: "The request does not ask for must-staple",
	Advice: "Make a new request without the extension, as the suggested command does: " +
		"Let's Encrypt refuses requests that ask for it.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.csr.MustStaple, "The request asks for the TLS feature status_request (OCSP must-staple). "+
			"Let's Encrypt, the largest authority, has refused such requests since 2025-05-07 and ended its OCSP service "+
			"on 2025-08-06; a certificate with the feature works only where the authority runs OCSP and the server staples.").
			Suggesting(e.correction())
	},
}, {
	Code: "csr.challenge.present", Severity: diag.Info, Ref: "RFC 2985 section 5.4.1",
	Title: "Challenge password in the request", Requirement: "The request has no challenge password",
	Advice: "Leave it empty next time: authorities ignore the password, and anyone can read it.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.csr.Challenge, "The request has the attribute challengePassword, which is not encrypted.")
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
