package zonecheck

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/internal/survey"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/miekg/dns"
)

// hasSOAs reports whether there are SOA records to compare.
func hasSOAs(e *evidence) bool { return len(e.soas()) > 1 }

// mnameKnown reports whether the addresses of the primary server could be looked up.
func mnameKnown(e *evidence) bool {
	return hasSOA(e) && e.lookedUp(dns.CanonicalName(e.soa().Ns))
}

var soaRules = rule.Rules[*evidence]{soaDotRule, {
	Code: "zone.soa.missing", Severity: diag.Error, Weight: 5, Ref: "Zonemaster DELEGATION06, RFC 1035 section 3.3.13",
	Title: "SOA record missing", Requirement: "Every name server has the SOA record of the zone",
	Advice: "Add the SOA record: without it resolvers cannot cache negative answers.", When: served,
	Fails: atServing(func(e *evidence, ad *survey.Address) string {
		return view.TextIf(e.answerTo(ad.SOA(), dns.TypeSOA) == noData, "has no SOA record for "+e.Domain.String())
	}),
}, {
	Code: "zone.soa.multiple", Severity: diag.Error, Weight: 3, Ref: "Zonemaster ZONE10, RFC 2181 section 6.1",
	Title: "More than one SOA record", Requirement: "There is one SOA record",
	Advice: "Remove all SOA records but one.", When: hasSOA,
	Fails: atServing(func(e *evidence, ad *survey.Address) string {
		n := len(survey.Set[*dns.SOA](ad.SOA().Msg.Answer, e.Zone))
		return view.TextIf(n > 1, fmt.Sprintf("has %d SOA records for %s", n, e.Domain))
	}),
}, {
	Code: "zone.soa.serial.differs", Severity: diag.Warning, Weight: 3,
	Ref:   "Zonemaster CONSISTENCY01, RFC 1034 section 4.3.5",
	Title: "Name servers have different serial numbers", Requirement: "All name servers have the same serial number",
	Advice: "Wait for the refresh time. If they still differ then, check that the secondaries may transfer the zone.",
	When:   hasSOAs, Fails: soaDiffers("The serial number", func(s *dns.SOA) string { return fmt.Sprint(s.Serial) }),
}, {
	Code: "zone.soa.mname.invalid", Severity: diag.Warning, Weight: 1,
	Ref:   "Zonemaster ZONE01, SYNTAX07, RFC 1035 section 3.3.13",
	Title: "MNAME is not a fully qualified host name", Requirement: "The MNAME is a fully qualified host name",
	Advice: "Write the name of the primary server in full, with a final dot in the zone file.", When: hasSOA,
	Fails: func(e *evidence) rule.Failures {
		mname := e.soa().Ns
		return rule.FailIf(!hostName(mname) || dns.CountLabel(mname) < 2, "The MNAME of the SOA record is %q.",
			phrase.Quote(survey.BareName(mname)))
	},
}, {
	Code: "zone.soa.mname.alias", Severity: diag.Warning, Weight: 1, Reads: []rule.Source{servers, recordsSOA, primary},
	Ref:   "Zonemaster ZONE07, RFC 1912 section 2.2",
	Title: "MNAME is an alias", Requirement: "The MNAME is not an alias",
	Advice: "Use the name that the alias points to.", When: mnameKnown,
	Fails: func(e *evidence) rule.Failures {
		text := aliasText(e.Hosts[dns.CanonicalName(e.soa().Ns)])
		return rule.FailIf(text != "", "The primary server %s %s.", survey.BareName(e.soa().Ns), text)
	},
}, {
	Code: "zone.soa.rname.at", Severity: diag.Warning, Weight: 1, Ref: "Zonemaster SYNTAX05, RFC 1035 section 8",
	Title: "RNAME contains an @", Requirement: "The RNAME is written without an @",
	Advice: "Replace the @ with a dot: write hostmaster.example.com for hostmaster@example.com.", When: hasSOA,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(strings.Contains(e.soa().Mbox, "@"), "The RNAME of the SOA record is %q.",
			phrase.Quote(survey.BareName(e.soa().Mbox)))
	},
}, {
	Code: "zone.soa.rname.invalid", Severity: diag.Warning, Weight: 1, Ref: "Zonemaster SYNTAX06, RFC 1912 section 2.2",
	Title: "RNAME is not a mail address", Requirement: "The RNAME stands for a mail address",
	Advice: "Name a mailbox that is read: hostmaster.example.com stands for hostmaster@example.com.",
	When:   func(e *evidence) bool { return hasSOA(e) && !strings.Contains(e.soa().Mbox, "@") },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!mailbox(e.soa().Mbox), "The RNAME of the SOA record is %q.",
			phrase.Quote(survey.BareName(e.soa().Mbox)))
	},
}}

