package main

import (
	"cmp"
	"context"
	"errors"
	"github.com/diagkit/diagkit/diag/kit"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// acts are the commands that change something, each a row of the log. A test checks that none is missing.
var acts = []string{"account create", "account set", "plan import", "key create", "key rotate", "key revoke",
	"channel create", "channel rotate", "channel remove", "channel disable", "channel enable", "channel test",
	"channel replay", "channel confirm", "spf create", "spf resolve", "spf pause", "spf resume", "spf remove",
	"billing close", "billing retry",
	"billing finalize", "billing void", "billing credit", "billing paid", "billing uncollectible", "billing suspend",
	"billing resume", "member add", "member role", "member remove", "member link",
	"watch create", "watch set", "watch run", "watch remove"}

// quietFlags are those whose values are not logged: possible secrets, and values without information.
var quietFlags = []string{"target", "json", "csv", "config", "store", "data", "wait", "by"}

// logActs makes each command that changes something a row of the log.
func (a *app) logActs(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		a.logActs(c)
		if slices.Contains(acts, actName(c)) {
			run := c.RunE
			c.RunE = func(c *cobra.Command, args []string) error { return a.runLogged(c, args, run) }
		}
	}
}

func actName(cmd *cobra.Command) string { return strings.TrimPrefix(cmd.CommandPath(), "diagd ") }

// runLogged runs a command as a row of the log. If the store cannot be opened the command itself reports it.
func (a *app) runLogged(cmd *cobra.Command, args []string, run func(*cobra.Command, []string) error) error {
	begun := false
	err := a.administer(cmd.Context(), func(admin metering.Admin) error {
		begun = true
		act := metering.Act{
			Account: a.findTarget(cmd.Context(), admin, cmd, args), At: admin.Time(), Who: operator(), From: "diagd",
			What: actName(cmd), Subject: strings.Join(kit.Map(args, metering.ActWord), " "), Detail: loggedFlags(cmd),
		}
		return metering.Audited(cmd.Context(), admin.Store, act,
			func(context.Context) error { return withReason(run(cmd, args)) })
	})
	if !begun {
		return run(cmd, args)
	}
	return err
}

// withReason attaches the reason of a refusal to an error, so that members can read it in the log. Other failures are
// only for the operator.
func withReason(err error) error {
	_, isRefusal := errors.AsType[*billing.RefusedError](err)
	_, isEarly := errors.AsType[*billing.TooEarlyError](err)
	_, isFile := errors.AsType[*fs.PathError](err) // that a flag names
	isRefusal = isRefusal || isEarly || isUsage(err)
	for _, refusal := range []error{
		billing.ErrBusy, billing.ErrNoBiller, hostedspf.ErrNotFound, hostedspf.ErrTaken, hostedspf.ErrClaimed,
	} {
		isRefusal = isRefusal || errors.Is(err, refusal)
	}
	switch {
	case errors.Is(err, diag.ErrUnavailable):
		return &metering.ReasonError{Reason: "a queried server did not respond", Err: err}
	case !isRefusal || isFile:
		return err
	}
	return &metering.ReasonError{Reason: err.Error(), Err: err}
}

// userName returns the user who runs a command, and operator adds the host.
func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "operator"
}

func operator() string {
	name := userName()
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}

// loggedFlags returns the flags of a command line that the log may hold.
func loggedFlags(cmd *cobra.Command) string {
	var list []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(quietFlags, f.Name) && !secretSetting().MatchString(f.Name) {
			list = append(list, "--"+metering.ActField(f.Name, f.Value.String()))
		}
	})
	return strings.Join(list, " ")
}

// findTarget returns the account that a command is about, by its first argument (an account, a key, a profile) or by
// --account or --key; empty for the server as a whole, and if it does not exist, which the command will report.
func (a *app) findTarget(
	ctx context.Context, admin metering.Admin, cmd *cobra.Command, args []string,
) metering.AccountID {
	id := strings.Join(args[:min(1, len(args))], "")
	if flag := cmd.Flag("key"); flag != nil {
		id = flag.Value.String()
	}
	if strings.HasPrefix(id, "spf_") {
		_ = a.administerSPF(ctx, func(access hostedspf.Access) error {
			profile, err := access.Store.Profile(ctx, id)
			id = string(profile.Owner)
			return err
		})
	}
	key, _ := admin.Store.Key(ctx, metering.KeyID(id))
	if flag := cmd.Flag("account"); flag != nil {
		id = flag.Value.String()
	}
	if id == "" && (cmd.Flag("account") != nil || cmd.Flag("key") != nil) {
		account, _ := findAccount(ctx, admin, "")
		return account.ID
	}
	account, _ := admin.Store.Account(ctx, cmp.Or(key.Account, metering.AccountID(id)))
	return account.ID
}

func (a *app) logCommand() *cobra.Command {
	var account, before string
	var limit int
	cmd := a.newStoreCommand("log", "List the changes made to accounts and the server", "",
		func(ctx context.Context, admin metering.Admin, _ []string) error {
			f := metering.ActFilter{Account: metering.AccountID(account), Limit: limit}
			if limit < 0 {
				return usagef("--limit: must be 0 or more")
			}
			var err error
			if f.Before, err = parseBefore(before); err != nil {
				return err
			}
			if f.Account != "" {
				if _, err := admin.Store.Account(ctx, f.Account); err != nil {
					return asUnknownAccount(err)
				}
			}
			list, err := metering.Acts(ctx, admin.Store, f)
			return printList(a, list, err, "AT, WHO, FROM, ACCOUNT, WHAT, SUBJECT, DETAIL, ERROR", func(act metering.Act) []any {
				return []any{formatTime(&act.At), act.Who, act.From, act.Account, act.What, act.Subject, act.Detail, act.Error}
			})
		})
	a.addJSON(cmd)
	cmd.Flags().StringVar(&account, "account", "", "only of this account (default: all, and the server)")
	cmd.Flags().StringVar(&before, "before", "", "only changes before this time, such as 2026-11-26T09:00:00Z")
	cmd.Flags().IntVar(&limit, "limit", 50, "maximum number to list, the newest first; 0 for all")
	return cmd
}

// parseBefore returns the time of a flag; zero without it.
func parseBefore(text string) (at time.Time, err error) {
	if text != "" {
		if at, err = time.Parse(time.RFC3339, text); err != nil {
			err = usagef("--before: %q is not a time such as 2026-11-26T09:00:00Z", text)
		}
	}
	return at, err
}
