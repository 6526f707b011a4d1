package yaml

import (
	"os"
	"path/filepath"
	"testing"
)

// suite returns the folders of the test suite of YAML, and fails if there are none. Without any vectors the
// test is skipped.
func suite(t testing.TB) []string {
	t.Helper()
	dir := filepath.Join(vectors(), "yaml-test-suite")
	if _, err := os.Stat(vectors()); os.IsNotExist(err) {
		t.Skipf("no vectors at %s; set CONFORMANCE_DIR", dir)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "in.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in %s: %v", dir, err)
	}
	for i, file := range files {
		files[i] = filepath.Dir(file)
	}
	return files
}

// vectors returns where those of YAML are.
func vectors() string {
	dir := os.Getenv("CONFORMANCE_DIR")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "conformance")
	}
	return filepath.Join(dir, "text", "yaml")
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
