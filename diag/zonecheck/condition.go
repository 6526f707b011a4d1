package zonecheck

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/zonecheck/survey"
	"github.com/miekg/dns"
)

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

// determined is the condition that a server of the zone said what there is, or that there is nothing.
func determined(p survey.Probe) func(*evidence) bool {
	return func(e *evidence) bool {
		return slices.ContainsFunc(e.serving, func(ad *survey.Address) bool { return settled(ad.Replies[p]) })
	}
}

// settled reports whether a reply says that there is something, or that there is nothing.
func settled(r survey.Reply) bool {
	return r.Rcode() == dns.RcodeSuccess || r.Rcode() == dns.RcodeNameError
}

// has is the condition that a server returned records of a type at the apex.
func has(qtype uint16) func(*evidence) bool {
	return func(e *evidence) bool {
		r := e.at(e.Zone, qtype)
		return r.OK() && len(survey.RRSet(r.Msg.Answer, e.Zone, qtype)) > 0
	}
}

// chainKnown reports whether any chain of aliases was followed to its end.
func chainKnown(e *evidence) bool {
	return slices.ContainsFunc(e.Chains, func(c survey.Chain) bool { return c.Err == nil })
}
