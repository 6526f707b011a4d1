package httpapi

import (
	"strconv"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// rateHeaders sets the state of a token bucket (CONTRACT 1.2). Over HTTP/1.1 the names go out as they are spelled
// here.
func (x *exchange) rateHeaders(d metering.Decision, p metering.Policy) {
	texts := x.policyTexts(p)
	x.header("RateLimit-Policy", texts.field)
	x.header("RateLimit", metering.LimitField(d, policyName))
	x.header("X-RateLimit-Limit", texts.limit)
	full := x.began.Add(d.Reset).UnixNano()
	remaining, reset := decimals(int64(d.Remaining), (full+int64(time.Second)-1)/int64(time.Second))
	x.header("X-RateLimit-Remaining", remaining)
	x.header("X-RateLimit-Reset", reset)
}

// policyTexts are the headers that depend on a policy alone.
type policyTexts struct {
	policy       metering.Policy
	field, limit string
}

// policyTexts formats the texts again only if the policy differs from the last one.
func (s *server) policyTexts(p metering.Policy) *policyTexts {
	t := s.lastPolicy.Load()
	if t == nil || t.policy != p {
		t = &policyTexts{p, metering.PolicyField(p, policyName), decimal(int64(p.Limit))}
		s.lastPolicy.Store(t)
	}
	return t
}

// addressHeaders sets the state of the address's bucket if no key is known, or none that counts.
func (x *exchange) addressHeaders() {
	if x.caller == nil && x.limiter != nil {
		x.rateHeaders(x.address, metering.Policy{Limit: x.address.Limit})
	}
}

const policyName = "default"

// creditHeaders sets what a success cost and what is left.
func (x *exchange) creditHeaders(b metering.Balance, consumed int64) {
	limit, remaining := decimals(b.Limit, b.Remaining())
	x.header("X-Credits-Limit", limit)
	x.header("X-Credits-Remaining", remaining)
	x.header("X-Credits-Consumed", decimal(consumed))
	if over := b.Overage; over > 0 {
		x.header("X-Credits-Overage", decimal(over))
	}
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// decimals writes two numbers into one text, of which each is a part.
func decimals(a, b int64) (string, string) {
	var buf [40]byte // two numbers of 19 digits and a sign
	first := strconv.AppendInt(buf[:0], a, 10)
	both := string(strconv.AppendInt(first, b, 10))
	return both[:len(first)], both[len(first):]
}
