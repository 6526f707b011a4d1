package zonecheck

import (
	"cmp"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/internal/survey"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/miekg/dns"
)

// lookedUp reports whether the addresses of at least one server could be looked up.
func lookedUp(e *evidence) bool {
	return slices.ContainsFunc(e.Servers, func(s *survey.Server) bool {
		a := e.Hosts[s.Name]
		return e.lookedUp(s.Name) || len(a.V4.Aliases)+len(a.V6.Aliases) > 0
	})
}

var nameRules = rule.Rules[*evidence]{{
	Code: "zone.ns.literal", Severity: diag.Error, Weight: 5, Ref: "Zonemaster SYNTAX04, RFC 1035 section 3.3.11",
	Title: "NS record with an IP address instead of a name", Requirement: "NS records have names and not IP addresses",
	Advice: "Give the name server a host name with an address record, and use that name in the NS record.", When: named,
	Fails: atHosts(func(e *evidence, s *survey.Server) string { return e.literalText(s.Name, "resolvers") }),
}, {
	Code: "zone.ns.name", Severity: diag.Error, Weight: 3, Ref: "Zonemaster SYNTAX04, RFC 1123 section 2.1",
	Title: "NS record with an invalid host name", Requirement: "The names of the name servers are valid host names",
	Advice: "Rename the name server: use letters, digits and hyphens only.", When: named,
	Fails: atHosts(func(_ *evidence, s *survey.Server) string {
		return view.TextIf(!survey.Literal(s.Name).IsValid() && !hostName(s.Name), "is not a valid host name")
	}),
}, {
	Code: "zone.ns.alias", Severity: diag.Error, Weight: 5, Ref: "Zonemaster DELEGATION05, RFC 2181 section 10.3",
	Title: "NS record points to a CNAME", Requirement: "No name server name is an alias",
	Advice: "Replace the CNAME with address records, or use the name that it points to in the NS record.",
	When:   lookedUp, Fails: atHosts(func(e *evidence, s *survey.Server) string { return aliasText(e.Hosts[s.Name]) }),
}, {
	Code: "zone.ns.address", Severity: diag.Error, Weight: 5, Fact: reach.NoAddress,
	Ref:   "Zonemaster NAMESERVER06, RFC 1912 section 2.8",
	Title: "Name server without an address", Requirement: "Every name server has an address",
	Advice: "Add an address record for the name server, or remove its NS records from the zone and its parent zone.",
	When:   lookedUp,
	Fails: atHosts(func(e *evidence, s *survey.Server) string {
		switch a := e.Hosts[s.Name]; {
		case !e.lookedUp(s.Name) || len(a.All()) > 0 || e.lacksDot(s.Name) || e.literal(s.Name).IsValid():
			return ""
		case a.V4.NXDomain() || a.V6.NXDomain():
			return "does not exist"
		default:
			return "has neither an A nor an AAAA record"
		}
	}),
}, {
	Code: "zone.ns.address.unknown", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	Ref:         "Zonemaster NAMESERVER06",
	Title:       "Address of a name server could not be looked up",
	Requirement: "The addresses of all name servers can be looked up",
	Advice:      "Fix the domain of the name server: resolvers skip a name server whose address they cannot look up.",
	When:        func(e *evidence) bool { return named(e) && !e.glueless() },
	Fails: atHosts(func(e *evidence, s *survey.Server) string {
		return view.TextIf(e.addressUnknown(s), "has no known address: the lookup "+lookupFault(e.Hosts[s.Name]))
	}),
}, {
	Code: "zone.ns.address.special", Severity: diag.Error, Weight: 5, Fact: reach.NotPublic,
	Differs: "resolvers turn to the other addresses of the name servers", Ref: "Zonemaster ADDRESS01, RFC 6890",
	Title:       "Name server with an address that is not public",
	Requirement: "The addresses of the name servers are public",
	Advice:      "Replace the address with a public one, or remove it.", When: addressed,
	Fails: atAddresses(func(e *evidence, ad *survey.Address) string {
		return view.TextIf(!e.Public(ad.IP),
			"cannot be reached over the Internet: the address is reserved for private or special use")
	}),
}, {
	Code: "zone.ns.address.shared", Severity: diag.Warning, Weight: 3,
	Ref:   "Zonemaster DELEGATION02, RFC 2182 section 5",
	Title: "Name servers share an address", Requirement: "All name servers have addresses of their own",
	Advice: "Move one of the name servers to another machine: two names for one machine fail together.",
	When:   addressed,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.Addresses, func(ad *survey.Address) rule.Failures {
			hosts := e.hostsOn(ad.IP)
			return rule.FailIf(len(hosts) > 1, "%s have the same address, %s.", joined(hosts), ad.IP).
				About(e.target(ad))
		})
	},
}}

