package mx

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/suffix"
	"github.com/miekg/dns"
)

var addressRules = rule.Rules[*evidence]{{
	Code: "mx.host.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: "RFC 5321 section 5.1",
	Title:       "Addresses of an MX host could not be looked up",
	Requirement: "The name servers answer for the addresses of every MX host",
	Advice: "Check the name servers of the host: senders skip it or defer mail while its address " +
		"cannot be looked up.",
	Fails: failEach(undetermined, func(_ *evidence, h host) rule.Failures {
		return rule.Fail("The address lookup of the MX host %s failed: %s.", h.Name, diag.Reason(h.Err()))
	}),
}, {
	Code: "mx.host.address.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 4074 section 4",
	Title:       "One kind of address of an MX host could not be looked up",
	Requirement: "The name servers answer for both kinds of addresses of every MX host",
	Advice:      "Check that the name servers of the host answer both A and AAAA lookups; some senders wait for both.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.hosts, func(h host) rule.Failures {
			if h.Err() == nil || h.Addresses.Err() != nil {
				return nil
			}
			kind := "AAAA"
			if h.Addresses.V4.Err() != nil {
				kind = "A"
			}
			return rule.Fail("The %s lookup of the MX host %s failed: %s.", kind, h.Name, diag.Reason(h.Err())).
				About(h.Name)
		})
	},
}, {
	Code: "mx.host.nxdomain", Severity: diag.Error, Weight: 5, Category: factorAddresses, Fact: reach.NoName,
	Ref:   "RFC 5321 section 5.1",
	Title: "MX host does not exist", Requirement: "Every MX host exists",
	Advice: "Correct the name in the MX record, add an address record for the host, or remove its MX record.",
	Fails:  failEach(nonexistent, (*evidence).nonexistence),
}, {
	Code: "mx.host.address", Severity: diag.Error, Weight: 5, Category: factorAddresses, Fact: reach.NoAddress,
	Ref:   "RFC 5321 section 5.1",
	Title: "MX host without an address", Requirement: "Every MX host has an address",
	Advice: "Add an address record for the host, or remove its MX record.",
	Fails: failEach(addressless, func(_ *evidence, h host) rule.Failures {
		return rule.Fail("The MX host %s has neither an IPv4 nor an IPv6 address.", h.Name)
	}),
}, {
	Code: "mx.host.blocked", Severity: diag.Error, Weight: 5, Category: factorAddresses, Fact: reach.NotPublic,
	Differs: "senders turn to the other mail servers", Ref: "RFC 6890 section 2.2",
	Title: "MX host has no public address", Requirement: "Every MX host has a public address",
	Advice: "Publish the public address of the mail server, or remove the MX record.",
	Fails: failEach(unroutable, func(_ *evidence, h host) rule.Failures {
		return rule.Fail("No sender on the Internet reaches the MX host %s: it has only %s.", h.Name, purposes(h.special))
	}),
}, {
	Code: "mx.host.address.special", Severity: diag.Warning, Weight: 2, Category: factorAddresses,
	Ref:   "RFC 6890 section 2.2",
	Title: "MX host with an address that is not public", Requirement: "All addresses of the MX hosts are public",
	Advice: "Remove the address record, which costs senders a connection attempt each time they choose it.",
	Fails: failEach(noFault, func(_ *evidence, h host) rule.Failures {
		return rule.FailIf(len(h.special) > 0, "The MX host %s has, beside public addresses, %s.", h.Name,
			purposes(h.special))
	}),
}, {
	Code: "mx.host.alias", Severity: diag.Warning, Weight: 3, Category: factorNames, Ref: "RFC 2181 section 10.3",
	Title: "MX record points to a CNAME", Requirement: "No MX record points to a CNAME",
	Advice: "Name the host at the end of the alias in the MX record, after adding it to the MTA-STS policy if there is " +
		"one; or replace the CNAME with address records.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.hosts, func(h host) rule.Failures {
			chain := h.Aliases()
			if len(chain) == 0 {
				return nil
			}
			f := rule.Fail("The MX host %s is an alias (CNAME) of %s; some senders refuse to follow it.",
				h.Name, chain[len(chain)-1]).About(h.Name)
			if h.fault == nonexistent || h.fault == addressless {
				f[0].Advice = "Name a mail server that has an address in the MX record: the alias leads to none."
			}
			return f
		})
	},
}}

