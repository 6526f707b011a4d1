package deliverability

import (
	"cmp"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/compose"
)

// View is what a person sees of the report: the parts with their points.
func (r *Report) View() *view.View {
	v := compose.ViewOf(cmp.Or(r.Email, r.Domain.String()), r.Domain, r.Verdict)
	v.Partial = r.Partial
	if r.State == diag.Missing { // there is no such domain
		return v
	}
	d := view.Drawing{Kind: view.Bars, Title: "Points", Columns: []string{"part", "points"}}
	c := &r.Components
	c.SPF.draw(&d, compose.SPF)
	c.DKIM.draw(&d, compose.DKIM)
	c.DMARC.draw(&d, compose.DMARC)
	c.Reputation.draw(&d, compose.Reputation)
	c.BIMI.draw(&d, compose.BIMI)
	c.TLSRPT.draw(&d, compose.TLSRPT)
	b := &r.Breakdown
	if b.Max > 0 {
		v.Fact("earned", fmt.Sprintf("%d of %d points", b.Earned, b.Max))
	}
	switch {
	case b.Penalty > 0 && len(v.Findings) > 0:
		v.Fact("capped", diag.Count(b.Penalty, "point")+" less: an average must not hide a fault")
	case b.Penalty > 0:
		v.Fact("capped", diag.Count(b.Penalty, "point")+" less: not all is known")
	}
	if c.SPF != nil {
		v.Fact("spf", c.SPF.Record, "spf")
	}
	if c.DMARC != nil {
		v.Fact("dmarc", c.DMARC.Record, "dmarc")
	}
	v.Draw(d)
	if v.Mark() == view.Good && r.Score != nil {
		v.Brief = view.Join(fmt.Sprintf("%d of 100", *r.Score), string(r.Band))
	}
	return v
}

// draw adds the bar of the component, if there is one.
func (c *Component[R]) draw(d *view.Drawing, kind compose.Kind) {
	if c == nil {
		return
	}
	text := fmt.Sprintf("%d of %d", c.Points, c.MaxPoints)
	switch {
	case !c.Measured:
		text = "not known"
	case c.MaxPoints == 0:
		text = "not counted"
	}
	d.Full = max(d.Full, int64(c.MaxPoints))
	d.Bar(int64(c.Points), c.Mark(), kind.Label, text)
	if c.Mark() != view.Good {
		d.Rows[len(d.Rows)-1].Note = c.Headline
	}
}
