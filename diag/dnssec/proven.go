package dnssec

import (
	"context"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// maxName is the length of a name with a dot at its end (RFC 1035 section 2.3.4).
const maxName = 254

// Proven returns the DNSSEC status of an answer: that of the resolver or, if [diag.Answer.DNSSEC] is
// indeterminate, that of a [Validator].
func Proven[R dns.RR](ctx context.Context, env *diag.Env, a diag.Answer[R], rrtype uint16) diag.DNSSECStatus {
	if s := a.DNSSEC(); s != diag.Indeterminate || a.Silent() || a.Name == "" || len(a.Name) > maxName {
		return s
	}
	v := Validator{Env: env}
	r, err := v.Validate(ctx, a.Name, rrtype)
	if err != nil || r.Failure != nil && strings.HasSuffix(string(r.Failure.Code), ".unavailable") {
		return diag.Indeterminate // that the servers do not say is no invalid signature
	}
	return r.Status
}
