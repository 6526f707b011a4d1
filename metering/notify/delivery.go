package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// DeliveryState says how far a delivery is.
type DeliveryState string

// The states of a delivery (CONTRACT 7).
const (
	Pending         DeliveryState = "pending"          // not tried yet
	Delivered       DeliveryState = "delivered"        // accepted by the receiver
	RetryScheduled  DeliveryState = "retry_scheduled"  // tried in vain; after the last attempt, open to a replay
	failedPermanent DeliveryState = "failed_permanent" // refused for good, or the channel is no more
	failedExhausted DeliveryState = "failed_exhausted" // tried in vain, and no longer open to a replay
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
	// Next is when it is tried next, or for a delivery that was tried for the last time, until when it can be
	// replayed. Zero where nothing follows.
	Next time.Time `json:"-"`
}

// An Attempt is one try to deliver.
type Attempt struct {
	At       time.Time `json:"at"`
	Ended    bool      `json:"ended"`              // false while it runs, and where its node died
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

// record is the delivery as it is to be stored over the given version.
func (d *Delivery) record(version int64) metering.Record {
	return metering.Record{
		Account: d.Account, Kind: deliveryKind, ID: d.ID, Version: version, Due: d.Next, At: d.CreatedAt,
		Body: metering.RecordBody(d),
	}
}

// newDelivery is the first delivery of an event to a channel: it has the same id whoever makes it.
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
	list := []Delivery{}
	filter := metering.RecordFilter{Kind: deliveryKind, Account: account, Newest: true}
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

// Test sends an event channel.test to a channel, whatever its categories are.
func (c Channels) Test(ctx context.Context, account metering.AccountID, id string) (Delivery, error) {
	d, err := c.read(ctx, account, id)
	if err != nil {
		return Delivery{}, err
	}
	if d.State != channelActive {
		return Delivery{}, &metering.FieldError{Field: "id", Reason: "is a channel that is disabled"}
	}
	at := metering.Now(c.Clock)
	event := metering.Event{
		ID: metering.EventID(metering.EventChannelTest, newID(id+"/")), Type: metering.EventChannelTest,
		Account: account, At: at, Data: facts{Account: account, ChannelID: id, ChannelName: d.Name, Kind: d.Kind},
	}
	record, err := event.Record()
	if err != nil {
		return Delivery{}, err
	}
	record.Due = time.Time{} // it is for this channel alone
	delivery := newDelivery(event, id, at)
	if err := c.Store.PutRecords(ctx, record, delivery.record(0)); err != nil {
		return Delivery{}, fmt.Errorf("testing channel %s: %w", id, err)
	}
	return *delivery, nil
}

// Replay sends the event of a delivery to its channel again, as a new delivery. That is possible while the event is
// kept, unless the delivery was tried in vain and a day has passed.
func (c Channels) Replay(ctx context.Context, account metering.AccountID, id string) (Delivery, error) {
	old, err := c.Delivery(ctx, account, id)
	if err != nil {
		return Delivery{}, err
	}
	if old.State == failedExhausted {
		return Delivery{}, &metering.FieldError{Field: "id", Reason: "is a delivery that can no longer be replayed"}
	}
	channel, err := c.Channel(ctx, account, old.Channel)
	if err != nil {
		return Delivery{}, err
	}
	if channel.State != channelActive {
		return Delivery{}, &metering.FieldError{Field: "id", Reason: "is a delivery to a channel that is disabled"}
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

// keepFor is how long events and deliveries are kept: longer than a month, since what an account was told of use and
// budgets in a month is not told again as long as the event exists.
const keepFor = 35 * 24 * time.Hour

// Tidy removes events and deliveries that are older than 35 days, and returns how many. What still has something
// due stays.
func Tidy(ctx context.Context, store metering.Records, now time.Time) (removed int, err error) {
	for _, kind := range []string{deliveryKind, metering.EventKind} {
		n, err := metering.Forget(ctx, store, metering.RecordFilter{Kind: kind, Before: now.Add(-keepFor)})
		removed += n
		if err != nil {
			return removed, fmt.Errorf("tidying records of kind %s: %w", kind, err)
		}
	}
	return removed, nil
}