// mailbox reports whether the domain behind the first label is one.
func mailbox(rname string) bool {
	i, end := dns.NextLabel(rname, 0)
	return !end && hostName(rname[i:])
}

// soaDiffers reports the values of a field if servers have different ones.
func soaDiffers(what string, field func(*dns.SOA) string) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		places, soas := map[string][]string{}, e.soas()
		for _, ad := range e.serving {
			if s := soas[ad]; s != nil {
				places[field(s)] = append(places[field(s)], e.place(ad))
			}
		}
		if len(places) < 2 {
			return nil
		}
		return rule.FailEach(slices.Sorted(maps.Keys(places)), func(value string) rule.Failures {
			where := joined(places[value])
			return rule.Fail("%s is %s at %s.", what, phrase.Quote(value), where).About(where)
		})
	}
}

// The bounds of the times in an SOA record, in seconds.
const (
	leastRefresh = 1200    // RFC 1912 section 2.2
	leastRetry   = 180     // RFC 1912 section 2.2
	leastExpire  = 604_800 // Zonemaster ZONE05
	mostMinimum  = 86_400  // Zonemaster ZONE06, RFC 2308 section 5
)

var timerRules = rule.Rules[*evidence]{{
	Code: "zone.soa.refresh.short", Severity: diag.Warning, Weight: 1, Ref: "Zonemaster ZONE02, RFC 1912 section 2.2",
	Title: "Refresh time below 20 minutes", Requirement: "The refresh time is at least 20 minutes",
	Advice: "Raise the refresh time: NOTIFY tells secondaries about changes immediately.",
	Fails:  below(refresh, leastRefresh),
}, {
	Code: "zone.soa.retry.short", Severity: diag.Warning, Weight: 1, Ref: "Zonemaster ZONE04, RFC 1912 section 2.2",
	Title: "Retry time below 3 minutes", Requirement: "The retry time is at least 3 minutes",
	Advice: "Raise the retry time to 15 minutes or more: while the primary is down, secondaries ask it again and again.",
	Fails:  below(func(s *dns.SOA) (string, uint32) { return "retry time", s.Retry }, leastRetry),
}, {
	Code: "zone.soa.retry.long", Severity: diag.Warning, Weight: 1, Ref: "Zonemaster ZONE03, RFC 1912 section 2.2",
	Title: "Retry time longer than the refresh time", Requirement: "The retry time is not longer than the refresh time",
	Advice: "Make the retry time a fraction of the refresh time.",
	Fails: func(e *evidence) rule.Failures {
		s := e.soa()
		return rule.FailIf(s.Retry > s.Refresh, "The retry time is %s, the refresh time %s.", seconds(s.Retry),
			seconds(s.Refresh))
	},
}, {
	Code: "zone.soa.expire.short", Severity: diag.Warning, Weight: 2, Ref: "Zonemaster ZONE05, RFC 1912 section 2.2",
	Title: "Expire time below one week", Requirement: "The expire time is at least one week",
	Advice: "Raise the expire time to two to four weeks: secondaries drop the zone after that.",
	Fails:  below(func(s *dns.SOA) (string, uint32) { return "expire time", s.Expire }, leastExpire),
}, {
	Code: "zone.soa.expire.refresh", Severity: diag.Warning, Weight: 2, Ref: "Zonemaster ZONE05, RFC 1912 section 2.2",
	Title:       "Zone expires before secondaries refresh it",
	Requirement: "The expire time exceeds the refresh and retry times together",
	Advice:      "Make the expire time many times longer than the refresh and retry times together.",
	Fails: func(e *evidence) rule.Failures {
		s := e.soa()
		return rule.FailIf(uint64(s.Expire) <= uint64(s.Refresh)+uint64(s.Retry),
			"The expire time is %s, the refresh time %s and the retry time %s.", seconds(s.Expire), seconds(s.Refresh),
			seconds(s.Retry))
	},
}, {
	Code: "zone.soa.minimum.high", Severity: diag.Warning, Weight: 1, Ref: "Zonemaster ZONE06, RFC 2308 section 5",
	Title:       "Negative answers are cached for more than a day",
	Requirement: "Negative answers are cached for at most a day",
	Advice:      "Lower the SOA minimum to about an hour: until it expires, resolvers do not see new names.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.soa().Minttl > mostMinimum, "The SOA minimum is %s.", seconds(e.soa().Minttl))
	},
}}.With(rule.Rule[*evidence]{When: hasSOA})

func refresh(s *dns.SOA) (string, uint32) { return "refresh time", s.Refresh }

// below reports a time that is shorter than it should be.
func below(field func(*dns.SOA) (string, uint32), least uint32) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		name, value := field(e.soa())
		return rule.FailIf(value < least, "The %s is %s.", name, seconds(value))
	}
}

// seconds writes a number of seconds.
func seconds(n uint32) string { return phrase.Count(n, "second") }
