package textutil_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/textutil"
)

// What a key says in JSON is said once, and not about a text that does not become JSON.
func TestYAMLFindingsInKeys(t *testing.T) {
	for text, want := range map[string][]string{
		"? [.inf]\n: a":   {"text.yaml.number.not_finite", "text.yaml.key.collection"},
		"? {[a]: b}\n: c": {"text.yaml.key.collection", "text.yaml.key.collection"},
	} {
		var codes []string
		for _, finding := range toJSON(t, text).Findings {
			codes = append(codes, finding.Code)
		}
		assert.Equal(t, want, codes, text)
		report, err := textutil.FormatYAML(textutil.YAMLFormatRequest{Text: text})
		require.NoError(t, err)
		assert.Empty(t, report.Findings, text)
	}
	report, err := textutil.FormatYAML(textutil.YAMLFormatRequest{Text: "? [!!int a]\n: b"})
	require.NoError(t, err)
	assert.True(t, report.Valid, "a tag that does not fit is for JSON to refuse, as outside of keys")
	assert.False(t, toJSON(t, "? [!!int a]\n: b").Valid)
}
