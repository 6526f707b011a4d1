package rule

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files")

// failing is evidence for the rules of these tests: the codes of those that fail.
type failing map[Code]bool

// rule makes a rule that fails if its code is among the evidence.
func rule(code Code, s Severity, weight int) Rule[failing] {
	return Rule[failing]{
		Code: code, Severity: s, Weight: weight, Title: "Fault of " + string(code), Requirement: "Title of " + string(code),
		Fails: func(f failing) Failures { return FailIf(f[code], "%s was seen", code) },
	}
}

func judge(rules Rules[failing], codes ...Code) Verdict {
	evidence := failing{}
	for _, c := range codes {
		evidence[c] = true
	}
	return rules.Judge(evidence, nil)
}

func TestScoreAndCaps(t *testing.T) {
	rules := Rules[failing]{
		rule("t.critical", Critical, 10), rule("t.error", Error, 10), rule("t.warning", Warning, 30),
		rule("t.info", Info, 50), rule("t.free", Critical, 0), rule("t.free_error", Error, 0),
		rule("t.free_warning", Warning, 0), rule("t.free_info", Info, 0),
	}
	tests := []struct {
		name    string
		fails   []Code
		score   int
		penalty int
		band    Band
		state   State
	}{
		{"all is well", nil, 100, 0, Excellent, Valid},
		{"info costs its weight", []Code{"t.info"}, 50, 0, Fair, Valid},
		{"info without weight", []Code{"t.free_info"}, 100, 0, Excellent, Valid},
		{"warning costs its weight", []Code{"t.warning"}, 70, 0, Good, Warned},
		{"warning is capped", []Code{"t.free_warning"}, 89, 11, Good, Warned},
		{"error is capped", []Code{"t.error"}, 69, 21, Fair, Bad},
		{"critical is capped", []Code{"t.critical"}, 39, 51, Poor, Bad},
		{"the lower cap counts", []Code{"t.critical", "t.error"}, 39, 41, Poor, Bad},
		{"a low score is not raised", []Code{"t.error", "t.info", "t.warning"}, 10, 0, Poor, Bad},
		{"error below its cap", []Code{"t.error", "t.info"}, 40, 0, Fair, Bad},
		{"critical without weight", []Code{"t.free"}, 39, 61, Poor, Bad},
		{"error without weight", []Code{"t.free_error"}, 69, 31, Fair, Bad},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := judge(rules, tt.fails...)
			require.NotNil(t, v.Score)
			assert.Equal(t, tt.score, *v.Score)
			assert.Equal(t, tt.penalty, v.Breakdown.Penalty)
			assert.Equal(t, tt.band, v.Band)
			assert.Equal(t, tt.state, v.State)
			assert.Len(t, v.Findings, len(tt.fails))
			assert.Len(t, v.Passed, len(rules)-len(tt.fails))
		})
	}
}

func TestBandOf(t *testing.T) {
	for score, want := range map[int]Band{
		100: Excellent, 90: Excellent, 89: Good, 70: Good, 69: Fair, 40: Fair, 39: Poor, 0: Poor,
	} {
		assert.Equal(t, want, BandOf(score), score)
	}
}

// Where something that matters is unknown there is no number at all, unless a known fault decides.
func TestIgnoranceIsNotScored(t *testing.T) {
	detail, unknown := rule("t.detail", Info, 0), rule("t.unknown", Warning, 0)
	detail.StateIfFailed, unknown.StateIfFailed = Unknown, Unknown
	weighted := rule("t.weighted", Critical, 50) // a table's mistake that must do no harm
	weighted.StateIfFailed = Unknown
	rules := Rules[failing]{detail, unknown, weighted, rule("t.warning", Warning, 10), rule("t.error", Error, 10)}
	tests := []struct {
		name  string
		fails []Code
		state State
		score string
	}{
		{"all is known", nil, Valid, "100"},
		{"a detail is unknown", []Code{"t.detail"}, Valid, "100"},
		{"unknown", []Code{"t.unknown"}, Unknown, "none"},
		{"unknown beside a warning", []Code{"t.unknown", "t.warning"}, Unknown, "none"},
		{"unknown beside an error", []Code{"t.unknown", "t.error"}, Bad, "50"},
		{"unknown of any severity", []Code{"t.weighted"}, Unknown, "none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := judge(rules, tt.fails...)
			require.Equal(t, tt.state, v.State)
			require.Equal(t, tt.score, scoreText(v))
			require.Equal(t, v.Score == nil, v.Band == Undetermined)
			for _, c := range v.Passed {
				require.NotContains(t, []Code{"t.detail", "t.unknown", "t.weighted"}, c.Code, "ignorance is never a passed check")
			}
			require.Len(t, v.Fulfilled(), len(rules)-len(tt.fails))
			if v.Score == nil {
				require.Empty(t, v.Factors)
				require.Zero(t, v.Breakdown.Max)
			}
		})
	}
}

