package textutil_test

import (
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
)

// conformance reads the cases of files.
func conformance[T any](t *testing.T, cases *[]T, files []string) {
	t.Helper()
	*cases = diagtest.Cases[T](t, files)
}
