package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// A Deprecation says since when something should not be used any more, and when it ends.
type Deprecation struct {
	Since  time.Time // zero: no date is set yet, so replies say nothing
	Sunset time.Time // zero: no end is decided yet
}

// A transition is a scope that a row accepts for a while beside its own.
type transition struct {
	scope metering.Scope
	Deprecation
}

// deprecated marks the row itself. Every reply to a caller who may use it says so.
func (op operation) deprecated(d Deprecation) operation { op.deprecation = &d; return op }

// alsoFor accepts another scope for a while (CONTRACT 1.12). Use by it alone is logged, counted, and
// answered with its deprecation.
func (op operation) alsoFor(scope metering.Scope, d Deprecation) operation {
	op.transition = &transition{scope, d}
	return op
}

// Scopes are those of which any one suffices: the row's own, and one that it accepts for a while.
func (ep Endpoint) Scopes() []metering.Scope {
	list := []metering.Scope{ep.Scope}
	if ep.op.transition != nil {
		list = append(list, ep.op.transition.scope)
	}
	return list
}

// deprecatedOperation is what an [Observation] says of the use of a deprecated row.
const deprecatedOperation = "operation"

// admitScope checks that the key carries a scope of the row, and takes note of what is deprecated.
func (x *exchange) admitScope() *failure {
	_, err := x.caller.Require(x.ep.Scope)
	if other := x.ep.op.transition; err != nil && other != nil {
		if _, missing := x.caller.Require(other.scope); missing == nil {
			err = nil
			x.deprecate(string(other.scope), other.Deprecation)
		}
	}
	if err != nil {
		return x.problem(err)
	}
	if d := x.ep.op.deprecation; d != nil && x.seen.Deprecated == "" {
		x.deprecate(deprecatedOperation, *d)
	}
	return nil
}

func (x *exchange) deprecate(what string, d Deprecation) {
	x.seen.Deprecated = what
	x.log.Info("deprecated use", "request_id", x.id, "endpoint", x.seen.Endpoint, "deprecated", what,
		"key", string(x.caller.Key.ID), "account", string(x.caller.Account.ID))
	if !d.Since.IsZero() {
		x.header("Deprecation", "@"+strconv.FormatInt(d.Since.Unix(), 10)) // RFC 9745 section 2.1
	}
	if !d.Sunset.IsZero() {
		x.header("Sunset", d.Sunset.UTC().Format(http.TimeFormat)) // RFC 8594 section 3
	}
}
