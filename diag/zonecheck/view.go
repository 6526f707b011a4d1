package zonecheck

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// maxNamed bounds the servers that a line names.
const maxNamed = 3

// View is what a person sees of the report.
func (r *Report) View() *view.View {
	v := view.Of(cmp.Or(r.DomainUnicode, r.Domain.String()), r.Verdict)
	v.Partial = r.Partial
	addresses, serving := 0, 0
	d := view.Drawing{Kind: view.Table, Title: "Name servers"}
	d.Columns = []string{"name", "address", "serial", "answers", "ms"}
	for _, n := range r.Nameservers {
		if len(n.Addresses) == 0 {
			d.Marked(view.Error, "no address is known", n.Name)
		}
		for _, a := range n.Addresses {
			addresses++
			if a.Authoritative {
				serving++
			}
			serial, ms := "", ""
			if a.SOASerial != nil {
				serial = fmt.Sprint(*a.SOASerial)
			}
			if a.LatencyMS != nil {
				ms = fmt.Sprint(*a.LatencyMS)
			}
			mark, note := a.stands()
			d.Marked(mark, note, n.Name, a.Address.String(), serial, a.answers(), ms)
		}
	}
	if addresses > 0 {
		servers := serversText(len(r.Nameservers), addresses, serving)
		v.Fact("servers", servers, "zone.delegation.few", "zone.ns", "zone.transport", "zone.edns", "zone.axfr")
		v.Fact("delegation", r.Delegation.text(), "zone.delegation.cyclic", "zone.delegation.functional", "zone.delegation.lame",
			"zone.delegation.missing_at_parent", "zone.delegation.missing_in_zone", "zone.delegation.silent",
			"zone.delegation.truncated", "zone.delegation.unreachable", "zone.glue", "zone.parent")
		v.Fact("spread", r.Diversity.text(), "zone.diversity")
	}
	if soa := &r.SOA; len(soa.Serials) > 0 {
		serial := fmt.Sprintf("%d on all servers", soa.Serial)
		if !soa.Consistent {
			serial = strings.Trim(fmt.Sprint(soa.Serials), "[]") + ": the SOA records differ"
		}
		v.Fact("serial", serial, "zone.soa.serial", "zone.soa.multiple")
		v.Fact("primary", soa.MName, "zone.soa.mname")
		v.Fact("timers", soa.timers(), "zone.soa.refresh", "zone.soa.retry", "zone.soa.expire", "zone.soa.minimum")
	}
	s := r.Summary
	warnings := diag.Count(s.WarningCount, "warning")
	v.Fact("checks", fmt.Sprintf("%d passed, %d failed, %s", s.PassCount, s.FailCount, warnings))
	if r.State == diag.Valid {
		v.Brief = view.Join(diag.Count(len(r.Nameservers), "name server"), diag.Count(s.PassCount, "check")+" passed")
	}
	v.Draw(d)
	return v
}

// serversText says how many name servers and addresses there are, and how many of them serve the zone.
func serversText(names, addresses, serving int) string {
	switch {
	case addresses == 1 && serving == 1:
		return fmt.Sprintf("%d, at 1 address", names)
	case addresses == 1:
		return fmt.Sprintf("%d, at 1 address, which does not serve the zone", names)
	case serving == 1:
		return fmt.Sprintf("%d, at %d addresses; 1 of them serves the zone", names, addresses)
	}
	return fmt.Sprintf("%d, at %d addresses; %d of them serve the zone", names, addresses, serving)
}

// stands is how a server stands at the address, and why.
func (a *Address) stands() (view.Mark, string) {
	switch {
	case !a.Authoritative && a.Error == "":
		return view.Unknown, "not examined"
	case !a.Authoritative:
		return view.Error, a.Error
	case !a.UDP || !a.TCP:
		return view.Error, cmp.Or(a.Error, "does not answer over all transports")
	case a.RecursionAvailable:
		return view.Error, "resolves names for anyone"
	case a.AXFROpen:
		return view.Warning, "hands out the whole zone"
	case !a.EDNS:
		return view.Warning, "does not understand EDNS"
	}
	return view.Good, a.Error
}

// answers says how the server answers at the address.
func (a *Address) answers() string {
	var list []string
	for _, t := range []struct {
		name string
		is   bool
	}{{"UDP", a.UDP}, {"TCP", a.TCP}, {"EDNS", a.EDNS}} {
		if t.is {
			list = append(list, t.name)
		}
	}
	return cmp.Or(strings.Join(list, " "), "no")
}

// text compares parent and zone.
func (d *Delegation) text() string {
	var list []string
	for _, part := range []struct {
		words string
		names []string
	}{
		{"only the zone names ", d.MissingAtParent}, {"only the parent names ", d.MissingInZone}, {"not serving: ", d.Lame},
	} {
		if len(part.names) > 0 {
			list = append(list, part.words+diag.Series(part.names, maxNamed))
		}
	}
	switch {
	case len(list) > 0:
		return strings.Join(list, "; ")
	case d.Consistent:
		return "parent and zone name the same servers"
	}
	return "not known"
}

// text says how the servers are spread.
func (d *Diversity) text() string {
	text := diag.Count(d.PrefixesCount, "network")
	if d.ASNsCount != nil {
		text += fmt.Sprintf(" in %d AS", *d.ASNsCount)
	}
	return text + ", " + diag.Series(diag.Map(d.IPVersions, func(n int) string { return fmt.Sprintf("IPv%d", n) }), 2)
}

func (s *SOA) timers() string {
	span := func(n uint32) string { return diag.Span(time.Duration(n) * time.Second) }
	return fmt.Sprintf("refresh %s, retry %s, expire %s, negative %s", span(s.Refresh), span(s.Retry), span(s.Expire),
		span(s.Minimum))
}
