package hostedspf

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
)

// View returns the report as shown to people.
func (r *ListReport) View() *view.View {
	v := view.Answer("hosted SPF", phrase.Count(r.Total, "profile"))
	d := v.Rows(view.Table, "Profiles", "domain", "id", "lookups", "resolved")
	for _, p := range r.Profiles {
		d.StatusRow(cmp.Or(view.MarkIf(p.Status == Failed, view.Error, p.LastError),
			view.MarkIf(p.Status == Paused, view.Optional, "paused"),
			view.MarkIf(p.FlattenedRecord == "", view.Optional, ""), view.Standing{Mark: view.Good}),
			p.Domain.String(), p.ID, p.lookups(), cmp.Or(moment(p.LastResolvedAt), "not yet"))
		if p.Status == Failed {
			failed(v, "The last resolution failed", p.Domain.String()+": "+p.LastError)
		}
	}
	v.Fact("shown", view.TextIf(r.HasMore, fmt.Sprintf("%d of %d", len(r.Profiles), r.Total)))
	return v
}

// View returns the profile as shown to people.
func (p *Profile) View() *view.View {
	v := view.Answer(p.Domain.String(), "The flattened record is published")
	switch {
	case p.FlattenedRecord == "" && p.Use.State == Used:
		p.about(v, danglingCode, danglingText)
	case p.Status == Failed:
		v.Headline, v.Sub = "The last resolution failed", cmp.Or(view.TextIf(p.FlattenedRecord == "", noneYet), lastGood)
		failed(v, "The last resolution failed", p.LastError)
	case p.Status == Paused:
		v.Headline = "The profile is paused: its records stay as they are"
	case p.FlattenedRecord == "":
		v.Headline, v.Optional = "Nothing is published yet", true
	case p.Use.State == Unused:
		p.about(v, unusedCode, unusedText)
	case p.Use.State == UseUnknown:
		v.Headline, v.State = "The flattened record is published; whether the domain uses it is not known", diag.Unknown
	case p.Use.State == Used:
		v.Headline = "The flattened record is published, and the domain uses it"
	}
	v.Brief = v.Headline
	p.show(v)
	return v
}

// about adds the rule of a code about the domain's own record to the view.
func (p *Profile) about(v *view.View, code diag.Code, detail string) {
	described := rules.Describe()
	rule := described[slices.IndexFunc(described, func(r rule.Description) bool { return r.Code == code })]
	v.Headline, v.Sub = texts[string(code)].Headline, texts[string(code)].Sub
	v.Judged([]diag.Finding{{Code: code, Severity: rule.Severity, Title: rule.Title, Advice: rule.Advice,
		Reference: rule.Reference,
		Detail:    fmt.Sprintf(detail, p.Domain, p.IncludeHost), Target: p.Domain.String()}})
	v.Advise()
	if v.Steps[0].Value = p.Use.Record; p.Use.Record != "" {
		v.PublishAt(version, p.Domain.FQDN(), "TXT")
	}
}

func failed(v *view.View, title, why string) {
	v.Judged([]diag.Finding{{Severity: diag.Error, Title: title, Detail: why,
		Advice: "Resolve the profile now: the reply says what is wrong, and what to do."}})
	v.Advise()
}

func (p *Profile) show(v *view.View) {
	v.Fact("profile", view.Join(p.ID, string(p.Status)))
	v.Fact("source", p.SourceRecord, "spf.hosted.source", "spf.hosted.all")
	v.Fact("include host", p.IncludeHost.String(), "spf.hosted.domain")
	v.Fact("networks", fmt.Sprintf("%d IPv4, %d IPv6", p.IP4Count, p.IP6Count), "spf.hosted.stays")
	v.Fact("lookups", p.lookups(), "spf.hosted.lookups")
	v.Fact("resolved", view.Join(moment(p.LastResolvedAt), "every "+view.Seconds(p.IntervalSeconds)))
	v.Fact("changed", moment(p.LastChangedAt))
	v.Fact("error", view.TextIf(p.Status != Failed, p.LastError)) // else a finding reports it
	d := v.Rows(view.Table, "Published records", "name", "bytes", "record")
	for _, r := range p.Records {
		d.Row(r.Name, fmt.Sprint(r.LengthBytes), phrase.Clip(r.Value, 200))
	}
}

