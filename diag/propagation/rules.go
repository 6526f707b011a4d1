package propagation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/miekg/dns"
)

const maxValueText = 200 // bytes of data that a sentence quotes

func authorityAnswered(e *evidence) bool { return e.truth.answered }

// The sources of the rules that may be unanswered.
const (
	reference rule.Source = "reference" // what resolvers are held against
	servers   rule.Source = "servers"   // what each authoritative server says
)

// Unanswered implements [rule.Unanswerer]. A server that is silent may have the newest version of the zone.
func (e *evidence) Unanswered() (open []rule.Source) {
	quiet := len(e.silent) > 0 || e.notFollowed
	if quiet {
		open = append(open, servers)
	}
	if !e.known || quiet && len(e.expected) == 0 {
		open = append(open, reference)
	}
	return open
}

var rules = slices.Concat(
	authorityRules.With(rule.Rule[*evidence]{Reads: []rule.Source{servers}, HoldsWhenUnanswered: true}),
	resolverRules.Reading(rule.FromRequest))

var authorityRules = rule.Rules[*evidence]{{
	Code: "propagation.authority.unknown", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	Ref:         "RFC 1034 section 4.2.1",
	Title:       "No usable answer from the authoritative servers",
	Requirement: "An authoritative server gave a usable answer",
	Advice:      "Fix the zone's name servers or its delegation: run domain/dns-check on the domain.",
	Fails: func(e *evidence) rule.Failures {
		if e.truth.answered {
			return nil
		}
		if err := e.authority.zone.Err; err != nil {
			return rule.Fail("No authoritative server gave a usable answer for %s: %s.", e.name, diag.Reason(err))
		}
		return rule.Fail("No authoritative server gave a usable answer for %s.", e.name)
	},
}, {
	Code: "propagation.authority.inconsistent", Severity: diag.Error, Ref: "RFC 1034 section 4.3.5",
	Title: "Authoritative servers disagree", Requirement: "All authoritative servers give the same answer",
	Advice: "Check that the SOA serial was raised and that the secondary servers can transfer the zone.",
	When:   authorityAnswered, Fails: disagreements,
}, {
	Code: "propagation.authority.serial", Severity: diag.Warning, Ref: "RFC 1996 section 3, RFC 1982",
	Title: "SOA serials differ", Requirement: "All authoritative servers have the same SOA serial",
	Advice: "Wait a minute. If the serials still differ, check that the secondary servers can transfer the zone.",
	When:   func(e *evidence) bool { return authorityAnswered(e) && e.versions == 1 },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.serials > 1, "The name servers have %d different SOA serials.", e.serials)
	},
}, {
	Code: "propagation.authority.lame", Severity: diag.Error, Ref: "RFC 1912 section 2.8, RFC 9499 section 7",
	Title: "Lame delegation", Requirement: "Every name server is authoritative for the zone",
	Advice: "Load the zone on the server, or remove its NS record from the zone and from the parent zone.",
	Fails:  func(e *evidence) rule.Failures { return serversThat(e.notServing, "is not authoritative for the zone") },
}, {
	Code: "propagation.authority.silent", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	Ref:   "RFC 2182 section 3.1",
	Title: "Name server did not respond", Requirement: "Every name server responded",
	Advice: "Check that the server runs, has a public address, and that firewalls allow DNS.",
	Fails:  func(e *evidence) rule.Failures { return serversThat(e.silent, "could not be queried") },
}, {
	Code: "propagation.expected.unpublished", Severity: diag.Error, Ref: "RFC 1034 section 4.2",
	Title: "Expected records not published", Requirement: "The authoritative servers publish the expected records",
	Advice: "Publish the records in the zone, or correct the expected values.",
	When:   func(e *evidence) bool { return authorityAnswered(e) && len(e.expected) > 0 },
	Fails: func(e *evidence) rule.Failures {
		if e.truth.same(e.reference) {
			return nil
		}
		detail := fmt.Sprintf("The authoritative servers answer %s.", e.truth.words())
		if strings.EqualFold(e.truth.key(), e.reference.key()) {
			detail += " That differs from what is expected in the case of letters alone, which counts here."
		}
		return rule.Failures{{Detail: detail}}
	},
}, {
	Code: "propagation.name.nxdomain", Severity: diag.Warning, Fact: reach.NoName,
	Differs: "that all resolvers agree on it is what was asked", Ref: "RFC 8020 section 2",
	Title: "Name does not exist", Requirement: "The name exists",
	Advice: "Check the spelling. If it is right, add records for the name to its zone.",
	When:   func(e *evidence) bool { return authorityAnswered(e) && len(e.expected) == 0 },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.truth.rcode == dns.RcodeNameError, "The authoritative servers answer NXDOMAIN for %s.", e.name)
	},
}, {
	Code: "propagation.records.nodata", Severity: diag.Info, Ref: "RFC 2308 section 2.2",
	Title: "No record of this type", Requirement: "The name has records of the type",
	Advice: "Add a record of this type if there should be one.",
	When: func(e *evidence) bool {
		return authorityAnswered(e) && len(e.expected) == 0 && e.truth.rcode == dns.RcodeSuccess
	},
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(
			len(e.truth.values) == 0,
			"The authoritative servers answer that %s has no %s record.",
			e.name,
			e.qtype,
		)
	},
}}

