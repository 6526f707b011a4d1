package rule

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

type addresses []ScopePart

func (a addresses) Scope() []ScopePart { return a }

// A part that did not answer keeps a verdict from every word of praise, by construction; what was left out is named.
func TestScope(t *testing.T) {
	var rules Rules[addresses]
	for _, factor := range []string{"a", "b", "c"} {
		rules = append(rules, Rule[addresses]{Code: Code("x.rule." + factor), Weight: 1, Category: Category{factor, factor},
			Title: "No", Requirement: "Yes", Fails: func(addresses) Failures { return nil }})
	}
	texts := Texts{"valid": {Headline: "Everything is in order", Sub: "Nothing to do."}}
	for _, tt := range []struct {
		name     string
		parts    addresses
		score    int
		headline string
		sub      string
	}{
		{"nothing has parts", nil, 100, "Everything is in order", "Nothing to do."},
		{"all examined", addresses{{"192.0.2.1", Examined, ""}}, 100, "Everything is in order", "Nothing to do."},
		{"one left out", addresses{{"192.0.2.1", Examined, ""}, {"2001:db8::1", LeftOut, "no IPv6 here"}}, 100,
			"Everything is in order", "Nothing to do. Examined: 1 of 2 parts; left out: 2001:db8::1 (no IPv6 here)."},
		{"one silent", addresses{{"192.0.2.1", Examined, ""}, {"192.0.2.2", NotAnswered, "timeout"}}, 89,
			"No fault found in 1 of 2 parts; the rest did not answer", "Not examined: 192.0.2.2 (timeout). Try again later."},
	} {
		v := rules.Judge(tt.parts, texts)
		require.Equal(t, tt.score, *v.Score, tt.name)
		require.Equal(t, tt.headline, v.Headline, tt.name)
		require.Equal(t, tt.sub, v.Sub, tt.name)
		require.Equal(t, tt.score < 90, v.Band != Excellent, tt.name)
	}
}

// The lists are bounded, and a decoded scope equals the one that was sent.
func TestScopeBound(t *testing.T) {
	var parts []ScopePart
	for i := range 40 {
		parts = append(parts, ScopePart{Part: fmt.Sprint(i), State: Examined})
	}
	parts = append(parts, ScopePart{"late", NotAnswered, ""}, ScopePart{"more", LeftOut, "beyond the limit"})
	var s Verdict
	s.Examine(parts)
	require.Len(t, s.Examined, 32)
	require.Equal(t, 10, s.ExaminedMore)
	require.Equal(t, []string{"late", "more"}, []string{s.Examined[0].Part, s.Examined[1].Part})
	text, err := json.Marshal(s)
	require.NoError(t, err)
	var back Verdict
	require.NoError(t, json.Unmarshal(text, &back))
	for _, one := range []*Verdict{&s, &back} {
		require.Equal(t, "40 of 42", one.OfAll())
		require.True(t, one.Incomplete())
		require.Equal(t, "late and more (beyond the limit)", one.Unexamined())
	}
}
