package httpapi

import (
	"errors"
	"net/http"
	"net/netip"
	"runtime/debug"
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

	addressRate metering.Decision   // of its bucket, if there is one
	tokenFrom   *metering.IPLimiter // which a token of the address was taken from; nil: none was

	ep          *Endpoint
	caller      *metering.Caller
	idempotency *[32]byte     // of the idempotency key, if there is one
	body        *budget.Lease // for the body of the request
	memory      *budget.Lease // for the diagnostic and its reply
	observed    Observation
	fault       error // for the log

	causeIsPrivate bool // fault may name a customer's subject

	headerValues [maxHeaders]string // of the headers set so far, so that each needs no list of its own
	headerCount  int
}

// serve answers a request with the credentials of another one, which is the same unless it is forwarded.
func (s *server) serve(w http.ResponseWriter, r, client *http.Request) {
	x := s.begin(w, r)
	defer x.finish()
	x.client = client
	if f := x.serve(); f != nil {
		x.refuse(f)
	}
}

// begin makes the exchange of a request, which finish ends.
func (s *server) begin(w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{server: s, w: w, r: r, client: r, fields: w.Header(), began: s.clock(), id: beginReply(w.Header())}
	if r.ProtoMajor == 1 && len(r.TransferEncoding) > 0 {
		// A request may also have had a Content-Length, which net/http removes: then the connection must be closed
		// (RFC 9112 section 6.1), since others may have seen another end of it.
		x.setHeader("Connection", "close")
	}
	return x
}

// owner is the owner of the share against which the exchange's memory counts.
func (x *exchange) owner() budget.Owner {
	return budget.Owner{Account: x.caller.Account.ID, Key: x.caller.Key.ID}
}

// problemFor is problemFor, with the headers that the error calls for.
func (x *exchange) problemFor(err error) *failure {
	f := problemFor(err)
	if quota, ok := errors.AsType[*metering.QuotaError](err); ok {
		if quota.Reason != metering.QuotaSuspended {
			f.problem.Details.ResetsAt = new(metering.PeriodOf(x.began).End())
		}
		x.setHeader("X-Credits-Limit", decimal(quota.Limit))
		x.setHeader("X-Credits-Remaining", decimal(max(0, quota.Limit-(quota.Current-quota.Overage))))
	}
	return f
}

// refuse answers with a problem.
func (x *exchange) refuse(f *failure) {
	p := f.problem
	p.RequestID = x.id
	x.observed.observe(&p)
	x.fault, x.causeIsPrivate = f.cause, f.causeIsPrivate
	x.setAddressHeaders()
	if f.status == http.StatusUnauthorized && x.Authenticate == nil { // cookies have no scheme that could be named
		x.setHeader("WWW-Authenticate", "Bearer")
	}
	if f.allow != "" {
		x.setHeader("Allow", f.allow)
	}
	if f.retryAfter > 0 {
		x.setHeader("Retry-After", decimal(f.retryAfter))
	}
	body, err := encode(p)
	if err != nil { // a Problem holds nothing that cannot be encoded
		panic(err)
	}
	x.write(f.status, jsonMedia, body)
}

func (x *exchange) reply(result *Result) {
	if result.MediaType != jsonMedia {
		x.setHeader("Content-Disposition", "inline")
	}
	x.write(http.StatusOK, result.MediaType, result.Body)
}

// maxAutoLength is the size of a body up to which net/http counts it by itself, at less cost.
const maxAutoLength = 2000

func (x *exchange) write(status int, media string, body []byte) {
	x.setHeader("Content-Type", media)
	if len(body) > maxAutoLength || x.r.Method == http.MethodHead {
		x.setHeader("Content-Length", decimal(int64(len(body))))
	}
	if media != jsonMedia {
		x.setHeader("X-Content-Type-Options", "nosniff")
	}
	x.observed.Status = status
	if status < 400 {
		x.observed.Code = "OK"
	}
	x.w.WriteHeader(status)
	if x.r.Method != http.MethodHead {
		x.w.Write(body) // an error means that the client has disconnected; the charge remains
	}
}

// maxHeaders is more than any reply has.
const maxHeaders = 24

// setHeader sets a header of the reply, whose name is sent as it is spelled. One that is set twice must be spelled
// alike, and those that net/http knows of must be in its canonical form.
func (x *exchange) setHeader(name, value string) {
	i := x.headerCount
	x.headerCount++
	x.headerValues[i] = value
	x.fields[name] = x.headerValues[i : i+1 : i+1]
}

// finish ends the exchange: a panic becomes an internal error, and what happened is observed.
func (x *exchange) finish() {
	defer func() { x.body.Release(); x.memory.Release() }()
	if p := recover(); p != nil {
		if p == http.ErrAbortHandler {
			panic(p)
		}
		x.logPanic(p, debug.Stack())
		if x.observed.Status == 0 {
			x.refuse(internalProblem(http.StatusInternalServerError, reasonInternal, "internal error", nil))
		}
	}
	switch {
	case errors.Is(x.fault, metering.ErrUnavailable):
		x.outage.recordFailure(x.log, x.began, x.fault)
	case x.observed.Credits > 0:
		x.outage.recordSuccess(x.log, x.began)
	}
	level := x.logLevel()
	logged := x.log.Enabled(x.r.Context(), level)
	if x.Observe == nil && !logged {
		return
	}
	x.observed.At = x.clock().UTC()
	x.observed.Duration = x.observed.At.Sub(x.began)
	if x.Observe != nil {
		x.observed.RequestID, x.observed.IP = x.id, x.ip
		if x.caller != nil {
			x.observed.Account, x.observed.Key = x.caller.Account.ID, x.caller.Key.ID
		}
		x.Observe(x.observed)
	}
	if logged {
		x.logRequest(level)
	}
}

// statusWriter notes the status of a reply that others write.
type statusWriter struct {
	http.ResponseWriter
	x *exchange
}

func (w *statusWriter) WriteHeader(status int) {
	w.x.observed.Status, w.x.observed.Code = status, "OK"
	if status >= 400 {
		w.x.observed.Code = string(InvalidRequest)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