var resolverRules = rule.Rules[*evidence]{{
	Code: "propagation.resolver.none", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: "RFC 1034 section 5",
	Title: "No resolver gave a usable answer", Requirement: "A resolver gave a usable answer",
	Advice: "Try again later, or query other resolvers.",
	Fails: func(e *evidence) rule.Failures {
		some := slices.ContainsFunc(e.probes, (*probe).answered)
		return rule.FailIf(!some, "None of the %d resolvers gave a usable answer.", len(e.probes))
	},
}, {
	Code: "propagation.resolver.few", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	DependsOn: []diag.Code{"propagation.resolver.none"}, Ref: "RFC 1034 section 5",
	Title: "Most resolvers gave no usable answer", Requirement: "At least half of the resolvers gave a usable answer",
	Advice: "Try again later, or query other resolvers.",
	Fails: func(e *evidence) rule.Failures {
		s := e.summary()
		return rule.FailIf(
			2*s.AnsweredCount < s.ResolverCount,
			"Of %d resolvers, %d gave a usable answer.",
			s.ResolverCount,
			s.AnsweredCount,
		)
	},
}, {
	Code: "propagation.resolver.stale", Severity: diag.Warning, Reads: []rule.Source{reference},
	Ref:   "RFC 1034 section 3.6",
	Title: "Resolvers return different records", Requirement: "No resolver returns different records",
	Advice: "Wait until the cached answer has expired, or use the operator's cache-flush page if there is one.",
	Fails: resolversThat(func(e *evidence, s *probe) string {
		return view.TextIf(s.status == Mismatch && s.filtered == "", e.holds(s))
	}),
}, {
	Code: "propagation.resolver.missing", Severity: diag.Warning, Reads: []rule.Source{reference},
	Ref:   "RFC 2308 section 5",
	Title: "Resolvers do not return the records", Requirement: "No resolver lacks the records",
	Advice: "Wait until the cached answer has expired: resolvers also cache that a record does not exist.",
	Fails: resolversThat(func(e *evidence, s *probe) string {
		return view.TextIf((s.status == NXDomain || s.status == NoData) && s.filtered == "", e.holds(s))
	}),
}, {
	Code: "propagation.resolver.filtered", Severity: diag.Info, Ref: "RFC 8914 section 4.18",
	Title: "Resolver filters the name", Requirement: "No resolver filters the name",
	Advice: "Report it to the operator of the resolver if the name is filtered by mistake.",
	Fails: resolversThat(func(_ *evidence, s *probe) string {
		return view.TextIf(s.filtered != "", "filters the answer: "+s.filtered)
	}),
}, {
	Code: "propagation.resolver.bogus", Severity: diag.Error, Ref: "RFC 4035 section 5.5, RFC 8914 section 4.7",
	Title: "DNSSEC validation failed", Requirement: "No resolver fails DNSSEC validation",
	Advice: "Run dnssec/check on the name: it says which signature, key or DS record is at fault.",
	Fails: resolversThat(func(_ *evidence, s *probe) string {
		return view.TextIf(s.status == ServFail && diag.MessageDNSSEC(s.reply) == diag.Bogus,
			"failed to validate the answer: "+s.remark())
	}),
}, {
	Code: "propagation.resolver.servfail", Severity: diag.Info, StateIfFailed: diag.Unknown,
	Ref:   "RFC 1035 section 4.1.1",
	Title: "Resolver answered SERVFAIL", Requirement: "No resolver answered SERVFAIL",
	Advice: "Run domain/dns-check and dnssec/check on the domain if several resolvers fail.",
	Fails: resolversThat(func(_ *evidence, s *probe) string {
		return view.TextIf(s.status == ServFail && s.filtered == "" && diag.MessageDNSSEC(s.reply) != diag.Bogus,
			strings.TrimSuffix("answered SERVFAIL: "+s.remark(), ": "))
	}),
}}

