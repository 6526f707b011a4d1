package zonecheck

import (
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/internal/survey"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/miekg/dns"
)

var transportRules = rule.Rules[*evidence]{{
	Code: "zone.transport.udp", Severity: diag.Error, Weight: 5, Ref: "Zonemaster CONNECTIVITY01, RFC 1035 section 4.2",
	Title: "Name server does not answer over UDP", Requirement: "Every name server that answers does so over UDP",
	Advice: "Allow UDP to and from port 53: resolvers ask over UDP first.", When: reached,
	Fails: atAddresses(saying("answers over TCP and not over UDP", func(ad *survey.Address) bool {
		return ad.Replies[survey.ProbeTCP].OK() && !ad.Replies[survey.ProbeSOA].OK() && ad.Asked(survey.ProbeSOA)
	})),
}, {
	Code: "zone.transport.tcp", Severity: diag.Error, Weight: 5, Ref: "Zonemaster CONNECTIVITY02, RFC 7766 section 5",
	Title: "Name server does not answer over TCP", Requirement: "Every name server that answers does so over TCP",
	Advice: "Allow TCP connections to port 53: without them, large answers are lost.", When: anyAddress(triedTCP),
	Fails: atAddresses(func(_ *evidence, ad *survey.Address) string {
		r := ad.Replies[survey.ProbeTCP]
		switch {
		case !ad.Replies[survey.ProbeSOA].OK() || r.OK() || r.Result == survey.NotAsked:
			return ""
		case r.Result == survey.Refused:
			return "answers over UDP and refuses TCP connections"
		default:
			return "answers over UDP and not over TCP"
		}
	}),
}, {
	Code: "zone.transport.truncation", Severity: diag.Warning, Weight: 2, Ref: "RFC 2181 section 9",
	Title: "Small answers are truncated", Requirement: "Small answers are not truncated",
	Advice: "Make the name server send small answers over UDP: now every answer takes a TCP connection.",
	When:   answered(survey.ProbeSOA),
	Fails: atAddresses(func(_ *evidence, ad *survey.Address) string {
		r := ad.Replies[survey.ProbeSOA]
		return view.TextIf(r.OK() && r.Msg.Truncated, "truncates even the SOA record over UDP")
	}),
}, {
	Code: "zone.transport.unexamined", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 3901 section 3",
	Title: "Addresses could not be reached from here", Requirement: "All addresses can be reached from here",
	Advice: "Repeat the audit from a network with both IPv4 and IPv6.", When: addressed,
	Fails: func(e *evidence) rule.Failures {
		for _, ipv6 := range []bool{false, true} {
			if n := len(e.family(ipv6)); n > 0 && e.lacksFamily(ipv6) {
				return rule.Fail("IPv%d does not work from here, so not every address was examined (%d left out).",
					map[bool]int{false: 4, true: 6}[ipv6], n)
			}
		}
		return e.each(e.Addresses, func(ad *survey.Address) string {
			return view.TextIf(ad.SOA().Result == survey.Unroutable, "cannot be reached from here: there is no route")
		})
	},
}, {
	Code: "zone.transport.unfinished", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: "RFC 2182 section 3.1",
	Title: "Audit ran out of time or queries", Requirement: "The audit was completed",
	Advice: "Fix the other findings first: name servers that are slow or drop queries use up the time.",
	When:   addressed,
	Fails: func(e *evidence) rule.Failures {
		if e.Exhausted {
			return rule.Fail("The %d queries of an audit were not enough for the name servers of %s.",
				survey.MaxQueries, e.Domain)
		}
		return e.each(e.serving, func(ad *survey.Address) string {
			return view.TextIf(ad.Hurried, "could not be asked everything in time")
		})
	},
}}

// lacksFamily reports whether a version of IP does not seem to work from here.
func (e *evidence) lacksFamily(ipv6 bool) bool {
	works := func(ad *survey.Address) bool { return ad.IP.Is6() == ipv6 && ad.SOA().OK() }
	return !e.responds[ipv6] && e.responds[!ipv6] && !slices.ContainsFunc(e.Addresses, works)
}