func scoreText(v Verdict) string {
	if v.Score == nil {
		return "none"
	}
	return fmt.Sprint(*v.Score)
}

// The absence of a record that is needed scores 0; of one that is not needed, nothing.
func TestAbsence(t *testing.T) {
	for severity, want := range map[Severity]string{Info: "none", Warning: "0", Error: "0", Critical: "0"} {
		missing := rule("t.missing", severity, 10)
		missing.StateIfFailed = Missing
		v := judge(Rules[failing]{missing, rule("t.other", Warning, 90)}, "t.missing")
		require.Equal(t, Missing, v.State)
		require.Equal(t, want, scoreText(v), severity)
	}
	gone := rule("t.gone", Error, 0)
	gone.NoScore = true
	v := judge(Rules[failing]{gone, rule("t.other", Warning, 90)}, "t.gone")
	require.Equal(t, Bad, v.State)
	require.Nil(t, v.Score, "a name that does not exist has no score")
}

func TestNotApplicable(t *testing.T) {
	never := func(failing) bool { return false }
	weighted, free := rule("t.weighted", Critical, 50), rule("t.free", Critical, 0)
	weighted.When, free.When = never, never
	weighted.Category = Category{"policy", "Policy"}
	rules := Rules[failing]{weighted, free, rule("t.other", Warning, 10)}

	v := judge(rules, "t.weighted", "t.free")
	require.Equal(t, 100, *v.Score)
	require.Equal(t, Valid, v.State)
	require.Empty(t, v.Findings)
	require.Equal(t, []Check{{"t.other", "Title of t.other"}}, v.Passed, "it neither failed nor passed")
	require.Equal(t, []Factor{
		{"policy", "Policy", 0, 0, FactorNotApplicable, ""},
		{"general", "General", 10, 10, FactorPass, ""},
	}, v.Factors)

	v = judge(rules[:2], "t.weighted")
	require.Equal(t, Undetermined, v.Band)
	require.Nil(t, v.Score)
	require.Equal(t, Valid, v.State)
}

// A rule does not run unless those that it depends on ran and were fulfilled.
func TestDependsOn(t *testing.T) {
	record, syntax, policy := rule("t.record", Error, 10), rule("t.syntax", Error, 10), rule("t.policy", Error, 10)
	syntax.DependsOn, policy.DependsOn = []Code{"t.record"}, []Code{"t.syntax"}
	silent := rule("t.silent", Error, 0)
	silent.When = func(failing) bool { return false }
	behind := rule("t.behind", Error, 10)
	behind.DependsOn = []Code{"t.silent"}
	rules := Rules[failing]{record, syntax, policy, silent, behind}
	tests := []struct {
		fails, findings, fulfilled []Code
	}{
		{nil, nil, []Code{"t.record", "t.syntax", "t.policy"}},
		{[]Code{"t.policy"}, []Code{"t.policy"}, []Code{"t.record", "t.syntax"}},
		{[]Code{"t.syntax", "t.policy"}, []Code{"t.syntax"}, []Code{"t.record"}},
		{[]Code{"t.record", "t.syntax", "t.policy", "t.behind"}, []Code{"t.record"}, nil},
	}
	for _, tt := range tests {
		v := judge(rules, tt.fails...)
		var findings []Code
		for _, f := range v.Findings {
			findings = append(findings, f.Code)
		}
		require.Equal(t, tt.findings, findings)
		require.Equal(t, tt.fulfilled, v.Fulfilled())
	}
}

