package watch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
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

// Settings are an account's choices for a watch.
type Settings struct {
	// Checks are "mail", "web", "dns", or names of operations that take a domain; empty means the three.
	Checks []string `json:"checks"`
	// Every is the time between runs; 0 means a day.
	Every time.Duration `json:"every"`
	// Budget is in credits a month; 0 means the cost of the runs, and a quarter more to confirm changes.
	Budget int64 `json:"budget_credits"`
	// Channels are the IDs of those that are notified, whatever they subscribe to; empty: all that take "domain".
	Channels []string `json:"channels"`
}

// A Request creates a watch.
type Request struct {
	Account metering.AccountID
	Domain  string
	Settings
}

// State is the state of a watch in a word.
type State string

// The states.
const (
	Fresh   State = "new"     // it has not run yet
	OK      State = "ok"      // it runs when it is due
	Running State = "running" // now
	Waiting State = "waiting" // for the Reason
	Ended   State = "ended"   // the domain is gone, which Reason explains; it is checked once a week
)

// A Reason is why a watch waits, or how its domain ended.
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

func (r Reason) waits() bool { return r == NoCredits || r == NoBudget || r == NoKey || r == Suspended }

// A Watch is a watched domain, and its state.
type Watch struct {
	ID        string             `json:"id"`
	Account   metering.AccountID `json:"account"`
	Domain    string             `json:"domain"`                   // as A-labels
	Unicode   string             `json:"domain_unicode,omitempty"` // the same in Unicode, if that differs
	CreatedAt time.Time          `json:"created_at"`
	Settings                     // with the defaults filled in
	State     State              `json:"state"`
	NextRun   time.Time          `json:"next_run_at"`
	Summary
}

// A Summary is the part of the last run that is kept for a list.
type Summary struct {
	Reason  Reason    `json:"reason,omitempty"` // of Waiting and Ended
	Mark    view.Mark `json:"mark,omitempty"`   // of the gravest finding; empty before the first run
	Score   *int      `json:"score,omitempty"`  // the lowest of all checks that have one
	Counts  Counts    `json:"findings"`
	Worst   diag.Code `json:"worst,omitempty"` // of the gravest finding, if it is a warning or worse
	Areas   []Area    `json:"areas,omitempty"` // with a warning or worse, in the order of their list
	Unknown int       `json:"unknown_parts"`   // parts that did not answer in the last run
	Coverage

	Changed time.Time `json:"changed_at,omitzero"` // the last change; zero: nothing has changed
	Change  string    `json:"change,omitempty"`    // what that was
	Expires time.Time `json:"expires_at,omitzero"` // of what expires next; zero if that is not known
	Expiry  string    `json:"expiring,omitempty"`  // what that is: "registration" or "certificate"

	LastRun time.Time `json:"last_run_at,omitzero"`
	RunCost int64     `json:"run_credits"`   // at most
	Spent   int64     `json:"spent_credits"` // this month
}

// Counts are the findings by severity.
type Counts struct {
	Critical int `json:"critical"`
	Error    int `json:"error"`
	Warning  int `json:"warning"`
	Info     int `json:"info"`
}

func countsOf(findings []Finding) (n Counts) {
	for _, f := range findings {
		switch f.Severity {
		case diag.Critical:
			n.Critical++
		case diag.Error:
			n.Error++
		case diag.Warning:
			n.Warning++
		default:
			n.Info++
		}
	}
	return n
}

// ParseDomain reads the domain of a watch. The error is a *[metering.FieldError].
func ParseDomain(text string) (diag.Domain, error) {
	d, err := diag.ParseDomain(strings.TrimSpace(text))
	switch {
	case err != nil:
		input, _ := errors.AsType[*diag.InputError](err)
		return d, &metering.FieldError{Field: "domain", Reason: input.Reason}
	case !strings.Contains(d.String(), "."):
		return d, &metering.FieldError{Field: "domain", Reason: fmt.Sprintf("%q is not a domain name: it has no dot", d)}
	}
	return d, nil
}

