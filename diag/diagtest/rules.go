package diagtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/rule"
)

// Codes returns the codes of the findings of a verdict, for comparison.
func Codes(v diag.Verdict) []diag.Code { return CodesOf(v.Findings) }

// CodesOf returns the codes of findings, in order. It is never nil.
func CodesOf(findings []diag.Finding) []diag.Code {
	return kit.Map(findings, func(f diag.Finding) diag.Code { return f.Code })
}

// Score returns the score of a verdict as text, or "none".
func Score(v diag.Verdict) string {
	if v.Score == nil {
		return "none"
	}
	return strconv.Itoa(*v.Score)
}

// CoverRules fails the test if a rule is not well formed ([rule.Rules.Check]), or if no verdict has it as
// passed or none has it as failed.
func CoverRules[E any](t testing.TB, rules rule.Rules[E], verdicts []diag.Verdict) {
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
func CheckTexts(t testing.TB, texts rule.Texts, rules []rule.Description, verdicts []diag.Verdict) {
	t.Helper()
	if err := texts.Check(rules); err != nil {
		t.Error(err)
	}
	for _, v := range verdicts {
		switch n := len([]rune(v.Headline)); {
		case n == 0:
			t.Errorf("state %s with findings %v has no headline", v.State, Codes(v))
		case n > rule.MaxHeadline:
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

// Golden compares got with the file at path, such as "testdata/texts.golden". With the test flag -update, it
// writes the file instead.
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

// Vectors returns the files of a set of test vectors of this module. It searches testdata in the folder of
// the test, in those above it and in diag, and the same path below $CONFORMANCE_DIR, which may have more
// cases of the same form. Files with identical contents are returned once. Patterns are those of
// [path.Match]; a folder matches all files below it. The test fails if testdata has no match.
func Vectors(tb testing.TB, patterns ...string) []string {
	tb.Helper()
	own := ownVectors(tb, patterns)
	if len(own) == 0 {
		tb.Fatalf("there is no %q below testdata", patterns)
	}
	return append(own, moreVectors(tb, own, patterns)...)
}

// Suite returns the files of a set of third-party test vectors below $CONFORMANCE_DIR; CONFORMANCE.md lists
// their sources. If that folder does not exist, the test is skipped, or fails with CI=true; if only this set
// is missing, the test fails.
func Suite(tb testing.TB, patterns ...string) (files []string) {
	tb.Helper()
	dir := conformanceDir(tb)
	if _, err := os.Stat(dir); err != nil && os.Getenv("CI") != "true" {
		tb.Skipf("%q was made by others and is not here: CONFORMANCE.md tells what $CONFORMANCE_DIR must hold", patterns)
	}
	for _, pattern := range patterns {
		found := filesBelow(tb, dir, pattern)
		if len(found) == 0 {
			tb.Fatalf("there is no %s in %s: CONFORMANCE.md tells what $CONFORMANCE_DIR must hold", pattern, dir)
		}
		files = append(files, found...)
	}
	return files
}

// Seeds returns the texts of all available vectors as seeds of a fuzz test. There may be none.
func Seeds(tb testing.TB, patterns ...string) (texts []string) {
	tb.Helper()
	own := ownVectors(tb, patterns)
	for _, file := range append(own, moreVectors(tb, own, patterns)...) {
		texts = append(texts, read(tb, file))
	}
	return texts
}

// Documents reads files that each hold one JSON document.
func Documents[T any](tb testing.TB, files []string) []T {
	tb.Helper()
	documents := make([]T, len(files))
	for i, file := range files {
		if err := json.Unmarshal([]byte(read(tb, file)), &documents[i]); err != nil {
			tb.Fatalf("%s: %v", file, err)
		}
	}
	return documents
}

// Cases reads files that each hold a JSON list of cases, and fails if a list is empty.
func Cases[T any](tb testing.TB, files []string) (cases []T) {
	tb.Helper()
	for i, list := range Documents[[]T](tb, files) {
		if len(list) == 0 {
			tb.Fatalf("%s has no cases", files[i])
		}
		cases = append(cases, list...)
	}
	return cases
}

// ownVectors returns what matches below the folders testdata, from that of the test up to that of its family, and in
// diag.
func ownVectors(tb testing.TB, patterns []string) (files []string) {
	tb.Helper()
	root, common := moduleRoot(tb), filepath.Join(moduleRoot(tb), "diag")
	for dir := workingDir(tb); dir != root && dir != common; dir = filepath.Dir(dir) {
		files = append(files, filesBelow(tb, filepath.Join(dir, "testdata"), patterns...)...)
	}
	return append(files, filesBelow(tb, filepath.Join(common, "testdata"), patterns...)...)
}

// moreVectors returns the matches below $CONFORMANCE_DIR whose contents differ from all known files.
func moreVectors(tb testing.TB, known, patterns []string) []string {
	tb.Helper()
	dir, same := conformanceDir(tb), map[string]bool{}
	files := filesBelow(tb, dir, patterns...)
	if len(files) == 0 {
		return nil
	}
	for _, file := range known {
		same[read(tb, file)] = true
	}
	all := len(files)
	files = slices.DeleteFunc(files, func(file string) bool { return same[read(tb, file)] })
	tb.Logf("%q: %d in testdata, %d in %s, %d of them the same", patterns, len(known), all, dir, all-len(files))
	return files
}

// filesBelow returns the files below a folder that match one of the patterns, or lie below what does.
func filesBelow(tb testing.TB, root string, patterns ...string) (files []string) {
	tb.Helper()
	fsys := os.DirFS(root)
	for _, pattern := range patterns {
		names, err := fs.Glob(fsys, pattern)
		for _, name := range names {
			err = fs.WalkDir(fsys, name, func(path string, entry fs.DirEntry, err error) error {
				if err == nil && !entry.IsDir() {
					files = append(files, filepath.Join(root, filepath.FromSlash(path)))
				}
				return err
			})
		}
		if err != nil {
			tb.Fatalf("%s below %s: %v", pattern, root, err)
		}
	}
	return files
}

func read(tb testing.TB, file string) string {
	tb.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// conformanceDir returns the folder of vectors that are not part of the module. It need not be there. A relative path
// begins at the root of the module.
func conformanceDir(tb testing.TB) string {
	tb.Helper()
	dir := cmp.Or(os.Getenv("CONFORMANCE_DIR"), filepath.Join("..", "shared", "conformance"))
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(moduleRoot(tb), dir)
	}
	return dir
}

func moduleRoot(tb testing.TB) string {
	tb.Helper()
	for dir := workingDir(tb); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		} else if dir == filepath.Dir(dir) {
			tb.Fatal("there is no go.mod above the test")
		}
	}
}

func workingDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}
