package resolve

import (
	"github.com/diagkit/diagkit/diag"
)

// manyNames is the number of host names of which receivers of mail look at the first only (RFC 7208 section 4.6.4).
const manyNames = 10

func ptrKnown(e *reverseEvidence) bool { return e.ptr.Err() == nil }
func named(e *reverseEvidence) bool    { return len(e.hosts) > 0 }
func verified(e *reverseEvidence) bool { return named(e) && e.verify }

var reverseRules = diag.Rules[*reverseEvidence]{{
	Code: "reverse.ptr.unanswered", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: "RFC 1912 section 2.8",
	Title: "Reverse zone did not answer", Requirement: "The name servers answer for the address",
	Advice: "Ask the holder of the address block to fix the reverse zone.",
	Fails: func(e *reverseEvidence) diag.Failures {
		if ptrKnown(e) {
			return nil
		}
		return diag.Fail("The lookup of the PTR records of %s failed: %v.", nameText(e.ptr.Name), e.ptr.Err())
	},
}, {
	Code: "reverse.ptr.missing", Severity: diag.Warning, StateIfFailed: diag.Missing, Ref: "RFC 1912 section 2.1",
	Title: "No PTR record", Requirement: "The address has a PTR record",
	Advice: "Ask your provider to set a PTR record: many receivers reject mail from addresses without one.",
	When:   ptrKnown,
	Fails: func(e *reverseEvidence) diag.Failures {
		if e.ptr.NXDomain() {
			return diag.Fail("%s does not exist (NXDOMAIN).", nameText(e.ptr.Name))
		}
		return diag.FailIf(!named(e), "%s exists, but has no PTR record.", nameText(e.ptr.Name))
	},
}, {
	Code: "reverse.ptr.many", Severity: diag.Warning, Ref: "RFC 7208 section 4.6.4",
	Title: "Too many PTR records", Requirement: "The address has few PTR records",
	Advice: "Keep one PTR record, for the name that the host uses in HELO.", When: named,
	Fails: func(e *reverseEvidence) diag.Failures {
		return diag.FailIf(len(e.hosts) > manyNames, "The address has %d PTR records. Many receivers look at the first %d only.",
			len(e.hosts), manyNames)
	},
}, {
	Code: "reverse.hostname.invalid", Severity: diag.Warning, Ref: "RFC 1123 section 2.1",
	Title: "PTR record holds an invalid host name", Requirement: "The PTR records hold valid host names",
	Advice: "Correct the PTR record: the labels of a host name hold letters, digits and hyphens.", When: named,
	Fails: eachHost(func(_ *reverseEvidence, host string) (string, bool) {
		_, err := diag.ParseDomain(host)
		return "is not a valid host name", err != nil
	}),
}, {
	Code: "reverse.hostname.generic", Severity: diag.Info, Ref: "RFC 8499 section 7",
	Title: "Generic host name", Requirement: "The host names are not generic",
	Advice: "Ask your provider for a PTR record with a name of your own if the host sends mail: this one looks dynamic.",
	When:   named, Fails: eachHost(func(e *reverseEvidence, host string) (string, bool) { return generic(host, e.ip) }),
}, {
	Code: "reverse.forward.unanswered", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	Ref:   "RFC 1912 section 2.1",
	Title: "Addresses of a host name unknown", Requirement: "The name servers answer for the host names",
	Advice: "Fix the zone of the host name: until it answers, the name cannot be confirmed.", When: verified,
	Fails: func(e *reverseEvidence) diag.Failures {
		return diag.FailEach(e.forwards, func(f forwardAnswer) diag.Failures {
			host := nameText(f.host)
			return diag.FailIf(f.err != nil, "The lookup of the addresses of %s failed: %v.", host, f.err).About(host)
		}).Joined()
	},
}, {
	Code: "reverse.forward.unconfirmed", Severity: diag.Warning, Ref: "RFC 1912 section 2.1, RFC 8499 section 7",
	Title: "Reverse DNS not forward-confirmed", Requirement: "A host name resolves to the address",
	Advice: "Add an A or AAAA record with this address to the host name, or correct the PTR record.",
	When:   func(e *reverseEvidence) bool { return verified(e) && !e.unsure() },
	Fails: func(e *reverseEvidence) diag.Failures {
		return diag.FailIf(!e.confirmed(), "None of the host names resolves to %s.", e.ip)
	},
}, {
	Code: "reverse.forward.partial", Severity: diag.Info, Ref: "RFC 1912 section 2.1",
	Title: "A host name does not resolve to the address", Requirement: "Every host name resolves to the address",
	Advice: "Remove the PTR records of the names that do not resolve to the address.",
	When:   func(e *reverseEvidence) bool { return verified(e) && e.confirmed() },
	Fails: func(e *reverseEvidence) diag.Failures {
		return diag.FailEach(e.forwards, func(f forwardAnswer) diag.Failures {
			unmatched, host := !f.matches && !f.invalid && f.err == nil, nameText(f.host)
			return diag.FailIf(unmatched, "%s does not resolve to the address.", host).About(host)
		}).Joined()
	},
}, {
	Code: "reverse.address.special", Severity: diag.Info, Ref: "RFC 6303 section 4, RFC 6890 section 2.2",
	Title: "Address is not public", Requirement: "The address is public",
	Fails: func(e *reverseEvidence) diag.Failures {
		purpose := purposeOf(e.ip.Addr)
		return diag.FailIf(purpose != "", "%s is %s: its host names depend on the resolver.", e.ip, purpose)
	},
}}

// eachHost makes the test of a rule that returns a failure for each of the host names of which a test is true.
func eachHost(test func(e *reverseEvidence, host string) (what string, is bool)) func(*reverseEvidence) diag.Failures {
	return func(e *reverseEvidence) diag.Failures {
		return diag.FailEach(e.hosts, func(host string) diag.Failures {
			what, is := test(e, host)
			return diag.FailIf(is, "%s %s.", nameText(host), what).About(nameText(host))
		}).Joined()
	}
}
