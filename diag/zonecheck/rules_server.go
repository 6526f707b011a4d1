package zonecheck

import (
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/ground"
	"github.com/diagkit/diagkit/diag/zonecheck/survey"
)

// slowAfter is the time of an answer from which a server counts as slow: even from the other end of the
// earth they take less.
const slowAfter = 500 * time.Millisecond

var serverRules = diag.Rules[*evidence]{{
	Code: "zone.ns.unreachable", Severity: diag.Error, Weight: 5, Ref: "Zonemaster CONNECTIVITY01, RFC 2182 section 5",
	Title: "Name server does not answer", Requirement: "No name server drops queries",
	Advice: "Check that the name server runs and that no firewall drops queries: resolvers lose time with each attempt.",
	When:   func(e *evidence) bool { return slices.ContainsFunc(e.Addresses, e.measured) },
	Fails: atAddresses(func(e *evidence, ad *survey.Address) string {
		switch r := ad.SOA(); {
		case !e.measured(ad) || ad.Source().IsValid():
			return ""
		case r.Result == survey.TimedOut, r.Result == survey.Reset:
			return fmt.Sprintf("does not answer, although other servers can be reached over IPv%d", diag.IP{Addr: ad.IP}.Version())
		}
		return ""
	}),
}, {
	Code: "zone.ns.closed", Severity: diag.Error, Weight: 5, Fact: ground.Refused,
	Differs: "resolvers turn to the other name servers", Ref: "Zonemaster CONNECTIVITY01, RFC 1912 section 2.8",
	Title: "Name server refuses connections to port 53", Requirement: "Every name server accepts queries at port 53",
	Advice: "Start the name server, make it listen on this address, or remove the address.",
	When:   anyAddress(func(ad *survey.Address) bool { return talked(ad) || refuses(ad) }),
	Fails:  atAddresses(saying("refuses connections to port 53", refuses)),
}, {
	Code: "zone.ns.malformed", Severity: diag.Error, Weight: 5, Ref: "RFC 1035 section 4.1",
	Title: "Name server sends malformed replies", Requirement: "The replies of every name server can be parsed",
	Advice: "Replace the server software, or the middlebox that rewrites its replies.", When: anyAddress(talked),
	Fails: atAddresses(func(_ *evidence, ad *survey.Address) string {
		for _, r := range ad.Replies {
			if r.Result == survey.Malformed {
				return "sent a reply that is not a DNS message"
			}
		}
		return ""
	}),
}, {
	Code: "zone.ns.lame", Severity: diag.Error, Weight: 5, Ref: "Zonemaster DELEGATION04, RFC 1912 section 2.8",
	Title:       "Lame delegation: name server does not serve the zone",
	Requirement: "Every name server that answers serves the zone",
	Advice:      "Configure the zone on the name server, or remove its NS records from the zone and its parent zone.",
	When:        reached, Fails: withStanding(survey.Lame),
}, {
	Code: "zone.ns.unauthoritative", Severity: diag.Error, Weight: 5,
	Ref:         "Zonemaster DELEGATION04, RFC 1034 section 4.2.2",
	Title:       "Name server is not authoritative for the zone",
	Requirement: "Every name server that has the zone is authoritative for it",
	Advice:      "Configure the name server as primary or secondary of the zone: it may answer from a cache or an expired copy.",
	When:        unlessLame(survey.NonAuthoritative), Fails: withStanding(survey.NonAuthoritative),
}, {
	Code: "zone.ns.upward", Severity: diag.Error, Weight: 5, Ref: "Zonemaster NAMESERVER07, RFC 1912 section 2.8",
	Title:       "Lame delegation: name server returns an upward referral",
	Requirement: "No name server returns upward referrals",
	Advice:      "Configure the zone on the name server, and let it answer REFUSED for zones that it does not have.",
	When:        unlessLame(survey.UpwardReferral), Fails: withStanding(survey.UpwardReferral),
}, {
	Code: "zone.ns.slow", Severity: diag.Info, Ref: "RFC 2182 section 3.1",
	Title: "Name server answers slowly", Requirement: "Every name server answers within half a second",
	Advice: "Check the load of the name server and the path to it: distance alone does not explain the delay.",
	When: anyAddress(func(ad *survey.Address) bool {
		_, known := ad.Latency()
		return known
	}),
	Fails: atAddresses(func(_ *evidence, ad *survey.Address) string {
		if fastest, known := ad.Latency(); known && fastest >= slowAfter {
			return fmt.Sprintf("took %d ms for its fastest answer", fastest.Milliseconds())
		}
		return ""
	}),
}, {
	Code: "zone.ns.source", Severity: diag.Error, Weight: 5, Ref: "Zonemaster NAMESERVER04, RFC 2181 section 4.1",
	Title: "Name server replies from another address", Requirement: "Replies come from the address that was queried",
	Advice: "Make the name server reply from the address that was queried: resolvers discard other replies.",
	When:   anyAddress(talked),
	Fails: atAddresses(func(_ *evidence, ad *survey.Address) string {
		if from := ad.Source(); from.IsValid() {
			return "replied from " + from.String()
		}
		return ""
	}),
}, {
	Code: "zone.ns.forged", Severity: diag.Info, Ref: "RFC 5452 section 4",
	Title: "Forged replies received", Requirement: "No forged reply arrives",
	Advice: "Find out who sends the forged replies: resolvers that check less carefully would accept them.",
	When:   anyAddress(talked),
	Fails: atAddresses(func(_ *evidence, ad *survey.Address) string {
		forged := 0
		for _, r := range ad.Replies {
			forged += r.Forged
		}
		if forged == 0 {
			return ""
		}
		return "was queried, and " + diag.Count(forged, "datagram") + " with another ID or question came back"
	}),
}}

// refuses reports whether nobody listens at an address.
func refuses(ad *survey.Address) bool {
	return ad.Replies[survey.ProbeSOA].Result == survey.Refused && !ad.Replies[survey.ProbeTCP].OK()
}

// talked reports whether anything at all came back from an address.
func talked(ad *survey.Address) bool {
	return ad.Source().IsValid() || slices.ContainsFunc(ad.Replies[:], func(r survey.Reply) bool {
		return r.Result == survey.Answered || r.Result == survey.Malformed || r.Result == survey.Truncated
	})
}

// measured reports whether it is known if an address answers: it was asked, and others answer from here
// over the same version of IP.
func (e *evidence) measured(ad *survey.Address) bool {
	r := ad.SOA().Result
	return e.responds[ad.IP.Is6()] && r != survey.NotAsked && r != survey.Unroutable && r != survey.Blocked
}

// unlessLame is the condition that a server has a standing, or that none is lame: what a lame one would be if it had
// the zone is not known, and not to be praised.
func unlessLame(s survey.Standing) func(*evidence) bool {
	return func(e *evidence) bool {
		has := func(s survey.Standing) bool {
			return slices.ContainsFunc(e.Addresses, func(ad *survey.Address) bool { return ad.SOA().Standing(e.Zone) == s })
		}
		return reached(e) && (has(s) || !has(survey.Lame))
	}
}

func withStanding(s survey.Standing) func(*evidence) diag.Failures {
	return atAddresses(func(e *evidence, ad *survey.Address) string {
		if ad.SOA().Standing(e.Zone) == s {
			return e.trouble(ad)
		}
		return ""
	})
}
