package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/netip"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
)

const jsonMedia = "application/json"

// exchange is one request on its way through the steps.
type exchange struct {
	*server
	w      http.ResponseWriter
	r      *http.Request
	client *http.Request // whose credentials count: r, or the request on whose behalf it is made
	fields http.Header   // of the reply
	id     string
	began  time.Time
	ip     netip.Addr

	address metering.Decision   // of its bucket, if there is one
	counted *metering.IPLimiter // which a token of the address was taken from; nil: none was

	ep     *Endpoint
	caller *metering.Caller
	idem   *[32]byte     // of the idempotency key, if there is one
	body   *budget.Lease // for the body of the request
	memory *budget.Lease // for the diagnostic and its reply
	seen   Observation
	fault  error // for the log

	private bool // fault may name a customer's subject

	values [maxHeaders]string // of the headers set so far, so that each needs no list of its own
	count  int
}

// owner is the owner of the share against which the exchange's memory counts.
func (x *exchange) owner() budget.Owner {
	return budget.Owner{Account: x.caller.Account.ID, Key: x.caller.Key.ID}
}

// maxHeaders is more than any reply has.
const maxHeaders = 24

// header sets a header of the reply, whose name is sent as it is spelled. One that is set twice must be spelled alike, and
// those that net/http knows of must be in its canonical form.
func (x *exchange) header(name, value string) {
	i := x.count
	x.count++
	x.values[i] = value
	x.fields[name] = x.values[i : i+1 : i+1]
}

// serve takes the steps of CONTRACT 1.1 in their order. A refusal at any of them leaves everything after it untouched.
func (x *exchange) serve() *failure {
	if x.forPages() {
		x.servePages()
		return nil
	}
	if f := x.admitAddress(); f != nil {
		return f
	}
	refused := x.admitKey()
	if refused != nil && x.caller != nil { // by the bucket of a good key
		return refused
	}
	if f := x.route(); f != nil || x.ep == nil {
		return f
	}
	if refused != nil {
		return refused
	}
	if f := x.admitScope(); f != nil {
		return f
	}
	return x.serveContent()
}

// serveContent reads the request, and answers.
func (x *exchange) serveContent() *failure {
	if x.ep.parametrised() {
		return x.serveParameters()
	}
	body, f := x.readBody()
	if f != nil {
		return f
	}
	req, err := x.decodeBody(body)
	if err != nil {
		return problemFor(err)
	}
	return x.charge(req, body)
}

// admitAddress takes a token of the address. If it has none left, a key that is known to be good passes without a
// query to the store: a guesser behind the same proxy must not lock it out. Nor may he lock out a key that was not
// seen since the start: a key with a valid form has a smaller bucket of its own.
func (x *exchange) admitAddress() *failure {
	x.ip = x.clientIP(x.r)
	if x.limiter == nil {
		return nil
	}
	x.address = x.limiter.Take(x.ip, x.began)
	if x.address.Allowed {
		x.counted = x.limiter
		return nil
	}
	secret := x.secret()
	if x.Gate.Recognizes(secret, x.ip, x.began) {
		return nil
	}
	if metering.MayBeSecret(secret) && x.unseen.Take(x.ip, x.began).Allowed {
		x.counted = x.unseen
		return nil
	}
	return rateProblem("ip", wholeSeconds(x.address.RetryAfter.Seconds()))
}

// route finds the row of the table. It answers for the OpenAPI document by itself.
func (x *exchange) route() *failure {
	x.seen.Endpoint = "unknown"
	path := x.r.URL.Path
	methods := x.routes[path]
	if strings.Contains(strings.ToLower(x.r.URL.RawPath), "%2f") {
		methods = nil // an escaped slash separates nothing (RFC 3986 section 2.4)
	}
	if methods == nil {
		methods = x.match(x.r.URL)
	}
	switch {
	case path == openapiPath:
		x.seen.Endpoint = "openapi"
		return x.serveDocument()
	case path == "/":
		f := notFound()
		f.problem.Message = "The API is under " + x.PublicURL + Prefix + "/, and " + x.PublicURL + openapiPath + " describes it."
		return f
	case path == "*": // of OPTIONS alone (RFC 9110 section 9.3.7)
		return invalidRequest(http.StatusNotImplemented, reasonMethod,
			"The server as a whole has no options; "+x.PublicURL+openapiPath+" describes the API.")
	case methods == nil:
		return x.noSuchPath(path)
	}
	if x.ep = methods[x.r.Method]; x.ep == nil {
		return methodProblem(slices.Sorted(maps.Keys(methods)))
	}
	x.seen.Endpoint = x.ep.Operation.id
	return nil
}

