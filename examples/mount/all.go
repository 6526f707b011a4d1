package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/agent"
	"github.com/diagkit/diagkit/httpapi/dashboard"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
)

// mountParts mounts the optional parts, and runs watches until the returned function is called.
func mountParts(
	ctx context.Context, mux *http.ServeMux, store metering.Store, api *httpapi.API, address string,
) (stop func()) {
	watches := watch.New(watch.Config{Store: store, Ask: api.Ask, PublicURL: address})
	pages := dashboard.New(dashboard.Config{Store: store, API: api, Watches: watches, PublicURL: address})
	for _, path := range []string{"/dashboard", "/dashboard/", "/r/"} {
		mux.Handle(path, pages)
	}
	mux.Handle("/mcp", agent.New(agent.Config{API: api}))
	ctx, end := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = watches.Run(ctx) }) // it returns the reason why it ended
	return func() { end(); running.Wait() }
}

// invite makes a member of the first account, and prints a link that signs in once.
func invite(ctx context.Context, store metering.Store, address string) error {
	accounts, err := store.Accounts(ctx)
	if err != nil {
		return err
	}
	people := member.Members{Store: store}
	const email = "you@example.com"
	_, err = people.Add(ctx, accounts[0].ID, email, member.Owner)
	if _, known := errors.AsType[*metering.FieldError](err); err != nil && !known { // a member since the first start
		return err
	}
	token, err := people.NewLink(ctx, email)
	fmt.Println(dashboard.SignInURL(address, token))
	return err
}
