// Package faketest shows how to test code of one's own that calls a check. The code is [Ready], as a
// mail provider might write it: may this customer's domain be switched on? Its test in
// onboarding_test.go needs no network, takes no time, and sees what is hard to see elsewhere: servers
// that answer late, wrongly or not at all.
//
// The one thing to do for it is to take a *diag.Env and to hand it on. Production passes nil.
package faketest

import (
	"context"
	"errors"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/mtasts"
)

// timeout is how long a customer waits for the page that calls [Ready].
const timeout = 5 * time.Second

// An Answer tells a customer how things stand.
type Answer string

// The answers.
const (
	Yes   Answer = "The domain is ready."
	Later Answer = "We could not reach all servers. Please try again."
)

// Ready reports whether mail to a domain is protected by an enforced MTA-STS policy. If it is not, the
// answer is what to do about it.
func Ready(ctx context.Context, env *diag.Env, domain diag.Domain) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	report, err := mtasts.Lookup(ctx, env, mtasts.Request{Domain: domain})
	switch {
	case errors.Is(err, diag.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return Later, nil
	case err != nil:
		return "", err
	case report.State == diag.Valid && report.Policy.Mode == mtasts.Enforce:
		return Yes, nil
	case report.Partial:
		return Later, nil
	case len(report.Recommendations) > 0:
		return Answer(report.Recommendations[0].Detail), nil
	}
	return Answer(report.Headline), nil
}
