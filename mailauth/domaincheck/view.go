package domaincheck

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/compose"
	"github.com/diagkit/diagkit/mailauth/internal/reception"
	"github.com/diagkit/diagkit/mailauth/nameuse"
)

// View renders the report for display: the parts, each in a line.
func (r *Report) View() *view.View {
	v := compose.ViewOf(r.Domain.String(), r.Domain, r.Verdict, r.Partial)
	if r.State == diag.Missing { // there is no such domain
		return v
	}
	if len(r.Steps) > 0 {
		v.Steps = r.Steps
	}
	v.Fact("name", view.TextIf(r.Name.Kind != "" && r.Name.Kind != nameuse.Organization, r.Name.Describe()))
	v.Fact("ready", view.Known(r.Ready, "yes", "no", "not known"))
	v.Fact("sends mail", view.Known(r.SendsMail, "yes", "no", "not known"))
	r.receivers(v)
	d := v.Rows(view.Table, "Parts", "part", "state", "outcome")
	s, in := &r.Pillars.Sending, &r.Pillars.Receiving
	if p := in.MX; p != nil {
		hosts := phrase.Series(kit.Map(p.Hosts, func(h reception.MXHost) string { return h.Host }), 3)
		p.Draw(d, compose.MX, cmp.Or(view.TextIf(p.NullMX, "receives no mail"), hosts))
	}
	s.SPF.Draw(d, compose.SPF)
	for _, k := range s.DKIM {
		if k != nil {
			k.Draw(d, compose.DKIM, k.Selector)
		}
	}
	s.DMARC.Draw(d, compose.DMARC)
	in.SMTP.Draw(d, compose.SMTP)
	in.MTASTS.Draw(d, compose.MTASTS)
	in.DANE.Draw(d, compose.DANE)
	in.TLSRPT.Draw(d, compose.TLSRPT)
	s.BIMI.Draw(d, compose.BIMI)
	r.Pillars.Integrity.DNSSEC.Draw(d, compose.DNSSEC)
	v.BriefIf(v.Mark() == view.Good, "ready", fmt.Sprintf("%d parts examined", len(d.Rows)))
	return v
}

func (r *Report) receivers(v *view.View) {
	outcomes := kit.Map(r.Requirements, func(q Requirement) string {
		return cmp.Or(view.TextIf(len(q.Missing) > 0, "not met for %s: "+phrase.Series(q.Missing, 4)),
			view.TextIf(q.Met == nil, "not known for %s: "+phrase.Series(q.Unknown, 4)), "met for %s, as far as can be seen")
	})
	for i, outcome := range outcomes {
		if slices.Index(outcomes, outcome) < i {
			continue
		}
		var names []string
		for k, q := range r.Requirements {
			if outcomes[k] == outcome {
				name, _, _ := strings.Cut(string(q.Code), "_")
				names = append(names, phrase.Capitalize(name))
			}
		}
		v.Fact("bulk mail", strings.Replace(outcome, "%s", phrase.Series(names, len(names)), 1))
	}
}
