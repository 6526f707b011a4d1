package zonecheck

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/internal/survey"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/suffix"
	"github.com/miekg/dns"
)

// targetRules are about names in records that are not the intended ones. Their consequences are not reported again.
var targetRules = rule.Rules[*evidence]{{
	Code: "zone.target.dot", Severity: diag.Error, Weight: 3, Ref: "RFC 1035 section 5.1",
	Title: "Final dot missing in the zone file", Requirement: "No record points to a name that lacks its final dot",
	Advice: "Write the name with its final dot in the zone file: without it, the name of the zone is appended.",
	When:   func(e *evidence) bool { return len(e.pointers()) > 0 },
	Fails: func(e *evidence) rule.Failures {
		advice, value := e.dotAdvice(), e.dottedSets()
		return rule.FailEach(e.undotted, func(u undotted) rule.Failures {
			owner := survey.BareName(u.rr.Header().Name)
			f := rule.Fail("The %s record of %s points to %s, which %s: %s %s its final dot in the zone file.",
				typeOf(u.rr), owner, phrase.Quote(survey.BareName(u.target)), u.fate, phrase.Quote(u.meant), u.lacks())
			f.About(owner + " " + typeOf(u.rr))
			f[0].Advice, f[0].Suggested = advice, value
			return f
		})
	},
}}

// An undotted record points to a name that does not exist: a zone file completed another name with that of the zone.
type undotted struct {
	rr     dns.RR
	target string // absolute
	meant  string // without its final dot
	fate   string // the state of the target: a clause
	proven bool   // that no other name was meant
}

func (u undotted) lacks() string {
	if u.proven {
		return "lacks"
	}
	return "probably lacks"
}

func (e *evidence) dotAdvice() string {
	doubtful := func(u undotted) bool { return !u.proven }
	return suffix.DotAdvice(kit.Map(e.undotted, func(u undotted) string { return u.meant }),
		!slices.ContainsFunc(e.undotted, doubtful))
}

func typeOf(rr dns.RR) string { return dns.Type(rr.Header().Rrtype).String() }

// targetOf returns the name that a record points to, absolute and in lower case; empty without a target.
func targetOf(rr dns.RR) string {
	target := ""
	switch r := rr.(type) {
	case *dns.NS:
		target = r.Ns
	case *dns.MX:
		target = r.Mx
	case *dns.CNAME:
		target = r.Target
	case *dns.DNAME:
		target = r.Target
	case *dns.SRV:
		target = r.Target
	case *dns.HTTPS:
		target = r.Target
	}
	if target == "" || target == "." {
		return ""
	}
	return dns.CanonicalName(target)
}

// pointers lists the records of the zone that point to names, in the order of their owners and types.
func (a *answers) pointers() []dns.RR {
	found := map[string]dns.RR{}
	note := func(rrs ...dns.RR) {
		for _, rr := range rrs {
			owner := dns.CanonicalName(rr.Header().Name)
			if targetOf(rr) != "" && dns.IsSubDomain(a.Zone, owner) {
				found[owner+" "+strings.ToLower(contentOf(rr))] = rr
			}
		}
	}
	for _, r := range a.ownReplies() {
		note(r.Msg.Answer...)
	}
	for _, c := range a.Chains {
		owner := c.Name
		for _, target := range c.Targets {
			note(&dns.CNAME{Hdr: dns.RR_Header{Name: owner, Rrtype: dns.TypeCNAME, Class: dns.ClassINET}, Target: target})
			owner = target
		}
	}
	return kit.Map(slices.Sorted(maps.Keys(found)), func(key string) dns.RR { return found[key] })
}

// ownReplies are the replies of the zone's servers about names in it.
func (a *answers) ownReplies() (list []survey.Reply) {
	for _, ad := range a.serving {
		list = append(list, ad.Replies[survey.ProbeNS], ad.Replies[survey.ProbeMX], ad.Replies[survey.ProbeHTTPS],
			ad.Replies[survey.ProbeWWW])
	}
	for _, name := range slices.Sorted(maps.Keys(a.Content)) {
		list = append(list, slices.Collect(maps.Values(a.Content[name]))...)
	}
	return slices.DeleteFunc(list, func(r survey.Reply) bool { return !r.OK() || !r.Msg.Authoritative })
}

// findUndotted finds the records whose targets lack their final dots. A target that exists is not one of them, unless
// it is the wildcard of the zone that answers.
func (a *answers) findUndotted() (list []undotted) {
	for _, rr := range a.pointers() {
		u := undotted{rr: rr, target: targetOf(rr)}
		likely := false
		if u.meant, likely = suffix.Undotted(u.target, a.Zone); u.meant == "" || misread(u.target, a.Zone) != "" {
			continue
		}
		absolute := dns.CanonicalName(u.meant)
		u.proven = dns.IsSubDomain(a.Zone, absolute) || a.exists(absolute)
		if u.fate = a.fate(u.target, rr); u.fate != "" && (likely || u.proven) {
			list = append(list, u)
		}
	}
	return list
}

