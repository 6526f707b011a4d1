package csr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"golang.org/x/net/publicsuffix"
)

// sanRef is where the content of the extension subjectAltName is decided.
const sanRef = br + "7.1.2.7.12"

func named(e *evidence) bool { return e.csr != nil && len(e.names) > 0 }

// nameRule is one that refuses names of a kind, of which one stands for all.
func nameRule(code diag.Code, title, requirement, ref, advice string, is func(Name) bool) rule {
	return rule{
		Code: code, Severity: diag.Error, Title: title, Requirement: requirement, Ref: ref, Advice: advice,
		Fails: func(e *evidence) diag.Failures {
			all := diag.FailEach(e.names, func(n Name) diag.Failures {
				switch {
				case !is(n):
					return nil
				case n.Value == "":
					return diag.Fail("A name of the request is empty.").Suggesting(e.correction())
				}
				return diag.Fail("The name %s cannot be certified: %s.", shown(n.Value), n.Reason).About(shown(n.Value)).Suggesting(e.correction())
			})
			if len(all) < 2 {
				return all
			}
			return all.Together("%s The same applies to another %s of the request.", all[0].Detail, diag.Count(len(all)-1, "name"))
		},
	}
}

func with(fault NameFault) func(Name) bool { return func(n Name) bool { return n.Fault == fault } }
func typed(t NameType) func(Name) bool     { return func(n Name) bool { return n.Type == t } }

// maxNames is how many names many authorities put into a certificate.
const maxNames = 100

