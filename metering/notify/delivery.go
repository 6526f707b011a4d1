package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
)

// DeliveryState is the state of a delivery.
type DeliveryState string

// The states of a delivery (CONTRACT 7).
const (
	Pending         DeliveryState = "pending"          // not tried yet
	Delivered       DeliveryState = "delivered"        // accepted by the receiver
	RetryScheduled  DeliveryState = "retry_scheduled"  // failed so far; for a day also after the last attempt
	FailedPermanent DeliveryState = "failed_permanent" // permanently rejected, or the channel no longer exists
	FailedExhausted DeliveryState = "failed_exhausted" // tried in vain, for a day and more
)

// A Delivery is an event on its way to one channel.
type Delivery struct {
	ID        string             `json:"-"`
	Account   metering.AccountID `json:"-"`
	Channel   string             `json:"channel"`
	Event     string             `json:"event"`
	Type      metering.EventType `json:"type"`
	State     DeliveryState      `json:"state"`
	Attempts  []Attempt          `json:"attempts,omitempty"`
	ReplayOf  string             `json:"replay_of,omitempty"` // the delivery that it repeats
	CreatedAt time.Time          `json:"-"`
	// Next is when it is tried next, or for a delivery that was tried for the last time, when it counts as failed. Zero
	// where nothing follows.
	Next time.Time `json:"-"`
}

// An Attempt is one try to deliver.
type Attempt struct {
	At       time.Time `json:"at"`
	Ended    bool      `json:"ended"`              // false while it runs, and after its node died
	Status   int       `json:"status,omitempty"`   // of HTTP or SMTP; 0 without an answer
	Error    string    `json:"error,omitempty"`    // why it failed; empty for a success
	Millis   int64     `json:"millis,omitempty"`   // how long it took
	Response string    `json:"response,omitempty"` // the beginning of a refusal, without control characters
}

// deliveryKind is the kind of records that hold deliveries.
const deliveryKind = "delivery"

func readDelivery(r metering.Record) (*Delivery, error) {
	d := &Delivery{ID: r.ID, Account: r.Account, CreatedAt: r.At, Next: r.Due}
	if err := json.Unmarshal(r.Body, d); err != nil {
		return nil, fmt.Errorf("reading delivery %s: %w", r.ID, err)
	}
	return d, nil
}

// record returns the delivery as a record that replaces the given version.
func (d *Delivery) record(version int64) metering.Record {
	return metering.Record{
		Account: d.Account, Kind: deliveryKind, ID: d.ID, Version: version, Due: d.Next, At: d.CreatedAt,
		Body: metering.RecordBody(d),
	}
}

// newDelivery returns the first delivery of an event to a channel. Its id is the same on every node.
func newDelivery(e metering.Event, channel string, at time.Time) *Delivery {
	return &Delivery{
		ID: derivedID(deliveryPrefix, e.ID, channel), Account: e.Account, Channel: channel, Event: e.ID,
		Type: e.Type, State: Pending, CreatedAt: at, Next: at,
	}
}

// Deliveries lists the deliveries of an account, or of one of its channels, the newest first, at most limit; 0 means
// all that are kept.
func (c Channels) Deliveries(
	ctx context.Context, account metering.AccountID, channel string, limit int,
) ([]Delivery, error) {
	return c.DeliveriesBefore(ctx, account, channel, time.Time{}, limit)
}

// DeliveriesBefore lists those that were created before an instant; the zero time means all.
func (c Channels) DeliveriesBefore(
	ctx context.Context, account metering.AccountID, channel string, before time.Time, limit int,
) ([]Delivery, error) {
	list := []Delivery{}
	filter := metering.RecordFilter{Kind: deliveryKind, Account: account, Newest: true, Before: before}
	for r, err := range c.Store.Records(ctx, filter) {
		if err != nil {
			return nil, fmt.Errorf("listing deliveries: %w", err)
		}
		d, err := readDelivery(r)
		if err != nil {
			return nil, err
		}
		if channel == "" || channel == d.Channel {
			if list = append(list, *d); len(list) == limit {
				break
			}
		}
	}
	return list, nil
}