func TestPartialCredit(t *testing.T) {
	tests := []struct {
		share  float64
		points int
		status FactorStatus
	}{
		{0, 0, FactorFail},
		{0.04, 0, FactorFail},
		{0.5, 5, FactorPartial},
		{0.55, 6, FactorPartial},
		{1, 10, FactorPartial},
		{7, 10, FactorPartial},
		{-1, 0, FactorFail},
		{math.NaN(), 0, FactorFail},
		{math.Inf(1), 10, FactorPartial},
	}
	for _, tt := range tests {
		r := rule("t.part", Warning, 10)
		r.Partly = func(failing) float64 { return tt.share }
		v := judge(Rules[failing]{r}, "t.part")
		require.Equal(t, []Factor{
			{"general", "General", tt.points, 10, tt.status, "t.part was seen"},
		}, v.Factors, "share %v", tt.share)
		require.Equal(t, min(tt.points*10, 89), *v.Score)

		v = judge(Rules[failing]{r})
		require.Equal(t, 100, *v.Score, "a rule that passed earns all its points")
	}
}

// The factors of a score are the named groups of rules, in the order of the table; each names its
// worst finding.
func TestFactors(t *testing.T) {
	policy, reporting := Category{"policy", "Policy"}, Category{"reporting", "Reporting"}
	in := func(c Category, r Rule[failing]) Rule[failing] {
		r.Category = c
		return r
	}
	rules := Rules[failing]{
		in(policy, rule("t.policy", Warning, 30)), in(reporting, rule("t.a", Warning, 20)),
		in(policy, rule("t.policy.note", Info, 0)), in(policy, rule("t.policy.bad", Error, 10)),
		in(reporting, rule("t.b", Warning, 5)), in(Category{"free", "Free"}, rule("t.c", Warning, 0)),
	}
	v := judge(rules, "t.policy.note", "t.policy.bad", "t.b")
	require.Equal(t, []Factor{
		{"policy", "Policy", 30, 40, FactorPartial, "t.policy.bad was seen"},
		{"reporting", "Reporting", 20, 25, FactorPartial, "t.b was seen"},
	}, v.Factors)
	require.Equal(t, Breakdown{
		Earned: 50, Max: 65, Penalty: 7,
		Categories: map[string]CategoryScore{"policy": {30, 40}, "reporting": {20, 25}},
	}, v.Breakdown)
	require.Equal(t, 69, *v.Score, "76.9 rounded down, capped by the error")
}

func TestStateRanking(t *testing.T) {
	missing, unknown := rule("t.missing", Critical, 0), rule("t.unknown", Error, 0)
	missing.StateIfFailed, unknown.StateIfFailed = Missing, Unknown
	rules := Rules[failing]{
		rule("t.info", Info, 0), rule("t.warning", Warning, 0), unknown, rule("t.error", Error, 0), missing,
	}
	want := []State{Valid, Warned, Unknown, Bad, Missing}
	codes := []Code{}
	for i, r := range rules {
		codes = append(codes, r.Code)
		require.Equal(t, want[i], judge(rules, codes...).State, "the gravest of %v", codes)
	}
}

func TestRecommendationOrder(t *testing.T) {
	rules := Rules[failing]{
		rule("t.info", Info, 0), rule("t.error", Error, 0), rule("t.silent", Critical, 0), rule("t.warning", Warning, 0),
		rule("t.error2", Error, 0), rule("t.critical", Critical, 0), rule("t.info2", Info, 0),
	}
	codes := []Code{}
	for i := range rules {
		rules[i].Advice = "Do something."
		codes = append(codes, rules[i].Code)
	}
	rules[2].Advice = "" // nothing to do about it

	v := judge(rules, codes...)
	got := []string{}
	for _, r := range v.Recommendations {
		got = append(got, string(r.Priority)+" "+string(r.Code))
	}
	require.Equal(t, []string{
		"high t.critical", "high t.error", "high t.error2", "medium t.warning", "low t.info", "low t.info2",
	}, got)
	order := []Code{}
	for _, f := range v.Findings {
		order = append(order, f.Code)
	}
	require.Equal(t, []Code{
		"t.silent", "t.critical", "t.error", "t.error2", "t.warning", "t.info", "t.info2",
	}, order)
	require.Empty(t, judge(rules).Recommendations, "nothing to do if all is well")
}

