package deliverability

import (
	"cmp"
	"fmt"

	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/compose"
)

// View is what a person sees of the report: the parts with their points.
func (r *Report) View() *view.View {
	v := view.Of(cmp.Or(r.Email, r.Domain.String()), r.Verdict)
	v.Partial = r.Partial
	d := view.Drawing{Kind: view.Bars, Title: "Points", Columns: []string{"part", "points", "outcome"}}
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
	if b.Penalty > 0 {
		v.Fact("capped", fmt.Sprintf("%d points less: an average must not hide a fault", b.Penalty))
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
	d.Bar(int64(c.Points), c.Mark(), kind.Label, text, c.Brief())
}
