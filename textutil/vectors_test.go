package textutil

import (
	"os"
	"path/filepath"
	"testing"
)

// Vectors returns where a file or folder of test vectors is, or skips the test if it is not here.
func Vectors(t testing.TB, path ...string) string {
	t.Helper()
	name := vectorsAt(t, path...)
	if _, err := os.Stat(name); os.IsNotExist(err) {
		t.Skipf("no vectors at %s; set CONFORMANCE_DIR", name)
	}
	return name
}

// vectorsAt returns where a file or folder of test vectors is if the vectors are here.
func vectorsAt(t testing.TB, path ...string) string {
	t.Helper()
	dir := os.Getenv("CONFORMANCE_DIR")
	if dir == "" {
		dir = filepath.Join(repository(t), "..", "shared", "conformance")
	}
	return filepath.Join(append([]string{dir}, path...)...)
}

// repository returns the root of the repository, which has the go.mod.
func repository(t testing.TB) string {
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
