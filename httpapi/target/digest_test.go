package target_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A digest says what the view says: its headline, its steps in their order, its lines; and what ends when.
func TestDigest(t *testing.T) {
	inBubble(t, func(t *testing.T, world *diagtest.World) {
		for _, name := range []string{"harbour.example", "good.example", "hopeless.example", "silent.example"} {
			w := run(t, world, name, target.Options{})
			v, d := w.View(), w.Digest(time.Now())
			assert.Equal(t, v.Headline, d.Headline)
			assert.Len(t, d.Findings, len(v.Findings), name)
			codes := func(s view.Step) diag.Code { return s.Code }
			assert.Equal(t, kit.Map(v.Steps, codes), kit.Map(d.Steps, func(s target.DigestStep) diag.Code { return s.Code }))
			tasks := d.Tasks()
			left := len(d.Others())
			for _, task := range tasks {
				left += len(task.Findings)
			}
			assert.Equal(t, len(d.Findings), left, "each finding belongs to one task of %s, or to none", name)
			stored, err := json.Marshal(d)
			require.NoError(t, err)
			again := &target.Digest{}
			require.NoError(t, json.Unmarshal(stored, again))
			assert.Equal(t, tasks, again.Tasks(), name)
		}
		d := run(t, world, "good.example", target.Options{}).Digest(time.Now())
		var ends []string
		for i, e := range d.Ends {
			ends = append(ends, e.What)
			assert.True(t, i == 0 || !e.At.Before(d.Ends[i-1].At))
		}
		for _, want := range []string{"Certificate of the website good.example", "Certificate of the mail server mx1.good.example",
			"Certificate of the MTA-STS host mta-sts.good.example", "DNSSEC signatures of good.example", "Registration of the domain",
			"Mark certificate of BIMI"} {
			assert.Contains(t, ends, want)
		}
	})
}

// After each task it is known what is left. Steps of one code that follow each other are one task.
func TestTasks(t *testing.T) {
	finding := func(code diag.Code, s diag.Severity) diag.Finding {
		return diag.Finding{Code: code, Severity: s, Title: string(code)}
	}
	step := func(code diag.Code, s diag.Severity, text string) view.Step {
		return view.Step{Code: code, Severity: s, Title: string(code), Text: text}
	}
	v := &view.View{
		Findings: []diag.Finding{finding("a.a", diag.Critical), finding("b.b", diag.Error), finding("c.c", diag.Error),
			finding("d.d", diag.Warning)},
		Steps: []view.Step{step("a.a", diag.Critical, "first"), step("b.b", diag.Error, "second"), step("b.b", diag.Error, "third"),
			step("c.c", diag.Error, "second")},
	}
	v.Steps[2].Name, v.Steps[2].Type, v.Steps[2].Value = "example.com.", "TXT", "what belongs to it"
	w := &target.Whole{Parts: []target.Part{{Check: target.Check{Group: target.Mail, Name: "mail"}, View: v}}}
	d := w.Digest(time.Now())
	var list []string
	for _, task := range d.Tasks() {
		list = append(list, fmt.Sprintf("%d %s %d %d %v", task.Number, task.Code, len(task.Steps), len(task.Findings),
			task.Left))
	}
	assert.Equal(t, []string{"1 a.a 1 1 {0 2 1}", "2 b.b 2 2 {0 0 1}"}, list, "the step of c.c is that of b.b")
	assert.Equal(t, []target.DigestFinding{{Code: "d.d", Severity: diag.Warning, Title: "d.d"}}, d.Others())

	without := d.Without([]diag.Code{"a.a", "d.d"})
	assert.Equal(t, target.Counts{Error: 2}, without.Counts)
	assert.Empty(t, without.Headline)
	assert.Empty(t, without.Others())
	assert.Len(t, without.Tasks(), 1)
	assert.Len(t, d.Findings, 4)
}

// A digest is bounded, whatever was found: what goes is the mildest, and a value is never cut.
func TestDigestBounds(t *testing.T) {
	for _, text := range []string{"", strings.Repeat("word ", 40), strings.Repeat(`"<+'`, 900)} {
		v := &view.View{Headline: "h"}
		for i := range 400 {
			code := diag.Code(fmt.Sprintf("a.n%03d", i))
			v.Findings = append(v.Findings, diag.Finding{Code: code, Severity: diag.Error, Title: "t", Detail: text, Target: text})
			v.Steps = append(v.Steps, view.Step{Code: code, Severity: diag.Error, Text: fmt.Sprint(text, i), Name: "x.", Type: "TXT",
				Value: fmt.Sprint(text, i), Current: []string{text, text}})
			v.Facts = append(v.Facts, view.Fact{Label: "l", Value: text})
		}
		w := &target.Whole{}
		for range 60 {
			w.Parts = append(w.Parts, target.Part{Check: target.Check{Group: target.Mail, Name: "mail"}, View: v})
		}
		d := w.Digest(time.Now())
		stored, err := json.Marshal(d)
		require.NoError(t, err)
		assert.LessOrEqual(t, len(stored), 2*target.MaxDigest)
		assert.Equal(t, 400, d.Counts.Error)
		assert.Positive(t, d.Omitted)
		require.NotEmpty(t, d.Steps)
		assert.Equal(t, diag.Code("a.n000"), d.Steps[0].Code)
		for i, s := range d.Steps {
			assert.True(t, s.Value == fmt.Sprint(text, i) || s.Long && s.Value == "")
		}
	}
}
