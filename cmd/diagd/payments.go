package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/httpapi/metrics"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/billing/stripe"
	"github.com/diagkit/diagkit/metering/notify"
	"github.com/spf13/pflag"
)

// paymentFlags are the flags of payments: the key of Stripe, and where later words are heard.
type paymentFlags struct{ stripeKey, callbackListen, callbackSecret string }

// The settings that hold nothing but a secret. Other users of the machine see the command line, so that they come from
// the environment or the file of --config.
const (
	stripeKeySetting      = "stripe-key"
	callbackSecretSetting = "callback-secret"
)

func (f *paymentFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.callbackListen, "callback-listen", "",
		"address to receive payment callbacks on: POST "+callbackPath+", signed with DIAG_CALLBACK_SECRET, reports the "+
			"outcome of a pending payment (default: off)")
	for name, secret := range map[string]struct {
		value *string
		usage string
	}{
		stripeKeySetting:      {&f.stripeKey, "secret or restricted key of Stripe, by DIAG_STRIPE_KEY"},
		callbackSecretSetting: {&f.callbackSecret, "whsec_… that callbacks are signed with, by DIAG_CALLBACK_SECRET"},
	} {
		fs.StringVar(secret.value, name, "", secret.usage)
		fs.Lookup(name).Hidden = true
	}
}

// checkSecrets refuses secrets on the command line.
func (a *app) checkSecrets() error {
	var faults faultList
	for _, name := range []string{stripeKeySetting, callbackSecretSetting} {
		if flag := "--" + name; a.origins[name] == flag {
			faults = append(faults, usagef("%s: other users of this machine can read command lines; set %s instead", flag, envName(name)))
		}
	}
	return faults.err()
}

// stripe is the biller of --biller=stripe.
func (f *paymentFlags) stripe() (func(*http.Client) billing.Biller, error) {
	made, err := stripe.New(f.stripeKey)
	if f.stripeKey == "" {
		err = errors.New("--biller=stripe needs a key; set DIAG_STRIPE_KEY")
	}
	if err != nil {
		return nil, usagef("--%s: %w", stripeKeySetting, err)
	}
	return func(client *http.Client) billing.Biller {
		made.Client = client
		return made
	}, nil
}

// secret is that of callbacks, if there are any.
func (f *paymentFlags) secret() (s notify.Secret, err error) {
	switch {
	case (f.callbackListen == "") != (f.callbackSecret == ""):
		return s, usagef("--callback-listen and DIAG_CALLBACK_SECRET belong together")
	case f.callbackSecret == "":
		return s, nil
	}
	if s, err = notify.ParseSecret(f.callbackSecret); err != nil {
		err = usagef("--%s: %w", callbackSecretSetting, err)
	}
	return s, err
}

// countPayments tells the metrics what comes of each round of billing.
func (n *chores) countPayments(ctx context.Context, counters *metrics.Metrics) {
	var failing atomic.Bool
	var since atomic.Int64 // the oldest pending payment, in Unix seconds; 0 without one, less while that is not known
	since.Store(-1)
	counters.AskFlag(metrics.CloseFailing, failing.Load)
	counters.Ask(metrics.PendingSeconds, func() float64 {
		switch at := since.Load(); {
		case at < 0:
			return math.NaN()
		case at > 0:
			return time.Since(time.Unix(at, 0)).Seconds()
		}
		return 0
	})
	n.billing.Observe = func(closing error, paid billing.Paying) {
		failing.Store(closing != nil)
		counters.ObservePayments(metrics.PaymentPaid, paid.Paid)
		counters.ObservePayments(metrics.PaymentPending, paid.Pending)
		counters.ObservePayments(metrics.PaymentFailed, paid.Failed)
		counters.ObservePayments(metrics.PaymentExhausted, paid.Exhausted)
		since.Store(n.pendingSince(ctx))
	}
}

// pollHorizon is longer than the time between two looks at a pending payment.
const pollHorizon = 24 * time.Hour

// pendingSince is since when the oldest pending payment is, at a bounded cost, in Unix seconds; 0 without one, less while
// that is not known.
func (n *chores) pendingSince(ctx context.Context) (since int64) {
	f := metering.RecordFilter{Kind: billing.InvoiceKind, DueBy: time.Now().Add(pollHorizon), Limit: mostCounted}
	for r, err := range n.store.Records(ctx, f) {
		if err != nil {
			return -1
		}
		var v struct {
			State    billing.State
			Attempts []struct{ At time.Time }
		}
		if json.Unmarshal(r.Body, &v) != nil || v.State != billing.Pending || len(v.Attempts) == 0 {
			continue
		}
		if at := v.Attempts[len(v.Attempts)-1].At.Unix(); since == 0 || at < since {
			since = at
		}
	}
	return since
}
