// Command diagd serves the diagnostics as a metered HTTP API, and administers its accounts and keys.
//
//	diagd                      serve on 127.0.0.1:8080 with the store diag.db
//	diagd key create --name ci --scopes dns:read,mail:read
//	diagd usage
//
// Every flag is also an environment variable (DIAG_LISTEN for --listen) and a line of the file named
// by --config (listen = 127.0.0.1:8080).
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/diagkit/diagkit/cmd/diagd/internal/machine"
	"github.com/diagkit/diagkit/cmd/internal/buildinfo"
	"github.com/diagkit/diagkit/cmd/internal/flagvalue"
	"github.com/diagkit/diagkit/cmd/internal/manual"
	"github.com/diagkit/diagkit/cmd/internal/worldflags"
	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func main() {
	machine.BoundMemory()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process immediately
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
	exitFaults = 3 // an audit, a check of the settings or an examination was carried out, and found faults
)

// The results of an audit and of a check of the settings, not failures of them.
var (
	errFaults = errors.New("the audit found faults")
	errConfig = errors.New("the settings have faults")
)

// usageError is a fault of the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func newUsageError(text string) error { return usageError{errors.New(text)} }

// run is main without the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	lameDuck := func() <-chan time.Time { return time.After(lameDuckTime) }
	a := &app{
		stdout: stdout, stderr: stderr, drain: drainTime, lameDuck: lameDuck, slowOpen: slowOpenTime, wall: wallClock(),
	}
	return a.main(ctx, args)
}

// app holds the flags and the outputs.
type app struct {
	stdout, stderr io.Writer
	drain          time.Duration // how long running calls may continue after a signal
	slowOpen       time.Duration // after which a server that is still opening its store reports that
	// lame returns when, after a signal, the listener is closed; nil: immediately.
	lameDuck func() <-chan time.Time

	wall func() time.Time // the clock of this machine; nil means time.Now
	// steady is a clock that cannot be set, by which wall is checked; nil means the monotonic clock.
	monotonic func() time.Duration
	doubt     func() error     // whether it may be believed, while serving
	clock     func() time.Time // the time as far as it is known, while serving; nil means time.Now

	examining bool // the store must not be changed

	config  string
	store   string
	data    string
	json    bool
	world   worldflags.Flags
	serving serveFlags
	origins map[string]string // where each setting comes from that is not the default
}

func (a *app) main(ctx context.Context, args []string) int {
	root := a.command()
	root.SetArgs(args)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(a.stderr, "diagd:", err)
	if isUsage(err) {
		return exitUsage
	}
	if errors.Is(err, errFaults) || errors.Is(err, errConfig) || errors.Is(err, errDoctor) {
		return exitFaults
	}
	return exitFailed
}

// isUsage reports whether the command line, a setting or an input is at fault.
func isUsage(err error) bool {
	_, usage := errors.AsType[usageError](err)
	_, field := errors.AsType[*metering.FieldError](err)
	_, input := errors.AsType[*diag.InputError](err)
	_, setting := errors.AsType[*settingFaultView](err)
	return usage || field || input || setting
}

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use: "diagd", Short: "Serve DNS, mail and web diagnostics as a metered HTTP API", SilenceUsage: true,
		SilenceErrors: true, Args: rejectUnknown,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.readSettings(cmd.Flags()) },
		RunE:              func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context()) },
		Version:           buildinfo.Read().Text("diagd"),
	}
	root.SetVersionTemplate("{{.Version}}")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			err = fmt.Errorf("--%s: %s", bad.GetFlag().Name, flagvalue.Fault(bad))
		}
		return usageError{err}
	})
	flags := root.PersistentFlags()
	flags.StringVar(&a.config, "config", "", "file with a line 'key = value' for each setting")
	flags.StringVar(&a.store, "store", "sqlite:diag.db",
		"where accounts, keys and charges are stored: sqlite:FILE, memory:, or postgres://USER:PASSWORD@HOST/DATABASE, "+
			"which several servers may share; prefer DIAG_STORE if there is a password")
	flags.StringVar(&a.data, "data", "", "folder with files that replace the built-in lists of the same name")
	a.serving.add(root.Flags())
	a.world.Add(root.Flags())

	serve := newCommand("serve", "Serve the API (the default)", "", func(ctx context.Context, _ []string) error {
		return a.serve(ctx)
	})
	a.serving.add(serve.Flags())
	a.world.Add(serve.Flags())
	openapi := newCommand("openapi", "Print the OpenAPI document", "", func(context.Context, []string) error {
		_, err := a.stdout.Write(httpapi.Endpoints().OpenAPI())
		return err
	})
	version := newCommand("version", "Print the versions of the program and of the wire contract", "",
		func(context.Context, []string) error {
			info := buildinfo.Read()
			return a.print(info, func(t *table) { io.WriteString(t, info.Text("diagd")) })
		})
	a.addJSON(version)
	root.AddCommand(serve, openapi, version, a.accountCommand(), a.planCommand(), a.keyCommand(), a.channelCommand(),
		a.spfCommand(), a.usageCommand(), a.auditCommand(), a.billingCommand(), a.backupCommand(), a.restoreCommand(),
		a.migrateCommand(), a.configCommand(), a.dataCommand(), a.healthCommand(), a.doctorCommand(), a.mailCommand(),
		a.memberCommand(), a.logCommand(), a.watchCommand(), manual.Command(root, manualPages, newUsageError))
	addExamples(root)
	a.logActs(root)
	return root
}

// newCommand makes a command that takes an argument for each word of its use but the first; takes says which.
func newCommand(use, short, takes string, run func(context.Context, []string) error) *cobra.Command {
	n := strings.Count(use, " ")
	return &cobra.Command{
		Use: use, Short: short,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case n == 0 && len(args) > 0:
				return usagef("%s takes no argument, such as %q", cmd.CommandPath(), args[0])
			case len(args) != n:
				return usagef("%s takes %s", cmd.CommandPath(), takes)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), args) },
	}
}

func (a *app) newStoreCommand(
	use, short, takes string, run func(context.Context, metering.Admin, []string) error,
) *cobra.Command {
	return newCommand(use, short, takes, func(ctx context.Context, args []string) error {
		return a.administer(ctx, func(admin metering.Admin) error { return run(ctx, admin, args) })
	})
}

// appendLong adds to the short description of a command.
func appendLong(cmd *cobra.Command, text string) {
	cmd.Long = strings.TrimSpace(cmd.Short + ".\n\n" + text)
}

func (a *app) addJSON(cmd *cobra.Command) {
	cmd.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON")
}

// newGroup makes a command that does nothing but hold others, each with --json.
func (a *app) newGroup(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("%s needs a command; %[1]s --help lists them", cmd.CommandPath())
			}
			return rejectUnknown(cmd, args)
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	cmd.AddCommand(commands...)
	a.addJSON(cmd)
	return cmd
}

// rejectUnknown refuses words that are not commands.
func rejectUnknown(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unknown command %q; %s --help lists all", cmd.CommandPath()+" "+args[0], cmd.CommandPath())
	}
	return nil
}