// ednsRules are about EDNS (RFC 6891).
var ednsRules = rule.Rules[*evidence]{{
	Code: "zone.edns.unsupported", Severity: diag.Warning, Weight: 3,
	Ref:   "Zonemaster NAMESERVER02, RFC 6891 section 7",
	Title: "Name server without EDNS", Requirement: "Every name server supports EDNS",
	Advice: "Replace the server software: DNSSEC needs EDNS, and without it large answers need TCP.",
	When:   ednsAnswered,
	Fails: atServing(func(_ *evidence, ad *survey.Address) string {
		switch r := ad.Replies[survey.ProbeEDNS]; {
		case ad.EDNS || !r.OK():
			return ""
		case r.Msg.Rcode != dns.RcodeSuccess:
			return "answers " + dnsmsg.RcodeName(r.Msg.Rcode) + " to queries with EDNS"
		default:
			return "ignores EDNS"
		}
	}),
}, {
	Code: "zone.edns.dropped", Severity: diag.Error, Weight: 5, Ref: "Zonemaster NAMESERVER02, RFC 6891 section 7",
	Title: "Queries with EDNS are dropped", Requirement: "Queries with EDNS are answered",
	Advice: "Make the firewall pass EDNS: resolvers no longer retry without it (dnsflagday.net, 2019).",
	When:   func(e *evidence) bool { return ednsAnswered(e) || slices.ContainsFunc(e.serving, dropsEDNS) },
	Fails:  atServing(saying("answers without EDNS and drops queries with EDNS", dropsEDNS)),
}, {
	Code: "zone.edns.known_options", Severity: diag.Warning, Weight: 2,
	Ref:   "RFC 6891 section 6.1.2, RFC 7873 section 5.2, RFC 5001 section 2.2",
	Title: "Common EDNS options break the answer", Requirement: "Common EDNS options do not break the answer",
	Advice: "Replace the server software: it must ignore EDNS options that it does not know, such as cookies.",
	When:   ednsAnswered,
	Fails: atServing(func(_ *evidence, ad *survey.Address) string {
		if ad.EDNS && ad.Replies[survey.ProbeEDNS].OK() && ad.Asked(survey.ProbeIdentity) {
			return replyText(ad.Replies[survey.ProbeIdentity]) +
				" to a query with NSID, a cookie and DO, and answers without them"
		}
		return ""
	}),
}, {
	Code: "zone.edns.version", Severity: diag.Warning, Weight: 1,
	Ref:         "Zonemaster NAMESERVER10, RFC 6891 section 6.1.3",
	Title:       "Unknown EDNS version not answered with BADVERS",
	Requirement: "Unknown EDNS versions are answered with BADVERS",
	Advice:      "Replace the server software, or the firewall in front of it.", When: asked(survey.ProbeVersion),
	Fails: probing(survey.ProbeVersion, func(r survey.Reply) string {
		if r.Rcode() == dns.RcodeBadVers && r.EDNS() != nil {
			return ""
		}
		return replyText(r) + " to EDNS version 1"
	}),
}, {
	Code: "zone.edns.option", Severity: diag.Warning, Weight: 1, Ref: "Zonemaster NAMESERVER11, RFC 6891 section 6.1.2",
	Title: "Unknown EDNS option not ignored", Requirement: "Unknown EDNS options are ignored",
	Advice: "Replace the server software, or the firewall in front of it.", When: asked(survey.ProbeOption),
	Fails: probing(survey.ProbeOption, func(r survey.Reply) string {
		if r.Rcode() != dns.RcodeSuccess || r.EDNS() == nil {
			return replyText(r) + " to an unknown EDNS option"
		}
		echoed := func(o dns.EDNS0) bool { return o.Option() == survey.UnassignedOption }
		return view.TextIf(slices.ContainsFunc(r.EDNS().Option, echoed), "sends an unknown EDNS option back")
	}),
}, {
	Code: "zone.edns.flags", Severity: diag.Warning, Weight: 1, Ref: "Zonemaster NAMESERVER12, RFC 6891 section 6.1.4",
	Title: "Unknown EDNS flags not ignored", Requirement: "Unknown EDNS flags are ignored",
	Advice: "Replace the server software, or the firewall in front of it.", When: asked(survey.ProbeFlags),
	Fails: probing(survey.ProbeFlags, func(r survey.Reply) string {
		if r.Rcode() != dns.RcodeSuccess || r.EDNS() == nil {
			return replyText(r) + " to unknown EDNS flags"
		}
		return view.TextIf(r.EDNS().Z()&survey.UnassignedFlags != 0, "sends unknown EDNS flags back")
	}),
}, {
	Code: "zone.edns.truncated", Severity: diag.Warning, Weight: 1, Ref: "Zonemaster NAMESERVER13, RFC 6891 section 7",
	Title: "Truncated reply without EDNS", Requirement: "Truncated replies have EDNS",
	Advice: "Replace the server software: a reply to a query with EDNS must have EDNS.",
	When: anyServing(func(ad *survey.Address) bool {
		r := ad.Replies[survey.ProbeSmall]
		return r.OK() && r.Msg.Truncated
	}),
	Fails: probing(survey.ProbeSmall, func(r survey.Reply) string {
		return view.TextIf(r.OK() && r.Msg.Truncated && r.EDNS() == nil, "leaves EDNS out of a truncated reply")
	}),
}}

