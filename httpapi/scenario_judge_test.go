package httpapi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// expectation is the required content of a scenario's reply. Absent members are not judged.
type expectation struct {
	Status     int                        `json:"status"`
	Fields     map[string]json.RawMessage `json:"fields"`
	Gravest    []string                   `json:"gravest"`
	Score      *scoreExpectation          `json:"score"`
	Headline   wordGroups                 `json:"headline"`
	Findings   []findingExpectation       `json:"findings"`
	NoFindings []findingExpectation       `json:"no_findings"`
	Suggestion *suggestionExpectation     `json:"suggestion"`
	Screen     *screenExpectation         `json:"screen"`
}

type scoreExpectation struct {
	Min    *int `json:"min"`
	Max    *int `json:"max"`
	Absent bool `json:"absent"`
}

type findingExpectation struct {
	Words    wordGroups `json:"words"`
	Severity []string   `json:"severity"`
	Advice   wordGroups `json:"advice"`
}

type suggestionExpectation struct {
	Present *bool      `json:"present"`
	Holds   []string   `json:"holds"`
	Lacks   []string   `json:"lacks"`
	Never   []neverAll `json:"never"`
}

type neverAll struct {
	Holds []string `json:"holds"`
	Lacks []string `json:"lacks"`
}

// wordGroups are fulfilled by a text that has one word of each group.
type wordGroups [][]string

func (g wordGroups) in(texts ...string) bool {
	text := strings.ToLower(strings.Join(texts, " "))
	for _, group := range g {
		if !slices.ContainsFunc(group, func(word string) bool { return strings.Contains(text, strings.ToLower(word)) }) {
			return false
		}
	}
	return true
}

// repliedFinding is a finding as a client reads it.
type repliedFinding struct{ Code, Severity, Title, Detail, Advice string }

func (f repliedFinding) String() string {
	return fmt.Sprintf("%s %s: %s · %s · %s", f.Severity, f.Code, f.Title, f.Detail, f.Advice)
}

// judge lists the differences between a reply and the expectation.
func (e *expectation) judge(played playedReply) []string {
	status, body := played.status, played.body
	var faults []string
	fail := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	var all any
	var reply struct {
		Score    *int             `json:"score"`
		Headline string           `json:"verdict_headline"`
		Sub      string           `json:"verdict_sub"`
		Findings []repliedFinding `json:"findings"`
	}
	if err := json.Unmarshal(body, &all); err != nil {
		return []string{"the reply is no JSON: " + err.Error()}
	}
	if e.Status != 0 && status != e.Status {
		fail("status %d, want %d: %s", status, e.Status, body)
	}
	for _, path := range sortedKeys(e.Fields) {
		if fault := judgeField(all, path, e.Fields[path]); fault != "" {
			fail("%s", fault)
		}
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		return append(faults, "the reply has another form: "+err.Error())
	}
	if got := gravest(reply.Findings); e.Gravest != nil && !slices.Contains(e.Gravest, got) &&
		!(got == "info" && slices.Contains(e.Gravest, "none")) {
		fail("the gravest finding is %q, want %q; findings: %s", got, e.Gravest, listed(reply.Findings))
	}
	if e.Score != nil {
		faults = append(faults, e.Score.judge(reply.Score)...)
	}
	if !e.Headline.in(reply.Headline, reply.Sub) {
		fail("the headline %q · %q lacks a word of one of %q", reply.Headline, reply.Sub, e.Headline)
	}
	for _, f := range e.Findings {
		if !slices.ContainsFunc(reply.Findings, f.fits) {
			fail("no finding has words of %q, severity %q, advice %q; findings: %s", f.Words, f.Severity, f.Advice, listed(reply.Findings))
		}
	}
	for _, f := range e.NoFindings {
		if i := slices.IndexFunc(reply.Findings, f.fits); i >= 0 {
			fail("there must be no finding with words of %q: %s", f.Words, reply.Findings[i])
		}
	}
	if e.Suggestion != nil {
		faults = append(faults, e.Suggestion.judge(suggestions(all))...)
	}
	if e.Screen != nil {
		faults = append(faults, e.Screen.judge(played.screen)...)
	}
	return faults
}

func listed(findings []repliedFinding) string {
	var b strings.Builder
	for _, f := range findings {
		b.WriteString("\n    " + f.String())
	}
	return b.String()
}

var severities = []string{"none", "info", "warning", "error", "critical"}

func gravest(findings []repliedFinding) string {
	worst := 0
	for _, f := range findings {
		worst = max(worst, slices.Index(severities, f.Severity))
	}
	return severities[worst]
}

