package textutil_test

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
)

// conformance reads a file of test vectors into cases, or skips the test if it is not here.
func conformance(t *testing.T, cases any, path ...string) {
	t.Helper()
	name := diagtest.Vectors(t, path...)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, cases); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if list := reflect.ValueOf(cases).Elem(); list.Kind() == reflect.Slice && list.Len() == 0 {
		t.Fatalf("%s has no cases", name)
	}
}
