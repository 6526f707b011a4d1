package metering

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEventTypes(t *testing.T) {
	seen := make(map[EventType]bool)
	categories := make(map[EventCategory]int)
	for _, e := range EventTypes() {
		require.False(t, seen[e], e)
		require.True(t, e.Known(), e)
		seen[e] = true
		categories[e.Category()]++
	}
	require.Equal(t, map[EventCategory]int{
		KeyEvents: 7, UsageEvents: 6, BillingEvents: 3, SPFEvents: 5, ChannelEvents: 3, DomainEvents: 5,
	}, categories)
	require.False(t, EventType("usage.unknown").Known())
}

func TestEventID(t *testing.T) {
	id := EventID(EventPeriodClosed, "acc_a/2026-10")
	require.Regexp(t, "^evt_[a-z2-7]{26}$", id)
	require.Equal(t, id, EventID(EventPeriodClosed, "acc_a/2026-10"))
	require.NotEqual(t, id, EventID(EventPaymentFailed, "acc_a/2026-10"))
	require.NotEqual(t, id, EventID(EventPeriodClosed, "acc_a/2026-11"))
}

func TestEventRecord(t *testing.T) {
	e := Event{ID: EventID(EventRateLimited, "key_a"), Type: EventRateLimited, Account: "acc_a",
		At: time.Unix(1e9, 0).UTC(), Data: map[string]any{"key": "key_a"}}
	r, err := e.Record()
	require.NoError(t, err)
	require.Equal(t, Record{Account: "acc_a", Kind: EventKind, ID: e.ID, At: e.At, Due: e.At,
		Body: []byte(`{"type":"usage.rate_limited","data":{"key":"key_a"}}`)}, r)
	require.NoError(t, CheckRecords([]Record{r}))
	back, err := ParseEvent(r)
	require.NoError(t, err)
	e.Data = json.RawMessage(`{"key":"key_a"}`)
	require.Equal(t, e, back)

	e.Data = make(chan int)
	_, err = e.Record()
	require.Error(t, err)
	_, err = ParseEvent(Record{})
	require.Error(t, err)
}
