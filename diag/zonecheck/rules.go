package zonecheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// rules is the table, in the order in which a zone is looked up. Zonemaster's cases SYNTAX01 and
// SYNTAX02 have no rule: a [diag.Domain] has neither other characters nor a hyphen at its ends.
var rules = slices.Concat(parentRules, delegationRules, glueRules, nameRules, serverRules, answerRules,
	transportRules, ednsRules, diversityRules, soaRules, timerRules, apexRules, mailRules, contentRules,
	keyRules, signatureRules, childRules)

// delegated reports whether the zone above names servers.
func delegated(e *evidence) bool { return len(e.cut.hosts) > 0 }

// met reports whether there are servers, whoever named them.
func met(e *evidence) bool { return len(e.servers) > 0 }

// addressed reports whether there are addresses of servers.
func addressed(e *evidence) bool { return len(e.addresses) > 0 }

// reached reports whether any address answered.
func reached(e *evidence) bool {
	return slices.ContainsFunc(e.addresses, func(ad *address) bool { return ad.soa().ok() })
}

// served reports whether a server serves the zone.
func served(e *evidence) bool { return len(e.serving) > 0 }

// servedTwice reports whether there are servers to compare.
func servedTwice(e *evidence) bool { return len(e.serving) > 1 }

// hasSOA reports whether the SOA record is known.
func hasSOA(e *evidence) bool { return e.soa() != nil }

// signed reports whether the zone has keys.
func signed(e *evidence) bool { return e.sec.signed }

// examined reports whether an address was examined in full.
func examined(e *evidence) bool {
	return slices.ContainsFunc(e.serving, func(ad *address) bool { return ad.replies[probeIdentity].outcome != notAsked })
}

// each calls a function for each address and collects what it has to say.
func (e *evidence) each(list []*address, detail func(*address) string) diag.Failures {
	var failures diag.Failures
	for _, ad := range list {
		if text := detail(ad); text != "" && len(failures) < maxListed {
			failures = append(failures, diag.Failure{Detail: text, Target: e.target(ad)})
		}
	}
	return failures
}

// eachHost calls a function for each name of a server and collects what it has to say.
func (e *evidence) eachHost(detail func(*server) string) diag.Failures {
	var failures diag.Failures
	for _, s := range e.servers {
		if text := detail(s); text != "" && len(failures) < maxListed {
			failures = append(failures, diag.Failure{Detail: text, Target: bareName(s.name)})
		}
	}
	return failures
}

// failing makes one failure for each text.
func failing(texts []string) diag.Failures {
	var failures diag.Failures
	for _, text := range texts[:min(len(texts), maxListed)] {
		failures = append(failures, diag.Failure{Detail: text})
	}
	return failures
}

// differing reports servers whose answers to a probe differ from that of the first that answered.
func (e *evidence) differing(p probe, qtype uint16) diag.Failures {
	return e.comparing(dns.Type(qtype).String(), func(ad *address) []dns.RR {
		if records := e.records(ad, p, qtype); records != nil && !ad.replies[p].msg.Truncated {
			return records
		}
		return nil
	})
}

// comparing reports servers whose records differ from those of the first that has told any.
func (e *evidence) comparing(kind string, of func(*address) []dns.RR) diag.Failures {
	first, known := "", false
	return e.each(e.serving, func(ad *address) string {
		records := of(ad)
		if records == nil {
			return ""
		}
		text := contents(records)
		if !known {
			first, known = text, true
		}
		if text == first {
			return ""
		}
		if text == "" {
			text = "none"
		}
		return fmt.Sprintf("Its %s records differ from those of the first server: %s.", kind,
			strings.TrimSuffix(clip(text), "."))
	})
}

// contents writes the data of records in order.
func contents(records []dns.RR) string {
	lines := []string{}
	for _, rr := range records {
		lines = append(lines, dataOf(rr))
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), ", ")
}

// dataOf writes the data of a record, names in lower case.
func dataOf(rr dns.RR) string {
	data := strings.TrimPrefix(rr.String(), rr.Header().String())
	if rr.Header().Rrtype == dns.TypeTXT {
		return data
	}
	return strings.ToLower(data)
}

// maxQuoted bounds what is quoted from a record.
const maxQuoted = 160

// clip shortens a text.
func clip(text string) string {
	if runes := []rune(text); len(runes) > maxQuoted {
		return string(runes[:maxQuoted]) + "…"
	}
	return text
}
