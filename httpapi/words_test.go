//go:build !race || nightly

package httpapi_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unused are words that comments do without: the field has others.
var unused = regexp.MustCompile(`(?i)\b(somebody|whoever|tells of|told of|became of|came about|came of it|(and|or|that|which) (is|are) none)\b`)

// TestWords holds comments to the words of the field.
func TestWords(t *testing.T) {
	files := 0
	err := filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "testdata" || d.Name() == ".git" || d.Name() == "node_modules" {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(file) != ".go" || file == filepath.Join("..", "httpapi", "words_test.go") {
			return nil
		}
		files++
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, group := range f.Comments {
			text := group.Text()
			word := unused.FindString(quoted.ReplaceAllString(text, ""))
			assert.True(t, word == "" || strings.Contains(text, "Output:"), "%s: a comment says %q:\n%s", file, word, text)
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, files, 1000)
}
