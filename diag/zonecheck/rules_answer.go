package zonecheck

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

var categorySecurity = diag.Category{Code: string(CategorySecurity), Label: "Security"}

// answerRules are about how the servers answer, and what they give away.
var answerRules = diag.Rules[*evidence]{
	{
		Code: "zone.ns.aaaa.nxdomain", Severity: diag.Error, Weight: 5, Category: categoryNameserver,
		Requirement: "No server denies the whole domain when asked for an IPv6 address",
		Ref:         "Zonemaster NAMESERVER05, RFC 4074 section 4.2",
		Advice:      "Replace the software of the server: resolvers conclude that the domain does not exist.",
		When:        examined,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.serving, func(ad *address) string {
				if ad.replies[probeAAAA].rcode() == dns.RcodeNameError {
					return "For AAAA it answers NXDOMAIN."
				}
				return ""
			})
		},
	},
	{
		Code: "zone.ns.aaaa.dropped", Severity: diag.Error, Weight: 5, Category: categoryNameserver,
		Requirement: "Every server answers when asked for an IPv6 address",
		Ref:         "Zonemaster NAMESERVER05, RFC 4074 section 4.1",
		Advice:      "Replace the software of the server, or the firewall before it: clients wait for nothing.",
		When:        examined,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.serving, func(ad *address) string {
				if ad.replies[probeAAAA].outcome == silent && ad.replies[probeA].ok() {
					return "It answers for A, and not for AAAA."
				}
				return ""
			})
		},
	},
	{
		Code: "zone.ns.aaaa.failing", Severity: diag.Error, Weight: 5, Category: categoryNameserver,
		Requirement: "No server fails when asked for an IPv6 address",
		Ref:         "Zonemaster NAMESERVER05, RFC 4074 section 4.3",
		Advice:      "Replace the software of the server: without records it must answer NOERROR.",
		When:        examined,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.serving, func(ad *address) string {
				rcode := ad.replies[probeAAAA].rcode()
				if rcode > 0 && rcode != dns.RcodeNameError && ad.replies[probeA].rcode() == dns.RcodeSuccess {
					return "For AAAA it answers " + diag.RcodeName(rcode) + "."
				}
				return ""
			})
		},
	},
	{
		Code: "zone.ns.case.changed", Severity: diag.Info, Category: categoryNameserver,
		Requirement: "The servers repeat the question in its letter case",
		Ref:         "Zonemaster NAMESERVER08, RFC 4343 section 3",
		Advice:      "Replace the software of the server: resolvers that guard against forgery so ask twice.",
		When:        examined,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.serving, func(ad *address) string {
				if ad.replies[probeCase].retyped {
					return "It changes the letter case of the question."
				}
				return ""
			})
		},
	},
	{
		Code: "zone.ns.case.sensitive", Severity: diag.Error, Weight: 3, Category: categoryNameserver,
		Requirement: "The letter case of a question does not matter",
		Ref:         "Zonemaster NAMESERVER09, RFC 4343 section 3",
		Advice:      "Replace the software of the server: resolvers mix letter case on purpose.",
		When:        examined,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.serving, func(ad *address) string {
				r := ad.replies[probeCase]
				if r.ok() && standingOf(r, e.zone) == authoritative && len(r.msg.Answer) > 0 || r.outcome == notAsked ||
					!ad.replies[probeSOA].ok() || len(ad.replies[probeSOA].msg.Answer) == 0 {
					return ""
				}
				return fmt.Sprintf("For %s it does not answer as it does for %s.", mixed(e.zone), e.zone)
			})
		},
	},
	{
		Code: "zone.ns.recursion", Severity: diag.Error, Weight: 5, Category: categorySecurity,
		Requirement: "No server resolves names of others for anyone",
		Ref:         "Zonemaster NAMESERVER01, RFC 5358 section 4",
		Advice:      "Switch recursion off, or allow it to your own networks only: open resolvers amplify attacks.",
		When:        reached,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.addresses, func(ad *address) string {
				if recurses(ad) {
					name := ad.replies[probeRecursion].msg.Question[0].Name
					return fmt.Sprintf("It found the SOA record of %s for us.", bareName(name))
				}
				return ""
			})
		},
	},
	{
		Code: "zone.ns.recursion.claimed", Severity: diag.Info, Category: categorySecurity,
		Requirement: "No server claims to offer recursion",
		Ref:         "Zonemaster NAMESERVER01, RFC 1035 section 4.1.1",
		Advice:      "Switch recursion off: the flag RA promises what the server does not do.",
		When:        reached,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.addresses, func(ad *address) string {
				if r := ad.replies[probeRecursion]; r.ok() && r.msg.RecursionAvailable && !recurses(ad) {
					return "Its replies have the flag RA."
				}
				return ""
			})
		},
	},
	{
		Code: "zone.axfr.open", Severity: diag.Warning, Weight: 3, Category: categorySecurity,
		Requirement: "No server hands out the whole zone to anyone",
		Ref:         "Zonemaster NAMESERVER03, RFC 5936 section 5",
		Advice:      "Allow transfers to the other servers of the zone only, unless the contents are meant to be public.",
		When:        served,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.addresses, func(ad *address) string {
				if transfers(ad, e.zone) {
					return "It began to transfer the zone."
				}
				return ""
			})
		},
	},
	{
		Code: "zone.ns.version", Severity: diag.Info, Category: categorySecurity,
		Requirement: "No server tells its version",
		Ref:         "Zonemaster NAMESERVER15, RFC 4892 section 3",
		Advice:      "Switch the answer to version.bind off, or leave it: it only saves attackers some guessing.",
		When:        reached,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.addresses, func(ad *address) string {
				if v := versionOf(ad.replies[probeChaos]); v != "" {
					return fmt.Sprintf("It says %.100q.", v)
				}
				return ""
			})
		},
	},
	{
		Code: "zone.ns.nsid", Severity: diag.Info, Category: categorySecurity,
		Requirement: "No server tells its identifier",
		Ref:         "RFC 5001 section 3.1",
		Advice:      "Nothing needs to be done: the identifier helps to find out which of many machines answered.",
		When:        examined,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.serving, func(ad *address) string {
				if id := nsidOf(ad.replies[probeIdentity]); id != "" {
					return fmt.Sprintf("Its NSID is %.100q.", id)
				}
				return ""
			})
		},
	},
	{
		Code: "zone.ns.cookies", Severity: diag.Info, Category: categorySecurity,
		Requirement: "The servers know DNS cookies",
		Ref:         "RFC 7873 section 5.2",
		Advice:      "Switch cookies on: they keep out forged queries and replies at little cost.",
		When:        examined,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.serving, func(ad *address) string {
				if opt := optOf(ad.replies[probeIdentity]); opt == nil || hasCookie(opt) {
					return ""
				}
				return "It does not answer with a cookie."
			})
		},
	},
	{
		Code: "zone.ns.cookies.wrong", Severity: diag.Error, Weight: 2, Category: categorySecurity,
		Requirement: "Cookies come back as they were sent",
		Ref:         "RFC 7873 section 5.3",
		Advice:      "Replace the software of the server: resolvers take its replies for forged ones.",
		When:        examined,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.serving, func(ad *address) string {
				if opt := optOf(ad.replies[probeIdentity]); opt != nil && foreignCookie(opt) {
					return "Its cookie does not begin with ours."
				}
				return ""
			})
		},
	},
	{
		Code: "zone.ns.subnet", Severity: diag.Info, Category: categoryNameserver,
		Requirement: "The answers do not depend on the network of the client",
		Ref:         "RFC 7871 section 7.2.1",
		Advice:      "Nothing needs to be done: the servers direct clients to machines nearby.",
		When:        examined,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.serving, func(ad *address) string {
				if bits := scopeOf(ad.replies[probeSubnet]); bits > 0 {
					return fmt.Sprintf("An answer was for a /%d.", bits)
				}
				return ""
			})
		},
	},
	{
		Code: "zone.ns.unrelated", Severity: diag.Info, Category: categoryNameserver,
		Requirement: "The replies hold nothing about other domains",
		Ref:         "RFC 5452 section 6, RFC 2181 section 5.4.1",
		Advice:      "Remove records of other domains from the server: resolvers discard them.",
		When:        served,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.serving, func(ad *address) string {
				for _, r := range ad.replies[:probeRecursion] {
					if name := e.unrelated(r); name != "" {
						return "It adds records of " + clip(bareName(name)) + "."
					}
				}
				return ""
			})
		},
	},
	{
		Code: "zone.names.within", Severity: diag.Error, Weight: 3, Category: categoryNameserver,
		Requirement: "Names above those that exist are not denied",
		Ref:         "RFC 8020 section 2, RFC 4592 section 2.2.2",
		Advice:      "Replace the software of the server: resolvers that trust the denial lose all names below.",
		When:        served,
		Fails: func(e *evidence) diag.Failures {
			var list diag.Failures
			for _, name := range slices.Sorted(maps.Keys(e.within)) {
				if e.within[name].rcode() == dns.RcodeNameError {
					list = append(list, diag.Failure{
						Detail: "It is denied, although there are names below it.", Target: bareName(name)})
				}
			}
			return list
		},
	},
	{
		Code: "zone.wildcard", Severity: diag.Info, Category: categoryNameserver,
		Requirement: "Names that nobody entered do not exist",
		Ref:         "RFC 4592 section 2.1",
		Advice:      "Check that the wildcard is meant: it answers for every misspelt name.",
		When:        examined,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.serving, func(ad *address) string {
				if r := ad.replies[probeAbsent]; r.rcode() == dns.RcodeSuccess && len(r.msg.Answer) > 0 {
					return "A wildcard answers for any name."
				}
				return ""
			})
		},
	},
}

