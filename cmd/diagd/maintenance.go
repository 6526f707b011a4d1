package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/httpapi/metrics"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/billing/stripe"
	"github.com/diagkit/diagkit/metering/notify"
	"github.com/spf13/pflag"
)

type maintenanceFlags struct {
	biller, secret string
	draft          time.Duration
	ledgerMonths   int
	changes        int64

	stripeKey, callbackListen, callbackSecret string
}

const (
	// defaultLedgerMonths keeps two years and the month that has just ended.
	defaultLedgerMonths = 25
	// defaultChanges is far more than any node can be behind.
	defaultChanges = 100_000
)

func (f *maintenanceFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.biller, "biller", "",
		"payment service for invoices: file:DIR (writes each to a file), the https://… URL of a webhook, or stripe with "+
			"the key of DIAG_STRIPE_KEY; the server then closes months and charges invoices automatically (default: off)")
	fs.StringVar(&f.secret, "biller-secret", "",
		"whsec_… that signs what is sent to the webhook of --biller; better set by DIAG_BILLER_SECRET")
	fs.DurationVar(&f.draft, "invoice-draft", time.Hour,
		"how long an invoice stays a draft, which can still be changed, before it is charged")
	fs.StringVar(&f.callbackListen, "callback-listen", "",
		"address to receive payment callbacks on: POST "+callbackPath+", signed with DIAG_CALLBACK_SECRET, reports the "+
			"outcome of a pending payment (default: off)")
	fs.StringVar(&f.stripeKey, stripeKeySetting, "", "secret or restricted key of Stripe, by DIAG_STRIPE_KEY")
	fs.StringVar(&f.callbackSecret, callbackSecretSetting, "",
		"whsec_… that callbacks are signed with, by DIAG_CALLBACK_SECRET")
	for _, name := range secretSettings {
		fs.Lookup(name).Hidden = true
	}
	fs.IntVar(&f.ledgerMonths, "keep-ledger-months", defaultLedgerMonths,
		"how many past months of charges to keep; 0 keeps all. Months without invoices are always kept")
	fs.Int64Var(&f.changes, "keep-changes", defaultChanges,
		"how many changes of keys and accounts to keep for other processes to read; 0 keeps all")
}

type maintenanceConfig struct {
	biller func(*http.Client) billing.Biller // nil: no account is billed
	draft  time.Duration
	months int
	keep   int64

	callbackSecret notify.Secret
}

func (f *maintenanceFlags) parse() (c maintenanceConfig, err error) {
	c.months, c.keep, c.draft = f.ledgerMonths, f.changes, f.draft
	if c.draft == 0 {
		c.draft = -1 // none
	}
	switch {
	case f.draft < 0:
		return c, usagef("--invoice-draft: must be 0 or more")
	case f.ledgerMonths < 0:
		return c, usagef("--keep-ledger-months: must be 0 or more")
	case f.changes < 0:
		return c, usagef("--keep-changes: must be 0 or more")
	}
	var secret notify.Secret
	if f.secret != "" {
		if secret, err = notify.ParseSecret(f.secret); err != nil {
			return c, usagef("--biller-secret: %w", err)
		}
	}
	if c.callbackSecret, err = f.parseCallbackSecret(); err != nil {
		return c, err
	}
	dir, isFile := strings.CutPrefix(f.biller, "file:")
	switch {
	case f.biller == "":
	case f.biller == "stripe":
		c.biller, err = f.newStripe()
		return c, err
	case isFile && dir != "":
		c.biller = func(*http.Client) billing.Biller { return billing.FileBiller{Dir: dir} }
	case strings.HasPrefix(f.biller, "https://"):
		c.biller = func(client *http.Client) billing.Biller {
			w := billing.WebhookBiller{URL: f.biller, Client: client}
			if !secret.IsZero() {
				w.Sign = func(id string, at time.Time, body []byte) string { return notify.Sign(secret, id, at, body) }
			}
			return w
		}
	default:
		return c, usagef("--biller: must be file:DIR, an https://… URL or stripe")
	}
	return c, nil
}

// maintenance is the background work of a server.
type maintenance struct {
	maintenanceConfig
	store   metering.Store
	billing billing.Billing
	log     *slog.Logger
	background
}

// startMaintenance starts it. It ends with the context, or with close; the next start resumes what was under way.
func startMaintenance(
	ctx context.Context, c maintenanceConfig, store metering.Store, plans metering.Prices, client *http.Client,
	counters *metrics.Metrics, keeper *metering.Timekeeper, log *slog.Logger,
) *maintenance {
	n := &maintenance{maintenanceConfig: c, store: store, log: log, billing: billing.Billing{
		Store: store, Plans: plans, Clock: keeper.Now, Doubt: keeper.Doubt, Log: log, Draft: c.draft,
	}}
	watchClock := func(ctx context.Context) { // logs a clock that jumps, whatever reads the time
		repeat(ctx, time.Minute, func() { _ = n.billing.Doubt() })
	}
	work := []func(context.Context){n.pruneDaily, watchClock}
	if c.biller != nil {
		n.billing.Biller = c.biller(client)
		counters.GaugeFunc(metrics.PaymentsWaiting, func() float64 {
			return gaugeValue(countDuePayments(ctx, store, n.billing.Clock()))
		})
		n.observePayments(ctx, counters)
		work = append(work, n.billing.Run)
	}
	counters.FlagFunc(metrics.ClockTrusted, func() bool { return keeper.Doubt() == nil })
	n.start(ctx, n.log, work...)
	return n
}

