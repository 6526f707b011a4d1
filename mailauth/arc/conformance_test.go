package arc_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/arc"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestConformanceValidation plays the validation suite of ValiMail. Where a seal says cv=fail the suite does not
// specify the state of the chain, and has none: RFC 8617 section 5.2, step 2, does.
func TestConformanceValidation(t *testing.T) {
	type vector struct {
		Name, CV, Message string
		TXT               map[string]string
	}
	cases := diagtest.Cases[vector](t, diagtest.Suite(t, "mail/arc/validation.json"))
	specified, unspecified := 0, 0
	for _, c := range cases {
		r, err := arc.Verify(t.Context(), publish(t, c.TXT).Env(), []byte(c.Message), dkim.Options{})
		require.NoError(t, err, c.Name)
		if c.CV == "none" && sealedAsFailed([]byte(c.Message)) {
			assert.Equal(t, arc.Fail, r.Result, c.Name)
			unspecified++
			continue
		}
		specified++
		assert.Equal(t, arc.State(c.CV), r.Result, "%s: %s", c.Name, r.Reason)
	}
	require.Positive(t, specified)
	t.Logf("%d specified cases, %d unspecified ones", specified, unspecified)
}

// sealedAsFailed reports whether a seal of the message says cv=fail.
func sealedAsFailed(text []byte) bool {
	for _, f := range message.Split(text).All("ARC-Seal") {
		if strings.EqualFold(dkim.ParseSignature(dkim.ARCSeal, string(f.RawValue())).State, "fail") {
			return true
		}
	}
	return false
}

// TestConformanceStalwart plays messages with valid chains, below the records of their keys.
func TestConformanceStalwart(t *testing.T) {
	for _, path := range diagtest.Suite(t, "mail/arc/stalwart") {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		zone, text, ok := strings.Cut(string(data), "\n\n")
		require.True(t, ok, path)
		keys := map[string]string{}
		for line := range strings.Lines(zone) {
			name, record, _ := strings.Cut(strings.TrimSpace(line), " ")
			keys[name] = record
		}
		r, err := arc.Verify(t.Context(), publish(t, keys).Env(), []byte(text), dkim.Options{})
		require.NoError(t, err)
		assert.Equal(t, arc.Pass, r.Result, "%s: %s", path, r.Reason)
		t.Logf("%s: %d sets", filepath.Base(path), r.Instances)
	}
}
