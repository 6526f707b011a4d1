package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi/metrics"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
	"github.com/spf13/cobra"
)

// newWatches returns the watches of a server; ask runs their operations.
func (a *app) newWatches(
	store metering.Store, plans metering.Prices, ask watch.Ask, notes *notifications, counters *metrics.Metrics,
	log *slog.Logger, at string,
) *watch.Watches {
	return watch.New(watch.Config{
		Store: store, Plans: plans, Ask: ask, Clock: a.clock, Doubt: a.doubt, Log: log, PublicURL: a.publicURL(at),
		Observe: counters.ObserveWatch, Wake: notes.worker.Wake,
	})
}

// startWatches runs what is due until the context ends. Stop returns when the last run has ended.
func startWatches(ctx context.Context, w *watch.Watches, counters *metrics.Metrics) (stop func()) {
	counters.GaugeFunc(metrics.WatchesOverdue, func() float64 { return gaugeValue(w.Overdue(ctx, maxCounted)) })
	var running background
	running.start(ctx, w.Log, func(ctx context.Context) { _ = w.Run(ctx) }) // which returns the reason of its end
	return running.close
}

// A watchView is a printed watch, with the state of its domain if one is shown.
type watchView struct {
	watch.Watch
	Every string          `json:"every"` // as the flag takes it
	Known *watch.Snapshot `json:"known,omitempty"`
}

func viewWatch(w watch.Watch) watchView { return watchView{w, w.Every.String(), nil} }

type watchCommands struct{ *app }

func (a *app) watchCommand() *cobra.Command {
	c := watchCommands{a}
	return a.newGroup("watch", "Watch domains and get notified of changes",
		c.create(),
		c.newCommand("list", "List the watches of an account", c.list),
		c.newCommand("show DOMAIN", "Show a watch and the current state of its domain", c.showDetail),
		c.set(),
		c.newCommand("remove DOMAIN", "Stop watching a domain and delete its history", c.remove),
		c.newCommand("run DOMAIN", "Check a watched domain as soon as possible", c.runNow),
		c.history())
}

func (c watchCommands) newCommand(
	use, short string, run func(context.Context, *watch.Watches, metering.AccountID, string) error,
) *cobra.Command {
	return c.newAccountCommand(use, short, "the domain or the id of a watch", "diagd watch list shows all",
		func(ctx context.Context, admin metering.Admin, account metering.AccountID, args []string) error {
			name := strings.Join(args, "")
			if d, err := diag.ParseDomain(name); err == nil && strings.Contains(name, ".") && !strings.HasPrefix(use, "create") {
				name = watch.ID(d)
			}
			w := watch.New(watch.Config{Store: admin.Store, Plans: admin.Plans, Clock: admin.Clock})
			err := run(ctx, w, account, name)
			if errors.Is(err, metering.ErrNotFound) && len(args) > 0 && !strings.HasPrefix(use, "create") {
				return usagef("%s is not watched by account %s; diagd watch list shows all", args[0], account)
			}
			return err
		})
}

func addSettingFlags(cmd *cobra.Command, s *watch.Settings) {
	f := cmd.Flags()
	f.StringSliceVar(&s.Checks, "checks", nil,
		"what to check: mail, dns, web, or operations such as dmarc/lookup (default: mail, dns, web)")
	f.DurationVar(&s.Every, "every", watch.DefaultEvery, "time between runs, 1h to 168h")
	f.Int64Var(&s.Budget, "budget", 0,
		"credits per month (default, also for 0: the estimated cost plus 25% to confirm changes)")
	f.StringSliceVar(&s.Channels, "channels", nil,
		"ids of the channels to notify (default: all with the category domain)")
}

func (c watchCommands) create() *cobra.Command {
	r := watch.Request{}
	cmd := c.newCommand("create DOMAIN", "Watch a domain; the first check runs immediately",
		func(ctx context.Context, w *watch.Watches, account metering.AccountID, domain string) error {
			r.Account, r.Domain = account, domain
			return c.show(w.Create(ctx, r))
		})
	addSettingFlags(cmd, &r.Settings)
	return cmd
}

func (c watchCommands) set() *cobra.Command {
	var given watch.Settings
	var cmd *cobra.Command
	cmd = c.newCommand("set DOMAIN", "Change how a domain is watched",
		func(ctx context.Context, w *watch.Watches, account metering.AccountID, id string) error {
			return c.show(w.Set(ctx, account, id, func(s *watch.Settings) {
				for name, set := range map[string]func(){
					"checks": func() { s.Checks = given.Checks }, "every": func() { s.Every = given.Every },
					"budget": func() { s.Budget = given.Budget }, "channels": func() { s.Channels = given.Channels },
				} {
					if cmd.Flags().Changed(name) {
						set()
					}
				}
			}))
		})
	addSettingFlags(cmd, &given)
	return cmd
}

