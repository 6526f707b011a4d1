package hostedspf

import (
	"cmp"
	"fmt"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report.
func (r *ListReport) View() *view.View {
	v := view.Answer("hosted SPF", diag.Count(r.Total, "profile"))
	d := view.Drawing{Kind: view.Table, Title: "Profiles", Columns: []string{"domain", "id", "lookups", "resolved"}}
	for _, p := range r.Profiles {
		mark, note := p.outcome()
		d.Marked(mark, note, p.Domain.String(), p.ID, p.lookups(), cmp.Or(moment(p.LastResolvedAt), "not yet"))
		if p.Status == Failed {
			failed(v, p.Domain.String()+": "+p.LastError)
		}
	}
	if r.HasMore {
		v.Fact("shown", fmt.Sprintf("%d of %d", len(r.Profiles), r.Total))
	}
	v.Draw(d)
	return v
}

// View is what a person sees of the profile.
func (p *Profile) View() *view.View {
	v := view.Answer(p.Domain.String(), "The flattened record is published and up to date")
	switch {
	case p.Status == Failed:
		v.Headline, v.Sub = "The last resolution failed", lastGood
		failed(v, p.LastError)
	case p.Status == Paused:
		v.Headline = "The profile is paused: its records stay as they are"
	case p.FlattenedRecord == "":
		v.Headline, v.Optional = "Nothing is published yet", true
	}
	v.Brief = v.Headline
	p.show(v)
	return v
}

// failed adds that a resolution failed.
func failed(v *view.View, why string) {
	v.Judged([]diag.Finding{{Severity: diag.Error, Title: "The last resolution failed", Detail: why,
		Advice: "Resolve the profile now: the reply says what is wrong, and what to do."}})
	v.Advise()
}

// show adds the facts of the profile, and its records.
func (p *Profile) show(v *view.View) {
	v.Fact("profile", view.Join(p.ID, string(p.Status)))
	v.Fact("source", p.SourceRecord, "spf.hosted.source", "spf.hosted.all")
	v.Fact("include host", p.IncludeHost.String(), "spf.hosted.domain")
	v.Fact("networks", fmt.Sprintf("%d IPv4, %d IPv6", p.IP4Count, p.IP6Count), "spf.hosted.stays")
	v.Fact("lookups", p.lookups(), "spf.hosted.lookups")
	every := diag.Span(time.Duration(p.IntervalSeconds) * time.Second)
	v.Fact("resolved", view.Join(moment(p.LastResolvedAt), "every "+every))
	v.Fact("changed", moment(p.LastChangedAt))
	if p.Status != Failed { // which a finding tells
		v.Fact("error", p.LastError)
	}
	d := view.Drawing{Kind: view.Table, Title: "Published records", Columns: []string{"name", "bytes", "record"}}
	for _, r := range p.Records {
		d.Row(r.Name, fmt.Sprint(r.LengthBytes), diag.Clip(r.Value, 200))
	}
	v.Draw(d)
}

// View is what a person sees of the report.
func (r *HistoryReport) View() *view.View {
	changed, failures := 0, 0
	d := view.Drawing{Kind: view.Table, Title: "Resolutions, newest first"}
	d.Columns = []string{"time", "outcome", "networks"}
	for _, one := range r.Items {
		switch one.Status {
		case ResolutionChanged:
			changed++
		case ResolutionFailed:
			failures++
		}
		networks := fmt.Sprint(one.IP4Count + one.IP6Count)
		d.Marked(one.mark(), one.note(), moment(one.ResolvedAt), string(one.Status), networks)
	}
	v := view.Answer(r.ProfileID, fmt.Sprintf("%s: %d changed the records, %d failed",
		diag.Count(len(r.Items), "resolution"), changed, failures))
	if len(r.Items) > 0 && r.Items[0].Status == ResolutionFailed {
		failed(v, r.Items[0].Error)
	}
	if r.HasMore {
		v.Sub = "There are older ones on the next page."
	}
	v.Draw(d)
	return v
}

// View is what a person sees of the report.
func (r *StatsReport) View() *view.View {
	w := &r.Windows
	v := view.Answer(r.ProfileID, fmt.Sprintf("%d of %s succeeded in 30 days",
		w.Last30d.Successes, diag.Count(w.Last30d.Resolutions, "resolution")))
	if w.Last30d.Resolutions == 0 {
		v.Headline, v.Optional = "Not resolved in the last 30 days", true
	}
	d := view.Drawing{Kind: view.Table, Title: "Resolutions",
		Columns: []string{"span", "number", "failed", "changes", "networks", "p95", "most lookups"}}
	for _, one := range []struct {
		span string
		*Window
	}{{"24 hours", &w.Last24h}, {"7 days", &w.Last7d}, {"30 days", &w.Last30d}} {
		mark := view.Good
		if one.Failures > 0 {
			mark = view.Warning
		}
		if one.Resolutions == 0 {
			mark = view.None
		}
		d.Marked(mark, "", one.span, fmt.Sprint(one.Resolutions), fmt.Sprint(one.Failures), fmt.Sprint(one.Changes),
			fmt.Sprintf("+%d −%d", one.IPsAdded, one.IPsRemoved), number(one.P95DurationMS, " ms"),
			number(one.MaxDNSLookups, ""))
	}
	v.Draw(d)
	return v
}

// View is what a person sees of the report.
func (r *ResolveReport) View() *view.View {
	v := view.Of(r.Profile.Domain.String(), r.Verdict)
	v.Partial = r.Partial
	v.PublishAt("v=spf1", r.Profile.Domain.FQDN(), "TXT")
	outcome := string(r.Resolution.Status)
	if r.Resolution.Error == "" {
		outcome = view.Join(outcome, r.Resolution.note())
	}
	v.Fact("outcome", outcome)
	r.Profile.show(v)
	return v
}

// outcome is how the profile is, for a line.
func (p *Profile) outcome() (view.Mark, string) {
	switch {
	case p.Status == Failed:
		return view.Error, p.LastError
	case p.Status == Paused:
		return view.Optional, "paused"
	case p.FlattenedRecord == "":
		return view.Optional, ""
	}
	return view.Good, ""
}

// lookups are those of the source record, and of the flattened one once there is one.
func (p *Profile) lookups() string {
	if p.FlattenedRecord == "" {
		return ""
	}
	return fmt.Sprintf("%d → %d", p.LookupsBefore, p.LookupsAfter)
}

func (r *Resolution) mark() view.Mark {
	return map[ResolutionStatus]view.Mark{
		ResolutionChanged: view.Info, ResolutionUnchanged: view.Good, ResolutionFailed: view.Error,
	}[r.Status]
}

// note says which networks came and went, or why it failed.
func (r *Resolution) note() string {
	if r.Error != "" {
		return r.Error
	}
	added, removed := "", ""
	if len(r.Added) > 0 {
		added = "added " + diag.Series(r.Added, 3)
	}
	if len(r.Removed) > 0 {
		removed = "removed " + diag.Series(r.Removed, 3)
	}
	return view.Join(added, removed)
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// number is one that there may not be.
func number[N int | int64](n *N, unit string) string {
	if n == nil {
		return "–"
	}
	return fmt.Sprint(*n) + unit
}
