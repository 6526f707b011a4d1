package dmarcbis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
)

// View renders the report for display.
func (r *CheckReport) View() *view.View {
	v := view.Of(r.Domain.String(), r.Verdict, r.Partial)
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
	obsolete := kit.Map(r.ObsoleteTags, func(t ObsoleteTag) string { return t.Tag + "=" + t.Value })
	v.Fact("obsolete", phrase.Series(obsolete, 4), "dmarcbis.obsolete")
	v.Fact("to add", phrase.Series(r.MissingTags, 4))
	ready := cmp.Or(view.TextIf(!r.Ready, "no"),
		view.TextIf(r.BackwardCompatible, "yes, for receivers of RFC 9989 and RFC 7489 alike"),
		"yes, while receivers of RFC 7489 act otherwise")
	v.Fact("ready", view.TextIf(r.Analysis.Record != "", ready))
	v.BriefIf(r.Ready, "ready", "policy of "+r.PolicyDomain)
	d := v.Rows(view.Chain, "Tree walk", "name", "answer")
	for _, s := range r.TreeWalk {
		found := cmp.Or(outcomes[s.Outcome], view.Standing{Mark: view.Optional, Note: "no record"})
		d.Marked(found.Mark, s.Detail, s.RecordName, found.Note)
	}
	return v
}

var outcomes = map[policy.Outcome]view.Standing{
	policy.Recorded: {Mark: view.Good, Note: "record"}, policy.Stopped: {Mark: view.Good, Note: "record, the walk ends"},
	policy.Skipped: {Mark: view.Error, Note: "none that counts"}, policy.Failed: {Mark: view.Unknown, Note: "not known"},
}

// View renders the report for display: the record to publish, and the change to each tag.
func (r *MigrateReport) View() *view.View {
	v := view.Answer(cmp.Or(r.Name, "DMARC record"), "The record is ready for RFC 9989 as it is")
	if r.Changed {
		v.Headline = "The record was rewritten for RFC 9989"
	}
	v.Sub, v.Brief, v.Record = cmp.Or(behaviors[r.BehaviorChange],
		"Some mail is treated less strictly than before, and none more."), v.Headline, r.Original
	v.Judged(r.Findings)
	for _, s := range r.Recommendations {
		v.Steps = append(v.Steps, view.Step{Code: s.Code, Text: s.Detail, Value: s.SuggestedValue})
	}
	if r.Changed {
		v.Steps = append([]view.Step{{Text: "Publish the migrated record.", Value: r.Migrated}}, v.Steps...)
	}
	v.PublishAt("v=DMARC1", r.Name+view.TextIf(r.Name != "", "."), r.Type)
	v.Fact("before", r.Original)
	v.Fact("after", view.TextIf(r.Changed, r.Migrated))
	treated := map[string][]string{}
	for _, c := range r.Comparisons {
		if c.Change != Same {
			text := c.Before.text() + " → " + c.After.text()
			treated[text] = append(treated[text], view.Words(c.Scope))
		}
	}
	for _, text := range slices.Sorted(maps.Keys(treated)) {
		v.Fact("applied", text+" ("+phrase.Series(treated[text], 3)+")", "dmarcbis.migrate.stricter")
	}
	d := v.Rows(view.Table, "Changes", "tag", "change")
	for _, c := range r.Changes {
		if c.Action != Keep {
			d.Row(c.Tag, cmp.Or(c.Before, "absent")+" → "+cmp.Or(c.After, "removed")).Note = c.Reason
		}
	}
	return v
}

var behaviors = map[Behavior]string{
	Same: "Receivers treat the same mail the same way.", Stricter: "Some mail is treated more strictly than before.",
}

func (t Treatment) text() string {
	return string(t.Policy) + view.TextIf(t.Policy != policy.None && t.Percentage != policy.DefaultPercentage,
		fmt.Sprintf(" for %d%%", t.Percentage))
}
