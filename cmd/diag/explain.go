package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use: "explain CODE", Short: "Say what a finding means, and what to do about it",
		Example: "  diag explain spf.lookups.exceeded\n  diag explain spf.lookups",
		Args:    takes(1, "explain takes one argument, a code such as spf.lookups.exceeded or its beginning"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, typed string) (codes []string, _ cobra.ShellCompDirective) {
			for _, r := range httpapi.AllRules() {
				if len(args) == 0 && strings.HasPrefix(string(r.Code), typed) {
					codes = append(codes, string(r.Code))
				}
			}
			return codes, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.explain(args[0]) },
	}
}

func (a *app) explain(code string) error {
	found, near := httpapi.Explain(code)
	switch {
	case near != "":
		return usagef("there is no finding %q; did you mean %s?", code, near)
	case len(found) == 0:
		return usagef("there is no finding %q", code)
	}
	if a.formats.json {
		text, err := json.MarshalIndent(found, "", "  ")
		if err != nil {
			return err
		}
		return a.writeOut(append(text, '\n'))
	}
	var b bytes.Buffer
	options := a.terminalOptions()
	for i, r := range found {
		if i > 0 {
			b.WriteString("\n")
		}
		v := view.Answer(string(r.Code), r.Title)
		v.Sub = r.Advice
		v.Fact("severity", r.Severity.String())
		v.Fact("required", r.Requirement)
		v.Fact("written in", r.Reference)
		v.Fact("found by", diag.Series(r.Operations, 4))
		options.Sign = view.MarkOf(r.Severity)
		if err := render.Text(&b, v, options); err != nil {
			return err
		}
	}
	return a.writeOut(b.Bytes())
}

func manual(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "man FOLDER", Short: "Write the pages of the manual into a folder",
		Args: takes(1, "man takes one argument, the folder to write into"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			for _, cmd := range append(root.Commands(), root) {
				name := pageName.Replace(cmd.CommandPath()) + ".1"
				if err := os.WriteFile(filepath.Join(args[0], name), manPage(cmd), 0o644); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// pageName makes a file's name of the words of a command.
var pageName = strings.NewReplacer(" ", "-", "/", "-", "{", "", "}", "")

// roff keeps a text from being taken for requests and escapes of man(7).
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// exitMeanings says what each exit code tells.
var exitMeanings = [...]string{
	exitOK:         "Nothing is as severe as --fail-on, by default error.",
	exitFinding:    "There is a finding of that severity or worse.",
	exitUsage:      "The command line or an input is at fault.",
	exitIncomplete: "Nothing could be learned, or not all was written.",
	exitPartial:    "Something could not be learned, and nothing is wrong in the rest.",
}

// manPage is the page of a command, in the macros of man(7).
func manPage(cmd *cobra.Command) []byte {
	var b bytes.Buffer
	name := pageName.Replace(cmd.CommandPath())
	fmt.Fprintf(&b, ".TH \"%s\" \"1\" \"\" \"diagkit\" \"\"\n.SH NAME\n%s \\- %s\n",
		strings.ToUpper(name), roff(name), roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n%s\n", roff(cmd.UseLine()))
	section := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, ".SH %s\n.nf\n%s\n.fi\n", title, roff(text))
		}
	}
	section("DESCRIPTION", cmd.Long)
	flags := func(title string, list *pflag.FlagSet) {
		if list.HasAvailableFlags() {
			fmt.Fprintf(&b, ".SH %s\n", title)
		}
		list.VisitAll(func(f *pflag.Flag) {
			name := "--" + f.Name
			if f.Shorthand != "" {
				name = "-" + f.Shorthand + ", " + name
			}
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(name), roff(f.Usage))
		})
	}
	if list := slices.DeleteFunc(slices.Clone(cmd.Commands()), (*cobra.Command).IsAdditionalHelpTopicCommand); len(list) > 0 {
		b.WriteString(".SH COMMANDS\n")
		for _, c := range list {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(c.Use), roff(c.Short))
		}
	}
	flags("OPTIONS", cmd.NonInheritedFlags())
	flags("OPTIONS OF ALL COMMANDS", cmd.InheritedFlags())
	section("EXAMPLE", cmd.Example)
	b.WriteString(".SH EXIT STATUS\n")
	for code, meaning := range exitMeanings {
		fmt.Fprintf(&b, ".TP\n.B %d\n%s\n", code, roff(meaning))
	}
	related := cmd.Commands()
	if cmd.HasParent() {
		related = []*cobra.Command{cmd.Root()}
	}
	page := func(c *cobra.Command) string { return pageName.Replace(c.CommandPath()) + "(1)" }
	section("SEE ALSO", strings.Join(diag.Map(related, page), "\n"))
	return b.Bytes()
}
