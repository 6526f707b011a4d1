//go:build !race || nightly

package notify

// The race detector makes these many times slower, and nothing in them runs at once but what other tests race.

import (
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each of the types is emitted by what it names, and arrives at a webhook, once. By day PostgreSQL, which takes seconds
// for its schemas, is left with every fifth.
func TestEveryType(t *testing.T) {
	for n, event := range metering.EventTypes() {
		if event == metering.EventChannelConfirm { // by mail alone, see TestConfirm
			continue
		}
		on := onEachStore
		if n%5 > 0 && !diagtest.Whole() {
			on = onLocalStores
		}
		on(t, string(event), func(t *testing.T, w *world) {
			require.NotNil(t, acts[event], "nobody emits it")
			w.channel("first")
			acts[event](w)
			var found []Body
			for _, r := range w.pump() {
				if b := r.body(t); b.EventType == event && r.URL.Host == "first.example.com" {
					found = append(found, b)
				}
			}
			require.Len(t, found, 1)
			b := found[0]
			assert.Equal(t, "2", b.SchemaVersion)
			assert.Equal(t, event.Category(), b.Category)
			assert.Equal(t, 1, b.Attempt)
			assert.Regexp(t, `^evt_[a-z2-7]{26}$`, b.EventID)
			assert.Regexp(t, `^dlv_[a-z2-7]{26}$`, b.DeliveryID)
			assert.False(t, b.OccurredAt.After(w.clock.Now()))
			assert.Regexp(t, `^\{.+\}$`, string(b.Data))

			// A new node without state finds nothing more to report.
			w.deriver = &Deriver{Store: w.store, SPF: w.spf, Clock: w.clock.Now}
			w.clock.Advance(time.Minute)
			assert.Empty(t, w.pump())
		})
	}
}
