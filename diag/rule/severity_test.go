package rule

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSeverityText(t *testing.T) {
	for _, s := range []Severity{Info, Warning, Error, Critical} {
		text, err := json.Marshal(s)
		require.NoError(t, err)
		var back Severity
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, s, back)
		require.Equal(t, Severity(0).Values()[s], s.String())
	}
	require.Equal(t, "severity(7)", Severity(7).String())
	_, err := Severity(-1).MarshalText()
	require.Error(t, err)
	require.Error(t, new(Severity).UnmarshalText([]byte("grave")))
}

func TestValues(t *testing.T) {
	require.Equal(t, []string{"valid", "warning", "invalid", "missing", "unknown"}, State("").Values())
	require.Equal(t, []string{"excellent", "good", "warning", "critical", "unknown"}, Band("").Values())
	require.Equal(t, []string{"pass", "partial", "fail", "not_applicable"}, FactorStatus("").Values())
	require.Equal(t, []string{"high", "medium", "low"}, Priority("").Values())
}