var deliveryRules = rule.Rules[*evidence]{{
	Code: "mx.hosts.unreachable", Severity: diag.Critical, Weight: 5, Category: factorAddresses,
	Ref:         "RFC 5321 section 5.1",
	Title:       "No MX host has a public address: mail cannot be delivered",
	Requirement: "At least one MX host has a public address",
	Advice: "Point an MX record to a mail server that has a public address: until then all mail to the domain is " +
		"returned to its senders.",
	When: func(e *evidence) bool {
		return hasNamedHosts(e) && e.mail.Surplus == 0 && (len(e.reachable()) > 0 || len(e.with(undetermined)) == 0)
	},
	Fails: func(e *evidence) rule.Failures {
		if len(e.reachable()) > 0 {
			return nil
		}
		f := rule.Fail("Mail to %s cannot be delivered: %s.", e.domain, join(kit.Map(e.hosts, host.defect)))
		if first := e.hosts[0].fault; len(e.with(first)) == len(e.hosts) {
			f[0].Advice = undeliverable[first]
		}
		return f
	},
}}

// defect says why the host receives no mail, in a clause.
func (h host) defect() string {
	switch h.fault {
	case literal:
		return h.Name + " is an IP address instead of a host name"
	case loopback:
		return h.Name + " means the sender's own machine"
	case repeating:
		return h.Name + " ends with the domain twice"
	case malformed:
		return h.Name + " is not a valid host name"
	case nonexistent:
		return h.Name + " does not exist (NXDOMAIN)"
	case addressless:
		return h.Name + " has no address"
	default:
		return h.Name + " has no public address"
	}
}

// undeliverable is the advice if all MX hosts have the same fault.
var undeliverable = map[fault]string{
	literal: "Give the mail server a host name with an address record, and use that name in the MX record: until then " +
		"all mail to the domain is returned to its senders.",
	nonexistent: "Correct the name in the MX record, or add an address record for the host: until then all mail to " +
		"the domain is returned to its senders.",
	addressless: "Add an address record for the MX host, or name another host in the MX record: until then all mail " +
		"to the domain is returned to its senders.",
	unroutable: "Publish the public address of the mail server in place of the private one, or name another host in " +
		"the MX record: until then no sender on the Internet reaches it.",
}

func (e *evidence) addresses() (v4, v6 []netip.Addr) {
	for _, h := range e.hosts {
		for _, ip := range h.reachable {
			switch {
			case ip.Is4() && !slices.Contains(v4, ip):
				v4 = append(v4, ip)
			case !ip.Is4() && !slices.Contains(v6, ip):
				v6 = append(v6, ip)
			}
		}
	}
	return v4, v6
}

func compared(e *evidence) bool { return hasNamedHosts(e) && len(e.reachable()) > 0 }

// onSingleMachine reports whether all hosts lead to the same machine, judging by their addresses.
func (e *evidence) onSingleMachine() bool {
	v4, v6 := e.addresses()
	return len(v4) <= 1 && len(v6) <= 1
}

