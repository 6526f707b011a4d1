package rule

import (
	"strconv"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/stretchr/testify/require"
)

// part is evidence of one of several parts.
type part struct {
	failing
	detail string
	silent []Source
	absent bool
}

func (p part) Absent() bool { return p.absent }

func (p part) Unanswered() []Source { return p.silent }

func partRules() Rules[part] {
	of := func(code Code, s Severity, weight int, state State, depends ...Code) Rule[part] {
		return Rule[part]{
			Code: code, Severity: s, Weight: weight, StateIfFailed: state, DependsOn: depends, Title: "Fault",
			Requirement: "Fulfilled", Advice: "Fix it.", Reads: []Source{"server"}, NoScore: code == "t.reach",
			When:  func(p part) bool { return !p.failing[code+".none"] },
			Fails: func(p part) Failures { return FailIf(p.failing[code], "%s is broken%s.", code, p.detail) },
		}
	}
	return Rules[part]{
		of("t.reach", Critical, 1, ""), of("t.key", Error, 5, "", "t.reach"), of("t.chain", Warning, 5, "", "t.key"),
		of("t.odd", Error, 0, Unknown, "t.reach"),
	}
}

// The worst part decides, one outcome is one finding, and a finding that affects every part names none.
func TestJudgeParts(t *testing.T) {
	broken := func(codes ...Code) part {
		p := part{failing: failing{}}
		for _, c := range codes {
			p.failing[c] = true
		}
		return p
	}
	detailed := func(detail string, codes ...Code) part {
		p := broken(codes...)
		p.detail = detail
		return p
	}
	mute := part{failing: failing{}, silent: []Source{"server"}}
	gone := part{failing: failing{"t.odd": true, "t.key": true}, silent: []Source{"server"}, absent: true}
	name := func(affected []int) Affected {
		targets := kit.Map(affected, func(i int) string { return strconv.Itoa(i) })
		return Affected{"parts " + strings.Join(targets, "+"), targets}
	}
	for _, tt := range []struct {
		name    string
		parts   []part
		state   State
		score   int // -1: none
		details []string
		sub     string
		passed  []Code
		open    []Code
	}{
		{"all well", []part{broken(), broken()}, Valid, 100, nil, "", []Code{"t.reach", "t.key", "t.chain"}, nil},
		{"all at fault", []part{broken("t.chain"), broken("t.chain")}, Warned, 54, []string{"t.chain is broken."}, "Fix it.",
			[]Code{"t.reach", "t.key"}, nil},
		{"one at fault", []part{broken(), broken("t.key")}, Bad, 54, []string{"t.key is broken. Affected: parts 1."},
			"Affected: parts 1. Fix it.", []Code{"t.reach", "t.chain"}, nil},
		{"two of three", []part{broken("t.key"), broken(), broken("t.key")}, Bad, 54,
			[]string{"t.key is broken. Affected: parts 0+2."}, "Affected: parts 0+2. Fix it.", []Code{"t.reach", "t.chain"}, nil},
		{"each in its own way", []part{detailed(" here", "t.key"), detailed(" there", "t.key")}, Bad, 16,
			[]string{"t.key is broken here. Affected: parts 0.", "t.key is broken there. Affected: parts 1."},
			"Affected: parts 0. Fix it.", []Code{"t.reach"}, nil},
		{"one cannot be reached", []part{broken("t.reach"), broken("t.chain")}, Bad, 39,
			[]string{"t.reach is broken. Affected: parts 0.", "t.chain is broken. Affected: parts 1."},
			"Affected: parts 0. Fix it.", []Code{"t.key"}, nil},
		{"none can be reached", []part{broken("t.reach"), broken("t.reach")}, Bad, -1, []string{"t.reach is broken."},
			"Fix it.", nil, nil},
		{"one is silent", []part{broken(), mute}, Valid, 89, nil, "", nil, []Code{"t.reach", "t.key", "t.chain"}},
		{"one is silent beside a fault", []part{broken("t.key"), mute}, Bad, 16,
			[]string{"t.key is broken. Affected: parts 0."}, "Affected: parts 0. Fix it.", nil, []Code{"t.reach", "t.chain"}},
		{"one is not there", []part{broken(), gone}, Valid, 89, nil, "", nil, []Code{"t.reach", "t.key", "t.chain"}},
		{"one is not there beside a fault", []part{broken("t.key"), gone}, Bad, 16,
			[]string{"t.key is broken. Affected: parts 0."}, "Affected: parts 0. Fix it.", nil, []Code{"t.reach", "t.chain"}},
		{"one cannot be reached, one is not there", []part{broken("t.reach"), gone}, Bad, -1,
			[]string{"t.reach is broken. Affected: parts 0."}, "Affected: parts 0. Fix it.", nil, []Code{"t.key", "t.chain"}},
		{"one has no such thing", []part{broken("t.key.none"), broken()}, Valid, 100, nil, "",
			[]Code{"t.reach", "t.key", "t.chain"}, nil},
		{"of one something is unknown", []part{broken("t.odd"), broken()}, Valid, 89,
			[]string{"t.odd is broken. Affected: parts 0."}, "", []Code{"t.reach", "t.key", "t.chain"}, nil},
		{"of all something is unknown", []part{broken("t.odd"), broken("t.odd")}, Unknown, -1,
			[]string{"t.odd is broken."}, "Fix it.", []Code{"t.reach", "t.key", "t.chain"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := partRules().JudgeParts(tt.parts, name, nil)
			require.Equal(t, tt.state, v.State)
			score := -1
			if v.Score != nil {
				score = *v.Score
			}
			require.Equal(t, tt.score, score)
			details := kit.Map(v.Findings, func(f Finding) string { return f.Detail })
			require.Equal(t, append([]string{}, tt.details...), details)
			require.Equal(t, tt.sub, v.Sub)
			require.ElementsMatch(t, tt.passed, kit.Map(v.Passed, func(c Check) Code { return c.Code }))
			require.Equal(t, tt.open, v.Open())
		})
	}
	v := partRules().JudgeParts([]part{broken("t.key"), broken(), broken("t.key")}, name, nil)
	require.Equal(t, []Place{{Target: "0"}, {Target: "2"}}, v.Findings[0].Places)
	v = partRules().JudgeParts([]part{broken("t.key"), broken()}, name, nil)
	require.Equal(t, "0", v.Findings[0].Target)
}
