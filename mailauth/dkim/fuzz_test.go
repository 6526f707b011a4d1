package dkim

import (
	"bytes"
	"slices"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/stretchr/testify/require"
)

// Faults lie within the text; a usable key has everything that a verifier needs, and parses the same after printing.
func FuzzParseKey(f *testing.F) {
	for _, tt := range validations {
		f.Add(tt.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		k := ParseKey(text)
		for _, fault := range k.List.Faults {
			_ = text[fault.Offset : fault.Offset+fault.Length]
			if fault.Text == "" {
				t.Errorf("%q: a fault of the kind %s has no text", text, fault.Kind)
			}
		}
		if k.Err() != nil {
			return
		}
		if k.Public == nil || k.Details == nil || k.Form == "" || k.Type == UnknownType || !k.forMail() || k.Hashes != nil && !slices.Contains(k.Hashes, sha256) {
			t.Fatalf("%q is usable, and lacks something: %+v", text, k)
		}
		again := ParseKey(k.List.String())
		if again.Err() != nil || !bytes.Equal(again.Data, k.Data) || again.Type != k.Type || again.testing() != k.testing() {
			t.Errorf("%q is printed as %q, which reads as %+v", text, k.List.String(), again)
		}
	})
}

// checkSuggestions holds what a verdict suggests against the text.
func checkSuggestions(t *testing.T, text string, v diag.Verdict) {
	t.Helper()
	for _, rec := range v.Recommendations {
		if rec.SuggestedValue == "" {
			continue
		}
		r, err := Validate(ValidateRequest{Record: rec.SuggestedValue})
		require.NoError(t, err)
		require.True(t, r.Valid, "%q suggests %q: %+v", text, rec.SuggestedValue, r.Findings)
		for _, finding := range r.Findings {
			require.Less(t, finding.Severity, diag.Error, "%q suggests %q: %+v", text, rec.SuggestedValue, finding)
			require.NotEqual(t, rec.Code, finding.Code, "%q: following the advice changes nothing", text)
		}
		before, after := ParseKey(text), ParseKey(rec.SuggestedValue)
		if before.Public != nil {
			require.Equal(t, before.Public, after.Public, "%q suggests another key: %q", text, rec.SuggestedValue)
		}
		if before.Err() == nil {
			require.Equal(t, before.Strict(), after.Strict(), "%q suggests %q", text, rec.SuggestedValue)
		}
	}
}
