package compose

import (
	"cmp"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// maxShown bounds what a line says of a part, in bytes.
const maxShown = 100

// Mark is how the part stands in a view of the whole.
func (s *Summary) Mark() view.Mark {
	if s.State == diag.Unknown {
		return view.Unknown
	}
	return view.Of("", diag.Verdict{State: s.State, Findings: s.Findings}).Mark()
}

// Brief is the part in a line: what is wrong with it, or else its record.
func (s *Summary) Brief() string {
	if m := s.Mark(); m == view.Good || m == view.Info {
		return cmp.Or(diag.Clip(s.Record, maxShown), s.Headline)
	}
	return s.Headline
}

// Draw adds the row of the part to a view of the whole, if there is a part. What is known beside its summary comes first.
func (p *Part[R]) Draw(d *view.Drawing, kind Kind, known ...string) {
	if p != nil {
		d.Marked(p.Mark(), "", kind.Label, string(p.State), view.Join(append(known, p.Brief())...))
	}
}
