package hsts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report.
func (r *Report) View() *view.View {
	v := view.Of(r.Domain.String(), r.Verdict)
	v.Partial = r.Partial
	if r.State == diag.Missing && r.Grade == gradeUnknown { // there is no web site
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
		v.Fact("www", r.WWW.text(), "hsts.www")
	}
	v.Fact("preload list", r.Preload.text(), "hsts.preload", "hsts.https.locked_out")
	if len(r.TLS.Chain) > 0 {
		v.Fact("certificate", view.Join(r.TLS.Chain[0].Remaining(), r.TLS.Version), "hsts.certificate", "hsts.tls")
	}
	if !r.HTTPSReachable {
		return v
	}
	d := view.Drawing{Kind: view.Table, Title: "What the preload list requires"}
	told := ""
	for _, q := range r.Preload.Requirements {
		mark, note := view.Good, ""
		if !q.Met {
			mark, note = view.Optional, q.Detail
		}
		if note == told {
			note = ""
		}
		told = q.Detail
		d.Marked(mark, note, strings.ReplaceAll(string(q.Code), "_", " "))
	}
	v.Draw(d)
	if m := v.Mark(); r.Header.Raw != "" && (m == view.Good || m == view.Warning && r.Grade == gradeWeak) {
		v.Brief = view.Join(strings.ReplaceAll(string(r.Grade), "_", " "), r.Header.text(r.Grade))
	}
	return v
}

// grades are those in the order in which a site comes to them.
var grades = []Grade{gradeMissing, gradeWeak, gradeFair, gradeStrong, gradePreloadReady, gradePreloaded}

// stage says how far the site has come, and what is next.
func (r *Report) stage() string {
	s := strings.ReplaceAll(string(r.Grade), "_", " ")
	i := slices.Index(grades, r.Grade)
	switch {
	case r.Grade == gradeUnknown:
		return "not known"
	case i < 0 || i == len(grades)-1:
		return s
	}
	return fmt.Sprintf("%s, %d of %d; next: %s", s, i+1, len(grades), strings.ReplaceAll(string(grades[i+1]), "_", " "))
}

// text is for how long and what the header holds.
func (h *FieldReport) text(g Grade) string {
	if g == gradeInvalid || g == gradeUnknown || h.MaxAgeSeconds == nil {
		return "no: browsers ignore the header"
	}
	age := "until the browser forgets"
	if n := *h.MaxAgeSeconds; n < int64(1<<62/time.Second) {
		age = diag.Span(time.Duration(n) * time.Second)
	}
	if h.IncludeSubdomains {
		return age + ", with subdomains"
	}
	return age + ", without subdomains"
}

// plain says where plain HTTP leads.
func (r *Report) plain() string {
	h := r.HTTPRedirect
	switch {
	case !h.Tested:
		return "not known"
	case h.StatusCode == 0:
		return "not served"
	case !h.ToHTTPS:
		return fmt.Sprintf("status %d, does not lead to HTTPS", h.StatusCode)
	case !h.SameHost:
		return fmt.Sprintf("status %d, to HTTPS on another host", h.StatusCode)
	}
	return fmt.Sprintf("status %d, to HTTPS", h.StatusCode)
}

func (w WWW) text() string {
	switch {
	case !w.Tested:
		return ""
	case w.HTTPSReachable == nil:
		return "no such host, or no answer"
	case !*w.HTTPSReachable:
		return "no valid HTTPS"
	}
	return "speaks HTTPS"
}

// text says whether the domain is on the list, or could be.
func (p Preload) text() string {
	s := map[Status]string{preloaded: "listed", pending: "submitted, not yet shipped", notListed: "not listed"}[p.Status]
	switch {
	case s == "":
		return "not known"
	case p.Status == notListed && p.Eligible:
		return s + ", could be submitted"
	case p.Status == notListed:
		return s + ", not all requirements are met"
	case p.AtRisk != nil && *p.AtRisk:
		return s + ", but no longer meets the requirements"
	}
	return s + " as " + p.Entry
}
