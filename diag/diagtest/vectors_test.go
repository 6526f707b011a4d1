package diagtest_test

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ending is a test that notes how it ends.
type ending struct {
	testing.TB
	how string
}

func (e *ending) end(how string) { e.how = how; panic(how) }

func (e *ending) Helper()               {}
func (e *ending) Skipf(string, ...any)  { e.end("skipped") }
func (e *ending) Fatalf(string, ...any) { e.end("failed") }

// write makes files of a folder, by path.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
}

// module makes a module with vectors beside a package and in diag, and a folder with others; the test is in the
// package.
func module(t *testing.T) (root, more string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	write(t, root, map[string]string{
		"go.mod": "module x", "diag/testdata/set/up.json": `[1]`, "pkg/testdata/set/a.json": `[2]`,
		"pkg/testdata/set/deep/b.json": `[3, 4]`, "diag/testdata/none/empty.json": `[]`,
	})
	more = t.TempDir()
	write(t, more, map[string]string{"set/a.json": `[5]`, "set/same.json": `[3, 4]`, "suite/c.json": `[6]`})
	t.Setenv("CONFORMANCE_DIR", more)
	t.Setenv("CI", "")
	t.Chdir(filepath.Join(root, "pkg"))
	return root, more
}

func TestVectors(t *testing.T) {
	root, more := module(t)
	files := diagtest.Vectors(t, "set")
	assert.Equal(t, []string{
		filepath.Join(root, "pkg", "testdata", "set", "a.json"), filepath.Join(root, "pkg", "testdata", "set", "deep", "b.json"),
		filepath.Join(root, "diag", "testdata", "set", "up.json"), filepath.Join(more, "set", "a.json"),
	}, files)
	assert.Equal(t, []int{2, 3, 4, 1, 5}, diagtest.Cases[int](t, files))
	assert.Equal(t, []string{"[2]", "[5]", "[6]"}, diagtest.Seeds(t, "set/a.json", "suite/*.json"))
	assert.Empty(t, diagtest.Seeds(t, "nothing"))
	assert.Equal(t, []string{filepath.Join(more, "suite", "c.json")}, diagtest.Suite(t, "suite/*"))

	t.Setenv("CONFORMANCE_DIR", filepath.Join(more, "nowhere"))
	assert.Len(t, diagtest.Vectors(t, "set"), 3, "what is ours needs no folder")
}

func TestVectorsThatAreMissing(t *testing.T) {
	_, more := module(t)
	nowhere := filepath.Join(more, "nowhere")
	for _, c := range []struct {
		name, dir, ci, want string
		find                func(testing.TB)
	}{
		{"vectors of our own", more, "", "failed", func(tb testing.TB) { diagtest.Vectors(tb, "suite") }},
		{"of our own, and no folder", nowhere, "", "failed", func(tb testing.TB) { diagtest.Vectors(tb, "suite") }},
		{"no cases", nowhere, "", "failed", func(tb testing.TB) { diagtest.Cases[int](tb, diagtest.Vectors(tb, "none")) }},
		{"cases of another form", nowhere, "", "failed", func(tb testing.TB) { diagtest.Cases[string](tb, diagtest.Vectors(tb, "set")) }},
		{"a suite, and no folder", nowhere, "", "skipped", func(tb testing.TB) { diagtest.Suite(tb, "suite") }},
		{"a suite, where it is demanded", nowhere, "true", "failed", func(tb testing.TB) { diagtest.Suite(tb, "suite") }},
		{"a suite that the folder lacks", more, "", "failed", func(tb testing.TB) { diagtest.Suite(tb, "suite", "other") }},
		{"a bad pattern", more, "", "failed", func(tb testing.TB) { diagtest.Suite(tb, "[") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("CONFORMANCE_DIR", c.dir)
			t.Setenv("CI", c.ci)
			e := &ending{TB: t}
			assert.Panics(t, func() { c.find(e) })
			assert.Equal(t, c.want, e.how)
		})
	}
}

// CONFORMANCE.md names every test of vectors and its package.
func TestDocument(t *testing.T) {
	const root = "../.."
	document, err := os.ReadFile(filepath.Join(root, "CONFORMANCE.md"))
	require.NoError(t, err)
	name := regexp.MustCompile(`(?m)^func TestConformance(\w*)\(`)
	found := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		pkg, _ := filepath.Rel(root, filepath.Dir(path))
		for _, m := range name.FindAllStringSubmatch(string(text), -1) {
			found++
			named := regexp.MustCompile("`" + filepath.ToSlash(pkg) + "`[^|]*\\b" + cmp.Or(m[1], "TestConformance") + `\b`)
			assert.True(t, named.Match(document), "CONFORMANCE.md does not name TestConformance%s of %s", m[1], pkg)
		}
		return err
	}))
	require.NotZero(t, found)
}

// The third-party suites are present, or this fails before any other test.
func TestConformanceFolder(t *testing.T) { diagtest.Suite(t, "*") }
