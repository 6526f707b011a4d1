package smtpcheck

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
)

// domainRules are about where the mail of a domain goes. Package mx examines that in depth.
var domainRules = rule.Rules[*evidence]{{
	Code: "smtp.mx.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: "RFC 5321 section 5.1",
	Title: "MX records could not be looked up", Requirement: "The name servers answer for the MX records",
	Advice: "Check the name servers of the domain: senders defer mail while MX records cannot be looked up.",
	When:   (*evidence).byDomain, Fails: func(e *evidence) rule.Failures {
		if why := e.mail.Unknown(); why != "" {
			return rule.Failures{{Detail: phrase.Sentence(why)}}.Because(e.mail.MX.Err())
		}
		return nil
	},
}, reach.NoDomain(rule.Rule[*evidence]{
	Code: "smtp.domain.nxdomain", DependsOn: []diag.Code{"smtp.mx.unknown"}, Ref: "RFC 5321 section 5.1",
	Fails: func(e *evidence) rule.Failures {
		exists, known := e.mail.Exists()
		return rule.FailIf(known && !exists, "The DNS answers NXDOMAIN for %s.", e.req.Domain)
	},
}), {
	Code: "smtp.mx.missing", Severity: diag.Info, StateIfFailed: diag.Missing,
	DependsOn: []diag.Code{"smtp.domain.nxdomain"}, Ref: "RFC 5321 section 5.1",
	Title:       "No MX record and no address: the domain receives no mail",
	Requirement: "The domain has an MX record or an address",
	Advice: "Publish MX records if the domain is to receive mail. If it neither receives nor sends any, publish the " +
		"null MX \"0 .\", so that senders give up immediately.",
	Fails: func(e *evidence) rule.Failures {
		yes, _ := e.mail.Receives()
		return e.unlessAlias(rule.FailIf(!yes && !e.mail.NullMX(),
			"%s has neither an MX record nor an address: there is no mail server to test.", e.req.Domain))
	},
}, {
	Code: "smtp.mx.null", Severity: diag.Info, DependsOn: []diag.Code{"smtp.mx.missing"}, Ref: "RFC 7505 section 3",
	Title: "Null MX: the domain receives no mail", Requirement: "The domain receives mail",
	Advice: "Leave it if the domain is to receive no mail. Otherwise replace the null MX with MX records.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.mail.NullMX(), "The null MX of %s says that it receives no mail; no server was tested.",
			e.req.Domain)
	},
}, {
	Code: "smtp.mx.implicit", Severity: diag.Warning, Weight: 2, DependsOn: []diag.Code{"smtp.mx.null"},
	Ref:   "RFC 5321 section 5.1",
	Title: "No MX record: mail goes to the domain's own address", Requirement: "Mail goes to hosts that MX records name",
	Advice: "Publish MX records that name the mail servers. If the domain neither receives nor sends mail, publish the " +
		"null MX \"0 .\" instead: until then senders try its address for days.",
	Fails: func(e *evidence) rule.Failures {
		return e.unlessAlias(rule.FailIf(e.mail.Implicit && !e.noMailService,
			"%s has no MX record, so that senders deliver to its own address.", e.req.Domain))
	},
}, {
	Code: "smtp.mx.implicit.unknown", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	DependsOn: []diag.Code{"smtp.mx.null"}, Ref: "RFC 5321 section 5.1",
	Title:       "No MX record, and no answer from the domain's address",
	Requirement: "It is known whether the address of a domain without MX records takes mail",
	Advice:      unusedAdvice,
	When:        func(e *evidence) bool { return e.mail.Implicit },
	Fails: func(e *evidence) rule.Failures {
		if !e.noMailService || e.unused() {
			return nil
		}
		return e.unlessAlias(rule.Fail("%s has no MX record, and whether its address takes mail is not known. %s",
			e.req.Domain,
			e.ignorance().Detail))
	},
}, {
	Code: "smtp.mx.unused", Severity: diag.Warning, NoScore: true, DependsOn: []diag.Code{"smtp.mx.null"},
	Ref:         "RFC 7505 section 1",
	Title:       "No MX record, and no mail server at the domain's address",
	Requirement: "A domain without MX records takes mail",
	Advice:      unusedAdvice,
	When:        func(e *evidence) bool { return e.mail.Implicit && (!e.noMailService || e.unused()) },
	Fails: func(e *evidence) rule.Failures {
		if !e.noMailService {
			return nil
		}
		return e.unlessAlias(rule.Fail("%s has no MX record, so that senders try its own address, which takes no mail: %s.",
			e.req.Domain, joined(e.faultTexts())))
	},
}, {
	Code: "smtp.mx.null_beside", Severity: diag.Error, Weight: 2, Fact: reach.NullMXBeside,
	DependsOn: []diag.Code{"smtp.mx.null"}, Ref: "RFC 7505 section 3",
	Title: "Null MX beside other MX records", Requirement: "A null MX is the only MX record",
	Advice: "Remove the null MX if the domain receives mail, or otherwise all other MX records.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.mail.MixedNull(),
			"%s has a null MX beside other MX records: some senders take it for a domain "+
				"that receives no mail.", e.req.Domain)
	},
}, {
	Code: "smtp.mx.literal", Severity: diag.Error, Weight: 5, Fact: reach.MXLiteral, HoldsWhenUnanswered: true,
	DependsOn: []diag.Code{"smtp.mx.null"}, Ref: "RFC 5321 section 5.1",
	Title:       "MX record with an IP address instead of a host name",
	Requirement: "MX records name hosts and not IP addresses",
	Advice:      "Give the mail server a host name with an address record, and use that name in the MX record.",
	When: func(e *evidence) bool {
		return e.mail.MX.Exists() && (!e.stranded || !slices.ContainsFunc(e.mail.List, e.literal))
	},
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.mail.List, func(h host) rule.Failures {
			return rule.FailIf(e.literal(h), "The MX host %s is an IP address, which senders look up as if it were a name.",
				h.Name).About(h.Name)
		})
	},
}, {
	Code: "smtp.mx.untested", Severity: diag.Info, DependsOn: []diag.Code{"smtp.mx.null"}, Ref: "RFC 5321 section 5.1",
	Title: "Not every mail server was tested", Requirement: "Every mail server was tested",
	Advice: "Raise max_hosts, or test the other mail servers by name.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.mail.Surplus > 0, "%s has %s; only the %d most preferred were tested.",
			e.req.Domain, phrase.Count(len(e.mail.List)+e.mail.Surplus, "mail server"), len(e.mail.List))
	},
}}