// recurses reports whether a server found out what it cannot know by itself. The flag RA alone proves
// nothing, nor does an answer of a server that also serves the zone above.
func recurses(ad *address) bool {
	r := ad.replies[probeRecursion]
	return r.rcode() == dns.RcodeSuccess && r.msg.RecursionAvailable && !r.msg.Authoritative &&
		len(r.msg.Question) == 1 &&
		slices.ContainsFunc(r.msg.Answer, func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeSOA })
}

// transfers reports whether a server began to hand out the zone (RFC 5936 section 2.2).
func transfers(ad *address, zone string) bool {
	r := ad.replies[probeTransfer]
	return r.rcode() == dns.RcodeSuccess && len(set[*dns.SOA](r.msg.Answer, zone)) > 0
}

func versionOf(r reply) string {
	if r.rcode() != dns.RcodeSuccess {
		return ""
	}
	for _, rr := range r.msg.Answer {
		if txt, ok := rr.(*dns.TXT); ok {
			return diag.TXT(txt)
		}
	}
	return ""
}

func hasCookie(opt *dns.OPT) bool {
	return slices.ContainsFunc(opt.Option, func(o dns.EDNS0) bool { return o.Option() == dns.EDNS0COOKIE })
}

func foreignCookie(opt *dns.OPT) bool {
	return slices.ContainsFunc(opt.Option, func(o dns.EDNS0) bool {
		cookie, ok := o.(*dns.EDNS0_COOKIE)
		return ok && !strings.HasPrefix(strings.ToLower(cookie.Cookie), clientCookie)
	})
}