var redundancyRules = rule.Rules[*evidence]{{
	Code: "mx.redundancy.host", Optional: true, Severity: diag.Info, Weight: 1, Ref: "RFC 5321 section 5.1",
	Title: "Only one MX host", Requirement: "Mail can go to more than one mail server",
	Advice: "Leave it if short outages do not matter: senders try again for days. Otherwise publish a second mail " +
		"server that knows the same recipients and filters as strictly.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(len(e.reachable()) == 1 && e.onSingleMachine(),
			"All mail to %s goes to %s: while it is down, mail waits at the senders.", e.domain, e.reachable()[0].Name)
	},
}, {
	Code: "mx.redundancy.address", Severity: diag.Info, Weight: 1, Ref: "RFC 5321 section 5.1",
	Title: "All MX hosts have the same address", Requirement: "The MX hosts have different addresses",
	Advice: "Keep one of the MX records, or put the hosts on different machines: several names of one machine add " +
		"nothing.",
	When: func(e *evidence) bool { return compared(e) && len(e.reachable()) > 1 },
	Fails: func(e *evidence) rule.Failures {
		v4, v6 := e.addresses()
		return rule.FailIf(e.onSingleMachine(), "%d MX hosts lead to %s alone.", len(e.reachable()),
			join(slices.Concat(v4, v6)))
	},
}, {
	Code: "mx.ipv4.missing", Severity: diag.Warning, Weight: 3, Ref: "RFC 3974 section 3",
	Title: "MX hosts have IPv6 addresses only", Requirement: "An MX host has an IPv4 address",
	Advice: "Add an IPv4 address to a mail server: many senders have no IPv6 and cannot deliver.",
	Fails: func(e *evidence) rule.Failures {
		v4, _ := e.addresses()
		return rule.FailIf(len(v4) == 0, "None of the MX hosts of %s has a public IPv4 address.", e.domain)
	},
}, {
	Code: "mx.ipv6.missing", Optional: true, Severity: diag.Info, Weight: 1, Ref: "RFC 3974 section 3",
	Title: "No MX host has an IPv6 address", Requirement: "An MX host has an IPv6 address",
	Advice: "Leave it if the mail service offers no IPv6: senders deliver over IPv4. Otherwise add an AAAA record.",
	Fails: func(e *evidence) rule.Failures {
		_, v6 := e.addresses()
		return rule.FailIf(len(v6) == 0, "None of the MX hosts of %s has a public IPv6 address.", e.domain)
	},
}}

var wildcardRules = rule.Rules[*evidence]{{
	Code: "mx.wildcard.subdomains", Severity: diag.Info, Ref: "RFC 1912 section 2.7",
	Title: "Wildcard MX: every subdomain receives mail", Requirement: "No wildcard MX makes every subdomain receive mail",
	Advice: "Keep the wildcard only if the mail servers accept mail for any subdomain; else publish MX records for " +
		"those that receive mail.",
	When: hasNamedHosts, Fails: func(e *evidence) rule.Failures {
		hosts := slices.ContainsFunc(e.wildcard.Records, func(mx *dns.MX) bool { return mx.Mx != "." })
		return rule.FailIf(hosts, "*.%s has an MX record, so that senders deliver mail for subdomains that were never "+
			"set up.", e.domain)
	},
}}

func failEach(f fault, say func(*evidence, host) rule.Failures) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		return rule.FailEach(e.with(f), func(h host) rule.Failures { return say(e, h).About(h.Name) })
	}
}

