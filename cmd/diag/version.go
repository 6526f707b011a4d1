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
		Args: takes(0, "version takes no argument"),
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
