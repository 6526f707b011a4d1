package hsts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// View presents the report.
func (r *Report) View() *view.View {
	v := view.Of(r.Domain.String(), r.Verdict, r.Partial)
	if r.State == diag.Missing && r.Grade == GradeUnknown { // there is no web site
		v.Optional, v.Brief = true, "no website"
		return v
	}
	for i, s := range v.Steps {
		if strings.HasPrefix(s.Value, "max-age") {
			v.Steps[i].Value = "Strict-Transport-Security: " + s.Value
		}
	}
	if h := r.Header; h.UnknownDirectives != nil {
		v.Fact("header", h.Raw, "hsts.header")
		v.Fact("in force", h.text(r.Grade), "hsts.max_age", "hsts.include_subdomains")
	} else if r.HTTPSReachable {
		v.Fact("header", "none", "hsts.header")
	}
	if r.HTTPSReachable || r.HTTPRedirect.StatusCode != 0 {
		v.Fact("stage", r.stage())
		v.Fact("plain http", r.plain(), "hsts.redirect", "hsts.http")
		v.Fact("www", view.TextIf(r.WWW.Tested, view.Known(r.WWW.HTTPSReachable,
			"speaks HTTPS", "no valid HTTPS", "no such host, or no answer")), "hsts.www")
	}
	v.Fact("preload list", r.Preload.text(), "hsts.preload", "hsts.https.locked_out")
	if len(r.TLS.Chain) > 0 {
		v.Fact("certificate", view.Join(r.TLS.Chain[0].Remaining(), r.TLS.Version), "hsts.certificate", "hsts.tls")
	}
	if !r.HTTPSReachable || r.Preload.Policy == PublicSuffix && r.Preload.Entry != r.Domain.String() {
		return v // a name below a listed suffix is never submitted
	}
	d, told := v.Rows(view.Table, "What the preload list requires"), ""
	for _, q := range r.Preload.Requirements {
		d.StatusRow(cmp.Or(view.MarkIf(!q.Met, view.Optional, view.TextIf(q.Detail != told, q.Detail)),
			view.Standing{Mark: view.Good}), view.Words(q.Code))
		told = q.Detail
	}
	m := v.Mark()
	v.BriefIf(r.Header.Raw != "" && (m == view.Good || m == view.Warning && r.Grade == GradeWeak),
		view.Words(r.Grade), r.Header.text(r.Grade))
	return v
}

// grades are those in the order in which a site comes to them.
var grades = []Grade{GradeMissing, GradeWeak, GradeFair, GradeStrong, GradePreloadReady, GradePreloaded}

// stage says how far the site has come, and what is next.
func (r *Report) stage() string {
	s := view.Words(r.Grade)
	i := slices.Index(grades, r.Grade)
	switch {
	case r.Grade == GradeUnknown:
		return "not known"
	case i < 0 || i == len(grades)-1:
		return s
	}
	return fmt.Sprintf("%s, %d of %d; next: %s", s, i+1, len(grades), view.Words(grades[i+1]))
}

// text is for how long and what the header holds.
func (h *FieldReport) text(g Grade) string {
	switch {
	case g == GradeInvalid || g == GradeUnknown || h.MaxAgeSeconds == nil:
		return "no: browsers ignore the header"
	case *h.MaxAgeSeconds == 0:
		return "no: max-age=0 turns HSTS off"
	}
	age := "until the browser forgets"
	if n := *h.MaxAgeSeconds; n < int64(1<<62/time.Second) {
		age = view.Seconds(n)
	}
	return age + cmp.Or(view.TextIf(h.IncludeSubdomains, ", with subdomains"), ", without subdomains")
}

func (r *Report) plain() string {
	h := r.HTTPRedirect
	return cmp.Or(view.TextIf(!h.Tested, "not known"), view.TextIf(h.StatusCode == 0, "not served"),
		fmt.Sprintf("status %d, ",
			h.StatusCode)+cmp.Or(view.TextIf(!h.ToHTTPS, "does not lead to HTTPS"),
			"to HTTPS"+view.TextIf(!h.SameHost, " on another host")))
}

func (p Preload) text() string {
	s := map[Status]string{Preloaded: "listed", Pending: "submitted, not yet shipped", NotListed: "not listed"}[p.Status]
	return cmp.Or(view.TextIf(s == "", "not known"), s+cmp.Or(
		view.TextIf(p.Status == NotListed,
			cmp.Or(view.TextIf(p.Eligible, ", could be submitted"), ", not all requirements are met")),
		view.Known(p.AtRisk, ", but no longer meets the requirements", "", ""), " as "+p.Entry))
}
