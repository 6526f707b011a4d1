//go:build !race || nightly

package httpapi_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
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

// unusedInTexts are words that texts and documents do without.
var unusedInTexts = regexp.MustCompile(`(?i)\b(whoever|whom|whither|somebody|mend(s|ed|ing)?|for good|at once|next look|` +
	`look(s|ed|ing)? (at|after)|(is|are|was|were) none|told|lessens?|stands?|go(es)? on|became of|came about)\b`)

// unusedInFindings are those that texts of checks do without, which say of records and keys what stands for what, and that
// a policy is none.
var unusedInFindings = regexp.MustCompile(`(?i)\b(whoever|whither|somebody|mend(s|ed|ing)?|for good|next look|became of|` +
	`came about|stands? (twice|in|at|on|beside|before|behind|between|there|where|here|alone))\b`)

// coveredTexts are the folders whose texts are held to the words, and exceptTexts files with texts of others.
var (
	coveredTexts = map[string]*regexp.Regexp{
		"../cmd": unusedInTexts, "../examples": unusedInTexts, "../textutil": unusedInTexts,
		"../diag": unusedInFindings, "../httpapi": unusedInFindings, "../mailauth": unusedInFindings,
		"../metering": unusedInFindings, "../webcheck": unusedInFindings,
	}
	exceptTexts = []string{"../textutil/password_words.txt"}
)

// TestWordsOfTexts holds string literals and documents to the words of the field. A literal without a space is a name:
// of a flag, a route, a command, a code or a field. Texts between quotes and code are those of others.
func TestWordsOfTexts(t *testing.T) {
	var words *regexp.Regexp
	check := func(file, text string) {
		word := words.FindString(text)
		assert.True(t, word == "", "%s: a text says %q:\n%s", file, word, text)
	}
	texts := 0
	for folder, unused := range coveredTexts {
		words = unused
		require.NoError(t, filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				if err == nil && d.Name() == "testdata" {
					return fs.SkipDir
				}
				return err
			}
			switch ext := filepath.Ext(file); {
			case slices.Contains(exceptTexts, filepath.ToSlash(file)), strings.HasSuffix(file, "_test.go"):
			case ext == ".go":
				f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
				require.NoError(t, err)
				for _, text := range literals(f) {
					texts++
					check(file, text)
				}
			case ext == ".md", ext == ".txt", ext == ".yaml", ext == ".html" && !strings.Contains(file, "internet"):
				data, err := os.ReadFile(file)
				require.NoError(t, err)
				check(file, inCode.ReplaceAllString(string(data), ""))
			}
			return nil
		}))
	}
	require.Greater(t, texts, 1000)
}

// inCode matches code and JSON in documents.
var inCode = regexp.MustCompile("`[^`\n]*`|(?m)^(    |\\{).*$")

// literals returns the string literals of a file that are texts, and the descriptions in tags of fields.
func literals(f *ast.File) (list []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			switch {
			case n.Kind != token.STRING || err != nil || !strings.Contains(text, " "), strings.HasPrefix(text, "{"):
			case strings.Contains(text, `json:"`):
				list = append(list, reflect.StructTag(text).Get("doc"))
			default:
				list = append(list, text)
			}
		}
		return true
	})
	return list
}
