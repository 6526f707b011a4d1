package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/metering"
)

// serve takes the steps of CONTRACT 1.1 in their order. A refusal at any of them leaves everything after it untouched.
func (x *exchange) serve() *failure {
	if x.wantsPage() {
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
	if x.ep.hasParameters() {
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

// serveParameters continues a request that has fields outside its body. They pass the same checks as those of a body,
// and all faults are reported together.
func (x *exchange) serveParameters() *failure {
	body, f := x.readOptionalBody()
	if f != nil {
		return f
	}
	req, err := x.ep.decodeParameters(x.r.URL, body)
	if err != nil {
		return problemFor(err)
	}
	if x.ep.Operation.hosted {
		if req, err = x.hostedRequest(req); err != nil {
			return x.problemFor(err)
		}
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
	x.addressRate = x.limiter.Take(x.ip, x.began)
	if x.addressRate.Allowed {
		x.tokenFrom = x.limiter
		return nil
	}
	secret := x.secret()
	if x.Gate.Recognizes(secret, x.ip, x.began) {
		return nil
	}
	if metering.MayBeSecret(secret) && x.unseenKeys.Take(x.ip, x.began).Allowed {
		x.tokenFrom = x.unseenKeys
		return nil
	}
	return rateProblem("ip", wholeSeconds(x.addressRate.RetryAfter.Seconds()))
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
		x.observed.Plan = string(caller.Plan.ID)
		x.setRateHeaders(caller.Rate, caller.Plan.Policy())
		if x.tokenFrom != nil {
			x.tokenFrom.Refund(x.ip, x.began)
		}
	}
	if err != nil {
		return x.problemFor(err)
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
		return nil, unauthenticatedProblem()
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

// bearer returns the credentials after the scheme (RFC 6750 section 2.1), or nothing.
func bearer(header []string) string {
	const scheme = "bearer "
	if len(header) != 1 || len(header[0]) < len(scheme) || !strings.EqualFold(header[0][:len(scheme)], scheme) {
		return ""
	}
	return strings.TrimLeft(header[0][len(scheme):], " ")
}

// deprecatedOperation is the value of [Observation.Deprecated] for the use of a deprecated row.
const deprecatedOperation = "operation"

// admitScope checks that the key carries a scope of the row, and records deprecated use.
func (x *exchange) admitScope() *failure {
	_, err := x.caller.Require(x.ep.Scope)
	if other := x.ep.Operation.transition; err != nil && other != nil {
		if _, missing := x.caller.Require(other.scope); missing == nil {
			err = nil
			x.markDeprecated(string(other.scope), other.Deprecation)
		}
	}
	if err != nil {
		return x.problemFor(err)
	}
	if d := x.ep.Operation.deprecation; d != nil && x.observed.Deprecated == "" {
		x.markDeprecated(deprecatedOperation, *d)
	}
	return nil
}

func (x *exchange) markDeprecated(use string, d Deprecation) {
	x.observed.Deprecated = use
	x.log.Info("deprecated use", "request_id", x.id, "endpoint", x.observed.Endpoint, "deprecated", use,
		"key", string(x.caller.Key.ID), "account", string(x.caller.Account.ID))
	if !d.Since.IsZero() {
		x.setHeader("Deprecation", "@"+strconv.FormatInt(d.Since.Unix(), 10)) // RFC 9745 section 2.1
	}
	if !d.Sunset.IsZero() {
		x.setHeader("Sunset", d.Sunset.UTC().Format(http.TimeFormat)) // RFC 8594 section 3
	}
}
