package main

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The manual has all commands and exit codes of the server.
func TestManual(t *testing.T) {
	folder := t.TempDir()
	require.Equal(t, exitOK, run(t.Context(), []string{"man", folder}, io.Discard, io.Discard))
	text, err := os.ReadFile(filepath.Join(folder, "diagd.8"))
	require.NoError(t, err)
	for _, part := range []string{
		"\n.B key create\n", "\n.B serve\n", "\n\\fB\\-\\-listen\\fR \\fIstring\\fR\n", ".SH EXIT STATUS\n", "\n.B 3\n",
		".SH ENVIRONMENT\n", ".SH FILES\n", ".SH SIGNALS\n", ".SH EXAMPLES\n",
	} {
		assert.Contains(t, string(text), part)
	}
	require.FileExists(t, filepath.Join(folder, "diagd-key-create.8"))
	assert.Equal(t, exitUsage, run(t.Context(), []string{"man"}, io.Discard, io.Discard))
}

// Each command that runs has an example, which it accepts.
func TestExamples(t *testing.T) {
	rest := maps.Clone(examples)
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			walk(c)
			name := strings.TrimPrefix(c.CommandPath(), "diagd ")
			if c.HasSubCommands() || strings.HasPrefix(name, "completion") || name == "help" {
				continue
			}
			require.NotEmpty(t, c.Example, name)
			delete(rest, name)
			words, _, _ := strings.Cut(strings.TrimSpace(c.Example), " >")
			args := shellWords(strings.TrimPrefix(words, "diagd "))
			found, args, err := c.Root().Find(args)
			require.NoError(t, err, name)
			require.Equal(t, c.CommandPath(), found.CommandPath())
			require.NoError(t, found.ParseFlags(args), name)
			require.NoError(t, found.ValidateArgs(found.Flags().Args()), name)
			require.NoError(t, found.ValidateRequiredFlags(), name)
		}
	}
	walk((&app{}).command())
	assert.Empty(t, rest, "examples of no command")
}

// shellWords splits a command line whose only quotes are double ones around words.
func shellWords(line string) (words []string) {
	for _, w := range regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(line, -1) {
		words = append(words, strings.Trim(w, `"`))
	}
	return words
}
