package metering

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// EventKind is the kind of a [Record] that holds an [Event].
const EventKind = "event"

// EventType is the type of an event (CONTRACT 7).
type EventType string

// The event types.
const (
	EventKeyCreated      EventType = "api_key.created"
	EventKeyRotated      EventType = "api_key.rotated"
	EventKeyGraceEnded   EventType = "api_key.grace_ended"
	EventKeyRevoked      EventType = "api_key.revoked"
	EventKeyExpiresSoon  EventType = "api_key.expires_soon"
	EventKeyExpired      EventType = "api_key.expired"
	EventKeyDeprecated   EventType = "api_key.deprecated_use"
	EventUsageThreshold  EventType = "usage.threshold_reached"
	EventQuotaExceeded   EventType = "usage.quota_exceeded"
	EventOverageStarted  EventType = "usage.overage_started"
	EventBudgetThreshold EventType = "usage.budget_threshold_reached"
	EventBudgetReached   EventType = "usage.budget_reached"
	EventRateLimited     EventType = "usage.rate_limited"
	EventPeriodClosed    EventType = "billing.period_closed"
	EventOverageBilled   EventType = "billing.overage_billed"
	EventPaymentFailed   EventType = "billing.payment_failed"
	EventSPFCreated      EventType = "spf.profile_created"
	EventSPFChanged      EventType = "spf.profile_changed"
	EventSPFFailed       EventType = "spf.profile_failed"
	EventSPFRecovered    EventType = "spf.profile_recovered"
	EventSPFRemoved      EventType = "spf.profile_removed"
	EventChannelTest     EventType = "channel.test"
	EventChannelDisabled EventType = "channel.disabled"
	EventChannelConfirm  EventType = "channel.confirm"

	EventDomainWorsened      EventType = "domain.worsened"
	EventDomainRecovered     EventType = "domain.recovered"
	EventDomainRecordChanged EventType = "domain.record_changed"
	EventDomainExpiresSoon   EventType = "domain.expires_soon"
	EventDomainUnreachable   EventType = "domain.unreachable"
)

// EventTypes returns all event types, in the order of CONTRACT 7 and 9.
func EventTypes() []EventType {
	return []EventType{EventKeyCreated, EventKeyRotated, EventKeyGraceEnded, EventKeyRevoked, EventKeyExpiresSoon,
		EventKeyExpired, EventKeyDeprecated, EventUsageThreshold, EventQuotaExceeded, EventOverageStarted,
		EventBudgetThreshold,
		EventBudgetReached, EventRateLimited, EventPeriodClosed, EventOverageBilled, EventPaymentFailed,
		EventSPFCreated, EventSPFChanged, EventSPFFailed, EventSPFRecovered, EventSPFRemoved, EventChannelTest,
		EventChannelDisabled, EventChannelConfirm, EventDomainWorsened, EventDomainRecovered,
		EventDomainRecordChanged, EventDomainExpiresSoon,
		EventDomainUnreachable}
}

// Known reports whether it is one of [EventTypes].
func (t EventType) Known() bool { return slices.Contains(EventTypes(), t) }

// Category returns the category by which channels subscribe to the event.
func (t EventType) Category() EventCategory {
	category, _, _ := strings.Cut(string(t), ".")
	return EventCategory(category)
}

// EventCategory is a group of event types.
type EventCategory string

// The categories. Those of a channel's own events are sent to that channel, whatever it subscribes to.
const (
	KeyEvents     EventCategory = "api_key"
	UsageEvents   EventCategory = "usage"
	BillingEvents EventCategory = "billing"
	SPFEvents     EventCategory = "spf"
	ChannelEvents EventCategory = "channel"
	DomainEvents  EventCategory = "domain"
)

// EventID names the event of a type about a subject, such as a key or an account and a month: "evt_" and 26 characters
// of lower-case base32. It is the same at any time and on any node, so that an event that is found twice is kept once.
func EventID(t EventType, subject string) string {
	hash := sha256.Sum256([]byte(string(t) + "\n" + subject))
	return idOf("evt_", [idLength]byte(hash[:idLength]))
}

// An Event notifies an account that something happened.
type Event struct {
	ID      string // see [EventID]
	Type    EventType
	Account AccountID
	At      time.Time // when it happened
	// Channels are the ids of the channels that receive it, whatever they subscribe to; empty: all that subscribe to
	// its category.
	Channels []string
	Data     any // what is marshalled as JSON; a [json.RawMessage] where it was parsed
}

// eventBody is the JSON of an event's record.
type eventBody struct {
	Type     EventType       `json:"type"`
	Channels []string        `json:"channels,omitempty"`
	Data     json.RawMessage `json:"data"`
}

// Record returns the event as a new record, to be stored in one PutRecords with what it reports. It is due
// immediately: the sender of notifications writes the deliveries, and clears Due in the same PutRecords.
func (e Event) Record() (Record, error) {
	data, err := json.Marshal(e.Data)
	if err == nil {
		data, err = json.Marshal(eventBody{e.Type, e.Channels, data})
	}
	if err != nil {
		return Record{}, fmt.Errorf("event %s %s: %w", e.Type, e.ID, err)
	}
	return Record{Account: e.Account, Kind: EventKind, ID: e.ID, At: e.At, Due: e.At, Body: data}, nil
}

// ParseEvent returns the event of a stored record.
func ParseEvent(r Record) (Event, error) {
	var body eventBody
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return Event{}, fmt.Errorf("event %s: %w", r.ID, err)
	}
	return Event{ID: r.ID, Type: body.Type, Account: r.Account, At: r.At, Channels: body.Channels, Data: body.Data}, nil
}