// Of findings of one severity those come first that break something by themselves, the earliest first.
func TestOrderByWhenItBreaks(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	due := func(code Code, s Severity, at time.Time) Rule[failing] {
		r := rule(code, s, 0)
		r.Advice = "Do something."
		r.Fails = func(failing) Failures { return Failures{{Detail: "later"}, {Detail: "first", Due: at}} }
		return r
	}
	v := judge(Rules[failing]{
		due("t.never", Warning, time.Time{}), due("t.later", Warning, noon.Add(time.Hour)), due("t.soon", Warning, noon),
		due("t.error", Error, time.Time{}),
	})
	var findings, advice []Code
	for i, f := range v.Findings {
		if i%2 == 0 {
			findings = append(findings, f.Code)
		}
	}
	for _, r := range v.Recommendations {
		advice = append(advice, r.Code)
	}
	require.Equal(t, []Code{"t.error", "t.soon", "t.later", "t.never"}, findings)
	require.Equal(t, findings, advice)
}

func TestFindingsOfOneRuleAreBounded(t *testing.T) {
	r := rule("t.many", Error, 0)
	r.Fails = func(failing) Failures { return make(Failures, 1000) }
	require.Len(t, judge(Rules[failing]{r}).Findings, maxFailures)
}

func TestSuggestedValue(t *testing.T) {
	r := rule("t.value", Warning, 0)
	r.Advice = "Publish it."
	r.Fails = func(failing) Failures {
		return Failures{{Detail: "first"}, {Detail: "second", Suggested: "v=1"}, {Detail: "third", Suggested: "v=2"}}
	}
	v := judge(Rules[failing]{r})
	require.Len(t, v.Findings, 3)
	require.Equal(t, []Recommendation{
		{"t.value", Medium, "Fault of t.value", "Publish it.", "v=1"},
	}, v.Recommendations, "one for each rule, with the first value")
}

// Advice for one place takes precedence over the rule's advice for all, and is recommended once.
func TestAdviceOfAFailure(t *testing.T) {
	r := rule("t.services", Warning, 0)
	r.Advice = "Set up signing."
	r.Fails = func(failing) Failures {
		return Failures{{Detail: "a", Advice: "Sign with A."}, {Detail: "b"}, {Detail: "c", Advice: "Sign with A."}}
	}
	v := judge(Rules[failing]{r})
	require.Equal(t, "Sign with A.", v.Findings[0].Advice)
	require.Equal(t, "Set up signing.", v.Findings[1].Advice)
	require.Equal(t, []Recommendation{
		{"t.services", Medium, "Fault of t.services", "Sign with A.", ""},
		{"t.services", Medium, "Fault of t.services", "Set up signing.", ""},
	}, v.Recommendations)
}

// Advice that asks for no action is reported, and not recommended; advice of a failure says for itself whether it asks.
func TestAdviceWithoutAction(t *testing.T) {
	r := rule("t.services", Info, 0)
	r.Advice, r.NoAction = "Leave it: it is fine.", true
	r.Fails = func(failing) Failures {
		return Failures{{Detail: "a"}, {Detail: "b", Advice: "Publish it."}, {Detail: "c", Advice: "Leave it if so.", Optional: true}}
	}
	v := judge(Rules[failing]{r})
	require.Equal(t, "Leave it: it is fine.", v.Findings[0].Advice)
	require.Equal(t, []Recommendation{
		{"t.services", Low, "Fault of t.services", "Publish it.", ""},
		{"t.services", Low, "Fault of t.services", "Leave it if so.", ""},
	}, v.Recommendations)
	require.Equal(t, []bool{true, false, true},
		[]bool{v.Findings[0].Optional, v.Findings[1].Optional, v.Findings[2].Optional})
}

