package textutil_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// conformance reads a file of test vectors into cases, or skips the test if the vectors are not here.
func conformance(t *testing.T, cases any, path ...string) {
	t.Helper()
	dir := os.Getenv("CONFORMANCE_DIR")
	if dir == "" {
		dir = filepath.Join(repository(t), "..", "shared", "conformance")
	}
	name := filepath.Join(append([]string{dir}, path...)...)
	data, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		t.Skipf("no vectors at %s; set CONFORMANCE_DIR", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, cases); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// repository returns the root of the repository, which has the go.mod.
func repository(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = parent
	}
}
