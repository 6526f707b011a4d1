package zonecheck

import (
	"fmt"

	"github.com/diagkit/diagkit/diag"
)

// results lists what came of each rule that applied, in the order of the table.
func results(v diag.Verdict) ([]RuleResult, Summary) {
	failed := map[diag.Code][]diag.Finding{}
	for _, f := range v.Findings {
		failed[f.Code] = append(failed[f.Code], f)
	}
	passed := map[diag.Code]bool{}
	for _, c := range v.Passed {
		passed[c.Code] = true
	}
	list, count := []RuleResult{}, Summary{}
	for _, rule := range rules.Describe() {
		r := RuleResult{
			Code: rule.Code, Category: Category(rule.Category.Code), Status: Passed, Message: rule.Requirement,
		}
		findings := failed[rule.Code]
		switch {
		case len(findings) > 0:
			r.Status, r.Message, r.Action = statusOf(rule), messageOf(findings), rule.Advice
		case !passed[rule.Code]:
			continue
		}
		count.add(r.Status)
		list = append(list, r)
	}
	return list, count
}

func (s *Summary) add(status Status) {
	switch status {
	case Passed:
		s.PassCount++
	case Warned:
		s.WarningCount++
	case Failed:
		s.FailCount++
	case Informed:
		s.InfoCount++
	}
}

// statusOf is the status of a rule that is violated.
func statusOf(rule diag.RuleInfo) Status {
	switch {
	case rule.Severity == diag.Info:
		return Informed
	case rule.Severity == diag.Warning || rule.State == diag.Unknown:
		return Warned
	default:
		return Failed
	}
}

func messageOf(findings []diag.Finding) string {
	text := findings[0].Detail
	if len(findings) > 1 {
		text += fmt.Sprintf(" (and %d more)", len(findings)-1)
	}
	return text
}
