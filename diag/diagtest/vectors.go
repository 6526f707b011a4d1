package diagtest

import (
	"os"
	"path/filepath"
	"testing"
)

// Vectors returns the path of a file or folder of the test vectors that several implementations share: below
// $CONFORMANCE_DIR, or beside the module in ../shared/conformance. Where there are no vectors at all it
// skips the test; with CI=true, and where only this file or folder is missing, it fails.
func Vectors(tb testing.TB, elem ...string) string {
	tb.Helper()
	dir := os.Getenv("CONFORMANCE_DIR")
	if dir == "" {
		dir = filepath.Join(moduleRoot(tb), "..", "shared", "conformance")
	}
	path := filepath.Join(append([]string{dir}, elem...)...)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if _, err := os.Stat(dir); err == nil || os.Getenv("CI") == "true" {
		tb.Fatalf("the vectors at %s are missing; CONFORMANCE_DIR names the folder of all", path)
	}
	tb.Skipf("needs the vectors at %s; set CONFORMANCE_DIR", path)
	return ""
}

// moduleRoot returns the folder of the go.mod above the test.
func moduleRoot(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	tb.Fatalf("there is no go.mod above the test: %v", err)
	return ""
}
