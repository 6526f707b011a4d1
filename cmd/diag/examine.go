package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/spf13/cobra"
)

// selection holds the flags that choose which checks of a domain, an address or a URL run.
type selection struct {
	only   []string
	noSMTP bool
	all    bool
	plan   bool
	format string
}

func (o *selection) add(cmd *cobra.Command) {
	o.addChecks(cmd)
	cmd.Flags().BoolVar(&o.plan, "plan", false, "for a domain: what to change, in order, and the result of each step")
	cmd.Flags().StringVar(&o.format, "format", "", "for --plan: zone, nsupdate or json instead of text")
	complete(cmd, "format", target.PlanFormat("").Values()...)
}

// addChecks adds the flags that choose checks.
func (o *selection) addChecks(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&o.only, "only", nil, "for a domain: mail, dns, web, as a list")
	cmd.Flags().BoolVar(&o.noSMTP, "no-smtp", false, "do not connect to mail servers")
	complete(cmd, "only", groups...)
}

// checkPlanFlags returns an error for flags that cannot be combined with --plan.
func (a *app) checkPlanFlags() error {
	formats := target.PlanFormat("").Values()
	switch o := &a.selection; {
	case !o.plan && o.format != "":
		return usagef("--format needs --plan")
	case !o.plan:
		return nil
	case a.zone.files != nil || a.zone.servers != nil || a.zone.annotate != "":
		return usagef("--plan starts from what is published: omit --zone, --ns and --annotate")
	case a.batch.file != "":
		return usagef("--plan is for one domain: omit -f")
	case o.format != "" && !slices.Contains(formats, o.format):
		return usagef("--format: %q is not one of %s", o.format, strings.Join(formats, ", "))
	case a.formats.count() > 0 && (!a.formats.json || o.format != ""):
		return usagef("--plan is printed as text, or with --format as one of %s", strings.Join(formats, ", "))
	}
	return nil
}

// makePlan prints what to change, step by step.
func (a *app) makePlan(ctx context.Context, t target.Target) error {
	if t.Kind != target.Domain {
		return usagef("--plan is for domains; %s is not one", t.Text)
	}
	o, err := a.selection.options()
	if err != nil {
		return err
	}
	env, release, err := a.localEnv()
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	progress := a.startProgress(t.Text)
	plan, err := target.MakePlan(ctx, env, t, o)
	progress.end()
	if err != nil {
		return err
	}
	a.code = a.exitCode(plan.View())
	format := target.PlanFormat(a.selection.format)
	if a.formats.json {
		format = target.PlanJSON
	}
	var text []byte
	if format == "" {
		var b bytes.Buffer
		err = plan.Text(&b, a.terminalOptions())
		text = b.Bytes()
	} else {
		text, err = plan.Format(format)
	}
	if err != nil {
		return err
	}
	if format == target.PlanJSON && a.terminal && a.output == "" {
		text = printableJSON(text)
	}
	return a.writeOut(text)
}

var groups = []string{target.Mail, target.DNS, target.Web}

func (o *selection) options() (target.Options, error) {
	for _, g := range o.only {
		if !slices.Contains(groups, g) {
			return target.Options{}, usagef("--only: %q is not one of %s", g, strings.Join(groups, ", "))
		}
	}
	return target.Options{Only: o.only, NoSMTP: o.noSMTP}, nil
}

// parseTarget determines what an argument is: the name of a file, "-", or the target itself.
func (a *app) parseTarget(word string) (target.Target, error) {
	if word != "-" && (!isFile(word) || a.zone.files != nil) { // zone files often have the names of zones
		if fileName().MatchString(word) && a.zone.files == nil {
			return target.Target{}, usagef("file %s not found (to check it as a domain, add a dot at the end)", word)
		}
		return target.Parse(word)
	}
	data, err := a.read(word)
	if err != nil {
		return target.Target{}, err
	}
	t, err := target.Content(data)
	t.Text = word
	return t, err
}

// fileName matches what is more likely the name of a file that is missing than a domain.
var fileName = kit.Regexp(`(?i)^[^/@:=\s]+\.(?:pem|crt|cer|csr|eml|xml|gz|zip|json|png|jpg|svg|txt|zone)$`)

func (a *app) read(name string) ([]byte, error) {
	if name == "-" {
		return readInput(a.stdin, "standard input")
	}
	return readFile(name)
}

