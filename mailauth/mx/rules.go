package mx

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/internal/reception"
	"github.com/miekg/dns"
)

var rules = slices.Concat(
	recordRules.Reading(fromRecords), nullRules.Reading(fromRecords), perHost(nameRules).Reading(fromRecords, fromList),
	perHost(addressRules).Reading(fromRecords, fromList, fromHosts),
	deliveryRules.Reading(fromRecords, fromList, fromHosts),
	redundancyRules.With(rule.Rule[*evidence]{
		Category: factorRedundancy, When: compared, Reads: []rule.Source{fromRecords, fromList, fromHosts}}),
	wildcardRules.Reading(fromRecords, fromWildcards),
)

const (
	fromRecords   rule.Source = "records"   // the MX records, and the addresses of a domain without
	fromList      rule.Source = "list"      // all names of hosts
	fromHosts     rule.Source = "hosts"     // the addresses of the hosts
	fromWildcards rule.Source = "wildcards" // records below the domain
)

// Unanswered lists the sources that the DNS did not answer or that were not queried.
func (e *evidence) Unanswered() []rule.Source {
	_, known := e.mail.Receives()
	return rule.Unanswered(map[rule.Source]bool{
		fromRecords: known, fromList: e.mail.Surplus == 0, fromWildcards: e.wildcard.Err() == nil,
		fromHosts: !slices.ContainsFunc(e.hosts, func(h host) bool { return h.Err() != nil }),
	})
}

// perHost makes rules about every host: a rule passes only after every host was examined, and fails as soon as one
// host has a fault.
func perHost(rules rule.Rules[*evidence]) rule.Rules[*evidence] {
	rules = slices.Clone(rules)
	for i := range rules {
		rules[i].When, rules[i].HoldsWhenUnanswered = hasNamedHosts, true
	}
	return rules
}

func hasRecords(e *evidence) bool { return e.mail.MX.Exists() }

func hasNamedHosts(e *evidence) bool { return hasRecords(e) && len(e.hosts) > 0 }

// manyHosts is the number of MX hosts beyond which an mx term of SPF is an error (RFC 7208 section 4.6.4).
const manyHosts = 10

var recordRules = rule.Rules[*evidence]{{
	Code: "mx.lookup.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: "RFC 5321 section 5.1",
	Title: "MX records could not be looked up", Requirement: "The name servers answer for the MX records",
	Advice: "Check the name servers of the domain: senders defer mail while MX records cannot be looked up.",
	Fails: func(e *evidence) rule.Failures {
		if err := e.mail.MX.Err(); err != nil {
			return rule.Fail("The MX lookup of %s failed: %s.", e.domain, diag.Reason(err))
		}
		return nil
	},
}, reach.NoDomain(rule.Rule[*evidence]{
	Code: "mx.domain.nxdomain", DependsOn: []diag.Code{"mx.lookup.unknown"}, Ref: "RFC 5321 section 5.1",
	Fails: func(e *evidence) rule.Failures {
		switch a := e.mail.MX; {
		case !a.NXDomain():
			return nil
		case len(a.Aliases) > 0:
			return rule.Fail("%s is an alias of %s, which does not exist.", e.domain, trimDot(a.Aliases[len(a.Aliases)-1]))
		default:
			return rule.Fail("The DNS answers NXDOMAIN for %s.", e.domain)
		}
	},
}), {
	Code: "mx.domain.address.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown,
	DependsOn: []diag.Code{"mx.domain.nxdomain"}, Ref: "RFC 5321 section 5.1",
	Title:       "No MX record, and the address of the domain is unknown",
	Requirement: "The name servers answer for the address of a domain without MX records",
	Advice:      "Check the name servers of the domain: without MX records, its address decides whether it receives mail.",
	When:        func(e *evidence) bool { return !hasRecords(e) },
	Fails: func(e *evidence) rule.Failures {
		if err := e.mail.Addresses.Err(); err != nil {
			return rule.Fail("%s has no MX record, and the lookup of its address failed: %s.", e.domain, diag.Reason(err))
		}
		return nil
	},
}, {
	Code: "mx.record.missing", Severity: diag.Info, StateIfFailed: diag.Missing,
	DependsOn: []diag.Code{"mx.domain.nxdomain"}, Ref: "RFC 5321 section 5.1",
	Title:       "No MX record and no address: the domain receives no mail",
	Requirement: "The domain has an MX record or an address",
	Advice: "Publish MX records if the domain is to receive mail. If it neither receives nor sends any, publish the " +
		"null MX \"0 .\", so that senders give up immediately.",
	When: func(e *evidence) bool { _, known := e.mail.Receives(); return known },
	Fails: func(e *evidence) rule.Failures {
		return e.unlessAlias(rule.FailIf(!hasRecords(e) && !e.mail.Implicit,
			"%s has neither an MX record nor an address.", e.domain))
	},
}, {
	Code: "mx.record.implicit", Severity: diag.Warning, Weight: 5, Category: factorRecords,
	DependsOn: []diag.Code{"mx.record.missing"}, Ref: "RFC 5321 section 5.1",
	Title: "No MX record: mail goes to the domain's own address", Requirement: "Mail goes to hosts that MX records name",
	Advice: "Publish MX records that name the mail servers. If the domain neither receives nor sends mail, publish the " +
		"null MX \"0 .\" instead: until then senders try its address for days.",
	Fails: func(e *evidence) rule.Failures {
		return e.unlessAlias(rule.FailIf(e.mail.Implicit, "%s has no MX record, so that senders deliver to its address %s.",
			e.domain, join(e.mail.Addresses.All())))
	},
	Partly: func(e *evidence) float64 {
		if len(e.reachable()) > 0 {
			return 0.5 // RFC 5321 section 5.1: the mail is still delivered
		}
		return 0
	},
}, {
	Code: "mx.record.many", Severity: diag.Info, Ref: "RFC 7208 section 4.6.4",
	Title: "More than 10 MX hosts", Requirement: "There are at most 10 MX hosts",
	Advice: "Remove MX records: senders try only a few hosts, and an mx term in the SPF record fails with more than 10.",
	When:   hasNamedHosts, Fails: func(e *evidence) rule.Failures {
		switch n := len(e.hosts) + e.mail.Surplus; {
		case e.mail.Surplus > 0:
			return rule.Fail("%s has %d MX hosts; those after the first %d were not examined.",
				e.domain, n, reception.MaxHosts)
		default:
			return rule.FailIf(n > manyHosts, "%s has %d MX hosts.", e.domain, n)
		}
	},
}}

