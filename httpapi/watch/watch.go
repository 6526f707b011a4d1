package watch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
)

// An Ask runs an operation as a key of an account: the method of that name of [httpapi.API].
type Ask func(ctx context.Context, key metering.KeyID, ep httpapi.Endpoint, fields []byte) (*httpapi.Answer, error)

// Config is the configuration of watches. Only Store is required, and Ask to run them.
type Config struct {
	Store metering.Store
	Plans metering.Prices // of the server; nil means the default plans
	Ask   Ask             // nil: watches are administered here, and run elsewhere
	// Endpoints are operations of one's own, as in [httpapi.Config]: those that need no field but a domain, and whose
	// reports have a verdict, can be watched.
	Endpoints []httpapi.Endpoint

	Clock func() time.Time // nil means time.Now
	// Doubt returns why the clock may be wrong. Meanwhile no history is removed. Nil means that it is trusted.
	Doubt     func() error
	Log       *slog.Logger // nil disables logging
	PublicURL string       // where people reach the dashboard, to which events link; without it they link to nothing
	Running   int          // concurrent runs on this node; 0 means 16, of which an account has at most a quarter
	// Observe, if set, is called after each run with how it ended: "ok", "waiting" or "lost". It must not block.
	Observe func(outcome string)
	// Wake, if set, is called when there are events to be sent.
	Wake func()
}

// Watches are the watched domains of all accounts.
type Watches struct {
	Config
	admin     metering.Admin
	catalogue func() *catalogue

	worker    metering.Worker
	mu        sync.Mutex
	running   map[metering.AccountID]int
	skipUntil map[string]time.Time // of watches that are running here, and of those that failed
}

