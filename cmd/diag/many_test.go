package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// readTargets lists the targets of a file of lines, in their order.
func readTargets(t testing.TB, text []byte) (list []string) {
	for line := range bytes.Lines(text) {
		var one struct{ Target string }
		require.NoError(t, json.Unmarshal(line, &one), "%s", line)
		list = append(list, one.Target)
	}
	slices.Sort(list)
	return list
}

// Each line is a target; comments, blank lines and repetitions are not. What fails has a line too.
func TestMany(t *testing.T) {
	s := newSession(testWorld(t))
	s.stdin = strings.NewReader("# ours\nexample.com\n\nbroken.example\nexample.com\nsilent.example\nexa..mple\n")
	assert.Equal(t, exitFinding, s.run(t.Context(), strings.Fields("mta-sts -f - --jsonl --parallel 2")), "%s", &s.err)
	assert.Equal(t, []string{"broken.example", "exa..mple", "example.com", "silent.example"}, readTargets(t, s.out.Bytes()))
	assert.Equal(t, 1, strings.Count(s.out.String(), `"error":`))
	assert.Equal(t, "diag: 4 targets checked, 2 with findings, 1 failed\n", s.err.String())

	s = newSession(testWorld(t))
	s.stdin = strings.NewReader("example.com A\nnothing.example.com A\n")
	assert.Equal(t, exitOK, s.run(t.Context(), strings.Fields("resolve -f -")), "a line may have several arguments")
	assert.Equal(t, 2, strings.Count(s.out.String(), "\n"), "%s", &s.out)

	s = newSession(testWorld(t))
	s.stdin = strings.NewReader("broken.example\nsilent.example\n")
	assert.Equal(t, exitFinding, s.run(t.Context(), strings.Fields("mta-sts -f - --junit")))
	assert.Contains(t, s.out.String(), `<testsuite name="broken.example"`)
	assert.Contains(t, s.out.String(), `<error message=`)
}

// A row of --csv has the state of a target and what to do first, or why nothing is known.
func TestCSV(t *testing.T) {
	s := newSession(testWorld(t))
	s.stdin = strings.NewReader("example.com\nbroken.example\nexa..mple\n")
	assert.Equal(t, exitFinding, s.run(t.Context(), strings.Fields("mta-sts -f - --csv --parallel 1")), "%s", &s.err)
	rows, err := csv.NewReader(&s.out).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 4)
	assert.Equal(t, csvColumns, rows[0])
	get := func(row int, column string) string { return rows[row][slices.Index(csvColumns, column)] }
	assert.Equal(t, []string{"example.com", "mta-sts/lookup", "valid", "100", "0", "0", "0"}, rows[1][:7])
	assert.Equal(t, "broken.example", get(2, "target"))
	assert.NotEqual(t, "0", get(2, "errors"))
	assert.NotEmpty(t, get(2, "do_first"))
	assert.Empty(t, get(3, "state"))
	assert.Contains(t, get(3, "unknown"), "empty label")

	file := filepath.Join(t.TempDir(), "out.csv")
	s = newSession(testWorld(t))
	s.stdin = strings.NewReader("broken.example\n")
	s.run(t.Context(), strings.Fields("-f - --no-smtp --csv -o "+file))
	assert.Empty(t, s.out.String())
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(string(text), "\n"), "%s", text)

	for _, args := range []string{"spf example.com --csv", "spf -f - --csv --jsonl", "example.com --csv"} {
		assert.Equal(t, exitUsage, newSession(nil).run(t.Context(), strings.Fields(args)), args)
	}
}

// JUnit's report and the exit code agree on the findings at or above the threshold.
func TestJUnitBelowThreshold(t *testing.T) {
	v := &view.View{Better: []diag.Finding{{Code: "spf.record.long", Severity: diag.Info, Title: "Long record",
		Detail: "It has 500 bytes.", Advice: "Shorten it."}}}
	for threshold, failures := range map[diag.Severity]int{diag.Info: 1, diag.Error: 0} {
		s := newJUnitSuite("example.com", v, nil, threshold)
		assert.Equal(t, []int{1, failures, 0}, []int{s.Tests, s.Failures, s.Errors})
		text, err := junitReport(s)
		require.NoError(t, err)
		output := "<system-out>info: Long record&#xA;It has 500 bytes.&#xA;Shorten it.</system-out>"
		assert.Equal(t, failures == 0, strings.Contains(string(text), output), "%s", text)
		assert.Contains(t, string(text), "It has 500 bytes.")
	}
}

