package deliverability

import (
	"cmp"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/compose"
)

// View renders the report for display: the parts with their points.
func (r *Report) View() *view.View {
	v := compose.ViewOf(cmp.Or(r.Email, r.Domain.String()), r.Domain, r.Verdict, r.Partial)
	if r.State == diag.Missing { // there is no such domain
		return v
	}
	if len(r.Steps) > 0 {
		v.Steps = r.Steps
	}
	d := v.Rows(view.Bars, "Points", "part", "points")
	c := &r.Components
	c.SPF.draw(d, compose.SPF)
	c.DKIM.draw(d, compose.DKIM)
	c.DMARC.draw(d, compose.DMARC)
	c.Reputation.draw(d, compose.Reputation)
	c.BIMI.draw(d, compose.BIMI)
	c.TLSRPT.draw(d, compose.TLSRPT)
	b := &r.Breakdown
	v.Fact("earned", view.TextIf(b.Max > 0, fmt.Sprintf("%d of %d points", b.Earned, b.Max)))
	v.Fact("capped", view.TextIf(b.Penalty > 0, phrase.Count(b.Penalty, "point")+" less: "+
		cmp.Or(view.TextIf(len(v.Findings) > 0, "an average must not hide a fault"), "not all is known")))
	if c.SPF != nil {
		v.Fact("spf", c.SPF.Record, "spf")
	}
	if c.DMARC != nil {
		v.Fact("dmarc", c.DMARC.Record, "dmarc")
	}
	if v.Mark() == view.Good && r.Score != nil {
		v.Brief = view.Join(fmt.Sprintf("%d of 100", *r.Score), string(r.Band))
	}
	return v
}

func (c *Component[R]) draw(d *view.Drawing, kind compose.Kind) {
	if c == nil {
		return
	}
	d.Full = max(d.Full, int64(c.MaxPoints))
	d.Bar(int64(c.Points), c.Mark(), kind.Label, cmp.Or(view.TextIf(!c.Measured, "not known"),
		view.TextIf(c.MaxPoints == 0, "not counted"), fmt.Sprintf("%d of %d", c.Points, c.MaxPoints)))
	if c.Mark() != view.Good {
		d.Rows[len(d.Rows)-1].Note = c.Headline
	}
}
