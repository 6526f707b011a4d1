package mtasts

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// View returns the report as shown to people.
func (r *Report) View() *view.View {
	v := view.OfRecord(r.RecordLookup, r.Verdict, r.Partial)
	v.PublishAt("v=STSv1", "_mta-sts."+r.Domain.String()+".", "TXT")
	v.PublishAt("v=TLSRPTv1", "_smtp._tls."+r.Domain.String()+".", "TXT")
	v.PublishAt("version:", r.Policy.URL, "")
	r.announce(v)
	p := &r.Policy
	v.Fact("record", r.Record)
	v.Fact("mode", modes[p.Mode], "mtasts.policy.mode")
	v.Fact("kept for", p.age(), "mtasts.policy.max_age")
	v.Fact("allowed", phrase.Series(p.MX, 4), "mtasts.policy.mx")
	active := p.Mode != "" && p.Mode != None
	listed := fmt.Sprintf("%d of %s", r.MXCoverage.CoveredCount, phrase.Count(r.MXCoverage.TotalCount, "mail server"))
	v.Fact("servers", view.TextIf(active, listed), "mtasts.mx")
	certificate := ""
	if len(r.TLS.Chain) > 0 {
		certificate = "certificate: " + r.TLS.Chain[0].Remaining()
	}
	v.Fact("policy host", view.TextIf(r.Found && p.StatusCode != 0,
		view.Join(fmt.Sprintf("HTTP %d", p.StatusCode), r.TLS.Version, certificate)),
		"mtasts.policy.certificate", "mtasts.policy.tls", "mtasts.policy.status", "mtasts.policy.redirect",
		"mtasts.policy.media_type", "mtasts.policy.page", "mtasts.policy.protocol")
	reports := cmp.Or(view.TextIf(r.TLSRPTFound, "asked for by a TLSRPT record"), "no TLSRPT record")
	v.Fact("reports", view.TextIf(r.Found, reports), "mtasts.tls_rpt")
	v.BriefIf(r.Valid, string(p.Mode), view.TextIf(active, listed+" listed"), "kept for "+p.age())
	if !active {
		return v
	}
	d := v.Rows(view.Table, "Mail servers", "preference", "server", "listed as")
	for _, h := range r.MXHosts {
		d.StatusRow(cmp.Or(view.MarkIf(!h.Covered, view.Error, "the policy does not list it"),
			view.Standing{Mark: view.Good}), fmt.Sprint(h.Preference), h.Host, h.MatchedBy)
	}
	return v
}

var modes = map[Mode]string{
	Enforce: "enforce: no delivery without authenticated TLS", Testing: "testing: failures are only reported",
	None: "none: no policy is applied",
}

func (p *PolicyFile) age() string {
	if p.MaxAgeSeconds == nil {
		return ""
	}
	return view.Seconds(*p.MaxAgeSeconds)
}

// announce adds a step for the record after the step that serves the policy, unless there is a record. Contents of
// earlier steps are not repeated.
func (r *Report) announce(v *view.View) {
	texts, values := map[string]bool{}, map[string]bool{"": true}
	v.Steps = slices.DeleteFunc(v.Steps,
		func(s view.Step) bool { told := texts[s.Text]; texts[s.Text] = true; return told })
	for i := range v.Steps {
		if s := &v.Steps[i]; values[s.Value] {
			s.Name, s.Type, s.Value = "", "", ""
		} else {
			values[s.Value] = true
		}
	}
	_, err := ParseRecord(r.Record)
	first := slices.IndexFunc(v.Steps, func(s view.Step) bool { return s.Value != "" && s.Name == r.Policy.URL })
	if err == nil || first < 0 {
		return
	}
	step := view.Step{Code: v.Steps[first].Code, Severity: v.Steps[first].Severity,
		Text: "Publish the record that announces the policy, once the policy is served.",
		Name: "_mta-sts." + r.Domain.String() + ".", Type: "TXT", Value: newRecord(r.CheckedAt).String()}
	v.Steps = slices.Insert(v.Steps, first+1, step)
}