// A run that was killed resumes where its file ends: the line that it left unfinished is written again, and no other.
func TestResume(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out.jsonl")
	list := "example.com\nbroken.example\nplain.example\n"
	run := func(flags string) *session {
		s := newSession(testWorld(t))
		s.stdin = strings.NewReader(list)
		s.run(t.Context(), strings.Fields("spf -f - --jsonl --output "+file+" "+flags))
		return s
	}
	run("")
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	all := readTargets(t, whole)
	require.Len(t, all, 3)
	for cut := 0; cut <= len(whole); cut += 97 {
		require.NoError(t, os.WriteFile(file, whole[:cut], 0o600))
		run("--resume")
		again, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, all, readTargets(t, again), "cut at %d", cut)
	}
	s := run("--resume")
	assert.Equal(t, "diag: 0 targets checked, 0 with findings, 0 failed; 3 already in "+file+"\n", s.err.String())
	s = newSession(nil)
	assert.Equal(t, exitUsage, s.run(t.Context(), strings.Fields("-f - --resume")))
}

// What changed between two kept runs, of one report and of many.
func TestDiff(t *testing.T) {
	folder := t.TempDir()
	keep := func(name, zone, args string) string {
		w := testWorld(t)
		w.Zone(zone)
		s := newSession(w)
		s.stdin = strings.NewReader("new.example\n")
		s.run(t.Context(), strings.Fields(args+" --output "+folder+"/"+name))
		return folder + "/" + name
	}
	const before, after = `new.example. TXT "v=spf1 mx -all"`, `new.example. TXT "v=spf1 +all"`
	for _, args := range []string{"spf new.example --json", "spf -f - --jsonl", "new.example --no-smtp --json"} {
		s := newSession(nil)
		old, now := keep("old", before, args), keep("new", after, args)
		assert.Equal(t, exitFinding, s.run(t.Context(), []string{"diff", old, now}), "%s%s", &s.out, &s.err)
		assert.Contains(t, s.out.String(), "spf.all.pass", args)
		assert.Contains(t, s.out.String(), " → ", args)
		s = newSession(nil)
		assert.Equal(t, exitOK, s.run(t.Context(), []string{"diff", old, old}))
		assert.Equal(t, "nothing changed\n", s.out.String())
	}
	s := newSession(nil)
	one, other := keep("one", before, "spf new.example --json"), keep("other", before, "spf none.example --json")
	assert.Equal(t, exitUsage, s.run(t.Context(), []string{"diff", one, other}))
	assert.Contains(t, s.err.String(), "one has new.example spf/lookup, the other none.example spf/lookup")
	require.NoError(t, os.WriteFile(folder+"/odd", []byte(`{"a":1}`), 0o600))
	assert.Equal(t, exitUsage, newSession(nil).run(t.Context(), []string{"diff", folder + "/odd", folder + "/odd"}))
}

// The command ends when the record exists, and prints the current value when it gives up.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testWorld(t)
		later := time.AfterFunc(40*time.Second, func() { w.Zone(`late.example. 60 TXT "it is here"`) })
		defer later.Stop()
		s, began := newSession(w), time.Now()
		s.failOn, s.color, s.timeout = "error", "auto", 100*time.Second
		s.world.Resolvers = []string{"192.0.2.53"} // the world of the test answers in its place
		require.NoError(t, s.wait(t.Context(), "late.example", "TXT", "it is here", 15*time.Second))
		assert.Equal(t, "late.example TXT found\n", s.out.String())
		assert.Less(t, time.Since(began), time.Minute)

		s = newSession(w)
		s.failOn, s.color, s.timeout = "error", "auto", 100*time.Second
		s.world.Resolvers = []string{"192.0.2.53"}
		s.progress = true
		err := s.wait(t.Context(), "example.com", "A", "192.0.2.99", 15*time.Second)
		assert.ErrorContains(t, err, "example.com A not found yet: found 192.0.2.80")
		assert.Contains(t, s.err.String(), "example.com A (found 192.0.2.80 and nothing else): 15 s")
	})
}

// A code is explained by the rules themselves; its beginning explains all that begin so.
func TestExplainCode(t *testing.T) {
	for code, want := range map[string]string{
		"spf.lookups.exceeded": "RFC 7208", "spf.lookups": "spf.lookups.near", "spf.lookups.exeeded": "did you mean spf.lookups.exceeded?",
		"nonsense": `unknown finding "nonsense"`,
	} {
		s := newSession(nil)
		s.run(t.Context(), []string{"explain", code})
		assert.Contains(t, s.out.String()+s.err.String(), want)
	}
	s := newSession(nil)
	require.Equal(t, exitOK, s.run(t.Context(), []string{"explain", "spf.all.pass"}))
	assert.Contains(t, s.out.String(), "✖ spf.all.pass\n", "the sign is that of the severity")
	s = newSession(nil)
	require.Equal(t, exitOK, s.run(t.Context(), []string{"explain", "spf.all.pass", "--json"}))
	require.Contains(t, s.out.String(), `"category": {
      "code": "policy",
      "label": "Policy"
    }`)
	assert.Contains(t, s.out.String(), `"deliverability/score"`)
}