// A failure may be a warning although its rule is graver. Each severity is that of its own findings.
func TestWarns(t *testing.T) {
	for _, tt := range []struct {
		name     string
		rule     Severity
		failures Failures
		found    []Severity
		state    State
	}{
		{"an error", Error, Failures{{Detail: "x"}}, []Severity{Error}, Bad},
		{"a warning", Error, Failures{{Detail: "x", Warns: true}}, []Severity{Warning}, Warned},
		{"both", Critical, Failures{{Detail: "x", Warns: true}, {Detail: "y"}}, []Severity{Critical, Warning}, Bad},
		{"both together", Critical, Failures{{Detail: "x", Warns: true}, {Detail: "y"}}.Joined(), []Severity{Critical}, Bad},
		{"warnings together", Error, Failures{{Warns: true}, {Warns: true}}.Joined(), []Severity{Warning}, Warned},
		{"never graver than the rule", Info, Failures{{Detail: "x", Warns: true}}, []Severity{Info}, Valid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := rule("t.rule", tt.rule, 10)
			r.Fails = func(failing) Failures { return tt.failures }
			v := Rules[failing]{r}.Judge(failing{}, nil)
			assert.Equal(t, tt.found, kit.Map(v.Findings, func(f Finding) Severity { return f.Severity }))
			assert.Equal(t, tt.state, v.State)
			assert.Equal(t, 10, v.Breakdown.Max, "the weight counts once")
		})
	}
	r := rule("t.rule", Error, 0)
	r.Fails = func(failing) Failures { return Failures{{Detail: "x", Warns: true}} }
	v := Rules[failing]{r, rule("t.other", Info, 10)}.Judge(failing{}, nil)
	assert.Equal(t, 89, *v.Score, "the cap is that of a warning")
}

func TestFailures(t *testing.T) {
	require.Equal(t, Failures{{Detail: "2 of 3"}}, Fail("%d of %d", 2, 3))
	require.Nil(t, FailIf(false, "never"))
	odd := func(n int) Failures { return FailIf(n%2 == 1, "%d is odd", n).About(fmt.Sprint(n)).Suggesting("2") }
	require.Nil(t, FailEach([]int{2, 4}, odd))
	require.Equal(t, Failures{
		{Detail: "1 is odd", Target: "1", Suggested: "2"}, {Detail: "3 is odd", Target: "3", Suggested: "2"},
	}, FailEach([]int{1, 2, 3}, odd))
}

func TestRulesCheck(t *testing.T) {
	good := rule("t.good", Warning, 0)
	require.NoError(t, Rules[failing]{good, rule("t.a_b.c1", Info, 0)}.Check())
	few := Rules[failing]{good, rule("t.a", Info, 1)}
	require.ErrorContains(t, few.Check(), "the score has 1 factors, not 3 to 10")
	for _, name := range []string{"one", "two"} {
		r := rule(Code("t."+name), Info, 1)
		r.Category = Category{name, name}
		few = append(few, r)
	}
	require.NoError(t, few.Check())
	tests := map[string]func(*Rule[failing]){
		"words in lower case":  func(r *Rule[failing]) { r.Code = "T.good" },
		"joined by dots":       func(r *Rule[failing]) { r.Code = "good" },
		"appears twice":        func(r *Rule[failing]) { r.Code = "t.good" },
		"the requirement":      func(r *Rule[failing]) { r.Requirement = "A sentence." },
		"the title is missing": func(r *Rule[failing]) { r.Title = strings.Repeat("x", maxTitle+1) },
		"earlier in the table": func(r *Rule[failing]) { r.DependsOn = []Code{"t.bad"} },
		"no test":              func(r *Rule[failing]) { r.Fails = nil },
		"below 0":              func(r *Rule[failing]) { r.Weight = -1 },
		"severity":             func(r *Rule[failing]) { r.Severity = 4 },
		"the state":            func(r *Rule[failing]) { r.StateIfFailed = "odd" },
		"cannot have a weight": func(r *Rule[failing]) {
			r.StateIfFailed, r.Weight = Unknown, 1
		},
	}
	for want, spoil := range tests {
		bad := rule("t.bad", Warning, 0)
		spoil(&bad)
		require.ErrorContains(t, Rules[failing]{good, bad}.Check(), want)
	}
}

func TestWith(t *testing.T) {
	own, free := rule("t.own", Error, 1), rule("t.free", Info, 0)
	own.Category, own.DependsOn = Category{Code: "own"}, []Code{"t.first"}
	common := Rule[failing]{Category: Category{Code: "common"}, DependsOn: []Code{"t.second"}, Reads: []Source{"record"},
		HoldsWhenUnanswered: true, When: func(failing) bool { return false }}
	rules := Rules[failing]{own, rule("t.plain", Error, 1), free}
	got := rules.With(common)
	for i, want := range []Rule[failing]{
		{Category: own.Category, DependsOn: own.DependsOn}, {Category: common.Category, DependsOn: common.DependsOn},
		{DependsOn: common.DependsOn}, // what only informs has no factor
	} {
		assert.Equal(t, want.Category, got[i].Category)
		assert.Equal(t, want.DependsOn, got[i].DependsOn)
		assert.Equal(t, common.Reads, got[i].Reads)
		assert.True(t, got[i].HoldsWhenUnanswered && got[i].When != nil)
	}
	assert.Nil(t, rules[1].When, "the table itself stays as it is")
}

