package yaml

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
)

// suite returns the folders of the test suite of YAML.
func suite(t testing.TB) []string {
	t.Helper()
	files := diagtest.Suite(t, "text/yaml/yaml-test-suite/*/in.yaml")
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
