package released

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each comment that deprecates something in the library says what takes its place and which release removes it.
func TestDeprecatedComments(t *testing.T) {
	for _, family := range families {
		folder := filepath.Join(moduleRoot(t), family)
		require.NoError(t, filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, text := range deprecations(t, path, source) {
				assert.True(t, validDeprecation(text), "%s: say %q instead of %q", path,
					"Deprecated: Use [Replacement]. Removed in 0.N.0.", "Deprecated: "+text)
			}
			return nil
		}))
	}
}

// deprecations are the paragraphs of comments that begin with "Deprecated:", without that.
func deprecations(t *testing.T, path string, source []byte) (found []string) {
	t.Helper()
	if !strings.Contains(string(source), "Deprecated:") {
		return nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, group := range file.Comments {
		found = append(found, paragraphs(group)...)
	}
	return found
}

func paragraphs(group *ast.CommentGroup) (found []string) {
	for paragraph := range strings.SplitSeq(group.Text(), "\n\n") {
		if text, ok := strings.CutPrefix(paragraph, "Deprecated:"); ok {
			found = append(found, strings.TrimSpace(text))
		}
	}
	return found
}

func TestDeprecations(t *testing.T) {
	const source = `package p

// F does it.
//
// Deprecated: Use [G], which
// ends with the context. Removed in 0.11.0.
func F() {}

// Deprecated: It is slow.
var V int
`
	found := deprecations(t, "p.go", []byte(source))
	require.Len(t, found, 2)
	assert.True(t, validDeprecation(found[0]))
	assert.False(t, validDeprecation(found[1]))
	assert.False(t, validDeprecation("Use [G]."), "without a version")
	assert.True(t, validDeprecation("use --secret; removed in 0.11.0"))
}

// What is deprecated remains promised, although help does not show it.
func TestCommands(t *testing.T) {
	root := &cobra.Command{Use: "tool"}
	run := func(*cobra.Command, []string) {}
	root.Flags().StringP("output", "o", "-", "")
	root.Flags().Bool("old", false, "")
	require.NoError(t, root.Flags().MarkDeprecated("old", "use --output; removed in 0.11.0"))
	root.Flags().Bool("hidden", false, "")
	require.NoError(t, root.Flags().MarkHidden("hidden"))
	root.AddCommand(&cobra.Command{Use: "show NAME", Aliases: []string{"cat"}, Run: run},
		&cobra.Command{Use: "x", Hidden: true, Run: run},
		&cobra.Command{Use: "print", Deprecated: "use show; removed in 0.11.0", Run: run})
	assert.ElementsMatch(t, []string{"command tool", `flag tool --output = string, default "-"`, "flag tool --output -o",
		`flag tool --old = bool, default "false"`, "command tool show", "command tool cat",
		"command tool print"}, Commands(t, root))
}