// exists reports whether a name that was looked up has an address or an alias.
func (a *answers) exists(name string) bool {
	h := a.Hosts[name]
	return len(h.All())+len(h.V4.Aliases)+len(h.V6.Aliases) > 0
}

// fate says why a target leads nowhere, in a clause; nothing if it leads somewhere, or that is not known.
func (a *answers) fate(target string, rr dns.RR) string {
	h, asked := a.Hosts[target]
	_, whole := rr.(*dns.DNAME)
	switch {
	case whole && dns.IsSubDomain(rr.Header().Name, target): // RFC 6672 section 2.3
		return "lies below itself"
	case a.denied(target):
		return "does not exist"
	case asked && h.Err() == nil && !a.exists(target):
		return "has no address"
	case a.synthesized(target):
		return "exists only by the wildcard of the zone"
	}
	return ""
}

// denied reports whether a name is known not to exist.
func (a *answers) denied(name string) bool {
	h := a.Hosts[name]
	return (h.V4.NXDomain() || h.V6.NXDomain()) && !a.exists(name) ||
		slices.ContainsFunc(a.Chains, func(c survey.Chain) bool { return c.NXDomain && c.End() == name }) ||
		slices.ContainsFunc(a.ownReplies(), func(r survey.Reply) bool {
			end := ""
			for _, rr := range r.Msg.Answer {
				if alias, ok := rr.(*dns.CNAME); ok {
					end = targetOf(alias)
				}
			}
			return r.Rcode() == dns.RcodeNameError && end == name
		})
}

// synthesized reports whether a name has the addresses of any name in the zone (RFC 4592 section 2.1).
func (a *answers) synthesized(name string) bool {
	everywhere, own := map[netip.Addr]bool{}, map[netip.Addr]bool{}
	for _, ad := range a.serving {
		if r := ad.Replies[survey.ProbeAbsent]; r.Rcode() == dns.RcodeSuccess {
			for _, rr := range r.Msg.Answer {
				everywhere[resolver.AddressIn(rr)] = true
			}
		}
	}
	for _, rr := range a.Hosts[name].V4.Records {
		own[resolver.AddressIn(rr)] = true
	}
	for _, c := range a.Chains {
		for _, ip := range c.Addrs {
			if c.End() == name {
				own[ip] = true
			}
		}
	}
	delete(everywhere, netip.Addr{}) // of records that are no addresses
	return len(own) > 0 && maps.Equal(own, everywhere)
}

// lacksDot reports whether the final dot of a target is missing.
func (e *evidence) lacksDot(target string) bool {
	return slices.ContainsFunc(e.undotted, func(u undotted) bool { return u.target == target })
}

// dottedSets are the sets of records with their final dots, as in a zone file; empty unless all that they point to is
// known to work.
func (e *evidence) dottedSets() string {
	var lines []string
	done := map[string]bool{}
	for _, u := range e.undotted {
		owner := dns.CanonicalName(u.rr.Header().Name)
		if done[owner+typeOf(u.rr)] {
			continue
		}
		done[owner+typeOf(u.rr)] = true
		switch u.rr.(type) {
		case *dns.MX:
			for _, mx := range e.mx() {
				host := dns.CanonicalName(mx.Mx)
				if meant, _ := suffix.Undotted(host, e.Zone); e.lacksDot(host) {
					host = dns.CanonicalName(meant)
				}
				if !e.receives(host) || len(e.differing(survey.ProbeMX, dns.TypeMX)) > 0 {
					return ""
				}
				lines = append(lines, fmt.Sprintf("%s IN MX %d %s", owner, mx.Preference, host))
			}
		case *dns.CNAME:
			host := dns.CanonicalName(u.meant)
			if len(e.Hosts[host].All()) == 0 || host == owner {
				return ""
			}
			lines = append(lines, fmt.Sprintf("%s IN CNAME %s", owner, host))
		default:
			return ""
		}
	}
	return strings.Join(lines, "\n")
}

// receives reports whether an MX record may name a host: it is no alias, and all of its addresses are public.
func (e *evidence) receives(host string) bool {
	h := e.Hosts[host]
	private := func(ip netip.Addr) bool { return !e.Public(ip) }
	return hostName(host) && aliasText(h) == "" && len(h.All()) > 0 && !slices.ContainsFunc(h.All(), private)
}

// misread describes what a record has in place of a name, in a clause: an address or a URL, perhaps with the name of
// the zone appended. It is empty for a name.
func misread(target, zone string) string {
	bare := survey.BareName(target)
	inner := strings.TrimSuffix(bare, "."+survey.BareName(zone))
	last := bare[strings.LastIndexByte(bare, '.')+1:]
	_, network := netip.ParsePrefix(inner)
	_, port := netip.ParseAddrPort(inner)
	switch {
	case addressIn(target, zone).IsValid(), port == nil:
		return "is an IP address"
	case network == nil:
		return "is a network"
	case strings.Contains(inner, "://"), strings.HasPrefix(inner, "//"):
		return "is a URL"
	case strings.ContainsAny(inner, "/:@?#"):
		return "has characters that no host name has"
	case strings.Trim(last, "0123456789") == "":
		return "ends in a number, as no top-level domain does"
	}
	return ""
}

