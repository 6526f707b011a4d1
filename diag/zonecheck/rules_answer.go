package zonecheck

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/internal/survey"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/miekg/dns"
)

// depends reports whether something fails if no server answers for a type.
func (e *evidence) depends(qtype uint16) bool {
	switch qtype {
	case dns.TypeSOA, dns.TypeNS, dns.TypeA, dns.TypeAAAA, dns.TypeMX, dns.TypeTXT, dns.TypeCAA:
		return true
	case dns.TypeDNSKEY:
		return secured(e)
	case dns.TypeDS: // it is not queried below an unsigned zone
		return slices.ContainsFunc(e.Parent.Views, func(v survey.View) bool {
			signature := func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeRRSIG }
			return v.NS.OK() && slices.ContainsFunc(v.NS.Msg.Ns, signature)
		})
	}
	return false
}

// losses describe the failures if no server answers for a type.
var losses = map[uint16]string{
	dns.TypeSOA:     "resolvers cannot cache that a name does not exist",
	dns.TypeNS:      "resolvers that ask the zone for its name servers fail",
	dns.TypeA:       "clients get no IPv4 address",
	dns.TypeAAAA:    "clients get no IPv6 address",
	dns.TypeMX:      "mail to the domain is deferred and then returned",
	dns.TypeTXT:     "receivers cannot check SPF, and defer or refuse mail",
	dns.TypeCAA:     "certification authorities refuse to issue certificates",
	dns.TypeHTTPS:   "browsers lose time, and some refuse to connect (RFC 9460 section 3.1)",
	dns.TypeDNSKEY:  "validating resolvers reject the domain if the parent zone has DS records",
	dns.TypeCDS:     "the parent zone cannot follow new keys",
	dns.TypeCDNSKEY: "the parent zone cannot follow new keys",
	dns.TypeDS:      "resolvers that check the signatures of the parent zone reject the domain",
}

// A wording is a sentence about the answers of servers, and its impact.
type wording struct {
	one, several string
	always       string // in any case; empty: other servers compensate, or types without an answer are lost
}

// failure makes one of a lapse.
func (e *evidence) failure(l lapse, w wording, grave func(qtype uint16) bool) rule.Failures {
	names, verb, harm := e.who(l), w.several, w.always
	if len(names) == 1 {
		verb = w.one
	}
	who := phrase.Series(names, maxNamed)
	if lost := slices.DeleteFunc(slices.Clone(l.types), func(t uint16) bool { return !e.lost(t) }); harm == "" {
		harm = cmp.Or(harmOf(lost), "resolvers that ask there lose time, and some give up")
	}
	f := rule.Failure{Target: e.concerned(l), Warns: !slices.ContainsFunc(l.types, grave)}
	if l.types[0] == dns.TypeDS {
		who += " of " + e.parentName()
		f.Advice = "Report it to the operator of " + e.parentName() + ", or to your registrar."
	}
	f.Detail = fmt.Sprintf("%s %s for the %s records of %s: %s.", who, verb, phrase.Series(l.names(), len(l.types)),
		e.Domain, harm)
	return rule.Failures{f}
}

// harmOf describes the failures if no server answers for these types.
func harmOf(lost []uint16) string {
	var list []string
	for _, t := range lost {
		if text := losses[t]; !slices.Contains(list, text) && len(list) < maxNamed {
			list = append(list, text)
		}
	}
	return strings.Join(list, "; ")
}

// answering makes the test of a rule about answers. For what some servers do, others make up, but for the records that
// every zone lives by. Without a wording the answer is a response code.
func answering(is func(answer string) bool, w wording) func(*evidence) rule.Failures {
	return func(e *evidence) (list rule.Failures) {
		grave := func(t uint16) bool {
			return t == dns.TypeSOA || t == dns.TypeNS || e.lost(t) && (w.always != "" || e.depends(t))
		}
		byAnswer := map[string][]cell{}
		for _, c := range e.cells {
			if c.counts && is(c.answer) && !e.judgedAsAAAA(c) && !(c.answer == silence && e.undecided(c.qtype)) {
				byAnswer[c.answer] = append(byAnswer[c.answer], c)
			}
		}
		for _, answer := range slices.Sorted(maps.Keys(byAnswer)) {
			w := wording{cmp.Or(w.one, "answers "+answer), cmp.Or(w.several, "answer "+answer), w.always}
			for _, l := range lapses(byAnswer[answer]) {
				list = append(list, e.failure(l, w, grave)...)
			}
		}
		return list
	}
}

// judgedAsAAAA reports whether a rule about AAAA speaks of the cell.
func (e *evidence) judgedAsAAAA(c cell) bool {
	return c.qtype == dns.TypeAAAA && aaaaKnown(e) && (e.deniesAAAA(c.ad) || e.dropsAAAA(c.ad) || e.failsAAAA(c.ad))
}

