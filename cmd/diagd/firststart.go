package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/dashboard"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
	"github.com/diagkit/diagkit/metering/postgresdb"
)

// What the first start makes.
const (
	firstAccount = "default"
	firstPlan    = "self"
	firstOwner   = "owner@localhost"
)

// firstStartFile is the file for the secrets of the first start if others keep what the server prints (CONTRACT 8.1).
const firstStartFile = "first-start.txt"

// firstStart makes an empty store usable: an account, its owner, a key with all scopes, and a line to try it. Of
// servers that start concurrently on one database, one does so.
func (a *app) firstStart(ctx context.Context, admin metering.Admin, url string, log *slog.Logger) error {
	first, err := isFirst(ctx, admin.Store)
	if err != nil || !first {
		return err
	}
	kind, place, err := a.parseStore()
	if err != nil {
		return err
	}
	start := func() error {
		if first, err := isFirst(ctx, admin.Store); err != nil || !first {
			return err
		}
		return a.createFirst(ctx, admin, url, log)
	}
	if kind == "postgres" {
		return postgresdb.Exclusively(ctx, place, "first start", start)
	}
	return start()
}

// isFirst reports whether a store has no account yet, or only that of a first start that did not come to its key.
func isFirst(ctx context.Context, store metering.Store) (bool, error) {
	accounts, err := store.Accounts(ctx)
	if err != nil || len(accounts) == 0 {
		return err == nil, err
	}
	if len(accounts) > 1 || accounts[0].Name != firstAccount || accounts[0].Plan != firstPlan {
		return false, nil
	}
	keys, err := metering.Collect(store.Keys(ctx, metering.KeyFilter{Account: accounts[0].ID, Limit: 1}))
	return len(keys) == 0, err
}

// createFirst makes the account, its owner and the key; what an earlier start has left is used. The secret is written
// before the key is stored: no key exists whose secret is lost.
func (a *app) createFirst(ctx context.Context, admin metering.Admin, url string, log *slog.Logger) error {
	accounts, err := admin.Store.Accounts(ctx)
	if err != nil {
		return err
	}
	var account metering.Account
	if len(accounts) > 0 {
		account = accounts[0]
	} else if account, err = admin.CreateAccount(ctx, firstAccount, firstPlan); err != nil {
		return fmt.Errorf("creating the first account: %w", err)
	}
	link, err := firstMember(ctx, admin, account.ID, a.publicURL(url))
	if err != nil {
		return err
	}
	_, _, err = admin.CreateKey(ctx, metering.KeyRequest{
		Account: account.ID, Name: "first", Environment: metering.Live, Scopes: metering.Scopes(),
		Announce: func(secret metering.Secret) error { return a.announceFirst(secret, link, url, log) },
	})
	if err != nil {
		return fmt.Errorf("creating the first key: %w", err)
	}
	return nil
}

// firstMember makes the first owner, and a link by which he signs in.
func firstMember(ctx context.Context, admin metering.Admin, account metering.AccountID, url string) (string, error) {
	people := member.Members{Store: admin.Store, Clock: admin.Clock}
	_, err := people.Add(ctx, account, firstOwner, member.Owner)
	if _, exists := errors.AsType[*metering.FieldError](err); err != nil && !exists {
		return "", fmt.Errorf("adding the first member: %w", err)
	}
	token, err := people.NewLink(ctx, firstOwner)
	if err != nil {
		return "", fmt.Errorf("making the first link: %w", err)
	}
	return dashboard.SignInURL(url, token), nil
}

// announceFirst prints key and link, or writes them into a file that only this user can read, if others keep the
// output of the server.
func (a *app) announceFirst(secret metering.Secret, link, url string, log *slog.Logger) error {
	if os.Getenv("JOURNAL_STREAM") == "" && a.serving.logFormat != "json" {
		return a.writeFirst(a.stderr, secret, link, url)
	}
	kind, place, err := a.parseStore()
	if err != nil {
		return err
	}
	path := firstStartFile
	if kind == "sqlite" {
		path = filepath.Join(filepath.Dir(place), firstStartFile)
	}
	// A failed start may have left one: a new file replaces it, with its own permissions.
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(a.writeFirst(file, secret, link, url), file.Sync(), file.Close())
	if err == nil {
		log.Info("first start: the API key and the sign-in link are in a file; delete it after reading",
			"file", path)
	}
	return err
}

func (a *app) writeFirst(w io.Writer, secret metering.Secret, link, url string) error {
	_, err := fmt.Fprintf(w, `
First start: this API key has all scopes. It is shown only once.

  %s

Try it:

  curl -i %s%s/text/upper -H 'Authorization: Bearer %s' -H 'Content-Type: application/json' -d '{"text":"Straße"}'

Sign in to the dashboard with this one-time link within 15 minutes; diagd member link %s creates another:

  %s

`, secret.Reveal(), url, httpapi.Prefix, secret.Reveal(), firstOwner, link)
	return err
}
