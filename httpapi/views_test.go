package httpapi

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	factCall = regexp.MustCompile(`(?s)\.Fact\(.*?\)\n`)
	codeText = regexp.MustCompile(`"([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+)"`)
)

// The codes by which views mark a fact are those of rules, or begin some: one that is misspelt would never mark anything.
func TestCodesOfFacts(t *testing.T) {
	known := map[string]bool{}
	for _, ep := range endpoints {
		for _, r := range ep.Rules() {
			for code := string(r.Code); code != ""; {
				known[code] = true
				i := strings.LastIndexByte(code, '.')
				code = code[:max(i, 0)]
			}
		}
	}
	files, err := filepath.Glob("../*/*/view.go")
	require.NoError(t, err)
	deeper, err := filepath.Glob("../*/*/*/view.go")
	require.NoError(t, err)
	n := 0
	for _, file := range append(files, deeper...) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, call := range factCall.FindAllString(string(text), -1) {
			for _, m := range codeText.FindAllStringSubmatch(call, -1) {
				n++
				assert.True(t, known[m[1]], "%s: there is no rule %s", file, m[1])
			}
		}
	}
	assert.NotZero(t, n)
}
