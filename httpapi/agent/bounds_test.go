package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// large returns the view of a report with so many findings, steps and rows.
func large(findings, steps, rows int, text string) *view.View {
	v := view.Answer("example.com", "Much is wrong. "+text)
	for i := range view.MaxFacts {
		v.Fact(fmt.Sprint("fact ", i), text)
	}
	for i := range findings {
		severity := []diag.Severity{diag.Critical, diag.Error, diag.Warning}[min(i/8, 2)]
		v.Findings = append(v.Findings, diag.Finding{Code: diag.Code(fmt.Sprintf("family.part%d.fault", i)),
			Severity: severity, Title: "A part has a fault", Detail: text, Advice: text})
	}
	for range steps {
		v.Steps = append(v.Steps, view.Step{Severity: diag.Error, Text: text, Name: "example.com.", Type: "TXT", Value: text})
	}
	d := v.Rows(view.Table, "Parts", "part", "outcome")
	for i := range rows {
		d.Row(fmt.Sprint("part ", i), text)
	}
	return v
}

// Every result, errors included, is within 4 KB, and names what it omits. With full, only the structured content
// holds the report.
func TestBounds(t *testing.T) {
	texts := map[string]string{
		"short": "A fault.", "long": strings.Repeat("The server does not answer. ", 40), "tags": strings.Repeat("<&>", 300),
		"quotes": strings.Repeat("`\"\\", 300), "controls": strings.Repeat("\x1b\u202e", 200),
		"lines": strings.Repeat("a\n", 300),
		"wide":  strings.Repeat("漢字", 300), "headings": strings.Repeat("\n### x\n```\n", 40), "markers": injection,
	}
	sizes := [][3]int{{0, 0, 0}, {3, 2, 5}, {20, 12, 60}, {60, 40, 900}}
	for i := range toolsOf(httpapi.Endpoints()) {
		holds(t, &toolsOf(httpapi.Endpoints())[i], large(24, 13, 70, texts["long"]))
	}
	for _, text := range texts {
		for _, n := range sizes {
			holds(t, &toolsOf(httpapi.Endpoints())[0], large(n[0], n[1], n[2], text))
		}
	}
}

// holds requires that the reply of a tool with a view is within the bound.
func holds(t *testing.T, tool *tool, v *view.View) {
	left := int64(1 << 40)
	c := &call{tool: tool, service: &service{charged: true}, credits: 38, creditsLeft: &left}
	r := &reply{view: v, report: []byte(`{"report":"the whole"}`), refused: strings.Repeat("<", maxRefused)}
	result := r.result(c)
	bounded(t, result)
	text := said(result)
	assert.True(t, strings.HasSuffix(text, markerEnd), text)
	assert.Contains(t, text, notice)
	for _, f := range v.Findings[:min(len(v.Findings), maxFindings)] {
		assert.Contains(t, text, "`"+string(f.Code)+"`")
	}
	for _, list := range []struct {
		what       string
		have, most int
	}{
		{"finding", len(v.Findings), maxFindings}, {"step", len(v.Steps), maxSteps},
		{"row", len(kit.OrZero(v.Drawing).Rows), maxRows},
	} {
		if list.have > list.most {
			assert.Contains(t, text, phrase.Count(list.have-list.most, list.what))
		}
	}
	c.values = values{"full": true}
	full := r.result(c)
	assert.JSONEq(t, string(r.report), string(full.StructuredContent.(*content).Report))
	full.StructuredContent = nil
	bounded(t, full)
	assert.NotContains(t, said(full), "the whole")
}

// A report that is too large for structured content begins in the text, and both state that.
func TestLargeReport(t *testing.T) {
	report, err := json.Marshal(strings.Repeat("x", 2*maxFull))
	require.NoError(t, err)
	c := &call{tool: &toolsOf(httpapi.Endpoints())[0], service: &service{}, values: values{"full": true}}
	result := (&reply{view: large(3, 2, 5, "A fault."), report: report}).result(c)
	s := result.StructuredContent.(*content)
	assert.Nil(t, s.Report)
	assert.Contains(t, s.LeftOut, "the end of a report")
	assert.Contains(t, said(result), "Left out: "+s.LeftOut)
	assert.Contains(t, said(result), strings.Repeat("x", maxFull-1000))
	assert.LessOrEqual(t, len(said(result)), maxFull+1000)
}

// Explanations are within the bound, however many codes begin so.
func TestExplanations(t *testing.T) {
	session := piped(t, world(t))
	walked := map[string]bool{}
	for _, ep := range httpapi.Endpoints() {
		family, _, _ := strings.Cut(ep.Name(), "/")
		if found, _ := httpapi.Endpoints().Explain(family); len(found) == 0 || walked[family] {
			continue
		}
		walked[family] = true
		var told explanation
		r := use(t, session, "explain_finding", map[string]any{"code": family})
		require.NoError(t, json.Unmarshal([]byte(said(r)), &told))
		found, _ := httpapi.Endpoints().Explain(family)
		assert.NotEmpty(t, told.Findings)
		assert.Equal(t, len(found), len(told.Findings)+told.LeftOut)
	}
	assert.Greater(t, len(walked), 5)
}

// An error is within the bound, and its end is clipped.
func TestLongErrors(t *testing.T) {
	for _, text := range []string{"x", "<", `"`, "漢", "\x1b"} {
		result := failureResult(strings.Repeat(text, 10_000))
		bounded(t, result)
		assert.True(t, result.IsError)
		assert.NotEmpty(t, said(result))
		c := &call{tool: &toolsOf(httpapi.Endpoints())[0], service: &service{}}
		marked := failureResult(c.explainError(diag.Unavailable(strings.Repeat(text, 10_000), nil), nil))
		bounded(t, marked)
		contained(t, marked)
	}
}
