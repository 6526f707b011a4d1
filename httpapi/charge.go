package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
)

// charge claims, holds, runs, settles and replies.
func (x *exchange) charge(req any, body []byte) *failure {
	op := metering.Op{RequestID: x.id, Endpoint: x.ep.Operation.id, Credits: x.ep.Credits, Now: x.began}
	var err error
	if keys := x.r.Header["Idempotency-Key"]; keys != nil && x.ep.Method == http.MethodPost {
		if x.idempotency, err = metering.ParseIdempotencyKey(keys); err != nil {
			return problemFor(err)
		}
		op.Idempotency = x.idempotency
		op.Fingerprint = new(x.fingerprint(body))
	}
	weight := x.ep.Operation.memory(req, len(body))
	if x.memory, err = x.Budget.Work.Take(x.r.Context(), x.owner(), weight); err != nil {
		return problemFor(err)
	}
	begun, err := x.Gate.Begin(x.r.Context(), x.caller, op)
	if err != nil {
		return x.problemFor(err)
	}
	if begun.Replay != nil {
		return x.replay(begun.Replay, req)
	}
	settled := false
	defer func() {
		if !settled { // also when a panic passes through
			x.cancel(*begun.Ticket)
		}
	}()
	result, f := x.work(req)
	if f != nil {
		return f
	}
	outcome, err := x.outcome(result)
	if err != nil {
		return x.problemFor(err)
	}
	balance, err := x.Gate.Settle(context.WithoutCancel(x.r.Context()), *begun.Ticket, outcome)
	if err != nil {
		return x.problemFor(fmt.Errorf("settling %s: %w", x.id, err))
	}
	settled = true
	x.observed.Credits = x.ep.Credits
	x.setCreditHeaders(balance, x.ep.Credits)
	x.reply(result)
	return nil
}

// cancel gives hold and claim back. The request may have ended, so its context does not count.
func (x *exchange) cancel(t metering.Ticket) {
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
		if result.Body, err = unseal(x.secret(), x.idempotency, kept.Reply.Body); err != nil {
			return x.problemFor(err)
		}
	}
	x.observed.Replay = true
	x.setHeader("X-Idempotent-Replay", "true")
	x.setCreditHeaders(kept.Balance, 0)
	x.reply(result)
	return nil
}

// fingerprint is that of CONTRACT 5.2. The path includes the query, if present, as it was sent: another order of its
// parameters makes another request. So does another form of the same file.
func (x *exchange) fingerprint(body []byte) [32]byte {
	path := x.r.URL.Path
	if x.r.URL.RawQuery != "" {
		path += "?" + x.r.URL.RawQuery
	}
	media, _ := x.uploadType()
	return metering.Fingerprint(x.ep.Method, path, cmp.Or(media, jsonMedia), body)
}

// maxRepeatable is the size, in bytes, up to which a reply is kept that could be made again.
const maxRepeatable = 64 << 10

// outcome returns what the store keeps of a success: nothing without an idempotency key. Of a reply that is large,
// and deterministic, it keeps only that there was one.
func (x *exchange) outcome(result *Result) (metering.Outcome, error) {
	out := metering.Outcome{At: x.clock()}
	if x.idempotency == nil {
		return out, nil
	}
	form := x.ep.Operation.form
	if x.ep.Operation.deterministic && len(result.Body) > maxRepeatable {
		form = metering.RerunReply
	}
	if form == metering.SealedReply && x.Authenticate != nil { // there is no secret by which to seal it
		form = metering.GoneReply
	}
	if form != metering.RerunReply && len(result.Body) > metering.MaxReplyBytes {
		form = metering.GoneReply
	}
	out.Reply = &metering.Reply{
		Status: http.StatusOK, Header: map[string]string{"Content-Type": result.MediaType}, Form: form,
	}
	var err error
	switch form {
	case metering.PlainReply:
		out.Reply.Body = result.Body
	case metering.SealedReply:
		out.Reply.Body, err = seal(x.secret(), x.idempotency, result.Body)
	}
	return out, err
}

// pureTime bounds how long a client waits for work that no context ends. The work of such an operation takes well
// under a second, so this is for an overloaded machine.
const pureTime = 15 * time.Second

// work runs the diagnostic. With an idempotency key it continues when the client disconnects: the reply is kept, and
// waits for a retry.
func (x *exchange) work(req any) (*Result, *failure) {
	ctx := x.r.Context()
	if x.idempotency != nil {
		ctx = context.WithoutCancel(ctx)
	}
	if err := ctx.Err(); err != nil {
		return nil, problemFor(err)
	}
	result, err := x.execute(ctx, req)
	if err != nil {
		f := x.problemFor(err)
		f.causeIsPrivate = true
		return nil, f
	}
	x.logPanics(result.Report)
	x.memory.Shrink(int64(len(result.Body))) // until the client has received it
	return result, nil
}

// inlineMemory is the weight, in bytes, up to which work without a deadline is over before a deadline could matter.
const inlineMemory = 2 << 20

// execute runs the diagnostic. Work that no context ends waits for a processor, of which one key has half at most,
// and an account three quarters; it is left to itself when its time is over, and keeps its memory and its processor
// until it has ended.
func (x *exchange) execute(ctx context.Context, req any) (*Result, error) {
	op := &x.ep.Operation
	if op.time > 0 || x.memory.Amount() <= inlineMemory {
		return op.execute(ctx, x.Env, req)
	}
	processor, err := x.Budget.Processors.Take(ctx, x.owner(), 1)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, pureTime)
	defer cancel()
	done := make(chan callResult, 1)
	go func() { done <- runCatching(func() (*Result, error) { return op.execute(ctx, x.Env, req) }) }()
	select {
	case result := <-done:
		processor.Release()
		if result.panicked != nil {
			panic(result.panicked)
		}
		return result.result, result.err
	case <-ctx.Done():
		go func(body, memory *budget.Lease) {
			<-done
			processor.Release()
			body.Release()
			memory.Release()
		}(x.body, x.memory)
		x.body, x.memory = nil, nil
		return nil, ctx.Err()
	}
}

// callResult is how work in another goroutine ended.
type callResult struct {
	result   *Result
	err      error
	panicked *diag.GoPanic
}

func runCatching(f func() (*Result, error)) (r callResult) {
	r.panicked = diag.Catch(func() { r.result, r.err = f() })
	return r
}
