package released

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Commands are the commands of a program, in lines: their names, their other names, and their flags with type and
// default. What is hidden is not promised, but for what is deprecated and therefore hidden. The test fails if a text
// about that lacks the replacement or the release that removes it.
func Commands(t testing.TB, cmd *cobra.Command) (lines []string) {
	t.Helper()
	if cmd.Hidden && cmd.Deprecated == "" || cmd.IsAdditionalHelpTopicCommand() {
		return nil
	}
	path := cmd.CommandPath()
	deprecated(t, path, cmd.Deprecated)
	lines = append(lines, "command "+path)
	for _, alias := range cmd.Aliases {
		lines = append(lines, "command "+strings.TrimSuffix(path, cmd.Name())+alias)
	}
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden && f.Deprecated == "" {
			return
		}
		deprecated(t, path+" --"+f.Name, f.Deprecated)
		flag := "flag " + path + " --" + f.Name
		lines = append(lines, fmt.Sprintf("%s = %s, default %q", flag, f.Value.Type(), f.DefValue))
		if f.Shorthand != "" {
			lines = append(lines, flag+" -"+f.Shorthand)
		}
	})
	for _, c := range cmd.Commands() {
		lines = append(lines, Commands(t, c)...)
	}
	return lines
}

func deprecated(t testing.TB, what, text string) {
	t.Helper()
	if text != "" && !validDeprecation(text) {
		t.Errorf("%s: say %q instead of %q", what, "use REPLACEMENT; removed in 0.N.0", text)
	}
}

// Appended reports whether a line is an earlier one with more at its end, as columns are added.
func Appended(earlier, line string) bool { return strings.HasPrefix(line, earlier+",") }

// CommandsRemedy says what to do instead of removing a command or a flag.
const CommandsRemedy = "A command or flag keeps working: hide it with MarkDeprecated or the field Deprecated, " +
	"which name its replacement and the version that removes it."
