package zonecheck

import (
	"fmt"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/zonecheck/survey"
	"github.com/miekg/dns"
)

var transportRules = diag.Rules[*evidence]{{
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
		if r := ad.Replies[survey.ProbeSOA]; r.OK() && r.Msg.Truncated {
			return "truncates even the SOA record over UDP"
		}
		return ""
	}),
}, {
	Code: "zone.transport.unexamined", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 3901 section 3",
	Title: "Addresses could not be reached from here", Requirement: "All addresses can be reached from here",
	Advice: "Repeat the audit from a network with both IPv4 and IPv6.", When: addressed,
	Fails: func(e *evidence) diag.Failures {
		for _, ipv6 := range []bool{false, true} {
			works := func(ad *survey.Address) bool { return ad.IP.Is6() == ipv6 && ad.SOA().OK() }
			if n := len(e.family(ipv6)); n > 0 && !e.responds[ipv6] && e.responds[!ipv6] &&
				!slices.ContainsFunc(e.Addresses, works) {
				return diag.Fail("IPv%d does not work from here, so not every address was examined (%d left out).",
					map[bool]int{false: 4, true: 6}[ipv6], n)
			}
		}
		return e.each(e.Addresses, func(ad *survey.Address) string {
			if ad.SOA().Result == survey.Unroutable {
				return "cannot be reached from here: there is no route"
			}
			return ""
		})
	},
}, {
	Code: "zone.transport.unfinished", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: "RFC 2182 section 3.1",
	Title: "Audit ran out of time or queries", Requirement: "The audit was completed",
	Advice: "Fix the other findings first: name servers that are slow or drop queries use up the time.",
	When:   addressed,
	Fails: func(e *evidence) diag.Failures {
		if e.Exhausted {
			return diag.Fail("The %d queries of an audit were not enough for the name servers of %s.",
				survey.MaxQueries, e.Domain)
		}
		return e.each(e.serving, func(ad *survey.Address) string {
			if ad.Hurried {
				return "could not be asked everything in time"
			}
			return ""
		})
	},
}}

// ednsRules are about EDNS (RFC 6891).
var ednsRules = diag.Rules[*evidence]{{
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
			return "answers " + diag.RcodeName(r.Msg.Rcode) + " to queries with EDNS"
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
		if slices.ContainsFunc(r.EDNS().Option, echoed) {
			return "sends an unknown EDNS option back"
		}
		return ""
	}),
}, {
	Code: "zone.edns.flags", Severity: diag.Warning, Weight: 1, Ref: "Zonemaster NAMESERVER12, RFC 6891 section 6.1.4",
	Title: "Unknown EDNS flags not ignored", Requirement: "Unknown EDNS flags are ignored",
	Advice: "Replace the server software, or the firewall in front of it.", When: asked(survey.ProbeFlags),
	Fails: probing(survey.ProbeFlags, func(r survey.Reply) string {
		if r.Rcode() != dns.RcodeSuccess || r.EDNS() == nil {
			return replyText(r) + " to unknown EDNS flags"
		}
		if r.EDNS().Z()&survey.UnassignedFlags != 0 {
			return "sends unknown EDNS flags back"
		}
		return ""
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
		if r.OK() && r.Msg.Truncated && r.EDNS() == nil {
			return "leaves EDNS out of a truncated reply"
		}
		return ""
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

func probing(p survey.Probe, wrong func(survey.Reply) string) func(*evidence) diag.Failures {
	return atServing(func(_ *evidence, ad *survey.Address) string {
		if !ad.Asked(p) {
			return ""
		}
		return wrong(ad.Replies[p])
	})
}

// replyText says what came of a query.
func replyText(r survey.Reply) string {
	switch {
	case !r.OK():
		return "does not reply"
	case r.EDNS() == nil:
		return fmt.Sprintf("replies with %s and without EDNS", diag.RcodeName(r.Msg.Rcode))
	default:
		return "replies with " + diag.RcodeName(r.Msg.Rcode)
	}
}
