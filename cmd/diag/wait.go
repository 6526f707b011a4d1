package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/phrase"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/propagation"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/miekg/dns"
	"github.com/spf13/cobra"
)

// waitTime is how long diag wait waits, unless --timeout is set: longer than most records are cached.
const waitTime = 2 * time.Hour

func (a *app) waitCommand() *cobra.Command {
	every := 15 * time.Second
	cmd := &cobra.Command{
		Use: "wait NAME TYPE VALUE", Short: "Wait until all public resolvers, or the one of --resolver, have a record",
		Long: "Wait until all public resolvers, or the one of --resolver, have a record.\n\n" +
			"It gives up after --timeout, by default two hours; the exit code is then 3.",
		Example: "  diag wait _dmarc.example.com TXT 'v=DMARC1; p=reject'\n" +
			"  diag wait www.example.com A 192.0.2.80 --resolver 192.0.2.53",
		Args: exactArgs(3, "wait takes a name, a type and a value, such as: example.com MX '10 mx.example.com'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.chooseServer(cmd); err != nil {
				return err
			}
			if every < time.Second {
				return usagef("--every: must be a second or more")
			}
			if !cmd.Flags().Changed("timeout") {
				a.timeout = waitTime
			}
			return a.wait(cmd.Context(), args[0], strings.ToUpper(args[1]), args[2], every)
		},
	}
	cmd.Flags().DurationVar(&every, "every", every, "how often to check")
	return cmd
}

func (a *app) wait(ctx context.Context, name, kind, value string, every time.Duration) error {
	if err := a.checkSharedFlags(); err != nil {
		return err
	}
	name = a.normalizeInput("qname", name)
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	check := a.checkPublicResolvers
	if len(a.world.Resolvers) > 0 {
		check = a.checkResolver
	}
	progress := a.startProgress(name + " " + kind)
	defer progress.end()
	for {
		missing, err := check(ctx, name, kind, value)
		switch {
		case err != nil && isPermanent(err):
			return err
		case err == nil && missing == "":
			_, err := fmt.Fprintf(a.stdout, "%s %s found\n", printable(name), kind)
			return err
		case err != nil:
			missing = errorLines(err)[0]
		}
		progress.setPending([]string{name + " " + kind + " (" + missing + ")"})
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s %s not found yet: %s", name, kind, missing)
		case <-time.After(every):
		}
	}
}

// isPermanent reports whether an error would be the same the next time.
func isPermanent(err error) bool {
	_, refused := errors.AsType[permanentError](err)
	return refused || isUsageError(err)
}

// checkPublicResolvers lists the public resolvers that do not have the value yet.
func (a *app) checkPublicResolvers(ctx context.Context, name, kind, value string) (missing string, err error) {
	report, err := askReport[propagation.Report](ctx, a, "resolve/propagation",
		map[string]any{"qname": name, "qtype": kind, "expected": []string{value}})
	if err != nil {
		return "", err
	}
	s := report.Summary
	switch {
	case s.AnsweredCount == 0:
		return "no resolver answered", nil
	case s.MatchCount == s.AnsweredCount:
		return "", nil
	}
	return fmt.Sprintf("%d of %s have it", s.MatchCount, phrase.Count(s.AnsweredCount, "resolver")), nil
}

// checkResolver returns the current value at the resolver of the command line.
func (a *app) checkResolver(ctx context.Context, name, kind, value string) (missing string, err error) {
	report, err := askReport[resolve.Report](ctx, a, "resolve", map[string]any{"qname": name, "qtype": kind})
	if err != nil {
		return "", err
	}
	var have []string
	for _, r := range report.Answers {
		if r.Type == kind {
			have = append(have, canonicalData(kind, r.Data))
		}
	}
	if slices.Contains(have, canonicalData(kind, value)) {
		return "", nil
	}
	switch n := len(have); {
	case n == 0:
		return "no such record", nil
	case n < 4:
		have = append(have, "nothing else")
	}
	return "found " + phrase.Series(have, 4), nil
}

// canonicalData is the data of a record in the one form in which they can be compared.
func canonicalData(kind, data string) string {
	quoted := data
	if kind == "TXT" && !strings.HasPrefix(data, `"`) {
		quoted = `"` + strings.ReplaceAll(data, `"`, `\"`) + `"`
	}
	rr, err := dns.NewRR(". IN " + kind + " " + quoted)
	if err != nil || rr == nil {
		return strings.ToLower(data)
	}
	if txt, ok := rr.(*dns.TXT); ok {
		return dnsmsg.TXT(txt)
	}
	return strings.ToLower(strings.TrimPrefix(rr.String(), rr.Header().String()))
}

func askReport[R any](ctx context.Context, a *app, name string, fields map[string]any) (*R, error) {
	body, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	ep, _ := httpapi.Endpoints().ByName(name)
	result, err := a.ask(ctx, ep, body)
	if err != nil {
		return nil, err
	}
	o, err := newOutcome(ep, result)
	if err != nil {
		return nil, err
	}
	return o.report.(*R), nil
}
