// Package httpapi serves the diagnostics as a metered HTTP API under /public/v1.
//
// Everything about an operation stands in one line of the table in endpoints.go: method, path,
// scope, price, purpose and the Go function that does the work. Router, decoder, validation,
// OpenAPI document, command line and price list are made from that line and from the function's
// request and report types; nothing else must be touched to add an operation.
//
// What the server accepts and answers is written down in CONTRACT.md, beside this file; comments in all packages cite
// its sections, as in "CONTRACT 1.7".
//
// A request passes the same steps whatever it asks for: a request id, the limiter of its address, the route, the API
// key and its rate limit, the scope, the body, the idempotency key, the hold of its price; only then the diagnostic
// runs, and only a success is charged, in one durable transaction with the reply that is kept for replays.
//
//	gate, err := metering.NewGate(ctx, metering.GateConfig{Store: store})
//	…
//	mux.Handle("/public/v1/", httpapi.Handler(httpapi.Config{Gate: gate}))
package httpapi