// admitKey checks key, address and rate. It runs before routing, so that each reply to a good key reports the state
// of its own bucket; without a good key, the reply to an unknown path reveals nothing. An address that presents a
// good key gets its token back: from there on the customer's plan bounds it.
func (x *exchange) admitKey() *failure {
	caller, err := x.authenticate()
	refused, isRefusal := errors.AsType[*metering.RefusedError](err)
	if isRefusal {
		caller = refused.Caller
	}
	if caller != nil {
		x.caller = caller
		x.seen.Plan = string(caller.Plan.ID)
		x.rateHeaders(caller.Rate, caller.Plan.Policy())
		if x.counted != nil {
			x.counted.GiveBack(x.ip, x.began)
		}
	}
	if err != nil {
		return x.problem(err)
	}
	return nil
}

// authenticate admits the key that a request presents, or the one that the program found by itself.
func (x *exchange) authenticate() (*metering.Caller, error) {
	if x.Authenticate == nil {
		return x.Gate.Admit(x.r.Context(), x.secret(), x.ip, x.began)
	}
	id, err := x.Authenticate(x.client)
	switch {
	case err != nil:
		return nil, fmt.Errorf("authenticating a request: %w", err)
	case id == "":
		return nil, unauthenticated()
	}
	return x.Gate.AdmitKey(x.r.Context(), id, x.ip, x.began)
}

// secret returns the API key that a request presents, or nothing.
func (x *exchange) secret() string {
	if x.Authenticate != nil {
		return ""
	}
	return bearer(x.client.Header["Authorization"])
}

// readBody reads the body within the bounds of the row.
func (x *exchange) readBody() ([]byte, *failure) {
	limit := x.ep.Operation.body
	if x.r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	if x.r.ContentLength == 0 && x.r.Header["Content-Type"] == nil {
		return []byte("{}"), nil // no body means an empty object
	}
	if media, _ := x.uploaded(); media == "" && !jsonContent(x.r.Header) {
		return nil, x.ep.Operation.otherMedia()
	}
	size := x.r.ContentLength
	if size < 0 {
		size = limit
	}
	var body []byte
	var err error
	if x.body, err = x.Budget.Bodies.Take(x.r.Context(), x.owner(), size); err != nil {
		return nil, problemFor(err)
	}
	if x.r.ContentLength >= 0 {
		body = make([]byte, x.r.ContentLength)
		_, err = io.ReadFull(x.r.Body, body)
	} else {
		body, err = io.ReadAll(io.LimitReader(x.r.Body, limit+1))
	}
	if err != nil {
		return nil, unreadBody(err)
	}
	if int64(len(body)) > limit {
		return nil, tooLarge(limit)
	}
	return body, nil
}

// unreadBody is the problem of a body that broke off, or came too slowly.
func unreadBody(err error) *failure {
	f := invalidRequest(http.StatusBadRequest, reasonMalformed, "The body could not be read to its end.")
	if errors.Is(err, os.ErrDeadlineExceeded) {
		f = invalidRequest(http.StatusRequestTimeout, reasonBodyTimeout,
			"The body did not arrive in time. Send the request again, and the whole body at once.")
	}
	f.cause = err
	return f
}

func jsonContent(h http.Header) bool {
	if encoded(h) {
		return false
	}
	types := h["Content-Type"]
	if len(types) != 1 || types[0] == jsonMedia {
		return len(types) == 1
	}
	media, params, err := mime.ParseMediaType(types[0])
	charset, given := params["charset"]
	return err == nil && media == jsonMedia && (!given || strings.EqualFold(charset, "utf-8"))
}

// charge claims, holds, runs, settles and replies.
func (x *exchange) charge(req any, body []byte) *failure {
	op := metering.Op{RequestID: x.id, Endpoint: x.ep.Operation.id, Credits: x.ep.Credits, Now: x.began}
	var err error
	if keys := x.r.Header["Idempotency-Key"]; keys != nil && x.ep.Method == http.MethodPost {
		if x.idem, err = metering.ParseIdempotencyKey(keys); err != nil {
			return problemFor(err)
		}
		op.Idempotency = x.idem
		op.Fingerprint = new(x.fingerprint(body))
	}
	weight := x.ep.Operation.memory(req, len(body))
	if x.memory, err = x.Budget.Work.Take(x.r.Context(), x.owner(), weight); err != nil {
		return problemFor(err)
	}
	begun, err := x.Gate.Begin(x.r.Context(), x.caller, op)
	if err != nil {
		return x.problem(err)
	}
	if begun.Replay != nil {
		return x.replay(begun.Replay, req)
	}
	settled := false
	defer func() {
		if !settled { // also when a panic passes through
			x.release(*begun.Ticket)
		}
	}()
	result, f := x.work(req)
	if f != nil {
		return f
	}
	outcome, err := x.outcome(result)
	if err != nil {
		return x.problem(err)
	}
	balance, err := x.Gate.Settle(context.WithoutCancel(x.r.Context()), *begun.Ticket, outcome)
	if err != nil {
		return x.problem(fmt.Errorf("settling %s: %w", x.id, err))
	}
	settled = true
	x.seen.Credits = x.ep.Credits
	x.creditHeaders(balance, x.ep.Credits)
	x.reply(result)
	return nil
}

