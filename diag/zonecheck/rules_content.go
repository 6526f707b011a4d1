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
		Title:  "The domain itself is no alias",
		Ref:    "RFC 1034 section 3.6.2, RFC 2181 section 10.1",
		Advice: "Replace the CNAME record by address records, or by an HTTPS record in alias mode.",
		When:   served,
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
		Title:  "All servers have the same NS records",
		Ref:    "Zonemaster CONSISTENCY04, RFC 1034 section 4.3.5",
		Advice: "Check that all servers have the zone from the same source.",
		When:   servedTwice,
		Fails:  func(e *evidence) diag.Failures { return e.differing(probeNS, dns.TypeNS) },
	},
	{
		Code: "zone.records.txt.differ", Severity: diag.Warning, Weight: 2, Category: categorySOA,
		Title:  "All servers have the same TXT records",
		Ref:    "RFC 1034 section 4.3.5",
		Advice: "Check that all servers have the zone from the same source.",
		When:   servedTwice,
		Fails:  func(e *evidence) diag.Failures { return e.differing(probeTXT, dns.TypeTXT) },
	},
	{
		Code: "zone.records.address.differ", Severity: diag.Info, Category: categorySOA,
		Title:  "All servers have the same addresses for the domain",
		Ref:    "RFC 1034 section 4.3.5",
		Advice: "Check that the servers have the same zone, unless they direct clients to machines nearby.",
		When:   servedTwice,
		Fails: func(e *evidence) diag.Failures {
			return append(e.differing(probeA, dns.TypeA), e.differing(probeAAAA, dns.TypeAAAA)...)
		},
	},
	{
		Code: "zone.records.private", Severity: diag.Warning, Weight: 1, Category: categorySOA,
		Title:  "The addresses of the domain are public",
		Ref:    "RFC 1918 section 5, RFC 6890",
		Advice: "Keep addresses of private networks out of the public zone: elsewhere they lead to other machines.",
		When:   examined,
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

// shared is the network between providers and their customers (RFC 6598).
var shared = netip.MustParsePrefix("100.64.0.0/10")

// internal reports whether an address leads somewhere else in each network.
func internal(ip netip.Addr) bool {
	return ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() || shared.Contains(ip)
}

// addressesOf lists the addresses that servers of the zone gave for a name in it.
func (e *evidence) addressesOf(name string) []netip.Addr {
	replies := []reply{e.at(name, dns.TypeA), e.at(name, dns.TypeAAAA)}
	if name == e.zone {
		for _, ad := range e.serving {
			replies = append(replies, ad.replies[probeA], ad.replies[probeAAAA])
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

// mxKnown reports whether a server said who the mail exchangers are.
func mxKnown(e *evidence) bool { return e.mx() != nil }

// mx returns the MX records of the first server that answered for them; nil if none did.
func (e *evidence) mx() []*dns.MX {
	for _, ad := range e.serving {
		if ad.replies[probeMX].rcode() == dns.RcodeSuccess {
			return append([]*dns.MX{}, set[*dns.MX](ad.replies[probeMX].msg.Answer, e.zone)...)
		}
	}
	return nil
}

// hasMX reports whether there are MX records.
func hasMX(e *evidence) bool { return len(e.mx()) > 0 }

// eachExchanger calls a function for each mail exchanger that has a name.
func (e *evidence) eachExchanger(detail func(host string) string) diag.Failures {
	var list diag.Failures
	for _, ad := range e.serving {
		if ad.replies[probeMX].rcode() != dns.RcodeSuccess {
			continue
		}
		for _, host := range exchangers(ad.replies[probeMX], e.zone) {
			known := func(f diag.Failure) bool { return f.Target == bareName(host) }
			if text := detail(host); text != "" && !slices.ContainsFunc(list, known) && len(list) < maxListed {
				list = append(list, diag.Failure{Detail: text, Target: bareName(host)})
			}
		}
	}
	return list
}

// mailRules are about the mail exchangers and SPF.
var mailRules = diag.Rules[*evidence]{
	{
		Code: "zone.mx.missing", Severity: diag.Info, Category: categorySOA,
		Title:  "The domain names its mail exchangers",
		Ref:    "Zonemaster ZONE09, RFC 5321 section 5.1",
		Advice: "Add MX records, or a null MX (RFC 7505) if the domain receives no mail.",
		When:   mxKnown,
		Fails:  func(e *evidence) diag.Failures { return diag.FailIf(!hasMX(e), "There is no MX record.") },
	},
	{
		Code: "zone.mx.null", Severity: diag.Info, Category: categorySOA,
		Title:  "The domain receives mail",
		Ref:    "Zonemaster ZONE09, RFC 7505 section 3",
		Advice: "Nothing needs to be done if the domain is not meant to receive mail.",
		When:   hasMX,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(len(e.mx()) == 1 && nullMX(e.mx()[0]), "Its null MX says that it does not.")
		},
	},
	{
		Code: "zone.mx.null_mixed", Severity: diag.Error, Weight: 3, Category: categorySOA,
		Title:  "A null MX stands alone",
		Ref:    "Zonemaster ZONE09, RFC 7505 section 3",
		Advice: "Remove the null MX, or all other MX records.",
		When:   hasMX,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(len(e.mx()) > 1 && slices.ContainsFunc(e.mx(), nullMX), "There are other MX records beside it.")
		},
	},
	{
		Code: "zone.mx.literal", Severity: diag.Error, Weight: 3, Category: categorySOA,
		Title:  "MX records hold names and not addresses",
		Ref:    "Zonemaster SYNTAX08, RFC 5321 section 5.1",
		Advice: "Give the mail exchanger a name with an address record, and use the name.",
		When:   hasMX,
		Fails: func(e *evidence) diag.Failures {
			return e.eachExchanger(func(host string) string {
				if literal(host).IsValid() {
					return "The name of the mail exchanger is an address."
				}
				return ""
			})
		},
	},
	{
		Code: "zone.mx.name", Severity: diag.Error, Weight: 2, Category: categorySOA,
		Title:  "The names of the mail exchangers are host names",
		Ref:    "Zonemaster SYNTAX08, RFC 1123 section 2.1",
		Advice: "Rename the mail exchanger: letters, digits and hyphens are safe.",
		When:   hasMX,
		Fails: func(e *evidence) diag.Failures {
			return e.eachExchanger(func(host string) string {
				if literal(host).IsValid() || hostName(host) {
					return ""
				}
				return "It is no host name."
			})
		},
	},
	{
		Code: "zone.mx.alias", Severity: diag.Error, Weight: 3, Category: categorySOA,
		Title:  "The name of no mail exchanger is an alias",
		Ref:    "Zonemaster ZONE08, RFC 2181 section 10.3",
		Advice: "Use the name that the alias leads to.",
		When:   hasMX,
		Fails: func(e *evidence) diag.Failures {
			return e.eachExchanger(func(host string) string { return aliasText(e.hosts[host]) })
		},
	},
	{
		Code: "zone.mx.address.missing", Severity: diag.Error, Weight: 3, Category: categorySOA,
		Title:  "Every mail exchanger has an address",
		Ref:    "Zonemaster ZONE09, RFC 5321 section 5.1",
		Advice: "Give the mail exchanger an address, or remove its MX record.",
		When:   hasMX,
		Fails: func(e *evidence) diag.Failures {
			return e.eachExchanger(func(host string) string {
				a, ok := e.hosts[host]
				if !ok || literal(host).IsValid() || a.Err() != nil || len(a.All()) > 0 {
					return ""
				}
				return "It has no address."
			})
		},
	},
	{
		Code: "zone.mx.differ", Severity: diag.Warning, Weight: 2, Category: categorySOA,
		Title:  "All servers have the same MX records",
		Ref:    "Zonemaster ZONE09, RFC 1034 section 4.3.5",
		Advice: "Check that all servers have the zone from the same source.",
		When:   servedTwice,
		Fails:  func(e *evidence) diag.Failures { return e.differing(probeMX, dns.TypeMX) },
	},
	{
		Code: "zone.spf.missing", Severity: diag.Info, Category: categorySOA,
		Title:  "The domain says who may send mail for it",
		Ref:    "Zonemaster ZONE11, RFC 7208 section 3.1",
		Advice: "Publish an SPF record; v=spf1 -all if nobody may.",
		When:   txtKnown,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(len(e.spf()) == 0, "There is no SPF record.")
		},
	},
	{
		Code: "zone.spf.multiple", Severity: diag.Error, Weight: 2, Category: categorySOA,
		Title:  "There is at most one SPF record",
		Ref:    "Zonemaster ZONE11, RFC 7208 section 3.2",
		Advice: "Merge the records into one: with several, receivers use none.",
		When:   txtKnown,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(len(e.spf()) > 1, "There are %d.", len(e.spf()))
		},
	},
	{
		Code: "zone.spf.syntax", Severity: diag.Error, Weight: 2, Category: categorySOA,
		Title:  "The SPF record keeps to the syntax",
		Ref:    "Zonemaster ZONE11, RFC 7208 section 4.6.1",
		Advice: "Correct the term: receivers that find an error use nothing of the record.",
		When:   func(e *evidence) bool { return len(e.spf()) == 1 },
		Fails: func(e *evidence) diag.Failures {
			term := badTerm(e.spf()[0])
			return diag.FailIf(term != "", "%.100q is no term of SPF.", term)
		},
	},
}

