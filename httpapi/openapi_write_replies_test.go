package httpapi

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
)

// problemStatuses are the statuses of refusals and failures, with the codes that use them.
var problemStatuses = map[int]struct {
	text    string
	codes   []ErrorCode
	headers []string
}{
	400: {"The request is not valid. It costs nothing.", []ErrorCode{InvalidRequest}, nil},
	401: {"The API key is missing, wrong, expired or revoked.",
		[]ErrorCode{InvalidAPIKey, ExpiredAPIKey, RevokedAPIKey}, []string{"WWW-Authenticate"}},
	403: {"The key may not do this, or the credits are used up.",
		[]ErrorCode{InsufficientScope, IPNotAllowed, QuotaExceeded},
		[]string{"X-Credits-Limit", "X-Credits-Remaining"}},
	404: {"There is nothing at this path.", []ErrorCode{InvalidRequest}, nil},
	405: {"The path does not support the method.", []ErrorCode{InvalidRequest}, []string{"Allow"}},
	408: {"The body did not arrive in time. It costs nothing.", []ErrorCode{InvalidRequest}, nil},
	409: {"The idempotency key was used for another request, or the first is still running.",
		[]ErrorCode{IdempotencyConflict}, []string{"Retry-After"}},
	413: {"The body is too large.", []ErrorCode{InvalidRequest}, nil},
	415: {"The media type of the body is not supported.", []ErrorCode{InvalidRequest}, nil},
	429: {"The rate limit of the key or of the address is exceeded.",
		[]ErrorCode{RateLimited}, append([]string{"Retry-After", "Cache-Control"}, rateHeaderNames...)},
	500: {"The server failed. It costs nothing.", []ErrorCode{InternalError}, nil},
	502: {"A service that the check depends on did not answer.", []ErrorCode{InternalError}, nil},
	503: {"The server is busy.", []ErrorCode{InternalError}, []string{"Retry-After"}},
	504: {"Nothing could be measured in time.", []ErrorCode{InternalError}, nil},
}

func problemResponses() schema {
	responses, examples := schema{}, problemExamples()
	for status, r := range problemStatuses {
		codes := make([]string, len(r.codes))
		for i, c := range r.codes {
			codes[i] = string(c)
		}
		responses[strconv.Itoa(status)] = schema{
			"description": r.text,
			"headers":     headerRefs(append([]string{"X-Request-Id"}, r.headers...)),
			"content": schema{jsonMedia: schema{
				"schema":   schema{"$ref": "#/components/schemas/PublicAPIError"}, // one type for all
				"examples": examples[status],
			}},
			"x-codes": codes,
		}
	}
	return responses
}

// documentResponses are the replies to requests for the document itself.
func documentResponses() schema {
	text := schema{"type": "string"}
	headers := func(names ...string) schema {
		h := headerRefs(replyHeaders)
		h["Cache-Control"] = schema{"description": "The document may be cached, and must be revalidated.", "schema": text}
		h["ETag"] = schema{"description": "Identifies this version of the document.", "schema": text}
		h["Vary"] = schema{"description": "The document is sent compressed to clients that accept it.", "schema": text}
		for _, name := range names {
			h[name] = schema{"description": "The compression of the document, if any.", "schema": text}
		}
		return h
	}
	return schema{
		"200": schema{"description": "The OpenAPI document.", "headers": headers("Content-Encoding"),
			"content": schema{jsonMedia: schema{"schema": schema{"type": "object"}}}},
		"304": schema{"description": "The client has this version already.", "headers": headers()},
		"405": schema{"$ref": "#/components/responses/405"},
		"429": schema{"$ref": "#/components/responses/429"},
	}
}

