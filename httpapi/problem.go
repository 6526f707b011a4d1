package httpapi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/mailauth/dmarc/aggregate"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
	qrdecode "github.com/diagkit/diagkit/webcheck/qr/decode"
)

// ErrorCode is one of the ten codes that the API answers with when it refuses or fails: INVALID_API_KEY,
// EXPIRED_API_KEY, REVOKED_API_KEY, INSUFFICIENT_SCOPE, IP_NOT_ALLOWED, QUOTA_EXCEEDED, RATE_LIMITED,
// IDEMPOTENCY_CONFLICT, INVALID_REQUEST or INTERNAL_ERROR.
type ErrorCode string

// The error codes (CONTRACT 1.3).
const (
	InvalidAPIKey       ErrorCode = "INVALID_API_KEY"
	ExpiredAPIKey       ErrorCode = "EXPIRED_API_KEY"
	RevokedAPIKey       ErrorCode = "REVOKED_API_KEY"
	InsufficientScope   ErrorCode = "INSUFFICIENT_SCOPE"
	IPNotAllowed        ErrorCode = "IP_NOT_ALLOWED"
	QuotaExceeded       ErrorCode = "QUOTA_EXCEEDED"
	RateLimited         ErrorCode = "RATE_LIMITED"
	IdempotencyConflict ErrorCode = "IDEMPOTENCY_CONFLICT"
	InvalidRequest      ErrorCode = "INVALID_REQUEST"
	InternalError       ErrorCode = "INTERNAL_ERROR"
)

// Values lists the codes.
func (ErrorCode) Values() []string {
	return kit.Values(InvalidAPIKey, ExpiredAPIKey, RevokedAPIKey, InsufficientScope, IPNotAllowed, QuotaExceeded,
		RateLimited, IdempotencyConflict, InvalidRequest, InternalError)
}

// Problem is the body of every reply that is not a success (schema PublicAPIError).
type Problem struct {
	Code    ErrorCode      `json:"code" doc:"what went wrong, for programs"`
	Message string         `json:"message" doc:"what went wrong, for people"`
	Details ProblemDetails `json:"details" doc:"what depends on the code"`

	RequestID string `json:"request_id" doc:"ID of the request, for logs and for support" pattern:"^req_[a-z2-7]{26}$"`
}

// ProblemDetails holds details of a problem. Which fields are present depends on the code.
type ProblemDetails struct {
	Reason     string          `json:"reason,omitempty" doc:"what exactly is wrong"`
	Fields     []Violation     `json:"fields,omitempty" doc:"every fault found in the request"`
	Required   string          `json:"required,omitempty" doc:"scope that the operation needs"`
	Granted    []string        `json:"granted,omitempty" doc:"scopes that the key has"`
	Tier       metering.PlanID `json:"tier,omitempty" doc:"plan of the account"`
	Limit      *int64          `json:"limit,omitempty" doc:"allowance of the month, in credits"`
	Current    *int64          `json:"current,omitempty" doc:"credits used this month"`
	Requested  *int64          `json:"requested,omitempty" doc:"price of the request, if it exceeds what is left"`
	ResetsAt   *time.Time      `json:"resets_at,omitempty" doc:"when the allowance is renewed"`
	Scope      string          `json:"scope,omitempty" doc:"whose rate limit is exceeded" enum:"key ip"`
	RetryAfter *int64          `json:"retry_after_seconds,omitempty" doc:"seconds until a request is allowed again"`
}

// Error implements error.
func (p *Problem) Error() string { return fmt.Sprintf("%s: %s (%s)", p.Code, p.Message, p.RequestID) }

// Err returns the problem as the error that the operation itself would have returned, if it reported one: a
// [*ViolationsError], or the error of [diag.Unavailable] for a silent server. Otherwise it returns the problem.
func (p *Problem) Err() error {
	if len(p.Details.Fields) > 0 {
		return &ViolationsError{Violations: p.Details.Fields}
	}
	switch p.Details.Reason {
	case reasonUnavailable:
		if server, ok := noUsableAnswer.server(p.Message); ok {
			return diag.Unavailable(server, nil)
		}
	case reasonTimeout:
		if server, ok := noAnswerInTime.server(p.Message); ok {
			return diag.Unavailable(server, context.DeadlineExceeded)
		}
	}
	return p
}

