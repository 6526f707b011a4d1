package main

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/spf13/cobra"
)

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use: "explain CODE", Short: "Explain a finding and how to fix it",
		Example: "  diag explain spf.lookups.exceeded\n  diag explain spf.lookups",
		Args:    exactArgs(1, "explain takes one argument, a code such as spf.lookups.exceeded or its beginning"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, typed string) (codes []string, _ cobra.ShellCompDirective) {
			for _, r := range httpapi.Endpoints().Rules() {
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
	found, near := httpapi.Endpoints().Explain(code)
	switch {
	case near != "":
		return usagef("unknown finding %q; did you mean %s?", code, near)
	case len(found) == 0:
		return usagef("unknown finding %q", code)
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
		v.Fact("found by", phrase.Series(r.Operations, 4))
		options.Sign = view.MarkOf(r.Severity)
		if err := render.Text(&b, v, options); err != nil {
			return err
		}
	}
	return a.writeOut(b.Bytes())
}
