package zonecheck

import (
	"fmt"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

var categoryTransport = diag.Category{Code: string(CategoryTransport), Label: "Transport"}

// transportRules are about the ways to the servers.
var transportRules = diag.Rules[*evidence]{
	{
		Code: "zone.transport.udp", Severity: diag.Error, Weight: 5, Category: categoryTransport,
		Requirement: "Every server that answers does so over UDP",
		Ref:         "Zonemaster CONNECTIVITY01, RFC 1035 section 4.2",
		Advice:      "Let UDP packets to and from port 53 pass: resolvers ask over UDP first.",
		When:        reached,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.addresses, func(ad *address) string {
				if ad.replies[probeTCP].ok() && !ad.replies[probeSOA].ok() && ad.replies[probeSOA].outcome != notAsked {
					return "It answers over TCP alone."
				}
				return ""
			})
		},
	},
	{
		Code: "zone.transport.tcp", Severity: diag.Error, Weight: 5, Category: categoryTransport,
		Requirement: "Every server that answers does so over TCP too",
		Ref:         "Zonemaster CONNECTIVITY02, RFC 7766 section 5",
		Advice:      "Let TCP connections to port 53 pass: larger answers are lost without them.",
		When:        reached,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.addresses, func(ad *address) string {
				r := ad.replies[probeTCP]
				if !ad.replies[probeSOA].ok() || r.ok() || r.outcome == notAsked {
					return ""
				}
				if r.outcome == closed {
					return "It refuses connections over TCP."
				}
				return "It does not answer over TCP."
			})
		},
	},
	{
		Code: "zone.transport.truncation", Severity: diag.Warning, Weight: 2, Category: categoryTransport,
		Requirement: "Short answers are not cut off",
		Ref:         "RFC 2181 section 9",
		Advice:      "Let the server answer over UDP what fits: each answer now takes a connection.",
		When:        reached,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.addresses, func(ad *address) string {
				if r := ad.replies[probeSOA]; r.ok() && r.msg.Truncated {
					return "Over UDP it cuts off even the SOA record."
				}
				return ""
			})
		},
	},
	{
		Code: "zone.transport.unexamined", Severity: diag.Info, Category: categoryTransport,
		Requirement: "All addresses of the servers can be reached from here",
		Ref:         "RFC 3901 section 3",
		Advice:      "Repeat the audit from a place with both versions of IP.",
		When:        addressed,
		Fails: func(e *evidence) diag.Failures {
			for _, ipv6 := range []bool{false, true} {
				if n := len(e.family(ipv6)); n > 0 && !e.heard[ipv6] && e.heard[!ipv6] {
					return diag.Fail("IPv%d does not work from here, so %d addresses were not examined.",
						map[bool]int{false: 4, true: 6}[ipv6], n)
				}
			}
			for _, ad := range e.addresses {
				if ad.soa().outcome == unroutable {
					return diag.Fail("There is no way to %s from here.", ad.ip)
				}
			}
			return nil
		},
	},
	{
		Code: "zone.transport.unfinished", Severity: diag.Warning, StateIfFailed: diag.Unknown, Category: categoryTransport,
		Requirement: "There was time for every question",
		Ref:         "RFC 2182 section 3.1",
		Advice:      "Look at the other findings first: servers that are slow or drop queries use up the time.",
		When:        addressed,
		Fails: func(e *evidence) diag.Failures {
			if e.exhausted {
				return diag.Fail("The %d queries of an audit were not enough.", MaxQueries)
			}
			return e.each(e.serving, func(ad *address) string {
				if ad.hurried {
					return "It could not be asked everything in time."
				}
				return ""
			})
		},
	},
	{
		Code: "zone.transport.tls", Severity: diag.Info, Category: categoryTransport,
		Requirement: "Resolvers can ask a server over TLS",
		Ref:         "RFC 9539 section 4.6.1",
		Advice:      "Nothing needs to be done: encryption between resolvers and servers is still an experiment.",
		When:        examined,
		Fails: func(e *evidence) diag.Failures {
			known := false
			for _, ad := range e.serving {
				if ad.replies[probeTLS].ok() {
					return nil
				}
				known = known || ad.replies[probeTLS].outcome != notAsked
			}
			return diag.FailIf(known, "No server speaks TLS on port 853.")
		},
	},
}

