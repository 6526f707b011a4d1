package zonecheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

var categorySOA = diag.Category{Code: string(CategorySOA), Label: "SOA record"}

// soaRules are about the SOA record and what servers agree on.
var soaRules = diag.Rules[*evidence]{
	{
		Code: "zone.soa.missing", Severity: diag.Error, Weight: 5, Category: categorySOA,
		Requirement: "Every server of the zone has its SOA record",
		Ref:         "Zonemaster DELEGATION06, RFC 1035 section 3.3.13",
		Advice:      "Add the SOA record: without it nothing that is missing can be remembered as missing.",
		When:        served,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.serving, func(ad *address) string {
				if len(set[*dns.SOA](ad.soa().msg.Answer, e.zone)) == 0 {
					return "It has no SOA record at the name."
				}
				return ""
			})
		},
	},
	{
		Code: "zone.soa.multiple", Severity: diag.Error, Weight: 3, Category: categorySOA,
		Requirement: "There is one SOA record",
		Ref:         "Zonemaster ZONE10, RFC 2181 section 6.1",
		Advice:      "Remove the second SOA record.",
		When:        hasSOA,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.serving, func(ad *address) string {
				if n := len(set[*dns.SOA](ad.soa().msg.Answer, e.zone)); n > 1 {
					return fmt.Sprintf("It has %d.", n)
				}
				return ""
			})
		},
	},
	{
		Code: "zone.soa.serial.differs", Severity: diag.Warning, Weight: 3, Category: categorySOA,
		Requirement: "All servers have the same version of the zone",
		Ref:         "Zonemaster CONSISTENCY01, RFC 1034 section 4.3.5",
		Advice:      "Wait for the refresh time; if it does not help, check that the servers may transfer the zone.",
		When:        hasSOA,
		Fails: func(e *evidence) diag.Failures {
			return e.soaDiffers("The serial number", func(s *dns.SOA) string { return fmt.Sprint(s.Serial) })
		},
	},
	{
		Code: "zone.soa.mname.differs", Severity: diag.Info, Category: categorySOA,
		Requirement: "All servers name the same primary server",
		Ref:         "Zonemaster CONSISTENCY06, RFC 1035 section 3.3.13",
		Advice:      "Check that all servers have the zone from the same source.",
		When:        hasSOA,
		Fails: func(e *evidence) diag.Failures {
			return e.soaDiffers("The primary server", func(s *dns.SOA) string { return bareName(s.Ns) })
		},
	},
	{
		Code: "zone.soa.rname.differs", Severity: diag.Info, Category: categorySOA,
		Requirement: "All servers name the same mailbox",
		Ref:         "Zonemaster CONSISTENCY02, RFC 1035 section 3.3.13",
		Advice:      "Check that all servers have the zone from the same source.",
		When:        hasSOA,
		Fails: func(e *evidence) diag.Failures {
			return e.soaDiffers("The mailbox", func(s *dns.SOA) string { return bareName(s.Mbox) })
		},
	},
	{
		Code: "zone.soa.timers.differ", Severity: diag.Info, Category: categorySOA,
		Requirement: "All servers have the same times in the SOA record",
		Ref:         "Zonemaster CONSISTENCY03, RFC 1035 section 3.3.13",
		Advice:      "Check that all servers have the zone from the same source.",
		When:        hasSOA,
		Fails: func(e *evidence) diag.Failures {
			return e.soaDiffers("Refresh, retry, expire and minimum", func(s *dns.SOA) string {
				return fmt.Sprint(s.Refresh, s.Retry, s.Expire, s.Minttl)
			})
		},
	},
	{
		Code: "zone.soa.mname.invalid", Severity: diag.Warning, Weight: 1, Category: categorySOA,
		Requirement: "The primary server is given by a full host name",
		Ref:         "Zonemaster ZONE01, SYNTAX07, RFC 1035 section 3.3.13",
		Advice:      "Write the name of the server in full, with a final dot in the zone file.",
		When:        hasSOA,
		Fails: func(e *evidence) diag.Failures {
			mname := e.soa().Ns
			return diag.FailIf(!hostName(mname) || dns.CountLabel(mname) < 2, "The name is %s.", clip(bareName(mname)))
		},
	},
	{
		Code: "zone.soa.mname.alias", Severity: diag.Warning, Weight: 1, Category: categorySOA,
		Requirement: "The name of the primary server is no alias",
		Ref:         "Zonemaster ZONE07, RFC 1912 section 2.2",
		Advice:      "Give the name that the alias leads to.",
		When:        hasSOA,
		Fails: func(e *evidence) diag.Failures {
			text := aliasText(e.hosts[dns.CanonicalName(e.soa().Ns)])
			return diag.FailIf(text != "", "%s", text)
		},
	},
	{
		Code: "zone.soa.mname.unresolved", Severity: diag.Info, Category: categorySOA,
		Requirement: "The primary server has an address",
		Ref:         "Zonemaster ZONE01, RFC 2136 section 4",
		Advice:      "Give it an address if the zone takes dynamic updates; a primary that is hidden on purpose needs none.",
		When:        hasSOA,
		Fails: func(e *evidence) diag.Failures {
			a, ok := e.hosts[dns.CanonicalName(e.soa().Ns)]
			return diag.FailIf(ok && a.Err() == nil && len(a.All()) == 0, "%s has none.", bareName(e.soa().Ns))
		},
	},
	{
		Code: "zone.soa.mname.unlisted", Severity: diag.Info, Category: categorySOA,
		Requirement: "The primary server is among the name servers",
		Ref:         "Zonemaster ZONE01, RFC 1996 section 2.1",
		Advice:      "Nothing needs to be done if the primary is hidden on purpose.",
		When:        func(e *evidence) bool { return hasSOA(e) && len(e.own) > 0 },
		Fails: func(e *evidence) diag.Failures {
			mname := dns.CanonicalName(e.soa().Ns)
			return diag.FailIf(!slices.Contains(e.own, mname), "%s has no NS record.", bareName(mname))
		},
	},
	{
		Code: "zone.soa.rname.at", Severity: diag.Warning, Weight: 1, Category: categorySOA,
		Requirement: "The mailbox is written without an @",
		Ref:         "Zonemaster SYNTAX05, RFC 1035 section 8",
		Advice:      "Write a dot for the @, such as hostmaster.example.com for hostmaster@example.com.",
		When:        hasSOA,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(strings.Contains(e.soa().Mbox, "@"), "It is %s.", clip(bareName(e.soa().Mbox)))
		},
	},
	{
		Code: "zone.soa.rname.invalid", Severity: diag.Warning, Weight: 1, Category: categorySOA,
		Requirement: "The mailbox is in a mail domain",
		Ref:         "Zonemaster SYNTAX06, RFC 1912 section 2.2",
		Advice:      "Name a mailbox that is read, such as hostmaster.example.com for hostmaster@example.com.",
		When:        func(e *evidence) bool { return hasSOA(e) && !strings.Contains(e.soa().Mbox, "@") },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(!mailbox(e.soa().Mbox), "It is %s.", clip(bareName(e.soa().Mbox)))
		},
	},
}

