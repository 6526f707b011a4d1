package mx

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// View returns the report as shown to people.
func (r *Report) View() *view.View {
	v := view.OfRecord(r.RecordLookup, r.Verdict, r.Partial)
	switch {
	case r.NullMX:
		v.Fact("mail", "not accepted (null MX)", "mx.null")
		return v
	case r.ImplicitMX:
		v.Fact("mail", "goes to the domain's own address, as there are no MX records", "mx.record")
	case len(r.Hosts) > 0:
		v.Fact("servers", fmt.Sprint(len(r.Hosts)), "mx.redundancy", "mx.record")
	}
	d := v.Rows(view.Table, "Mail servers", "preference", "server", "addresses")
	var names []string
	for _, h := range r.Hosts {
		d.StatusRow(
			cmp.Or(view.MarkIf(h.Error != "", view.Unknown, h.Error), view.MarkIf(!h.Resolves, view.Error, "no address"),
				view.Standing{Mark: view.Good}),
			fmt.Sprint(h.Preference),
			h.Host,
			phrase.Series(kit.Map(h.Addresses, netip.Addr.String), 4),
		)
		names = append(names, fmt.Sprintf("%d %s", h.Preference, h.Host))
	}
	switch {
	case r.State == diag.Valid, r.State == diag.Warned:
		v.Brief = phrase.Series(names, 2)
	case slices.ContainsFunc(v.Findings, func(f diag.Finding) bool { return f.Code == "mx.hosts.unreachable" }):
		v.Brief = phrase.Series(names, 2) + ": no public address, all mail is lost"
	}
	return v
}
