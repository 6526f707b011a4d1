package idn

import (
	"cmp"
	"fmt"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// View presents the report: the name in the requested form, or why it is not a name.
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
	if !r.IsIDN && r.Valid {
		return v
	}
	d := v.Rows(view.Table, "Labels", "ascii", "unicode", "scripts")
	for _, l := range r.Labels {
		d.StatusRow(cmp.Or(view.MarkIf(l.ConfusableWith != "", view.Warning, "looks like "+l.ConfusableWith),
			view.MarkIf(l.MixedScript, view.Warning, "mixes scripts")), l.ASCII, l.Unicode, phrase.Series(l.Scripts, 4))
	}
	return v
}
