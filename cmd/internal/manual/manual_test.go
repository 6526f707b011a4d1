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
	root := &cobra.Command{Use: "tool", Short: "Do things", Example: "  tool key create x", SilenceErrors: true, SilenceUsage: true}
	root.PersistentFlags().BoolP("verbose", "v", false, "say more")
	key := &cobra.Command{Use: "key", Short: "Look after keys", RunE: func(*cobra.Command, []string) error { return nil }}
	create := &cobra.Command{Use: "create NAME", Short: "Create a key", Run: func(*cobra.Command, []string) {},
		Long: ".begins with a dot\nC:\\path"}
	create.Flags().Bool("secret", false, "not shown")
	create.Flags().Lookup("secret").Hidden = true
	key.AddCommand(create)
	hidden := &cobra.Command{Use: "hidden", Hidden: true, Run: func(*cobra.Command, []string) {}}
	root.AddCommand(key, hidden)
	root.AddCommand(Command(root, []string{"It is done.", "It failed."}, func(text string) error { return errors.New(text) }))
	return root
}

// The page of the program has all commands, with those that hold others in front of them, and the exit codes.
func TestPages(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "man1") // which need not exist
	root := program()
	root.SetArgs([]string{"man", folder})
	require.NoError(t, root.Execute())
	text, err := os.ReadFile(filepath.Join(folder, "tool.1"))
	require.NoError(t, err)
	for _, part := range []string{
		".TH \"TOOL\" \"1\"", ".SH NAME\ntool \\- Do things\n", ".SH COMMANDS\n", "\n.B key create NAME\nCreate a key\n",
		"\n.B \\-v, \\-\\-verbose\nsay more\n", ".SH EXIT STATUS\n.TP\n.B 0\nIt is done.\n.TP\n.B 1\nIt failed.\n",
		"tool\\-key\\-create(1)",
	} {
		assert.Contains(t, string(text), part)
	}
	assert.NotContains(t, string(text), "hidden")
	text, err = os.ReadFile(filepath.Join(folder, "tool-key-create.1"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "\\&.begins with a dot\nC:\\epath\n")
	assert.NotContains(t, string(text), "secret")
	assert.NoFileExists(t, filepath.Join(folder, "tool-hidden.1"))

	root.SetArgs([]string{"man"})
	assert.EqualError(t, root.Execute(), "man takes one argument, the output folder")
}
