package zonecheck

import (
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/zonecheck/survey"
	"github.com/miekg/dns"
)

// each calls a function for each address and collects what it says of it. The text continues a sentence
// that begins with the address.
func (e *evidence) each(list []*survey.Address, detail func(*survey.Address) string) diag.Failures {
	return diag.FailEach(list, func(ad *survey.Address) diag.Failures {
		text := detail(ad)
		return diag.FailIf(text != "", "%s %s.", e.place(ad), text).About(e.target(ad))
	})
}

// atAddresses, atServing and atHosts make the test of a rule of what a function says of each address, each address that
// serves the zone, and each name of a server.
func atAddresses(detail func(*evidence, *survey.Address) string) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		return e.each(e.Addresses, func(ad *survey.Address) string { return detail(e, ad) })
	}
}

func atServing(detail func(*evidence, *survey.Address) string) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		return e.each(e.serving, func(ad *survey.Address) string { return detail(e, ad) })
	}
}

func atHosts(detail func(*evidence, *survey.Server) string) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		return diag.FailEach(e.Servers, func(s *survey.Server) diag.Failures { return about(s.Name, detail(e, s)) })
	}
}

// saying makes such a function of a text, for what meets a condition.
func saying(text string, holds func(*survey.Address) bool) func(*evidence, *survey.Address) string {
	return func(_ *evidence, ad *survey.Address) string {
		if holds(ad) {
			return text
		}
		return ""
	}
}

// about makes a failure of a text that continues a sentence beginning with a name; of no text, none.
func about(name, text string) diag.Failures {
	name = survey.BareName(name)
	return diag.FailIf(text != "", "%s %s.", diag.Quote(name), text).About(name)
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

// listed makes a failure for each host, of a text that continues a sentence.
func listed(hosts []string, text string) diag.Failures {
	return diag.FailEach(hosts, func(host string) diag.Failures { return about(host, text) })
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

// joined names a few places.
func joined(places []string) string {
	if len(places) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(places[:3], ", "), len(places)-3)
	}
	return strings.Join(places, ", ")
}
