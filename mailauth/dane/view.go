package dane

import (
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report.
func (r *Report) View() *view.View {
	v := view.Of(r.Domain.String(), r.Verdict)
	v.Partial = r.Partial
	v.Fact("protected", fmt.Sprintf("%d of %s", r.Summary.ProtectedCount, diag.Count(r.Summary.HostCount, "server")),
		"dane.tlsa", "dane.certificate", "dane.starttls", "dane.host")
	v.Fact("mx dnssec", string(r.MXDNSSEC), "dane.mx", "dane.dnssec")
	d := view.Drawing{Kind: view.Tree, Title: "Servers and their TLSA records"}
	for _, h := range r.Hosts {
		mark, note := h.outcome()
		d.Node(0, mark, note, h.Host, h.left())
		for _, t := range h.TLSA {
			mark, note := t.outcome()
			d.Node(1, mark, note, fmt.Sprintf("%d %d %d %s", t.Usage, t.Selector, t.Matching, diag.Clip(t.Data, 8)),
				t.UsageName+" "+t.SelectorName+" "+t.MatchingName)
		}
	}
	v.Draw(d)
	if r.State == diag.Valid || r.State == diag.Warned {
		v.Brief = fmt.Sprintf("%d of %s protected", r.Summary.ProtectedCount, diag.Count(r.Summary.HostCount, "server"))
	}
	return v
}

// left is how long the certificate is valid.
func (h *Host) left() string {
	switch c := &h.Certificate; {
	case c.NotAfter.IsZero():
		return ""
	case c.Expired:
		return "certificate expired"
	default:
		return "certificate: " + diag.Count(c.DaysRemaining, "day")
	}
}

// outcome says whether the server is protected, and why not.
func (h *Host) outcome() (view.Mark, string) {
	switch h.Status {
	case Pass:
		return view.Good, "protected"
	case Failed:
		return view.Error, h.Error
	case missing:
		return view.Optional, "no TLSA record"
	case insecure:
		return view.Warning, h.Error
	}
	return view.Unknown, h.Error
}

// outcome says what the record is worth.
func (t *TLSA) outcome() (view.Mark, string) {
	switch {
	case !t.Valid:
		return view.Error, "not valid"
	case !t.UsableForSMTP:
		return view.Warning, "not used for mail"
	case t.Matches == nil:
		return view.Unknown, "no certificate seen"
	case *t.Matches:
		return view.Good, "matches"
	}
	return view.None, "matches no certificate"
}