func nullMX(mx *dns.MX) bool { return mx.Mx == "." }

// txtKnown reports whether a server answered for TXT.
func txtKnown(e *evidence) bool {
	return slices.ContainsFunc(e.serving, func(ad *address) bool {
		return e.records(ad, probeTXT, dns.TypeTXT) != nil && !ad.replies[probeTXT].msg.Truncated
	})
}

// spf returns the SPF records of the first server that answered for TXT.
func (e *evidence) spf() []string {
	for _, ad := range e.serving {
		records := e.records(ad, probeTXT, dns.TypeTXT)
		if records == nil {
			continue
		}
		var list []string
		for _, rr := range records {
			text := diag.TXT(rr.(*dns.TXT))
			if head, _, _ := strings.Cut(strings.ToLower(text), " "); head == "v=spf1" {
				list = append(list, text)
			}
		}
		return list
	}
	return nil
}

// badTerm returns the first term of an SPF record that is none. Whether the names in it lead anywhere
// is for an examination of SPF to say.
func badTerm(record string) string {
	for _, term := range strings.Fields(record)[1:] {
		name := strings.ToLower(strings.TrimLeft(term[:1], "+-~?") + term[1:])
		end := strings.IndexAny(name, ":=/")
		value := ""
		if end >= 0 {
			name, value = name[:end], name[end:]
		}
		var ok bool
		switch name {
		case "all":
			ok = value == ""
		case "a", "mx":
			ok = value == "" || strings.HasPrefix(value, "/") || strings.HasPrefix(value, ":") && len(value) > 1
		case "ptr":
			ok = value == "" || strings.HasPrefix(value, ":") && len(value) > 1
		case "include", "exists":
			ok = strings.HasPrefix(value, ":") && len(value) > 1
		case "ip4", "ip6":
			ok = isNetwork(strings.TrimPrefix(value, ":"), name == "ip6") && strings.HasPrefix(value, ":")
		default:
			ok = strings.HasPrefix(value, "=") && name != "" // a modifier
		}
		if !ok {
			return term
		}
	}
	return ""
}

