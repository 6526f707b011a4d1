package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// From the command to the first run, which a running server makes, and to its end.
func TestWatchCommands(t *testing.T) {
	store, _ := newStore(t)
	// No resolver answers there: the run learns nothing, and is charged nothing.
	s := start(t, store, "--resolver=udp://127.0.0.1:1")
	made := parsed[watchView](t, "watch", "create", "Example.COM", "--checks=spf/lookup", "--every=2h", store)
	assert.Equal(t, "example.com", made.Domain)
	assert.Equal(t, []string{"spf/lookup"}, made.Checks)
	assert.Equal(t, "2h0m0s", made.Every)
	assert.EqualValues(t, 372+93, made.Budget)
	require.Eventually(t, func() bool {
		return !parsed[watchView](t, "watch", "show", "example.com", store).LastRun.IsZero()
	}, patience, 100*time.Millisecond)

	set := parsed[watchView](t, "watch", "set", made.ID, "--every=1h", "--budget=50", store)
	assert.EqualValues(t, 50, set.Budget)
	assert.Equal(t, made.Checks, set.Checks, "what is not given stays")
	parsed[watchView](t, "watch", "run", "example.com", store)
	require.Eventually(t, func() bool {
		return len(parsed[[]watch.Run](t, "watch", "history", "example.com", store)) >= 2
	}, patience, 100*time.Millisecond)
	list := parsed[[]watchView](t, "watch", "list", store)
	require.Len(t, list, 1)
	assert.Equal(t, 1, list[0].Unknown)
	assert.Contains(t, command(t, "watch", "list", store), "example.com")
	assert.Contains(t, command(t, "watch", "show", "example.com", store), "a run costs at most 1")
	assert.Contains(t, command(t, "watch", "history", "example.com", store), "spf/lookup")
	assert.Contains(t, command(t, "watch", "remove", "example.com", store), "was removed")
	assert.Empty(t, parsed[[]watchView](t, "watch", "list", store))
	require.Equal(t, exitOK, s.wait())
}

// What makes no sense is refused with the name of the field or the way to find out.
func TestWatchUsage(t *testing.T) {
	store, _ := newStore(t)
	for want, args := range map[string][]string{
		"domain:":          {"create", "nodot"},
		"checks[0]:":       {"create", "example.com", "--checks=text/upper"},
		"every:":           {"create", "example.com", "--every=1m"},
		"budget:":          {"create", "example.com", "--budget=1"},
		"channels[0]:":     {"create", "example.com", "--channels=chn_none"},
		"watch list":       {"show", "example.com"},
		"account list":     {"list", "--account=acc_none"},
		"takes the domain": {"remove"},
	} {
		var out, errs bytes.Buffer
		assert.Equal(t, exitUsage, run(t.Context(), append([]string{"watch", store}, args...), &out, &errs), want)
		assert.Contains(t, errs.String(), want)
	}
}
