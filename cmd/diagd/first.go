package main

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/postgresdb"
)

// firstStart makes an empty store usable: an account, a key with all scopes, and a line to try it. Of servers
// that start at once on one database, one does so.
func (a *app) firstStart(ctx context.Context, admin metering.Admin, url string) error {
	accounts, err := admin.Store.Accounts(ctx)
	if err != nil || len(accounts) > 0 {
		return err
	}
	kind, place, err := a.place()
	if err != nil {
		return err
	}
	if kind == "postgres" {
		return postgresdb.Exclusively(ctx, place, "first start", func() error { return a.createFirst(ctx, admin, url) })
	}
	return a.createFirst(ctx, admin, url)
}

// createFirst makes the account and the key if there is still no account.
func (a *app) createFirst(ctx context.Context, admin metering.Admin, url string) error {
	accounts, err := admin.Store.Accounts(ctx)
	if err != nil || len(accounts) > 0 {
		return err
	}
	account, err := admin.CreateAccount(ctx, "default", "self")
	if err != nil {
		return fmt.Errorf("creating the first account: %w", err)
	}
	_, secret, err := admin.CreateKey(ctx, metering.KeyRequest{
		Account: account.ID, Name: "first", Environment: metering.Live, Scopes: metering.Scopes(),
	})
	if err != nil {
		return fmt.Errorf("creating the first key: %w", err)
	}
	link, err := firstMember(ctx, admin, account.ID, a.publicURL(url))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stderr, `
First start: here is an API key with all scopes. It is shown only now.

  %s

Try it:

  curl -i %s%s/text/upper -H 'Authorization: Bearer %s' -H 'Content-Type: application/json' -d '{"text":"Straße"}'

And this is your way into the dashboard, for one use within 15 minutes; diagd member link owner@localhost makes another:

  %s

`, secret.Reveal(), url, httpapi.Prefix, secret.Reveal(), link)
	return err
}
