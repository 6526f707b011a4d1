package main

import (
	"testing"

	"github.com/diagkit/diagkit/cmd/diagd/internal/faultproxy"
	"github.com/stretchr/testify/require"
)

func newProxy(t testing.TB, target string) *faultproxy.Proxy {
	t.Helper()
	p, err := faultproxy.Start(target)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}
