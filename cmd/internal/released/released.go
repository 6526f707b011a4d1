// Package released holds the tests of programs and packages to what the last release promised: lists of lines in
// testdata, each of which must still be true. CONTRIBUTING.md says what is promised.
//
// A line that is new needs nothing; the next release records it. Each list is of a version. When diag.Version is raised
// the tests fail until -update writes the lists again, which it does at no other time:
//
//	go test ./cmd/diag ./cmd/diagd ./cmd/internal/released -run TestReleased -update
//
// It refuses to drop a line from a patch release, and from a minor one unless CHANGELOG.md has a section "Breaking".
package released

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
)

// A List is one promise.
type List struct {
	Name  string   // of its file, without .txt
	Lines []string // what is true today, in any order; duplicates count once
	Also  []string // what is true, too, and follows from Lines: it is not recorded, but a recorded line may be here
	// Remedy says what to do instead of breaking the promise.
	Remedy string
	// Permanent lists lose no line at minor releases either.
	Permanent bool
	// Widened reports whether a line keeps the promise of an earlier one about the same, as a larger maximum does;
	// nil: never.
	Widened func(earlier, line string) bool
}

// Check fails the test if a line of the last release is gone.
func Check(t testing.TB, l List) {
	t.Helper()
	root := moduleRoot(t)
	path := filepath.Join(root, "cmd", "internal", "released", "testdata", l.Name+".txt")
	recorded, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	changelog, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	if fault := l.compare(diag.Version, string(recorded), string(changelog)); fault != "" {
		t.Fatalf("%s: %s", path, fault)
	}
	if isOf(string(recorded), diag.Version) {
		return
	}
	if f := flag.Lookup("update"); f == nil || f.Value.String() != "true" { // the flag of diagtest.Golden
		t.Fatalf("%s is not of %s: go test -run TestReleased -update writes it", path, diag.Version)
	}
	if err := os.WriteFile(path, l.record(diag.Version), 0o644); err != nil {
		t.Fatal(err)
	}
}

// moduleRoot is the folder of go.mod, above that of the test.
func moduleRoot(t testing.TB) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
		above := filepath.Dir(folder)
		if above == folder {
			t.Fatal("no go.mod above the test")
		}
		folder = above
	}
}

const title = "# What diagkit %s promises.\n"

// isOf reports whether a recorded list is that of a version.
func isOf(recorded, version string) bool {
	return strings.HasPrefix(recorded, fmt.Sprintf(title, version))
}

func (l List) record(version string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, title, version)
	for _, line := range sorted(l.Lines) {
		b.WriteString(line + "\n")
	}
	return b.Bytes()
}

func sorted(lines []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(lines)))
}

const (
	maxShown   = 40 // how many lines a failure shows
	maxInstead = 2  // of more lines about the same, such as values, none is what took the place of another
)

// compare returns what is wrong with the lines of a version after those recorded, or "".
func (l List) compare(version, recorded, changelog string) string {
	gone := l.gone(recorded)
	if len(gone) == 0 {
		return ""
	}
	var was string
	fmt.Sscanf(recorded, strings.TrimSuffix(title, ".\n"), &was)
	lost := "what " + was + " promised is gone or has changed:\n" + strings.Join(gone[:min(len(gone), maxShown)], "\n")
	if more := len(gone) - maxShown; more > 0 {
		lost += fmt.Sprintf("\n\tand %d more", more)
	}
	switch {
	case l.Permanent:
		return lost + "\n" + l.Remedy
	case isOf(recorded, version):
		return lost + "\n" + l.Remedy + "\nIf it must break: it is done at a minor release, whose notes in CHANGELOG.md " +
			"say so under \"Breaking\"; raise diag.Version, then record it with -update."
	case minor(version) == minor(was):
		return lost + "\nA patch release breaks nothing. " + l.Remedy
	case !strings.Contains(section(changelog, version), "\n### Breaking\n"):
		return lost + "\nSay so in CHANGELOG.md, in a section \"### Breaking\" of " + version + "."
	}
	return ""
}

// gone lists the recorded lines that nothing keeps, each followed by what probably took its place.
func (l List) gone(recorded string) (lines []string) {
	before := strings.Split(strings.TrimSuffix(recorded, "\n"), "\n")
	today := map[string][]string{} // by subject
	for _, line := range sorted(slices.Concat(l.Lines, l.Also)) {
		subject, _ := cut(line)
		today[subject] = append(today[subject], line)
	}
	for _, line := range before {
		subject, _ := cut(line)
		kept := func(now string) bool { return now == line || l.Widened != nil && l.Widened(line, now) }
		if line == "" || strings.HasPrefix(line, "#") || slices.ContainsFunc(today[subject], kept) {
			continue
		}
		text := "\t- " + line
		for _, now := range today[subject] {
			if len(today[subject]) <= maxInstead && !slices.Contains(before, now) {
				text += "\n\t+ " + now
			}
		}
		lines = append(lines, text)
	}
	return lines
}

// cut divides a line into what it is about and what it says of that.
func cut(line string) (subject, says string) {
	if before, after, ok := strings.Cut(line, " = "); ok {
		return before, after
	}
	if i := strings.IndexAny(line, "({"); i > 0 {
		return line[:i], line[i:]
	}
	return line, ""
}

// minor is a version without its patch.
func minor(version string) string { return version[:max(strings.LastIndex(version, "."), 0)] }

// section is the part of a changelog that is about a version.
func section(changelog, version string) string {
	_, after, _ := strings.Cut(changelog, "\n## "+version+"\n")
	before, _, _ := strings.Cut(after, "\n## ")
	return before
}