func (c watchCommands) list(ctx context.Context, w *watch.Watches, account metering.AccountID, _ string) error {
	list, err := w.List(ctx, account)
	const columns = "ID, DOMAIN, STATE, MARK, LAST CHANGE, EXPIRES, LAST RUN, NEXT RUN, CREDITS"
	return printList(c.app, kit.Map(list, viewWatch), err, columns, func(v watchView) []any {
		return []any{
			v.ID, v.Domain, v.state(), v.mark(), v.change(),
			v.expiry(), formatTime(&v.LastRun), formatTime(&v.NextRun), fmt.Sprintf("%d of %d", v.Spent, v.Budget),
		}
	})
}

func (c watchCommands) showDetail(ctx context.Context, w *watch.Watches, account metering.AccountID, id string) error {
	v, err := w.Get(ctx, account, id)
	if err != nil {
		return err
	}
	shown := viewWatch(v)
	if shown.Known, err = w.Now(ctx, account, id); err != nil {
		return err
	}
	return c.print(shown, shown.rows)
}

func (c watchCommands) remove(ctx context.Context, w *watch.Watches, account metering.AccountID, id string) error {
	return c.showRemoved(id, w.Remove(ctx, account, id))
}

func (c watchCommands) runNow(ctx context.Context, w *watch.Watches, account metering.AccountID, id string) error {
	return c.show(w.RunNow(ctx, account, id))
}

func (c watchCommands) show(w watch.Watch, err error) error {
	if err != nil {
		return err
	}
	v := viewWatch(w)
	return c.print(v, v.rows)
}

func (v watchView) rows(t *table) {
	t.row("id", v.ID)
	t.row("domain", v.Domain)
	t.row("checks", strings.Join(v.Checks, ", "))
	t.row("every", v.Every)
	t.row("credits", fmt.Sprintf("%d of %d this month; a run costs at most %d", v.Spent, v.Budget, v.RunCost))
	t.row("state", v.state())
	t.row("mark", v.mark())
	if v.All > 0 {
		t.row("answered", v.answered())
	}
	t.row("last change", v.change())
	t.row("expires", v.expiry())
	t.row("last run", formatTime(&v.LastRun))
	t.row("next run", formatTime(&v.NextRun))
	if v.Known == nil {
		return
	}
	for _, f := range v.Known.Findings {
		if f.Severity > diag.Info {
			t.row(f.Severity, watch.Title(f.Code), f.Code)
		}
	}
	for _, r := range v.Known.Records {
		t.row(r.Label(), r.Name, strings.Join(r.Values, " | "))
	}
}

func (v watchView) state() string {
	return string(v.State) + view.TextIf(v.Reason != "", " ("+string(v.Reason)+")")
}

func (v watchView) mark() string { return cmp.Or(string(v.Mark), "-") }

// answered states how many checks the mark is based on.
func (v watchView) answered() string {
	return fmt.Sprintf("%d of %s", v.Answered, phrase.Count(v.All, "check")) +
		view.TextIf(v.Nothing, ", which had nothing to check")
}

func (v watchView) change() string { return strings.TrimSpace(formatTime(&v.Changed) + " " + v.Change) }

func (v watchView) expiry() string {
	if v.Expires.IsZero() {
		return "-"
	}
	return v.Expires.Format(time.DateOnly) + " " + v.Expiry
}

func (c watchCommands) history() *cobra.Command {
	var since time.Duration
	cmd := c.newCommand("history DOMAIN", "List the runs of a watch and their changes, the newest first",
		func(ctx context.Context, w *watch.Watches, account metering.AccountID, id string) error {
			runs, err := w.History(ctx, account, id, time.Now().Add(-since))
			return printList(c.app, runs, err, "AT, MARK, CREDITS, UNKNOWN, CHANGES", func(r watch.Run) []any {
				return []any{formatTime(&r.At), r.Mark, r.Credits, strings.Join(r.Unknown, ","), describeChanges(r)}
			})
		})
	cmd.Flags().DurationVar(&since, "since", 31*24*time.Hour, "time span to list; runs are kept for 400 days (9600h)")
	return cmd
}

// describeChanges describes the changes of a run, in a line.
func describeChanges(r watch.Run) string {
	var list []string
	for _, c := range r.Changed {
		list = append(list, fmt.Sprintf("%s %s: %s → %s", c.Label(), c.Name, strings.Join(c.Old, " | "),
			strings.Join(c.New, " | ")))
	}
	for _, f := range r.Appeared {
		list = append(list, "+"+string(f.Code))
	}
	for _, f := range r.Gone {
		list = append(list, "-"+string(f.Code))
	}
	return strings.Join(list, ", ")
}
