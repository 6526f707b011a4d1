package main

import (
	"encoding/json"
	"io"

	"github.com/diagkit/diagkit/cmd/buildinfo"
	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the versions of the program and of the wire contract",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("version takes no argument, such as %q", args[0])
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			info := buildinfo.Read()
			if a.formats.json {
				return json.NewEncoder(a.stdout).Encode(info)
			}
			_, err := io.WriteString(a.stdout, info.Text("diag"))
			return err
		},
	}
}