func hasMX(e *evidence) bool { return len(e.mx()) > 0 }

func nullMX(mx *dns.MX) bool { return mx.Mx == "." }

// hasMailServers reports whether MX records name a mail server.
func hasMailServers(e *evidence) bool { return len(e.mailServers()) > 0 }

// mailServersResolved reports whether any mail server could be looked up.
func mailServersResolved(e *evidence) bool {
	return slices.ContainsFunc(e.mailServers(), e.lookedUp)
}

// atMailServers makes the test of a rule from a function on each mail server.
func atMailServers(detail func(e *evidence, host string) string) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		return rule.FailEach(e.mailServers(), func(host string) rule.Failures { return about(host, detail(e, host)) })
	}
}

// mailRules are about the mail servers and SPF. What an SPF record says is for package spf to judge.
var mailRules = rule.Rules[*evidence]{{
	Code: "zone.mx.null_beside", Severity: diag.Error, Weight: 3, Fact: reach.NullMXBeside,
	Ref:   "Zonemaster ZONE09, RFC 7505 section 3",
	Title: "Null MX beside other MX records", Requirement: "A null MX is the only MX record",
	Advice: "Remove the null MX, or all other MX records.", When: hasMX,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(len(e.mx()) > 1 && slices.ContainsFunc(e.mx(), nullMX),
			"%s has a null MX beside %s.", e.Domain, phrase.Count(len(e.mx())-1, "other MX record"))
	},
}, {
	Code: "zone.mx.literal", Severity: diag.Error, Weight: 3, Fact: reach.MXLiteral,
	Ref:   "Zonemaster SYNTAX08, RFC 5321 section 5.1",
	Title: "MX record with an IP address instead of a name", Requirement: "MX records have names and not IP addresses",
	Advice: "Give the mail server a host name with an address record, and use that name in the MX record.",
	When:   hasMailServers,
	Fails:  atMailServers(func(e *evidence, host string) string { return e.literalText(host, "senders") }),
}, {
	Code: "zone.mx.name", Severity: diag.Error, Weight: 2, Ref: "Zonemaster SYNTAX08, RFC 1123 section 2.1",
	Title: "MX record with an invalid host name", Requirement: "The names of the mail servers are valid host names",
	Advice: "Rename the mail server: use letters, digits and hyphens only.", When: hasMailServers,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.mailServers(), func(host string) rule.Failures {
			if hostName(host) || e.literal(host).IsValid() {
				return nil
			}
			f := about(host, "is named in an MX record and "+cmp.Or(misread(host, e.Zone), "is not a valid host name"))
			if misread(host, e.Zone) != "" {
				f[0].Advice = "Write the name of the mail server alone in the MX record, without a scheme, a port or a path."
			}
			return f
		})
	},
}, {
	Code: "zone.mx.alias", Severity: diag.Error, Weight: 3, Ref: "Zonemaster ZONE08, RFC 2181 section 10.3",
	Title: "MX record points to a CNAME", Requirement: "No mail server name is an alias",
	Advice: "Use the name that the alias points to in the MX record.", When: mailServersResolved,
	Fails: atMailServers(func(e *evidence, host string) string { return aliasText(e.Hosts[host]) }),
}, {
	Code: "zone.mx.address", Severity: diag.Error, Weight: 3, Fact: reach.NoAddress,
	Ref:   "Zonemaster ZONE09, RFC 5321 section 5.1",
	Title: "Mail server without an address", Requirement: "Every mail server has an address",
	Advice: "Add an address record for the mail server, or remove its MX record.", When: mailServersResolved,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.mailServers(), func(host string) rule.Failures {
			if !e.lookedUp(host) || len(e.Hosts[host].All()) > 0 || e.lacksDot(host) || misread(host, e.Zone) != "" {
				return nil
			}
			f := about(host, "is named in an MX record and has no address")
			if e.denied(host) {
				f = about(host, "is named in an MX record and does not exist")
			}
			if dns.CountLabel(host) == 1 {
				f[0].Advice = "Write the whole name of the host in the MX record, with its domain."
			}
			return f
		})
	},
}, {
	Code: "zone.mx.blocked", Severity: diag.Error, Weight: 3, Fact: reach.NotPublic,
	Differs: "senders turn to the other mail servers", Ref: "RFC 5321 section 5.1, RFC 6890 section 2.2",
	Title: "Mail server without a public address", Requirement: "Every mail server has a public address",
	Advice: "Publish the public address of the mail server, or remove the MX record.", When: mailServersResolved,
	Fails: atMailServers(func(e *evidence, host string) string {
		public, special := e.mailAddresses(host)
		return view.TextIf(public == 0 && len(special) > 0, "is named in an MX record and has only "+
			phrase.Series(special, maxNamed)+", which no sender on the Internet reaches")
	}),
}, {
	Code: "zone.mx.address.special", Severity: diag.Warning, Weight: 2, Ref: "RFC 6890 section 2.2",
	Title: "Mail server with an address that is not public", Requirement: "All addresses of the mail servers are public",
	Advice: "Remove the address record, which costs senders a connection attempt each time they choose it.",
	When:   mailServersResolved,
	Fails: atMailServers(func(e *evidence, host string) string {
		public, special := e.mailAddresses(host)
		return view.TextIf(public > 0 && len(special) > 0, "is named in an MX record and has, beside public addresses, "+
			phrase.Series(special, maxNamed))
	}),
}, {
	Code: "zone.spf.multiple", Severity: diag.Error, Weight: 2, Reads: []rule.Source{recordsTXT},
	Ref:   "Zonemaster ZONE11, RFC 7208 section 3.2",
	Title: "More than one SPF record", Requirement: "There is at most one SPF record",
	Advice: "Merge the SPF records into one: with several, receivers use none.",
	When:   answeredByAtLeast(1, survey.ProbeTXT),
	Fails: func(e *evidence) rule.Failures {
		n := e.spfRecords()
		return rule.FailIf(n > 1, "%s has %d SPF records.", e.Domain, n)
	},
}}

// mailAddresses counts the public addresses of a mail server, and lists the others.
func (e *evidence) mailAddresses(host string) (public int, special []string) {
	for _, ip := range e.Hosts[host].All() {
		if e.Public(ip) {
			public++
		} else {
			special = append(special, ip.String())
		}
	}
	return public, special
}

// spfRecords counts the SPF records of the first server that answered for TXT (RFC 7208 section 4.5).
func (e *evidence) spfRecords() int {
	for _, ad := range e.serving {
		records := e.records(ad, survey.ProbeTXT, dns.TypeTXT)
		if records == nil {
			continue
		}
		return view.CountIf(records, func(rr dns.RR) bool {
			head, _, _ := strings.Cut(strings.ToLower(dnsmsg.TXT(rr.(*dns.TXT))), " ")
			return head == "v=spf1"
		})
	}
	return 0
}