var nameRules = diag.Rules[*evidence]{
	{
		Code: "csr.names.none", Severity: diag.Error, Ref: sanRef,
		Title: "No identifier in the request", Requirement: "The request names a host",
		Advice: "Make a new request with the names of the server: openssl req -new -key FILE -addext 'subjectAltName=DNS:NAME'.",
		When:   readable,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(len(e.names) == 0, "The request has neither a subjectAltName with a name nor a common name.")
		},
	},
	{
		Code: "csr.names.san_missing", Severity: diag.Warning, DependsOn: []diag.Code{"csr.names.none"}, Ref: sanRef,
		Title: "Subject alternative name missing", Requirement: "The names stand in the extension subjectAltName",
		Advice: "Make a new request with a subjectAltName, as the suggested command does. Many authorities add the common name " +
			"themselves; browsers look at nothing but the subjectAltName.",
		When: readable,
		Fails: func(e *evidence) diag.Failures {
			detail := "The request has no subjectAltName (SAN); its only name is the common name %s."
			if e.csr.HasSAN {
				detail = "The subjectAltName (SAN) of the request is empty; the only name is the common name %s."
			}
			return diag.FailIf(len(e.csr.Names) == 0 && !e.csr.Unreadable, detail, shown(e.names[0].Value)).Suggesting(e.correction())
		},
	},
	nameRule("csr.names.invalid", "Invalid DNS name", "All host names are well formed", sanRef+", RFC 5280 section 4.2.1.6",
		"Correct the name, as the suggested command does where it can.", with(badSyntax)),
	nameRule("csr.names.idn", "Invalid internationalized name (IDN)", "All A-labels are valid", sanRef+", RFC 5891 section 4.2",
		"Write the name in Unicode, and let dns/idn convert it.", with(badIDN)),
	nameRule("csr.names.ip_as_dns", "IP address as a DNS name", "IP addresses stand in the request as such", sanRef,
		"Write the address with the type IP, as the suggested command does.", with(addressAsDNS)),
	nameRule("csr.names.wildcard", "Invalid wildcard", "The asterisk of a wildcard is the whole of the first label", br+"1.6.1, RFC 9525 section 6.3",
		"Name the hosts one by one, or ask for *. and the domain.", with(badWildcard)),
	nameRule("csr.names.wildcard_suffix", "Wildcard for a public suffix", "No wildcard covers all of a public suffix", br+"3.2.2.6",
		"Ask for a wildcard of your own domain.", with(wildcardSuffix)),
	nameRule("csr.names.public_suffix", "Name is a public suffix", "No name is a public suffix", br+"3.2.2.4",
		"Ask for a name in your own domain.", with(publicSuffix)),
	nameRule("csr.names.internal", "Internal name", "All names are in the public DNS", br+"4.2.2",
		"Use a name in a domain that you have registered, or a private CA for internal names.", with(internalName)),
	nameRule("csr.names.reverse", "Reverse DNS name among the names", "No name is a reverse DNS name", br+"4.2.2",
		"Ask for the host name or for the address itself.", with(reverseName)),
	nameRule("csr.names.reserved_ip", "Reserved IP address among the names", "All IP addresses are public", br+"4.2.2, RFC 6890",
		"Ask for a public address or a host name, or use a private CA for private addresses.", with(reservedIP)),
	nameRule("csr.names.email", "Email address among the names (SAN)", "No name is a mail address", sanRef,
		"Leave the mail address out, as the suggested command does: certificates for servers cannot contain it.", typed(emailName)),
	nameRule("csr.names.uri", "URI among the names (SAN)", "No name is a URI", sanRef,
		"Leave the URI out, as the suggested command does: certificates for servers cannot contain it.", typed(uriName)),
	nameRule("csr.names.other", "Name of another type (SAN)", "All names are host names or IP addresses", sanRef,
		"Leave the name out, as the suggested command does: certificates for servers contain host names and IP addresses only.", typed(otherName)),
	{
		Code: "csr.names.duplicate", Severity: diag.Warning, Ref: sanRef,
		Title: "Duplicate name (SAN)", Requirement: "Each name stands once",
		Advice: "Name each host once, as the suggested command does.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailEach(e.repeated(), func(s string) diag.Failures {
				return diag.Fail("The name %s appears in the request more than once.", shown(s)).About(shown(s)).Suggesting(e.correction())
			})
		},
	},
	{
		Code: "csr.names.many", Severity: diag.Warning, Ref: "Let's Encrypt, Rate Limits",
		Title: "More than 100 names", Requirement: "The request has at most 100 names",
		Advice: "Ask for several certificates, or for a wildcard: most authorities stop at 100 names, and some charge for each.",
		When:   readable,
		Fails: func(e *evidence) diag.Failures {
			detail := fmt.Sprintf("The request has %d names.", len(e.csr.Names))
			if len(e.csr.Names) > maxJudged {
				detail = fmt.Sprintf("The request has %d names, of which the first %d are judged.", len(e.csr.Names), maxJudged)
			}
			return diag.FailIf(len(e.csr.Names) > maxNames, "%s", detail)
		},
	},
	{
		Code: "csr.names.apex", Severity: diag.Info, Ref: "RFC 9525 section 6.3",
		Title: "Wildcard without the domain itself", Requirement: "With a wildcard the domain itself is named too",
		Advice: "Add the domain itself if the server answers for it: the wildcard does not cover it.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailEach(e.names, func(n Name) diag.Failures {
				base := strings.TrimPrefix(strings.ToLower(n.Value), "*.")
				apex, err := publicsuffix.EffectiveTLDPlusOne(base)
				return diag.FailIf(n.Wild && n.Valid && err == nil && apex == base && !e.has(base),
					"The wildcard %s does not cover %s, which is not among the names.", shown(n.Value), shown(base)).About(shown(n.Value))
			})
		},
	},
	{
		Code: "csr.cn.ip", Severity: diag.Warning, Ref: br + "7.1.4.3",
		Title:       "Common name (CN) is an IP address",
		Requirement: "The common name is no IP address, unless it is one of the names",
		Advice:      "Put the address among the names with the type IP, as the suggested command does, or leave it out.",
		When:        func(e *evidence) bool { return e.csr != nil && len(e.common) > 0 },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailEach(e.common, func(s string) diag.Failures {
				return diag.FailIf(asName(s).Type == ipName && !e.listed(s), "The common name (CN) is the IP address %s, which is not among the names of the request.", shown(s)).
					Suggesting(e.correction())
			})
		},
	},
	{
		Code: "csr.cn.not_in_san", Severity: diag.Warning, DependsOn: []diag.Code{"csr.cn.ip"}, Ref: br + "7.1.4.3",
		Title:       "Common name (CN) is not among the names (SAN)",
		Requirement: "The common name is one of the alternative names",
		Advice:      "Add the common name to the subjectAltName, as the suggested command does, or leave it out: browsers ignore it.",
		When:        func(e *evidence) bool { return e.csr != nil && len(e.common) > 0 && len(e.csr.Names) > 0 },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailEach(e.common, func(s string) diag.Failures {
				return diag.FailIf(!e.listed(s), "The common name (CN) %s is not in the subjectAltName (SAN) of the request.", shown(s)).
					Suggesting(e.correction())
			})
		},
	},
	{
		Code: "csr.cn.several", Severity: diag.Warning, Ref: br + "7.1.4.3",
		Title: "More than one common name (CN)", Requirement: "The subject has one common name at most",
		Advice: "Leave one common name, and put all names into the subjectAltName, as the suggested command does.",
		When:   readable,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(len(e.common) > 1, "The subject has %d common names: %s.", len(e.common), sentence(e.common)).Suggesting(e.correction())
		},
	},
}

func (e *evidence) has(name string) bool {
	return slices.ContainsFunc(e.names, func(n Name) bool { return n.Type == dnsName && strings.EqualFold(n.Value, name) })
}

// repeated lists the names that stand more than once.
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
