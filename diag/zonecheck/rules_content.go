package zonecheck

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// apexRules are about what stands at the name of the zone itself.
var apexRules = diag.Rules[*evidence]{
	{
		Code: "zone.apex.alias", Severity: diag.Error, Weight: 5, Category: categorySOA,
		Requirement: "The domain itself is no alias",
		Ref:         "RFC 1034 section 3.6.2, RFC 2181 section 10.1",
		Advice:      "Replace the CNAME record by address records, or by an HTTPS record in alias mode.",
		When:        served,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.serving, func(ad *address) string {
				for _, r := range ad.replies[:probeAbsent] {
					if r.ok() && len(set[*dns.CNAME](r.msg.Answer, e.zone)) > 0 {
						return "It has a CNAME record to " +
							clip(bareName(set[*dns.CNAME](r.msg.Answer, e.zone)[0].Target)) + "."
					}
				}
				return ""
			})
		},
	},
	{
		Code: "zone.ns.differ", Severity: diag.Warning, Weight: 3, Category: categoryNameserver,
		Requirement: "All servers have the same NS records",
		Ref:         "Zonemaster CONSISTENCY04, RFC 1034 section 4.3.5",
		Advice:      "Check that all servers have the zone from the same source.",
		When:        servedTwice,
		Fails:       func(e *evidence) diag.Failures { return e.differing(probeNS, dns.TypeNS) },
	},
	{
		Code: "zone.records.txt.differ", Severity: diag.Warning, Weight: 2, Category: categorySOA,
		Requirement: "All servers have the same TXT records",
		Ref:         "RFC 1034 section 4.3.5",
		Advice:      "Check that all servers have the zone from the same source.",
		When:        servedTwice,
		Fails:       func(e *evidence) diag.Failures { return e.differing(probeTXT, dns.TypeTXT) },
	},
	{
		Code: "zone.records.address.differ", Severity: diag.Info, Category: categorySOA,
		Requirement: "All servers have the same addresses for the domain",
		Ref:         "RFC 1034 section 4.3.5",
		Advice:      "Check that the servers have the same zone, unless they direct clients to machines nearby.",
		When:        servedTwice,
		Fails: func(e *evidence) diag.Failures {
			return slices.Concat(e.differing(probeA, dns.TypeA), e.differing(probeAAAA, dns.TypeAAAA),
				e.comparing("A", e.wwwRecords))
		},
	},
	{
		Code: "zone.records.private", Severity: diag.Warning, Weight: 1, Category: categorySOA,
		Requirement: "The addresses of the domain are public",
		Ref:         "RFC 1918 section 5, RFC 6890",
		Advice:      "Keep addresses of private networks out of the public zone: elsewhere they lead to other machines.",
		When:        examined,
		Fails: func(e *evidence) diag.Failures {
			var list diag.Failures
			for _, name := range []string{e.zone, "www." + e.zone} {
				for _, ip := range e.addressesOf(name) {
					if internal(ip) && !e.public(ip) {
						list = append(list, diag.Failure{Detail: fmt.Sprintf("It has the address %s.", ip), Target: bareName(name)})
					}
				}
			}
			return list[:min(len(list), maxListed)]
		},
	},
}

// wwwRecords returns what an address answered for www.
func (e *evidence) wwwRecords(ad *address) []dns.RR {
	r := ad.replies[probeWWW]
	if rcode := r.rcode(); rcode != dns.RcodeSuccess && rcode != dns.RcodeNameError {
		return nil
	}
	name := "www." + e.zone
	return append(rrset(r.msg.Answer, name, dns.TypeCNAME), rrset(r.msg.Answer, name, dns.TypeA)...)
}

// shared is the network between providers and their customers (RFC 6598).
var shared = netip.MustParsePrefix("100.64.0.0/10")

// internal reports whether an address leads somewhere else in each network.
func internal(ip netip.Addr) bool {
	return ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() || shared.Contains(ip)
}

