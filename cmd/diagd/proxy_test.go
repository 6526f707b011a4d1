package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func newProxy(t testing.TB, target string) *proxy {
	t.Helper()
	p, err := startProxy(target)
	require.NoError(t, err)
	t.Cleanup(p.close)
	return p
}
