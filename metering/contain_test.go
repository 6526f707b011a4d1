package metering

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestContain(t *testing.T) {
	refused := errors.New("refused")
	require.ErrorIs(t, Contain(func() error { return refused }), refused)
	require.NoError(t, Contain(func() error { return nil }))
	err := Contain(func() error { panic("a bug in one store") })
	require.ErrorContains(t, err, "a bug in one store")
	require.ErrorContains(t, err, "TestContain")
}
