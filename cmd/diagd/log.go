package main

import (
	"context"
	"errors"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/metering"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// An aim finds the account that a command is about, from its flags and arguments. The empty account is the server as a
// whole.
type aim func(ctx context.Context, a *app, admin metering.Admin, cmd *cobra.Command, args []string) (metering.AccountID, error)

// acts are the commands that change something, with what each is about. A test holds that no command is forgotten.
var acts = map[string]aim{
	"account create": onServer, "account set": onArgument,
	"plan import": onServer,
	"key create":  onFlag, "key rotate": onKey, "key revoke": onKey,
	"channel create": onFlag, "channel rotate": onFlag, "channel remove": onFlag, "channel disable": onFlag,
	"channel enable": onFlag, "channel test": onFlag, "channel replay": onFlag,
	"spf create": onKeyFlag, "spf resolve": onProfile, "spf pause": onProfile, "spf resume": onProfile,
	"spf remove":    onProfile,
	"billing close": onServer, "billing retry": onArgument, "billing finalize": onArgument, "billing void": onArgument,
	"billing credit": onArgument, "billing paid": onArgument, "billing uncollectible": onArgument,
	"billing suspend": onArgument, "billing resume": onArgument,
	"watch create": onFlag, "watch set": onFlag, "watch remove": onFlag, "watch run": onFlag,
	"member add": onFlag, "member role": onFlag, "member remove": onFlag, "member link": onFlag,
}

// quietFlags are those whose values the log does not hold: what may be a secret, and what says nothing.
var quietFlags = []string{"target", "json", "csv", "config", "store", "data", "wait", "by"}

// logActs makes each command that changes something a row of the log.
func (a *app) logActs(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		a.logActs(c)
		if about := acts[actName(c)]; about != nil {
			run := c.RunE
			c.RunE = func(c *cobra.Command, args []string) error { return a.logged(c, args, about, run) }
		}
	}
}

// actName is what the log calls a command.
func actName(cmd *cobra.Command) string { return strings.TrimPrefix(cmd.CommandPath(), "diagd ") }

// logged runs a command as a row of the log. Without a store that can be opened the command itself says so.
func (a *app) logged(cmd *cobra.Command, args []string, about aim, run func(*cobra.Command, []string) error) error {
	begun := false
	err := a.administer(cmd.Context(), func(admin metering.Admin) error {
		begun = true
		account, err := about(cmd.Context(), a, admin, cmd, args)
		if err != nil { // the command will say so
			account = ""
		}
		act := metering.Act{
			Account: account, At: admin.Time(), Who: operator(), From: "diagd", What: actName(cmd),
			Subject: strings.Join(args, " "), Detail: flagsGiven(cmd),
		}
		return metering.Acting(cmd.Context(), admin.Store, act, func(context.Context) error { return run(cmd, args) })
	})
	if !begun {
		return run(cmd, args)
	}
	return err
}

// operator is who runs a command: the user and the host.
func operator() string {
	name := "operator"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}

// flagsGiven are the flags of a command line that the log may hold.
func flagsGiven(cmd *cobra.Command) string {
	var list []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(quietFlags, f.Name) && !secretSetting().MatchString(f.Name) {
			list = append(list, "--"+f.Name+"="+f.Value.String())
		}
	})
	return strings.Join(list, " ")
}

func onServer(context.Context, *app, metering.Admin, *cobra.Command, []string) (metering.AccountID, error) {
	return "", nil
}

func onFlag(ctx context.Context, _ *app, admin metering.Admin, cmd *cobra.Command, _ []string) (metering.AccountID, error) {
	account, err := onlyAccount(ctx, admin, cmd.Flag("account").Value.String())
	return account.ID, err
}

func onArgument(ctx context.Context, _ *app, admin metering.Admin, _ *cobra.Command, args []string) (metering.AccountID, error) {
	if len(args) == 0 { // of all accounts
		return "", nil
	}
	account, err := admin.Store.Account(ctx, metering.AccountID(args[0]))
	return account.ID, err
}

func onKey(ctx context.Context, _ *app, admin metering.Admin, _ *cobra.Command, args []string) (metering.AccountID, error) {
	key, err := admin.Store.Key(ctx, metering.KeyID(args[0]))
	return key.Account, err
}

func onKeyFlag(ctx context.Context, a *app, admin metering.Admin, cmd *cobra.Command, _ []string) (metering.AccountID, error) {
	if id := cmd.Flag("key").Value.String(); id != "" {
		return onKey(ctx, a, admin, cmd, []string{id})
	}
	account, err := onlyAccount(ctx, admin, "")
	return account.ID, err
}

func onProfile(ctx context.Context, a *app, admin metering.Admin, cmd *cobra.Command, args []string) (id metering.AccountID, err error) {
	err = a.administerSPF(ctx, func(access hostedspf.Access) error {
		profile, err := access.Store.Profile(ctx, args[0])
		if err == nil {
			id, err = onKey(ctx, a, admin, cmd, []string{string(profile.Owner)})
		}
		return err
	})
	return id, err
}

// logCommand lists the log.
func (a *app) logCommand() *cobra.Command {
	var account, before string
	var limit int
	cmd := a.onStore("log", "List what was done to accounts and the server: who, what, when, from where", "",
		func(ctx context.Context, admin metering.Admin, _ []string) error {
			f := metering.ActFilter{Account: metering.AccountID(account), Limit: limit}
			if limit < 0 {
				return usagef("--limit: must be 0 or more")
			}
			if before != "" {
				at, err := time.Parse(time.RFC3339, before)
				if err != nil {
					return usagef("--before: %q is no time such as 2026-11-26T09:00:00Z", before)
				}
				f.Before = at
			}
			if f.Account != "" {
				if _, err := admin.Store.Account(ctx, f.Account); errors.Is(err, metering.ErrNotFound) {
					return usagef("--account: %w; diagd account list shows the ids", err)
				}
			}
			list, err := metering.Acts(ctx, admin.Store, f)
			if err != nil {
				return err
			}
			return printList(a, list, "AT, WHO, FROM, ACCOUNT, WHAT, SUBJECT, DETAIL, ERROR", func(act metering.Act) []any {
				return []any{when(&act.At), act.Who, act.From, act.Account, act.What, act.Subject, act.Detail, act.Error}
			})
		})
	a.addJSON(cmd)
	cmd.Flags().StringVar(&account, "account", "", "only of this account (default: all, and the server)")
	cmd.Flags().StringVar(&before, "before", "", "only what was done before this time, such as 2026-11-26T09:00:00Z")
	cmd.Flags().IntVar(&limit, "limit", 50, "how many to list at most, the newest first; 0 for all")
	return cmd
}
