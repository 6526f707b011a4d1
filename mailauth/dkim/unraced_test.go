//go:build !race || nightly

package dkim

// The race detector makes these many times slower, and other tests cover what runs concurrently in them.

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is suggested has no fault above info, and the key that the text has.
func FuzzSuggestion(f *testing.F) {
	for _, tt := range validations {
		f.Add(tt.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) == 0 || len(text) > maxRecordLength || strings.TrimSpace(text) == "" {
			return
		}
		r, err := Validate(ValidateRequest{Record: text})
		require.NoError(t, err)
		checkSuggestions(t, text, r.Verdict)
	})
}