// mailbox reports whether the domain behind the first label is one.
func mailbox(rname string) bool {
	i, end := dns.NextLabel(rname, 0)
	return !end && hostName(rname[i:])
}

// soaDiffers reports the values of a field if servers have different ones.
func (e *evidence) soaDiffers(what string, field func(*dns.SOA) string) diag.Failures {
	values := map[string][]string{}
	soas := e.soas()
	for _, ad := range e.serving {
		if s := soas[ad]; s != nil {
			values[field(s)] = append(values[field(s)], e.target(ad))
		}
	}
	if len(values) < 2 {
		return nil
	}
	var list diag.Failures
	for value, targets := range values {
		list = append(list, diag.Failure{Detail: fmt.Sprintf("%s is %s.", what, clip(value)), Target: joined(targets)})
	}
	slices.SortFunc(list, func(a, b diag.Failure) int { return strings.Compare(a.Detail, b.Detail) })
	return list[:min(len(list), maxListed)]
}

// The bounds of the times in an SOA record, in seconds.
const (
	leastRefresh = 1200    // RFC 1912 section 2.2
	usualRefresh = 14_400  // Zonemaster ZONE02
	usualRetry   = 3600    // Zonemaster ZONE04
	leastExpire  = 604_800 // Zonemaster ZONE05
	leastMinimum = 60      // below, what does not exist is asked for all the time
	mostMinimum  = 86_400  // Zonemaster ZONE06, RFC 2308 section 5
)

