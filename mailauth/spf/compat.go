package spf

import "github.com/diagkit/diagkit/mailauth/spf/eval"

// The names under which the evaluator stood here.
type (
	CheckRequest = eval.Request
	Result       = eval.Result
	Outcome      = eval.Outcome
)

// The outcomes.
const (
	None      = eval.None
	Neutral   = eval.Neutral
	Pass      = eval.Pass
	Fail      = eval.Fail
	Softfail  = eval.Softfail
	Temperror = eval.Temperror
	Permerror = eval.Permerror
)

// Check is [eval.Check].
var Check = eval.Check