// A serverMessage is a message that names a server between two texts; the details of a problem have no field for it.
type serverMessage struct{ before, after string }

var (
	noUsableAnswer = serverMessage{"There was no usable answer from ", "."}
	noAnswerInTime = serverMessage{"There was no answer from ", " in time."}
)

func (m serverMessage) about(server string) string { return m.before + server + m.after }

// server returns the server that a message names, if it names one.
func (m serverMessage) server(message string) (server string, ok bool) {
	server, ok = strings.CutPrefix(message, m.before)
	return strings.TrimSuffix(server, m.after), ok
}

// The reasons of INVALID_REQUEST and INTERNAL_ERROR, and of IDEMPOTENCY_CONFLICT.
const (
	reasonMalformed    = "malformed_json"
	reasonInvalid      = "invalid_field"
	reasonUnknown      = "unknown_field"
	reasonMissing      = "missing_field"
	reasonNotFound     = "not_found"
	reasonMethod       = "method_not_allowed"
	reasonTooLarge     = "body_too_large"
	reasonBodyTimeout  = "body_timeout"
	reasonMediaType    = "unsupported_media_type"
	reasonIdempotency  = "invalid_idempotency_key"
	reasonInternal     = "internal"
	reasonUnavailable  = "upstream_unavailable"
	reasonTimeout      = "timeout"
	reasonOverloaded   = "overloaded"
	reasonBodyMismatch = "body_mismatch"
	reasonInFlight     = "in_flight"
	reasonReplyGone    = "reply_gone"
)

// failure is a problem with its HTTP status. It is an error, so that every step can return it.
type failure struct {
	status         int
	problem        Problem
	allow          string // for 405
	retryAfter     int64  // seconds; 0: no header
	cause          error  // for the log only
	causeIsPrivate bool   // cause may name a customer's subject
}

func (f *failure) Error() string { return string(f.problem.Code) + ": " + f.problem.Message }

func (f *failure) Unwrap() error { return f.cause }

func invalidRequestProblem(status int, reason, message string) *failure {
	return &failure{status: status, problem: Problem{
		Code: InvalidRequest, Message: message, Details: ProblemDetails{Reason: reason},
	}}
}

// notFoundProblem answers for paths and for IDs alike, in the same words: a caller who guesses IDs must not learn
// which of them belong to others.
func notFoundProblem() *failure {
	return invalidRequestProblem(http.StatusNotFound, reasonNotFound, "There is nothing at this path.")
}

// storeRetry is when to try again while the store is unavailable, in seconds: outages rarely end sooner.
const storeRetry = 5