// nullRules are about the null MX (RFC 7505).
var nullRules = rule.Rules[*evidence]{{
	Code: "mx.null.present", Optional: true, Severity: diag.Info, Ref: "RFC 7505 section 3",
	Title: "Null MX: the domain receives no mail", Requirement: "The domain receives mail",
	Advice: "Leave it if the domain is to receive no mail. Otherwise replace the null MX with MX records.",
	When:   hasRecords, Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.mail.NullMX(), "The null MX of %s says that it receives no mail.", e.domain)
	},
}, {
	Code: "mx.record.null_beside", Severity: diag.Error, Weight: 5, Category: factorRecords, Fact: reach.NullMXBeside,
	Ref:   "RFC 7505 section 3",
	Title: "Null MX beside other MX records", Requirement: "A null MX is the only MX record",
	Advice: "Remove the null MX if the domain receives mail, or otherwise all other MX records.",
	When:   hasRecords, Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.mail.MixedNull(),
			"%s has a null MX beside the MX host %s: some senders take it for a domain that receives no mail.",
			e.domain, join(e.names()))
	},
}, {
	Code: "mx.null.preference", Severity: diag.Warning, Weight: 1, Category: factorRecords, Ref: "RFC 7505 section 3",
	Title: "Null MX with a preference other than 0", Requirement: "A null MX has the preference 0",
	Advice: "Set the preference to 0: some senders do not recognize a null MX with another one.",
	When:   func(e *evidence) bool { return e.mail.NullMX() },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.mail.MX.Records, func(mx *dns.MX) rule.Failures {
			return rule.FailIf(mx.Preference != 0, "The null MX of %s has the preference %d.", e.domain, mx.Preference).
				Suggesting(data(0, "."))
		})
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

func (e *evidence) names() []string {
	return kit.Map(e.hosts, func(h host) string { return h.Name })
}

var texts = rule.Texts{
	"valid": {Headline: "MX records are set up correctly",
		Sub: "Every MX host has a public address. Whether the mail servers accept mail was not tested."},
	"mx.null.present": {Headline: "Null MX: the domain says that it receives no mail",
		Sub: "Senders give up immediately, as intended. Publish MX records if the domain is to receive mail."},
}

var (
	factorRecords    = rule.Category{Code: "records", Label: "MX records"}
	factorNames      = rule.Category{Code: "names", Label: "Names of the mail servers"}
	factorAddresses  = rule.Category{Code: "addresses", Label: "Addresses of the mail servers"}
	factorRedundancy = rule.Category{Code: "redundancy", Label: "Redundancy and IP versions"}
)

func (e *evidence) reachable() []host {
	return slices.DeleteFunc(slices.Clone(e.hosts), func(h host) bool { return len(h.reachable) == 0 })
}