// View returns the report as shown to people.
func (r *HistoryReport) View() *view.View {
	number := func(s ResolutionStatus) int {
		return view.CountIf(r.Items, func(one Resolution) bool { return one.Status == s })
	}
	v := view.Answer(r.ProfileID, fmt.Sprintf("%s: %d changed the records, %d failed",
		phrase.Count(len(r.Items), "resolution"), number(ResolutionChanged), number(ResolutionFailed)))
	d := v.Rows(view.Table, "Resolutions, newest first", "time", "outcome", "networks")
	for _, one := range r.Items {
		d.Marked(marks[one.Status], one.note(), moment(one.ResolvedAt), string(one.Status),
			fmt.Sprint(one.IP4Count+one.IP6Count))
	}
	if len(r.Items) > 0 && r.Items[0].Status == ResolutionFailed {
		failed(v, "The last resolution failed", r.Items[0].Error)
	}
	v.Sub = view.TextIf(r.HasMore, "There are older ones on the next page.")
	return v
}

// View returns the report as shown to people.
func (r *StatsReport) View() *view.View {
	w := &r.Windows
	v := view.Answer(r.ProfileID, fmt.Sprintf("%d of %s succeeded in 30 days",
		w.Last30d.Successes, phrase.Count(w.Last30d.Resolutions, "resolution")))
	if w.Last30d.Resolutions == 0 {
		v.Headline, v.Optional = "Not resolved in the last 30 days", true
	}
	recent, span := w.Last24h, "24 hours"
	if recent.Resolutions == 0 {
		recent, span = w.Last30d, "30 days"
	}
	if recent.Resolutions > 0 && recent.Successes == 0 {
		failed(v, "No resolution succeeded in the last "+span, "The domain keeps what was published before, if anything.")
	}
	d := v.Rows(view.Table, "Resolutions", "span", "number", "failed", "changes", "networks", "p95", "most lookups")
	for _, one := range []struct {
		span string
		*Window
	}{{"24 hours", &w.Last24h}, {"7 days", &w.Last7d}, {"30 days", &w.Last30d}} {
		d.StatusRow(cmp.Or(view.MarkIf(one.Failures > 0, view.Warning, ""),
			view.MarkIf(one.Resolutions != 0, view.Good, "")), one.span, fmt.Sprint(one.Resolutions),
			fmt.Sprint(one.Failures), fmt.Sprint(one.Changes),
			fmt.Sprintf("+%d −%d", one.IPsAdded, one.IPsRemoved),
			cmp.Or(view.Number(one.P95DurationMS, " ms"), "–"), cmp.Or(view.Number(one.MaxDNSLookups, ""), "–"))
	}
	return v
}

// View returns the report as shown to people.
func (r *ResolveReport) View() *view.View {
	v := view.Of(r.Profile.Domain.String(), r.Verdict, r.Partial)
	v.PublishAt("v=spf1", r.Profile.Domain.FQDN(), "TXT")
	v.Fact("outcome", view.Join(string(r.Resolution.Status), view.TextIf(r.Resolution.Error == "", r.Resolution.note())))
	r.Profile.show(v)
	return v
}

func (p *Profile) lookups() string {
	return view.TextIf(p.FlattenedRecord != "", fmt.Sprintf("%d → %d", p.LookupsBefore, p.LookupsAfter))
}

var marks = map[ResolutionStatus]view.Mark{
	ResolutionChanged: view.Info, ResolutionUnchanged: view.Good, ResolutionFailed: view.Error,
}

func (r *Resolution) note() string {
	return cmp.Or(r.Error, view.Join(view.TextIf(len(r.Added) > 0, "added "+phrase.Series(r.Added, 3)),
		view.TextIf(len(r.Removed) > 0, "removed "+phrase.Series(r.Removed, 3))))
}

func moment(t time.Time) string {
	return view.TextIf(!t.IsZero(), t.UTC().Format("2006-01-02 15:04"))
}
