package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"github.com/diagkit/diagkit/diag/phrase"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// checkCommand makes the command of one endpoint. Arguments fill its required fields in their order;
// every field is a flag too.
func (a *app) checkCommand(ep httpapi.Endpoint, global *pflag.FlagSet) *cobra.Command {
	params := ep.Params()
	values := map[string]*[]string{}
	description := strings.Join(ep.Description(), "\n")
	cmd := &cobra.Command{Short: ep.Summary(), Long: description, GroupID: family(ep)}
	for _, p := range params {
		values[p.Name] = new([]string)
		name := flagName(p.Name)
		if global.Lookup(name) != nil {
			if len(p.Enum) > 0 { // both are one flag, see shared
				cmd.Long = cmp.Or(description, phrase.Capitalize(ep.Summary())+".") + "\n\n--" + name + " also takes: " +
					strings.Join(p.Enum, ", ") + "."
			}
			continue
		}
		cmd.Flags().Var(&valueFlag{values[p.Name], p}, name, describe(p))
		if p.Kinds[0] == "boolean" {
			cmd.Flags().Lookup(name).NoOptDefVal = "true"
		}
		complete(cmd, name, choices(p)...)
	}
	cmd.Use, cmd.Example = synopsis(ep)
	if ep.Name() == "resolve" {
		cmd.Example += digExamples
	}
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if list := positionalParams(params); len(args) < len(list) {
			return choices(list[len(args)]), cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a.resolveSharedFlags(params, values)
		if local := a.localOnly(); ep.Hosted() && local != "" {
			return usagef("%s works locally only, and %s at a server: omit %[1]s", local, ep.Name())
		}
		if err := a.chooseServer(cmd); err != nil {
			return err
		}
		switch {
		case a.batch.file == "" && a.line != nil:
			return a.answerQuestions(cmd.Context(), values)
		case a.batch.file == "" && ep.Name() == "dkim/lookup" && len(*values["selector"]) == 0 &&
			len(args)+len(*values["domain"]) == 1:
			body, err := a.requestBody(params, values, args)
			if err != nil {
				return err
			}
			return a.checkCommonSelectors(cmd.Context(), ep, body)
		case a.batch.file == "":
			body, err := a.completeBody(ep, values, args)
			if err != nil {
				return err
			}
			return a.check(cmd.Context(), ep, body)
		case ep.Hosted() && a.server == "":
			return errNeedsServer(ep)
		}
		ask, release, err := a.newAsker()
		if err != nil {
			return err
		}
		defer release()
		if a.line != nil {
			return a.runBatch(cmd.Context(), a.eachLine(values, ask()))
		}
		return a.runBatch(cmd.Context(), a.eachCheck(ep, params, values, args, ask()))
	}
	return cmd
}

// synopsis returns the usage of a check, and an example of it.
func synopsis(ep httpapi.Endpoint) (use, example string) {
	params := ep.Params()
	usage, name, words := []string{ep.Name()}, ep.Name(), []string{}
	for _, p := range positionalParams(params) {
		if !p.Required && p.OneOf == "" {
			continue
		}
		if _, ok := fileParam(params, p); ok {
			usage, words = append(usage, "FILE"), append(words, "FILE")
			continue
		}
		usage = append(usage, strings.ToUpper(p.Name))
		if p.In == httpapi.InPath {
			name = strings.ReplaceAll(name, "{"+p.Name+"}", p.Example)
			continue
		}
		words = append(words, quoteExample(p.Example))
	}
	return strings.Join(usage, " "), strings.TrimRight("  diag "+name+" "+strings.Join(words, " "), " ")
}

// completeBody is the body of a request, which lacks nothing that is required.
func (a *app) completeBody(ep httpapi.Endpoint, values map[string]*[]string, args []string) ([]byte, error) {
	params := ep.Params()
	body, err := a.requestBody(params, values, args)
	if err != nil {
		return nil, err
	}
	use, example := synopsis(ep)
	if _, takes, ok := strings.Cut(use, " "); ok && string(body) == "{}" {
		return nil, usagef("%s takes %s, as in: %s", ep.Name(), takes, strings.TrimSpace(example))
	}
	return body, checkRequired(ep, params, values)
}

// checkRequired returns the error of a call that lacks a required argument, with its usage.
func checkRequired(ep httpapi.Endpoint, params []httpapi.Param, values map[string]*[]string) error {
	words, missing := []string{"diag", ep.Name()}, ""
	if short := shortNamesByCheck()[ep.Name()]; len(short) > 0 {
		words[1] = short[0]
	}
	for _, p := range positionalParams(params) {
		given := *values[p.Name]
		switch {
		case !p.Required || p.In == httpapi.InPath:
		case len(given) > 0:
			words = append(words, quoteExample(given[0]))
		default:
			missing = cmp.Or(missing, p.Name)
			words = append(words, quoteExample(p.Example))
		}
	}
	if missing == "" || len(words) < 4 {
		return nil
	}
	return usagef("%s: is required, as in: %s", missing, strings.Join(words, " "))
}

