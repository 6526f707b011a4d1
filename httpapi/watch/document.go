package watch

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// A document is a watch as it is stored: what cannot be had from its record or its settings.
type document struct {
	Domain   string `json:"domain"`
	Settings        // whose Budget is 0 if none was chosen
	Summary
	Next  time.Time `json:"next,omitzero"`   // the next regular run, where Due may be that of one that confirms
	Month int64     `json:"month,omitempty"` // in which Spent was
	Claim claim     `json:"claim,omitzero"`
}

// A claim is a run under way: whoever knows its token may write what came of it.
type claim struct {
	Token string    `json:"token"`
	Until time.Time `json:"until"`
	Held  int64     `json:"held"` // of Spent, what the run may cost; what a dead node has spent stays so
}

// parse reads a stored watch.
func parse(r metering.Record) (*document, error) {
	doc, err := read[document](r)
	if err == nil && (doc.Every < MinEvery || doc.Every > MaxEvery) {
		err = wrapped("reading", r, fmt.Errorf("an interval of %v", doc.Every))
	}
	return doc, err
}

// longMonth is what a budget must last for.
const longMonth = 31 * 24 * time.Hour

// budget is what the watch may spend in a month: what was chosen, or its runs and a quarter more.
func (doc *document) budget() int64 {
	runs := int64((longMonth + doc.Every - 1) / doc.Every)
	return cmp.Or(doc.Budget, priceOf(doc.Checks)*(runs+(runs+3)/4))
}

// claimed reports whether the watch is running.
func (doc *document) claimed(now time.Time) bool { return now.Before(doc.Claim.Until) }

// slot is when a watch is to run after an instant. Each has its place in the interval, by its account and domain, so
// that those of a day are spread over it. The first after a run is at least a quarter of the interval away.
func (doc *document) slot(r *metering.Record, after time.Time) time.Time {
	every := doc.Every
	if doc.Reason == NoDomain || doc.Reason == Lapsed {
		every = MaxEvery
	}
	earliest := after.Add(every / 4)
	slot := earliest.Truncate(every).Add(place(r, every))
	if slot.Before(earliest) {
		slot = slot.Add(every)
	}
	return slot
}

// place is that of a watch in a time over which all are spread, in whole seconds.
func place(r *metering.Record, within time.Duration) time.Duration {
	hash := sha256.Sum256([]byte(string(r.Account) + "/" + r.ID))
	return (time.Duration(binary.BigEndian.Uint64(hash[:8])>>1) % within).Truncate(time.Second)
}
