package metering

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
)

// A fieldVector is a case of the tests for structured fields (RFC 9651).
type fieldVector struct {
	Name      string
	Raw       []string
	Expected  json.RawMessage
	Canonical []string
	MustFail  bool `json:"must_fail"`
}

// value decodes the bare value and the parameters of an item.
func (v fieldVector) value(t *testing.T, to any) (parameters int) {
	t.Helper()
	var item [2]json.RawMessage
	var list []json.RawMessage
	noError(t, json.Unmarshal(v.Expected, &item))
	noError(t, json.Unmarshal(item[1], &list))
	noError(t, json.Unmarshal(item[0], to))
	return len(list)
}

// A quoted key is accepted if the field is a string of printable characters without spaces, and is that string. The
// vectors have the character under test between two spaces, which are replaced with a letter here.
func TestConformanceStructuredStrings(t *testing.T) {
	read := 0
	for _, file := range []string{"string.json", "string-generated.json", "item.json"} {
		for _, v := range diagtest.Cases[fieldVector](t, diagtest.Suite(t, "platform/structured-fields/"+file)) {
			if len(v.Raw) != 1 || !strings.HasPrefix(v.Raw[0], `"`) {
				continue // two lines are refused, and what is not quoted is no structured field here
			}
			var want string
			if !v.MustFail {
				equal(t, 0, v.value(t, &want))
			}
			want = strings.ReplaceAll(want, " ", "x")
			var buf [maxIdempotencyKey]byte
			n, ok := idempotencyKey(&buf, strings.ReplaceAll(v.Raw[0], " ", "x"))
			equal(t, !v.MustFail && len(want) <= maxIdempotencyKey, ok, "%s", v.Name)
			if ok {
				equal(t, want, string(buf[:n]), "%s", v.Name)
				read++
			}
		}
	}
	isTrue(t, read > 40, "%d keys were read", read)
}

// A string is written in the canonical form; the characters that no string can hold are left out.
func TestConformanceWriteStructuredStrings(t *testing.T) {
	written := 0
	for _, file := range []string{"string.json", "string-generated.json", "serialise-string-generated.json"} {
		for _, v := range diagtest.Cases[fieldVector](t, diagtest.Suite(t, "platform/structured-fields/"+file)) {
			if v.Expected == nil {
				continue
			}
			var text string
			equal(t, 0, v.value(t, &text))
			want := v.Raw
			if v.Canonical != nil {
				want = v.Canonical
			}
			if v.MustFail {
				want = []string{`""`}
			}
			equal(t, strings.Join(want, ", "), string(appendString(nil, text)), "%s", v.Name)
			written++
		}
	}
	isTrue(t, written > 60, "%d strings were written", written)
}

// Integers are written as they are, and no larger than a field can hold.
func TestConformanceWriteStructuredIntegers(t *testing.T) {
	written := 0
	for _, file := range []string{"number.json", "number-generated.json", "serialise-number.json"} {
		for _, v := range diagtest.Cases[fieldVector](t, diagtest.Suite(t, "platform/structured-fields/"+file)) {
			var n int64
			var item []json.RawMessage
			if v.Expected == nil || json.Unmarshal(v.Expected, &item) != nil || json.Unmarshal(item[0], &n) != nil || n < 0 {
				continue // decimals, lists and what is negative are never written
			}
			want := string(item[0])
			if v.MustFail {
				want = "999999999999999"
			}
			equal(t, `"x";q=`+want+`;w=60`, PolicyField(Policy{Limit: int(n)}, "x"), "%s", v.Name)
			written++
		}
	}
	isTrue(t, written > 15, "%d integers were written", written)
}
