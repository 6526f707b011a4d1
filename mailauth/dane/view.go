package dane

import (
	"cmp"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// View renders the report for display.
func (r *Report) View() *view.View {
	v := view.Of(r.Domain.String(), r.Verdict, r.Partial)
	protected := fmt.Sprintf("%d of %s", r.Summary.ProtectedCount, phrase.Count(r.Summary.HostCount, "server"))
	v.Fact("protected", view.TextIf(r.Summary.HostCount > 0, protected), "dane.tlsa", "dane.certificate",
		"dane.starttls", "dane.host")
	v.Fact("mx dnssec", string(r.MXDNSSEC), "dane.mx", "dane.dnssec")
	d := v.Rows(view.Tree, "Servers and their TLSA records")
	for _, h := range r.Hosts {
		status, c := h.status(), &h.Certificate
		d.Node(0, status.Mark, status.Note, h.Host, view.TextIf(!c.NotAfter.IsZero(),
			cmp.Or(view.TextIf(c.Expired, "certificate expired"), "certificate: "+phrase.Count(c.DaysRemaining, "day"))))
		for _, t := range h.TLSA {
			stands := t.status()
			d.Node(1, stands.Mark, stands.Note,
				fmt.Sprintf("%d %d %d %s", t.Usage, t.Selector, t.Matching, phrase.Clip(t.Data, 8)),
				t.UsageName+" "+t.SelectorName+" "+t.MatchingName)
		}
	}
	v.BriefIf(r.State == diag.Valid || r.State == diag.Warned, protected+" protected")
	return v
}

func (h *Host) status() view.Standing {
	return cmp.Or(
		view.MarkIf(h.Status == Pass, view.Good, "protected"),
		view.MarkIf(h.Status == Failed, view.Error, h.Error),
		view.MarkIf(h.Status == Missing, view.Optional, "no TLSA record"),
		view.MarkIf(h.Status == Insecure, view.Warning, h.Error),
		view.Standing{Mark: view.Unknown, Note: h.Error},
	)
}

func (t *TLSA) status() view.Standing {
	return cmp.Or(view.MarkIf(!t.Valid, view.Error, "not valid"),
		view.MarkIf(!t.UsableForSMTP, view.Warning, "not used for mail"),
		view.MarkIf(t.Matches == nil, view.Unknown, "no certificate seen"),
		view.MarkIf(t.Matches != nil && *t.Matches, view.Good, "matches"), view.Standing{Note: "matches no certificate"})
}