// isNetwork reports whether a text is an address or network of one version of IP.
func isNetwork(text string, ipv6 bool) bool {
	p, err := netip.ParsePrefix(text)
	ip := p.Addr()
	if err != nil {
		ip, err = netip.ParseAddr(text)
	}
	return err == nil && ip.Is6() == ipv6 && ip.Zone() == ""
}

// contentRules are about names and records below and beside.
var contentRules = diag.Rules[*evidence]{
	{
		Code: "zone.alias.loop", Severity: diag.Error, Weight: 3, Category: categorySOA,
		Title:  "No alias leads back to itself",
		Ref:    "RFC 1034 section 3.6.2",
		Advice: "Let the alias lead to a name with addresses.",
		When:   chased,
		Fails: chasing(func(c chase) string {
			if !c.loop {
				return ""
			}
			return "It leads back to " + bareName(c.chain[len(c.chain)-1]) + "."
		}),
	},
	{
		Code: "zone.alias.long", Severity: diag.Warning, Weight: 1, Category: categorySOA,
		Title:  "No chain of aliases is longer than resolvers follow",
		Ref:    "RFC 1034 section 5.2.2",
		Advice: "Let the alias lead to the last name at once: some resolvers give up after eight.",
		When:   chased,
		Fails: chasing(func(c chase) string {
			if c.loop || len(c.chain) <= longChain {
				return ""
			}
			return fmt.Sprintf("%d or more aliases follow on each other.", len(c.chain))
		}),
	},
	{
		Code: "zone.alias.dangling", Severity: diag.Warning, Weight: 2, Category: categorySOA,
		Title:  "No alias leads to a name that does not exist",
		Ref:    "RFC 1912 section 2.4",
		Advice: "Remove the alias: whoever gets hold of the name that it leads to answers for the domain.",
		When:   chased,
		Fails: chasing(func(c chase) string {
			if !c.gone || len(c.chain) == 0 {
				return ""
			}
			return "It leads to " + clip(bareName(c.chain[len(c.chain)-1])) + ", which does not exist."
		}),
	},
	{
		Code: "zone.caa", Severity: diag.Warning, Weight: 1, Category: categorySecurity,
		Title:  "The CAA records can be read",
		Ref:    "RFC 8659 section 4.1",
		Advice: "Correct the record: authorities that meet a critical property they do not know issue nothing.",
		When:   func(e *evidence) bool { return e.at(e.zone, dns.TypeCAA).ok() },
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
		Title:  "The HTTPS records make sense",
		Ref:    "RFC 9460 section 2.4",
		Advice: "Correct the record: browsers ignore it, or cannot connect.",
		When:   func(e *evidence) bool { return e.at(e.zone, dns.TypeHTTPS).ok() },
		Fails: func(e *evidence) diag.Failures {
			return failing(httpsFaults(set[*dns.HTTPS](e.at(e.zone, dns.TypeHTTPS).msg.Answer, e.zone), e.zone))
		},
	},
	{
		Code: "zone.zonemd", Severity: diag.Warning, Weight: 1, Category: categorySecurity,
		Title:  "A digest of the zone is that of its present version",
		Ref:    "RFC 8976 section 4",
		Advice: "Let the signer make the ZONEMD record anew with each change.",
		When:   func(e *evidence) bool { return hasSOA(e) && e.at(e.zone, dns.TypeZONEMD).ok() },
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