func TestDescribe(t *testing.T) {
	r := rule("t.code", Error, 7)
	r.Ref, r.Advice, r.Category = "RFC 8461 section 3.1", "Fix it.", Category{"policy", "Policy"}
	missing := rule("t.missing", Critical, 0)
	missing.StateIfFailed, missing.NoAction = Missing, true
	require.Equal(t, []Description{
		{"t.code", Error, 7, Category{"policy", "Policy"}, "Fault of t.code", "Title of t.code",
			"RFC 8461 section 3.1", "Fix it.", Bad, "", "", false, false},
		{"t.missing", Critical, 0, general, "Fault of t.missing", "Title of t.missing", "", "", Missing, "", "",
			true, true},
	}, Rules[failing]{r, missing}.Describe())
}

// TestVerdictJSON holds the wire form of a verdict against the golden file.
func TestVerdictJSON(t *testing.T) {
	policy := rule("t.policy.mode", Error, 20)
	policy.Category, policy.Ref, policy.Advice = Category{"policy", "Policy"}, "RFC 8461 section 3.2", "Publish another mode."
	policy.Fails = func(f failing) Failures {
		return Failures{{
			Detail: "mode is testing", Target: "mode", Location: &Location{Offset: 10, Length: 7}, Suggested: "mode: enforce",
		}}
	}
	skipped := rule("t.skipped", Warning, 10)
	skipped.When = func(failing) bool { return false }
	rules := Rules[failing]{rule("t.good", Critical, 30), skipped, policy, rule("t.note", Info, 0)}
	texts := Texts{"t.policy.mode": {Headline: "The policy is not enforced", Sub: "Mail may travel in the clear. Enforce it."}}
	verdicts := map[string]Verdict{
		"bad":   rules.Judge(failing{"t.note": true}, texts),
		"empty": Rules[failing]{}.Judge(nil, nil),
	}
	got, err := json.MarshalIndent(verdicts, "", "  ")
	require.NoError(t, err)
	path := filepath.Join("testdata", "verdict.json")
	if *update {
		require.NoError(t, os.WriteFile(path, append(got, '\n'), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got)+"\n")
	require.NotContains(t, string(got), "null")

	var back map[string]Verdict
	require.NoError(t, json.Unmarshal(got, &back))
	for name, v := range verdicts {
		v.fulfilled = nil
		require.Equal(t, v, back[name])
	}
}

// However rules and evidence come together, a verdict is sound.
func TestVerdictProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules, codes := Rules[failing]{}, []Code{}
		for i := range rapid.IntRange(0, 12).Draw(t, "rules") {
			r := rule(Code("t.r"+strings.Repeat("i", i)), Severity(rapid.IntRange(0, 3).Draw(t, "severity")),
				rapid.IntRange(0, 40).Draw(t, "weight"))
			r.Advice = rapid.SampledFrom([]string{"", "Fix it."}).Draw(t, "advice")
			r.StateIfFailed = rapid.SampledFrom([]State{"", Missing, Unknown}).Draw(t, "means")
			applies, part := rapid.Bool().Draw(t, "applies"), rapid.Float64Range(-1, 2).Draw(t, "part")
			r.When = func(failing) bool { return applies }
			r.Partly = func(failing) float64 { return part }
			rules = append(rules, r)
			if rapid.Bool().Draw(t, "fails") {
				codes = append(codes, r.Code)
			}
		}
		v := judge(rules, codes...)
		b := v.Breakdown
		if (v.Band == Undetermined) != (v.Score == nil) || v.State == Unknown && v.Score != nil {
			t.Fatalf("state %s, band %s, score %s", v.State, v.Band, scoreText(v))
		}
		if v.Score == nil {
			if len(v.Factors) > 0 || b.Max > 0 {
				t.Fatalf("factors %v and breakdown %+v without a score", v.Factors, b)
			}
			return
		}
		if *v.Score < 0 || b.Earned < 0 || b.Earned > b.Max || b.Penalty < 0 || *v.Score+b.Penalty > 100 {
			t.Fatalf("score %d of %+v", *v.Score, b)
		}
		earned, most := 0, 0
		for _, f := range v.Factors {
			earned, most = earned+f.Points, most+f.MaxPoints
		}
		if earned != b.Earned || most != b.Max {
			t.Fatalf("the factors do not add up to %+v", b)
		}
		for _, f := range v.Findings {
			r := rules[len(f.Code)-len("t.r")]
			if r.StateIfFailed != Unknown && *v.Score > caps[f.Severity] {
				t.Fatalf("score %d in spite of %s", *v.Score, f.Severity)
			}
		}
	})
}