// scopeOf returns the length of the prefix that an answer holds for.
func scopeOf(r reply) uint8 {
	opt := optOf(r)
	if opt == nil {
		return 0
	}
	for _, o := range opt.Option {
		if subnet, ok := o.(*dns.EDNS0_SUBNET); ok {
			return subnet.SourceScope
		}
	}
	return 0
}

// unrelated returns the owner of a record that is not of the zone and that nothing in the answer calls
// for. Addresses of servers and mail exchangers in other zones are called for, unless they are wrong.
func (e *evidence) unrelated(r reply) string {
	if !r.ok() {
		return ""
	}
	aliased := map[string]bool{}
	for _, rr := range r.msg.Answer {
		if alias, ok := rr.(*dns.CNAME); ok {
			aliased[dns.CanonicalName(alias.Target)] = true
		}
	}
	for _, rr := range slices.Concat(r.msg.Answer, r.msg.Ns, r.msg.Extra) {
		owner := dns.CanonicalName(rr.Header().Name)
		if rr.Header().Rrtype == dns.TypeOPT || inside(e.zone, owner) || aliased[owner] || len(aliased) > 0 &&
			rr.Header().Rrtype == dns.TypeSOA {
			continue
		}
		if a, known := e.hosts[owner]; known && addressIn(rr).IsValid() &&
			(len(a.All()) == 0 || slices.Contains(a.All(), addressIn(rr))) {
			continue
		}
		return owner
	}
	return ""
}
