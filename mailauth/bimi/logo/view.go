package logo

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report.
func (r *Report) View() *view.View {
	v := view.Of(cmp.Or(r.Domain, r.URL), r.Verdict)
	v.Partial = r.Partial
	v.Fact("record", r.Record, "bimi.logo.record")
	v.Fact("logo", cmp.Or(r.FinalURL, r.URL),
		"bimi.logo.redirect", "bimi.logo.status", "bimi.logo.connection", "bimi.logo.host", "bimi.logo.certificate")
	v.Fact("type", r.ContentType, "bimi.logo.content_type")
	v.Fact("image", r.Facts.Text(), "bimi.logo.size", "bimi.logo.xml", "bimi.logo.format")
	if s := &r.SVG; s.told {
		v.Fact("profile", view.Join("SVG "+s.Version, s.BaseProfile), "bimi.logo.base_profile", "bimi.logo.version")
		v.Fact("title", s.Title, "bimi.logo.title")
		shape := s.ViewBox
		if s.Square {
			shape = view.Join(shape, "square")
		}
		v.Fact("view box", shape, "bimi.logo.square", "bimi.logo.view_box")
	}
	v.Fact("forbidden", diag.Series(r.Forbidden, 6))
	if r.State == diag.Valid || r.State == diag.Warned {
		v.Brief = r.Facts.Text()
	}
	return v
}

// Text is the image in a few words.
func (f *Facts) Text() string {
	size := ""
	if f.SizeBytes != nil {
		size = diag.Count(*f.SizeBytes, "byte")
	}
	switch {
	case f.StatusCode != 0 && f.StatusCode != http.StatusOK:
		return fmt.Sprintf("HTTP %d", f.StatusCode)
	case !f.SVG.told:
		return view.Join(size, "no SVG that can be read")
	case f.TinyPSCompliant:
		return view.Join("SVG Tiny PS", size)
	}
	return view.Join(fmt.Sprintf("SVG with %s from Tiny PS", diag.Count(f.FaultsCount, "departure")), size)
}
