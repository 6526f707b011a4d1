package tlsrpt

import (
	"cmp"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report.
func (r *Report) View() *view.View {
	sessions := diag.Count(r.Successful+r.Failed, "session")
	v := view.Answer(r.ID, cmp.Or(view.If(r.Failed > 0, fmt.Sprintf("%d of %s of mail servers failed", r.Failed,
		sessions)),
		view.If(r.Successful == 0, "No session of a mail server is reported"),
		view.If(r.Successful == 1, "The only session of a mail server was encrypted"),
		fmt.Sprintf("All %s of mail servers were encrypted", sessions)))
	v.Fact("reported by", r.Organization)
	v.Fact("contact", r.ContactInfo)
	v.Fact("about", view.Period(r.Begin, r.End))
	v.Fact("faults", diag.Series(r.Faults, 3))
	d := v.Rows(view.Bars, "Sessions", "policy", "sessions", "reason")
	for _, p := range r.Policies {
		label := p.Domain + " " + string(p.Type)
		d.Bar(p.Successful, view.Good, label, fmt.Sprint(p.Successful), "encrypted")
		for _, f := range p.Failures {
			d.Bar(f.Sessions, view.Error, label, fmt.Sprint(f.Sessions), string(f.Result)+" "+f.ReceivingMXHostname)
		}
	}
	if r.Failed > 0 {
		v.Judged([]diag.Finding{{Code: "tlsrpt.report.failed", Severity: diag.Error, Title: "Senders could not encrypt",
			Detail: v.Headline + ".", Reference: "RFC 8460 section 4.3",
			Advice: "Check the domain: mail servers, certificates, MTA-STS policy and TLSA records."}})
		v.Advise()
	}
	return v
}