// release gives hold and claim back. The request may have ended, so its context does not count.
func (x *exchange) release(t metering.Ticket) {
	err := x.Gate.Cancel(context.WithoutCancel(x.r.Context()), t)
	if err != nil && !errors.Is(err, metering.ErrUnavailable) { // which the store makes up for
		x.log.Error("releasing a hold", "request_id", x.id, "error", err)
	}
}

// replay answers with the kept reply. A reply of which only the fact was kept is made again, free of charge: the
// request is the same, and the function deterministic.
func (x *exchange) replay(kept *metering.Replay, req any) *failure {
	result := &Result{MediaType: kept.Reply.Header["Content-Type"], Body: kept.Reply.Body}
	switch kept.Reply.Form {
	case metering.RerunReply:
		var f *failure
		if result, f = x.work(req); f != nil {
			return f
		}
	case metering.SealedReply:
		var err error
		if result.Body, err = unseal(x.secret(), x.idem, kept.Reply.Body); err != nil {
			return x.problem(err)
		}
	}
	x.seen.Replay = true
	x.header("X-Idempotent-Replay", "true")
	x.creditHeaders(kept.Balance, 0)
	x.reply(result)
	return nil
}

// problem is problemFor, with the headers that the error calls for.
func (x *exchange) problem(err error) *failure {
	f := problemFor(err)
	if quota, ok := errors.AsType[*metering.QuotaError](err); ok {
		if quota.Reason != metering.QuotaSuspended {
			f.problem.Details.ResetsAt = new(metering.PeriodOf(x.began).End())
		}
		x.header("X-Credits-Limit", decimal(quota.Limit))
		x.header("X-Credits-Remaining", decimal(max(0, quota.Limit-(quota.Current-quota.Overage))))
	}
	return f
}

// finish ends the exchange: a panic becomes an internal error, and what happened is observed.
func (x *exchange) finish() {
	defer func() { x.body.Release(); x.memory.Release() }()
	if p := recover(); p != nil {
		if p == http.ErrAbortHandler {
			panic(p)
		}
		x.logPanic(p, debug.Stack())
		if x.seen.Status == 0 {
			x.refuse(internal(http.StatusInternalServerError, reasonInternal, "internal error", nil))
		}
	}
	switch {
	case errors.Is(x.fault, metering.ErrUnavailable):
		x.outage.failed(x.log, x.began, x.fault)
	case x.seen.Credits > 0:
		x.outage.worked(x.log, x.began)
	}
	level := x.level()
	logged := x.log.Enabled(x.r.Context(), level)
	if x.Observe == nil && !logged {
		return
	}
	x.seen.At = x.clock().UTC()
	x.seen.Duration = x.seen.At.Sub(x.began)
	if x.Observe != nil {
		x.seen.RequestID = x.id
		if x.caller != nil {
			x.seen.Account, x.seen.Key = x.caller.Account.ID, x.caller.Key.ID
		}
		x.Observe(x.seen)
	}
	if logged {
		x.logRequest(level)
	}
}

// refuse answers with a problem.
func (x *exchange) refuse(f *failure) {
	p := f.problem
	p.RequestID = x.id
	x.seen.Code, x.fault, x.private = string(p.Code), f.cause, f.private
	x.addressHeaders()
	if f.status == http.StatusUnauthorized && x.Authenticate == nil { // cookies have no scheme that could be named
		x.header("WWW-Authenticate", "Bearer")
	}
	if f.allow != "" {
		x.header("Allow", f.allow)
	}
	if f.retryAfter > 0 {
		x.header("Retry-After", decimal(f.retryAfter))
	}
	body, err := encode(p)
	if err != nil { // a Problem holds nothing that cannot be encoded
		panic(err)
	}
	x.write(f.status, jsonMedia, body)
}
