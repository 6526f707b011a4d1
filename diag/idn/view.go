package idn

import (
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report: the name in the form asked for, or why it is none.
func (r *Report) View() *view.View {
	result := r.ASCII
	if r.Direction == Unicode {
		result = r.Unicode
	}
	v := view.Answer(r.Input, result)
	v.Judged(r.Findings)
	v.Advise()
	v.Record = r.Input
	if !r.Valid && len(v.Findings) > 0 {
		v.Headline, v.Brief = v.Findings[0].Title, v.Findings[0].Title
	}
	v.Fact("ascii", r.ASCII, "idn.name", "idn.label")
	v.Fact("unicode", r.Unicode)
	v.Fact("length", fmt.Sprintf("%d of 253 bytes", r.LengthASCII), "idn.name.long")
	d := view.Drawing{Kind: view.Table, Title: "Labels", Columns: []string{"ascii", "unicode", "scripts"}}
	for _, l := range r.Labels {
		mark, note := view.None, ""
		switch {
		case l.ConfusableWith != "":
			mark, note = view.Warning, "looks like "+l.ConfusableWith
		case l.MixedScript:
			mark, note = view.Warning, "mixes scripts"
		}
		d.Marked(mark, note, l.ASCII, l.Unicode, diag.Series(l.Scripts, 4))
	}
	if r.IsIDN || !r.Valid {
		v.Draw(d)
	}
	return v
}
