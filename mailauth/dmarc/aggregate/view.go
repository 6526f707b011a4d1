package aggregate

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// View renders the report for display.
func (r *Analysis) View() *view.View {
	v := view.Of(cmp.Or(r.domains(), r.Policy.Domain, "DMARC report"), r.Verdict, r.Partial)
	v.PublishAt("v=DMARC1", "_dmarc."+r.Policy.Domain+".", "TXT")
	v.Fact("reported by", r.reporters(), "dmarc.report.errors")
	v.Fact("about", view.Period(r.span()), "dmarc.report.time")
	if len(r.Domains) == 0 {
		v.Fact("policy", policyText(r.Policy.Policy), "dmarc.report.policy")
	}
	t := &r.Totals
	if t.MessageCount == 0 {
		return v
	}
	v.Fact("messages", fmt.Sprintf("%d from %s", t.MessageCount, phrase.Count(t.SourceCount, "source")))
	passed := passText(t)
	v.Fact("passed", passed, "dmarc.report.sender", "dmarc.report.service", "dmarc.report.unlisted")
	for _, d := range r.Domains[:min(len(r.Domains), shownDomains)] {
		v.Fact(d.Domain, view.Join(string(d.State), policyText(d.Policy), passText(&d.Totals)+" pass", d.Enforcement.short()))
	}
	v.Fact("by", "DKIM "+share(t.DKIMAlignedCount, t.MessageCount)+" · SPF "+share(t.SPFAlignedCount, t.MessageCount),
		"dmarc.report.dkim", "dmarc.report.spf")
	part := func(n int64, what string) string { return view.TextIf(n != 0, fmt.Sprintf("%d %s", n, what)) }
	d, e := t.Dispositions, r.Enforcement
	v.Fact("handled", view.Join(part(d.Pass+d.None, "delivered"), part(d.Quarantine, "to spam"),
		part(d.Reject, "rejected")),
		"dmarc.report.legitimate", "dmarc.report.passed", "dmarc.report.forwarding")
	enforcement := e.short()
	v.Fact("enforcement", enforcement)
	v.Brief = view.Join(passed+" pass", enforcement)
	r.draw(v)
	return v
}

// domains names those that the reports are about, if there are several.
func (r *Analysis) domains() string {
	return phrase.Series(kit.Map(r.Domains, func(d DomainTotal) string { return d.Domain }), 3)
}

// span is the time that all reports are about.
func (r *Analysis) span() (begin, end time.Time) {
	begin, end = r.Metadata.BeginAt, r.Metadata.EndAt
	for _, s := range r.Reports {
		if !s.BeginAt.IsZero() && (begin.IsZero() || s.BeginAt.Before(begin)) {
			begin = s.BeginAt
		}
		if s.EndAt.After(end) {
			end = s.EndAt
		}
	}
	return begin, end
}

// shownDomains bounds the domains that the view shows.
const shownDomains = 4

func passText(t *Totals) string {
	return fmt.Sprintf("%d of %d (%s)", t.PassCount, t.MessageCount, share(t.PassCount, t.MessageCount))
}

func policyText(policy string) string { return view.TextIf(policy != "", "p="+policy) }

func (f *Enforcement) short() string {
	if f.BlockingSources == nil {
		return ""
	}
	unknown := "not known whether mail would be lost"
	if at := f.Readiness.NotBefore; !at.IsZero() {
		unknown = "not known before " + formatDate(at) + " whether mail would be lost"
	}
	return view.Known(f.Ready, "no legitimate mail would be lost", phrase.Count(f.MessageCountAtRisk, "message")+
		" might be lost", unknown)
}

// draw draws the sources: those of one service that are alike are one.
func (r *Analysis) draw(v *view.View) {
	type kind struct {
		label string
		class Class
	}
	sums, numbers, order := map[kind]*Source{}, map[kind]int{}, []kind{}
	for _, s := range r.Sources {
		k := kind{cmp.Or(s.Service, view.TextIf(s.SourceIP.IsValid(), s.SourceIP.String()), s.SourceText, "no address"),
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
		d.Bar(s.MessageCount, s.mark(), k.label+view.TextIf(n > 1, fmt.Sprintf(" (%d)", n)),
			fmt.Sprint(s.MessageCount), share(s.PassCount, s.MessageCount), string(s.Classification))
	}
}

func (r *Analysis) reporters() string {
	if len(r.Reports) < 2 {
		return r.Metadata.Organization
	}
	list := view.Unique(kit.Map(r.Reports, func(s ReportTotal) string { return s.Organization }))
	return fmt.Sprintf("%s, %s", phrase.Series(list, 3), phrase.Count(len(r.Reports), "report"))
}

// share is in whole percent, rounded down: only all are 100.
func share(part, whole int64) string { return fmt.Sprintf("%d%%", int(percent(part, whole))) }

func (s *Source) mark() view.Mark {
	switch {
	case s.Classification == Spoofing && s.Dispositions.None > 0:
		return view.Warning
	case s.Classification == Spoofing:
		return view.None
	case s.PassCount == s.MessageCount:
		return view.Good
	case s.Classification == UnknownSource:
		return view.Unknown
	case s.Classification == Forwarding:
		return view.Info
	}
	return view.Error
}
