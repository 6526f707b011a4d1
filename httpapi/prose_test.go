package httpapi

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// programText is text that a program wrote for itself: errors and values of Go, and several lines.
var programText = regexp.MustCompile(`\n|%!|<nil>|map\[|\b(dial|read|write) (udp|tcp|ip)\b|i/o timeout|context (deadline|canceled)|` +
	`\bEOF\b|connection re(fused|set)|no such host|\[\w[^\]"',]* \w+[^\]"',]*\]`)

// prose are the members of a reply that people read.
var prose = map[string]bool{"title": true, "detail": true, "advice": true, "verdict_headline": true, "verdict_sub": true, "message": true}

// checkProse fails for texts of a reply that are not readable sentences, and for one thing under two names.
func checkProse(t *testing.T, reply []byte) {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal(reply, &v))
	walk(v, func(object map[string]any) {
		for name, value := range object {
			if text, ok := value.(string); ok && prose[name] {
				require.NotRegexp(t, programText, text, "%s", name)
				require.Equal(t, strings.TrimSpace(text), text, "%s", name)
			}
			if name == "banner" { // the text, and how long it took to come (CONTRACT 3.3.2)
				continue
			}
			for _, unit := range []string{"_seconds", "_ms", "_bytes"} {
				require.NotContains(t, object, name+unit, "one thing has two names")
			}
		}
	})
}

// walk calls f with every object in a JSON value.
func walk(v any, f func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		f(v)
		for _, member := range v {
			walk(member, f)
		}
	case []any:
		for _, item := range v {
			walk(item, f)
		}
	}
}
