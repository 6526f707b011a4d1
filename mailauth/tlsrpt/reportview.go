package tlsrpt

import (
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report.
func (r *Report) View() *view.View {
	total := r.Successful + r.Failed
	v := view.Answer(r.ID, fmt.Sprintf("%d of %s of mail servers failed", r.Failed, diag.Count(total, "session")))
	if r.Failed == 0 {
		v.Headline = fmt.Sprintf("All %s of mail servers were encrypted", diag.Count(total, "session"))
	}
	v.Fact("reported by", r.Organization)
	v.Fact("contact", r.ContactInfo)
	v.Fact("about", view.If(!r.Begin.IsZero() && !r.End.IsZero(), view.Date(r.Begin)+" to "+view.Date(r.End)))
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
