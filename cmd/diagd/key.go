package main

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"github.com/diagkit/diagkit/cmd/worldflags"
	"github.com/diagkit/diagkit/metering"
	"github.com/spf13/cobra"
)

type keyView struct {
	ID            metering.KeyID         `json:"id"`
	Account       metering.AccountID     `json:"account"`
	Name          string                 `json:"name"`
	Environment   metering.Environment   `json:"environment"`
	Scopes        []metering.Scope       `json:"scopes"`
	DisplayPrefix string                 `json:"display_prefix"`
	State         metering.KeyState      `json:"state"`
	IPAllowlist   []netip.Prefix         `json:"ip_allowlist"`
	CreatedAt     time.Time              `json:"created_at"`
	ExpiresAt     *time.Time             `json:"expires_at,omitempty"`
	LastUsedAt    *time.Time             `json:"last_used_at,omitempty"`
	RotatedFrom   metering.KeyID         `json:"rotated_from,omitempty"`
	RotatedTo     metering.KeyID         `json:"rotated_to,omitempty"`
	GraceUntil    *time.Time             `json:"grace_until,omitempty"`
	RevokedReason metering.RevokedReason `json:"revoked_reason,omitempty"`
	Secret        string                 `json:"secret,omitempty"` // shown once
}

func viewKey(k metering.Key, secret string) keyView {
	if k.IPAllowlist == nil {
		k.IPAllowlist = []netip.Prefix{}
	}
	return keyView{k.ID, k.Account, k.Name, k.Environment, k.Scopes, k.DisplayPrefix, k.State(time.Now()),
		k.IPAllowlist, k.CreatedAt.UTC(), k.ExpiresAt, k.LastUsedAt, k.RotatedFrom, k.RotatedTo, k.GraceUntil,
		k.RevokedReason, secret}
}

func (a *app) keyCommand() *cobra.Command {
	cmd := group("key", "Administer API keys",
		a.keyCreateCommand(), a.keyListCommand(), a.keyRotateCommand(), a.keyRevokeCommand())
	cmd.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON")
	return cmd
}

func (a *app) keyCreateCommand() *cobra.Command {
	var account, name, environment string
	var scopes, addresses []string
	var expires time.Duration
	create := &cobra.Command{
		Use: "create", Short: "Create a key and show its secret, once", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			req := metering.KeyRequest{Name: name, Environment: metering.Environment(environment)}
			for _, s := range scopes {
				req.Scopes = append(req.Scopes, metering.Scope(s))
			}
			for _, text := range addresses {
				network, err := worldflags.ParseNetwork(text)
				if err != nil {
					return usagef("--ip: %w", err)
				}
				req.IPAllowlist = append(req.IPAllowlist, network)
			}
			if expires > 0 {
				req.ExpiresAt = new(time.Now().Add(expires))
			}
			return a.administer(cmd.Context(), func(admin metering.Admin) error {
				return a.createKey(cmd.Context(), admin, account, req)
			})
		},
	}
	flags := create.Flags()
	flags.StringVar(&account, "account", "", "id of the account (default: the only one)")
	flags.StringVar(&name, "name", "", "name of the key, 1 to 64 characters")
	flags.StringVar(&environment, "environment", "live", "live or test, a label")
	flags.StringSliceVar(&scopes, "scopes", nil, "what the key may do: dns:read, mail:read, mail:write, web:read")
	flags.StringSliceVar(&addresses, "ip", nil, "addresses or networks that may use the key (default: any)")
	flags.DurationVar(&expires, "expires-in", 0, "lifetime, such as 720h (default: without end)")
	return create
}

func (a *app) createKey(ctx context.Context, admin metering.Admin, account string, req metering.KeyRequest) error {
	owner, err := onlyAccount(ctx, admin, account)
	if err != nil {
		return err
	}
	req.Account = owner.ID
	key, secret, err := admin.CreateKey(ctx, req)
	if err != nil {
		return err
	}
	return a.showSecret(viewKey(key, secret.Reveal()))
}

// showSecret prints a new key with its secret.
func (a *app) showSecret(v keyView) error {
	return a.print(v, func(t *table) {
		t.row("id", v.ID)
		t.row("account", v.Account)
		t.row("scopes", scopeList(v.Scopes))
		t.row("secret", v.Secret)
		t.row("", "The secret cannot be shown again.")
	})
}

func (a *app) keyListCommand() *cobra.Command {
	var account string
	list := &cobra.Command{
		Use: "list", Short: "List the keys of an account", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.administer(cmd.Context(), func(admin metering.Admin) error {
				owner, err := onlyAccount(cmd.Context(), admin, account)
				if err != nil {
					return err
				}
				keys, err := admin.Store.Keys(cmd.Context(), owner.ID)
				if err != nil {
					return err
				}
				return a.showKeys(keys)
			})
		},
	}
	list.Flags().StringVar(&account, "account", "", "id of the account (default: the only one)")
	return list
}

func (a *app) showKeys(keys []metering.Key) error {
	views := []keyView{}
	for _, k := range keys {
		views = append(views, viewKey(k, ""))
	}
	return a.print(views, func(t *table) { t.keys(views...) })
}

func (t *table) keys(views ...keyView) {
	t.row("ID", "NAME", "PREFIX", "STATE", "SCOPES", "LAST USED", "EXPIRES")
	for _, v := range views {
		t.row(v.ID, v.Name, v.DisplayPrefix, v.State, scopeList(v.Scopes), when(v.LastUsedAt), when(v.ExpiresAt))
	}
}

func (a *app) keyRotateCommand() *cobra.Command {
	var grace time.Duration
	rotate := &cobra.Command{
		Use: "rotate ID", Short: "Replace a key; the old one works for the grace", Args: exactly(1, "the id of a key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.administer(cmd.Context(), func(admin metering.Admin) error {
				_, key, secret, err := admin.RotateKey(cmd.Context(), metering.KeyID(args[0]), grace)
				if err != nil {
					return err
				}
				return a.showSecret(viewKey(key, secret.Reveal()))
			})
		},
	}
	rotate.Flags().DurationVar(&grace, "grace", metering.DefaultGrace, "how long the old key still works, 0 to 720h")
	return rotate
}

func (a *app) keyRevokeCommand() *cobra.Command {
	var reason string
	revoke := &cobra.Command{
		Use: "revoke ID", Short: "End a key at once", Args: exactly(1, "the id of a key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.administer(cmd.Context(), func(admin metering.Admin) error {
				key, err := admin.RevokeKey(cmd.Context(), metering.KeyID(args[0]), metering.RevokedReason(reason))
				if err != nil {
					return err
				}
				v := viewKey(key, "")
				return a.print(v, func(t *table) { t.keys(v) })
			})
		},
	}
	revoke.Flags().StringVar(&reason, "reason", string(metering.RevokedManual), "manual or leak")
	return revoke
}

// scopeList writes scopes as --scopes reads them.
func scopeList(scopes []metering.Scope) string {
	var list []string
	for _, s := range scopes {
		list = append(list, string(s))
	}
	return strings.Join(list, ",")
}
