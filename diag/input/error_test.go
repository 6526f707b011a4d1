package input

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInputError(t *testing.T) {
	err := fmt.Errorf("request: %w", Invalid("ports[2]", "%d is too large", 70000))
	fault, ok := errors.AsType[*Error](err)
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
