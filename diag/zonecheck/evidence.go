package zonecheck

import (
	"slices"

	"github.com/diagkit/diagkit/diag/zonecheck/survey"
	"github.com/miekg/dns"
)

// Evidence is what the rules look at: what was answered, and what the signatures are worth.
type evidence struct {
	*answers
	sec zoneSecurity
}

// newEvidence draws what follows from the answers. It touches nothing.
func newEvidence(s *survey.Survey) *evidence {
	a := newAnswers(s)
	return &evidence{a, a.secure()}
}

// delegated reports whether the parent zone names servers.
func delegated(e *evidence) bool { return len(e.cut.hosts) > 0 }

// named reports whether there are servers, whoever named them.
func named(e *evidence) bool { return len(e.Servers) > 0 }

// addressed reports whether there are addresses of servers.
func addressed(e *evidence) bool { return len(e.Addresses) > 0 }

// reached reports whether any address answered.
func reached(e *evidence) bool {
	return anyAddress(func(ad *survey.Address) bool { return ad.SOA().OK() })(e)
}

// served reports whether a server serves the zone.
func served(e *evidence) bool { return len(e.serving) > 0 }

// hasSOA reports whether the SOA record is known.
func hasSOA(e *evidence) bool { return e.soa() != nil }

// signed reports whether the zone has keys.
func signed(e *evidence) bool { return e.sec.keyed }

// anyAddress is the condition that something holds for an address.
func anyAddress(holds func(*survey.Address) bool) func(*evidence) bool {
	return func(e *evidence) bool { return slices.ContainsFunc(e.Addresses, holds) }
}

// anyServing is the condition that something holds for a server of the zone.
func anyServing(holds func(*survey.Address) bool) func(*evidence) bool {
	return func(e *evidence) bool { return slices.ContainsFunc(e.serving, holds) }
}

// asked is the condition that a probe was sent to an address, whatever came back.
func asked(p survey.Probe) func(*evidence) bool {
	return anyAddress(func(ad *survey.Address) bool { return ad.Asked(p) })
}

// answered is the condition that an address answered a probe.
func answered(p survey.Probe) func(*evidence) bool {
	return anyAddress(func(ad *survey.Address) bool { return ad.Replies[p].OK() })
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

// determined is the condition that a server of the zone said what there is, or that there is nothing.
func determined(p survey.Probe) func(*evidence) bool {
	return anyServing(func(ad *survey.Address) bool { return ad.Replies[p].Settled() })
}

// hasType is the condition that a server returned records of a type at the apex.
func hasType(qtype uint16) func(*evidence) bool {
	return func(e *evidence) bool {
		r := e.at(e.Zone, qtype)
		return r.OK() && len(survey.RRSet(r.Msg.Answer, e.Zone, qtype)) > 0
	}
}

// chainKnown reports whether any chain of aliases was followed to its end.
func chainKnown(e *evidence) bool {
	return slices.ContainsFunc(e.Chains, func(c survey.Chain) bool { return c.Err == nil })
}
