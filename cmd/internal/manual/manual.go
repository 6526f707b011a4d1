// Package manual writes the pages of the manual of a program, in the macros of man(7), from its commands: [Command] is
// the command that does. The sections have the order of man-pages(7).
package manual

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/cmd/internal/buildinfo"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Pages is what the commands of a program do not say of it.
type Pages struct {
	Section     int       // of the manual: 1 for commands, 8 for servers
	Description string    // of the program; paragraphs are separated by empty lines
	Exits       []string  // the meanings of the exit codes, from 0
	Chapters    []Chapter // further chapters of the program's page, such as FILES
	Examples    []Entry   // calls of the program, and what they do
	Related     []string  // further pages, such as "diag (1)"
}

// Chapter is a list with a title.
type Chapter struct {
	Title   string
	Entries []Entry
}

// Entry is a term, such as the name of a file, and its meaning.
type Entry struct{ Term, Meaning string }

// Command returns the command man, which writes a page for the program, with all its commands, and one for each of
// them.
func Command(root *cobra.Command, pages Pages, usageError func(string) error) *cobra.Command {
	return &cobra.Command{
		Use: "man FOLDER", Short: "Write the manual pages into a folder", Example: "  " + root.Name() + " man /tmp/man",
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
				name := filepath.Join(args[0], fmt.Sprintf("%s.%d", pageName(cmd), pages.Section))
				if err := os.WriteFile(name, pages.page(cmd), 0o644); err != nil {
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

var wordsToName = strings.NewReplacer(" ", "-", "/", "-", "{", "", "}", "")

// pageName makes a file's name of the words of a command.
func pageName(cmd *cobra.Command) string { return wordsToName.Replace(cmd.CommandPath()) }

// escape keeps a text from being taken for requests and escapes of man(7), and writes characters outside ASCII in its
// notation, since troff reads Latin-1.
func escape(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\t", "    ").Replace(strings.Trim(text, "\n"))
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	var b strings.Builder
	for _, r := range strings.Join(lines, "\n") {
		if r < 128 {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, r)
		}
	}
	return b.String()
}

// page is the page of a command.
func (p Pages) page(cmd *cobra.Command) []byte {
	var b bytes.Buffer
	p.writeHead(&b, cmd)
	text := cmp.Or(cmd.Long, phrase.Capitalize(cmd.Short)+".")
	if !cmd.HasParent() {
		text = p.Description
	}
	if len(cmd.Aliases) > 0 {
		text += "\n\nShort: " +
			strings.Join(kit.Map(cmd.Aliases, func(name string) string { return cmd.Root().Name() + " " + name }), ", ")
	}
	b.WriteString(".SH DESCRIPTION\n")
	writeText(&b, text)
	writeCommands(&b, cmd)
	p.writeOptions(&b, cmd)
	b.WriteString(".SH EXIT STATUS\n")
	for code, meaning := range p.Exits {
		writeEntry(&b, fmt.Sprint(code), meaning)
	}
	if !cmd.HasParent() {
		for _, chapter := range p.Chapters {
			fmt.Fprintf(&b, ".SH %s\n", chapter.Title)
			for _, e := range chapter.Entries {
				writeEntry(&b, e.Term, e.Meaning)
			}
		}
		b.WriteString(".SH EXAMPLES\n")
		for _, e := range p.Examples {
			writeEntry(&b, e.Term, e.Meaning)
		}
	} else if cmd.HasExample() {
		b.WriteString(".SH EXAMPLES\n")
		writeText(&b, cmd.Example)
	}
	p.writeRelated(&b, cmd)
	return b.Bytes()
}

// writeHead writes the title, whose date is that of the commit, and what the page is about.
func (p Pages) writeHead(b *bytes.Buffer, cmd *cobra.Command) {
	info, date := buildinfo.Read(), ""
	if info.Time != nil {
		date = info.Time.UTC().Format("2006-01-02")
	}
	name := pageName(cmd)
	fmt.Fprintf(b, ".TH \"%s\" \"%d\" \"%s\" \"diagkit %s\" \"\"\n.SH NAME\n%s \\- %s\n",
		escape(strings.ToUpper(name)), p.Section, date, strings.TrimPrefix(info.Version, "v"), escape(name),
		escape(cmd.Short))
	words := strings.TrimSuffix(cmd.UseLine(), " [flags]")
	if cmd.HasAvailableFlags() {
		words += " [options]"
	}
	rest := strings.TrimPrefix(words, cmd.CommandPath())
	fmt.Fprintf(b, ".SH SYNOPSIS\n\\fB%s\\fR%s\n", escape(cmd.CommandPath()), escape(rest))
}

// writeText writes the paragraphs of a section: indented ones line by line, others filled.
func writeText(b *bytes.Buffer, text string) {
	for i, paragraph := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		paragraph = strings.Trim(paragraph, "\n")
		if strings.HasPrefix(paragraph, " ") || strings.HasPrefix(paragraph, "\t") {
			fmt.Fprintf(b, ".nf\n%s\n.fi\n", escape(paragraph))
		} else {
			fmt.Fprintf(b, "%s\n", escape(paragraph))
		}
	}
}

func writeEntry(b *bytes.Buffer, term, meaning string) {
	fmt.Fprintf(b, ".TP\n.B %s\n%s\n", escape(term), escape(meaning))
}

// writeCommands lists the commands of a command that can be run, under the headings of its help.
func writeCommands(b *bytes.Buffer, cmd *cobra.Command) {
	commands := slices.DeleteFunc(descendants(cmd), (*cobra.Command).HasSubCommands)
	if len(commands) == 0 {
		return
	}
	b.WriteString(".SH COMMANDS\n")
	groups := append(slices.Clone(cmd.Groups()), &cobra.Group{Title: "Other:"})
	for _, g := range groups {
		if len(groups) > 1 {
			fmt.Fprintf(b, ".SS %s\n", escape(strings.TrimSuffix(g.Title, ":")))
		}
		for _, c := range commands {
			if c.GroupID == g.ID {
				words := strings.TrimSpace(strings.TrimPrefix(c.Parent().CommandPath(), cmd.CommandPath()) + " " + c.Use)
				meaning := phrase.Capitalize(c.Short)
				if len(c.Aliases) > 0 {
					meaning += "; short: " + strings.Join(c.Aliases, ", ")
				}
				writeEntry(b, words, meaning)
			}
		}
	}
}

// writeOptions describes the options of a command, and names those of the whole program.
func (p Pages) writeOptions(b *bytes.Buffer, cmd *cobra.Command) {
	shared := []string{}
	first := true
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	all.AddFlagSet(cmd.NonInheritedFlags())
	all.AddFlagSet(cmd.InheritedFlags())
	all.VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Hidden, f.Name == "help":
		case cmd.HasParent() && cmd.Root().PersistentFlags().Lookup(f.Name) == f:
			shared = append(shared, "--"+f.Name)
		default:
			if first {
				b.WriteString(".SH OPTIONS\n")
				first = false
			}
			writeOption(b, f)
		}
	})
	if len(shared) > 0 {
		fmt.Fprintf(b, ".SH OPTIONS OF ALL COMMANDS\n%s: see\n.BR %s (%d).\n", escape(strings.Join(shared, ", ")),
			escape(cmd.Root().Name()), p.Section)
	}
}

