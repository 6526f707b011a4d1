package phishing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report: the signals that counted.
func (r *Report) View() *view.View {
	v := view.OfText(cmp.Or(r.NormalizedURL, r.Input), r.Text, r.Findings)
	switch m := v.Mark(); {
	case r.Verdict == clean:
		v.State = diag.Valid
	case r.Verdict == Malicious, r.Verdict == Suspicious && (m == view.Error || m == view.Critical):
		v.State = diag.Bad
	case r.Verdict == Suspicious:
		v.State = diag.Warned
	default:
		v.State = diag.Unknown
	}
	v.Partial = r.Partial
	v.Fact("risk", fmt.Sprintf("%d of 100: %s", r.RiskScore, r.Verdict))
	if l := r.Lookalike; l.Brand != "" {
		v.Fact("imitates", fmt.Sprintf("%s (%s)", l.Brand, l.Technique), "phishing.lookalike")
	}
	if !r.Registered.IsZero() {
		age := ""
		if r.AgeDays != nil {
			age = "registered " + diag.Count(*r.AgeDays, "day") + " ago"
		} else if r.Partial {
			age = "age not known"
		}
		v.Fact("domain", view.Join(r.Registered.String(), age), "phishing.registration")
	}
	if n := len(r.Redirects); n > 0 {
		v.Fact("leads to", diag.Clip(r.Redirects[n-1].Location, 120)+" after "+diag.Count(n, "redirect"), "phishing.redirect")
	}
	if t := r.TLS; t != (TLS{}) {
		trust := "valid"
		if !t.Valid {
			trust = "not valid"
		}
		v.Fact("certificate", view.Join(trust, t.Issuer, diag.Count(t.AgeDays, "day")+" old"), "phishing.tls")
	}
	v.Fact("forms", forms(r.Forms), "phishing.page")
	v.Fact("reputation", r.reputation(), "phishing.source")
	v.Fact("examined", diag.Count(r.Coverage.HeuristicsRun, "rule"))
	d := view.Drawing{Kind: view.Bars, Title: "Signals that counted", Columns: []string{"signal", "risk", "about"}}
	for _, s := range r.Signals {
		title := string(s.Code)
		if i := slices.IndexFunc(r.Findings, func(f diag.Finding) bool { return f.Code == s.Code }); i >= 0 {
			title = r.Findings[i].Title
		}
		d.Bar(int64(s.Weight), view.MarkOf(s.Severity), title, fmt.Sprint(s.Weight), string(s.Category))
	}
	v.Draw(d)
	if r.Verdict == clean {
		v.Brief = view.Join("clean", fmt.Sprintf("risk %d of 100", r.RiskScore))
	}
	return v
}

// forms says what the forms of the page ask for.
func forms(list []Form) string {
	if len(list) == 0 {
		return ""
	}
	parts := []string{fmt.Sprint(len(list))}
	count := func(text string, is func(Form) bool) {
		n := 0
		for _, f := range list {
			if is(f) {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, text))
		}
	}
	count("with a password", func(f Form) bool { return f.HasPassword })
	count("to another site", func(f Form) bool { return f.CrossOrigin })
	count("without encryption", func(f Form) bool { return f.Insecure })
	return strings.Join(parts, ", ")
}

// reputation says which sources list the URL, and how many answered.
func (r *Report) reputation() string {
	var listed []string
	for _, s := range r.Sources {
		if s.Status == sourceMatch {
			listed = append(listed, s.Name)
		}
	}
	switch {
	case len(listed) > 0:
		return "listed by " + diag.Series(listed, 4)
	case r.Coverage.SourcesQueried == 0:
		return ""
	}
	return fmt.Sprintf("%d of %d sources answered, none lists it", r.Coverage.SourcesAnswered, r.Coverage.SourcesQueried)
}
