package httpapi

import (
	"strconv"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// setRateHeaders sets the state of a token bucket (CONTRACT 1.2). Over HTTP/1.1 the names go out as they are spelled
// here.
func (x *exchange) setRateHeaders(d metering.Decision, p metering.Policy) {
	texts := x.policyTexts(p)
	x.setHeader("RateLimit-Policy", texts.field)
	x.setHeader("RateLimit", metering.LimitField(d, policyName))
	x.setHeader("X-RateLimit-Limit", texts.limit)
	full := x.began.Add(d.Reset).UnixNano()
	remaining, reset := decimals(int64(d.Remaining), (full+int64(time.Second)-1)/int64(time.Second))
	x.setHeader("X-RateLimit-Remaining", remaining)
	x.setHeader("X-RateLimit-Reset", reset)
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

// setAddressHeaders sets the state of the address's bucket if no key is known, or none that counts.
func (x *exchange) setAddressHeaders() {
	if x.caller == nil && x.limiter != nil {
		x.setRateHeaders(x.addressRate, metering.Policy{Limit: x.addressRate.Limit})
	}
}

const policyName = "default"

// setCreditHeaders sets what a success cost and what is left.
func (x *exchange) setCreditHeaders(b metering.Balance, consumed int64) {
	limit, remaining := decimals(b.Limit, b.Remaining())
	x.setHeader("X-Credits-Limit", limit)
	x.setHeader("X-Credits-Remaining", remaining)
	x.setHeader("X-Credits-Consumed", decimal(consumed))
	if over := b.Overage; over > 0 {
		x.setHeader("X-Credits-Overage", decimal(over))
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