// Delivery returns one delivery.
func (c Channels) Delivery(ctx context.Context, account metering.AccountID, id string) (Delivery, error) {
	r, err := c.Store.Record(ctx, account, deliveryKind, id)
	if err != nil {
		return Delivery{}, err
	}
	d, err := readDelivery(r)
	if err != nil {
		return Delivery{}, err
	}
	return *d, nil
}

// maxRequested bounds the deliveries of an account requested by tests and replays within requestedWindow: each is kept
// for a month, and goes to a server that the account has named and may not be its own.
var (
	maxRequested    = int(budget.Of(budget.Replays).Account)
	requestedWindow = budget.Of(budget.Replays).Window
)

// checkQueue returns how many more deliveries an account may request, at least one, or an error.
func (c Channels) checkQueue(ctx context.Context, account metering.AccountID) (left int, err error) {
	left = maxRequested
	room, err := queueRoom(ctx, c.Store, account, metering.Now(c.Clock))
	if err != nil {
		return 0, err
	}
	if room <= 0 {
		return 0, &metering.FieldError{Field: "id", Reason: fmt.Sprintf(
			"is of an account with %d deliveries that wait for an attempt, which is the most; wait", maxQueue)}
	}
	since := metering.Now(c.Clock).Add(-requestedWindow)
	f := metering.RecordFilter{Kind: deliveryKind, Account: account, Newest: true}
	for d, err := range metering.ParseRecords(c.Store.Records(ctx, f), readDelivery) {
		if err != nil {
			return 0, fmt.Errorf("counting tests and replays: %w", err)
		}
		if !d.CreatedAt.After(since) {
			break
		}
		if d.Type == metering.EventChannelTest || d.ReplayOf != "" {
			left--
		}
		if left == 0 {
			return 0, &metering.FieldError{Field: "id", Reason: fmt.Sprintf(
				"is of an account that had %d tests and replays within a day, which is the most; wait", maxRequested)}
		}
	}
	return min(left, room), nil
}

// Test sends an event channel.test to a channel, whatever its categories are; by mail only a few times an hour.
func (c Channels) Test(ctx context.Context, account metering.AccountID, id string) (Delivery, error) {
	d, err := c.read(ctx, account, id)
	if err != nil {
		return Delivery{}, err
	}
	if d.State != ChannelActive {
		return Delivery{}, &metering.FieldError{Field: "id", Reason: "is a channel that is " + string(d.State)}
	}
	if _, err := c.checkQueue(ctx, account); err != nil {
		return Delivery{}, err
	}
	event, delivery, err := d.channelEvent(metering.EventChannelTest, metering.Now(c.Clock))
	if err != nil {
		return Delivery{}, err
	}
	err = metering.Retry(func() error { // another test of the same address may be first
		records := []metering.Record{event, delivery.record(0)}
		if d.Kind == Email {
			m, err := c.mailbox(ctx, account, d.Target)
			if err == nil {
				err = c.countMail(ctx, m)
			}
			if err != nil {
				return err
			}
			records = append(records, m.put())
		}
		return c.Store.PutRecords(ctx, records...)
	})
	if refused, ok := errors.AsType[*metering.FieldError](err); ok {
		return Delivery{}, refused
	}
	if err != nil {
		return Delivery{}, fmt.Errorf("testing channel %s: %w", id, err)
	}
	return *delivery, nil
}

// ReplayableFor is the minimum time for which a delivery and its event are kept.
const ReplayableFor = 30 * 24 * time.Hour

// NextAttempt returns when a delivery is tried next; zero if it was tried for the last time.
func (d Delivery) NextAttempt() time.Time {
	if len(d.Attempts) == MaxAttempts {
		return time.Time{}
	}
	return d.Next
}

// ReplayableUntil returns until when a delivery that did not arrive can at least be sent again; zero while it is
// tried, and for one that arrived.
func (d Delivery) ReplayableUntil() time.Time {
	if d.State == Delivered || d.State == Pending || !d.NextAttempt().IsZero() {
		return time.Time{}
	}
	return d.CreatedAt.Add(ReplayableFor)
}

