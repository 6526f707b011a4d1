package aggregate

import (
	"cmp"
	"fmt"
	"slices"
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
	if m := r.Metadata; !m.BeginAt.IsZero() && !m.EndAt.IsZero() {
		v.Fact("about", span(m.BeginAt, m.EndAt), "dmarc.report.time")
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
	v.Fact("by", "DKIM "+share(t.DKIMAlignedCount, t.MessageCount)+" · SPF "+share(t.SPFAlignedCount, t.MessageCount),
		"dmarc.report.dkim", "dmarc.report.spf")
	v.Fact("handled", t.Dispositions.text(), "dmarc.report.legitimate", "dmarc.report.passed", "dmarc.report.forwarding")
	v.Fact("enforcement", r.Enforcement.text())
	v.Brief = view.Join(t.passed()+" pass", r.Enforcement.text())
	v.Draw(r.bars())
	return v
}

// span is the days that a report is about.
func span(begin, end time.Time) string {
	first, last := begin.UTC().Format(time.DateOnly), end.UTC().Format(time.DateOnly)
	if first == last {
		return first
	}
	return first + " to " + last
}

// bars draws the sources: those of one service that are alike are one.
func (r *Analysis) bars() view.Drawing {
	type kind struct {
		label string
		class Class
	}
	sums, numbers, order := map[kind]*Source{}, map[kind]int{}, []kind{}
	for _, s := range r.Sources {
		k := kind{cmp.Or(s.Service, s.address()), s.Classification}
		if numbers[k]++; numbers[k] == 1 {
			sums[k] = &Source{Classification: s.Classification}
			order = append(order, k)
		}
		sums[k].MessageCount += s.MessageCount
		sums[k].PassCount += s.PassCount
		sums[k].Dispositions.None += s.Dispositions.None
	}
	slices.SortStableFunc(order, func(a, b kind) int {
		return cmp.Compare(sums[b].MessageCount, sums[a].MessageCount)
	})
	d := view.Drawing{Kind: view.Bars, Title: "Messages by source"}
	d.Columns = []string{"source", "messages", "pass", "kind"}
	for _, k := range order {
		s, label := sums[k], k.label
		if n := numbers[k]; n > 1 {
			label += fmt.Sprintf(" (%d)", n)
		}
		d.Bar(s.MessageCount, s.mark(), label,
			fmt.Sprint(s.MessageCount), share(s.PassCount, s.MessageCount), string(s.Classification))
	}
	return d
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
	case e.BlockingSources == nil:
		return ""
	case e.Ready == nil:
		return "not known whether mail would be lost"
	case *e.Ready:
		return "no legitimate mail would be lost"
	}
	return diag.Count(e.MessageCountAtRisk, "message") + " might be lost"
}

// address is that of the source.
func (s *Source) address() string {
	if s.SourceIP.IsValid() {
		return s.SourceIP.String()
	}
	return cmp.Or(s.SourceText, "no address")
}

// mark says how the mail of the source fares.
func (s *Source) mark() view.Mark {
	switch {
	case s.Classification == spoofing && s.Dispositions.None > 0:
		return view.Warning
	case s.Classification == spoofing:
		return view.None
	case s.PassCount == s.MessageCount:
		return view.Good
	case s.Classification == unclear:
		return view.Unknown
	case s.Classification == forwarding:
		return view.Info
	}
	return view.Error
}