// resolversThat lists the resolvers for which a function returns a text.
func resolversThat(tell func(*evidence, *probe) string) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		return rule.FailEach(e.probes, func(s *probe) rule.Failures {
			what := tell(e, s)
			return rule.FailIf(what != "", "%s %s.", s.vantage.Name, what).About(s.vantage.ID)
		}).Joined()
	}
}

// holds describes the values that a resolver caches, and for how long.
func (e *evidence) holds(s *probe) string {
	text := "answers " + s.observation.words() + e.alsoAuthoritative(s)
	if !s.observation.timed {
		return text
	}
	return text + "; its cached answer expires in " + duration(s.observation.ttl)
}

// alsoAuthoritative notes that an answer other than the reference is still that of an authoritative server.
func (e *evidence) alsoAuthoritative(s *probe) string {
	for _, server := range e.authority.servers {
		if server.err == nil && server.observation.same(s.observation) {
			return fmt.Sprintf(", as does the authoritative server %s", strings.TrimSuffix(server.name, "."))
		}
	}
	return ""
}

func serversThat(servers []*authServer, what string) rule.Failures {
	return rule.FailEach(servers, func(s *authServer) rule.Failures {
		name := strings.TrimSuffix(s.name, ".")
		where := name
		if s.addr.IsValid() {
			where += " (" + text(s.addr) + ")"
		}
		return rule.Fail("%s %s: %s.", where, what, diag.Reason(s.err)).About(name)
	}).Joined()
}

// disagreements lists the servers whose answer differs from the reference.
func disagreements(e *evidence) rule.Failures {
	return rule.FailEach(e.authority.servers, func(s *authServer) rule.Failures {
		if s.err != nil || s.observation.same(e.truth) {
			return nil
		}
		name := strings.TrimSuffix(s.name, ".")
		return rule.Fail("%s (%s)%s answers %s; others answer %s.", name, text(s.addr), serialText(s.serial),
			s.observation.words(), e.truth.words()).About(name)
	}).Joined()
}

func serialText(serial *uint32) string {
	if serial == nil {
		return ""
	}
	return fmt.Sprintf(" with serial %d", *serial)
}

func (s observation) words() string {
	switch {
	case s.rcode == dns.RcodeNameError:
		return "NXDOMAIN (no such name)"
	case len(s.values) == 0:
		return "that there is no such record"
	}
	return phrase.Clip(strings.Join(s.values, ", "), maxValueText)
}

// duration writes seconds for people, rounded up.
func duration(seconds uint32) string {
	const minute, hour, day = 60, 3600, 86_400
	up := func(unit uint32) uint32 { return uint32((uint64(seconds) + uint64(unit) - 1) / uint64(unit)) }
	switch {
	case seconds < 2*minute:
		return fmt.Sprintf("%d seconds", seconds)
	case seconds < 2*hour:
		return fmt.Sprintf("%d minutes", up(minute))
	case seconds < 2*day:
		return fmt.Sprintf("%d hours", up(hour))
	default:
		return fmt.Sprintf("%d days", up(day))
	}
}

// texts are the headlines of a check where the gravest finding does not say it. The progress in numbers is in the
// summary.
var texts = rule.Texts{
	"valid": {
		Headline: "All resolvers that answered agree",
		Sub:      "Each of them returns the expected records. Nothing needs to be done.",
	},
	"propagation.name.nxdomain": {
		Headline: "All resolvers that answered say that the name does not exist",
		Sub:      "If there should be records, check the spelling and add them to the zone.",
	},
	"propagation.records.nodata": {
		Headline: "All resolvers that answered say there is no such record",
		Sub:      "If there should be records of the type, add them to the zone.",
	},
}