// timerRules are about the numbers in the SOA record.
var timerRules = diag.Rules[*evidence]{
	{
		Code: "zone.soa.serial.zero", Severity: diag.Info, Category: categorySOA,
		Requirement: "The serial number is not zero",
		Ref:         "RFC 1982 section 7, RFC 2136 section 7.11",
		Advice:      "Use a number that grows with each change, such as the date with a counter.",
		When:        hasSOA,
		Fails:       func(e *evidence) diag.Failures { return diag.FailIf(e.soa().Serial == 0, "It is zero.") },
	},
	{
		Code: "zone.soa.refresh.short", Severity: diag.Warning, Weight: 1, Category: categorySOA,
		Requirement: "Secondaries ask for a new version every 20 minutes at most",
		Ref:         "Zonemaster ZONE02, RFC 1912 section 2.2",
		Advice:      "Raise the refresh time; NOTIFY tells secondaries of changes at once.",
		When:        hasSOA, Fails: below(refresh, leastRefresh),
	},
	{
		Code: "zone.soa.refresh.low", Severity: diag.Info, Category: categorySOA,
		Requirement: "Secondaries ask for a new version every four hours at most",
		Ref:         "Zonemaster ZONE02, RFC 1996 section 4.3",
		Advice:      "Nothing needs to be done; with NOTIFY the refresh time may be longer.",
		When:        func(e *evidence) bool { return hasSOA(e) && e.soa().Refresh >= leastRefresh },
		Fails:       below(refresh, usualRefresh),
	},
	{
		Code: "zone.soa.retry.long", Severity: diag.Warning, Weight: 1, Category: categorySOA,
		Requirement: "Secondaries try again sooner than they refresh",
		Ref:         "Zonemaster ZONE03, RFC 1912 section 2.2",
		Advice:      "Make the retry time a fraction of the refresh time.",
		When:        hasSOA,
		Fails: func(e *evidence) diag.Failures {
			s := e.soa()
			return diag.FailIf(s.Retry > s.Refresh, "The retry time is %d seconds, the refresh time %d.", s.Retry, s.Refresh)
		},
	},
	{
		Code: "zone.soa.retry.low", Severity: diag.Info, Category: categorySOA,
		Requirement: "Secondaries try again every hour at most",
		Ref:         "Zonemaster ZONE04, RFC 1912 section 2.2",
		Advice:      "Nothing needs to be done unless secondaries overload the primary.",
		When:        hasSOA, Fails: below(func(s *dns.SOA) (string, uint32) { return "retry", s.Retry }, usualRetry),
	},
	{
		Code: "zone.soa.expire.short", Severity: diag.Warning, Weight: 2, Category: categorySOA,
		Requirement: "Secondaries keep the zone for a week at least",
		Ref:         "Zonemaster ZONE05, RFC 1912 section 2.2",
		Advice:      "Raise the expire time to two to four weeks: that is how long the primary may be down.",
		When:        hasSOA,
		Fails:       below(func(s *dns.SOA) (string, uint32) { return "expire", s.Expire }, leastExpire),
	},
	{
		Code: "zone.soa.expire.refresh", Severity: diag.Warning, Weight: 2, Category: categorySOA,
		Requirement: "The zone does not expire before secondaries refresh it",
		Ref:         "Zonemaster ZONE05, RFC 1912 section 2.2",
		Advice:      "Make the expire time many times longer than the refresh time and the retry time together.",
		When:        hasSOA,
		Fails: func(e *evidence) diag.Failures {
			s := e.soa()
			return diag.FailIf(uint64(s.Expire) <= uint64(s.Refresh)+uint64(s.Retry),
				"The expire time is %d seconds, refresh and retry are %d and %d.", s.Expire, s.Refresh, s.Retry)
		},
	},
	{
		Code: "zone.soa.minimum.high", Severity: diag.Warning, Weight: 1, Category: categorySOA,
		Requirement: "What does not exist is remembered for a day at most",
		Ref:         "Zonemaster ZONE06, RFC 2308 section 5",
		Advice:      "Lower the minimum to an hour or so: new names stay invisible for as long.",
		When:        hasSOA,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.soa().Minttl > mostMinimum, "The minimum is %d seconds.", e.soa().Minttl)
		},
	},
	{
		Code: "zone.soa.minimum.low", Severity: diag.Info, Category: categorySOA,
		Requirement: "What does not exist is remembered for a minute at least",
		Ref:         "Zonemaster ZONE06, RFC 2308 section 5",
		Advice:      "Raise the minimum: resolvers ask again and again for what is not there.",
		When:        hasSOA,
		Fails:       below(func(s *dns.SOA) (string, uint32) { return "minimum", s.Minttl }, leastMinimum),
	},
}

func refresh(s *dns.SOA) (string, uint32) { return "refresh", s.Refresh }

// below reports a time that is shorter than it should be.
func below(field func(*dns.SOA) (string, uint32), least uint32) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		name, value := field(e.soa())
		return diag.FailIf(value < least, "The %s time is %d seconds.", name, value)
	}
}
