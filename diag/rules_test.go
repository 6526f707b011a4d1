package diag

import (
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		Code: code, Severity: s, Weight: weight, Title: "Title of " + string(code),
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
		{"warning costs its weight", []Code{"t.warning"}, 70, 0, Good, Warned},
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
			assert.Equal(t, tt.score, v.Score)
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

func TestUnknownNeverLowers(t *testing.T) {
	unknown, milder := rule("t.unknown", Critical, 0), rule("t.milder", Error, 0)
	unknown.Means, milder.Means = Unknown, Unknown
	weighted := rule("t.weighted", Critical, 50) // a table's mistake that must do no harm
	weighted.Means = Unknown
	rules := Rules[failing]{unknown, milder, weighted, rule("t.known", Warning, 10)}

	require.Equal(t, 100, judge(rules, "t.milder").Score)
	v := judge(rules, "t.unknown", "t.milder", "t.weighted")
	require.Equal(t, 100, v.Score)
	require.Equal(t, Excellent, v.Band)
	require.Equal(t, Unknown, v.State)
	require.Zero(t, v.Breakdown.Penalty)

	v = judge(rules[:3], "t.unknown", "t.milder", "t.weighted")
	require.Equal(t, Undetermined, v.Band, "nothing could be scored")
	require.Zero(t, v.Score)
}

func TestNotApplicable(t *testing.T) {
	never := func(failing) bool { return false }
	weighted, free := rule("t.weighted", Critical, 50), rule("t.free", Critical, 0)
	weighted.When, free.When = never, never
	rules := Rules[failing]{weighted, free, rule("t.other", Warning, 10)}

	v := judge(rules, "t.weighted", "t.free")
	require.Equal(t, 100, v.Score)
	require.Equal(t, Valid, v.State)
	require.Empty(t, v.Findings)
	require.Equal(t, []Check{{"t.other", "Title of t.other"}}, v.Passed, "it neither failed nor passed")
	require.Equal(t, []Factor{
		{"t.weighted", "Title of t.weighted", 0, 0, FactorNotApplicable, ""},
		{"t.other", "Title of t.other", 10, 10, FactorPass, ""},
	}, v.Factors)

	v = judge(rules[:2], "t.weighted")
	require.Equal(t, Undetermined, v.Band)
	require.Equal(t, Valid, v.State)
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
			{"t.part", "Title of t.part", tt.points, 10, tt.status, "t.part was seen"},
		}, v.Factors, "share %v", tt.share)
		require.Equal(t, tt.points*10, v.Score)

		v = judge(Rules[failing]{r})
		require.Equal(t, 100, v.Score, "a rule that passed earns all its points")
	}
}

func TestCategories(t *testing.T) {
	policy := rule("t.policy", Warning, 30)
	policy.Category = "policy"
	v := judge(Rules[failing]{policy, rule("t.a", Warning, 20), rule("t.b", Warning, 5), rule("t.c", Warning, 0)}, "t.b")
	require.Equal(t, Breakdown{
		Earned: 50, Max: 55,
		Categories: map[string]CategoryScore{"policy": {30, 30}, "general": {20, 25}},
	}, v.Breakdown)
	require.Equal(t, 90, v.Score, "rounded down: 90.9")
}