const unusedAdvice = "If this name is to receive no mail, publish the null MX \"0 .\" (RFC 7505); otherwise " +
	"publish an MX record that names its mail server. Until then senders try the address for days before they return mail."

var hostRules = rule.Rules[*evidence]{strandedRule(noHost, rule.Rule[*evidence]{
	Code: "smtp.hosts.literal", Fact: reach.MXLiteral, Differs: "no other mail server is left",
	Title:       "MX record with an IP address instead of a host name: no mail arrives",
	Requirement: "An MX record names a host and not an IP address",
	Advice: "Give the mail server a host name with an address record, and use that name in the MX record: until then " +
		"all mail is returned to its senders.",
}, func(h host) string {
	return fmt.Sprintf("The MX host %s is an IP address, which senders look up as if it were a name.", h.Name)
}), strandedRule(noName, rule.Rule[*evidence]{
	Code: "smtp.hosts.nxdomain", Fact: reach.NoName, Differs: "no other mail server is left",
	Title: "MX host does not exist: no mail arrives", Requirement: "An MX record names a host that exists",
	Advice: "Correct the name in the MX record, or add an address record for the host: until then all mail is " +
		"returned to its senders.",
}, func(h host) string {
	if chain := h.Aliases(); len(chain) > 0 {
		return fmt.Sprintf("The mail server %s is an alias (CNAME) of %s, which does not exist (NXDOMAIN).", h.Name,
			chain[len(chain)-1])
	}
	return fmt.Sprintf("The mail server %s does not exist (NXDOMAIN).", h.Name)
}), strandedRule(noAddress, rule.Rule[*evidence]{
	Code: "smtp.hosts.address", Fact: reach.NoAddress, Differs: "no other mail server is left",
	Title: "Mail server without an address: no mail arrives", Requirement: "A mail server has an address",
	Advice: "Add an address record for the host, or correct the MX record that names it: until then no mail arrives.",
}, func(h host) string {
	return fmt.Sprintf("The mail server %s has neither an IPv4 nor an IPv6 address.", h.Name)
}), strandedRule(notPublic, rule.Rule[*evidence]{
	Code: "smtp.hosts.blocked", Fact: reach.NotPublic,
	Title: "Mail server has no public address: no mail arrives", Requirement: "A mail server has a public address",
	Advice: "Publish the public address of the mail server in place of the private one, or name another host in the MX " +
		"record: until then no sender on the Internet reaches it.",
}, func(h host) string {
	addresses := kit.Map(h.Addresses.All(), func(ip netip.Addr) string { return ip.String() })
	if len(addresses) == 0 { // the host is an address itself
		return fmt.Sprintf("The address %s is not public.", h.Name)
	}
	return fmt.Sprintf("The mail server %s has no address that is reached from the Internet, only %s.", h.Name,
		joined(addresses))
}), {
	Code: "smtp.host.nxdomain", Severity: diag.Error, NoScore: true, Fact: reach.NoName, Ref: "RFC 5321 section 5.1",
	Title: "Host does not exist", Requirement: "The host exists",
	Advice: "Check the spelling of the host name, or add an address record for it.",
	When:   func(e *evidence) bool { return !e.byDomain() && hasHosts(e) },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.hostNonexistent(), "The DNS answers NXDOMAIN for %s.", e.req.Host.Name())
	},
}, {
	Code: "smtp.host.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 5321 section 5.1",
	Title:       "Addresses of a mail server could not be looked up",
	Requirement: "The name servers answer for the addresses of every mail server",
	Advice:      "Check the name servers of the host: senders skip it while its address cannot be looked up.",
	When:        hasHosts, Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.mail.List, func(h host) rule.Failures {
			if h.Err() == nil || missing(h) {
				return nil
			}
			kind := "AAAA"
			if h.Addresses.V4.Err() != nil {
				kind = "A"
			}
			return rule.Fail("The %s lookup of %s failed: %s.", kind, h.Name, diag.Reason(h.Err())).About(h.Name)
		})
	},
}, {
	Code: "smtp.host.address", Severity: diag.Error, Weight: 5, Category: factorReach, Fact: reach.NoAddress,
	HoldsWhenUnanswered: true, Ref: "RFC 5321 section 5.1",
	Title: "Mail server without an address", Requirement: "Every mail server has an address",
	Advice: "Add an address record for the host, or correct or remove the MX record that names it.",
	When:   func(e *evidence) bool { return hasHosts(e) && !e.hostNonexistent() && !e.stranded },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.mail.List, func(h host) rule.Failures {
			switch {
			case !missing(h) || e.literal(h):
				return nil
			case nonexistent(h):
				return rule.Fail("The mail server %s does not exist (NXDOMAIN).", h.Name).About(h.Name)
			default:
				return rule.Fail("The mail server %s has neither an IPv4 nor an IPv6 address.", h.Name).About(h.Name)
			}
		})
	},
}, {
	Code: "smtp.mx.alias", Severity: diag.Warning, Weight: 1, Category: factorNames, HoldsWhenUnanswered: true,
	Ref:   "RFC 2181 section 10.3",
	Title: "MX record points to a CNAME", Requirement: "No MX record points to a CNAME",
	Advice: "Name the host at the end of the alias in the MX record: some senders refuse to deliver to an alias.",
	When: func(e *evidence) bool {
		return e.mail.MX.Exists() && len(e.mail.List) > 0 && !slices.ContainsFunc(e.mail.List, dangling)
	},
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.mail.List, func(h host) rule.Failures {
			chain := h.Aliases()
			if len(chain) == 0 {
				return nil
			}
			return rule.Fail("The MX host %s is an alias (CNAME) of %s.", h.Name, chain[len(chain)-1]).About(h.Name)
		})
	},
}, {
	Code: "smtp.ipv4.missing", Severity: diag.Warning, Weight: 2, Category: factorReach, Ref: "RFC 3974 section 3",
	Title: "Mail servers have IPv6 addresses only", Requirement: "A mail server has an IPv4 address",
	Advice: "Add an IPv4 address to a mail server: many senders have no IPv6 and cannot deliver.",
	When: func(e *evidence) bool {
		_, literal := e.req.Host.IP()
		return len(e.servers) > 0 && !literal && !e.noMailService && !e.stranded
	},
	Fails: func(e *evidence) rule.Failures {
		v4 := slices.ContainsFunc(e.servers, func(s *server) bool { return s.addr.Addr().Is4() })
		return rule.FailIf(!v4, "%s an IPv6 address and no IPv4 address.", e.subject())
	},
}}

