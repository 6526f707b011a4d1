package aggregate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report.
func (r *Analysis) View() *view.View {
	v := view.Of(cmp.Or(r.Policy.Domain, "DMARC report"), r.Verdict, r.Partial)
	v.PublishAt("v=DMARC1", "_dmarc."+r.Policy.Domain+".", "TXT")
	v.Fact("reported by", r.reporters(), "dmarc.report.errors")
	v.Fact("about", view.Period(r.Metadata.BeginAt, r.Metadata.EndAt), "dmarc.report.time")
	v.Fact("policy", view.If(r.Policy.Policy != "", "p="+r.Policy.Policy), "dmarc.report.policy")
	t := &r.Totals
	if t.MessageCount == 0 {
		return v
	}
	v.Fact("messages", fmt.Sprintf("%d from %s", t.MessageCount, diag.Count(t.SourceCount, "source")))
	passed := fmt.Sprintf("%d of %d (%s)", t.PassCount, t.MessageCount, share(t.PassCount, t.MessageCount))
	v.Fact("passed", passed, "dmarc.report.sender", "dmarc.report.service", "dmarc.report.unlisted")
	v.Fact("by", "DKIM "+share(t.DKIMAlignedCount, t.MessageCount)+" · SPF "+share(t.SPFAlignedCount, t.MessageCount),
		"dmarc.report.dkim", "dmarc.report.spf")
	part := func(n int64, what string) string { return view.If(n != 0, fmt.Sprintf("%d %s", n, what)) }
	d, e := t.Dispositions, r.Enforcement
	v.Fact("handled", view.Join(part(d.Pass+d.None, "delivered"), part(d.Quarantine, "to spam"),
		part(d.Reject, "rejected")),
		"dmarc.report.legitimate", "dmarc.report.passed", "dmarc.report.forwarding")
	enforcement := view.If(e.BlockingSources != nil, view.Known(e.Ready, "no legitimate mail would be lost",
		diag.Count(e.MessageCountAtRisk, "message")+" might be lost", "not known whether mail would be lost"+view.If(!e.Readiness.NotBefore.IsZero(),
			", and not before "+date(e.Readiness.NotBefore))))
	v.Fact("enforcement", enforcement)
	v.Brief = view.Join(passed+" pass", enforcement)
	r.draw(v)
	return v
}

// draw draws the sources: those of one service that are alike are one.
func (r *Analysis) draw(v *view.View) {
	type kind struct {
		label string
		class Class
	}
	sums, numbers, order := map[kind]*Source{}, map[kind]int{}, []kind{}
	for _, s := range r.Sources {
		k := kind{cmp.Or(s.Service, view.If(s.SourceIP.IsValid(), s.SourceIP.String()), s.SourceText, "no address"),
			s.Classification}
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
	d := v.Rows(view.Bars, "Messages by source", "source", "messages", "pass", "kind")
	for _, k := range order {
		s, n := sums[k], numbers[k]
		d.Bar(s.MessageCount, s.mark(), k.label+view.If(n > 1, fmt.Sprintf(" (%d)", n)),
			fmt.Sprint(s.MessageCount), share(s.PassCount, s.MessageCount), string(s.Classification))
	}
}

func (r *Analysis) reporters() string {
	if len(r.Reports) < 2 {
		return r.Metadata.Organization
	}
	list := view.Unique(diag.Map(r.Reports, func(s ReportTotal) string { return s.Organization }))
	return fmt.Sprintf("%s, %s", diag.Series(list, 3), diag.Count(len(r.Reports), "report"))
}

// share is in whole percent, rounded down: only all are 100.
func share(part, whole int64) string { return fmt.Sprintf("%d%%", int(percent(part, whole))) }

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
