package aggregate

import (
	"cmp"
	"fmt"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report.
func (r *Analysis) View() *view.View {
	v := view.Of(cmp.Or(r.Policy.Domain, "DMARC report"), r.Verdict)
	v.Partial = r.Partial
	v.PublishAt("v=DMARC1", "_dmarc."+r.Policy.Domain+".", "TXT")
	v.Fact("reported by", r.reporters(), "dmarc.report.errors")
	if m := r.Metadata; m.BeginAt != nil && m.EndAt != nil {
		v.Fact("about", m.BeginAt.UTC().Format(time.DateOnly)+" to "+m.EndAt.UTC().Format(time.DateOnly), "dmarc.report.time")
	}
	if r.Policy.Policy != "" {
		v.Fact("policy", "p="+r.Policy.Policy, "dmarc.report.policy")
	}
	t := &r.Totals
	if t.MessageCount == 0 {
		return v
	}
	v.Fact("messages", fmt.Sprintf("%d from %s", t.MessageCount, diag.Count(t.SourceCount, "source")))
	v.Fact("passed", t.passed(), "dmarc.report.sender", "dmarc.report.service", "dmarc.report.unlisted")
	v.Fact("by", fmt.Sprintf("DKIM %s · SPF %s", share(t.DKIMAlignedCount, t.MessageCount), share(t.SPFAlignedCount, t.MessageCount)),
		"dmarc.report.dkim", "dmarc.report.spf")
	v.Fact("handled", t.Dispositions.text(), "dmarc.report.legitimate", "dmarc.report.passed", "dmarc.report.forwarding")
	v.Fact("enforcement", r.Enforcement.text())
	v.Brief = view.Join(t.passed()+" pass", r.Enforcement.text())
	d := view.Drawing{Kind: view.Bars, Title: "Messages by source", Columns: []string{"source", "messages", "pass", "what it is"}}
	for _, s := range r.Sources {
		mark, what := s.outcome()
		d.Bar(s.MessageCount, mark, s.label(), fmt.Sprint(s.MessageCount), share(s.PassCount, s.MessageCount), what)
	}
	v.Draw(d)
	return v
}

// reporters are who reports.
func (r *Analysis) reporters() string {
	if len(r.Reports) < 2 {
		return r.Metadata.Organization
	}
	var list []string
	seen := map[string]bool{}
	for _, one := range r.Reports {
		if !seen[one.Organization] {
			list = append(list, one.Organization)
		}
		seen[one.Organization] = true
	}
	return fmt.Sprintf("%s, %s", diag.Series(list, 3), diag.Count(len(r.Reports), "report"))
}

func (t *Totals) passed() string {
	return fmt.Sprintf("%d of %d (%s)", t.PassCount, t.MessageCount, share(t.PassCount, t.MessageCount))
}

// share is in whole percent, rounded down: only all are 100.
func share(part, whole int64) string { return fmt.Sprintf("%d%%", int(percent(part, whole))) }

// text says what became of the messages.
func (d Dispositions) text() string {
	part := func(n int64, what string) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprintf("%d %s", n, what)
	}
	return view.Join(part(d.Pass+d.None, "delivered"), part(d.Quarantine, "to spam"), part(d.Reject, "rejected"))
}

// text says whether p=reject would lose mail.
func (e *Enforcement) text() string {
	switch {
	case e == nil:
		return ""
	case e.Ready == nil:
		return "not known whether mail would be lost"
	case *e.Ready:
		return "no legitimate mail would be lost"
	}
	return diag.Count(e.MessageCountAtRisk, "message") + " might be lost"
}

// label is the address of the source, and whose it is.
func (s *Source) label() string {
	text := cmp.Or(s.SourceText, "no address")
	if s.SourceIP != nil {
		text = s.SourceIP.String()
	}
	return text
}

// outcome says what the source is, and how its mail fares.
func (s *Source) outcome() (view.Mark, string) {
	what := view.Join(string(s.Classification), cmp.Or(s.Service, s.PTR))
	switch {
	case s.Classification == spoofing && s.Dispositions.None > 0:
		return view.Warning, what
	case s.Classification == spoofing:
		return view.None, what
	case s.PassCount == s.MessageCount:
		return view.Good, what
	case s.Classification == unclear:
		return view.Unknown, what
	case s.Classification == forwarding:
		return view.Info, what
	}
	return view.Error, what
}
