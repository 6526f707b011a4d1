// Package httpapi serves the diagnostics as a metered HTTP API under /public/v1: call [Handler].
//
// Each operation is one line of the table in endpoints.go: method, path, scope, price, purpose and the Go function
// that does the work. Router, decoder, validation, OpenAPI document, command line and price list are derived from
// that line and from the function's request and report types; adding an operation changes nothing else.
//
// CONTRACT.md, next to this file, specifies what the server accepts and answers; comments in all packages cite its
// sections, as in "CONTRACT 1.7".
//
// Every request passes the same steps: request ID, rate limit of its address, route, API key and its rate limit,
// scope, body, idempotency key, hold of the price, and then the diagnostic. Only success is charged, in one durable
// transaction with the reply that is kept for replays.
//
//	gate, err := metering.NewGate(ctx, metering.GateConfig{Store: store})
//	…
//	mux.Handle("/public/v1/", httpapi.Handler(httpapi.Config{Gate: gate}))
//
// [Config.Endpoints] adds custom operations, which are served, charged and described like those of the table:
//
//	httpapi.Config{Gate: gate, Endpoints: []httpapi.Endpoint{{
//		Method: "POST", Path: "/acme/mx-policy", Scope: metering.MailRead, Credits: 3,
//		Purpose:   "MX hosts that our policy allows",
//		Operation: httpapi.Call(mxpolicy.Check), // func(ctx, *diag.Env, Request) (*Report, error)
//	}}}
//
// A scope is one that keys can have, see [metering.Scopes]: there are no others, so that every key, page and command
// knows what it may do. Parts of the server that hold the API (packages dashboard and agent) find these operations
// there; packages pages and watch take the same list.
//
// A program with users of its own mounts the API behind its own authentication, below a path of its own:
//
//	tools := httpapi.New(httpapi.Config{Gate: gate, PublicURL: "/tools", Authenticate: keyOfSession})
//	mux.Handle("/tools/", http.StripPrefix("/tools", http.NewCrossOriginProtection().Handler(tools)))
//
// What browsers are shown comes from package pages, which this one does not import: programs that want it set
// [Config.Pages] and serve the handler at "/".
package httpapi
