package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
)

const (
	// horizon is how far back a [Deriver] looks: what no server noticed for so long is no longer news. It is well
	// below keepFor, so that no event is derived again after it was pruned.
	horizon = 7 * 24 * time.Hour
	// defaultEvery is the default interval between checks of all accounts that have channels.
	defaultEvery = 10 * time.Second
	// checkPauseFactor bounds the cost of checks: the pause after one is at least this multiple of its duration.
	checkPauseFactor = 20
	// maxRequests bounds the accounts that wait for a check; further ones are found by the next full check.
	maxRequests = 1024
	// maxFaults bounds the accounts that are named in an error of a check.
	maxFaults = 5
)

// A Deriver derives events from stored state, under ids that are derived from the same state: a crash loses nothing,
// since the next check finds it again, and several nodes report nothing twice, since the event exists. It checks
// accounts that have channels periodically, and immediately after a change that it is notified of.
//
// It is a [metering.Observer] of charges and refusals. Only Store is required.
type Deriver struct {
	Store metering.Store
	Plans metering.Prices // nil means metering.DefaultPlans
	SPF   SPF             // nil means no hosted SPF profiles
	Clock func() time.Time
	Log   *slog.Logger
	Every time.Duration // minimum interval between checks of all accounts; 0 means 10 s
	Wake  func()        // called after events were written; may be nil

	once             sync.Once
	log              *slog.Logger
	requests         chan metering.AccountID
	refused          chan refusal
	active           atomic.Pointer[map[metering.AccountID]*activeAccount]
	reports          reportLog
	rateEventLimiter *budget.NameLimiter // accounts notified of keys beyond their rate
	// Owned by the goroutine of the checks.
	mu      sync.Mutex
	written map[string]time.Time // ids of events that exist, and when they occurred
	spfSeen map[string]time.Time // profiles, and how far their history was read
}

func (d *Deriver) init() {
	d.once.Do(func() {
		if d.Store == nil {
			panic("notify: Deriver.Store is nil")
		}
		d.log = cmp.Or(d.Log, slog.New(slog.DiscardHandler))
		if d.Plans == nil {
			d.Plans = metering.DefaultPlans()
		}
		d.requests, d.refused = make(chan metering.AccountID, maxRequests), make(chan refusal, maxRequests)
		d.rateEventLimiter = budget.OfAccounts(budget.RateEvents)
		d.written, d.spfSeen = map[string]time.Time{}, map[string]time.Time{}
		d.active.Store(&map[metering.AccountID]*activeAccount{})
	})
}

// Run derives events until the context ends, and returns its error. A failure of the store is logged and retried.
func (d *Deriver) Run(ctx context.Context) error {
	d.init()
	var following sync.WaitGroup
	following.Go(func() { d.followChanges(ctx) })
	defer following.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case account := <-d.requests:
			d.logError(ctx, metering.Contain(func() error { return d.CheckAccount(ctx, account) }))
		case s := <-d.refused:
			d.logError(ctx, metering.Contain(func() error { return d.record(ctx, s) }))
		case <-timer.C:
			began := time.Now()
			d.logError(ctx, metering.Contain(func() error { return d.CheckAll(ctx) }))
			timer.Reset(max(cmp.Or(d.Every, defaultEvery), checkPauseFactor*time.Since(began)))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (d *Deriver) logError(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		d.log.Error("checking for events", "error", err)
	}
}