var nameRules = rule.Rules[*evidence]{{
	Code: "mx.record.duplicate", Severity: diag.Info, Weight: 1, Category: factorRecords, Ref: "RFC 5321 section 5.1",
	Title: "MX host is listed more than once", Requirement: "Each MX host is listed once",
	Advice: "Keep one MX record for each host: senders gain nothing by trying the same host again.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.hosts, func(h host) rule.Failures {
			list := e.preferences[h.Name]
			return rule.FailIf(len(list) > 1, "%s is listed with the preferences %s.", h.Name, join(list)).About(h.Name)
		})
	},
}, {
	Code: "mx.host.literal", Severity: diag.Error, Weight: 5, Category: factorNames, Fact: reach.MXLiteral,
	Ref:         "RFC 5321 section 5.1",
	Title:       "MX record with an IP address instead of a host name",
	Requirement: "MX records name hosts and not IP addresses",
	Advice:      "Give the mail server a host name with an address record, and use that name in the MX record.",
	Fails: failEach(literal, func(e *evidence, h host) rule.Failures {
		ip := h.Literal(e.domain.String())
		if strings.HasSuffix(h.Name, "."+e.domain.String()) {
			return rule.Fail("The MX host %s is the IP address %s, to which the domain was appended.", h.Name, ip)
		}
		return rule.Fail("The MX host %s is an IP address, which senders look up as if it were a name.", h.Name)
	}),
}, {
	Code: "mx.host.localhost", Severity: diag.Error, Weight: 5, Category: factorNames, Ref: "RFC 6761 section 6.3",
	Title: "MX record points to localhost", Requirement: "No MX record points to localhost",
	Advice: "Name the mail server in the MX record. If the domain neither receives nor sends mail, publish the null MX " +
		"\"0 .\" instead.",
	Fails: failEach(loopback, func(_ *evidence, h host) rule.Failures {
		return rule.Fail("The MX host %s means the sender's own machine, so that mail never arrives.", h.Name)
	}),
}, {
	Code: "mx.host.repeated_domain", Severity: diag.Error, Weight: 5, Category: factorNames, Ref: "RFC 1035 section 5.1",
	Title: "MX host name ends with the domain twice", Requirement: "No MX host name ends with the domain twice",
	Advice: "Write the name of the host with a dot at its end, or without the domain: a name without the dot is " +
		"completed with it.",
	Fails: failEach(repeating, func(e *evidence, h host) rule.Failures {
		meant := withoutDomain(h.Name, e.domain.String())
		failures := rule.Fail("The MX host %s ends with the domain twice; %s was probably meant.", h.Name, meant)
		failures[0].Advice = suffix.DotAdvice([]string{meant}, true)
		if e.receives(meant) && !slices.Contains(e.names(), meant) && len(h.reachable) == 0 {
			return failures.Suggesting(data(h.Preference, meant+"."))
		}
		return failures
	}),
}, {
	Code: "mx.host.invalid", Severity: diag.Error, Weight: 5, Category: factorNames, Ref: "RFC 1123 section 2.1",
	Title: "Invalid host name in an MX record", Requirement: "MX records have valid host names",
	Advice: "Correct the name in the MX record: it may have letters, digits, hyphens and dots only.",
	Fails: failEach(malformed, func(_ *evidence, h host) rule.Failures {
		return rule.Fail("The MX host %s is not a valid host name: %s.", phrase.Quote(h.Name), oddity(h.Name))
	}),
}, {
	Code: "mx.host.underscore", Severity: diag.Warning, Weight: 1, Category: factorNames, Ref: "RFC 1123 section 2.1",
	Title: "Underscore in the name of an MX host", Requirement: "No MX host name has an underscore",
	Advice: "Give the host another name, with a certificate for it, then change the MX record: some senders refuse " +
		"names with underscores, and authorities issue no certificates for them.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.hosts, func(h host) rule.Failures {
			return rule.FailIf(strings.Contains(h.Name, "_"), "The MX host %s has an underscore in its name.", h.Name).
				About(h.Name)
		})
	},
}}

func (e *evidence) receives(meant string) bool {
	for _, h := range e.intended {
		if h.Name == meant {
			return slices.ContainsFunc(h.Addresses.All(), e.public)
		}
	}
	return false
}

func (e *evidence) nonexistence(h host) rule.Failures {
	text, advice := fmt.Sprintf("The MX host %s does not exist (NXDOMAIN)", h.Name), ""
	chain := h.Aliases()
	switch meant, ending := foreign(h.Name, e.domain.String()), internal(h.Name); {
	case len(chain) > 0:
		text = fmt.Sprintf("The MX host %s is an alias (CNAME) of %s, which does not exist (NXDOMAIN)",
			h.Name, chain[len(chain)-1])
	case strings.HasSuffix(h.Name, ".msv1.invalid"):
		// Microsoft's documentation calls this record temporary.
		text += "; Microsoft 365 had it published to verify the domain"
		advice = "Remove the record: it has done its work once Microsoft 365 has verified the domain."
	case ending != "":
		text += fmt.Sprintf("; names under %s exist within a network only", ending)
		advice = "Give the mail server a name in the public DNS, and use that name in the MX record."
	case !strings.Contains(h.Name, "."):
		text += "; its domain is missing"
		advice = "Write the whole name of the host in the MX record, with its domain."
	case meant != "":
		text += fmt.Sprintf("; if %s was meant, its final dot is missing", meant)
		advice = suffix.DotAdvice([]string{meant}, false)
	}
	failures := rule.Fail("%s.", text)
	failures[0].Advice = advice
	return failures
}