// ednsRules are about EDNS (RFC 6891).
var ednsRules = diag.Rules[*evidence]{
	{
		Code: "zone.edns.unsupported", Severity: diag.Warning, Weight: 3, Category: categoryTransport,
		Requirement: "Every server understands EDNS",
		Ref:         "Zonemaster NAMESERVER02, RFC 6891 section 7",
		Advice:      "Replace the software of the server: without EDNS there is no DNSSEC, and large answers need TCP.",
		When:        examined,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.serving, func(ad *address) string {
				switch r := ad.replies[probeEDNS]; {
				case ad.edns || !r.ok():
					return ""
				case r.msg.Rcode != dns.RcodeSuccess:
					return "To a query with EDNS it answers " + diag.RcodeName(r.msg.Rcode) + "."
				default:
					return "It ignores EDNS."
				}
			})
		},
	},
	{
		Code: "zone.edns.dropped", Severity: diag.Error, Weight: 5, Category: categoryTransport,
		Requirement: "Queries with EDNS are not lost",
		Ref:         "Zonemaster NAMESERVER02, RFC 6891 section 7",
		Advice:      "Let the firewall before the server pass EDNS: resolvers no longer try without (dnsflagday.net, 2019).",
		When:        examined,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.serving, func(ad *address) string {
				if ad.replies[probeSOA].ok() && ad.replies[probeEDNS].outcome == silent {
					return "It answers without EDNS, and not with it."
				}
				return ""
			})
		},
	},
	{
		Code: "zone.edns.known_options", Severity: diag.Warning, Weight: 2, Category: categoryTransport,
		Requirement: "Options of EDNS that are in use do not disturb",
		Ref:         "RFC 6891 section 6.1.2, RFC 7873 section 5.2, RFC 5001 section 2.2",
		Advice:      "Replace the software of the server: it must ignore what it does not know, cookies for instance.",
		When:        examined,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.serving, func(ad *address) string {
				if ad.edns && ad.replies[probeEDNS].ok() && ad.replies[probeIdentity].outcome != notAsked {
					return "With NSID, a cookie and DO " + heardText(ad.replies[probeIdentity]) + "; without them it answers."
				}
				return ""
			})
		},
	},
	{
		Code: "zone.edns.version", Severity: diag.Warning, Weight: 1, Category: categoryTransport,
		Requirement: "Unknown versions of EDNS are answered with BADVERS",
		Ref:         "Zonemaster NAMESERVER10, RFC 6891 section 6.1.3",
		Advice:      "Replace the software of the server, or the firewall before it.",
		When:        examined,
		Fails: probing(probeVersion, func(r reply) string {
			if r.rcode() == dns.RcodeBadVers && optOf(r) != nil {
				return ""
			}
			return "With version 1 " + heardText(r) + "."
		}),
	},
	{
		Code: "zone.edns.option", Severity: diag.Warning, Weight: 1, Category: categoryTransport,
		Requirement: "Unknown options of EDNS are ignored",
		Ref:         "Zonemaster NAMESERVER11, RFC 6891 section 6.1.2",
		Advice:      "Replace the software of the server, or the firewall before it.",
		When:        examined,
		Fails: probing(probeOption, func(r reply) string {
			if r.rcode() != dns.RcodeSuccess || optOf(r) == nil {
				return "With an unknown option " + heardText(r) + "."
			}
			echoed := func(o dns.EDNS0) bool { return o.Option() == unassignedOption }
			if slices.ContainsFunc(optOf(r).Option, echoed) {
				return "It sends an unknown option back."
			}
			return ""
		}),
	},
	{
		Code: "zone.edns.flags", Severity: diag.Warning, Weight: 1, Category: categoryTransport,
		Requirement: "Unknown flags of EDNS are ignored",
		Ref:         "Zonemaster NAMESERVER12, RFC 6891 section 6.1.4",
		Advice:      "Replace the software of the server, or the firewall before it.",
		When:        examined,
		Fails: probing(probeFlags, func(r reply) string {
			if r.rcode() != dns.RcodeSuccess || optOf(r) == nil {
				return "With unknown flags " + heardText(r) + "."
			}
			if optOf(r).Z()&unassignedFlags != 0 {
				return "It sends unknown flags back."
			}
			return ""
		}),
	},
	{
		Code: "zone.edns.truncated", Severity: diag.Warning, Weight: 1, Category: categoryTransport,
		Requirement: "Replies that are cut off keep EDNS",
		Ref:         "Zonemaster NAMESERVER13, RFC 6891 section 7",
		Advice:      "Replace the software of the server: a reply to EDNS must have EDNS.",
		When:        examined,
		Fails: probing(probeSmall, func(r reply) string {
			if r.ok() && r.msg.Truncated && optOf(r) == nil {
				return "A reply that is cut off has no EDNS."
			}
			return ""
		}),
	},
}

// probing reports the servers with whose reply to a probe something is wrong.
func probing(p probe, wrong func(reply) string) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		return e.each(e.serving, func(ad *address) string {
			if r := ad.replies[p]; r.outcome != notAsked {
				return wrong(r)
			}
			return ""
		})
	}
}

// heardText says what came of a query.
func heardText(r reply) string {
	switch {
	case !r.ok():
		return "it does not answer"
	case optOf(r) == nil:
		return fmt.Sprintf("it answers %s without EDNS", diag.RcodeName(r.msg.Rcode))
	default:
		return "it answers " + diag.RcodeName(r.msg.Rcode)
	}
}
