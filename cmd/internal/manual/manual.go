// Package manual writes the pages of the manual of a program, in the macros of man(7), from its commands: [Command] is
// the command that does.
package manual

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Command returns the command man, which writes a page for the program, with all its commands, and one for each of
// them. Exits explain the exit codes, from 0.
func Command(root *cobra.Command, exits []string, usageError func(string) error) *cobra.Command {
	return &cobra.Command{
		Use: "man FOLDER", Short: "Write the manual pages into a folder",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("man takes one argument, the output folder")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			for _, cmd := range append(descendants(root), root) {
				name := filepath.Join(args[0], pageName.Replace(cmd.CommandPath())+".1")
				if err := os.WriteFile(name, page(cmd, exits), 0o644); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// descendants lists the commands of a command, and theirs.
func descendants(cmd *cobra.Command) (list []*cobra.Command) {
	for _, c := range cmd.Commands() {
		if !c.Hidden && !c.IsAdditionalHelpTopicCommand() {
			list = append(append(list, c), descendants(c)...)
		}
	}
	return list
}

// pageName makes a file's name of the words of a command.
var pageName = strings.NewReplacer(" ", "-", "/", "-", "{", "", "}", "")

// escape keeps a text from being taken for requests and escapes of man(7).
func escape(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// page is the page of a command.
func page(cmd *cobra.Command, exits []string) []byte {
	var b bytes.Buffer
	name := pageName.Replace(cmd.CommandPath())
	fmt.Fprintf(&b, ".TH \"%s\" \"1\" \"\" \"diagkit\" \"\"\n.SH NAME\n%s \\- %s\n",
		strings.ToUpper(name), escape(name), escape(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n%s\n", escape(cmd.UseLine()))
	section := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, ".SH %s\n.nf\n%s\n.fi\n", title, escape(text))
		}
	}
	section("DESCRIPTION", cmd.Long)
	commands := slices.DeleteFunc(descendants(cmd), (*cobra.Command).HasSubCommands)
	if len(commands) > 0 {
		b.WriteString(".SH COMMANDS\n")
	}
	for _, c := range commands {
		group := strings.TrimPrefix(c.Parent().CommandPath(), cmd.CommandPath())
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", escape(group+" "+c.Use), escape(c.Short))
	}
	writeFlags(&b, "OPTIONS", cmd.NonInheritedFlags())
	writeFlags(&b, "OPTIONS OF ALL COMMANDS", cmd.InheritedFlags())
	section("EXAMPLE", cmd.Example)
	b.WriteString(".SH EXIT STATUS\n")
	for code, meaning := range exits {
		fmt.Fprintf(&b, ".TP\n.B %d\n%s\n", code, escape(meaning))
	}
	related := descendants(cmd)
	if cmd.HasParent() {
		related = append(related, cmd.Root())
	}
	section("SEE ALSO", strings.Join(kit.Map(related, func(c *cobra.Command) string {
		return pageName.Replace(c.CommandPath()) + "(1)"
	}), "\n"))
	return b.Bytes()
}

// writeFlags lists options with their purposes.
func writeFlags(b *bytes.Buffer, title string, list *pflag.FlagSet) {
	if list.HasAvailableFlags() {
		fmt.Fprintf(b, ".SH %s\n", title)
	}
	list.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", escape(name), escape(f.Usage))
	})
}
