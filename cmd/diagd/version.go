package main

import (
	"io"

	"github.com/diagkit/diagkit/cmd/buildinfo"
	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "version", Short: "Print the versions of the program and of the wire contract", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			info := buildinfo.Read()
			return a.print(info, func(t *table) { io.WriteString(t.w, info.Text("diagd")) })
		},
	}
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return cmd
}
