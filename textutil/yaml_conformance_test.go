package textutil

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/textutil/internal/yaml"
)

// jsonValues returns the values of a text of JSON values, with numbers as they are written.
func jsonValues(t testing.TB, text []byte) []any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	values := []any{}
	for {
		var v any
		err := d.Decode(&v)
		if err == io.EOF {
			return values
		}
		if err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		values = append(values, v)
	}
}

// TestConformanceYAMLJSON compares the JSON of the suite. Two equal keys and tags that do not fit are valid in the
// suite, which tests the grammar alone, and refused here: the check of the tree must say so.
func TestConformanceYAMLJSON(t *testing.T) {
	var valid, refused, equal, equalOK int
	for _, in := range diagtest.Suite(t, "text/yaml/yaml-test-suite/*/in.yaml") {
		folder := filepath.Dir(in)
		name := filepath.Base(folder)
		text, err := os.ReadFile(in)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(folder, "error")); err == nil {
			continue
		}
		valid++
		got, err := readYAML(string(text)).toJSON(2, true, maxResult)
		want, wantErr := os.ReadFile(filepath.Join(folder, "in.json"))
		switch {
		case err != nil && wantErr != nil && uncheckedTree(string(text)):
			t.Logf("%s is refused: %v", name, err)
			refused++
		case err != nil:
			t.Errorf("%s: %v", name, err)
		}
		if wantErr != nil {
			continue
		}
		equal++
		if err == nil && reflect.DeepEqual(jsonValues(t, []byte(got))[0], any(jsonValues(t, want))) {
			equalOK++
		} else {
			t.Errorf("%s: got %s want %s", name, got, want)
		}
	}
	t.Logf("yaml-test-suite with equal keys: %d of %d", refused, valid)
	t.Logf("yaml-test-suite json: %d/%d", equalOK, equal)
}

// uncheckedTree reports whether the grammar is right and the tree is not.
func uncheckedTree(text string) bool {
	stream, err := yaml.Parse(text, len(text)+64)
	if err != nil {
		return false
	}
	_, ok := errors.AsType[*yaml.SyntaxError](stream.Check())
	return ok
}
