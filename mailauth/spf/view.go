package spf

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// View returns the report as shown to people.
func (r *LookupReport) View() *view.View {
	v := view.OfRecord(r.RecordLookup, r.Verdict, r.Partial)
	v.PublishAt("v=spf1", r.Domain.FQDN(), "TXT")
	v.Fact("record", r.Record)
	if r.Found {
		v.Fact("lookups", r.DNSLookups.text(), "spf.lookups")
		v.Fact("void", r.VoidLookups.text(), "spf.voids")
		v.Fact("hosts", r.Authorized.text(), "spf.network")
		v.Fact("all others", others(r.AllQualifier), "spf.all")
	}
	v.Fact("services", phrase.Series(kit.Map(r.Providers, func(p Provider) string { return p.Name }), 4))
	v.Fact("address", r.IPTest.text(), "spf.ip")
	v.BriefIf(r.Record != "", allText(r.AllQualifier), r.DNSLookups.text()+" lookups", r.Authorized.text())
	if r.Tree != nil && len(r.Tree.Children) > 0 {
		r.Tree.draw(v.Rows(view.Tree, "Records and the lookups that they cost", "record", "lookups", "hosts"), 0)
	}
	return v
}

// View returns the report as shown to people.
func (r *ValidateReport) View() *view.View {
	v := view.Of("SPF record", r.Verdict, false)
	v.Record = r.Record
	v.Fact("record", r.Record)
	v.Fact("lookups", r.DNSLookups.text(), "spf.lookups")
	v.Fact("all others", others(r.AllQualifier), "spf.all")
	length := fmt.Sprintf("%d bytes in %s", r.LengthBytes, phrase.Count(r.StringsCount, "string"))
	v.Fact("length", length, "spf.record.oversized")
	v.Fact("address", r.IPTest.text(), "spf.ip")
	d := v.Rows(view.Table, "Terms", "term", "lookups", "if it matches")
	for _, t := range r.Terms {
		d.StatusRow(view.MarkIf(!t.Valid, view.Error, "breaks the syntax"), t.Raw, fmt.Sprint(t.DNSLookups), string(t.Result))
	}
	return v
}

func (n *NodeReport) draw(d *view.Drawing, depth int) {
	status := cmp.Or(view.MarkIf(n.Loop, view.Error, "leads back to a record above"),
		view.MarkIf(n.Error != "", view.Error, n.Error),
		view.MarkIf(n.RedundantWith != "", view.Info, "adds nothing to "+n.RedundantWith))
	cost, hosts := n.CumulativeLookups, ""
	if depth > 0 {
		cost++ // the term that leads here
	}
	if n.IP4AddressCount != nil && n.IP6NetworkCount != nil {
		hosts = hostsText(*n.IP4AddressCount, *n.IP6NetworkCount)
	}
	d.Node(depth, status.Mark, status.Note,
		view.TextIf(n.Via == ViaRedirect, "redirect to ")+n.Domain, fmt.Sprint(cost), hosts)
	for _, c := range n.Children {
		if c != nil {
			c.draw(d, depth+1)
		}
	}
}

func (c Count) text() string {
	return view.TextIf(c.Estimated, "at least ") + fmt.Sprintf("%d of %d", c.Count, c.Limit)
}

func (a Authorized) text() string { return hostsText(a.IP4AddressCount, len(a.IP6)) }

func hostsText(ip4 int64, ip6 int) string {
	return cmp.Or(view.TextIf(ip4 == 1<<32, "the whole Internet may send"), view.List(
		view.TextIf(ip4 != 0, phrase.Count(ip4, "IPv4 host")),
		view.TextIf(ip6 != 0, phrase.Count(ip6, "IPv6 network"))), "no hosts")
}

func others(q eval.Qualifier) string {
	if q == "" {
		return ""
	}
	return allText(q) + ": " + string(q.Outcome())
}

func allText(q eval.Qualifier) string {
	return view.TextIf(q != "", string(q)+"all")
}

func (t IPTest) text() string {
	return view.TextIf(t.Result != "", strings.TrimSpace(t.IP.String()+": "+string(t.Result)+" "+t.MatchedTerm))
}
