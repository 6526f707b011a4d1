package main

import (
	"runtime/debug"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "version", Short: "Print the versions of the program and of the wire contract", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			v := versionView{Contract: httpapi.Version}
			if info, ok := debug.ReadBuildInfo(); ok {
				v.Version, v.Go = info.Main.Version, info.GoVersion
			}
			return a.print(v, func(t *table) {
				t.row("diagd", v.Version)
				t.row("contract", v.Contract)
				t.row("go", v.Go)
			})
		},
	}
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return cmd
}

type versionView struct {
	Version  string `json:"version"`
	Contract string `json:"contract_version"`
	Go       string `json:"go_version"`
}
