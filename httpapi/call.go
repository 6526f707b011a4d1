package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/metering"
)

// What operations hold at worst, in bytes. TestWeights measures it.
const (
	callMemory        = 512 << 10 // answers, reports and their JSON
	pureMemory        = 1 << 20
	textMemoryPerByte = 32 // bytes for each byte of the body: trees of JSON and YAML, the result and its JSON
)

// An Operation is the work of an endpoint: a Go function and what the API must know about it. [Call] and [Pure] make
// it.
type Operation struct {
	summary       string       // what it does, if the purpose of the row is less specific
	request       reflect.Type // struct
	report        reflect.Type // struct; nil for an image
	media         []string     // media types of the reply
	body          int64        // largest body of a request, in bytes
	time          time.Duration
	fixedMemory   int64              // bytes that it holds at worst, whatever the request
	memoryPerByte int64              // and for each byte of the body
	deterministic bool               // the same request always has the same reply, and no context ends the work
	form          metering.ReplyForm // how a reply is kept for replays
	upload        *upload            // how a file may be sent instead of JSON; nil: not at all
	id            string             // of the endpoint, once it is served: every request needs it
	parametrized  bool               // some fields are outside the body; known once the row is served
	hosted        bool               // run needs a hostedRequest

	deprecation *Deprecation     // of the row; nil: none
	transition  *scopeTransition // to the row's scope from another one; nil: none

	function any // that of the library behind the endpoint
	run      func(ctx context.Context, env *diag.Env, req any) (any, error)
}

// Call makes the operation of a diagnostic. Req and Rep are structs: the request is the JSON body, the report the
// reply.
//
// The tags of the request's fields say what is checked before the function is called: json names a field, which is
// required without omitempty; doc, example and default describe it, and what is required needs an example; min, max,
// minlen, maxlen, maxbytes, minitems, maxitems, unique, enum and pattern bound it; oneof names a group of which exactly
// one must be given; in:"path" and in:"query" place it outside the body. A method Validate() error of the request
// checks what tags cannot say.
//
// An error that is a [diag.InputError] is a fault of the request, [diag.ErrUnavailable] one of a server that was asked;
// any other is an internal error, whose text only the log has. What fails is not charged. A report with the methods
// View() *view.View and Rules() []rule.Description is shown, and its findings are explained, like those of the public
// API.
//
// The deadline is 15 s, a body has at most 64 KiB, and the memory that it holds counts as 512 KiB; the methods of the
// operation set others.
func Call[Req, Rep any](f func(context.Context, *diag.Env, Req) (*Rep, error)) Operation {
	return Operation{
		request: reflect.TypeFor[Req](), report: reflect.TypeFor[Rep](),
		media: []string{jsonMedia}, body: defaultBody, time: defaultTime,
		fixedMemory: callMemory, memoryPerByte: 4, function: f,
		run: func(ctx context.Context, env *diag.Env, req any) (any, error) {
			return reportOrError(f(ctx, env, *req.(*Req)))
		},
	}
}

// errNoReport is the error of an operation that returned neither a report nor an error.
var errNoReport = errors.New("the operation returned no report")

// reportOrError returns either a report or an error, never a nil pointer with an error.
func reportOrError[Rep any](report Rep, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	if v := reflect.ValueOf(report); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, errNoReport
	}
	return report, nil
}

// Pure makes the operation of a deterministic function that needs nothing but its request: one that gets the same again
// returns the same again. It waits for nothing, so it has no deadline. The rest is as for [Call]; its memory counts as
// 1 MiB.
func Pure[Req, Rep any](f func(Req) (*Rep, error)) Operation {
	op := Call(func(_ context.Context, _ *diag.Env, req Req) (*Rep, error) { return f(req) })
	op.time, op.fixedMemory, op.deterministic, op.function = 0, pureMemory, true, f
	return op
}

// text adapts a text utility: its request may be as large as the largest text.
func text[Req, Rep any](f func(Req) (*Rep, error)) Operation {
	op := Pure(f).WithMaxBody(textBody)
	op.memoryPerByte = textMemoryPerByte
	return op
}

// A imageReply is a reply that is not JSON.
type imageReply interface {
	MediaType() string
	Bytes() []byte
}

// image adapts a function that draws. It must be deterministic: for a replay only the fact that it ran is kept, and
// it runs again (CONTRACT 5.4).
func image[Req any, Pic imageReply](f func(Req) (Pic, error), media ...string) Operation {
	return Operation{
		request: reflect.TypeFor[Req](), media: media, body: defaultBody, form: metering.RerunReply,
		fixedMemory: pureMemory, deterministic: true, function: f,
		run: func(_ context.Context, _ *diag.Env, req any) (any, error) {
			return reportOrError(f(*req.(*Req)))
		},
	}
}

// hosted adapts an operation on the hosted SPF profiles of the caller.
func hosted[Req, Rep any](f func(context.Context, *diag.Env, hostedspf.Access, Req) (*Rep, error)) Operation {
	return Operation{
		request: reflect.TypeFor[Req](), report: reflect.TypeFor[Rep](),
		media: []string{jsonMedia}, body: defaultBody, time: defaultTime, fixedMemory: callMemory, hosted: true, function: f,
		run: func(ctx context.Context, env *diag.Env, req any) (any, error) {
			o, ok := req.(*hostedRequest)
			if !ok {
				return nil, errHosted
			}
			return reportOrError(f(ctx, env, o.access, *o.request.(*Req)))
		},
	}
}

