package logo

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// View renders the report for display.
func (r *Report) View() *view.View {
	v := view.Of(cmp.Or(r.Domain, r.URL), r.Verdict, r.Partial)
	v.Fact("record", r.Record, "bimi.logo.record")
	v.Fact("logo", cmp.Or(r.FinalURL, r.URL),
		"bimi.logo.redirect", "bimi.logo.status", "bimi.logo.connection", "bimi.logo.host", "bimi.logo.certificate")
	v.Fact("type", r.ContentType, "bimi.logo.content_type")
	v.Fact("image", r.Facts.Text(), "bimi.logo.size", "bimi.logo.xml", "bimi.logo.format")
	if s := &r.SVG; s.present {
		v.Fact("profile", view.Join("SVG "+s.Version, s.BaseProfile), "bimi.logo.base_profile", "bimi.logo.version")
		v.Fact("title", s.Title, "bimi.logo.title")
		v.Fact("view box", view.Join(s.ViewBox, view.TextIf(s.Square, "square")), "bimi.logo.square", "bimi.logo.view_box")
	}
	v.Fact("forbidden", phrase.Series(r.Forbidden, 6))
	v.BriefIf(r.State == diag.Valid || r.State == diag.Warned, r.Facts.Text())
	return v
}

// Text is the image in a few words, and empty if no server answered.
func (f *Facts) Text() string {
	size := ""
	switch {
	case f.SizeBytes != nil:
		size = phrase.Count(*f.SizeBytes, "byte")
	case f.StatusCode == 0:
		return ""
	}
	return cmp.Or(view.TextIf(f.StatusCode != 0 && f.StatusCode != http.StatusOK, fmt.Sprintf("HTTP %d", f.StatusCode)),
		view.TextIf(!f.SVG.present, view.Join(size, "no SVG that can be read")),
		view.Join("SVG "+cmp.Or(view.TextIf(f.TinyPSCompliant, "Tiny PS"),
			fmt.Sprintf("with %s from Tiny PS", phrase.Count(f.FaultsCount, "departure"))), size))
}
