package zonecheck

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// maxNamed bounds the servers that a line names.
const maxNamed = 3

// View presents the report.
func (r *Report) View() *view.View {
	v := view.Of(cmp.Or(r.DomainUnicode, r.Domain.String()), r.Verdict, r.Partial)
	addresses, serving := 0, 0
	d := v.Rows(view.Table, "Name servers", "name", "address", "serial", "answers", "ms")
	for _, n := range r.Nameservers {
		if len(n.Addresses) == 0 {
			d.Marked(view.Error, "no address is known", n.Name)
		}
		for _, a := range n.Addresses {
			answers := view.TextIf(a.UDP, " UDP") + view.TextIf(a.TCP, " TCP") + view.TextIf(a.EDNS, " EDNS")
			d.StatusRow(a.standing(r.failing(a.Address)), n.Name, a.Address.String(), view.Number(a.SOASerial, ""),
				cmp.Or(strings.TrimSpace(answers), "no"), view.Number(a.LatencyMS, ""))
		}
		addresses += len(n.Addresses)
		serving += view.CountIf(n.Addresses, func(a Address) bool { return a.Authoritative })
	}
	if addresses > 0 {
		v.Fact("servers", serversText(len(r.Nameservers), addresses, serving),
			"zone.delegation.few", "zone.ns", "zone.answers", "zone.transport", "zone.edns", "zone.axfr")
		v.Fact("delegation", r.Delegation.text(), "zone.delegation.cyclic", "zone.delegation.lame",
			"zone.delegation.missing_at_parent", "zone.delegation.missing_in_zone", "zone.delegation.silent",
			"zone.delegation.truncated", "zone.delegation.unreachable", "zone.glue", "zone.parent")
		v.Fact("spread", r.Diversity.text(), "zone.diversity")
	}
	if soa := &r.SOA; len(soa.Serials) > 0 {
		v.Fact("serial", cmp.Or(view.TextIf(soa.Consistent, fmt.Sprintf("%d on all servers", soa.Serial)),
			strings.Trim(fmt.Sprint(soa.Serials), "[]")+": the SOA records differ"), "zone.soa.serial", "zone.soa.multiple")
		v.Fact("primary", soa.MName, "zone.soa.mname", "zone.soa.dot")
		v.Fact("timers", soa.timers(), "zone.soa.refresh", "zone.soa.retry", "zone.soa.expire", "zone.soa.minimum")
	}
	s := r.Summary
	v.Fact("checks", fmt.Sprintf("%d passed, %d failed, %s", s.PassCount, s.FailCount,
		phrase.Count(s.WarningCount, "warning")))
	v.BriefIf(r.State == diag.Valid, phrase.Count(len(r.Nameservers), "name server"),
		phrase.Count(s.PassCount, "check")+" passed")
	return v
}

// serversText says how many name servers and addresses there are, and how many of them serve the zone.
func serversText(names, addresses, serving int) string {
	if addresses == 1 {
		return fmt.Sprintf("%d, at 1 address", names) + view.TextIf(serving != 1, ", which does not serve the zone")
	}
	return fmt.Sprintf("%d, at %d addresses; %d of them serve%s the zone", names, addresses, serving,
		view.TextIf(serving == 1, "s"))
}

// failing lists the types for which a server does not answer as it should, with what it answers.
func (r *Report) failing(ip netip.Addr) string {
	return phrase.Series(view.Each(r.Answers, func(a Answer) string {
		return view.TextIf(a.Address == ip && a.Answer != "NOERROR" && a.Answer != noData, a.Type+" "+a.Answer)
	}), maxNamed)
}

// standing returns the standing of a server at the address; failing lists the types that it does not answer correctly.
func (a *Address) standing(failing string) view.Standing {
	return cmp.Or(view.MarkIf(!a.Authoritative && a.Error == "", view.Unknown, "not examined"),
		view.MarkIf(!a.Authoritative, view.Error, a.Error),
		view.MarkIf(!a.UDP || !a.TCP, view.Error, cmp.Or(a.Error, "does not answer over all transports")),
		view.MarkIf(a.RecursionAvailable, view.Error, "resolves names for anyone"),
		view.MarkIf(failing != "", view.Warning, failing), view.MarkIf(a.AXFROpen, view.Warning, "hands out the whole zone"),
		view.MarkIf(!a.EDNS, view.Warning, "does not understand EDNS"), view.Standing{Mark: view.Good, Note: a.Error})
}

func (d *Delegation) text() string {
	part := func(words string, names []string) string {
		return view.TextIf(len(names) > 0, "; "+words+phrase.Series(names, maxNamed))
	}
	return cmp.Or(strings.TrimPrefix(part("only the zone names ", d.MissingAtParent)+
		part("only the parent names ", d.MissingInZone)+part("not serving: ", d.Lame), "; "),
		view.TextIf(d.Consistent, "parent and zone name the same servers"), "not known")
}

// text says how the servers are spread.
func (d *Diversity) text() string {
	text := phrase.Count(d.PrefixesCount, "network")
	if d.ASNsCount != nil {
		text += fmt.Sprintf(" in %d AS", *d.ASNsCount)
	}
	return text + ", " + phrase.Series(kit.Map(d.IPVersions, func(n int) string { return fmt.Sprintf("IPv%d", n) }), 2)
}

func (s *SOA) timers() string {
	return fmt.Sprintf("refresh %s, retry %s, expire %s, negative %s", view.Seconds(s.Refresh), view.Seconds(s.Retry),
		view.Seconds(s.Expire), view.Seconds(s.Minimum))
}