// An hostedRequest is a request with whose profiles it is about.
type hostedRequest struct {
	access  hostedspf.Access
	request any // pointer to the request of the operation
}

// withSummary sets what the operation does, if the purpose of the row is that of a family.
func (op Operation) withSummary(summary string) Operation { op.summary = summary; return op }

// WithMaxBody sets the size of the largest body, in bytes.
func (op Operation) WithMaxBody(bytes int64) Operation { op.body = bytes; return op }

// WithMemory sets how many bytes the operation holds at worst, in addition to what depends on the body: the server runs
// as many requests concurrently as fit into [Config.Memory].
func (op Operation) WithMemory(bytes int64) Operation { op.fixedMemory = bytes; return op }

// WithTimeout sets the deadline; 0 means 15 s, and a minute is the most that a server takes.
func (op Operation) WithTimeout(d time.Duration) Operation {
	op.time = cmp.Or(d, defaultTime)
	return op
}

// sealReplies keeps the reply encrypted under a key derived from the caller's API secret, of which the store has only a
// hash: a reader of the store cannot decrypt it (CONTRACT 5.4).
//
// Such an operation draws random numbers: it has another reply each time.
func (op Operation) sealReplies() Operation {
	op.form, op.deterministic = metering.SealedReply, false
	return op
}

// withDeprecation marks the row itself. Every reply to an authorized caller reports it.
func (op Operation) withDeprecation(d Deprecation) Operation { op.deprecation = &d; return op }

// alsoAllow accepts another scope for a while (CONTRACT 1.12). Use by it alone is logged, counted, and
// answered with its deprecation.
func (op Operation) alsoAllow(scope metering.Scope, d Deprecation) Operation {
	op.transition = &scopeTransition{scope, d}
	return op
}

// fields is the type of the request; that of an endpoint without an operation has no fields.
func (op *Operation) fields() reflect.Type { return cmp.Or(op.request, reflect.TypeFor[struct{}]()) }

// A memoryEstimator request computes more exactly than its row how much memory the operation holds.
type memoryEstimator interface{ Memory() int64 }

// memory returns how many bytes a request may make the operation hold.
func (op *Operation) memory(req any, body int) int64 {
	bytes := op.fixedMemory + op.memoryPerByte*int64(body)
	if w, ok := req.(memoryEstimator); ok {
		bytes = max(bytes, w.Memory())
	}
	return bytes
}

// A Result is the reply of an operation.
type Result struct {
	MediaType string
	Body      []byte // JSON or an image
	Report    any    // pointer to the report; nil for an image
}

// errNoOperation is the error of an endpoint that was made without an operation.
var errNoOperation = errors.New("the endpoint has no operation: make one by httpapi.Call or httpapi.Pure")

// Run decodes a JSON object of all the request's fields, wherever the HTTP API has them, checks it as the server
// does, and runs the operation within its deadline. Faults of the request are a *[ViolationsError]. Operations on
// hosted profiles need the store of a server, and return an error without one.
func (ep Endpoint) Run(ctx context.Context, env *diag.Env, body []byte) (*Result, error) {
	req, err := ep.Operation.decode(body)
	if err != nil {
		return nil, err
	}
	return ep.Operation.execute(ctx, env, req)
}

// errHosted is the error of [Endpoint.Run] for an operation on hosted SPF profiles: it needs the store
// in which they are. [Endpoint.RunHosted] takes one.
var errHosted = errors.New("the operation works on profiles that a server keeps")

// RunHosted is [Endpoint.Run] with access to hosted SPF profiles. Other operations make no use of it.
func (ep Endpoint) RunHosted(ctx context.Context, env *diag.Env, access hostedspf.Access, body []byte) (
	*Result, error) {
	req, err := ep.Operation.decode(body)
	if err != nil {
		return nil, err
	}
	if ep.Operation.hosted {
		req = &hostedRequest{access, req}
	}
	return ep.Operation.execute(ctx, env, req)
}

func (op *Operation) decode(body []byte) (any, error) {
	if op.run == nil {
		return nil, errNoOperation
	}
	req := reflect.New(op.request).Interface()
	if err := decode(body, req); err != nil {
		return nil, err
	}
	return req, nil
}

func (op *Operation) execute(ctx context.Context, env *diag.Env, req any) (*Result, error) {
	if op.time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, op.time)
		defer cancel()
	}
	report, err := op.run(ctx, env, req)
	if err != nil {
		return nil, err
	}
	if pic, ok := report.(imageReply); ok {
		return &Result{MediaType: pic.MediaType(), Body: pic.Bytes()}, nil
	}
	body, err := encode(report)
	if err != nil {
		return nil, err
	}
	return &Result{MediaType: jsonMedia, Body: body, Report: report}, nil
}

// encode writes a report as JSON. Unlike json.Marshal it leaves <, > and & as they are: no reply is
// ever part of a web page.
func encode(v any) ([]byte, error) {
	e := encoders.Get().(*encoder)
	e.text.Reset()
	if err := e.json.Encode(v); err != nil {
		return nil, err // this encoder will not write again
	}
	if e.text.Cap() > maxPooledBuffer {
		return e.text.Bytes(), nil // the reply owns the buffer
	}
	body := bytes.Clone(e.text.Bytes())
	encoders.Put(e)
	return body, nil
}

// maxPooledBuffer is the size of a buffer, in bytes, up to which it is worth keeping.
const maxPooledBuffer = 64 << 10

type encoder struct {
	text bytes.Buffer
	json *json.Encoder
}

var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.json = json.NewEncoder(&e.text)
	e.json.SetEscapeHTML(false)
	return e
}}
