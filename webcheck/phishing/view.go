package phishing

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// View presents the report: the signals that counted.
func (r *Report) View() *view.View {
	v := view.OfText(cmp.Or(r.NormalizedURL, r.Input), r.Text, r.Findings, false)
	switch m := v.Mark(); {
	case r.Verdict == Clean:
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
	l := r.Lookalike
	v.Fact("imitates", view.TextIf(l.Brand != "", fmt.Sprintf("%s (%s)", l.Brand, l.Technique)), "phishing.lookalike")
	if !r.Registered.IsZero() {
		age := view.TextIf(r.Partial, "age not known")
		if r.AgeDays != nil {
			age = "registered " + phrase.Count(*r.AgeDays, "day") + " ago"
		}
		v.Fact("domain", view.Join(r.Registered.String(), age), "phishing.registration")
	}
	if n := len(r.Redirects); n > 0 {
		v.Fact("leads to", phrase.Clip(r.Redirects[n-1].Location, 120)+" after "+phrase.Count(n, "redirect"),
			"phishing.redirect")
	}
	t := r.TLS
	v.Fact("certificate", view.TextIf(t != (TLS{}), view.Join(view.TextIf(!t.Valid, "not ")+"valid", t.Issuer,
		phrase.Count(t.AgeDays, "day")+" old")), "phishing.tls")
	v.Fact("forms", forms(r.Forms), "phishing.page")
	v.Fact("examined", phrase.Count(r.Coverage.HeuristicsRun, "rule"))
	d := v.Rows(view.Bars, "Signals that counted", "signal", "risk", "about")
	for _, s := range r.Signals {
		title := string(s.Code)
		if i := slices.IndexFunc(r.Findings, func(f diag.Finding) bool { return f.Code == s.Code }); i >= 0 {
			title = r.Findings[i].Title
		}
		d.Bar(int64(s.Weight), view.MarkOf(s.Severity), title, fmt.Sprint(s.Weight), string(s.Category))
	}
	v.BriefIf(r.Verdict == Clean, "clean", fmt.Sprintf("risk %d of 100", r.RiskScore))
	return v
}

func forms(list []Form) string {
	if len(list) == 0 {
		return ""
	}
	count := func(text string, is func(Form) bool) string {
		n := view.CountIf(list, is)
		return view.TextIf(n > 0, fmt.Sprintf("%d %s", n, text))
	}
	return view.List(fmt.Sprint(len(list)), count("with a password", func(f Form) bool { return f.HasPassword }),
		count("to another site", func(f Form) bool { return f.CrossOrigin }),
		count("without encryption", func(f Form) bool { return f.Insecure }))
}
