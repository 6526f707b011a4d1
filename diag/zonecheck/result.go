package zonecheck

import (
	"github.com/diagkit/diagkit/diag"
)

// results lists what came of each rule that applied, in the order of the table.
func results(v diag.Verdict) []RuleResult {
	failed := map[diag.Code]diag.Finding{}
	for _, f := range v.Findings {
		failed[f.Code] = f
	}
	passed := map[diag.Code]bool{}
	for _, c := range v.Passed {
		passed[c.Code] = true
	}
	list := []RuleResult{}
	for _, rule := range rules().Describe() {
		r := RuleResult{
			Code: rule.Code, Category: Category(rule.Category.Code), Status: Passed, Message: rule.Requirement,
		}
		finding, found := failed[rule.Code]
		switch {
		case found:
			r.Status, r.Message, r.Action = statusOf(rule), finding.Detail, finding.Advice
		case !passed[rule.Code]:
			continue
		}
		list = append(list, r)
	}
	return list
}

func summarize(list []RuleResult) (count Summary) {
	for _, r := range list {
		count.add(r.Status)
	}
	return count
}

func (s *Summary) add(status Status) {
	switch status {
	case Passed:
		s.PassCount++
	case warned:
		s.WarningCount++
	case failed:
		s.FailCount++
	case informed:
		s.InfoCount++
	}
}

// statusOf is the status of a rule that is violated.
func statusOf(rule diag.RuleInfo) Status {
	switch {
	case rule.Severity == diag.Info:
		return informed
	case rule.Severity == diag.Warning || rule.State == diag.Unknown:
		return warned
	default:
		return failed
	}
}
