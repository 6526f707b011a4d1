package tlsrpt

import (
	"cmp"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// View returns the report as shown to people.
func (r *LookupReport) View() *view.View {
	v := view.OfRecord(r.RecordLookup, r.Verdict, r.Partial, "v=TLSRPTv1")
	list := kit.Map(r.RUA, func(d Destination) string {
		return cmp.Or(view.TextIf(!d.Valid, d.URI+" (not valid)"),
			d.Destination+view.TextIf(d.External, " (another organization)"))
	})
	v.Fact("reports to", phrase.Series(list, 4), "tlsrpt.rua", "tlsrpt.destination")
	policies := cmp.Or(view.TextIf(r.MTASTSFound && r.DANEFound, "MTA-STS and DANE"),
		view.TextIf(r.MTASTSFound, "MTA-STS"),
		view.TextIf(r.DANEFound, "DANE"), "STARTTLS alone")
	v.Fact("reports on", view.TextIf(r.Found || r.MTASTSFound || r.DANEFound, policies), "tlsrpt.policy")
	v.BriefIf(r.Valid, "reports to "+phrase.Series(list, 1), policies)
	return v
}

// View returns the report as shown to people.
func (r *Report) View() *view.View {
	sessions := phrase.Count(r.Successful+r.Failed, "session")
	v := view.Answer(r.ID, cmp.Or(view.TextIf(r.Failed > 0, fmt.Sprintf("%d of %s of mail servers failed", r.Failed,
		sessions)),
		view.TextIf(r.Successful == 0, "No session of a mail server is reported"),
		view.TextIf(r.Successful == 1, "The only session of a mail server was encrypted"),
		fmt.Sprintf("All %s of mail servers were encrypted", sessions)))
	v.Fact("reported by", r.Organization)
	v.Fact("contact", r.ContactInfo)
	v.Fact("about", view.Period(r.Begin, r.End))
	v.Fact("faults", phrase.Series(r.Faults, 3))
	d := v.Rows(view.Bars, "Sessions", "policy", "sessions", "reason")
	for _, p := range r.Policies {
		label := p.Domain + " " + string(p.Type)
		d.Bar(p.Successful, view.Good, label, fmt.Sprint(p.Successful), "encrypted")
		for _, f := range p.Failures {
			mark := view.Warning
			known := faults[f.Result]
			if outcome, _ := p.mailOutcome(f.Result, &known); outcome == notDelivered {
				mark = view.Error
			}
			d.Bar(f.Sessions, mark, label, fmt.Sprint(f.Sessions), string(f.Result)+" "+f.ReceivingMXHostname)
		}
	}
	if list := r.causes(); len(list) > 0 {
		v.Sub = consequence(list)
		v.Judged(kit.Map(list, (*cause).finding))
	}
	if r.More {
		v.Judged([]diag.Finding{{Code: "tlsrpt.report.more", Severity: diag.Warning,
			Title: "Only the first report in the file was read",
			Detail: "Behind the report of " + cmp.Or(phrase.Quote(r.Organization), "the sender") +
				" there is more, which was not read.",
			Reference: "RFC 8460 section 4.4", Advice: "Give each report in a file of its own."}})
	}
	v.Advise()
	return v
}