// answer is the condition that something was answered.
func answer(words ...string) func(string) bool {
	return func(s string) bool { return slices.Contains(words, s) }
}

// unusual reports whether an answer is a response code that has no rule of its own.
func unusual(answer string) bool {
	return !slices.Contains([]string{"NOERROR", noData, "NXDOMAIN", "SERVFAIL", "REFUSED", "NOTIMP", "FORMERR", silence,
		cutOff, malformed}, answer)
}

// answerRules are about the outcome of the query for every type at every server.
var answerRules = rule.Rules[*evidence]{{
	Code: "zone.answers.nxdomain", Severity: diag.Error, Weight: 5,
	Ref:         "RFC 2308 section 5, RFC 8020 section 2",
	Title:       "NXDOMAIN for record types of a name that exists",
	Requirement: "No name server answers NXDOMAIN for record types of a name that exists",
	Advice: "Replace the server software, or the load balancer in front of it: it must answer NOERROR for every " +
		"type of a name that exists.",
	Fails: answering(answer("NXDOMAIN"), wording{
		always: "the name exists, and resolvers that meet this answer deny all its records"}),
}, {
	Code: "zone.answers.servfail", Severity: diag.Error, Weight: 3, Ref: "RFC 8906 section 3.1.2, RFC 2308 section 7.1",
	Title: "SERVFAIL for some record types", Requirement: "No name server answers SERVFAIL for a record type",
	Advice: "Look for the cause in the log of the name server: it must answer for every type, with NOERROR if it has no " +
		"records.",
	Fails: answering(answer("SERVFAIL"), wording{}),
}, {
	Code: "zone.answers.refused", Severity: diag.Error, Weight: 3, Ref: "RFC 8906 section 3.1.2",
	Title: "REFUSED for some record types", Requirement: "No name server refuses queries for a record type",
	Advice: "Let the name server answer queries for every type: with NOERROR if it has no records.",
	Fails:  answering(answer("REFUSED"), wording{}),
}, {
	Code: "zone.answers.notimp", Severity: diag.Error, Weight: 3, Ref: "RFC 8906 section 3.1.2",
	Title: "NOTIMP for some record types", Requirement: "No name server answers NOTIMP for a record type",
	Advice: "Replace the server software: it must answer for types that it does not know, too (RFC 3597).",
	Fails:  answering(answer("NOTIMP"), wording{}),
}, {
	Code: "zone.answers.formerr", Severity: diag.Error, Weight: 3, Ref: "RFC 8906 section 3.1.2",
	Title: "FORMERR for some record types", Requirement: "No name server answers FORMERR for a record type",
	Advice: "Replace the server software: it must answer for types that it does not know, too (RFC 3597).",
	Fails:  answering(answer("FORMERR"), wording{}),
}, {
	Code: "zone.answers.rcode", Severity: diag.Error, Weight: 2, Ref: "RFC 8906 section 3.1.2, RFC 1034 section 4.3.2",
	Title:       "Unexpected response code for some record types",
	Requirement: "No name server answers with an unexpected response code",
	Advice:      "Replace the server software: it must answer for every type, with NOERROR if it has no records.",
	Fails:       answering(unusual, wording{}),
}, {
	Code: "zone.answers.silent", Severity: diag.Error, Weight: 3, Ref: "RFC 8906 section 3.1.2",
	Title: "Queries for some record types are dropped", Requirement: "No name server drops queries for a record type",
	Advice: "Let the name server, and the firewall in front of it, answer queries for every type: resolvers run into " +
		"timeouts.",
	Fails: answering(answer(silence), wording{one: "drops queries", several: "drop queries"}),
}, {
	Code: "zone.answers.truncated", Severity: diag.Error, Weight: 3, Ref: "RFC 2181 section 9, RFC 7766 section 5",
	Title:       "Answers are truncated, and not sent over TCP",
	Requirement: "Answers that are truncated over UDP are sent over TCP",
	Advice:      "Let the name server answer over TCP: resolvers must not use truncated answers.",
	Fails: answering(answer(cutOff), wording{one: "truncates the answer over UDP and does not send it over TCP",
		several: "truncate the answer over UDP and do not send it over TCP"}),
}, {
	Code: "zone.answers.nodata", Severity: diag.Error, Weight: 3, Ref: "RFC 1034 section 4.2.1, RFC 1912 section 2.8",
	Title: "NS records missing at the zone apex", Requirement: "Every name server has the NS records of the zone",
	Advice: "Add the NS records to the zone: resolvers prefer them to the delegation.",
	Fails:  (*evidence).nameless,
}, {
	Code: "zone.answers.differ", Severity: diag.Error, Weight: 3,
	Ref:         "Zonemaster CONSISTENCY04, ZONE09, RFC 1034 section 4.3.5",
	Title:       "Name servers contradict each other",
	Requirement: "All name servers give the same answers",
	Advice:      "Check that all name servers transfer the zone from the same primary.",
	Fails:       (*evidence).contradictions,
}}.With(rule.Rule[*evidence]{When: served})

