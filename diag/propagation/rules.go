package propagation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

const (
	// longTTL is from where on a change takes so long that people take it for broken: a day.
	longTTL = 86_400

	maxFailures  = 50  // of one rule: each is about one resolver or server
	maxValueText = 200 // bytes of data that a sentence quotes
)

func truthTold(e *evidence) bool { return e.truth.told }

var rules = slices.Concat(authorityRules, resolverRules)

var authorityRules = diag.Rules[*evidence]{
	{
		Code: "propagation.authority.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown,
		Requirement: "The authoritative servers answer",
		Ref:         "RFC 1034 section 4.2.1",
		Advice:      "Mend the name servers of the zone, or its delegation; until then nobody learns anything new.",
		Fails: func(e *evidence) diag.Failures {
			if e.truth.told {
				return nil
			}
			if err := e.authority.zone.Err; err != nil {
				return diag.Fail("No server that is responsible answered: %.300v.", err)
			}
			return diag.Fail("No server that is responsible answered for %s.", e.name)
		},
	},
	{
		Code: "propagation.authority.inconsistent", Severity: diag.Error,
		Requirement: "All authoritative servers say the same",
		Ref:         "RFC 1034 section 4.3.5",
		Advice:      "Check that the secondary servers are allowed to fetch the zone and that the serial number was raised.",
		When:        truthTold,
		Fails:       disagreements,
	},
	{
		Code: "propagation.authority.serial", Severity: diag.Warning,
		Requirement: "All authoritative servers have the same version of the zone",
		Ref:         "RFC 1996 section 3, RFC 1982",
		Advice:      "Wait a minute; if the serial numbers still differ, check that the secondary servers can fetch the zone.",
		When:        func(e *evidence) bool { return truthTold(e) && e.versions == 1 },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.serials > 1, "The servers have %d different serial numbers.", e.serials)
		},
	},
	{
		Code: "propagation.authority.lame", Severity: diag.Error,
		Requirement: "Every server of the zone answers for it",
		Ref:         "RFC 1912 section 2.8, RFC 9499 section 7",
		Advice:      "Let the server load the zone, or take its NS record out of the zone and of the zone above.",
		Fails: func(e *evidence) diag.Failures {
			return serversThat(e.notServing, "does not answer for the zone")
		},
	},
	{
		Code: "propagation.authority.silent", Severity: diag.Warning, StateIfFailed: diag.Unknown,
		Requirement: "Every server of the zone can be reached",
		Ref:         "RFC 2182 section 3.1",
		Advice:      "Check that the server runs, has a public address, and that firewalls let DNS pass.",
		Fails:       func(e *evidence) diag.Failures { return serversThat(e.silent, "could not be asked") },
	},
	{
		Code: "propagation.expected.unpublished", Severity: diag.Error,
		Requirement: "The authoritative servers publish what is expected",
		Ref:         "RFC 1034 section 4.2",
		Advice:      "Publish the records in the zone, or correct what is expected: resolvers only pass on what the zone says.",
		When:        func(e *evidence) bool { return truthTold(e) && len(e.expected) > 0 },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(!e.truth.same(e.reference), "They say %s.", e.truth.words())
		},
	},
	{
		Code: "propagation.ttl.long", Severity: diag.Info,
		Requirement: "Changes get around within a day",
		Ref:         "RFC 1034 section 3.6",
		Advice:      "Lower the TTL well before the next change.",
		When:        truthTold,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.truth.ttl > longTTL, "Resolvers may keep the answer for %s.", duration(e.truth.ttl))
		},
	},
}