// triedTCP reports whether an address answered over TCP, or should have, since it answered over UDP.
func triedTCP(ad *survey.Address) bool {
	return ad.Replies[survey.ProbeTCP].OK() || ad.Replies[survey.ProbeSOA].OK() && ad.Asked(survey.ProbeTCP)
}

// ednsAnswered reports whether an address answered a query with EDNS.
func ednsAnswered(e *evidence) bool {
	return answered(survey.ProbeIdentity)(e) || answered(survey.ProbeEDNS)(e)
}

// dropsEDNS reports whether an address answers without EDNS and is silent with it.
func dropsEDNS(ad *survey.Address) bool {
	return ad.Replies[survey.ProbeSOA].OK() && ad.Replies[survey.ProbeEDNS].Result == survey.TimedOut
}

func probing(p survey.Probe, wrong func(survey.Reply) string) func(*evidence) rule.Failures {
	return atServing(func(_ *evidence, ad *survey.Address) string {
		return view.TextIf(ad.Asked(p), wrong(ad.Replies[p]))
	})
}

// replyText describes the outcome of a query.
func replyText(r survey.Reply) string {
	switch {
	case !r.OK():
		return "does not reply"
	case r.EDNS() == nil:
		return fmt.Sprintf("replies with %s and without EDNS", dnsmsg.RcodeName(r.Msg.Rcode))
	default:
		return "replies with " + dnsmsg.RcodeName(r.Msg.Rcode)
	}
}

// slowAfter is the time of an answer from which a server counts as slow: even from the other end of the
// earth they take less.
const slowAfter = 500 * time.Millisecond

var serverRules = rule.Rules[*evidence]{{
	Code: "zone.ns.unreachable", Severity: diag.Error, Weight: 5, Ref: "Zonemaster CONNECTIVITY01, RFC 2182 section 5",
	Title: "Name server does not answer", Requirement: "No name server drops queries",
	Advice: "Check that the name server runs and that no firewall drops queries: resolvers lose time with each attempt.",
	When:   func(e *evidence) bool { return slices.ContainsFunc(e.Addresses, e.measured) },
	Fails: atAddresses(func(e *evidence, ad *survey.Address) string {
		switch r := ad.SOA(); {
		case !e.measured(ad) || ad.Source().IsValid():
			return ""
		case r.Result == survey.TimedOut, r.Result == survey.Reset:
			return fmt.Sprintf(
				"does not answer, although other servers can be reached over IPv%d",
				diag.IP{Addr: ad.IP}.Version(),
			)
		}
		return ""
	}),
}, {
	Code: "zone.ns.closed", Severity: diag.Error, Weight: 5, Fact: reach.Refused,
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
		malformed := func(r survey.Reply) bool { return r.Result == survey.Malformed }
		return view.TextIf(slices.ContainsFunc(ad.Replies[:], malformed), "sent a reply that is not a DNS message")
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
	Advice: "Configure the name server as primary or secondary of the zone: it may answer from a cache or an " +
		"expired copy.",
	When: unlessLame(survey.NonAuthoritative), Fails: withStanding(survey.NonAuthoritative),
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
		fastest, known := ad.Latency()
		return view.TextIf(known && fastest >= slowAfter,
			fmt.Sprintf("took %d ms for its fastest answer", fastest.Milliseconds()))
	}),
}, {
	Code: "zone.ns.source", Severity: diag.Error, Weight: 5, Ref: "Zonemaster NAMESERVER04, RFC 2181 section 4.1",
	Title: "Name server replies from another address", Requirement: "Replies come from the address that was queried",
	Advice: "Make the name server reply from the address that was queried: resolvers discard other replies.",
	When:   anyAddress(talked),
	Fails: atAddresses(func(_ *evidence, ad *survey.Address) string {
		from := ad.Source()
		return view.TextIf(from.IsValid(), "replied from "+from.String())
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
		return view.TextIf(forged > 0,
			"was queried, and "+phrase.Count(forged, "datagram")+" with another ID or question came back")
	}),
}}

// refuses reports whether no server listens at an address.
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

// unlessLame is the condition that a server has a standing, or that none is lame: the standing that a lame server
// would have with the zone is unknown, and must not be praised.
func unlessLame(s survey.Standing) func(*evidence) bool {
	return func(e *evidence) bool {
		has := func(s survey.Standing) bool {
			return slices.ContainsFunc(e.Addresses, func(ad *survey.Address) bool { return ad.Standing(e.Zone) == s })
		}
		return reached(e) && (has(s) || !has(survey.Lame))
	}
}

func withStanding(s survey.Standing) func(*evidence) rule.Failures {
	return atAddresses(func(e *evidence, ad *survey.Address) string {
		return view.TextIf(ad.Standing(e.Zone) == s, e.trouble(ad))
	})
}