// maxReplayed bounds the deliveries of one [Channels.ReplaySince].
const maxReplayed = 1000

// ReplaySince sends again to a channel what has not arrived there since a time: each event once, unless a delivery of
// it has been accepted or is under way. It returns the new deliveries, the oldest event first, at most 1000; a second
// call continues, within the daily limit of tests and replays of the account.
func (c Channels) ReplaySince(
	ctx context.Context, account metering.AccountID, channel string, since time.Time,
) ([]Delivery, error) {
	if _, err := c.Channel(ctx, account, channel); err != nil {
		return nil, err
	}
	left, err := c.checkQueue(ctx, account)
	if err != nil {
		return nil, err
	}
	sent, err := c.Deliveries(ctx, account, channel, 0)
	if err != nil {
		return nil, err
	}
	arrives := map[string]bool{} // by event
	for _, d := range sent {
		waits := d.State == RetryScheduled && len(d.Attempts) < MaxAttempts
		arrives[d.Event] = arrives[d.Event] || d.State == Delivered || d.State == Pending || waits
	}
	again := []Delivery{}
	for _, d := range slices.Backward(sent) {
		if d.CreatedAt.Before(since) || arrives[d.Event] || d.Type == metering.EventChannelConfirm {
			continue
		}
		if len(again) == min(maxReplayed, left) {
			break
		}
		arrives[d.Event] = true
		next, err := c.replay(ctx, account, d.ID)
		if errors.Is(err, metering.ErrNotFound) { // the event is no longer kept
			continue
		}
		if err != nil {
			return again, err
		}
		again = append(again, next)
	}
	return again, nil
}

// Replay sends the event of a delivery to its channel again, as a new delivery. That is possible while the event is
// kept, which is for more than 30 days.
func (c Channels) Replay(ctx context.Context, account metering.AccountID, id string) (Delivery, error) {
	if _, err := c.checkQueue(ctx, account); err != nil {
		return Delivery{}, err
	}
	return c.replay(ctx, account, id)
}

func (c Channels) replay(ctx context.Context, account metering.AccountID, id string) (Delivery, error) {
	old, err := c.Delivery(ctx, account, id)
	if err != nil {
		return Delivery{}, err
	}
	channel, err := c.Channel(ctx, account, old.Channel)
	if err != nil {
		return Delivery{}, err
	}
	if channel.State != ChannelActive {
		reason := "is a delivery to a channel that is " + string(channel.State)
		return Delivery{}, &metering.FieldError{Field: "id", Reason: reason}
	}
	if _, err := c.Store.Record(ctx, account, metering.EventKind, old.Event); err != nil {
		return Delivery{}, fmt.Errorf("replaying %s: event %s: %w", id, old.Event, err)
	}
	at := metering.Now(c.Clock)
	next := &Delivery{
		ID: newID(deliveryPrefix), Account: account, Channel: old.Channel, Event: old.Event, Type: old.Type,
		State: Pending, ReplayOf: id, CreatedAt: at, Next: at,
	}
	if err := c.Store.PutRecords(ctx, next.record(0)); err != nil {
		return Delivery{}, fmt.Errorf("replaying %s: %w", id, err)
	}
	return *next, nil
}

// keepFor is how long events and deliveries are kept: longer than a month, since a stored event prevents a second
// notification of the same use or budget in a month.
const keepFor = 35 * 24 * time.Hour

// Tidy removes events and deliveries that are older than 35 days, and returns how many. What still has something
// due stays.
func Tidy(ctx context.Context, store metering.Records, now time.Time) (removed int, err error) {
	for _, kind := range []string{deliveryKind, metering.EventKind} {
		n, err := metering.RemoveRecords(ctx, store, metering.RecordFilter{Kind: kind, Before: now.Add(-keepFor)})
		removed += n
		if err != nil {
			return removed, fmt.Errorf("tidying records of kind %s: %w", kind, err)
		}
	}
	return removed, nil
}
