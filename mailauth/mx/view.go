package mx

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report.
func (r *Report) View() *view.View {
	v := view.OfRecord(r.RecordLookup, r.Verdict)
	v.Partial = r.Partial
	switch {
	case r.NullMX:
		v.Fact("mail", "not accepted (null MX)", "mx.null")
		return v
	case r.ImplicitMX:
		v.Fact("mail", "goes to the address of the domain, for want of MX records", "mx.record")
	case len(r.Hosts) > 0:
		v.Fact("servers", fmt.Sprint(len(r.Hosts)), "mx.redundancy", "mx.record")
	}
	d := view.Drawing{Kind: view.Table, Title: "Mail servers", Columns: []string{"preference", "server", "addresses"}}
	var names []string
	for _, h := range r.Hosts {
		mark, note := view.Good, ""
		switch {
		case h.Error != "":
			mark, note = view.Unknown, h.Error
		case !h.Resolves:
			mark, note = view.Error, "no address"
		}
		d.Marked(mark, note, fmt.Sprint(h.Preference), h.Host, diag.Series(diag.Map(h.Addresses, netip.Addr.String), 4))
		names = append(names, fmt.Sprintf("%d %s", h.Preference, h.Host))
	}
	v.Draw(d)
	switch {
	case r.State == diag.Valid, r.State == diag.Warned:
		v.Brief = diag.Series(names, 2)
	case slices.ContainsFunc(v.Findings, func(f diag.Finding) bool { return f.Code == "mx.hosts.unreachable" }):
		v.Brief = diag.Series(names, 2) + ": no public address, all mail is lost"
	}
	return v
}
