package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/diagkit/diagkit/httpapi/target/exporter"
	"github.com/spf13/cobra"
)

// The bounds of the flags: registries and mail servers refuse clients that query them too often.
const (
	shortestInterval = 15 * time.Minute
	mostParallel     = 64
)

func (a *app) exporterCommand() *cobra.Command {
	var file, listen string
	var w selection
	c := exporter.Config{}
	cmd := &cobra.Command{
		Use: "exporter [DOMAIN…]", Short: "Check domains on a schedule and serve the results to Prometheus",
		Example: "  diag exporter --targets domains.txt --listen 127.0.0.1:9781 --interval 6h",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			switch c.Options, err = w.options(); {
			case err != nil:
				return err
			case cmd.Flags().Changed("server"): // its environment variable is about other commands
				return usagef("exporter runs the checks itself: omit --server")
			case len(args) == 0 && file == "":
				return usagef("name domains as arguments or with --targets FILE")
			case c.Interval < shortestInterval:
				return usagef("--interval: must be at least %v", shortestInterval)
			case c.Parallel < 1 || c.Parallel > mostParallel:
				return usagef("--parallel: must be from 1 to %d", mostParallel)
			}
			c.List = func() (string, error) {
				list := strings.Join(args, "\n")
				if file == "" {
					return list, nil
				}
				data, err := readFile(file)
				return string(data) + "\n" + list, err
			}
			return a.runExporter(cmd.Context(), c, listen)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&file, "targets", "", "file with one domain per line; read again when it changes and on SIGHUP")
	flags.StringVar(&listen, "listen", "127.0.0.1:9781", "address to serve /metrics and /probe on")
	flags.DurationVar(&c.Interval, "interval", 6*time.Hour, "how often to check each domain")
	flags.IntVar(&c.Parallel, "parallel", 4, "how many domains to check concurrently")
	w.addChecks(cmd)
	return cmd
}

// runExporter serves until the context ends.
func (a *app) runExporter(ctx context.Context, c exporter.Config, listen string) error {
	if err := a.checkSharedFlags(); err != nil {
		return err
	}
	env, release, err := a.localEnv()
	if err != nil {
		return err
	}
	defer release()
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	c.Ask = func() target.Ask { return target.Local(env) }
	c.Timeout, c.Clock, c.Reload = a.timeout, env.Now, hup
	c.Log = slog.New(slog.NewTextHandler(a.stderr, nil))
	e := exporter.New(c)
	if err := e.Check(); err != nil { // before it reports that it serves
		return usageError{err}
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	server := &http.Server{Handler: e, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: time.Minute}
	defer server.Close()
	ctx, stop := context.WithCancelCause(ctx)
	go func() { stop(server.Serve(l)) }()
	fmt.Fprintf(a.stderr, "diag: serving http://%s/metrics\n", l.Addr())
	if err := e.Run(ctx); err != nil {
		return usageError{err}
	}
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
