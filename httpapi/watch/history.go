package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/metering"
)

// Kept is for how long runs are kept.
const Kept = 400 * 24 * time.Hour

// historyKind is that of the records of the past of a watch: one of its own, by which they are found.
func historyKind(id string) string { return "watch_history." + id }

// A Run is a row of the history: the result of a run.
type Run struct {
	At         time.Time `json:"at"`
	Mark       view.Mark `json:"mark"`
	Score      *int      `json:"score,omitempty"`
	Credits    int64     `json:"credits"`
	Confirming bool      `json:"confirming,omitempty"` // whether it only checked what had changed
	Unknown    []string  `json:"unknown,omitempty"`    // parts that did not answer
	Difference           // to the run before
}

// A historyPart is a record of the history: of at most a month, and of so many bytes beyond which the next one begins.
type historyPart struct {
	Base Snapshot `json:"base"` // after the first of the runs
	Runs []Run    `json:"runs"`
}

const maxPartRuns = 24 << 10

// historyParts returns the parts of the history from the newest back to the one that contains an instant.
func (w *Watches) historyParts(
	ctx context.Context, account metering.AccountID, id string, since, before time.Time,
) (list []*historyPart, err error) {
	if _, _, err := w.read(ctx, account, id); err != nil {
		return nil, err
	}
	f := metering.RecordFilter{Kind: historyKind(id), Account: account, Newest: true, Before: before}
	for r, err := range w.Store.Records(ctx, f) {
		if err != nil {
			return nil, fmt.Errorf("reading the history of watch %s: %w", id, err)
		}
		c, err := read[historyPart](r)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
		if !r.At.After(since) {
			break
		}
	}
	return list, nil
}

// History returns the runs of a watch since an instant, the newest first.
func (w *Watches) History(ctx context.Context, account metering.AccountID, id string, since time.Time) ([]Run, error) {
	chapters, err := w.historyParts(ctx, account, id, since, time.Time{})
	if err != nil {
		return nil, err
	}
	list := []Run{}
	for _, c := range chapters {
		for i := len(c.Runs) - 1; i >= 0 && !c.Runs[i].At.Before(since); i-- {
			list = append(list, c.Runs[i])
		}
	}
	return list, nil
}

// At returns the known state of a domain at an instant, or [metering.ErrNotFound] if there was none.
func (w *Watches) At(ctx context.Context, account metering.AccountID, id string, at time.Time) (*Snapshot, error) {
	chapters, err := w.historyParts(ctx, account, id, at, at.Add(time.Microsecond))
	if err != nil {
		return nil, err
	}
	if len(chapters) == 0 {
		return nil, fmt.Errorf("watch %s at %s: %w", id, at.Format(time.RFC3339), metering.ErrNotFound)
	}
	s := &chapters[0].Base
	for _, r := range chapters[0].Runs {
		if r.At.After(s.At) && !r.At.After(at) {
			s.apply(r)
		}
	}
	return s, nil
}

// Now returns the known state of a domain. It is empty before the first run.
func (w *Watches) Now(ctx context.Context, account metering.AccountID, id string) (*Snapshot, error) {
	if _, _, err := w.read(ctx, account, id); err != nil {
		return nil, err
	}
	_, s, err := w.readState(ctx, account, id)
	if err != nil {
		return nil, err
	}
	return &s.Snapshot, nil
}

// readState reads the known state of a domain, which is empty before the first run.
func (w *Watches) readState(
	ctx context.Context,
	account metering.AccountID,
	id string,
) (metering.Record, *state, error) {
	r, err := w.Store.Record(ctx, account, stateKind, id)
	if errors.Is(err, metering.ErrNotFound) {
		return metering.Record{Account: account, Kind: stateKind, ID: id, At: w.now()}, &state{}, nil
	}
	if err != nil {
		return r, nil, err
	}
	s, err := read[state](r)
	return r, s, err
}

// extend adds a row to the history: to its newest chapter, or to a new one, which removes expired ones.
func (s *session) extend(ctx context.Context, row Run, now *Snapshot) ([]metering.Record, error) {
	watch := s.record
	f := metering.RecordFilter{Kind: historyKind(watch.ID), Account: watch.Account, Newest: true, Limit: 1}
	for r, err := range s.Store.Records(ctx, f) {
		if err != nil {
			return nil, err
		}
		c, err := read[historyPart](r)
		if err != nil || len(r.Body) > maxPartRuns || metering.PeriodOf(r.At) != metering.PeriodOf(row.At) {
			break // what cannot be read is left as it is
		}
		c.Runs = append(c.Runs, row)
		if r, err = write(r, c); err != nil {
			return nil, err
		}
		if len(r.Body) <= metering.MaxRecordBytes {
			return []metering.Record{r}, nil
		}
	}
	c := historyPart{Base: *now, Runs: []Run{row}}
	id := row.At.UTC().Format("20060102T150405.000000")
	next, err := write(metering.Record{Account: watch.Account, Kind: f.Kind, ID: id, At: row.At}, c)
	if err == nil && len(next.Body) > metering.MaxRecordBytes {
		c.Base.Facts, c.Runs[0].Difference = nil, Difference{}
		next, err = write(next, c)
	}
	if err != nil {
		return nil, err
	}
	if s.Doubt == nil || s.Doubt() == nil {
		const longest = 31 * day // of a chapter, whose At is that of its first row
		f.Newest, f.Before, f.Limit = false, row.At.Add(-Kept-longest), 0
		_, err = metering.RemoveRecords(ctx, s.Store, f)
	}
	return []metering.Record{next}, err
}
