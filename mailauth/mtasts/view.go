package mtasts

import (
	"fmt"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report.
func (r *Report) View() *view.View {
	v := view.OfRecord(r.RecordLookup, r.Verdict)
	v.Partial = r.Partial
	v.PublishAt("v=STSv1", "_mta-sts."+r.Domain.String()+".", "TXT")
	v.PublishAt("v=TLSRPTv1", "_smtp._tls."+r.Domain.String()+".", "TXT")
	v.PublishAt("version:", r.Policy.URL, "")
	p := &r.Policy
	v.Fact("record", r.Record)
	v.Fact("mode", p.Mode.text(), "mtasts.policy.mode")
	v.Fact("kept for", p.age(), "mtasts.policy.max_age")
	v.Fact("allowed", diag.Series(p.MX, 4), "mtasts.policy.mx")
	if p.Mode != "" && p.Mode != None {
		v.Fact("servers", r.MXCoverage.text(), "mtasts.mx")
	}
	if r.Found && p.StatusCode != 0 {
		v.Fact("policy host", r.host(), "mtasts.policy.certificate", "mtasts.policy.tls", "mtasts.policy.status",
			"mtasts.policy.redirect", "mtasts.policy.media_type", "mtasts.policy.page", "mtasts.policy.protocol")
	}
	if r.Found {
		reports := map[bool]string{true: "asked for by a TLSRPT record", false: "no TLSRPT record"}
		v.Fact("reports", reports[r.TLSRPTFound], "mtasts.tls_rpt")
	}
	if r.Valid {
		v.Brief = view.Join(string(p.Mode), r.MXCoverage.text()+" listed", "kept for "+p.age())
	}
	if p.Mode == "" || p.Mode == None {
		return v
	}
	d := view.Drawing{Kind: view.Table, Title: "Mail servers", Columns: []string{"preference", "server", "listed as"}}
	for _, h := range r.MXHosts {
		mark, note := view.Good, ""
		if !h.Covered {
			mark, note = view.Error, "the policy does not list it"
		}
		d.Marked(mark, note, fmt.Sprint(h.Preference), h.Host, h.MatchedBy)
	}
	v.Draw(d)
	return v
}

// text says what senders do.
func (m Mode) text() string {
	switch m {
	case Enforce:
		return "enforce: no delivery without authenticated TLS"
	case Testing:
		return "testing: failures are only reported"
	case None:
		return "none: no policy is applied"
	}
	return ""
}

// age is how long senders keep the policy.
func (p *PolicyFile) age() string {
	if p.MaxAgeSeconds == nil {
		return ""
	}
	return diag.Span(time.Duration(*p.MaxAgeSeconds) * time.Second)
}

func (c Coverage) text() string {
	return fmt.Sprintf("%d of %s", c.CoveredCount, diag.Count(c.TotalCount, "mail server"))
}

// host is how the policy host answers.
func (r *Report) host() string {
	text := view.Join(fmt.Sprintf("HTTP %d", r.Policy.StatusCode), r.TLS.Version)
	if len(r.TLS.Chain) > 0 {
		text += " · certificate: " + r.TLS.Chain[0].Remaining()
	}
	return text
}
