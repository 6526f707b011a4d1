package zonecheck

import (
	"fmt"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/zonecheck/survey"
	"github.com/miekg/dns"
)

// A fact is worth knowing, and no finding: nobody has to do anything about it.
type fact struct {
	code     diag.Code
	category diag.Category
	tell     func(*evidence) diag.Failures
}

// zoneFacts are those of zones that are served.
var zoneFacts = []fact{
	{"zone.ns.version", categorySecurity, func(e *evidence) diag.Failures {
		return e.each(e.Addresses, func(ad *survey.Address) string {
			return stated("answers version.bind with %.100q", versionOf(ad.Replies[survey.ProbeChaos]))
		})
	}},
	{"zone.ns.nsid", categorySecurity, func(e *evidence) diag.Failures {
		return e.each(e.serving, func(ad *survey.Address) string {
			return stated("has the NSID %.100q", nsidOf(ad.Replies[survey.ProbeIdentity]))
		})
	}},
	{"zone.ns.subnet", categoryNameserver, func(e *evidence) diag.Failures {
		return e.each(e.serving, func(ad *survey.Address) string {
			if bits := scopeOf(ad.Replies[survey.ProbeSubnet]); bits > 0 {
				return fmt.Sprintf("answered for clients of one /%d network (EDNS Client Subnet)", bits)
			}
			return ""
		})
	}},
	{"zone.ns.case.changed", categoryNameserver, func(e *evidence) diag.Failures {
		return e.each(e.serving, func(ad *survey.Address) string {
			if ad.Replies[survey.ProbeCase].CaseChanged {
				return "changes the letter case of the query name in its reply"
			}
			return ""
		})
	}},
	{"zone.delegation.functional", categoryDelegation, func(e *evidence) diag.Failures {
		return eachChain(func(c survey.Chain) string {
			if served(e) || !named(e) || len(c.Addrs) == 0 {
				return ""
			}
			return "still has an address in the resolver, although no name server serves the zone"
		})(e)
	}},
	{"zone.soa.mname.differs", categorySOA, func(e *evidence) diag.Failures {
		return e.soaDiffers("The MNAME", func(s *dns.SOA) string { return survey.BareName(s.Ns) })
	}},
	{"zone.soa.rname.differs", categorySOA, func(e *evidence) diag.Failures {
		return e.soaDiffers("The RNAME", func(s *dns.SOA) string { return survey.BareName(s.Mbox) })
	}},
	{"zone.soa.timers.differ", categorySOA, func(e *evidence) diag.Failures {
		return e.soaDiffers("The timer set", func(s *dns.SOA) string {
			return fmt.Sprintf("refresh %d, retry %d, expire %d, minimum %d", s.Refresh, s.Retry, s.Expire, s.Minttl)
		})
	}},
	{"zone.soa.mname.unlisted", categorySOA, func(e *evidence) diag.Failures {
		if !hasSOA(e) || len(e.own) == 0 {
			return nil
		}
		mname := dns.CanonicalName(e.soa().Ns)
		return diag.FailIf(!slices.Contains(e.own, mname), "The primary server %s has no NS record in the zone.",
			survey.BareName(mname))
	}},
	{"zone.mx.missing", categoryMail, func(e *evidence) diag.Failures {
		return diag.FailIf(told(1, survey.ProbeMX)(e) && !hasMX(e), "%s has no MX record.", e.Domain)
	}},
	{"zone.mx.null", categoryMail, func(e *evidence) diag.Failures {
		null := len(e.mx()) == 1 && nullMX(e.mx()[0])
		return diag.FailIf(null, "The null MX of %s says that it receives no mail.", e.Domain)
	}},
	{"zone.spf.missing", categoryMail, func(e *evidence) diag.Failures {
		return diag.FailIf(told(1, survey.ProbeTXT)(e) && e.spfRecords() == 0, "%s has no SPF record.", e.Domain)
	}},
	{"zone.dnssec.cds.present", categorySecurity, func(e *evidence) diag.Failures {
		return diag.FailIf(hasChildDS(e), "%s has %s and %s.", e.Domain, diag.Count(len(e.sec.cds), "CDS record"),
			diag.Count(len(e.sec.cdnskey), "CDNSKEY record"))
	}},
	{"zone.dnssec.nsec3.salt", categorySecurity, func(e *evidence) diag.Failures {
		return diag.FailIf(hashed(e) && e.sec.param.SaltLength > 0, "NSEC3 of %s has a salt.", e.Domain)
	}},
	{"zone.dnssec.nsec3.optout", categorySecurity, func(e *evidence) diag.Failures {
		return diag.FailIf(hashed(e) && e.sec.optOut, "NSEC3 records of %s have the opt-out flag.", e.Domain)
	}},
}

// stated writes a text that was found; of none, nothing.
func stated(format, text string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf(format, text)
}

// facts lists what is worth knowing of the zone.
func (e *evidence) facts() (list []RuleResult) {
	for _, f := range zoneFacts {
		for _, one := range f.tell(e).Joined() {
			list = append(list, RuleResult{Code: f.code, Category: Category(f.category.Code), Status: informed, Message: one.Detail})
		}
	}
	return list
}