// judgeField compares the value at a path of names and indices, joined by dots.
func judgeField(reply any, path string, want json.RawMessage) string {
	got, there := valueAt(reply, strings.Split(path, "."))
	var rule struct {
		Absent *bool `json:"absent"`
		In     []any `json:"in"`
	}
	var exact any
	if err := json.Unmarshal(want, &exact); err != nil {
		return path + ": " + err.Error()
	}
	if _, isRule := exact.(map[string]any); isRule {
		if err := json.Unmarshal(want, &rule); err != nil {
			return path + ": " + err.Error()
		}
	}
	shown, _ := json.Marshal(got)
	switch {
	case rule.Absent != nil:
		if there == *rule.Absent {
			return fmt.Sprintf("%s: is %s, want absent: %t", path, shown, *rule.Absent)
		}
	case rule.In != nil:
		if !there || !slices.ContainsFunc(rule.In, func(v any) bool { return reflect.DeepEqual(v, got) }) {
			return fmt.Sprintf("%s: is %s, want one of %v", path, shown, rule.In)
		}
	case !there:
		return fmt.Sprintf("%s: is absent, want %s", path, want)
	case !reflect.DeepEqual(exact, got):
		return fmt.Sprintf("%s: is %s, want %s", path, shown, want)
	}
	return ""
}

func valueAt(v any, path []string) (any, bool) {
	for _, step := range path {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[step]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}

func (e *scoreExpectation) judge(score *int) []string {
	switch {
	case e.Absent && score != nil:
		return []string{fmt.Sprintf("the score is %d, and there must be none", *score)}
	case e.Absent:
		return nil
	case score == nil:
		return []string{"there is no score"}
	case e.Min != nil && *score < *e.Min, e.Max != nil && *score > *e.Max:
		return []string{fmt.Sprintf("the score is %d, out of bounds %s", *score, bounds(e))}
	}
	return nil
}

func bounds(e *scoreExpectation) string {
	text, _ := json.Marshal(e)
	return string(text)
}

func (e *findingExpectation) fits(f repliedFinding) bool {
	return e.Words.in(f.Code, f.Title, f.Detail) && e.Advice.in(f.Advice) &&
		(e.Severity == nil || slices.Contains(e.Severity, f.Severity))
}

// suggestions lists every suggested value of a reply, at any depth.
func suggestions(v any) []string {
	var list []string
	switch v := v.(type) {
	case map[string]any:
		for _, name := range sortedKeys(v) {
			if text, ok := v[name].(string); ok && name == "suggested_value" {
				list = append(list, text)
			}
			list = append(list, suggestions(v[name])...)
		}
	case []any:
		for _, item := range v {
			list = append(list, suggestions(item)...)
		}
	}
	return list
}

func (e *suggestionExpectation) judge(values []string) []string {
	var faults []string
	if e.Present != nil && !*e.Present && len(values) > 0 {
		faults = append(faults, fmt.Sprintf("%q is suggested, and nothing should be", values))
	}
	if e.Present != nil && *e.Present && !slices.ContainsFunc(values, func(v string) bool { return e.good(v, values) }) {
		faults = append(faults, fmt.Sprintf("no suggestion holds %q and lacks %q, with none of its kind that does not: %q", e.Holds, e.Lacks, values))
	}
	for _, n := range e.Never {
		for _, v := range values {
			if low := strings.ToLower(v); holdsAll(low, lowered(n.Holds)) && !holdsAny(low, lowered(n.Lacks)) {
				faults = append(faults, fmt.Sprintf("the suggestion %q holds %q without %q", v, n.Holds, n.Lacks))
			}
		}
	}
	return faults
}

// good reports whether a value is as required, and no value of its kind has what must be absent.
func (e *suggestionExpectation) good(value string, values []string) bool {
	return holdsAll(value, e.Holds) && !slices.ContainsFunc(values, func(other string) bool {
		return kindOf(other) == kindOf(value) && holdsAny(other, e.Lacks)
	})
}

// kindOf is the version with which a record begins, such as v=spf1.
func kindOf(value string) string {
	if end := strings.IndexAny(value, " ;"); end >= 0 {
		value = value[:end]
	}
	return strings.ToLower(value)
}

func holdsAll(text string, parts []string) bool {
	return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(text, p) })
}

func holdsAny(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(text, p) })
}

func lowered(list []string) []string {
	low := make([]string, len(list))
	for i, s := range list {
		low[i] = strings.ToLower(s)
	}
	return low
}
