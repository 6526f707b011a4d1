package spf

import (
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// View is what a person sees of the report.
func (r *LookupReport) View() *view.View {
	v := view.OfRecord(r.RecordLookup, r.Verdict)
	v.Partial = r.Partial
	v.PublishAt("v=spf1", r.Domain.FQDN(), "TXT")
	v.Fact("record", r.Record)
	if r.Found {
		v.Fact("lookups", r.DNSLookups.text(), "spf.lookups")
		v.Fact("void", r.VoidLookups.text(), "spf.voids")
		v.Fact("hosts", r.Authorized.text(), "spf.network")
		v.Fact("all others", others(r.AllQualifier), "spf.all")
	}
	var names []string
	for _, p := range r.Providers {
		names = append(names, p.Name)
	}
	v.Fact("services", diag.Series(names, 4))
	v.Fact("address", r.IPTest.text(), "spf.ip")
	if r.Record != "" {
		v.Brief = view.Join(alone(r.AllQualifier), r.DNSLookups.text()+" lookups", r.Authorized.text())
	}
	if r.Tree != nil && len(r.Tree.Children) > 0 {
		d := view.Drawing{Kind: view.Tree, Title: "Records and the lookups that they cost"}
		d.Columns = []string{"record", "lookups", "hosts"}
		r.Tree.draw(&d, 0)
		v.Draw(d)
	}
	return v
}

// View is what a person sees of the report.
func (r *ValidateReport) View() *view.View {
	v := view.Of("SPF record", r.Verdict)
	v.Record = r.Record
	v.Fact("record", r.Record)
	v.Fact("lookups", r.DNSLookups.text(), "spf.lookups")
	v.Fact("all others", others(r.AllQualifier), "spf.all")
	length := fmt.Sprintf("%d bytes in %s", r.LengthBytes, diag.Count(r.StringsCount, "string"))
	v.Fact("length", length, "spf.record.oversized")
	v.Fact("address", r.IPTest.text(), "spf.ip")
	d := view.Drawing{Kind: view.Table, Title: "Terms", Columns: []string{"term", "lookups", "if it matches"}}
	for _, t := range r.Terms {
		mark, note := view.None, ""
		if !t.Valid {
			mark, note = view.Error, "breaks the syntax"
		}
		d.Marked(mark, note, t.Raw, fmt.Sprint(t.DNSLookups), string(t.Result))
	}
	v.Draw(d)
	return v
}

// draw adds the record and those below it.
func (n *NodeReport) draw(d *view.Drawing, depth int) {
	label, mark, note := n.Domain, view.None, ""
	if n.Via == viaRedirect {
		label = "redirect to " + n.Domain
	}
	switch {
	case n.Loop:
		mark, note = view.Error, "leads back to a record above"
	case n.Error != "":
		mark, note = view.Error, n.Error
	case n.RedundantWith != "":
		mark, note = view.Info, "adds nothing to "+n.RedundantWith
	}
	cost, hosts := n.CumulativeLookups, ""
	if depth > 0 {
		cost++ // the term that leads here
	}
	if n.IP4AddressCount != nil && n.IP6NetworkCount != nil {
		hosts = hostsText(*n.IP4AddressCount, *n.IP6NetworkCount)
	}
	d.Node(depth, mark, note, label, fmt.Sprint(cost), hosts)
	for _, c := range n.Children {
		if c != nil {
			c.draw(d, depth+1)
		}
	}
}

func (c Count) text() string {
	if c.Estimated {
		return fmt.Sprintf("at least %d of %d", c.Count, c.Limit)
	}
	return fmt.Sprintf("%d of %d", c.Count, c.Limit)
}

func (a Authorized) text() string { return hostsText(a.IP4AddressCount, len(a.IP6)) }

// hostsText says how many hosts may send.
func hostsText(ip4 int64, ip6 int) string {
	switch {
	case ip4 == 1<<32:
		return "the whole Internet may send"
	case ip4 == 0 && ip6 == 0:
		return "no hosts"
	case ip6 == 0:
		return diag.Count(ip4, "IPv4 host")
	case ip4 == 0:
		return diag.Count(ip6, "IPv6 network")
	}
	return diag.Count(ip4, "IPv4 host") + ", " + diag.Count(ip6, "IPv6 network")
}

// others says what becomes of mail from all other hosts.
func others(q eval.Qualifier) string {
	if q == "" {
		return ""
	}
	return alone(q) + ": " + string(q.Outcome())
}

func alone(q eval.Qualifier) string {
	if q == "" {
		return ""
	}
	return string(q) + "all"
}

func (t IPTest) text() string {
	if t.Result == "" {
		return ""
	}
	return strings.TrimSpace(t.IP.String() + ": " + string(t.Result) + " " + t.MatchedTerm)
}
