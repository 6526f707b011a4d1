package billing

import (
	"context"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// A Head proves all notes from before an instant, and so each invoice as it was then. Kept elsewhere, it shows whether
// somebody has written invoices, notes and the ends of their chains anew.
type Head struct {
	Before time.Time      `json:"before"`
	Count  int64          `json:"count"` // of the notes
	Chain  metering.Chain `json:"chain"` // over all of them, by their time
}

// ReadHead makes the head of the notes from before an instant. Zero means [Grace] ago, by when each note that will ever
// tell of that time has been written.
func (b Billing) ReadHead(ctx context.Context, before time.Time) (Head, error) {
	if before.IsZero() {
		before = b.now().Add(-Grace)
	}
	h := Head{Before: before}
	for r, err := range b.Store.Records(ctx, metering.RecordFilter{Kind: NoteKind, Before: before}) {
		if err != nil {
			return Head{}, err
		}
		h.Count++
		h.Chain = h.Chain.Next("billing.head.v1", string(r.Account), r.ID, string(r.Body))
	}
	return h, nil
}

// Holds reports whether the notes that a head proves are what they were.
func (h Head) Holds(ctx context.Context, b Billing) (bool, error) {
	now, err := b.ReadHead(ctx, h.Before)
	return now.Count == h.Count && now.Chain == h.Chain, err
}