// problemFor is the one place where errors become codes and statuses. What is not known here is
// internal, and its text is not for the caller.
func problemFor(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if v, ok := errors.AsType[*ViolationsError](err); ok {
		return violationsProblem(v.Violations)
	}
	if v := inputViolations(err, ""); len(v) > 0 {
		return violationsProblem(v)
	}
	if refused, ok := errors.AsType[*metering.RefusedError](err); ok {
		return refusalProblem(refused)
	}
	if quota, ok := errors.AsType[*metering.QuotaError](err); ok {
		return quotaProblem(quota)
	}
	if over, ok := errors.AsType[*aggregate.LimitError](err); ok {
		return invalidRequestProblem(http.StatusRequestEntityTooLarge, reasonTooLarge, over.Sentence())
	}
	if over, ok := errors.AsType[*qrdecode.TooLargeError](err); ok {
		return invalidRequestProblem(http.StatusRequestEntityTooLarge, reasonTooLarge, over.Sentence())
	}
	switch {
	case errors.Is(err, hostedspf.ErrNotFound):
		return notFoundProblem()
	case errors.Is(err, metering.ErrIdempotencyKey):
		f := invalidRequestProblem(http.StatusBadRequest, reasonIdempotency, err.Error())
		f.problem.Details.Fields = []Violation{{"Idempotency-Key", reasonInvalid, err.Error()}}
		return f
	case errors.Is(err, metering.ErrMismatch):
		return conflictProblem(reasonBodyMismatch, "The idempotency key was used for another request.", 0)
	case errors.Is(err, metering.ErrInFlight):
		return conflictProblem(reasonInFlight, "The first request with this idempotency key is still running.", 1)
	case errors.Is(err, metering.ErrReplyGone), errors.Is(err, errSealed):
		return conflictProblem(reasonReplyGone, "The first request with this idempotency key was carried out and charged; "+
			"its reply is no longer kept. Use a new key to run it again.", 0)
	case errors.Is(err, metering.ErrUnavailable), errors.Is(err, hostedspf.ErrUnavailable): // whatever ended the wait
		f := internalProblem(http.StatusServiceUnavailable, reasonInternal,
			"The server cannot record anything now. Try again in a moment.", err)
		f.retryAfter = storeRetry
		return f
	case errors.Is(err, context.DeadlineExceeded):
		message := "Nothing could be measured in time."
		if silent, ok := errors.AsType[*diag.UnavailableError](err); ok {
			message = noAnswerInTime.about(silent.Asked)
		}
		return internalProblem(http.StatusGatewayTimeout, reasonTimeout, message, err)
	case errors.Is(err, context.Canceled):
		return internalProblem(http.StatusServiceUnavailable, reasonTimeout,
			"The client disconnected before there was a result.", err)
	case errors.Is(err, diag.ErrUnavailable):
		message := "A service that the check depends on did not answer."
		if silent, ok := errors.AsType[*diag.UnavailableError](err); ok {
			message = noUsableAnswer.about(silent.Asked)
		}
		return internalProblem(http.StatusBadGateway, reasonUnavailable, message, err)
	case errors.Is(err, budget.ErrFull):
		f := internalProblem(http.StatusServiceUnavailable, reasonOverloaded,
			"The server is busy. Try again in a moment.", err)
		f.retryAfter = 1
		return f
	}
	return internalProblem(http.StatusInternalServerError, reasonInternal, "internal error", err)
}

func internalProblem(status int, reason, message string, cause error) *failure {
	return &failure{status: status, cause: cause, problem: Problem{
		Code: InternalError, Message: message, Details: ProblemDetails{Reason: reason},
	}}
}

func conflictProblem(reason, message string, retryAfter int64) *failure {
	return &failure{status: http.StatusConflict, retryAfter: retryAfter, problem: Problem{
		Code: IdempotencyConflict, Message: message, Details: ProblemDetails{Reason: reason},
	}}
}

func violationsProblem(list []Violation) *failure {
	reason := list[0].Reason
	for _, v := range list {
		if v.Reason == reasonMalformed {
			reason = reasonMalformed
		}
	}
	message := list[0].Field + ": " + list[0].Message
	if list[0].Field == "" {
		message = list[0].Message
	}
	if n := len(list) - 1; n > 0 {
		message += " (and " + strconv.Itoa(n) + " more)"
	}
	f := invalidRequestProblem(http.StatusBadRequest, reason, message)
	f.problem.Details.Fields = list
	return f
}

func refusalProblem(r *metering.RefusedError) *failure {
	f := &failure{status: http.StatusUnauthorized}
	p := &f.problem
	switch r.Reason {
	case metering.RevokedKey:
		p.Code, p.Message = RevokedAPIKey, "The API key has been revoked."
	case metering.ExpiredKey:
		p.Code, p.Message = ExpiredAPIKey, "The API key has expired."
	case metering.AddressNotAllowed:
		f.status = http.StatusForbidden
		p.Code, p.Message = IPNotAllowed, "The API key may not be used from this address."
	case metering.ScopeMissing:
		f.status = http.StatusForbidden
		p.Code, p.Message = InsufficientScope, "The API key lacks the scope "+string(r.Required)+"."
		p.Details.Required = string(r.Required)
		for _, s := range r.Caller.Key.Scopes {
			p.Details.Granted = append(p.Details.Granted, string(s))
		}
	case metering.RateLimited:
		return rateProblem("key", wholeSeconds(r.Caller.Rate.RetryAfter.Seconds()))
	default:
		p.Code, p.Message = InvalidAPIKey, "The API key is missing or not valid. "+
			"Send it in a header: Authorization: Bearer svc_live_…"
	}
	return f
}