func TestStateRanking(t *testing.T) {
	missing, unknown := rule("t.missing", Critical, 0), rule("t.unknown", Error, 0)
	missing.Means, unknown.Means = Missing, Unknown
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

func TestSuggestedValue(t *testing.T) {
	r := rule("t.value", Warning, 0)
	r.Advice = "Publish it."
	r.Fails = func(failing) Failures {
		return Failures{{Detail: "first"}, {Detail: "second", Suggested: "v=1"}, {Detail: "third", Suggested: "v=2"}}
	}
	v := judge(Rules[failing]{r})
	require.Len(t, v.Findings, 3)
	require.Equal(t, []Recommendation{
		{"t.value", Medium, "Title of t.value", "Publish it.", "v=1"},
	}, v.Recommendations, "one for each rule, with the first value")
}

func TestFailures(t *testing.T) {
	require.Equal(t, Failures{{Detail: "2 of 3"}}, Fail("%d of %d", 2, 3))
	require.Nil(t, FailIf(false, "never"))
	require.Nil(t, FailErr(nil))
	require.Equal(t, Failures{{Detail: "100%"}}, FailErr(errors.New("100%")))
}

func TestRulesCheck(t *testing.T) {
	good := rule("t.good", Warning, 1)
	require.NoError(t, Rules[failing]{good, rule("t.a_b.c1", Info, 0)}.Check())
	tests := map[string]func(*Rule[failing]){
		"words in lower case": func(r *Rule[failing]) { r.Code = "T.good" },
		"joined by dots":      func(r *Rule[failing]) { r.Code = "good" },
		"stands twice":        func(r *Rule[failing]) { r.Code = "t.good" },
		"title":               func(r *Rule[failing]) { r.Title = "A sentence." },
		"no test":             func(r *Rule[failing]) { r.Fails = nil },
		"below 0":             func(r *Rule[failing]) { r.Weight = -1 },
		"severity":            func(r *Rule[failing]) { r.Severity = 4 },
		"the state":           func(r *Rule[failing]) { r.Means = "odd" },
		"cannot have a weight": func(r *Rule[failing]) {
			r.Means = Unknown
		},
	}
	for want, spoil := range tests {
		bad := rule("t.bad", Warning, 1)
		spoil(&bad)
		require.ErrorContains(t, Rules[failing]{good, bad}.Check(), want)
	}
}

func TestDescribe(t *testing.T) {
	r := rule("t.code", Error, 7)
	r.Ref, r.Advice, r.Category = "RFC 8461 section 3.1", "Mend it.", "policy"
	missing := rule("t.missing", Critical, 0)
	missing.Means = Missing
	require.Equal(t, []RuleInfo{
		{"t.code", Error, 7, "policy", "Title of t.code", "RFC 8461 section 3.1", "Mend it.", Bad},
		{"t.missing", Critical, 0, "general", "Title of t.missing", "", "", Missing},
	}, Rules[failing]{r, missing}.Describe())
}

// TestVerdictJSON holds the wire form of a verdict against the golden file.
func TestVerdictJSON(t *testing.T) {
	policy := rule("t.policy.mode", Error, 20)
	policy.Category, policy.Ref, policy.Advice = "policy", "RFC 8461 section 3.2", "Publish another mode."
	policy.Fails = func(f failing) Failures {
		return Failures{{
			Detail: "mode is testing", Target: "mode", Location: &Location{Offset: 10, Length: 7}, Suggested: "mode: enforce",
		}}
	}
	skipped := rule("t.skipped", Warning, 10)
	skipped.When = func(failing) bool { return false }
	rules := Rules[failing]{rule("t.good", Critical, 30), skipped, policy, rule("t.note", Info, 0)}
	texts := Texts{"invalid": {Headline: "The policy is not enforced", Sub: "Mail may travel in the clear. Enforce it."}}
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
	require.Equal(t, verdicts, back)
}

// However rules and evidence come together, a verdict is sound.
func TestVerdictProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules, codes := Rules[failing]{}, []Code{}
		for i := range rapid.IntRange(0, 12).Draw(t, "rules") {
			r := rule(Code("t.r"+strings.Repeat("i", i)), Severity(rapid.IntRange(0, 3).Draw(t, "severity")),
				rapid.IntRange(0, 40).Draw(t, "weight"))
			r.Advice = rapid.SampledFrom([]string{"", "Mend it."}).Draw(t, "advice")
			r.Means = rapid.SampledFrom([]State{"", Missing, Unknown}).Draw(t, "means")
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
		if v.Score < 0 || v.Score > 100 || b.Earned < 0 || b.Earned > b.Max || b.Penalty < 0 || v.Score+b.Penalty > 100 {
			t.Fatalf("score %d of %+v", v.Score, b)
		}
		if (v.Band == Undetermined) != (b.Max == 0) {
			t.Fatalf("band %s with a maximum of %d", v.Band, b.Max)
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
			if r.Means != Unknown && b.Max > 0 &&
				(f.Severity == Critical && v.Score > criticalCap || f.Severity == Error && v.Score > errorCap) {
				t.Fatalf("score %d in spite of %s", v.Score, f.Severity)
			}
		}
	})
}

func BenchmarkJudge20(b *testing.B) {
	rules := Rules[failing]{}
	evidence := failing{}
	for i := range 20 {
		r := rule(Code("t.r"+strings.Repeat("i", i)), Severity(i%4), 5)
		r.Advice = "Mend it."
		rules = append(rules, r)
		evidence[r.Code] = i%4 == 1
	}
	b.ReportAllocs()
	for b.Loop() {
		if rules.Judge(evidence, nil).Score == 0 {
			b.Fatal("no score")
		}
	}
}