// countDuePayments counts the payments that are due, at a bounded cost.
func countDuePayments(ctx context.Context, store metering.Store, by time.Time) (count int, err error) {
	f := metering.RecordFilter{Kind: billing.InvoiceKind, DueBy: by, Limit: maxCounted}
	for _, err := range store.Records(ctx, f) {
		if err != nil {
			return 0, err
		}
		count++
	}
	return count, nil
}

// gaugeValue returns a value for the metrics: NaN for what is unknown.
func gaugeValue(n int, err error) float64 {
	if err != nil {
		return math.NaN()
	}
	return float64(n)
}

const (
	// pruneInterval is the time between two rounds of pruning. It begins some time after the start and differs
	// between nodes, so that they do not run at the same time; if they do, no harm is done.
	pruneInterval = 24 * time.Hour
	pruneJitter   = time.Hour
	pruneDelay    = time.Minute
)

// pruneDaily removes what is older than the settings permit, every day.
func (n *maintenance) pruneDaily(ctx context.Context) {
	for pause := pruneDelay + rand.N(pruneJitter); sleep(ctx, pause); {
		if pause = pruneJitter; n.billing.Doubt() != nil {
			continue
		}
		if err := n.prune(ctx); err != nil && ctx.Err() == nil {
			n.log.Error("removing expired charges and changes", "error", err)
		}
		pause = pruneInterval - pruneJitter/2 + rand.N(pruneJitter)
	}
}

func (n *maintenance) prune(ctx context.Context) error {
	pruner, ok := n.store.(metering.Pruner)
	if !ok {
		return nil
	}
	keep := metering.Retention{Changes: n.keep}
	if n.months > 0 {
		want := metering.PeriodOf(metering.PeriodOf(n.billing.Clock()).Start().AddDate(0, -n.months, 0))
		first, err := n.billing.Retain(ctx, want)
		if err != nil {
			return err
		}
		if first != want {
			n.log.Warn("charges of a month without invoices are kept; diagd billing close makes them", "month", first)
		}
		keep.Ledger = first
	}
	pruned, err := pruner.Prune(ctx, keep)
	if pruned != (metering.Pruned{}) {
		n.log.Info("removed expired data",
			"charges", pruned.Charges, "balances", pruned.Balances, "changes", pruned.Changes)
	}
	return err
}

// The settings that hold nothing but a secret. Other users of the machine see the command line, so that they come from
// the environment or the file of --config.
const (
	stripeKeySetting      = "stripe-key"
	callbackSecretSetting = "callback-secret"
)

var secretSettings = []string{stripeKeySetting, callbackSecretSetting}

func (a *app) checkSecrets() error {
	var faults []error
	for _, name := range secretSettings {
		if flag := "--" + name; a.origins[name] == flag {
			faults = append(faults, usagef("%s: other users of this machine can read the command line; set %s instead",
				flag, envName(name)))
		}
	}
	return errors.Join(faults...)
}

func (f *maintenanceFlags) newStripe() (func(*http.Client) billing.Biller, error) {
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

// parseCallbackSecret returns the secret of callbacks, if there are any.
func (f *maintenanceFlags) parseCallbackSecret() (s notify.Secret, err error) {
	switch {
	case (f.callbackListen == "") != (f.callbackSecret == ""):
		return s, usagef("--callback-listen and DIAG_CALLBACK_SECRET must be set together")
	case f.callbackSecret == "":
		return s, nil
	}
	if s, err = notify.ParseSecret(f.callbackSecret); err != nil {
		err = usagef("--%s: %w", callbackSecretSetting, err)
	}
	return s, err
}

// observePayments counts the results of each round of billing in the metrics.
func (n *maintenance) observePayments(ctx context.Context, counters *metrics.Metrics) {
	var failing atomic.Bool
	var since atomic.Int64 // the oldest pending payment, in Unix seconds; 0 without one, less while that is not known
	since.Store(-1)
	counters.FlagFunc(metrics.CloseFailing, failing.Load)
	counters.GaugeFunc(metrics.PendingSeconds, func() float64 {
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
		since.Store(n.oldestPending(ctx))
	}
}

// pollHorizon is longer than the time between two checks of a pending payment.
const pollHorizon = 24 * time.Hour

// oldestPending returns the time of the oldest pending payment, at a bounded cost, in Unix seconds; 0 without one, less
// while that is not known.
func (n *maintenance) oldestPending(ctx context.Context) (since int64) {
	f := metering.RecordFilter{Kind: billing.InvoiceKind, DueBy: time.Now().Add(pollHorizon), Limit: maxCounted}
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
