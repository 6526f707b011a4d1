package rule_test

import (
	"fmt"

	"github.com/diagkit/diagkit/diag/rule"
)

func ExampleRules() {
	type evidence struct{ maxAge int }
	rules := rule.Rules[evidence]{
		{
			Code: "demo.max_age.present", Severity: rule.Error, Weight: 60,
			Title: "No max_age", Requirement: "There is a max_age", Advice: "Add max_age.",
			Fails: func(e evidence) rule.Failures { return rule.FailIf(e.maxAge == 0, "there is none") },
		},
		{
			Code: "demo.max_age.long", Severity: rule.Warning, Weight: 40,
			Title: "Short max_age", Requirement: "The max_age is at least a day", Advice: "Raise max_age to 86400.",
			When:  func(e evidence) bool { return e.maxAge > 0 },
			Fails: func(e evidence) rule.Failures { return rule.FailIf(e.maxAge < 86400, "it is %d seconds", e.maxAge) },
		},
	}
	texts := rule.Texts{
		"valid":   {Headline: "The policy is fine", Sub: "Nothing needs to be done."},
		"invalid": {Headline: "The policy is broken", Sub: "Add max_age."},
	}
	v := rules.Judge(evidence{maxAge: 600}, texts)
	fmt.Println(v.Headline, *v.Score, v.Band, v.State)
	for _, f := range v.Findings {
		fmt.Println(f.Severity, f.Code, "-", f.Detail)
	}
	// Output:
	// Short max_age 60 warning warning
	// warning demo.max_age.long - it is 600 seconds
}