// followChanges triggers a check for every change of a key or an account, until the context ends.
func (d *Deriver) followChanges(ctx context.Context) {
	for ctx.Err() == nil {
		d.logError(ctx, metering.Contain(func() error { d.requestChanged(ctx); return nil }))
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

func (d *Deriver) requestChanged(ctx context.Context) {
	for change, err := range d.Store.Watch(ctx, 0) {
		if err != nil {
			return
		}
		if change.Account != "" {
			d.RequestCheck(change.Account)
		} else {
			d.RequestCheckOfKey(ctx, change.Key)
		}
	}
}

// RequestCheck requests a check of an account. It does not block.
func (d *Deriver) RequestCheck(account metering.AccountID) {
	d.init()
	select {
	case d.requests <- account:
	default:
	}
}

// RequestCheckOfKey requests a check of the account of a key.
func (d *Deriver) RequestCheckOfKey(ctx context.Context, id metering.KeyID) {
	if key, err := d.Store.Key(ctx, id); err == nil {
		d.RequestCheck(key.Account)
	}
}

// CheckAll checks all accounts that have channels.
func (d *Deriver) CheckAll(ctx context.Context) error {
	d.init()
	channels, err := channelsOf(ctx, d.Store, "")
	if err != nil {
		return err
	}
	active := map[metering.AccountID]bool{}
	for _, c := range channels {
		active[c.record.Account] = active[c.record.Account] || c.State == ChannelActive
	}
	d.setActive(active)
	d.pruneMemory()
	var faults []error
	failed := 0
	for account, is := range active {
		if !is || ctx.Err() != nil {
			continue
		}
		if err := d.check(ctx, account); err != nil {
			if failed++; failed <= maxFaults {
				faults = append(faults, err)
			}
		}
	}
	if more := failed - len(faults); more > 0 {
		faults = append(faults, fmt.Errorf("and %d accounts more", more))
	}
	return errors.Join(faults...)
}

// CheckAccount checks one account, if it has a channel.
func (d *Deriver) CheckAccount(ctx context.Context, account metering.AccountID) error {
	d.init()
	has, err := d.hasChannel(ctx, account)
	if err != nil || !has {
		return err
	}
	return d.check(ctx, account)
}

func (d *Deriver) hasChannel(ctx context.Context, account metering.AccountID) (bool, error) {
	channels, err := channelsOf(ctx, d.Store, account)
	for _, c := range channels {
		if c.State == ChannelActive {
			return true, nil
		}
	}
	return false, err
}

// check checks an account and derives all its events.
func (d *Deriver) check(ctx context.Context, id metering.AccountID) error {
	at := metering.Now(d.Clock)
	account, err := d.Store.Account(ctx, id)
	if err != nil {
		return fmt.Errorf("checking account %s: %w", id, err)
	}
	used, err := d.usageEvents(ctx, account, at)
	if err != nil {
		return err
	}
	lines, err := d.checkKeys(ctx, id, at)
	if err != nil {
		return err // also since profiles of keys that were not read would be taken for removed
	}
	err = d.write(ctx, used, at)
	return errors.Join(err, d.checkSPF(ctx, id, lines, at))
}

// keyBatchSize is how many keys are read at once: an account may have a hundred thousand.
const keyBatchSize = metering.MaxKeyIDs

// checkKeys derives events about the keys of an account, and returns the first of each line of rotations.
func (d *Deriver) checkKeys(ctx context.Context, id metering.AccountID, at time.Time) ([]metering.KeyID, error) {
	var lines []metering.KeyID
	var some []metering.Key
	derive := func() error {
		successors, err := d.successors(ctx, id, some)
		var events []metering.Event
		for _, key := range some {
			events = append(events, keyEvents(key, successors, at)...)
		}
		some = some[:0]
		if err == nil {
			err = d.write(ctx, events, at)
		}
		return err
	}
	for key, err := range d.Store.Keys(ctx, metering.KeyFilter{Account: id}) {
		if err == nil {
			if key.RotatedFrom == "" {
				lines = append(lines, key.ID)
			}
			if some = append(some, key); len(some) == keyBatchSize {
				err = derive()
			}
		}
		if err != nil {
			return lines, fmt.Errorf("checking the keys of account %s: %w", id, err)
		}
	}
	return lines, derive()
}

// successors are the keys that took the place of some.
func (d *Deriver) successors(
	ctx context.Context, id metering.AccountID, some []metering.Key,
) (map[metering.KeyID]metering.Key, error) {
	f := metering.KeyFilter{Account: id}
	for _, key := range some {
		if key.RotatedTo != "" {
			f.IDs = append(f.IDs, key.RotatedTo)
		}
	}
	list := map[metering.KeyID]metering.Key{}
	if len(f.IDs) == 0 {
		return list, nil
	}
	for key, err := range d.Store.Keys(ctx, f) {
		if err != nil {
			return nil, err
		}
		list[key.ID] = key
	}
	return list, nil
}

// write stores the events that do not exist yet.
func (d *Deriver) write(ctx context.Context, events []metering.Event, at time.Time) error {
	wrote := false
	defer func() {
		if wrote && d.Wake != nil {
			d.Wake()
		}
	}()
	for _, e := range events {
		if e.At.Before(at.Add(-horizon)) || d.exists(e.ID) {
			continue
		}
		_, err := d.Store.Record(ctx, e.Account, metering.EventKind, e.ID)
		if errors.Is(err, metering.ErrNotFound) {
			var record metering.Record
			if record, err = e.Record(); err == nil {
				err = d.Store.PutRecords(ctx, record)
				wrote = wrote || err == nil
			}
		}
		if err != nil && !errors.Is(err, metering.ErrVersion) { // another node was first
			return fmt.Errorf("writing event %s: %w", e.Type, err)
		}
		d.mu.Lock()
		d.written[e.ID] = e.At
		d.mu.Unlock()
	}
	return nil
}

// exists reports whether an event is known to be stored.
func (d *Deriver) exists(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.written[id]
	return ok
}

// pruneMemory drops what no longer matters from memory. Usage events count until their month is over.
func (d *Deriver) pruneMemory() {
	d.mu.Lock()
	defer d.mu.Unlock()
	limit := metering.Now(d.Clock).Add(-keepFor)
	for id, at := range d.written {
		if at.Before(limit) {
			delete(d.written, id)
		}
	}
	for id, at := range d.spfSeen {
		if at.Before(limit) {
			delete(d.spfSeen, id)
		}
	}
}

// expiryNotices are the times before the expiry of a key at which its account is notified.
var expiryNotices = []struct {
	before time.Duration
	name   string // part of the event's id
}{
	{7 * 24 * time.Hour, "7d"},
	{24 * time.Hour, "1d"},
}

// keyEvents returns the events of a key so far; they are the same at every call. A rotation is one event, without a
// second one for the creation of the new key.
func keyEvents(
	k metering.Key, successors map[metering.KeyID]metering.Key, at time.Time,
) (list []metering.Event) {
	about := facts{
		Account: k.Account, KeyID: k.ID, KeyName: k.Name, KeyPrefix: k.DisplayPrefix,
		Environment: k.Environment, ExpiresAt: k.ExpiresAt,
	}
	add := func(t metering.EventType, when time.Time, part string, f facts) {
		if !when.After(at) {
			list = append(list, metering.Event{
				ID: metering.EventID(t, string(k.ID)+part), Type: t, Account: k.Account, At: when, Data: f,
			})
		}
	}
	next, rotated := successors[k.RotatedTo]
	if rotated {
		about.NewKeyID, about.NewPrefix = k.RotatedTo, next.DisplayPrefix
	}
	if k.RotatedFrom == "" {
		f := about
		f.NewKeyID, f.NewPrefix = "", ""
		add(metering.EventKeyCreated, k.CreatedAt, "", f)
	}
	end, ended := keyEnd(k)
	if k.GraceUntil != nil && rotated {
		f := about
		if k.GraceUntil.After(next.CreatedAt) {
			f.GraceUntil = k.GraceUntil
		}
		add(metering.EventKeyRotated, next.CreatedAt, "", f)
	}
	if ended == metering.EventKeyRevoked {
		about.Revoked = k.RevokedReason
	}
	if ended != "" {
		add(ended, end, "", about)
	}
	if ended == metering.EventKeyExpired && k.RotatedTo == "" {
		for i, n := range expiryNotices {
			when := k.ExpiresAt.Add(-n.before)
			obsoleteAt := *k.ExpiresAt // from then on the notice is no news
			if i+1 < len(expiryNotices) {
				obsoleteAt = obsoleteAt.Add(-expiryNotices[i+1].before)
			}
			if when.After(k.CreatedAt) && at.Before(obsoleteAt) {
				add(metering.EventKeyExpiresSoon, when, "/"+n.name, about)
			}
		}
	}
	return list
}

// keyEnd returns when and why a key ends or has ended: whichever comes first, revocation, end of grace or expiry.
func keyEnd(k metering.Key) (at time.Time, by metering.EventType) {
	first := func(when *time.Time, t metering.EventType) {
		if when != nil && (by == "" || when.Before(at)) {
			at, by = *when, t
		}
	}
	first(k.RevokedAt, metering.EventKeyRevoked)
	first(k.GraceUntil, metering.EventKeyGraceEnded)
	first(k.ExpiresAt, metering.EventKeyExpired)
	return at, by
}
