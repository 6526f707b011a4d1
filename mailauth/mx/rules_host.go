package mx

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/ground"
)

func (e *evidence) each(f fault, say func(host) diag.Failures) diag.Failures {
	return diag.FailEach(e.with(f), func(h host) diag.Failures { return say(h).About(h.Name) })
}

var nameRules = diag.Rules[*evidence]{{
	Code: "mx.record.duplicate", Severity: diag.Info, Weight: 1, Category: factorRecords, Ref: "RFC 5321 section 5.1",
	Title: "MX host is listed more than once", Requirement: "Each MX host is listed once",
	Advice: "Keep one MX record for each host: senders gain nothing by trying the same host again.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailEach(e.hosts, func(h host) diag.Failures {
			list := e.preferences[h.Name]
			return diag.FailIf(len(list) > 1, "%s is listed with the preferences %s.", h.Name, join(list)).About(h.Name)
		})
	},
}, {
	Code: "mx.host.literal", Severity: diag.Error, Weight: 5, Category: factorNames, Fact: ground.MXLiteral,
	Ref:         "RFC 5321 section 5.1",
	Title:       "MX record with an IP address instead of a host name",
	Requirement: "MX records name hosts and not IP addresses",
	Advice:      "Give the mail server a host name with an address record, and use that name in the MX record.",
	Fails: func(e *evidence) diag.Failures {
		return e.each(literal, func(h host) diag.Failures {
			ip := h.Literal(e.domain.String())
			if strings.HasSuffix(h.Name, "."+e.domain.String()) {
				return diag.Fail("The MX host %s is the IP address %s, to which the domain was appended.", h.Name, ip)
			}
			return diag.Fail("The MX host %s is an IP address, which senders look up as if it were a name.", h.Name)
		})
	},
}, {
	Code: "mx.host.localhost", Severity: diag.Error, Weight: 5, Category: factorNames, Ref: "RFC 6761 section 6.3",
	Title: "MX record points to localhost", Requirement: "No MX record points to localhost",
	Advice: "Name the mail server in the MX record. If the domain neither receives nor sends mail, publish the null MX " +
		"\"0 .\" instead.",
	Fails: func(e *evidence) diag.Failures {
		return e.each(loopback, func(h host) diag.Failures {
			return diag.Fail("The MX host %s stands for the sender's own machine, so that mail never arrives.", h.Name)
		})
	},
}, {
	Code: "mx.host.repeated_domain", Severity: diag.Error, Weight: 5, Category: factorNames, Ref: "RFC 1035 section 5.1",
	Title: "MX host name ends with the domain twice", Requirement: "No MX host name ends with the domain twice",
	Advice: "Write the name of the host with a dot at its end, or without the domain: a name without the dot is " +
		"completed with it.",
	Fails: func(e *evidence) diag.Failures {
		return e.each(repeating, func(h host) diag.Failures {
			meant := withoutDomain(h.Name, e.domain.String())
			failures := diag.Fail("The MX host %s ends with the domain twice; %s was probably meant.", h.Name, meant)
			if e.receives(meant) && !slices.Contains(e.names(), meant) && len(h.reachable) == 0 {
				return failures.Suggesting(data(h.Preference, meant+"."))
			}
			return failures
		})
	},
}, {
	Code: "mx.host.invalid", Severity: diag.Error, Weight: 5, Category: factorNames, Ref: "RFC 1123 section 2.1",
	Title: "Invalid host name in an MX record", Requirement: "MX records have valid host names",
	Advice: "Correct the name in the MX record: it may have letters, digits, hyphens and dots only.",
	Fails: func(e *evidence) diag.Failures {
		return e.each(malformed, func(h host) diag.Failures {
			return diag.Fail("The MX host %s is not a valid host name: %s.", diag.Quote(h.Name), oddity(h.Name))
		})
	},
}, {
	Code: "mx.host.underscore", Severity: diag.Warning, Weight: 1, Category: factorNames, Ref: "RFC 1123 section 2.1",
	Title: "Underscore in the name of an MX host", Requirement: "No MX host name has an underscore",
	Advice: "Give the host another name, with a certificate for it, then change the MX record: some senders refuse " +
		"names with underscores, and authorities issue no certificates for them.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailEach(e.hosts, func(h host) diag.Failures {
			return diag.FailIf(strings.Contains(h.Name, "_"), "The MX host %s has an underscore in its name.", h.Name).
				About(h.Name)
		})
	},
}}

func (e *evidence) receives(meant string) bool {
	for _, h := range e.meant {
		if h.Name == meant {
			return slices.ContainsFunc(h.Addresses.All(), e.public)
		}
	}
	return false
}

// nonexistence says that a host does not exist, and what to do about the likely cause.
func (e *evidence) nonexistence(h host) diag.Failures {
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
		advice = fmt.Sprintf("Write the name of the host with a dot at its end in the zone file if it is %s; "+
			"else add an address record for the host, or remove its MX record.", meant)
	}
	failures := diag.Fail("%s.", text)
	failures[0].Advice = advice
	return failures
}
