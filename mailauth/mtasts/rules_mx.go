package mtasts

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/ground"
)

func mxHosts(e *evidence) bool { return announced(e) && receives(e) }

// enforced reports whether senders hold the mail servers against the policy.
func (e *evidence) enforced() bool {
	return e.validRecord() && e.validPolicy() && e.policy.policy.Mode == Enforce
}

func uncovered(e *evidence) []host {
	return slices.DeleteFunc(slices.Clone(e.hosts), func(h host) bool { return h.covered || isAddress(h.Name) })
}

func (e *evidence) undeliverable() bool { return e.enforced() && len(uncovered(e)) == len(e.hosts) }

var mxRules = diag.Rules[*evidence]{{
	Code: "mtasts.mx.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: "RFC 5321 section 5.1",
	Title: "Mail servers could not be looked up", Requirement: "The name servers answer for the mail servers",
	Advice: "Check the name servers: senders defer mail while MX or address records cannot be looked up.",
	When:   func(e *evidence) bool { return answered(e) && !nonexistent(e) },
	Fails: func(e *evidence) diag.Failures {
		if why := e.mail.Unknown(); why != "" {
			return diag.Fail("Whether %s receives mail is not known: %s.", e.domain, why)
		} else if !announced(e) {
			return nil
		}
		return diag.FailEach(e.hosts, func(h host) diag.Failures {
			if h.Err() == nil {
				return nil
			}
			return diag.Fail("The address lookup of %s failed: %s.", h.Name, diag.Reason(h.Err())).About(h.Name)
		}).Joined()
	},
}, {
	Code: "mtasts.mx.uncovered", Severity: diag.Error, Weight: 15, Category: factorMX, Stands: true,
	DependsOn: []diag.Code{"mtasts.policy.mode.none", "mtasts.policy.mx.missing"}, Ref: "RFC 8461 section 4.1",
	Title: "Mail server not covered by the MTA-STS policy", Requirement: "The policy covers every mail server",
	Advice: "Add the missing hosts to the policy, then change the id of the record.",
	When:   func(e *evidence) bool { return mxHosts(e) && !e.undeliverable() },
	Fails: func(e *evidence) diag.Failures {
		consequence := "once the policy is enforced, senders will not deliver to it"
		if e.enforced() {
			consequence = "senders do not deliver to it"
		}
		return diag.FailEach(uncovered(e), func(h host) diag.Failures {
			return diag.Fail("The policy does not list the mail server %s: %s.", h.Name, consequence).About(h.Name)
		}).Joined().Suggesting(e.newPolicy())
	},
	Partly: func(e *evidence) float64 {
		return 0.5 * float64(len(e.hosts)-len(uncovered(e))) / float64(len(e.hosts))
	},
}, {
	Code: "mtasts.mx.undeliverable", Severity: diag.Critical, Weight: 5, Category: factorMX,
	DependsOn: []diag.Code{"mtasts.policy.mode.none"}, Ref: "RFC 8461 section 5",
	Title: "Enforced MTA-STS policy covers no mail server", Requirement: "The enforced policy covers a mail server",
	Advice: "List the mail servers in the policy now, and change the id of the record: senders refuse to deliver.",
	When:   func(e *evidence) bool { return mxHosts(e) && e.enforced() },
	Fails: func(e *evidence) diag.Failures {
		if !e.undeliverable() {
			return nil
		}
		return diag.FailEach(e.hosts, func(h host) diag.Failures {
			return diag.Fail("The policy is enforced and does not list the mail server %s: senders refuse to deliver.", h.Name).
				About(h.Name)
		}).Joined().Suggesting(e.newPolicy())
	},
}, {
	Code: "mtasts.mx.null", Severity: diag.Warning, Ref: "RFC 7505 section 3",
	Title: "Null MX beside an MTA-STS policy", Requirement: "The domain has no null MX",
	Advice: "Take down the record and the policy, or remove the null MX: a domain without mail needs no policy.",
	When:   attempted, Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.mail.NullMX(), "The null MX of %s says that it receives no mail.", e.domain)
	},
}, {
	Code: "mtasts.mx.missing", Severity: diag.Warning, Ref: "RFC 5321 section 5.1",
	Title: "No MX records", Requirement: "The domain has MX records",
	Advice: "Publish MX records: without one senders turn to the address of the domain itself, if it has one.",
	When:   announced, Fails: func(e *evidence) diag.Failures {
		switch {
		case e.mail.MX.Exists():
			return nil
		case len(e.hosts) == 0:
			return diag.Fail("%s has neither MX records nor an address.", e.domain)
		default:
			return diag.Fail("%s has no MX record, so that senders deliver to its address.", e.domain)
		}
	},
}, {
	Code: "mtasts.mx.address", Severity: diag.Error, Fact: ground.NoAddress,
	Reads: []diag.Source{fromRecord, fromPolicy, fromMail, fromAddresses}, Stands: true, Ref: "RFC 5321 section 5.1",
	Title: "Mail server without an address", Requirement: "Every mail server has an address",
	Advice: "Give the host an address, or remove its MX record.",
	When:   mxHosts, Fails: func(e *evidence) diag.Failures {
		return diag.FailEach(e.hosts, func(h host) diag.Failures {
			nowhere := len(h.Addresses.All()) == 0 && h.Err() == nil && !isAddress(h.Name)
			return diag.FailIf(nowhere, "%s has no address.", h.Name).About(h.Name)
		}).Joined()
	},
}, {
	Code: "mtasts.mx.literal", Severity: diag.Error, Fact: ground.MXLiteral, Ref: "RFC 5321 section 5.1",
	Title: "MX record names an IP address", Requirement: "Every MX record names a host",
	Advice: "Name the host in the MX record instead: senders look up the name and find nothing, and no policy can list " +
		"it.",
	When: mxHosts, Fails: func(e *evidence) diag.Failures {
		return diag.FailEach(e.hosts, func(h host) diag.Failures {
			return diag.FailIf(isAddress(h.Name), "The MX record names %s, which is an IP address.", h.Name).About(h.Name)
		}).Joined()
	},
}, {
	Code: "mtasts.mx.many", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 5321 section 5.1",
	Title: "Too many mail servers to examine", Requirement: "All mail servers were examined",
	Advice: "Remove MX records: senders try only a few hosts.",
	When:   mxHosts, Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.mail.Surplus > 0, "%d mail servers were not examined, beyond the first %d.",
			e.mail.Surplus, maxMXHosts)
	},
}}
