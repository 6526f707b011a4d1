//go:build !race || nightly

package main

// The race detector makes answers late on a busy machine; TestEveryOperation races the server.

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The tour announces exactly what a visitor sees.
func TestTour(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	var b bytes.Buffer
	require.NoError(t, startAfter(t, history).runTour(t.Context(), &b))
	assert.Equal(t, len(tour(time.Now())), strings.Count(b.String(), "\n")-strings.Count(b.String(), "  /"), "beside the pages")
}