// examine examines the target that the argument names.
func (a *app) examine(cmd *cobra.Command, word string) error {
	if err := cmp.Or(a.checkPlanFlags(), a.checkSharedFlags()); err != nil {
		return err
	}
	t, err := a.parseTarget(word)
	if err != nil {
		return a.explainUnknown(cmd, word, err)
	}
	if t.Note != "" {
		fmt.Fprintf(a.stderr, "diag: note: %s\n", printable(t.Note))
	}
	if a.selection.plan {
		return a.makePlan(cmd.Context(), t)
	}
	if v := t.Read(); v != nil {
		return a.show(outcome{view: v})
	}
	if _, _, ok := t.One(); ok {
		only := t.Checks(target.Options{})[0]
		return a.check(cmd.Context(), only.Endpoint, only.Body)
	}
	return a.overview(cmd.Context(), t)
}

// explainUnknown returns the error for an argument that cannot be examined, with what may have been meant.
func (a *app) explainUnknown(cmd *cobra.Command, word string, err error) error {
	if fault, ok := errors.AsType[*diag.InputError](err); ok {
		switch {
		case word == "-" || isFile(word):
			return usagef("%s: %s", word, strings.TrimPrefix(fault.Reason, "the file "))
		case strings.HasPrefix(word, "/"), strings.HasPrefix(word, "./"), strings.HasPrefix(word, "../"):
			return usagef("file %s not found", word)
		case strings.Contains(word, "/") && strings.Contains(word, ".") && !strings.Contains(word, "://"):
			return usagef("file %s not found; %s", word, fault.Reason)
		}
		err = errors.New(fault.Reason) // the field is of no interest: there is but one
	}
	if strings.Contains(word, ".") || strings.ContainsAny(word, "@:= \n") || word == "-" {
		return usageError{err}
	}
	if word == "" {
		return usagef("the argument is empty: name a domain, address, URL or file")
	}
	if near := suggestCheck(cmd.Root(), word); near != "" {
		return usagef("unknown check %q; did you mean %s?", word, near)
	}
	return usagef("unknown check %q; diag --help lists all", word)
}

// overview runs everything that applies, and prints one screen.
func (a *app) overview(ctx context.Context, t target.Target) error {
	o, err := a.selection.options()
	if err != nil {
		return err
	}
	ask, release, err := a.newAsker()
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	progress := a.startProgress(t.Text)
	w := target.Run(ctx, t, o, ask(), progress.setPending)
	progress.end()
	if err := w.Err(); err != nil {
		return err
	}
	return a.show(outcome{view: w.Screen(a.showsAll()), whole: w})
}

// showsAll reports whether each check is shown as it is shown alone.
func (a *app) showsAll() bool { return a.selection.all || a.verbose }

// runTargets examines all that a list names.
func (a *app) runTargets(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return usagef("-f names the targets: omit %q", args[0])
	}
	o, err := a.selection.options()
	if err != nil {
		return err
	}
	ask, release, err := a.newAsker()
	if err != nil {
		return err
	}
	defer release()
	return a.runBatch(ctx, a.eachTarget(ask, o))
}

// newAsker returns a function that runs checks here or at the server, and one that releases its resources.
func (a *app) newAsker() (ask func() target.Ask, release func(), err error) {
	if a.server != "" {
		return func() target.Ask { return a.askServer }, func() {}, nil
	}
	env, release, err := a.ownEnv()
	if err != nil {
		return nil, nil, err
	}
	if client := queryClient(env); client != nil {
		a.waitReady = client.Ready
	}
	env, err = a.overlayZones(env)
	if err != nil {
		release()
	}
	return func() target.Ask { return target.Local(env) }, release, err
}

// queryClient is the client behind the cache of a world; nil if it has none.
func queryClient(env *diag.Env) *resolver.Client {
	if cache, ok := env.Resolver.(*resolver.Cache); ok {
		client, _ := cache.Upstream.(*resolver.Client)
		return client
	}
	return nil
}

// cacheBytes is the memory for replies that the checks of several targets share. Lookups for one target alone are
// kept with the target, so that the rest is little.
const cacheBytes = 8 << 20

// ownEnv is the world that the flags describe, without the zones of --zone.
func (a *app) ownEnv() (*diag.Env, func(), error) {
	if a.env != nil {
		return a.env, func() {}, nil
	}
	env, release, err := a.world.Env()
	if err != nil {
		return nil, nil, usageError{err}
	}
	if queryClient(env) != nil {
		env.Resolver.(*resolver.Cache).MaxBytes = cacheBytes
	}
	return env, release, nil
}

// localEnv is the world that the flags describe.
func (a *app) localEnv() (*diag.Env, func(), error) {
	env, release, err := a.ownEnv()
	if err != nil {
		return nil, nil, err
	}
	overlaid, err := a.overlayZones(env)
	if err != nil {
		release()
	}
	return overlaid, release, err
}
