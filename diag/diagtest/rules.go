package diagtest

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
)

// Codes returns the codes of the findings of a verdict, for comparing with those wanted.
func Codes(v diag.Verdict) []diag.Code { return CodesOf(v.Findings) }

// CodesOf returns the codes of findings, in order. It is never nil.
func CodesOf(findings []diag.Finding) []diag.Code {
	return diag.Map(findings, func(f diag.Finding) diag.Code { return f.Code })
}

// Score is the score of a verdict in words: "none" where there is no score.
func Score(v diag.Verdict) string {
	if v.Score == nil {
		return "none"
	}
	return strconv.Itoa(*v.Score)
}

// CoverRules fails the test if a rule is not well formed ([diag.Rules.Check]) or missing from the verdicts
// either as passed or as failed: a rule that no test has seen both ways is not tested.
func CoverRules[E any](t testing.TB, rules diag.Rules[E], verdicts []diag.Verdict) {
	t.Helper()
	if err := rules.Check(); err != nil {
		t.Error(err)
	}
	passed, failed := map[diag.Code]bool{}, map[diag.Code]bool{}
	for _, v := range verdicts {
		for _, code := range v.Fulfilled() {
			passed[code] = true
		}
		for _, code := range Codes(v) {
			failed[code] = true
		}
	}
	for _, r := range rules {
		if !passed[r.Code] {
			t.Errorf("no test fulfils %s", r.Code)
		}
		if !failed[r.Code] {
			t.Errorf("no test violates %s", r.Code)
		}
	}
}

// CheckTexts fails the test if the texts of a diagnostic are not well formed, or if a verdict has a
// headline that is missing or too long, or no sub.
func CheckTexts(t testing.TB, texts diag.Texts, rules []diag.RuleInfo, verdicts []diag.Verdict) {
	t.Helper()
	if err := texts.Check(rules); err != nil {
		t.Error(err)
	}
	for _, v := range verdicts {
		switch n := len([]rune(v.Headline)); {
		case n == 0:
			t.Errorf("state %s with findings %v has no headline", v.State, Codes(v))
		case n > diag.MaxHeadline:
			t.Errorf("headline of %d characters: %s", n, v.Headline)
		case strings.TrimSpace(v.Sub) == "":
			t.Errorf("no sub for the headline %q", v.Headline)
		}
	}
}

// Seen collects the verdicts of several tests, for [CoverRules] and [CheckTexts] at the end.
type Seen []diag.Verdict

// Add keeps a verdict and returns the codes of its findings.
func (s *Seen) Add(v diag.Verdict) []diag.Code {
	*s = append(slices.Clip(*s), v)
	return Codes(v)
}

// update is the flag of [Golden]; it is nil outside tests, where programs own the command line.
var update = updateFlag()

func updateFlag() *flag.Flag {
	if !testing.Testing() {
		return nil
	}
	if flag.Lookup("update") == nil {
		flag.Bool("update", false, "write golden files instead of comparing with them")
	}
	return flag.Lookup("update")
}

// Golden compares got with the file at path, such as "testdata/texts.golden". With the flag -update of
// the test the file is written instead, to be read in review like code.
func Golden(t testing.TB, path string, got []byte) {
	t.Helper()
	if update != nil && update.Value.String() == "true" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if bytes.Equal(got, want) {
		return
	}
	gotLines, wantLines := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range max(len(gotLines), len(wantLines)) {
		if g, w := line(gotLines, i), line(wantLines, i); g != w {
			t.Fatalf("%s:%d: differs (go test -update writes it)\n got: %s\nwant: %s", path, i+1, g, w)
			return
		}
	}
}

func line(lines [][]byte, i int) string {
	if i >= len(lines) {
		return "(end of file)"
	}
	return string(lines[i])
}
