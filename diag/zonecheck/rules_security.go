package zonecheck

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/zonecheck/survey"
	"github.com/miekg/dns"
)

// securityRules are about what the servers give away, and to whom.
var securityRules = diag.Rules[*evidence]{{
	Code: "zone.ns.recursion", Severity: diag.Error, Weight: 5, Reads: []diag.Source{recursion},
	Ref:   "Zonemaster NAMESERVER01, RFC 5358 section 4",
	Title: "Open recursion on a name server", Requirement: "No name server offers open recursion",
	Advice: "Disable recursion, or allow it to your own networks only: open resolvers amplify attacks.",
	When:   answered(survey.ProbeRecursion),
	Fails: atAddresses(func(_ *evidence, ad *survey.Address) string {
		if !recurses(ad) {
			return ""
		}
		name := ad.Replies[survey.ProbeRecursion].Msg.Question[0].Name
		return "resolved " + survey.BareName(name) + ", which it does not serve, for any client"
	}),
}, {
	Code: "zone.axfr.open", Severity: diag.Warning, Weight: 3, Reads: []diag.Source{transfer},
	Ref:   "Zonemaster NAMESERVER03, RFC 5936 section 5",
	Title: "Zone transfer open to anyone", Requirement: "Zone transfers are restricted",
	Advice: "Allow zone transfers to the secondaries only, unless the zone is meant to be public as a whole.",
	When:   anyServing(transferAnswered),
	Fails: atAddresses(func(e *evidence, ad *survey.Address) string {
		if transfers(ad, e.Zone) {
			return "transfers the whole zone to anyone (AXFR)"
		}
		return ""
	}),
}, {
	Code: "zone.ns.cookies.wrong", Severity: diag.Error, Weight: 2, Ref: "RFC 7873 section 5.3",
	Title: "DNS cookie not returned as sent", Requirement: "DNS cookies are returned as they were sent",
	Advice: "Replace the server software: resolvers take its replies for forged ones and discard them.",
	When:   anyServing(func(ad *survey.Address) bool { return ad.Replies[survey.ProbeIdentity].EDNS() != nil }),
	Fails: atServing(func(_ *evidence, ad *survey.Address) string {
		if opt := ad.Replies[survey.ProbeIdentity].EDNS(); opt != nil && foreignCookie(opt) {
			return "answers with a cookie that is not the client's"
		}
		return ""
	}),
}}

// recurses reports whether a server found out what it cannot know by itself. The flag RA alone proves
// nothing, nor does an answer of a server that also serves the parent zone.
func recurses(ad *survey.Address) bool {
	r := ad.Replies[survey.ProbeRecursion]
	return r.Rcode() == dns.RcodeSuccess && r.Msg.RecursionAvailable && !r.Msg.Authoritative &&
		len(r.Msg.Question) == 1 &&
		slices.ContainsFunc(r.Msg.Answer, func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeSOA })
}

// transfers reports whether a server began to transfer the zone (RFC 5936 section 2.2).
func transfers(ad *survey.Address, zone string) bool {
	r := ad.Replies[survey.ProbeTransfer]
	return r.Rcode() == dns.RcodeSuccess && len(survey.Set[*dns.SOA](r.Msg.Answer, zone)) > 0
}

func versionOf(r survey.Reply) string {
	if r.Rcode() != dns.RcodeSuccess {
		return ""
	}
	for _, rr := range r.Msg.Answer {
		if txt, ok := rr.(*dns.TXT); ok {
			return diag.TXT(txt)
		}
	}
	return ""
}

// nsidOf returns the identifier of a server.
func nsidOf(r survey.Reply) string {
	opt := r.EDNS()
	if opt == nil {
		return ""
	}
	for _, o := range opt.Option {
		if id, ok := o.(*dns.EDNS0_NSID); ok && id.Nsid != "" {
			b, err := hex.DecodeString(id.Nsid)
			if err != nil || slices.ContainsFunc(b, func(c byte) bool { return c < ' ' || c > '~' }) {
				return strings.ToLower(id.Nsid)
			}
			return string(b)
		}
	}
	return ""
}

func foreignCookie(opt *dns.OPT) bool {
	return slices.ContainsFunc(opt.Option, func(o dns.EDNS0) bool {
		cookie, ok := o.(*dns.EDNS0_COOKIE)
		return ok && !strings.HasPrefix(strings.ToLower(cookie.Cookie), survey.ClientCookie)
	})
}
