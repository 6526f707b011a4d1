package released

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag"
	_ "github.com/diagkit/diagkit/diag/diagtest" // its flag -update
)

// What a list allows and refuses, of a development version, a patch release and a minor one.
func TestCompare(t *testing.T) {
	const recorded = "# What diagkit 0.9.0 promises.\na = 1\nb = 2\nc()\n"
	notes := "# Changelog\n\n## 0.10.0\n\n### Breaking\n\n- c is gone.\n\n## 0.9.0\n\nThe first.\n"
	for _, tt := range []struct {
		name, version string
		list          List
		changelog     string
		want          []string // parts of the fault; none: there is no fault
	}{
		{"unchanged", "0.9.0", List{Lines: []string{"c()", "b = 2", "a = 1"}}, "", nil},
		{"added", "0.9.0", List{Lines: []string{"a = 1", "b = 2", "c()", "d"}}, "", nil},
		{"kept by what follows", "0.9.0", List{Lines: []string{"a = 1", "b = 2"}, Also: []string{"c()"}}, "", nil},
		{"removed", "0.9.0", List{Lines: []string{"a = 1", "b = 2"}, Remedy: "Keep it."}, notes,
			[]string{"what 0.9.0 promised", "\t- c()\n", "Keep it.", "minor release"}},
		{"changed", "0.9.0", List{Lines: []string{"a = 2", "b = 2", "c(int)"}}, notes,
			[]string{"\t- a = 1\n\t+ a = 2\n", "\t- c()\n\t+ c(int)\n"}},
		{"widened", "0.9.0", List{Lines: []string{"a = 1,3", "b = 2", "c()"}, Widened: Appended}, "", nil},
		{"a patch release", "0.9.1", List{Lines: []string{"a = 1", "b = 2"}}, notes,
			[]string{"A patch release breaks nothing."}},
		{"a minor release", "0.10.0", List{Lines: []string{"a = 1", "b = 2"}}, notes, nil},
		{"a minor release without notes", "0.11.0", List{Lines: []string{"a = 1", "b = 2"}}, notes,
			[]string{`"### Breaking" of 0.11.0`}},
		{"a permanent list", "0.10.0", List{Lines: []string{"a = 1", "b = 2"}, Permanent: true}, notes, []string{"\t- c()"}},
	} {
		fault := tt.list.compare(tt.version, recorded, tt.changelog)
		assert.Equal(t, tt.want == nil, fault == "", "%s: %s", tt.name, fault)
		for _, part := range tt.want {
			assert.Contains(t, fault, part, tt.name)
		}
	}
}

// What is accepted may become more, and what is answered may not become less.
func TestWidened(t *testing.T) {
	for _, tt := range []struct {
		earlier, line string
		want          bool
	}{
		{"POST /x credits = 5", "POST /x credits = 4", true},
		{"POST /x credits = 5", "POST /x credits = 6", false},
		{"request POST /x.a maxLength = 10", "request POST /x.a maxLength = 20", true},
		{"request POST /x.a maxLength = 10", "request POST /x.a maxLength = none", true},
		{"request POST /x.a maxLength = 10", "request POST /x.a maxLength = 9", false},
		{"request POST /x.a maxLength = none", "request POST /x.a maxLength = 9", false},
		{"request POST /x.a maxLength = 10", "request POST /x.b maxLength = 20", false},
		{"request POST /x.a minimum = 1", "request POST /x.a minimum = 0", true},
		{"request POST /x.a minimum = 1", "request POST /x.a minimum = 2", false},
		{"request POST /x.a pattern = ^a$", "request POST /x.a pattern = none", true},
		{"request POST /x.a pattern = none", "request POST /x.a pattern = ^a$", false},
		{"request POST /x requires = a b", "request POST /x requires = b", true},
		{"request POST /x requires = a", "request POST /x requires = nothing", true},
		{"request POST /x requires = nothing", "request POST /x requires = a", false},
		{"request POST /x one of = a b", "request POST /x one of = a b c", true},
		{"request POST /x.a = integer", "request POST /x.a = integer | string", true},
		{"request POST /x.a = string", "request POST /x.a = enumeration", false},
		{"request POST /x.a = enumeration", "request POST /x.a = string", true},
		{"reply Y.a maximum = 10", "reply Y.a maximum = 9", true},
		{"reply Y.a maximum = 10", "reply Y.a maximum = 11", false},
		{"reply Y.a = string", "reply Y.a = string, always", true},
		{"reply Y.a = string, always", "reply Y.a = string", false},
		{"reply Y.a = string", "reply Y.a = null | string", false},
	} {
		assert.Equal(t, tt.want, widened(tt.earlier, tt.line), "%s, then %s", tt.earlier, tt.line)
	}
}

// All lists are of one version, and each is that of a test.
func TestLists(t *testing.T) {
	lists, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, lists)
	for _, path := range lists {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.True(t, isOf(string(text), diag.Version), "%s is of another version than %s", path, diag.Version)
		assert.Greater(t, strings.Count(string(text), "\n"), 1, path)
	}
}
