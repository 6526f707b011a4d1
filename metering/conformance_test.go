package metering

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
)

// conformance reads the cases of a file of the test vectors, and skips the test where there are none.
func conformance[T any](t *testing.T, path ...string) (cases []T) {
	t.Helper()
	text, err := os.ReadFile(diagtest.Vectors(t, path...))
	noError(t, err)
	noError(t, json.Unmarshal(text, &cases), "%v", path)
	isTrue(t, len(cases) > 0, "no cases in %v", path)
	return cases
}
