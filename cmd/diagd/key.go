package main

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/diagkit/diagkit/cmd/internal/worldflags"
	"github.com/diagkit/diagkit/diag/kit"
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

func viewKey(k metering.Key) keyView {
	return keyView{k.ID, k.Account, k.Name, k.Environment, k.Scopes, k.DisplayPrefix, k.State(time.Now()),
		append([]netip.Prefix{}, k.IPAllowlist...), k.CreatedAt.UTC(), k.ExpiresAt, k.LastUsedAt, k.RotatedFrom, k.RotatedTo,
		k.GraceUntil, k.RevokedReason, ""}
}

func (a *app) keyCommand() *cobra.Command {
	return a.newGroup("key", "Administer API keys",
		a.keyCreateCommand(), a.keyListCommand(), a.keyRotateCommand(), a.keyRevokeCommand())
}

func (a *app) keyCreateCommand() *cobra.Command {
	var environment string
	var req metering.KeyRequest
	var scopes, addresses []string
	var expires time.Duration
	var expiresAt string
	create := a.newAccountCommand("create", "Create a key and show its secret once", "", "",
		func(ctx context.Context, admin metering.Admin, account metering.AccountID, _ []string) (err error) {
			req.Account, req.Environment = account, metering.Environment(environment)
			req.Scopes = kit.Map(scopes, func(s string) metering.Scope { return metering.Scope(s) })
			if req.IPAllowlist, err = worldflags.Networks("ip", addresses); err != nil {
				return usageError{err}
			}
			if req.ExpiresAt, err = expiry(expires, expiresAt); err != nil {
				return err
			}
			return a.showSecret(admin.CreateKey(ctx, req))
		})
	flags := create.Flags()
	flags.StringVar(&req.Name, "name", "", "name of the key, 1 to 64 characters")
	flags.StringVar(&environment, "environment", "live", "live or test, a label")
	flags.StringSliceVar(&scopes, "scopes", nil, "scopes of the key: dns:read, mail:read, mail:write, web:read")
	flags.StringSliceVar(&addresses, "ip", nil, "addresses or networks that may use the key (default: any)")
	flags.DurationVar(&expires, "expires-in", 0, "lifetime, such as 720h (default: never expires)")
	flags.StringVar(&expiresAt, "expires-at", "", "when the key expires, such as 2027-06-30T12:00:00Z")
	return create
}

// expiry is when a key ends, by one of two flags; nil without them.
func expiry(in time.Duration, at string) (*time.Time, error) {
	switch {
	case at != "" && in != 0:
		return nil, usagef("--expires-at: excludes --expires-in")
	case in < 0:
		return nil, usagef("--expires-in: must be more than 0")
	case in > 0:
		return new(time.Now().Add(in)), nil
	case at == "":
		return nil, nil
	}
	end, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return nil, usagef("--expires-at: %q is not a time such as 2027-06-30T12:00:00Z", at)
	}
	return &end, nil
}

func (a *app) showSecret(key metering.Key, secret metering.Secret, err error) error {
	if err != nil {
		return err
	}
	v := viewKey(key)
	v.Secret = secret.Reveal()
	return a.print(v, func(t *table) {
		t.row("id", v.ID)
		t.row("account", v.Account)
		t.row("scopes", joinWords(v.Scopes))
		t.row("secret", v.Secret)
		t.row("", "The secret cannot be shown again.")
	})
}

const keyColumns = "ID, NAME, PREFIX, STATE, SCOPES, LAST USED, EXPIRES"

// row has the scopes as --scopes reads them.
func (v keyView) row() []any {
	return []any{
		v.ID, v.Name, v.DisplayPrefix, v.State, joinWords(v.Scopes),
		formatTime(v.LastUsedAt), formatTime(v.ExpiresAt),
	}
}

func (a *app) keyListCommand() *cobra.Command {
	var pages pageFlags
	var text, state string
	list := a.newAccountCommand("list", "List the keys of an account", "", "",
		func(ctx context.Context, admin metering.Admin, account metering.AccountID, _ []string) error {
			f := metering.KeyFilter{Account: account, Text: text, At: admin.Time()}
			if state != "" {
				if f.States = []metering.KeyState{metering.KeyState(state)}; !slices.Contains(metering.KeyStates(), f.States[0]) {
					return usagef("--state: %q is not one of %s", state, joinWords(metering.KeyStates()))
				}
			}
			list := paginate(pages, admin.Store.Keys(ctx, f), func(k metering.Key) string { return string(k.ID) })
			return printEach(a, mapSequence(list, viewKey), keyColumns, keyView.row)
		})
	list.Flags().StringVar(&text, "contains", "", "only keys whose name, id or visible beginning contains this")
	list.Flags().StringVar(&state, "state", "", "only those that are active, rotating, expired or revoked")
	pages.add(list.Flags())
	return list
}

func (a *app) keyRotateCommand() *cobra.Command {
	var grace time.Duration
	rotate := a.newStoreCommand("rotate ID", "Replace a key; the old one works during the grace period", "the id of a key",
		func(ctx context.Context, admin metering.Admin, args []string) error {
			_, key, secret, err := admin.RotateKey(ctx, metering.KeyID(args[0]), grace)
			return a.showSecret(key, secret, err)
		})
	rotate.Flags().DurationVar(&grace, "grace", metering.DefaultGrace, "how long the old key still works, 0 to 720h")
	return rotate
}

func (a *app) keyRevokeCommand() *cobra.Command {
	var reason string
	revoke := a.newStoreCommand("revoke ID", "Revoke a key immediately", "the id of a key",
		func(ctx context.Context, admin metering.Admin, args []string) error {
			key, err := admin.RevokeKey(ctx, metering.KeyID(args[0]), metering.RevokedReason(reason))
			return printOne(a, viewKey(key), err, keyColumns, keyView.row)
		})
	revoke.Flags().StringVar(&reason, "reason", string(metering.RevokedManual), "manual or leak")
	return revoke
}
