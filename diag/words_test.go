package diag

import (
	"encoding/json"
	"errors"
	"fmt"
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
	require.Equal(t, []string{"secure", "insecure", "bogus", "indeterminate"}, DNSSECStatus("").Values())
}

func TestInputError(t *testing.T) {
	err := fmt.Errorf("request: %w", Invalid("ports[2]", "%d is too large", 70000))
	fault, ok := errors.AsType[*InputError](err)
	require.True(t, ok)
	require.EqualError(t, fault, "ports[2]: 70000 is too large")
	field, reason := fault.InputField()
	require.Equal(t, "ports[2]", field)
	require.Equal(t, "70000 is too large", reason)
}

func TestExactlyOne(t *testing.T) {
	names := []string{"text", "data_base64"}
	require.NoError(t, ExactlyOne(names, true, false))
	require.NoError(t, ExactlyOne(names, false, true))
	for _, given := range [][]bool{{false, false}, {true, true}, nil} {
		require.EqualError(t, ExactlyOne(names, given...), "text: exactly one of text, data_base64 must be given")
	}
	require.NoError(t, ExactlyOne(nil))
}
