package zonecheck

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

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
		Requirement: "The domain names its mail exchangers",
		Ref:         "Zonemaster ZONE09, RFC 5321 section 5.1",
		Advice:      "Add MX records, or a null MX (RFC 7505) if the domain receives no mail.",
		When:        mxKnown,
		Fails:       func(e *evidence) diag.Failures { return diag.FailIf(!hasMX(e), "There is no MX record.") },
	},
	{
		Code: "zone.mx.null", Severity: diag.Info, Category: categorySOA,
		Requirement: "The domain receives mail",
		Ref:         "Zonemaster ZONE09, RFC 7505 section 3",
		Advice:      "Nothing needs to be done if the domain is not meant to receive mail.",
		When:        hasMX,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(len(e.mx()) == 1 && nullMX(e.mx()[0]), "Its null MX says that it does not.")
		},
	},
	{
		Code: "zone.mx.null_mixed", Severity: diag.Error, Weight: 3, Category: categorySOA,
		Requirement: "A null MX stands alone",
		Ref:         "Zonemaster ZONE09, RFC 7505 section 3",
		Advice:      "Remove the null MX, or all other MX records.",
		When:        hasMX,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(len(e.mx()) > 1 && slices.ContainsFunc(e.mx(), nullMX), "There are other MX records beside it.")
		},
	},
	{
		Code: "zone.mx.literal", Severity: diag.Error, Weight: 3, Category: categorySOA,
		Requirement: "MX records hold names and not addresses",
		Ref:         "Zonemaster SYNTAX08, RFC 5321 section 5.1",
		Advice:      "Give the mail exchanger a name with an address record, and use the name.",
		When:        hasMX,
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
		Requirement: "The names of the mail exchangers are host names",
		Ref:         "Zonemaster SYNTAX08, RFC 1123 section 2.1",
		Advice:      "Rename the mail exchanger: letters, digits and hyphens are safe.",
		When:        hasMX,
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
		Requirement: "The name of no mail exchanger is an alias",
		Ref:         "Zonemaster ZONE08, RFC 2181 section 10.3",
		Advice:      "Use the name that the alias leads to.",
		When:        hasMX,
		Fails: func(e *evidence) diag.Failures {
			return e.eachExchanger(func(host string) string { return aliasText(e.hosts[host]) })
		},
	},
	{
		Code: "zone.mx.address.missing", Severity: diag.Error, Weight: 3, Category: categorySOA,
		Requirement: "Every mail exchanger has an address",
		Ref:         "Zonemaster ZONE09, RFC 5321 section 5.1",
		Advice:      "Give the mail exchanger an address, or remove its MX record.",
		When:        hasMX,
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
		Requirement: "All servers have the same MX records",
		Ref:         "Zonemaster ZONE09, RFC 1034 section 4.3.5",
		Advice:      "Check that all servers have the zone from the same source.",
		When:        servedTwice,
		Fails:       func(e *evidence) diag.Failures { return e.differing(probeMX, dns.TypeMX) },
	},
	{
		Code: "zone.spf.missing", Severity: diag.Info, Category: categorySOA,
		Requirement: "The domain says who may send mail for it",
		Ref:         "Zonemaster ZONE11, RFC 7208 section 3.1",
		Advice:      "Publish an SPF record; v=spf1 -all if nobody may.",
		When:        txtKnown,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(len(e.spf()) == 0, "There is no SPF record.")
		},
	},
	{
		Code: "zone.spf.multiple", Severity: diag.Error, Weight: 2, Category: categorySOA,
		Requirement: "There is at most one SPF record",
		Ref:         "Zonemaster ZONE11, RFC 7208 section 3.2",
		Advice:      "Merge the records into one: with several, receivers use none.",
		When:        txtKnown,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(len(e.spf()) > 1, "There are %d.", len(e.spf()))
		},
	},
	{
		Code: "zone.spf.syntax", Severity: diag.Error, Weight: 2, Category: categorySOA,
		Requirement: "The SPF record keeps to the syntax",
		Ref:         "Zonemaster ZONE11, RFC 7208 section 4.6.1",
		Advice:      "Correct the term: receivers that find an error use nothing of the record.",
		When:        func(e *evidence) bool { return len(e.spf()) == 1 },
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