// nameless finds servers that have no NS records for the zone.
func (e *evidence) nameless() rule.Failures {
	var cells []cell
	for _, c := range e.of(dns.TypeNS) {
		if c.answer == noData {
			cells = append(cells, c)
		}
	}
	w := wording{"has no data", "have no data", "resolvers that ask the zone for its name servers find none"}
	return rule.FailEach(lapses(cells), func(l lapse) rule.Failures {
		return e.failure(l, w, func(uint16) bool { return true })
	})
}

// A contradiction is a server's answer that differs from one of the majority.
type contradiction struct {
	cell
	text string // its records
	than *contradiction
}

// none is the form of [contents] for no records.
var none = contents(nil)

// comparison writes the records of a cell so that texts differ where records should not. Addresses may, for servers
// direct clients to machines nearby; so may the hints of HTTPS records, and their keys for ECH from time to time.
func (e *evidence) comparison(c cell) string {
	records := survey.RRSet(c.reply.Msg.Answer, e.Zone, c.qtype)
	switch {
	case len(records) > 0 && (c.qtype == dns.TypeA || c.qtype == dns.TypeAAAA):
		return "addresses"
	case c.qtype == dns.TypeHTTPS:
		records = kit.Map(records, steady)
	}
	return contents(records)
}

// steady is an HTTPS record without what may change from one answer to the next.
func steady(rr dns.RR) dns.RR {
	https, ok := dns.Copy(rr).(*dns.HTTPS)
	if !ok {
		return rr
	}
	https.Value = slices.DeleteFunc(https.Value, func(v dns.SVCBKeyValue) bool {
		return slices.Contains([]dns.SVCBKey{dns.SVCB_ECHCONFIG, dns.SVCB_IPV4HINT, dns.SVCB_IPV6HINT}, v.Key())
	})
	return https
}

// against lists the contradictions about a type. Most servers are right, or of as many those with records.
func (e *evidence) against(qtype uint16) (list []contradiction) {
	var all []contradiction
	for _, c := range e.of(qtype) {
		aliased := c.reply.OK() && len(survey.Set[*dns.CNAME](c.reply.Msg.Answer, e.Zone)) > 0
		if c.answered() && !aliased && !(qtype == dns.TypeNS && c.answer == noData) {
			all = append(all, contradiction{cell: c, text: e.comparison(c)})
		}
	}
	var most *contradiction
	votes := 0
	for i := range all {
		n := 2 * view.CountIf(all, func(o contradiction) bool { return o.text == all[i].text })
		if all[i].text != none {
			n++
		}
		if n > votes {
			most, votes = &all[i], n
		}
	}
	for _, c := range all {
		if c.text != most.text {
			c.than = most
			list = append(list, c)
		}
	}
	return list
}

// contradictions is the test of the rule about them. SOA records and keys have rules of their own. An older copy of the
// zone is no more than that.
func (e *evidence) contradictions() rule.Failures {
	var cells []cell
	first := map[uint16]contradiction{} // by type
	for _, qtype := range apexTypes {
		if qtype == dns.TypeSOA || qtype == dns.TypeDNSKEY {
			continue
		}
		for _, c := range e.against(qtype) {
			cells = append(cells, c.cell)
			if _, known := first[qtype]; !known {
				first[qtype] = c
			}
		}
	}
	stale := len(soaDiffers("", func(s *dns.SOA) string { return fmt.Sprint(s.Serial) })(e)) > 0
	grave := func(t uint16) bool { return t == dns.TypeNS && !stale }
	return rule.FailEach(lapses(cells), func(l lapse) rule.Failures {
		than := first[l.types[0]].than.place()
		return e.failure(l, wording{"differs from " + than, "differ from " + than, e.differences(l, first)}, grave)
	})
}

// differences says what servers answer instead of what others do.
func (e *evidence) differences(l lapse, first map[uint16]contradiction) string {
	var list []string
	for _, t := range l.types[:min(len(l.types), maxNamed)] {
		c := first[t]
		records := func(c cell) string { return phrase.Quote(contents(survey.RRSet(c.reply.Msg.Answer, e.Zone, t))) }
		list = append(list, fmt.Sprintf("%s %s instead of %s", dns.Type(t), records(c.cell), records(c.than.cell)))
	}
	return strings.Join(list, "; ")
}