func BenchmarkJudge20(b *testing.B) {
	rules := Rules[failing]{}
	evidence := failing{}
	for i := range 20 {
		r := rule(Code("t.r"+strings.Repeat("i", i)), Severity(i%4), 5)
		r.Advice = "Fix it."
		rules = append(rules, r)
		evidence[r.Code] = i%4 == 1
	}
	b.ReportAllocs()
	for b.Loop() {
		if *rules.Judge(evidence, nil).Score == 0 {
			b.Fatal("no score")
		}
	}
}

// A gradedBy is evidence that is scored by an external method.
type gradedBy struct {
	failing
	points []Points
	score  int
}

func (g gradedBy) Graded() ([]Points, int) { return g.points, g.score }

func TestGraded(t *testing.T) {
	first, second := Category{"first", "First"}, Category{"second", "Second"}
	points := []Points{{second, 5, 25}, {first, 25, 25}}
	for _, tt := range []struct {
		name           string
		severity       Severity
		points         []Points
		score          int
		want           string
		penalty        int
		first, earning FactorStatus
	}{
		{"its score counts", Info, points, 55, "55", 5, FactorPartial, FactorPass},
		{"a fault caps it", Error, []Points{{second, 20, 25}, {first, 20, 25}}, 70, "69", 11, FactorPartial, FactorPartial},
		{"never more than the share", Info, points, 90, "60", 0, FactorPartial, FactorPass},
		{"no factors", Info, nil, 0, "none", 0, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rules := Rules[gradedBy]{{Code: "t.fails", Severity: tt.severity, Category: first, Title: "Fails", Requirement: "Passes",
				Fails: func(gradedBy) Failures { return Fail("It fails.") }}}
			v := rules.Judge(gradedBy{nil, tt.points, tt.score}, nil)
			require.Equal(t, tt.want, scoreText(v))
			if v.Score == nil {
				require.Empty(t, v.Factors)
				return
			}
			require.Equal(t, Code("second"), v.Factors[0].Code, "in the order of the points")
			require.Equal(t, []FactorStatus{tt.first, tt.earning}, []FactorStatus{v.Factors[0].Status, v.Factors[1].Status})
			require.Equal(t, "It fails.", v.Factors[1].Detail)
			require.Equal(t, tt.penalty, v.Breakdown.Penalty)
		})
	}
}

// A halfKnown is evidence of which some sources went unanswered.
type halfKnown struct {
	failing
	open []Source
}

func (h halfKnown) Unanswered() []Source { return h.open }

