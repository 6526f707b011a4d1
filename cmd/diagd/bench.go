package main

import "github.com/spf13/cobra"

// benchCommand says where the commands that measure and kill servers are: in a program of its own.
func benchCommand() *cobra.Command {
	elsewhere := func(name string) *cobra.Command {
		return &cobra.Command{
			Use: name, Short: "Not here: see the source's cmd/diagd/internal/bench", Hidden: true, DisableFlagParsing: true,
			RunE: func(cmd *cobra.Command, _ []string) error {
				return usagef("%s is no part of this program; run cmd/diagd/internal/bench of its source", cmd.CommandPath())
			},
		}
	}
	cmd := elsewhere("bench")
	cmd.AddCommand(elsewhere("crash"), elsewhere("faults"))
	return cmd
}
