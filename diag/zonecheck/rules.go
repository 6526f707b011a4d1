package zonecheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/zonecheck/survey"
	"github.com/miekg/dns"
)

// rules is the table, in the order in which a zone is looked up. Zonemaster's cases SYNTAX01 and
// SYNTAX02 have no rule: a [diag.Domain] has neither other characters nor a hyphen at its ends.
var rules = slices.Concat(existenceRules, ofZone(parentRules, delegationRules, glueRules, nameRules, serverRules,
	behaviourRules, diversityRules, transportRules, ednsRules, securityRules, keyRules, signatureRules, childRules,
	soaRules, timerRules, recordRules, aliasRules, mailRules))

// The factors of the score.
var (
	categoryParent     = diag.Category{Code: string(CategoryParent), Label: "Parent zone"}
	categoryDelegation = diag.Category{Code: string(CategoryDelegation), Label: "Delegation"}
	categoryGlue       = diag.Category{Code: string(CategoryGlue), Label: "Glue"}
	categoryNameserver = diag.Category{Code: string(CategoryNameserver), Label: "Name servers"}
	categoryTransport  = diag.Category{Code: string(CategoryTransport), Label: "Transport"}
	categorySOA        = diag.Category{Code: string(CategorySOA), Label: "SOA record"}
	categoryRecords    = diag.Category{Code: string(CategoryRecords), Label: "Records"}
	categoryMail       = diag.Category{Code: string(CategoryMail), Label: "Mail"}
	categorySecurity   = diag.Category{Code: string(CategorySecurity), Label: "Security"}
)

// ofZone returns rules that apply unless the name is known not to be a zone: of a name that does not
// exist, or that belongs to its parent zone, nothing else is judged.
func ofZone(tables ...diag.Rules[*evidence]) diag.Rules[*evidence] {
	list := slices.Concat(tables...)
	for i := range list {
		when := list[i].When
		list[i].When = func(e *evidence) bool { return !e.cut.missing && !e.cut.plain && (when == nil || when(e)) }
	}
	return list
}

// delegated reports whether the parent zone names servers.
func delegated(e *evidence) bool { return len(e.cut.hosts) > 0 }

// named reports whether there are servers, whoever named them.
func named(e *evidence) bool { return len(e.Servers) > 0 }

// addressed reports whether there are addresses of servers.
func addressed(e *evidence) bool { return len(e.Addresses) > 0 }

// reached reports whether any address answered.
func reached(e *evidence) bool {
	return slices.ContainsFunc(e.Addresses, func(ad *survey.Address) bool { return ad.SOA().OK() })
}

// served reports whether a server serves the zone.
func served(e *evidence) bool { return len(e.serving) > 0 }

// hasSOA reports whether the SOA record is known.
func hasSOA(e *evidence) bool { return e.soa() != nil }

// signed reports whether the zone has keys.
func signed(e *evidence) bool { return e.sec.signed }

// asked is the condition that a probe was sent to an address, whatever came back.
func asked(p survey.Probe) func(*evidence) bool {
	return func(e *evidence) bool {
		return slices.ContainsFunc(e.Addresses, func(ad *survey.Address) bool { return ad.Asked(p) })
	}
}

// answered is the condition that an address answered a probe.
func answered(p survey.Probe) func(*evidence) bool {
	return func(e *evidence) bool {
		return slices.ContainsFunc(e.Addresses, func(ad *survey.Address) bool { return ad.Replies[p].OK() })
	}
}

// told is the condition that a number of servers of the zone answered a probe with NOERROR.
func told(servers int, p survey.Probe) func(*evidence) bool {
	return func(e *evidence) bool {
		count := 0
		for _, ad := range e.serving {
			if ad.Replies[p].Rcode() == dns.RcodeSuccess {
				count++
			}
		}
		return count >= servers
	}
}

// each calls a function for each address and collects what it says of it. The text continues a sentence
// that begins with the address.
func (e *evidence) each(list []*survey.Address, detail func(*survey.Address) string) diag.Failures {
	var failures diag.Failures
	for _, ad := range list {
		if text := detail(ad); text != "" {
			failures = append(failures, diag.Failure{Detail: e.place(ad) + " " + text + ".", Target: e.target(ad)})
		}
	}
	return failures
}

// eachHost does the same for each name of a server.
func (e *evidence) eachHost(detail func(*survey.Server) string) diag.Failures {
	var failures diag.Failures
	for _, s := range e.Servers {
		if text := detail(s); text != "" {
			failures = append(failures, about(s.Name, text))
		}
	}
	return failures
}

// about makes a failure of a text that continues a sentence beginning with a name.
func about(name, text string) diag.Failure {
	name = survey.BareName(name)
	return diag.Failure{Detail: diag.Quote(name) + " " + text + ".", Target: name}
}

// failing makes one failure for each sentence.
func failing(sentences []string) diag.Failures {
	var failures diag.Failures
	for _, text := range sentences {
		failures = append(failures, diag.Failure{Detail: text})
	}
	return failures
}

// differing reports servers whose answers to a probe differ from that of the first that answered.
func (e *evidence) differing(p survey.Probe, qtype uint16) diag.Failures {
	return e.comparing(dns.Type(qtype).String()+" records", func(ad *survey.Address) []dns.RR {
		return e.records(ad, p, qtype)
	})
}

// comparing reports servers whose records differ from those of the first that has returned any.
func (e *evidence) comparing(kind string, of func(*survey.Address) []dns.RR) diag.Failures {
	first, text := "", ""
	return e.each(e.serving, func(ad *survey.Address) string {
		records := of(ad)
		switch {
		case records == nil:
			return ""
		case first == "":
			first, text = e.place(ad), contents(records)
			return ""
		case contents(records) == text:
			return ""
		default:
			return fmt.Sprintf("returns other %s than %s: %s instead of %s", kind, first,
				diag.Quote(contents(records)), diag.Quote(text))
		}
	})
}

// contents writes the data of records in order.
func contents(records []dns.RR) string {
	if len(records) == 0 {
		return "none"
	}
	lines := []string{}
	for _, rr := range records {
		lines = append(lines, dataOf(rr))
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), ", ")
}

// dataOf writes the data of a record, names in lower case and the last without its final dot.
func dataOf(rr dns.RR) string {
	data := strings.TrimPrefix(rr.String(), rr.Header().String())
	if rr.Header().Rrtype == dns.TypeTXT {
		return data
	}
	return strings.TrimSuffix(strings.ToLower(data), ".")
}

// hostName reports whether a name may be that of a host.
func hostName(name string) bool {
	_, err := diag.ParseDomain(survey.BareName(name))
	return err == nil
}

// aliasText says where an alias leads.
func aliasText(a diag.Addresses) string {
	for _, aliases := range [][]string{a.V4.Aliases, a.V6.Aliases} {
		if len(aliases) > 0 {
			return "is an alias of " + survey.BareName(aliases[0])
		}
	}
	return ""
}

// seconds writes a number of seconds.
func seconds(n uint32) string {
	if n == 1 {
		return "1 second"
	}
	return fmt.Sprintf("%d seconds", n)
}

// count writes a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// upper begins a sentence with a text.
func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
