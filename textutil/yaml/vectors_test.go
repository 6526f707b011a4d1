package yaml

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
)

// suite returns the folders of the test suite of YAML, and fails if there are none. Without any vectors the
// test is skipped.
func suite(t testing.TB) []string {
	t.Helper()
	dir := diagtest.Vectors(t, "text", "yaml", "yaml-test-suite")
	files, err := filepath.Glob(filepath.Join(dir, "*", "in.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in %s: %v", dir, err)
	}
	for i, file := range files {
		files[i] = filepath.Dir(file)
	}
	return files
}

// content returns the text of a file of the suite.
func content(t testing.TB, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