var resolverRules = diag.Rules[*evidence]{
	{
		Code: "propagation.resolver.none", Severity: diag.Error, StateIfFailed: diag.Unknown,
		Requirement: "Some resolver answers",
		Ref:         "RFC 1034 section 5",
		Advice:      "Ask again, or other resolvers.",
		Fails: func(e *evidence) diag.Failures {
			some := slices.ContainsFunc(e.sights, (*sight).answered)
			return diag.FailIf(!some, "None of %d says what it holds.", len(e.sights))
		},
	},
	{
		Code: "propagation.resolver.stale", Severity: diag.Warning,
		Requirement: "No resolver has other records",
		Ref:         "RFC 1034 section 3.6",
		Advice:      "Wait until the copy has run out, or use the operator's page for clearing caches if there is one.",
		Fails: func(e *evidence) diag.Failures {
			return e.resolversThat(func(s *sight) string {
				if s.status != Mismatch || s.filtered != "" {
					return ""
				}
				return e.holds(s)
			})
		},
	},
	{
		Code: "propagation.resolver.missing", Severity: diag.Warning,
		Requirement: "No resolver lacks the records",
		Ref:         "RFC 2308 section 5",
		Advice:      "Wait until the copy has run out: resolvers also keep that there is nothing.",
		Fails: func(e *evidence) diag.Failures {
			return e.resolversThat(func(s *sight) string {
				if s.status != NXDomain && s.status != NoData || s.filtered != "" {
					return ""
				}
				return e.holds(s)
			})
		},
	},
	{
		Code: "propagation.resolver.filtered", Severity: diag.Info,
		Requirement: "No resolver filters the name",
		Ref:         "RFC 8914 section 4.18",
		Advice:      "If that is wrong, tell the operator of the resolver.",
		Fails: func(e *evidence) diag.Failures {
			return e.resolversThat(func(s *sight) string {
				if s.filtered == "" {
					return ""
				}
				return "withholds the answer on purpose: " + s.filtered
			})
		},
	},
	{
		Code: "propagation.resolver.bogus", Severity: diag.Error,
		Requirement: "Resolvers that validate DNSSEC accept the zone",
		Ref:         "RFC 4035 section 5.5, RFC 8914 section 4.7",
		Advice:      "Renew the signatures of the zone, and compare its keys with the DS records in the zone above.",
		Fails: func(e *evidence) diag.Failures {
			return e.resolversThat(func(s *sight) string {
				if s.status != ServFail || diag.MessageDNSSEC(s.reply) != diag.Bogus {
					return ""
				}
				return "does not accept the signatures: " + s.remark()
			})
		},
	},
	{
		Code: "propagation.resolver.servfail", Severity: diag.Warning, StateIfFailed: diag.Unknown,
		Requirement: "Every resolver could find out the answer",
		Ref:         "RFC 1035 section 4.1.1",
		Advice:      "If several fail, check the name servers of the zone and its DNSSEC signatures.",
		Fails: func(e *evidence) diag.Failures {
			return e.resolversThat(func(s *sight) string {
				if s.status != ServFail || s.filtered != "" || diag.MessageDNSSEC(s.reply) == diag.Bogus {
					return ""
				}
				return strings.TrimSuffix("answers SERVFAIL: "+s.remark(), ": ")
			})
		},
	},
	{
		Code: "propagation.resolver.refused", Severity: diag.Info, StateIfFailed: diag.Unknown,
		Requirement: "Every resolver is willing to answer",
		Ref:         "RFC 8914 section 4.19",
		Fails: func(e *evidence) diag.Failures {
			return e.resolversThat(func(s *sight) string {
				if s.status != Refused || s.filtered != "" {
					return ""
				}
				return strings.TrimSuffix("refuses to answer: "+s.remark(), ": ")
			})
		},
	},
	{
		Code: "propagation.resolver.silent", Severity: diag.Info, StateIfFailed: diag.Unknown,
		Requirement: "Every resolver replies",
		Fails: func(e *evidence) diag.Failures {
			return e.resolversThat(func(s *sight) string {
				if s.status != TimedOut && s.status != Failed {
					return ""
				}
				return "did not answer: " + s.remark()
			})
		},
	},
}

// resolversThat lists the resolvers of which there is something to tell.
func (e *evidence) resolversThat(tell func(*sight) string) diag.Failures {
	var failures diag.Failures
	for _, s := range e.sights {
		if what := tell(s); what != "" && len(failures) < maxFailures {
			failures = append(failures, diag.Failure{Target: s.vantage.ID, Detail: s.vantage.Name + " " + what + "."})
		}
	}
	return failures
}

// holds tells what a resolver holds, and for how long.
func (e *evidence) holds(s *sight) string {
	says := "says " + s.said.words() + e.alsoAuthoritative(s)
	if !s.said.timed {
		return says
	}
	return says + "; its copy runs out in " + duration(s.said.ttl)
}

// alsoAuthoritative tells if an answer that is not right is still that of an authoritative server.
func (e *evidence) alsoAuthoritative(s *sight) string {
	for _, server := range e.authority.servers {
		if server.err == nil && server.said.same(s.said) {
			return fmt.Sprintf(", as does the authoritative server %s", strings.TrimSuffix(server.name, "."))
		}
	}
	return ""
}

func serversThat(servers []*authServer, what string) diag.Failures {
	var failures diag.Failures
	for _, s := range servers {
		name := strings.TrimSuffix(s.name, ".")
		where := name
		if s.addr.IsValid() {
			where += " (" + text(s.addr) + ")"
		}
		failures = append(failures, diag.Failure{Target: name, Detail: fmt.Sprintf("%s %s: %.300v.", where, what, s.err)})
	}
	return failures
}

// disagreements lists the servers that say something else than counts.
func disagreements(e *evidence) diag.Failures {
	var failures diag.Failures
	for _, s := range e.authority.servers {
		if s.err != nil || s.said.same(e.truth) {
			continue
		}
		name := strings.TrimSuffix(s.name, ".")
		failures = append(failures, diag.Failure{Target: name, Detail: fmt.Sprintf("%s (%s)%s says %s, others say %s.",
			name, text(s.addr), serialText(s.serial), s.said.words(), e.truth.words())})
	}
	return failures
}

func serialText(serial *uint32) string {
	if serial == nil {
		return ""
	}
	return fmt.Sprintf(" with the serial number %d", *serial)
}

// words puts what is said into words.
func (s said) words() string {
	switch {
	case s.rcode == dns.RcodeNameError:
		return "that there is no such name"
	case len(s.values) == 0:
		return "that there are no such records"
	}
	joined := strings.Join(s.values, ", ")
	if len(joined) > maxValueText {
		joined = strings.ToValidUTF8(joined[:maxValueText], "") + "…"
	}
	return joined
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