// literal returns the address given in place of a host name; invalid if that name exists.
func (e *evidence) literal(host string) (ip netip.Addr) {
	if ip = addressIn(host, e.Zone); !survey.Literal(host).IsValid() && e.exists(host) {
		return netip.Addr{}
	}
	return ip
}

// literalText says what is wrong with such a name; nothing if nothing is.
func (e *evidence) literalText(host, who string) string {
	switch ip := e.literal(host); {
	case !ip.IsValid():
		return ""
	case survey.Literal(host).IsValid():
		return "is an IP address, and " + who + " take it for a name"
	default:
		return "is the IP address " + ip.String() + " with the name of the zone appended"
	}
}

// addressIn returns the address given in place of a name; invalid without one.
func addressIn(target, zone string) netip.Addr {
	inner := strings.TrimSuffix(survey.BareName(target), "."+survey.BareName(zone))
	ip, _ := netip.ParseAddr(strings.Trim(inner, "[]"))
	return ip
}

// misreadAlias describes what a chain of aliases ends in, in place of a name. A name of that form that exists is
// accepted: some zones have names for each address.
func (e *evidence) misreadAlias(c survey.Chain) string {
	if len(c.Targets) == 0 || len(c.Addrs) > 0 {
		return ""
	}
	return misread(c.End(), e.Zone)
}

// literalAliases fails for aliases of addresses and URLs.
func literalAliases(e *evidence) rule.Failures {
	list := rule.FailEach(e.Chains, func(c survey.Chain) rule.Failures {
		what := e.misreadAlias(c)
		if what == "" {
			return nil
		}
		if dns.IsSubDomain(e.Zone, c.End()) {
			what += " with the name of the zone appended"
		}
		f := about(c.Name, fmt.Sprintf("is an alias (CNAME) of %s, which %s", phrase.Quote(survey.BareName(c.End())), what))
		if ip := addressIn(c.End(), e.Zone); ip.IsValid() && e.Public(ip) && len(c.Targets) == 1 {
			kind := "A"
			if ip.Is6() {
				kind = "AAAA"
			}
			f[0].Suggested = fmt.Sprintf("%s IN %s %s", c.Name, kind, ip)
		}
		return f
	})
	value := strings.Join(kit.Map(list, func(f rule.Failure) string { return f.Suggested }), "\n")
	if slices.ContainsFunc(list, func(f rule.Failure) bool { return f.Suggested == "" }) {
		value = ""
	}
	return list.Suggesting(value)
}

// danglingAdvice says what to do about an alias that leads to a name which does not exist.
func (e *evidence) danglingAdvice(target string) string {
	_, exists := suffix.Registry(survey.BareName(target), nil)
	switch {
	case dns.CountLabel(target) == 1:
		return "Write the target of the CNAME with its domain, or without the final dot if it is in the zone."
	case dns.IsSubDomain(e.Zone, target):
		return "Create the name that the CNAME leads to, or remove the CNAME."
	case !exists:
		return "Point the CNAME to a name in the public DNS, or remove it: the top-level domain of its target does not " +
			"exist."
	}
	return ""
}

// soaDotRule is about the names in the SOA record. The primary server may be hidden, so that its name need not exist.
var soaDotRule = rule.Rule[*evidence]{
	Code: "zone.soa.dot", Severity: diag.Warning, Weight: 1, Reads: []rule.Source{servers, primary},
	Ref:   "RFC 1035 section 5.1",
	Title: "Final dot missing in the SOA record", Requirement: "No name in the SOA record lacks its final dot",
	Advice: "Write the names in the SOA record with a final dot: without it, the name of the zone is appended.",
	When:   hasSOA,
	Fails: func(e *evidence) rule.Failures {
		fails := func(field, name string) rule.Failures {
			meant := e.undottedName(name)
			return rule.FailIf(meant != "", "The %s of the SOA record is %s: %s lacks its final dot in the zone file.", field,
				phrase.Quote(survey.BareName(name)), phrase.Quote(meant))
		}
		return slices.Concat(fails("MNAME", e.soa().Ns), fails("RNAME", e.soa().Mbox))
	},
}

// undottedName returns the intended name for one that lacks its final dot: it ends in the zone twice, or does not
// exist.
func (e *evidence) undottedName(name string) string {
	meant, likely := suffix.Undotted(name, e.Zone)
	absolute := dns.CanonicalName(meant)
	if meant != "" && (dns.IsSubDomain(e.Zone, absolute) ||
		(likely || e.exists(absolute)) && e.denied(dns.CanonicalName(name))) {
		return meant
	}
	return ""
}
