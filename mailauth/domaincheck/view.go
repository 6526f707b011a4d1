package domaincheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/compose"
	"github.com/diagkit/diagkit/mailauth/reception"
)

// View is what a person sees of the report: the parts, each in a line.
func (r *Report) View() *view.View {
	v := compose.ViewOf(r.Domain.String(), r.Domain, r.Verdict)
	v.Partial = r.Partial
	if r.State == diag.Missing { // there is no such domain
		return v
	}
	v.Fact("ready", known(r.Ready))
	v.Fact("sends mail", known(r.SendsMail))
	r.receivers(v)
	d := view.Drawing{Kind: view.Table, Title: "Parts", Columns: []string{"part", "state", "outcome"}}
	s, in := &r.Pillars.Sending, &r.Pillars.Receiving
	if p := in.MX; p != nil {
		p.Draw(&d, compose.MX, p.hosts())
	}
	s.SPF.Draw(&d, compose.SPF)
	for _, k := range s.DKIM {
		if k != nil {
			k.Draw(&d, compose.DKIM, k.Selector)
		}
	}
	s.DMARC.Draw(&d, compose.DMARC)
	in.SMTP.Draw(&d, compose.SMTP)
	in.MTASTS.Draw(&d, compose.MTASTS)
	in.DANE.Draw(&d, compose.DANE)
	in.TLSRPT.Draw(&d, compose.TLSRPT)
	s.BIMI.Draw(&d, compose.BIMI)
	r.Pillars.Integrity.DNSSEC.Draw(&d, compose.DNSSEC)
	v.Draw(d)
	if v.Mark() == view.Good {
		v.Brief = view.Join("ready", fmt.Sprintf("%d parts examined", len(d.Rows)))
	}
	return v
}

// hosts names the mail servers, the most preferred first.
func (p *MXPart) hosts() string {
	if p.NullMX {
		return "receives no mail"
	}
	return diag.Series(diag.Map(p.Hosts, func(h reception.MXHost) string { return h.Host }), 3)
}

func known(is *bool) string {
	switch {
	case is == nil:
		return "not known"
	case *is:
		return "yes"
	}
	return "no"
}

// receivers says of which receivers the requirements are met.
func (r *Report) receivers(v *view.View) {
	for i, q := range r.Requirements {
		alike := func(o Requirement) bool { return o.text("") == q.text("") }
		if slices.IndexFunc(r.Requirements, alike) < i {
			continue
		}
		var names []string
		for _, o := range r.Requirements {
			if alike(o) {
				name, _, _ := strings.Cut(string(o.Code), "_")
				names = append(names, diag.Upper(name))
			}
		}
		v.Fact("bulk mail", q.text(diag.Series(names, len(names))))
	}
}

// text says whether receivers' requirements are met.
func (q *Requirement) text(receivers string) string {
	switch {
	case len(q.Missing) > 0:
		return "not met for " + receivers + ": " + diag.Series(q.Missing, 4)
	case q.Met == nil:
		return "not known for " + receivers + ": " + diag.Series(q.Unknown, 4)
	}
	return "met for " + receivers + ", as far as can be seen"
}
