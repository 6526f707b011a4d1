package main

import (
	"cmp"
	"io"

	"github.com/diagkit/diagkit/cmd/internal/buildinfo"
	"github.com/diagkit/diagkit/httpapi/agent"
	"github.com/spf13/cobra"
)

func (a *app) mcpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "mcp", Short: "Serve the checks to an AI agent as tools (Model Context Protocol) on standard input and output",
		Long: "Serve the checks to an AI agent as tools (Model Context Protocol) on standard input and output.\n\n" +
			"The agent starts this command. Checks run locally without a key, or at the server of --server\n" +
			"with the key of --key or $DIAG_KEY; the server charges for them.",
		Example: "  diag mcp\n  diag mcp --server https://diag.example --key svc_live_…",
		Args:    exactArgs(0, "mcp takes no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmp.Or(a.chooseServer(cmd), a.checkKey()); err != nil {
				return err
			}
			ask, release, err := a.newAsker()
			if err != nil {
				return err
			}
			defer release()
			local := agent.Local{Ask: ask, Charged: a.server != "", Version: buildinfo.Read().Version}
			return agent.Serve(cmd.Context(), local, io.NopCloser(a.stdin), nopWriteCloser{a.stdout})
		},
	}
}

// nopWriteCloser is a writer that others close.
type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }
