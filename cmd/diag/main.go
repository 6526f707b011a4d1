// Command diag runs every check of the API from a terminal: locally through the library, or against a server.
//
//	diag example.com
//	diag example.com --plan
//	diag mta-sts/lookup example.com
//	diag resolve example.com MX --dnssec
//	diag http/qr "https://example.com" --output code.png
//	diag text/upper - < notes.txt
//	diag resolve example.com A --server https://diag.example --key svc_live_…
//	diag spf/hosted/spf_…/history --limit 5 --server https://diag.example --key svc_live_…
//
// A domain alone runs every check that needs no more, and prints one screen; --plan prints what to change, step by
// step, and the state of the domain after each step. "-" as an argument denotes standard input. Text utilities print
// their result unchanged, so that it can be piped.
//
// The names of checks are the paths of the API. For {id} in one, the id goes into its place, or follows the name as
// an argument. Hosted SPF profiles are kept by a server, and so need --server.
//
// The exit code is the result: 0 nothing at or above --fail-on, 1 a finding at or above it, 2 a fault of the command
// line, 3 the check could not be completed, 4 a part could not be measured.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/diagkit/diagkit/cmd/internal/buildinfo"
	"github.com/diagkit/diagkit/cmd/internal/flagvalue"
	"github.com/diagkit/diagkit/cmd/internal/manual"
	"github.com/diagkit/diagkit/cmd/internal/worldflags"
	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	a.terminal = term.IsTerminal(int(os.Stdout.Fd()))
	if columns, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		a.columns = columns
	}
	a.progress = term.IsTerminal(int(os.Stderr.Fd()))
	code := a.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// The exit codes (CONTRACT 8.3).
const (
	exitOK         = 0
	exitFinding    = 1
	exitUsage      = 2
	exitIncomplete = 3
	exitPartial    = 4
)

// app holds the flags that all checks share, and the streams.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	terminal       bool                        // stdout is one: color makes sense
	columns        int                         // of the terminal; 0 if not known
	progress       bool                        // stderr is one: so does progress
	env            *diag.Env                   // replaces the world of the flags, for tests
	waitReady      func(context.Context) error // waits for room at the name servers, if queried from here

	world       worldflags.Flags
	formats     formats
	short       bool
	selection   selection
	batch       batch
	zone        zoneFlags
	line        *digLine // nil if the command line is not one of dig, host or nslookup
	verbose     bool
	quiet       bool
	color       string
	output      string
	failOn      string
	server      string
	serverNamed bool // server is that of --server, not of the environment
	key         string
	timeout     time.Duration

	multi     *multiAnswer  // nil if there is one question
	threshold diag.Severity // of --fail-on
	code      int           // exit code of the check
}

// run is main without the process around it.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.command()
	flags := root.PersistentFlags()
	args, err := a.extractDigLine(flags, protectPEM(args))
	if err != nil {
		return a.reportError(err)
	}
	args = expandPath(flags, replaceShortName(flags, args))
	a.addChecks(root, args)
	a.zone.findDomain(root, append(args, a.line.names()...))
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		return a.reportError(err)
	}
	return a.code
}

// reportError reports an error, and returns its exit code.
func (a *app) reportError(err error) int {
	for _, line := range errorLines(err) {
		fmt.Fprintln(a.stderr, "diag:", printable(line))
	}
	if isUsageError(err) {
		return exitUsage
	}
	if errors.Is(err, diag.ErrUndelegated) {
		return exitPartial // nothing is at fault
	}
	return exitIncomplete
}

// An inputError is a fault of the request that the check itself found: diag's, or textutil's.
type inputError interface {
	error
	InputField() (field, reason string)
}

// maxWidth bounds a line of prose: longer ones are hard to read.
const maxWidth = 100

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use: "diag ANYTHING | CHECK [ARGUMENTS]", Short: "Find out what is wrong with a domain's DNS, mail and web set-up",
		SilenceUsage: true, SilenceErrors: true,
		Args: checkArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.chooseServer(cmd); err != nil {
				return err
			}
			switch {
			case a.selection.plan && (a.batch.file != "" || len(args) == 0):
				return cmp.Or(a.checkPlanFlags(), usagef("--plan needs a domain, such as: diag example.com --plan"))
			case a.batch.file != "":
				return a.runTargets(cmd.Context(), args)
			case len(args) == 0 && len(a.zone.files) > 0:
				return a.examineZones(cmd)
			case len(args) == 0:
				return a.printUsage()
			}
			return a.examine(cmd, args[0])
		},
		Version: buildinfo.Read().Text("diag"),
	}
	root.SetVersionTemplate("{{.Version}}")
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if near := suggestFlag(cmd, err); near != "" {
			err = fmt.Errorf("%w; did you mean --%s?", err, near)
		}
		if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			err = fmt.Errorf("--%s: %s", bad.GetFlag().Name, flagvalue.Fault(bad))
		}
		return usageError{err}
	})
	a.selection.add(root)
	root.Flags().BoolVar(&a.selection.all, "all", false, "print each check in full")
	flags := root.PersistentFlags()
	for _, f := range []struct {
		on          *bool
		name, about string
	}{
		{&a.formats.json, "json", "print the report as JSON, as the API returns it"},
		{&a.formats.jsonl, "jsonl", "print one line of JSON per target"},
		{&a.formats.markdown, "md", "print Markdown"},
		{&a.formats.html, "html", "print a self-contained HTML page"},
		{&a.formats.junit, "junit", "print a JUnit report for CI servers"},
		{&a.formats.svg, "svg", "print the report's diagram as SVG"},
		{&a.formats.csv, "csv", "for -f: print one row of comma-separated values per target"},
		{&a.short, "short", "for resolve and ip/nslookup: print only the data of the records"},
	} {
		flags.BoolVar(f.on, f.name, false, f.about)
	}
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "also list passed checks and all facts")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "print only the verdict")
	flags.StringVar(&a.color, "color", "auto", "auto, always or never")
	flags.StringVarP(&a.output, "output", "o", "", "file to write the report or image to")
	flags.StringVar(&a.failOn, "fail-on", "error",
		"lowest severity of findings that sets exit code 1: info, warning, error, critical")
	flags.StringVar(&a.server, "server", os.Getenv("DIAG_SERVER"),
		"run checks at this server's API instead of locally (default: $DIAG_SERVER)")
	flags.StringVar(&a.key, "key", os.Getenv("DIAG_KEY"), "API key for --server (default: $DIAG_KEY)")
	flags.DurationVar(&a.timeout, "timeout", time.Minute, "maximum time to wait")
	flags.Lookup("key").DefValue, flags.Lookup("server").DefValue = "", ""
	a.batch.add(flags)
	a.world.Add(flags)
	a.zone.add(root)
	complete(root, "color", "auto", "always", "never")
	complete(root, "fail-on", diag.Info.Values()...)
	for _, f := range families {
		root.AddGroup(&cobra.Group{ID: f.id, Title: f.title + ":"})
	}
	root.AddCommand(manual.Command(root, manualPages, newUsageError), a.versionCommand(), a.explainCommand(),
		a.diffCommand(), a.waitCommand())
	root.AddCommand(a.exporterCommand(), a.mcpCommand())
	shortenHelp(root)
	return root
}

// shortenHelp lets the help of a command list its own flags: those that all share are longer than a screen.
func shortenHelp(root *cobra.Command) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if !cmd.HasParent() {
			help(cmd, args)
			return
		}
		root.PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = true })
		help(cmd, args)
		fmt.Fprintln(cmd.OutOrStdout(), "\nFlags shared by all checks, such as --json, --server, --resolver and --timeout:"+
			" diag --help")
	})
}

// addChecks adds the commands of all endpoints. Flags and arguments have those alone that the command line names, since
// to make them for all takes longer than most checks do; the manual shows all.
func (a *app) addChecks(root *cobra.Command, args []string) {
	all := slices.Contains(args, "man")
	short := shortNamesByCheck()
	for _, ep := range httpapi.Endpoints() {
		// It runs nothing, but help lists only what can be run.
		cmd := &cobra.Command{Use: ep.Name(), Short: ep.Summary(), GroupID: family(ep)}
		cmd.Run = func(*cobra.Command, []string) {}
		if all || slices.Contains(args, ep.Name()) {
			cmd = a.checkCommand(ep, root.PersistentFlags())
			cmd.Aliases = short[ep.Name()]
		} else if names := short[ep.Name()]; len(names) > 0 {
			cmd.Short += " [" + strings.Join(names, ", ") + "]"
		}
		root.AddCommand(cmd)
	}
}

// checkArgs refuses several words that are not a check.
func checkArgs(root *cobra.Command, args []string) error {
	if len(args) > 1 {
		if near := suggestCheck(root, args[0]); near != "" && !strings.Contains(args[0], ".") {
			return usagef("unknown check %q; did you mean %s?", args[0], near)
		}
		return usagef("%q is one too many: diag checks one target, or a list with -f", args[1])
	}
	return nil
}

// families are the headings under which the help lists the checks.
var families = []struct{ id, title string }{
	{"dns", "DNS and addresses"}, {"mail", "Mail"}, {"web", "Web"}, {"text", "Text"},
}

// family returns the id of the heading for a check: what its scope is about, but text is no DNS.
func family(ep httpapi.Endpoint) string {
	if strings.HasPrefix(ep.Name(), "text/") {
		return "text"
	}
	about, _, _ := strings.Cut(string(ep.Scope), ":")
	return about
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the versions of the program and of the wire contract",
		Args: exactArgs(0, "version takes no argument"),
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