// New returns the watches of a store. It panics without one.
func New(c Config) *Watches {
	if c.Store == nil {
		panic("watch: Config.Store is nil")
	}
	if c.Plans == nil {
		c.Plans = metering.DefaultPlans()
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.Running = cmp.Or(c.Running, int(budget.Of(budget.WatchRuns).All))
	known := commonCatalogue
	if len(c.Endpoints) > 0 {
		known = sync.OnceValue(func() *catalogue { return catalogueOf(httpapi.Endpoints(c.Endpoints...)) })
	}
	w := &Watches{
		Config: c, catalogue: known, admin: metering.Admin{Store: c.Store, Plans: c.Plans, Clock: c.Clock},
		running: map[metering.AccountID]int{}, skipUntil: map[string]time.Time{},
	}
	w.worker = metering.Worker{Start: w.start, Kind: "watches", Interval: pollInterval, Drain: drainTime, Log: c.Log}
	return w
}

// The part of the server by whose key watches call operations.
const serviceName = "watches"

// ID returns the id of the watch of a domain: an account has at most one for each.
func ID(d diag.Domain) string {
	hash := sha256.Sum256([]byte(d.String()))
	return "wat_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(hash[:16]))
}

const kind = "watch"

// maxWatches bounds the watches of an account.
var maxWatches = int(budget.Of(budget.Watches).Account)

// An Addition sorts domains by what becomes of them when an account begins to watch them.
type Addition struct {
	New     []diag.Domain
	Watched []diag.Domain // already
	Excess  []diag.Domain // beyond the limit of the account
	// MonthlyCredits is the maximum cost of each domain in a month.
	MonthlyCredits int64
}

// sortDomains compares domains, each of which is named once, with those that the account watches. The record is to be
// stored with the new ones.
func (w *Watches) sortDomains(
	ctx context.Context, account metering.AccountID, domains []diag.Domain,
) (a Addition, turn metering.Record, err error) {
	if turn, err = metering.CountGuard(ctx, w.Store, account, kind); err != nil {
		return a, turn, err
	}
	watched := map[string]bool{}
	for r, err := range w.Store.Records(ctx, metering.RecordFilter{Kind: kind, Account: account}) {
		if err != nil {
			return a, turn, fmt.Errorf("counting watches: %w", err)
		}
		watched[r.ID] = true
	}
	for _, d := range domains {
		switch {
		case watched[ID(d)]:
			a.Watched = append(a.Watched, d)
		case len(watched)+len(a.New) >= maxWatches:
			a.Excess = append(a.Excess, d)
		default:
			a.New = append(a.New, d)
		}
	}
	return a, turn, nil
}

// Preview returns what [Watches.CreateAll] would do.
func (w *Watches) Preview(
	ctx context.Context, account metering.AccountID, domains []diag.Domain, s Settings,
) (Addition, error) {
	s, err := w.validateSettings(ctx, account, s)
	if err != nil {
		return Addition{}, err
	}
	a, _, err := w.sortDomains(ctx, account, domains)
	a.MonthlyCredits = w.MonthlyCost(s)
	return a, err
}

// MonthlyCost returns the maximum credits that a watch with such settings costs in a month.
func (w *Watches) MonthlyCost(s Settings) int64 {
	doc := document{Settings: s}
	doc.Every = cmp.Or(s.Every, DefaultEvery)
	if len(s.Checks) == 0 {
		s.Checks = groups
	}
	doc.RunCost = w.catalogue().price(s.Checks)
	return doc.budget()
}

// CreateAll begins to watch domains, each of which is named once, with the same settings. Those that are watched
// already, or exceed the 10,000 that an account may watch, are left out. Faults of the settings are
// *[metering.FieldError], joined. With another error, some of the domains may be watched.
func (w *Watches) CreateAll(
	ctx context.Context, account metering.AccountID, domains []diag.Domain, s Settings,
) (Addition, error) {
	s, err := w.validateSettings(ctx, account, s)
	if err != nil {
		return Addition{}, err
	}
	return w.create(ctx, account, domains, s, w.now())
}

// create is CreateAll with valid settings, at an instant.
func (w *Watches) create(
	ctx context.Context, account metering.AccountID, domains []diag.Domain, s Settings, now time.Time,
) (all Addition, err error) {
	all.MonthlyCredits = w.MonthlyCost(s)
	for group := range slices.Chunk(domains, metering.MaxRecordsPut-1) {
		var some Addition
		err := metering.Retry(func() error {
			sorted, turn, err := w.sortDomains(ctx, account, group)
			if some = sorted; err != nil || len(sorted.New) == 0 {
				return err
			}
			records := []metering.Record{turn}
			for _, d := range sorted.New {
				r, doc := w.newWatch(account, d, s, now)
				if r, err = write(r, doc); err != nil {
					return err
				}
				records = append(records, r)
			}
			return w.Store.PutRecords(ctx, records...)
		})
		if err != nil {
			return all, fmt.Errorf("creating watches from that of %s: %w", group[0], err)
		}
		all.New = append(all.New, some.New...)
		all.Watched, all.Excess = append(all.Watched, some.Watched...), append(all.Excess, some.Excess...)
	}
	w.worker.Wake()
	return all, nil
}

// newWatch returns the watch of a domain with valid settings, which is due immediately.
func (w *Watches) newWatch(
	account metering.AccountID, d diag.Domain, s Settings, now time.Time,
) (metering.Record, *document) {
	doc := &document{Domain: d.String(), Unicode: d.UnicodeIfDifferent(), Settings: s}
	doc.RunCost = w.catalogue().price(s.Checks)
	return metering.Record{Account: account, Kind: kind, ID: ID(d), At: now, Due: now}, doc
}

// Create begins to watch a domain, with an immediate first run. Faults of the request are *[metering.FieldError],
// joined; a domain that is watched already is one, too, and so is one more than the 10,000 that an account may watch.
func (w *Watches) Create(ctx context.Context, r Request) (Watch, error) {
	d, wrong := ParseDomain(r.Domain)
	s, err := w.validateSettings(ctx, r.Account, r.Settings)
	if err := errors.Join(wrong, err); err != nil {
		return Watch{}, err
	}
	now := w.now()
	a, err := w.create(ctx, r.Account, []diag.Domain{d}, s, now)
	switch {
	case err != nil:
		return Watch{}, err
	case len(a.Watched) > 0:
		return Watch{}, &metering.FieldError{Field: "domain", Reason: fmt.Sprintf("%s is watched already", d)}
	case len(a.Excess) > 0:
		return Watch{}, &metering.FieldError{Field: "domain", Reason: fmt.Sprintf(
			"cannot be added: the account watches %d domains, which is the most", maxWatches)}
	}
	return w.view(w.newWatch(r.Account, d, s, now)), nil
}

// Get returns a watch of an account, or [metering.ErrNotFound].
func (w *Watches) Get(ctx context.Context, account metering.AccountID, id string) (Watch, error) {
	record, doc, err := w.read(ctx, account, id)
	if err != nil {
		return Watch{}, err
	}
	return w.view(record, doc), nil
}

// List returns the watches of an account, in the order of their creation.
func (w *Watches) List(ctx context.Context, account metering.AccountID) ([]Watch, error) {
	records, err := metering.Collect(w.Store.Records(ctx, metering.RecordFilter{Kind: kind, Account: account}))
	if err != nil {
		return nil, fmt.Errorf("listing watches: %w", err)
	}
	list, faults := make([]Watch, len(records)), make([]error, len(records))
	const share = 1024 // reading ten thousand takes longer than the store takes to list them
	var group diag.Group
	for from := 0; from < len(records); from += share {
		group.Go(func() {
			for i := from; i < min(from+share, len(records)); i++ {
				doc, err := parse(records[i])
				if faults[i] = err; err == nil {
					list[i] = w.view(records[i], doc)
				}
			}
		})
	}
	group.Wait()
	return list, errors.Join(faults...)
}

// Set lets change edit the settings of a watch. One that waits immediately checks again whether it may run.
func (w *Watches) Set(
	ctx context.Context, account metering.AccountID, id string, change func(*Settings),
) (Watch, error) {
	return w.edit(ctx, account, id, func(r *metering.Record, doc *document) error {
		s := doc.Settings
		change(&s)
		s, err := w.validateSettings(ctx, account, s)
		if err != nil {
			return err
		}
		now, other := w.now(), s.Every != doc.Every
		doc.Settings, doc.RunCost = s, w.catalogue().price(s.Checks)
		switch {
		case doc.isClaimed(now):
		case doc.Reason.waits():
			r.Due = now
		case other && !doc.LastRun.IsZero():
			if doc.Next = doc.slot(r, now); doc.Next.Before(r.Due) {
				r.Due = doc.Next
			}
		}
		return nil
	})
}

// RunNow makes a watch due, unless it is running.
func (w *Watches) RunNow(ctx context.Context, account metering.AccountID, id string) (Watch, error) {
	return w.edit(ctx, account, id, func(r *metering.Record, doc *document) error {
		if now := w.now(); !doc.isClaimed(now) {
			r.Due, doc.Next = now, now
		}
		return nil
	})
}

// Remove ends a watch and forgets its history.
func (w *Watches) Remove(ctx context.Context, account metering.AccountID, id string) error {
	return metering.Retry(func() error {
		record, _, err := w.read(ctx, account, id)
		if err != nil {
			return err
		}
		for _, f := range []metering.RecordFilter{
			{Kind: historyKind(id)}, {Kind: stateKind, ID: id}, {Kind: reportKind, ID: id},
		} {
			f.Account = account
			if _, err := metering.RemoveRecords(ctx, w.Store, f); err != nil {
				return err
			}
		}
		record.Body = nil // last: a writer of the others writes it too, and then all is done again
		return w.Store.PutRecords(ctx, record)
	})
}

// edit changes a watch, and anew where another writer was first.
func (w *Watches) edit(
	ctx context.Context, account metering.AccountID, id string, change func(*metering.Record, *document) error,
) (changed Watch, err error) {
	err = metering.Retry(func() error {
		record, doc, err := w.read(ctx, account, id)
		if err != nil {
			return err
		}
		if err := change(&record, doc); err != nil {
			return err
		}
		changed = w.view(record, doc)
		return w.put(ctx, record, doc)
	})
	if err == nil {
		w.worker.Wake()
	}
	return changed, err
}

func (w *Watches) put(ctx context.Context, r metering.Record, doc *document, beside ...metering.Record) error {
	r, err := write(r, doc)
	if err != nil {
		return err
	}
	return w.Store.PutRecords(ctx, append(beside, r)...)
}

func (w *Watches) read(ctx context.Context, account metering.AccountID, id string) (metering.Record, *document, error) {
	record, err := w.Store.Record(ctx, account, kind, id)
	if err != nil {
		return record, nil, fmt.Errorf("watch %q: %w", id, err)
	}
	doc, err := parse(record)
	return record, doc, err
}

func (w *Watches) now() time.Time { return metering.Now(w.Clock) }

func (w *Watches) view(r metering.Record, doc *document) Watch {
	now := w.now()
	v := Watch{
		ID: r.ID, Account: r.Account, Domain: doc.Domain, Unicode: doc.Unicode, CreatedAt: r.At,
		State: OK, NextRun: r.Due, Settings: doc.Settings, Summary: doc.Summary,
	}
	v.Budget = doc.budget()
	if doc.Month != metering.PeriodOf(now).Number() {
		v.Spent = 0
	}
	switch {
	case doc.isClaimed(now):
		v.State, v.Reason, v.NextRun = Running, "", cmp.Or(doc.Next, now)
		v.Spent = max(0, v.Spent-doc.Claim.Held)
	case doc.Reason.waits():
		v.State = Waiting
	case doc.Reason != "":
		v.State = Ended
	case doc.LastRun.IsZero():
		v.State = Fresh
	}
	return v
}
