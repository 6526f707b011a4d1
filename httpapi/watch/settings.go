package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/metering"
)

// The bounds of settings.
const (
	MinEvery     = time.Hour
	MaxEvery     = 7 * 24 * time.Hour
	DefaultEvery = 24 * time.Hour
	maxChannels  = 16
)

// Settings are what an account chooses for a watch.
type Settings struct {
	Checks   []string      // "mail", "web", "dns", or names of operations that take a domain; empty means the three
	Every    time.Duration // time between runs; 0 means a day
	Budget   int64         // credits a month; 0 means what the runs cost, and a quarter more to confirm changes
	Channels []string      // ids of those that are told, whatever they subscribe to; empty: all that take "domain"
}

// A Request asks for a watch.
type Request struct {
	Account metering.AccountID
	Domain  string
	Settings
}

// State says in a word how a watch stands.
type State string

// The states.
const (
	Fresh   State = "new"     // it has not run yet
	OK      State = "ok"      // it runs when it is due
	Running State = "running" // now
	Waiting State = "waiting" // for what Reason says
	Ended   State = "ended"   // the domain is gone, which Reason says; it is looked at once a week
)

// Values lists the states.
func (State) Values() []string { return diag.Values(Fresh, OK, Running, Waiting, Ended) }

// A Reason says why a watch waits, or how its domain ended.
type Reason string

// The reasons.
const (
	NoCredits   Reason = "credits"     // the account has not as many left as a run costs
	NoBudget    Reason = "budget"      // that of the watch is spent
	NoKey       Reason = "key_revoked" // the key by which watches act was revoked
	Suspended   Reason = "suspended"   // the account is
	NoDomain    Reason = "nxdomain"    // the domain does not exist
	Lapsed      Reason = "expired"     // its registration has ended
	Unreachable Reason = "unreachable" // none of its name servers answers
)

// Values lists the reasons.
func (Reason) Values() []string {
	return diag.Values(NoCredits, NoBudget, NoKey, Suspended, NoDomain, Lapsed, Unreachable)
}

// A Watch is a domain that is watched, and how it stands.
type Watch struct {
	ID        string
	Account   metering.AccountID
	Domain    string // as A-labels
	Unicode   string // the same in Unicode, if that differs
	CreatedAt time.Time
	Settings  // with the defaults filled in
	RunCost   int64
	Summary
}

// A Summary is what a list shows of a watch.
type Summary struct {
	State   State
	Reason  Reason    // of Waiting and Ended
	Mark    view.Mark // of the gravest finding; empty before the first run
	Score   *int      // of the mail set-up, or the lowest of all checks that have one
	Counts  Counts
	Worst   diag.Code // of the gravest finding, if it is a warning or worse
	Unknown int       // parts that did not answer in the last run

	Changed time.Time // when something changed last; zero: nothing has
	Change  string    // what that was
	Expires time.Time // of what expires next; zero if that is not known
	Expiry  string    // what that is: "registration" or "certificate"

	LastRun, NextRun time.Time
	Spent            int64 // credits this month
}

// Counts are the findings by severity.
type Counts struct {
	Critical int `json:"critical"`
	Error    int `json:"error"`
	Warning  int `json:"warning"`
	Info     int `json:"info"`
}

// parseDomain reads what a watch is of.
func parseDomain(text string) (diag.Domain, error) {
	d, err := diag.ParseDomain(strings.TrimSpace(text))
	switch {
	case err != nil:
		input, _ := errors.AsType[*diag.InputError](err)
		return d, &metering.FieldError{Field: "domain", Reason: input.Reason}
	case !strings.Contains(d.String(), "."):
		return d, &metering.FieldError{Field: "domain", Reason: "must have a dot"}
	}
	return d, nil
}

// checked fills in what was left open. The error joins all faults.
func (w *Watches) checked(ctx context.Context, account metering.AccountID, s Settings) (Settings, error) {
	var faults []error
	fault := func(field, format string, args ...any) {
		faults = append(faults, &metering.FieldError{Field: field, Reason: fmt.Sprintf(format, args...)})
	}
	checks, err := checkedNames(s.Checks)
	if err != nil {
		faults = append(faults, err)
	}
	s.Checks = checks
	switch s.Every = cmp.Or(s.Every, DefaultEvery); {
	case s.Every < MinEvery || s.Every > MaxEvery:
		fault("every", "must be 1h to 168h (7 days)")
	case s.Every%time.Second != 0:
		fault("every", "must be whole seconds")
	}
	if price := priceOf(checks); err == nil && s.Budget != 0 && s.Budget < price {
		fault("budget", "must be at least %d credits, which one run costs, or 0 for what all runs of a month cost", price)
	}
	s.Channels = slices.Compact(slices.Sorted(slices.Values(s.Channels)))
	if len(s.Channels) > maxChannels {
		fault("channels", "must be at most %d", maxChannels)
		s.Channels = nil
	}
	for i, id := range s.Channels {
		_, err := w.Store.Record(ctx, account, "channel", id)
		if errors.Is(err, metering.ErrNotFound) {
			fault(fmt.Sprintf("channels[%d]", i), "the account has no channel %q", id)
		} else if err != nil {
			return s, err
		}
	}
	return s, errors.Join(faults...)
}
