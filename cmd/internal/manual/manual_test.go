package manual

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func program() *cobra.Command {
	root := &cobra.Command{Use: "tool", Short: "Do things", SilenceErrors: true, SilenceUsage: true}
	root.PersistentFlags().BoolP("verbose", "v", false, "say more")
	key := &cobra.Command{Use: "key", Short: "Look after keys", RunE: func(*cobra.Command, []string) error { return nil }}
	create := &cobra.Command{Use: "create NAME", Short: "Create a key", Example: "  tool key create x", Run: func(*cobra.Command, []string) {},
		Long: ".begins with a dot…\nC:\\path"}
	create.Flags().Bool("secret", false, "not shown")
	create.Flags().Lookup("secret").Hidden = true
	key.AddCommand(create)
	hidden := &cobra.Command{Use: "hidden", Hidden: true, Run: func(*cobra.Command, []string) {}}
	root.AddCommand(key, hidden)
	root.AddCommand(Command(root, Pages{
		Section: 8, Description: "The tool does\nthings.\n\n  as here", Exits: []string{"It is done.", "It failed."},
		Chapters: []Chapter{{"FILES", []Entry{{"/etc/tool", "Settings."}}}},
		Examples: []Entry{{"tool key create x", "Create x."}}, Related: []string{"other (1)"},
	}, func(text string) error { return errors.New(text) }))
	return root
}

// The page of the program has all commands, with those that hold others in front of them, and the exit codes.
func TestPages(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "man1") // which need not exist
	root := program()
	root.SetArgs([]string{"man", folder})
	require.NoError(t, root.Execute())
	text, err := os.ReadFile(filepath.Join(folder, "tool.8"))
	require.NoError(t, err)
	for _, part := range []string{
		".TH \"TOOL\" \"8\"", ".SH DESCRIPTION\nThe tool does\nthings.\n.PP\n.nf\n  as here\n.fi\n",
		".SH FILES\n.TP\n.B /etc/tool\nSettings.\n", ".SH EXAMPLES\n.TP\n.B tool key create x\nCreate x.\n",
		".SH NAME\ntool \\- Do things\n", ".SH COMMANDS\n", "\n.B key create NAME\nCreate a key\n",
		"\n\\fB\\-v, \\-\\-verbose\\fR\nsay more\n", ".SH EXIT STATUS\n.TP\n.B 0\nIt is done.\n.TP\n.B 1\nIt failed.\n",
		".SH SEE ALSO\n.nh\n.BR other (1),\n", ".BR tool\\-key (8),\n",
	} {
		assert.Contains(t, string(text), part)
	}
	assert.NotContains(t, string(text), "hidden")
	text, err = os.ReadFile(filepath.Join(folder, "tool-key-create.8"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "\\&.begins with a dot\\[u2026]\nC:\\epath\n")
	assert.NotContains(t, string(text), "secret")
	assert.Contains(t, string(text), ".SH EXAMPLES\n.nf\n  tool key create x\n.fi\n")
	assert.Contains(t, string(text), "OPTIONS OF ALL COMMANDS\n\\-\\-verbose: see\n.BR tool (8).\n")
	assert.NoFileExists(t, filepath.Join(folder, "tool-hidden.8"))

	root.SetArgs([]string{"man"})
	assert.EqualError(t, root.Execute(), "man takes one argument, the output folder")
}
