// Command bench measures what metering costs and how much disk its ledger takes, and proves that diagd neither loses
// nor doubles a charge when its machine, its database, its clock or its biller fails:
//
//	go run ./cmd/diagd/internal/bench
//	go run ./cmd/diagd/internal/bench size --charges 1000000
//	go run ./cmd/diagd/internal/bench crash --rounds 100
//	go run ./cmd/diagd/internal/bench faults --store postgres://postgres@127.0.0.1/scratch
//
// It is for those who work on diagd or decide where to run it, and is no part of what is released. The servers that
// it kills are processes of a diagd that it builds, or that --diagd names. Every store is one of its own and is
// thrown away.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/diagkit/diagkit/cmd/diagd/internal/machine"
	"github.com/diagkit/diagkit/cmd/diagd/internal/printing"
	"github.com/spf13/cobra"
)

func main() {
	machine.BoundMemory() // as diagd does: the collector is part of the measurement
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process immediately
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// The exit codes, which are those of diagd.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
	exitFaults = 3 // servers were killed or disturbed, and an invariant is violated
)

// errFaults means that an invariant is violated.
var errFaults = errors.New("servers lost or doubled something, or sent a wrong invoice")

// usageError is a fault of the command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run is main without the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := (&app{stdout: stdout}).command()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(stderr, "bench:", err)
	if _, usage := errors.AsType[usageError](err); usage {
		return exitUsage
	}
	if errors.Is(err, errFaults) {
		return exitFaults
	}
	return exitFailed
}

// app holds the output and its format.
type app struct {
	stdout io.Writer
	json   bool
}

func (a *app) print(value any, human func(*printing.Table)) error {
	return printing.Print(a.stdout, a.json, value, human)
}

// benchFlags are the flags of all commands.
type benchFlags struct {
	conns           int
	duration        time.Duration
	rounds          int
	dir             string
	postgres, redis string
	diagd           string // the program that is killed; empty: one that is built
}

func (a *app) command() *cobra.Command {
	var f benchFlags
	root := &cobra.Command{
		Use: "bench", Short: "Measure the cost of metering against a plain net/http handler", Args: arguments(cobra.NoArgs),
		Long: "Serves text/lower on loopback in several variants, one after the other, with load from a " +
			"second process.",
		SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.bench(cmd.Context(), f) },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.Flags().IntVar(&f.conns, "connections", 64, "connections kept busy")
	root.Flags().DurationVar(&f.duration, "duration", 3*time.Second, "time for each way and round")
	root.Flags().IntVar(&f.rounds, "rounds", 3, "rounds; the median of each way by processor time counts")
	root.PersistentFlags().StringVar(&f.dir, "dir", "", "folder for the database files (default: a temporary one)")
	root.PersistentFlags().StringVar(&f.postgres, "postgres", "",
		"postgres://… of a database to measure too, in a schema that is dropped afterwards (default: none)")
	root.Flags().StringVar(&f.redis, "redis", "", "redis://… to measure PostgreSQL with too (default: none)")
	client := &cobra.Command{
		Use: "client ADDRESS SECRET MODE", Hidden: true, Args: arguments(cobra.ExactArgs(3)),
		RunE: func(_ *cobra.Command, args []string) error {
			return json.NewEncoder(a.stdout).Encode(load(args[0], args[1], args[2] == "idempotent", f.conns, f.duration))
		},
	}
	client.Flags().IntVar(&f.conns, "connections", 64, "")
	client.Flags().DurationVar(&f.duration, "duration", 3*time.Second, "")
	root.AddCommand(client, a.crashCommand(&f), a.faultsCommand(&f), a.sizeCommand(&f))
	return root
}

// arguments makes wrong arguments a fault of the command line.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usagef("%s: %w", cmd.CommandPath(), err)
		}
		return nil
	}
}

// addServing adds the flags of commands that start servers.
func (a *app) addServing(cmd *cobra.Command, f *benchFlags) {
	cmd.Flags().StringVar(&f.diagd, "diagd", "", "the diagd to run (default: one that is built here by the command go)")
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON")
}
