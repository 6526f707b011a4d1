package dmarcbis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
)

// View is what a person sees of the report.
func (r *CheckReport) View() *view.View {
	v := view.Of(r.Domain.String(), r.Verdict)
	v.Partial = r.Partial
	v.PublishAt("v=DMARC1", "_dmarc."+cmp.Or(r.PolicyDomain, r.Domain.String())+".", "TXT")
	if r.Analysis.Record != "" {
		v.Record = r.Analysis.Record
		v.Fact("record", r.Analysis.Record)
		v.Fact("policy", string(r.Analysis.Effective.Policy), "dmarcbis.policy", "dmarcbis.record.unusable")
	}
	v.Fact("policy of", r.PolicyDomain, "dmarcbis.record")
	v.Fact("organization", r.OrganizationalDomain, "dmarcbis.psd", "dmarcbis.organizational")
	if r.MethodsAgree != nil && !*r.MethodsAgree {
		v.Fact("by RFC 7489", r.PSLOrganizationalDomain, "dmarcbis.legacy.organizational", "dmarcbis.legacy.policy")
	}
	v.Fact("queries", fmt.Sprintf("%d of %d", r.QueriesCount, r.QueryLimit))
	obsolete := diag.Map(r.ObsoleteTags, func(t ObsoleteTag) string { return t.Tag + "=" + t.Value })
	v.Fact("obsolete", diag.Series(obsolete, 4), "dmarcbis.obsolete")
	v.Fact("to add", diag.Series(r.MissingTags, 4))
	if r.Analysis.Record != "" {
		v.Fact("ready", readiness(r.Ready, r.BackwardCompatible))
	}
	if r.Ready {
		v.Brief = view.Join("ready", "policy of "+r.PolicyDomain)
	}
	d := view.Drawing{Kind: view.Chain, Title: "Tree walk", Columns: []string{"name", "answer"}}
	for _, s := range r.TreeWalk {
		mark, answer := s.outcome()
		d.Marked(mark, s.Detail, s.RecordName, answer)
	}
	v.Draw(d)
	return v
}

// readiness says for whom the record works.
func readiness(ready, compatible bool) string {
	switch {
	case ready && compatible:
		return "yes, for receivers of RFC 9989 and RFC 7489 alike"
	case ready:
		return "yes, while receivers of RFC 7489 act otherwise"
	}
	return "no"
}

// outcome is what the query found.
func (s *WalkStep) outcome() (view.Mark, string) {
	switch s.Outcome {
	case policy.Recorded:
		return view.Good, "record"
	case policy.Stopped:
		return view.Good, "record, the walk ends"
	case policy.Skipped:
		return view.Error, "none that counts"
	case policy.Failed:
		return view.Unknown, "not known"
	}
	return view.Optional, "no record"
}

// View is what a person sees of the report: the record to publish, and what becomes of each tag.
func (r *MigrateReport) View() *view.View {
	v := view.Answer(cmp.Or(r.Name, "DMARC record"), "The record is ready for RFC 9989 as it is")
	if r.Changed {
		v.Headline = "The record was rewritten for RFC 9989"
	}
	v.Sub, v.Brief, v.Record = r.BehaviorChange.text(), v.Headline, r.Original
	v.Judged(r.Findings)
	for _, s := range r.Recommendations {
		v.Steps = append(v.Steps, view.Step{Code: s.Code, Text: s.Detail, Value: s.SuggestedValue})
	}
	if r.Changed {
		v.Steps = append([]view.Step{{Text: "Publish the migrated record.", Value: r.Migrated}}, v.Steps...)
	}
	name := r.Name
	if name != "" {
		name += "."
	}
	v.PublishAt("v=DMARC1", name, r.Type)
	v.Fact("before", r.Original)
	if r.Changed {
		v.Fact("after", r.Migrated)
	}
	treated := map[string][]string{}
	for _, c := range r.Comparisons {
		if c.Change != same {
			text := c.Before.text() + " → " + c.After.text()
			treated[text] = append(treated[text], strings.ReplaceAll(string(c.Scope), "_", " "))
		}
	}
	for _, text := range slices.Sorted(maps.Keys(treated)) {
		v.Fact("applied", text+" ("+diag.Series(treated[text], 3)+")", "dmarcbis.migrate.stricter")
	}
	d := view.Drawing{Kind: view.Table, Title: "Changes", Columns: []string{"tag", "what becomes of it"}}
	for _, c := range r.Changes {
		if c.Action != Keep {
			d.Row(c.Tag, cmp.Or(c.Before, "absent")+" → "+cmp.Or(c.After, "removed")).Note = c.Reason
		}
	}
	v.Draw(d)
	return v
}

func (b Behavior) text() string {
	switch b {
	case same:
		return "Receivers treat the same mail the same way."
	case Stricter:
		return "Some mail is treated more strictly than before."
	}
	return "Some mail is treated less strictly than before, and none more."
}

func (t Treatment) text() string {
	if t.Policy == policy.None || t.Percentage == policy.DefaultPercentage {
		return string(t.Policy)
	}
	return fmt.Sprintf("%s for %d%%", t.Policy, t.Percentage)
}