// writeOption describes an option, the kind of its value, and its default unless it is nothing.
func writeOption(b *bytes.Buffer, f *pflag.Flag) {
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	kind, usage := pflag.UnquoteUsage(f)
	if kind != "" {
		kind = ` \fI` + escape(kind) + `\fR`
	}
	if !slices.Contains([]string{"", "0", "0s", "false", "[]"}, f.DefValue) {
		usage += " (default: " + f.DefValue + ")"
	}
	fmt.Fprintf(b, ".TP\n\\fB%s\\fR%s\n%s\n", escape(name), kind, escape(usage))
}

// writeRelated names the pages of the commands of a command, and of those that it belongs to.
func (p Pages) writeRelated(b *bytes.Buffer, cmd *cobra.Command) {
	names := []string{}
	for c := cmd.Parent(); c != nil; c = c.Parent() {
		names = append(names, fmt.Sprintf("%s (%d)", pageName(c), p.Section))
	}
	if !cmd.HasParent() {
		names = append(names, p.Related...)
	}
	for _, c := range cmd.Commands() {
		if !c.Hidden && !c.IsAdditionalHelpTopicCommand() {
			names = append(names, fmt.Sprintf("%s (%d)", pageName(c), p.Section))
		}
	}
	if len(names) > 0 {
		slices.Sort(names)
		fmt.Fprintf(b, ".SH SEE ALSO\n.nh\n.BR %s\n", strings.Join(kit.Map(names, escape), ",\n.BR "))
	}
}