// addressesOf lists the addresses that servers of the zone gave for a name in it.
func (e *evidence) addressesOf(name string) []netip.Addr {
	replies := []reply{e.at(name, dns.TypeAAAA)}
	for _, ad := range e.serving {
		if name == e.zone {
			replies = append(replies, ad.replies[probeA], ad.replies[probeAAAA])
		} else {
			replies = append(replies, ad.replies[probeWWW])
		}
	}
	seen := map[netip.Addr]bool{}
	for _, r := range replies {
		if r.ok() {
			for _, rr := range r.msg.Answer {
				if ip := addressIn(rr); ip.IsValid() {
					seen[ip] = true
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(seen), compareAddrs)
}

// contentRules are about names and records below and beside.
var contentRules = diag.Rules[*evidence]{
	{
		Code: "zone.alias.loop", Severity: diag.Error, Weight: 3, Category: categorySOA,
		Requirement: "No alias leads back to itself",
		Ref:         "RFC 1034 section 3.6.2",
		Advice:      "Let the alias lead to a name with addresses.",
		When:        chased,
		Fails: chasing(func(c chase) string {
			if !c.loop {
				return ""
			}
			return "It leads back to " + bareName(c.chain[len(c.chain)-1]) + "."
		}),
	},
	{
		Code: "zone.alias.long", Severity: diag.Warning, Weight: 1, Category: categorySOA,
		Requirement: "No chain of aliases is longer than resolvers follow",
		Ref:         "RFC 1034 section 5.2.2",
		Advice:      "Let the alias lead to the last name at once: some resolvers give up after eight.",
		When:        chased,
		Fails: chasing(func(c chase) string {
			if c.loop || len(c.chain) <= longChain {
				return ""
			}
			return fmt.Sprintf("%d or more aliases follow on each other.", len(c.chain))
		}),
	},
	{
		Code: "zone.alias.dangling", Severity: diag.Warning, Weight: 2, Category: categorySOA,
		Requirement: "No alias leads to a name that does not exist",
		Ref:         "RFC 1912 section 2.4",
		Advice:      "Remove the alias: whoever gets hold of the name that it leads to answers for the domain.",
		When:        chased,
		Fails: chasing(func(c chase) string {
			if !c.gone || len(c.chain) == 0 {
				return ""
			}
			return "It leads to " + clip(bareName(c.chain[len(c.chain)-1])) + ", which does not exist."
		}),
	},
	{
		Code: "zone.caa", Severity: diag.Warning, Weight: 1, Category: categorySecurity,
		Requirement: "The CAA records can be read",
		Ref:         "RFC 8659 section 4.1",
		Advice:      "Correct the record: authorities that meet a critical property they do not know issue nothing.",
		When:        func(e *evidence) bool { return e.at(e.zone, dns.TypeCAA).ok() },
		Fails: func(e *evidence) diag.Failures {
			var list []string
			for _, caa := range set[*dns.CAA](e.at(e.zone, dns.TypeCAA).msg.Answer, e.zone) {
				list = appendText(list, caaFault(caa))
			}
			return failing(list)
		},
	},
	{
		Code: "zone.https", Severity: diag.Warning, Weight: 1, Category: categorySOA,
		Requirement: "The HTTPS records make sense",
		Ref:         "RFC 9460 section 2.4",
		Advice:      "Correct the record: browsers ignore it, or cannot connect.",
		When:        func(e *evidence) bool { return e.at(e.zone, dns.TypeHTTPS).ok() },
		Fails: func(e *evidence) diag.Failures {
			return failing(httpsFaults(set[*dns.HTTPS](e.at(e.zone, dns.TypeHTTPS).msg.Answer, e.zone), e.zone))
		},
	},
	{
		Code: "zone.zonemd", Severity: diag.Warning, Weight: 1, Category: categorySecurity,
		Requirement: "A digest of the zone is that of its present version",
		Ref:         "RFC 8976 section 4",
		Advice:      "Let the signer make the ZONEMD record anew with each change.",
		When:        func(e *evidence) bool { return hasSOA(e) && e.at(e.zone, dns.TypeZONEMD).ok() },
		Fails: func(e *evidence) diag.Failures {
			var list []string
			for _, md := range set[*dns.ZONEMD](e.at(e.zone, dns.TypeZONEMD).msg.Answer, e.zone) {
				if !slices.ContainsFunc(e.soaReport().Serials, func(n uint32) bool { return n == md.Serial }) {
					list = append(list, fmt.Sprintf("The digest is for serial number %d, the zone has %d.", md.Serial, e.soa().Serial))
				}
			}
			return failing(list)
		},
	},
}

func appendText(list []string, text string) []string {
	if text == "" {
		return list
	}
	return append(list, text)
}

// chased reports whether aliases were followed.
func chased(e *evidence) bool { return len(e.chases) > 0 }

// chasing reports names with whose aliases something is wrong.
func chasing(wrong func(chase) string) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		var list diag.Failures
		for _, c := range e.chases {
			if text := wrong(c); text != "" {
				list = append(list, diag.Failure{Detail: text, Target: bareName(c.name)})
			}
		}
		return list
	}
}

// caaFault returns what is wrong with a CAA record, or nothing.
func caaFault(caa *dns.CAA) string {
	switch strings.ToLower(caa.Tag) {
	case "issue", "issuewild", "issuemail", "issuevmc":
		issuer, _, _ := strings.Cut(caa.Value, ";")
		if issuer = strings.TrimSpace(issuer); issuer != "" && !hostName(issuer) {
			return fmt.Sprintf("The property %s names %.100q, which is no domain.", caa.Tag, issuer)
		}
	case "iodef":
		if !strings.HasPrefix(caa.Value, "mailto:") && !strings.HasPrefix(caa.Value, "http") {
			return fmt.Sprintf("The property iodef has %.100q, which is no URL.", caa.Value)
		}
	case "contactemail", "contactphone":
	default:
		if caa.Flag&128 != 0 {
			return fmt.Sprintf("The property %.50q is unknown and critical.", caa.Tag)
		}
	}
	return ""
}

// httpsFaults returns what is wrong with HTTPS records.
func httpsFaults(list []*dns.HTTPS, zone string) []string {
	var faults []string
	alias, service := 0, 0
	for _, r := range list {
		if r.Priority == 0 {
			alias++
			switch {
			case dns.CanonicalName(r.Target) == zone:
				faults = append(faults, "A record in alias mode leads to the domain itself.")
			case len(r.Value) > 0:
				faults = append(faults, "A record in alias mode has parameters, which are ignored.")
			}
			continue
		}
		service++
		keys := map[dns.SVCBKey]bool{}
		for _, v := range r.Value {
			keys[v.Key()] = true
		}
		for _, v := range r.Value {
			if mandatory, ok := v.(*dns.SVCBMandatory); ok {
				for _, k := range mandatory.Code {
					if !keys[k] {
						faults = append(faults, fmt.Sprintf("The parameter %s is mandatory and missing.", k))
					}
				}
			}
		}
		if keys[dns.SVCB_NO_DEFAULT_ALPN] && !keys[dns.SVCB_ALPN] {
			faults = append(faults, "The parameter no-default-alpn needs alpn.")
		}
	}
	if alias > 0 && service > 0 {
		faults = append(faults, "There are records in alias mode and in service mode.")
	}
	return faults
}
