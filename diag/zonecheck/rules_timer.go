package zonecheck

import (
	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// The bounds of the times in an SOA record, in seconds.
const (
	leastRefresh = 1200    // RFC 1912 section 2.2
	leastExpire  = 604_800 // Zonemaster ZONE05
	mostMinimum  = 86_400  // Zonemaster ZONE06, RFC 2308 section 5
)

// timerRules are about the numbers in the SOA record.
var timerRules = diag.Rules[*evidence]{{
	Code: "zone.soa.refresh.short", Severity: diag.Warning, Weight: 1, Ref: "Zonemaster ZONE02, RFC 1912 section 2.2",
	Title: "Refresh time below 20 minutes", Requirement: "The refresh time is at least 20 minutes",
	Advice: "Raise the refresh time: NOTIFY tells secondaries about changes at once.",
	Fails:  below(refresh, leastRefresh),
}, {
	Code: "zone.soa.retry.long", Severity: diag.Warning, Weight: 1, Ref: "Zonemaster ZONE03, RFC 1912 section 2.2",
	Title: "Retry time longer than the refresh time", Requirement: "The retry time is not longer than the refresh time",
	Advice: "Make the retry time a fraction of the refresh time.",
	Fails: func(e *evidence) diag.Failures {
		s := e.soa()
		return diag.FailIf(s.Retry > s.Refresh, "The retry time is %s, the refresh time %s.", seconds(s.Retry),
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
	Fails: func(e *evidence) diag.Failures {
		s := e.soa()
		return diag.FailIf(uint64(s.Expire) <= uint64(s.Refresh)+uint64(s.Retry),
			"The expire time is %s, the refresh time %s and the retry time %s.", seconds(s.Expire), seconds(s.Refresh),
			seconds(s.Retry))
	},
}, {
	Code: "zone.soa.minimum.high", Severity: diag.Warning, Weight: 1, Ref: "Zonemaster ZONE06, RFC 2308 section 5",
	Title:       "Negative answers are cached for more than a day",
	Requirement: "Negative answers are cached for at most a day",
	Advice:      "Lower the SOA minimum to about an hour: until it expires, resolvers do not see new names.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.soa().Minttl > mostMinimum, "The SOA minimum is %s.", seconds(e.soa().Minttl))
	},
}}.With(diag.Rule[*evidence]{When: hasSOA})

func refresh(s *dns.SOA) (string, uint32) { return "refresh time", s.Refresh }

// below reports a time that is shorter than it should be.
func below(field func(*dns.SOA) (string, uint32), least uint32) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		name, value := field(e.soa())
		return diag.FailIf(value < least, "The %s is %s.", name, seconds(value))
	}
}

// seconds writes a number of seconds.
func seconds(n uint32) string { return diag.Count(n, "second") }
