package zonecheck

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/internal/survey"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/miekg/dns"
)

// trouble says in words why an address does not serve the zone: a text that continues a sentence which
// begins with the address.
func (e *evidence) trouble(ad *survey.Address) string {
	r := ad.SOA()
	switch ad.Standing(e.Zone) {
	case survey.Authoritative:
		switch udp := ad.Replies[survey.ProbeSOA]; {
		case udp.OK():
			return ""
		case !ad.Source().IsValid():
			return "answers over TCP and not over UDP"
		}
	case survey.NonAuthoritative:
		return "has the SOA record and answers without the AA flag"
	case survey.UpwardReferral:
		return "returns an upward referral to a parent zone"
	case survey.Lame:
		return "does not serve the zone: it answers " + rcodeText(r)
	}
	if from := ad.Source(); from.IsValid() {
		return "replies from another address, " + from.String()
	}
	return cmp.Or(noReply[r.Result], "does not answer")
}

// noReply describes the outcome of a query without a reply.
var noReply = map[survey.Result]string{
	survey.Refused:    "refuses connections to port 53",
	survey.Reset:      "closes connections without an answer",
	survey.Malformed:  "sends a malformed reply",
	survey.Truncated:  "truncates its answer over UDP and does not answer over TCP",
	survey.Unroutable: "cannot be reached from here",
	survey.Blocked:    "is not a public address",
	survey.NotAsked:   "was not asked, because time ran out",
}

// rcodeText names the rcode of a reply, with its other faults.
func rcodeText(r survey.Reply) string {
	switch {
	case r.Rcode() != 0:
		return dnsmsg.RcodeName(r.Rcode())
	case r.Msg.Authoritative:
		return "NOERROR without the record"
	default:
		return "NOERROR without the record and the AA flag"
	}
}

// troubles lists in words why the addresses do not serve the zone.
func (e *evidence) troubles() string {
	var list []string
	for _, ad := range e.Addresses[:min(len(e.Addresses), 3)] {
		list = append(list, e.place(ad)+" "+e.trouble(ad))
	}
	if more := len(e.Addresses) - len(list); more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, "; ")
}

// unknownRecords reports the types for which no server returned an answer, if that may not be their fault, or is
// reported for all of their replies.
func (e *evidence) unknownRecords() rule.Failures {
	return rule.FailEach(apexTypes, func(qtype uint16) rule.Failures {
		cells := e.of(qtype)
		unknown := func(c cell) bool {
			return c.answer == malformed || c.answer == silence && e.undecided(qtype)
		}
		if len(cells) == 0 || view.CountIf(cells, unknown) < len(cells) {
			return nil
		}
		f := rule.Failure{Target: dns.Type(qtype).String()}
		why := "the replies cannot be read"
		if e.undecided(qtype) {
			why = "queries are dropped, and " + cmp.Or(
				view.TextIf(e.Across[qtype].Result == survey.NotAsked, "there is no server of another zone to compare with"),
				"so was one to a server of another zone") + ", so the cause may be on our side"
			f.Advice = "Repeat the audit from another network. If the queries are dropped there too, check the firewall in " +
				"front of the name servers."
		}
		f.Detail = fmt.Sprintf("No server returned the %s records of %s: %s.", f.Target, e.Domain, why)
		return rule.Failures{f}
	})
}

// lookupFault describes the outcome of a lookup without addresses.
func lookupFault(a diag.Addresses) string {
	if a.V4.Silent() || a.V6.Silent() {
		return "was not answered"
	}
	name := a.V4.RcodeName()
	if a.V4.Err() == nil {
		name = a.V6.RcodeName()
	}
	return "failed with " + name
}

// each calls a function for each address and collects the texts. The text continues a sentence that begins with the
// address.
func (e *evidence) each(list []*survey.Address, detail func(*survey.Address) string) rule.Failures {
	return rule.FailEach(list, func(ad *survey.Address) rule.Failures {
		text := detail(ad)
		return rule.FailIf(text != "", "%s %s.", e.place(ad), text).About(e.target(ad))
	})
}

// atAddresses, atServing and atHosts make the test of a rule from a function on each address, each address that
// serves the zone, and each name of a server.
func atAddresses(detail func(*evidence, *survey.Address) string) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		return e.each(e.Addresses, func(ad *survey.Address) string { return detail(e, ad) })
	}
}

func atServing(detail func(*evidence, *survey.Address) string) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		return e.each(e.serving, func(ad *survey.Address) string { return detail(e, ad) })
	}
}

func atHosts(detail func(*evidence, *survey.Server) string) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		return rule.FailEach(e.Servers, func(s *survey.Server) rule.Failures { return about(s.Name, detail(e, s)) })
	}
}

// saying makes such a function of a text, for what meets a condition.
func saying(text string, holds func(*survey.Address) bool) func(*evidence, *survey.Address) string {
	return func(_ *evidence, ad *survey.Address) string {
		return view.TextIf(holds(ad), text)
	}
}

// about makes a failure of a text that continues a sentence beginning with a name; of no text, none.
func about(name, text string) rule.Failures {
	name = survey.BareName(name)
	return rule.FailIf(text != "", "%s %s.", phrase.Quote(name), text).About(name)
}

// differing reports servers that have other records of a type than the first that has any.
func (e *evidence) differing(p survey.Probe, qtype uint16) rule.Failures {
	return e.comparing(dns.Type(qtype).String()+" records", func(ad *survey.Address) []dns.RR {
		if records := e.records(ad, p, qtype); len(records) > 0 {
			return records
		}
		return nil
	})
}

// comparing reports servers whose records differ from those of the first that has returned any.
func (e *evidence) comparing(kind string, of func(*survey.Address) []dns.RR) rule.Failures {
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
				phrase.Quote(contents(records)), phrase.Quote(text))
		}
	})
}

func listed(hosts []string, text string) rule.Failures {
	return rule.FailEach(hosts, func(host string) rule.Failures { return about(host, text) })
}

func aliasText(a diag.Addresses) string {
	for _, aliases := range [][]string{a.V4.Aliases, a.V6.Aliases} {
		if len(aliases) > 0 {
			return "is an alias of " + survey.BareName(aliases[0])
		}
	}
	return ""
}

func joined(places []string) string {
	if len(places) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(places[:3], ", "), len(places)-3)
	}
	return strings.Join(places, ", ")
}