// choices lists the values of a field that has but a few.
func choices(p httpapi.Param) []string {
	if p.Kinds[0] == "boolean" {
		return []string{"true", "false"}
	}
	return p.Enum
}

func complete(cmd *cobra.Command, flag string, values ...string) {
	f := cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil { // the flag is there, and has no other function
		panic(err)
	}
}

// quoteExample makes a value one word of a command line.
func quoteExample(text string) string {
	if strings.ContainsAny(text, " \t\n\"'$&|<>();*?#~=`\\{}[]!") {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return text
}

func describe(p httpapi.Param) string {
	text := p.Doc
	if len(p.Enum) > 0 {
		text += ": " + strings.Join(p.Enum, ", ")
	}
	if p.Default != "" && p.Default != "false" {
		text += " (default " + p.Default + ")"
	}
	return text
}

// valueFlag collects the values of one field.
type valueFlag struct {
	values *[]string
	param  httpapi.Param
}

func (f *valueFlag) String() string { return "" }

func (f *valueFlag) Type() string {
	if f.param.List {
		return "list"
	}
	typeNames := map[string]string{"boolean": "bool", "integer": "int"} // the words that the help of other flags uses
	return cmp.Or(typeNames[f.param.Kinds[0]], f.param.Kinds[0])
}

func (f *valueFlag) Set(text string) error {
	if f.param.List {
		*f.values = append(*f.values, strings.Split(text, ",")...)
		return nil
	}
	*f.values = []string{text}
	return nil
}

func (a *app) requestBody(params []httpapi.Param, values map[string]*[]string, args []string) ([]byte, error) {
	for _, p := range positionalParams(params) {
		if len(args) > 0 && len(*values[p.Name]) == 0 {
			if err := a.setArgument(params, p, values, args[0]); err != nil {
				return nil, err
			}
			args = args[1:]
		}
	}
	if len(args) > 0 {
		return nil, usagef("the argument %q is one too many", args[0])
	}
	body := map[string]any{}
	for _, p := range params {
		given := *values[p.Name]
		if len(given) == 0 {
			continue
		}
		list := []json.RawMessage{}
		for _, text := range given {
			text, err := a.readValue(p, text)
			if err != nil {
				return nil, err
			}
			list = append(list, p.JSON(a.normalizeInput(p.Name, text)))
		}
		if body[p.Name] = any(list[0]); p.List {
			body[p.Name] = list
		}
	}
	return json.Marshal(body)
}

// readValue returns the text of a field, read from standard input where it is "-". What a field takes in base64
// is encoded here, so that a file can be given as it is.
func (a *app) readValue(p httpapi.Param, text string) (string, error) {
	if text == "-" {
		data, err := readInput(a.stdin, p.Name+": standard input")
		if err != nil {
			return "", err
		}
		if strings.HasSuffix(p.Name, base64Suffix) {
			return base64.StdEncoding.EncodeToString(data), nil
		}
		text = string(data)
	}
	if !utf8.ValidString(text) {
		return "", usagef("%s: is not UTF-8", p.Name)
	}
	return text, nil
}

// positionalParams lists the fields that arguments fill: the required ones, then the first of each group of
// which one is required, then the other optional ones that are no lists.
func positionalParams(params []httpapi.Param) []httpapi.Param {
	var list []httpapi.Param
	for _, accepts := range []func(httpapi.Param) bool{func(p httpapi.Param) bool { return p.Required },
		func(p httpapi.Param) bool { return p.OneOf != "" },
		func(p httpapi.Param) bool { return !p.Required && p.OneOf == "" && !p.List && p.Kinds[0] != "boolean" }} {
		taken := map[string]bool{}
		for _, p := range params {
			if accepts(p) && !taken[p.OneOf] {
				list, taken[p.OneOf] = append(list, p), p.OneOf != ""
			}
		}
	}
	return list
}

// resolveSharedFlags resolves flags that name both a field of the check and a setting of all checks: --resolver
// google is the field of "resolve", and --resolver udp://192.0.2.1 the resolver of the environment.
func (a *app) resolveSharedFlags(params []httpapi.Param, values map[string]*[]string) {
	a.zone.assignZoneField(params, values)
	i := slices.IndexFunc(params, func(p httpapi.Param) bool { return p.Name == "resolver" })
	if i < 0 || len(a.world.Resolvers) != 1 || !slices.Contains(params[i].Enum, a.world.Resolvers[0]) {
		return
	}
	*values["resolver"], a.world.Resolvers = a.world.Resolvers, nil
}

func (a *app) checkSharedFlags() error {
	switch {
	case a.threshold.UnmarshalText([]byte(a.failOn)) != nil:
		return usagef("--fail-on: %q is not one of %s", a.failOn, strings.Join(diag.Info.Values(), ", "))
	case a.timeout <= 0:
		return usagef("--timeout: must be more than 0")
	case a.color != "auto" && a.color != "always" && a.color != "never":
		return usagef("--color: %q is not auto, always or never", a.color)
	case a.formats.count() > 1:
		return usagef("--json, --jsonl, --md, --html, --junit and --svg exclude each other")
	case a.formats.csv && a.formats.count() > 0:
		return usagef("--csv excludes the other formats")
	case a.formats.csv && a.batch.file == "":
		return usagef("--csv needs a list of targets: name its file with -f")
	case a.quiet && a.verbose:
		return usagef("--quiet and --verbose exclude each other")
	}
	return a.zone.check(a)
}

// check runs the operation here or at a server, and prints its reply.
func (a *app) check(ctx context.Context, ep httpapi.Endpoint, body []byte) error {
	return a.checkAt(ctx, ep, body, nil)
}

// checkAt is check with a question that is put to the given name servers.
func (a *app) checkAt(ctx context.Context, ep httpapi.Endpoint, body []byte, servers []digServer) error {
	if err := a.checkSharedFlags(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	progress := a.startProgress(ep.Name() + subject(ep, body))
	result, err := a.askAt(ctx, ep, body, servers)
	progress.end()
	if err != nil {
		return err
	}
	if !strings.HasPrefix(result.MediaType, "application/json") {
		return a.writeImage(result.Body)
	}
	o, err := newOutcome(ep, result)
	switch {
	case err != nil:
		return err
	case a.short:
		a.code = a.exitCode(o.view)
		return a.printShort(o.report)
	}
	return a.show(o)
}

// subject returns the subject of a request, if its first field is a name, an address or a URL.
func subject(ep httpapi.Endpoint, body []byte) string {
	var fields map[string]any
	if err := json.Unmarshal(body, &fields); err != nil {
		return ""
	}
	for _, p := range positionalParams(ep.Params()) {
		if text, ok := fields[p.Name].(string); ok && len(text) < 80 && !strings.ContainsAny(text, " \n") {
			return " " + text
		}
	}
	return ""
}

func newOutcome(ep httpapi.Endpoint, result *httpapi.Result) (o outcome, err error) {
	o = outcome{ep: ep, reply: result.Body, report: result.Report}
	if !strings.HasPrefix(result.MediaType, "application/json") {
		return o, usagef("%s returns an image", ep.Name())
	}
	if o.report == nil {
		if o.report, err = ep.Decode(result.Body); err != nil {
			return o, err
		}
	}
	o.view = httpapi.View(o.report)
	return o, nil
}

func errNeedsServer(ep httpapi.Endpoint) error {
	return usagef("%s works on profiles stored by a server: name it with --server and --key", ep.Name())
}

// printShort prints the data of the records alone, as dig +short does.
func (a *app) printShort(report any) error {
	var b strings.Builder
	switch r := report.(type) {
	case *resolve.Report:
		for _, record := range r.Answers {
			fmt.Fprintln(&b, printable(record.Data))
		}
	case *resolve.ReverseReport:
		for _, name := range r.Hostnames {
			fmt.Fprintln(&b, printable(name))
		}
	default:
		return usagef("--short: is for resolve and ip/nslookup")
	}
	return a.writeOut([]byte(b.String()))
}

func (a *app) ask(ctx context.Context, ep httpapi.Endpoint, body []byte) (*httpapi.Result, error) {
	return a.askAt(ctx, ep, body, nil)
}

// askAt puts a question to the given name servers, or to those of the flags if there are none.
func (a *app) askAt(
	ctx context.Context, ep httpapi.Endpoint, body []byte, servers []digServer,
) (*httpapi.Result, error) {
	switch {
	case a.serverNamed && len(servers) > 0: // in a line of -f
		return nil, usagef("%s works locally only: omit --server", servers[0].typed)
	case a.server != "" && len(servers) == 0:
		return a.askServer(ctx, ep, body)
	case ep.Hosted():
		return nil, errNeedsServer(ep)
	case len(servers) > 0 && len(a.world.Resolvers) > 0:
		flag := strings.Join(a.world.Resolvers, ",")
		return nil, usagef("%s and --resolver %s exclude each other", servers[0].typed, flag)
	}
	env, release, err := a.envWithServers(ctx, servers)
	if err != nil {
		return nil, err
	}
	defer release()
	result, err := ep.Run(ctx, env, body)
	if len(servers) > 0 {
		err = nameAsTyped(result, err, servers)
	}
	return result, err
}

// writeImage writes an image; on a terminal a QR code is drawn in characters.
func (a *app) writeImage(data []byte) error {
	if !a.terminal || a.output != "" {
		return a.writeOut(data)
	}
	text, err := terminalQR(data)
	if err != nil {
		return usageError{err}
	}
	return a.writeOut([]byte(text))
}
