package tlsrpt

import (
	"cmp"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report.
func (r *LookupReport) View() *view.View {
	v := view.OfRecord(r.RecordLookup, r.Verdict, r.Partial, "v=TLSRPTv1")
	list := diag.Map(r.RUA, func(d Destination) string {
		return cmp.Or(view.If(!d.Valid, d.URI+" (not valid)"),
			d.Destination+view.If(d.External, " (another organization)"))
	})
	v.Fact("reports to", diag.Series(list, 4), "tlsrpt.rua", "tlsrpt.destination")
	policies := cmp.Or(view.If(r.MTASTSFound && r.DANEFound, "MTA-STS and DANE"), view.If(r.MTASTSFound, "MTA-STS"),
		view.If(r.DANEFound, "DANE"), "STARTTLS alone")
	v.Fact("reports on", view.If(r.Found || r.MTASTSFound || r.DANEFound, policies), "tlsrpt.policy")
	v.BriefIf(r.Valid, "reports to "+diag.Series(list, 1), policies)
	return v
}