// validateSettings fills in defaults. The error joins all faults.
func (w *Watches) validateSettings(ctx context.Context, account metering.AccountID, s Settings) (Settings, error) {
	var faults []error
	fault := func(field, format string, args ...any) {
		faults = append(faults, &metering.FieldError{Field: field, Reason: fmt.Sprintf(format, args...)})
	}
	all := w.Checks()
	for i, name := range s.Checks {
		if !slices.Contains(all, name) {
			fault(fmt.Sprintf("checks[%d]", i), "%.64q is not one of %s", name, strings.Join(all, ", "))
		}
	}
	if chosen := s.Checks; len(chosen) == 0 {
		s.Checks = slices.Clone(groups)
	} else {
		s.Checks = slices.DeleteFunc(all, func(name string) bool { return !slices.Contains(chosen, name) })
	}
	switch s.Every = cmp.Or(s.Every, DefaultEvery); {
	case s.Every < MinEvery || s.Every > MaxEvery:
		fault("every", "must be 1h to 168h (7 days)")
	case s.Every%time.Second != 0:
		fault("every", "must be whole seconds")
	}
	if price := w.catalogue().price(s.Checks); s.Budget != 0 && s.Budget < price {
		fault("budget", "must be at least %d credits, which one run costs, or 0 for what all runs of a month cost", price)
	}
	s.Channels = slices.Compact(append([]string{}, slices.Sorted(slices.Values(s.Channels))...))
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

// A document is a watch as it is stored: what cannot be had from its record or its settings.
type document struct {
	Domain   string `json:"domain"`
	Unicode  string `json:"domain_unicode,omitempty"`
	Settings        // whose Budget is 0 if none was chosen
	Summary
	Next  time.Time `json:"next,omitzero"`   // the next regular run, where Due may be that of one that confirms
	Month int64     `json:"month,omitempty"` // in which Spent was
	Claim claim     `json:"claim,omitzero"`
}

// A claim is a run under way: the holder of its token may write the result.
type claim struct {
	Token string    `json:"token"`
	Until time.Time `json:"until"`
	Held  int64     `json:"held"` // of Spent, the maximum cost of the run; what a dead node has spent stays so
}

func parse(r metering.Record) (*document, error) {
	doc, err := read[document](r)
	if err == nil && (doc.Every < MinEvery || doc.Every > MaxEvery) {
		err = wrapError("reading", r, fmt.Errorf("an interval of %v", doc.Every))
	}
	return doc, err
}

// longestMonth is the period that a budget must cover.
const longestMonth = 31 * 24 * time.Hour

// budget returns what the watch may spend in a month: the chosen budget, or its runs and a quarter more.
func (doc *document) budget() int64 {
	runs := int64((longestMonth + doc.Every - 1) / doc.Every)
	return cmp.Or(doc.Budget, doc.RunCost*(runs+(runs+3)/4))
}

func (doc *document) isClaimed(now time.Time) bool { return now.Before(doc.Claim.Until) }

// slot is when a watch is to run after an instant. Each has its place in the interval, by its account and domain, so
// that those of a day are spread over it. The first after a run is at least a quarter of the interval away.
func (doc *document) slot(r *metering.Record, after time.Time) time.Time {
	every := doc.Every
	if doc.Reason == NoDomain || doc.Reason == Lapsed {
		every = MaxEvery
	}
	earliest := after.Add(every / 4)
	slot := earliest.Truncate(every).Add(spreadOffset(r, every))
	if slot.Before(earliest) {
		slot = slot.Add(every)
	}
	return slot
}

// spreadOffset is that of a watch in a time over which all are spread, in whole seconds.
func spreadOffset(r *metering.Record, within time.Duration) time.Duration {
	hash := sha256.Sum256([]byte(string(r.Account) + "/" + r.ID))
	return (time.Duration(binary.BigEndian.Uint64(hash[:8])>>1) % within).Truncate(time.Second)
}
