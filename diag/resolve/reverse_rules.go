package resolve

import (
	"github.com/diagkit/diagkit/diag"
)

// manyNames is the number of host names of which receivers of mail look at the first only (RFC 7208
// section 4.6.4).
const manyNames = 10

func ptrKnown(e *reverseEvidence) bool { return e.ptr.Err() == nil }
func named(e *reverseEvidence) bool    { return len(e.hosts) > 0 }
func verified(e *reverseEvidence) bool { return named(e) && e.verify }

var reverseRules = diag.Rules[*reverseEvidence]{
	{
		Code: "reverse.ptr.unanswered", Severity: diag.Error, StateIfFailed: diag.Unknown,
		Requirement: "The name servers answer for the address",
		Ref:         "RFC 1912 section 2.8",
		Advice:      "Ask whoever holds the block of addresses to mend the zone: until then the host names are not known.",
		Fails: func(e *reverseEvidence) diag.Failures {
			if ptrKnown(e) {
				return nil
			}
			return diag.Fail("For %s %v.", nameText(e.ptr.Name), e.ptr.Err())
		},
	},
	{
		Code: "reverse.ptr.missing", Severity: diag.Warning, StateIfFailed: diag.Missing,
		Requirement: "The address has a host name",
		Ref:         "RFC 1912 section 2.1",
		Advice:      "Ask your provider to set a PTR record: many receivers refuse mail from addresses without one.",
		When:        ptrKnown,
		Fails: func(e *reverseEvidence) diag.Failures {
			if e.ptr.NXDomain() {
				return diag.Fail("There is no name %s.", nameText(e.ptr.Name))
			}
			return diag.FailIf(!named(e), "The name %s exists, and has no PTR record.", nameText(e.ptr.Name))
		},
	},
	{
		Code: "reverse.ptr.many", Severity: diag.Warning,
		Requirement: "The address has few host names",
		Ref:         "RFC 7208 section 4.6.4",
		Advice:      "Keep one PTR record, for the name by which the host introduces itself.",
		When:        named,
		Fails: func(e *reverseEvidence) diag.Failures {
			return diag.FailIf(len(e.hosts) > manyNames, "There are %d host names; many receivers look at %d only.",
				len(e.hosts), manyNames)
		},
	},
	{
		Code: "reverse.ptr.alias", Severity: diag.Info,
		Requirement: "The PTR record stands at the address's own name",
		Ref:         "RFC 2317 section 4",
		When:        named,
		Fails: func(e *reverseEvidence) diag.Failures {
			if len(e.ptr.Aliases) == 0 {
				return nil
			}
			last := nameText(e.ptr.Aliases[len(e.ptr.Aliases)-1])
			return target(last, true, "The name is an alias of %s, as in networks smaller than a /24.", last)
		},
	},
	{
		Code: "reverse.hostname.invalid", Severity: diag.Warning,
		Requirement: "The host names are names of hosts",
		Ref:         "RFC 1123 section 2.1",
		Advice:      "Correct the PTR record: a host name has letters, digits and hyphens between its dots.",
		When:        named,
		Fails: func(e *reverseEvidence) diag.Failures {
			return e.each(func(host string) (string, bool) {
				_, err := diag.ParseDomain(host)
				return "is no name of a host", err != nil
			})
		},
	},
	{
		Code: "reverse.hostname.generic", Severity: diag.Info,
		Requirement: "The host names tell who the host is",
		Ref:         "RFC 8499 section 7",
		Advice:      "If the host sends mail, ask your provider for a name of your own: such a one looks like a dial-in line.",
		When:        named,
		Fails: func(e *reverseEvidence) diag.Failures {
			return e.each(func(host string) (string, bool) { return generic(host, e.ip) })
		},
	},
	{
		Code: "reverse.forward.unanswered", Severity: diag.Warning, StateIfFailed: diag.Unknown,
		Requirement: "The name servers answer for the host names",
		Advice:      "Mend the zones of the host names: until they answer, the names confirm nothing.",
		When:        verified,
		Fails: func(e *reverseEvidence) diag.Failures {
			var failures diag.Failures
			for _, f := range e.forwards {
				if f.err != nil {
					failures = append(failures, target(nameText(f.host), true, "For %s %v.", nameText(f.host), f.err)...)
				}
			}
			return failures
		},
	},
	{
		Code: "reverse.forward.unconfirmed", Severity: diag.Warning,
		Requirement: "A host name has the address",
		Ref:         "RFC 1912 section 2.1, RFC 8499 section 7",
		Advice:      "Give the host name an address record with this address, or correct the PTR record.",
		When:        func(e *reverseEvidence) bool { return verified(e) && !e.unsure() },
		Fails: func(e *reverseEvidence) diag.Failures {
			return diag.FailIf(!e.confirmed(), "None of the host names has the address %s.", e.ip)
		},
	},
	{
		Code: "reverse.forward.partial", Severity: diag.Info,
		Requirement: "Every host name has the address",
		Ref:         "RFC 1912 section 2.1",
		Advice:      "Remove the PTR records of the names that do not lead back.",
		When:        func(e *reverseEvidence) bool { return verified(e) && e.confirmed() },
		Fails: func(e *reverseEvidence) diag.Failures {
			var failures diag.Failures
			for _, f := range e.forwards {
				unmatched := !f.matches && !f.invalid && f.err == nil
				failures = append(failures, target(nameText(f.host), unmatched, "%s does not have the address.",
					nameText(f.host))...)
			}
			return failures
		},
	},
	{
		Code: "reverse.forward.unchecked", Severity: diag.Info,
		Requirement: "The addresses of every host name were looked up",
		When:        verified,
		Fails: func(e *reverseEvidence) diag.Failures {
			return diag.FailIf(len(e.hosts) > len(e.forwards), "Of %d host names the first %d were looked up.",
				len(e.hosts), len(e.forwards))
		},
	},
	{
		Code: "reverse.address.special", Severity: diag.Info,
		Requirement: "The address is a public one",
		Ref:         "RFC 6303 section 4, RFC 6890 section 2.2",
		Fails: func(e *reverseEvidence) diag.Failures {
			purpose := purposeOf(e.ip.Addr)
			return diag.FailIf(purpose != "",
				"%s is %s; what names it has depends on who is asked.", e.ip, purpose)
		},
	},
}

// each returns a failure for each of the host names of which a test is true.
func (e *reverseEvidence) each(test func(host string) (what string, is bool)) diag.Failures {
	var failures diag.Failures
	for _, host := range e.hosts[:min(len(e.hosts), maxFailures)] {
		if what, is := test(host); is {
			failures = append(failures, target(nameText(host), true, "%s %s.", nameText(host), what)...)
		}
	}
	return failures
}
