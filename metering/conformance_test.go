package metering

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// conformance reads the cases of a file below $CONFORMANCE_DIR, and skips the test where there are
// none.
func conformance[T any](t *testing.T, pattern string) (cases []T) {
	t.Helper()
	dir := os.Getenv("CONFORMANCE_DIR")
	if dir == "" {
		dir = filepath.Join(moduleRoot(t), "..", "shared", "conformance")
	}
	files, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
	noError(t, err)
	for _, name := range files {
		text, err := os.ReadFile(name)
		noError(t, err)
		var list []T
		noError(t, json.Unmarshal(text, &list), name)
		cases = append(cases, list...)
	}
	if len(cases) == 0 {
		t.Skipf("needs the cases of %s below %s; set CONFORMANCE_DIR", pattern, dir)
	}
	return cases
}

// moduleRoot walks up to the folder that holds go.mod.
func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	noError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		isTrue(t, parent != dir, "there is no go.mod above the test")
		dir = parent
	}
}
