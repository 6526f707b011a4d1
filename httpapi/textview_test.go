package httpapi

import (
	"reflect"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/textutil"
	"github.com/stretchr/testify/assert"
)

// A view is made of any report, also of an empty one.
func TestViewOfEmptyReports(t *testing.T) {
	for _, ep := range endpoints {
		if ep.Operation.report != nil {
			assert.NotPanics(t, func() { assert.NotNil(t, View(reflect.New(ep.Operation.report).Interface())) }, ep.Path)
		}
	}
}

func TestTextViewHeadlines(t *testing.T) {
	result, hex := "{}", &textutil.Base64DecodeReport{Valid: true, ResultHex: "ff", OutputBytes: 1}
	for want, report := range map[string]any{
		"valid JSON, 3 levels deep":            &textutil.JSONReport{Valid: true, Result: &result, Depth: 3},
		"valid JSON: string":                   &textutil.JSONReport{Valid: true, RootType: "string"},
		"not valid JSON · line 2, column 7":    &textutil.JSONReport{Error: textutil.JSONError{Line: 2, Column: 7}},
		"not valid Base64 · byte 4":            &textutil.Base64DecodeReport{Error: textutil.DecodeFault{Offset: 4}},
		"no text in UTF-8, but 1 byte":         hex,
		"not valid RE2":                        &textutil.RegexReport{Error: textutil.RegexFault{Message: "no"}},
		"2 matches":                            &textutil.RegexReport{Valid: true, MatchCount: 2},
		"nothing left: no letters":             &textutil.SlugReport{Reason: "no_letters"},
		"2 passwords of 129 bits: very strong": &textutil.PasswordReport{Count: 2, EntropyBits: 129, Strength: "very_strong"},
	} {
		v := textView(report)
		assert.Equal(t, want, v.Headline)
		assert.Equal(t, strings.HasPrefix(want, "not valid"), v.State == diag.Bad, want)
	}
}