// unauthenticatedProblem refuses a request for which [Config.Authenticate] knows no key.
func unauthenticatedProblem() *failure {
	return &failure{status: http.StatusUnauthorized, problem: Problem{
		Code: InvalidAPIKey, Message: "The request is not authenticated.",
	}}
}

// wholeSeconds rounds up to at least 1.
func wholeSeconds(s float64) int64 { return max(1, int64(math.Ceil(s))) }

func rateProblem(scope string, retryAfter int64) *failure {
	return &failure{status: http.StatusTooManyRequests, retryAfter: retryAfter, problem: Problem{
		Code: RateLimited, Message: "Too many requests. Try again in " + strconv.FormatInt(retryAfter, 10) + " s.",
		Details: ProblemDetails{Scope: scope, RetryAfter: &retryAfter},
	}}
}

func quotaProblem(q *metering.QuotaError) *failure {
	f := &failure{status: http.StatusForbidden, problem: Problem{
		Code: QuotaExceeded, Message: "The credits of this month are used up.",
		Details: ProblemDetails{Reason: string(q.Reason), Tier: q.Plan, Limit: &q.Limit, Current: &q.Current},
	}}
	if q.Left > 0 { // and the price alone overshoots
		f.problem.Message = "The credits left this month do not cover this request."
		f.problem.Details.Requested = &q.Requested
	}
	switch q.Reason {
	case metering.QuotaSuspended:
		f.problem.Message = "The account is suspended. Ask the operator of this server what is open."
	case metering.QuotaAllowanceUsed:
		f.problem.Message += " Change to a larger plan, or wait until the allowance is renewed."
	case metering.QuotaOverageOff:
		f.problem.Message += " Allow overage for the account, or wait until the allowance is renewed."
	case metering.QuotaBudgetReached:
		f.problem.Message += " Raise the overage budget of the account, or wait until the allowance is renewed."
	}
	return f
}

// A Violation is one fault in a request.
type Violation struct {
	Field   string `json:"field" doc:"path of the field, such as ports[2]; empty for the body as a whole"`
	Reason  string `json:"reason" doc:"kind of fault" enum:"malformed_json invalid_field unknown_field missing_field"`
	Message string `json:"message" doc:"what is wrong, for people"`
}

// ViolationsError reports every fault found in a request. There is at least one.
type ViolationsError struct{ Violations []Violation }

func (e *ViolationsError) Error() string {
	texts := make([]string, len(e.Violations))
	for i, v := range e.Violations {
		texts[i] = strings.TrimPrefix(v.Field+": "+v.Message, ": ")
	}
	return strings.Join(texts, "; ")
}

// An inputError is a caller's fault reported by a diagnostic: [diag.InputError], or the same of a
// package that does not import diag.
type inputError interface {
	error
	InputField() (field, reason string)
}

// inputViolations returns the caller's faults in an error, joined ones included. A path replaces the field which the
// error names, because a type does not know what it is used for.
func inputViolations(err error, path string) []Violation {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var list []Violation
		for _, e := range joined.Unwrap() {
			list = append(list, inputViolations(e, path)...)
		}
		return list
	}
	if input, ok := errors.AsType[inputError](err); ok {
		field, reason := input.InputField()
		if path != "" {
			field = path
		}
		return []Violation{{field, reasonInvalid, reason}}
	}
	return nil
}

func methodProblem(allow []string) *failure {
	list := strings.Join(allow, ", ")
	f := invalidRequestProblem(http.StatusMethodNotAllowed, reasonMethod, "The method must be "+list+".")
	f.allow = list
	return f
}

func tooLargeProblem(limit int64) *failure {
	return invalidRequestProblem(http.StatusRequestEntityTooLarge, reasonTooLarge,
		fmt.Sprintf("The body must have at most %d bytes.", limit))
}