// unlessAlias replaces the advice of failures about a missing MX record if the domain is an alias.
func (e *evidence) unlessAlias(f rule.Failures) rule.Failures {
	for i := range f {
		f[i].Advice = e.mail.AliasAdvice()
		f[i].Optional = f[i].Advice != ""
	}
	return f
}

func (e *evidence) literal(h host) bool {
	return e.byDomain() && h.Literal(e.req.Domain.String()).IsValid()
}

// hostNonexistent reports whether the requested host does not exist, in which case no other rule applies.
func (e *evidence) hostNonexistent() bool {
	return !e.byDomain() && missing(e.mail.List[0]) && nonexistent(e.mail.List[0])
}

func hasHosts(e *evidence) bool {
	_, literal := e.req.Host.IP()
	return len(e.mail.List) > 0 && !literal
}

func missing(h host) bool {
	a := h.Addresses
	return len(a.All()) == 0 && (a.Err() == nil && h.Err() == nil || nonexistent(h))
}

// dangling reports whether a host is an alias of one without an address, which is not a valid replacement.
func dangling(h host) bool { return missing(h) && len(h.Aliases()) > 0 }

func nonexistent(h host) bool { return h.Addresses.V4.NXDomain() || h.Addresses.V6.NXDomain() }

func (e *evidence) subject() string {
	if len(e.mail.List) == 1 {
		return "The mail server " + e.mail.List[0].Name + " has"
	}
	return "The mail servers of " + e.req.Domain.String() + " have"
}