// TestUnanswered judges rules that read sources without an answer.
func TestUnanswered(t *testing.T) {
	made := func(code Code, change func(*Rule[halfKnown])) Rule[halfKnown] {
		r := Rule[halfKnown]{
			Code: code, Severity: Warning, Weight: 10, Title: "Fault of " + string(code), Requirement: "r", Advice: "Fix it.",
			Fails: func(h halfKnown) Failures { return FailIf(h.failing[code], "%s.", code).Suggesting("value") },
		}
		change(&r)
		return r
	}
	rules := Rules[halfKnown]{
		made("t.record", func(r *Rule[halfKnown]) { r.Reads = []Source{"record"} }),
		made("t.host", func(r *Rule[halfKnown]) { r.Reads, r.HoldsWhenUnanswered = []Source{"hosts"}, true }),
		made("t.host.key", func(r *Rule[halfKnown]) { r.Reads, r.DependsOn = []Source{"record"}, []Code{"t.host"} }),
		made("t.all", func(*Rule[halfKnown]) {}),
		made("t.request", func(r *Rule[halfKnown]) { r.Reads = []Source{FromRequest} }),
		made("t.silent", func(r *Rule[halfKnown]) {
			r.Weight, r.StateIfFailed, r.Severity, r.DependsOn = 0, Unknown, Info, []Code{"t.host"}
		}),
	}
	tests := []struct {
		name                 string
		open                 []Source
		fails                []Code
		found, passed, wants []Code // wants: what is left open
		score                string
		headline             string
	}{
		{"all is known", nil, nil, []Code{}, []Code{"t.record", "t.host", "t.host.key", "t.all", "t.request"}, nil, "100", "good"},
		{"a fault", nil, []Code{"t.record"}, []Code{"t.record"},
			[]Code{"t.host", "t.host.key", "t.all", "t.request"}, nil, "80", "Fault of t.record"},
		{"what is not known is neither praised nor blamed", []Source{"hosts"}, []Code{"t.all"}, []Code{},
			[]Code{"t.record", "t.request"}, []Code{"t.host", "t.host.key", "t.all"}, "89", "good"},
		{"a fault that stands", []Source{"hosts"}, []Code{"t.host"}, []Code{"t.host"},
			[]Code{"t.record", "t.request"}, []Code{"t.all"}, "66", "Fault of t.host"},
		{"ignorance speaks", []Source{"hosts"}, []Code{"t.silent"}, []Code{"t.silent"},
			[]Code{"t.record", "t.request"}, []Code{"t.host", "t.host.key", "t.all"}, "89", "Fault of t.silent"},
		{"other ignorance", []Source{"record", "hosts", "x"}, nil, []Code{},
			[]Code{"t.request"}, []Code{"t.record", "t.host", "t.host.key", "t.all"}, "89", "good"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := halfKnown{failing{}, tt.open}
			for _, c := range tt.fails {
				h.failing[c] = true
			}
			v := rules.Judge(h, Texts{"valid": {"good", "All is well."}})
			found, passed := []Code{}, []Code{}
			for _, f := range v.Findings {
				found = append(found, f.Code)
			}
			for _, c := range v.Passed {
				passed = append(passed, c.Code)
			}
			require.Equal(t, tt.found, found)
			require.Equal(t, tt.passed, passed)
			require.Equal(t, tt.wants, v.Open())
			require.Equal(t, tt.score, scoreText(v))
			require.Equal(t, tt.headline, v.Headline)
		})
	}
}

// TestTogether makes one finding of several places that have one cause.
func TestTogether(t *testing.T) {
	var places []string
	for i := range 25 {
		places = append(places, fmt.Sprintf("ns%d.example.com", i))
	}
	r := rule("t.key", Error, 1)
	r.Fails = func(failing) Failures {
		return FailEach(places, func(p string) Failures { return Fail("%s is bad.", p).About(p) }).
			Together("%d servers are bad.", len(places))
	}
	v := Rules[failing]{r}.Judge(failing{}, Texts{})
	require.Len(t, v.Findings, 1)
	require.Equal(t, "25 servers are bad.", v.Findings[0].Detail)
	require.Len(t, v.Findings[0].Places, maxPlaces)
	require.Equal(t, 25, v.Findings[0].PlaceCount)
	require.Equal(t, Place{Target: "ns0.example.com"}, v.Findings[0].Places[0])

	places = places[:1]
	require.Equal(t, []Finding{{
		Code: "t.key", Severity: Error, Title: r.Title, Detail: "ns0.example.com is bad.", Target: "ns0.example.com",
	}}, Rules[failing]{r}.Judge(failing{}, Texts{}).Findings)
}

// A failure more specific than its rule is worded so in the finding, the headline and the recommendation.
func TestFailureTitle(t *testing.T) {
	rules := Rules[int]{{
		Code: "test.cause", Severity: Error, Title: "A product is set up as it came", Requirement: "No product is",
		Advice: "Set it up.",
		Fails: func(n int) Failures {
			return Failures{{Title: "Product 1 is set up as it came", Detail: "It is.", Advice: "Set product 1 up."}}
		},
	}}
	v := rules.Judge(1, Texts{})
	require.Equal(t, "Product 1 is set up as it came", v.Findings[0].Title)
	require.Equal(t, "Product 1 is set up as it came", v.Headline)
	require.Equal(t, "Set product 1 up.", v.Sub)
	require.Equal(t, "Product 1 is set up as it came", v.Recommendations[0].Title)
	require.Equal(t, "A product is set up as it came", rules.Describe()[0].Title)
}
