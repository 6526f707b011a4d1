package view

import (
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/rule"
	"github.com/stretchr/testify/require"
)

// What loses mail now comes first, then what breaks by a date within 30 days, then other errors, then warnings; a
// step that depends on another follows it, and equal advice is one step with its places.
func TestOrderOfSteps(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	day := func(n int) time.Time { return now.AddDate(0, 0, n) }
	list := []Step{
		{Code: "a.warning", Severity: rule.Warning, Text: "Improve it."},
		{Code: "a.later", Severity: rule.Warning, Text: "Renew it next year.", Due: day(300)},
		{Code: "a.enforce", Severity: rule.Error, Text: "Enforce it.", After: "a.fix"},
		{Code: "a.fix", Severity: rule.Warning, Text: "Fix it.", Places: []string{"spf"}},
		{Code: "a.date", Severity: rule.Warning, Text: "Renew it.", Due: day(12)},
		{Code: "a.sooner", Severity: rule.Error, Text: "Renew the certificate.", Due: day(3)},
		{Code: "a.forged", Severity: rule.Critical, Text: "Close it."},
		{Code: "a.lost", Severity: rule.Error, Text: "Open it.", Loses: true},
		{Code: "a.again", Severity: rule.Error, Text: "Fix it.", Places: []string{"dkim"}},
		{Code: "a.alone", Severity: rule.Warning, Text: "Wait for what is not there.", After: "a.gone"},
		{Code: "a.value", Severity: rule.Warning, Text: "Publish it.", Name: "example.com.", Type: "TXT", Value: "x"},
		{Code: "a.same", Severity: rule.Warning, Text: "Publish this.", Name: "example.com.", Type: "TXT", Value: "x"},
	}
	steps := Order(list, now)
	var codes []string
	for _, s := range steps {
		codes = append(codes, string(s.Code))
	}
	require.Equal(t, []string{"a.lost", "a.sooner", "a.date", "a.forged", "a.fix", "a.enforce", "a.warning", "a.later", "a.alone", "a.value"}, codes)
	require.Equal(t, []string{"spf", "dkim"}, steps[4].Places)
	require.Equal(t, rule.Error, steps[4].Severity)
	circle := Order([]Step{{Code: "x.a", Text: "A", After: "x.b"}, {Code: "x.b", Text: "B", After: "x.a"}}, now)
	require.Len(t, circle, 2)
}
