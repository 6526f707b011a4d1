// Package faketest shows how to test your own code that calls a check. The code decides, as a mail provider might,
// whether a customer's domain can be switched on. Its test in onboarding_test.go needs no network, takes no time,
// and covers what is hard to reproduce elsewhere: servers that answer late, wrongly or not at all.
//
// All it takes is a *diag.Env parameter that is handed on; production passes nil.
package faketest

import (
	"context"
	"errors"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/mtasts"
)

// timeout bounds the load time of the page that calls ready.
const timeout = 5 * time.Second

// An answer tells a customer the state of a domain.
type answer string

// The answers.
const (
	answerReady answer = "The domain is ready."
	answerLater answer = "We could not reach all servers. Please try again."
)

// ready reports whether mail to a domain is protected by an enforced MTA-STS policy. If it is not, the answer says how
// to fix it.
func ready(ctx context.Context, env *diag.Env, domain diag.Domain) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	report, err := mtasts.Lookup(ctx, env, mtasts.Request{Domain: domain})
	switch {
	case errors.Is(err, diag.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return answerLater, nil
	case err != nil:
		return "", err
	case report.State == diag.Valid && report.Policy.Mode == mtasts.Enforce:
		return answerReady, nil
	case report.Partial:
		return answerLater, nil
	case len(report.Recommendations) > 0:
		return answer(report.Recommendations[0].Detail), nil
	}
	return answer(report.Headline), nil
}