// problemExamples are replies as the server makes them, by status and fault.
func problemExamples() map[int]schema {
	caller := &metering.Caller{Key: &metering.Key{Scopes: []metering.Scope{metering.DNSRead}}}
	examples := map[int]schema{}
	for _, e := range []struct {
		name string
		f    *failure
	}{
		{"malformed_json", problemFor(decode([]byte(`{"qname": "example.com",}`), &struct{}{}))},
		{"invalid_field", violationsProblem([]Violation{{"count", reasonInvalid, "must be at most 100"}})},
		{"missing_field", violationsProblem([]Violation{
			{"qname", reasonMissing, "is required"}, {"qtype", reasonMissing, "is required"}})},
		{"invalid_idempotency_key", problemFor(metering.ErrIdempotencyKey)},
		{"INVALID_API_KEY", refusalProblem(&metering.RefusedError{Reason: metering.InvalidKey})},
		{"EXPIRED_API_KEY", refusalProblem(&metering.RefusedError{Reason: metering.ExpiredKey})},
		{"REVOKED_API_KEY", refusalProblem(&metering.RefusedError{Reason: metering.RevokedKey})},
		{"INSUFFICIENT_SCOPE", refusalProblem(&metering.RefusedError{
			Reason: metering.ScopeMissing, Required: metering.MailRead, Caller: caller})},
		{"IP_NOT_ALLOWED", refusalProblem(&metering.RefusedError{Reason: metering.AddressNotAllowed})},
		{"QUOTA_EXCEEDED", quotaProblem(&metering.QuotaError{
			Plan: "free", Limit: 30, Current: 28, Requested: 5, Left: 2, Reason: metering.QuotaAllowanceUsed})},
		{"not_found", notFoundProblem()},
		{"method_not_allowed", methodProblem([]string{http.MethodPost})},
		{"body_mismatch", problemFor(metering.ErrMismatch)},
		{"in_flight", problemFor(metering.ErrInFlight)},
		{"body_timeout", bodyReadProblem(os.ErrDeadlineExceeded)},
		{"body_too_large", tooLargeProblem(defaultBody)},
		{"unsupported_media_type", (&Operation{}).mediaTypeProblem()},
		{"key", rateProblem("key", 2)},
		{"ip", rateProblem("ip", 1)},
		{"internal", problemFor(errors.New("a bug"))},
		{"upstream_unavailable", problemFor(diag.ErrUnavailable)},
		{"timeout", problemFor(context.DeadlineExceeded)},
		{"overloaded", problemFor(budget.ErrFull)},
	} {
		if examples[e.f.status] == nil {
			examples[e.f.status] = schema{}
		}
		e.f.problem.RequestID = "req_aaaaaaaaaaaaaaaaaaaaaaaaaa"
		examples[e.f.status][e.name] = schema{"value": e.f.problem}
	}
	return examples
}

var (
	rateHeaderNames = []string{"RateLimit-Policy", "RateLimit", "X-RateLimit-Limit", "X-RateLimit-Remaining",
		"X-RateLimit-Reset"}

	// What every reply has, and every success, is described once.
	replyHeaders   = append([]string{"X-Request-Id", "Cache-Control"}, rateHeaderNames...)
	successHeaders = []string{"X-Credits-Limit", "X-Credits-Remaining", "X-Credits-Consumed", "X-Credits-Overage",
		"X-Idempotent-Replay"}
)

// usesDeprecation reports whether a row can send the headers of deprecation.
func usesDeprecation(table []Endpoint) bool {
	return slices.ContainsFunc(table, func(ep Endpoint) bool {
		return ep.Operation.deprecation != nil || ep.Operation.transition != nil
	})
}

// sentHeaders are all that the API sends, in addition to those of HTTP itself.
func sentHeaders() map[string]schema {
	integer := schema{"type": "integer", "minimum": 0}
	text := schema{"type": "string"}
	header := func(description string, s schema) schema { return schema{"description": description, "schema": s} }
	return map[string]schema{
		"X-Request-Id":           header("ID of the request.", schema{"type": "string", "pattern": "^req_[a-z2-7]{26}$"}),
		"RateLimit-Policy":       header("The key's rate limit, as \"default\";q=60;w=60.", text),
		"RateLimit":              header("Requests left and seconds until the limit is full again, as \"default\";r=59;t=1.", text),
		"X-RateLimit-Limit":      header("Requests a minute.", integer),
		"X-RateLimit-Remaining":  header("Requests left.", integer),
		"X-RateLimit-Reset":      header("When the limit is full again, in Unix seconds.", integer),
		"X-Credits-Limit":        header("Allowance of the month, in credits.", integer),
		"X-Credits-Remaining":    header("Credits left of the allowance.", integer),
		"X-Credits-Consumed":     header("Credits charged for this request; 0 for a replay.", integer),
		"X-Credits-Overage":      header("Credits used above the allowance, if any.", integer),
		"X-Idempotent-Replay":    header("This reply was sent before.", schema{"type": "string", "const": "true"}),
		"Cache-Control":          header("Replies must not be cached.", schema{"type": "string", "const": "no-store"}),
		"Content-Disposition":    header("The image is meant to be displayed.", schema{"type": "string", "const": "inline"}),
		"X-Content-Type-Options": header("The media type must not be guessed.", schema{"type": "string", "const": "nosniff"}),
		"WWW-Authenticate":       header("How to authenticate.", text),
		"Allow":                  header("Methods that the path supports.", text),
		"Deprecation":            header("When the operation, or the scope that allowed it, was deprecated (RFC 9745).", text),
		"Sunset":                 header("When it will no longer be accepted (RFC 8594).", text),
		"Retry-After":            header("Seconds to wait.", schema{"type": "integer", "minimum": 1}),
	}
}

// headerComponents are the headers that responses refer to. What only every success has is described once, with
// x-success-headers.
func headerComponents(deprecation bool) map[string]schema {
	components := sentHeaders()
	maps.DeleteFunc(components, func(name string, _ schema) bool {
		return slices.Contains([]string{"X-Credits-Consumed", "X-Credits-Overage", "X-Idempotent-Replay"}, name) ||
			!deprecation && slices.Contains(deprecationHeaders, name) // no reply has them
	})
	return components
}

// headerTexts are headers themselves.
func headerTexts(names []string) schema {
	list, all := schema{}, sentHeaders()
	for _, n := range names {
		list[n] = all[n]
	}
	return list
}
