package zonecheck

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/zonecheck/survey"
	"github.com/miekg/dns"
)

// trouble says in words why an address does not serve the zone: a text that continues a sentence which
// begins with the address.
func (e *evidence) trouble(ad *survey.Address) string {
	r := ad.SOA()
	switch r.Standing(e.Zone) {
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

// noReply says in words what became of a query in place of a reply.
var noReply = map[survey.Result]string{
	survey.Refused:    "refuses connections to port 53",
	survey.Reset:      "closes connections without an answer",
	survey.Malformed:  "sends a malformed reply",
	survey.Truncated:  "truncates its answer over UDP and does not answer over TCP",
	survey.Unroutable: "cannot be reached from here",
	survey.Blocked:    "is not a public address",
	survey.NotAsked:   "was not asked, because time ran out",
}

// rcodeText names the rcode of a reply, with what else tells it from a good one.
func rcodeText(r survey.Reply) string {
	switch {
	case r.Rcode() != 0:
		return diag.RcodeName(r.Rcode())
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

// unknownRecords reports the types for which servers were asked, and none returned an answer.
func (e *evidence) unknownRecords() diag.Failures {
	var list diag.Failures
	for _, probe := range survey.ApexProbes {
		qtype := dns.Type(survey.ApexTypes[probe])
		var places []string
		known := false
		for _, ad := range e.serving {
			switch r := ad.Replies[probe]; {
			case r.Settled():
				known = true
			case r.Result != survey.NotAsked:
				places = append(places, e.place(ad)+" "+answerFault(r))
			}
		}
		if !known && len(places) > 0 {
			list = append(list, diag.Failure{
				Detail: fmt.Sprintf("No name server returned the %s records of %s: %s.", qtype, e.Domain,
					joined(places)),
				Target: qtype.String(),
			})
		}
	}
	return list
}

// answerFault says in words why a reply is no answer.
func answerFault(r survey.Reply) string {
	switch r.Result {
	case survey.Answered:
		return "answers " + diag.RcodeName(r.Msg.Rcode)
	case survey.Truncated:
		return "truncates the answer over UDP and does not send it over TCP"
	case survey.Malformed:
		return "sends a malformed reply"
	default:
		return "does not answer"
	}
}

// lookupFault says what came of a lookup that brought nothing.
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
