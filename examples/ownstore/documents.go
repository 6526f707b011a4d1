package ownstore

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// A Documents is a store whose records (invoices, channels, watches) are in a separate file, which other programs can
// read: one line of JSON for each change, written completely and durably or not at all. Everything else is in the
// store below. It implements one part of [metering.Store] itself, [metering.Records]. Make one with [OpenDocuments].
type Documents struct {
	Inner

	mu      sync.Mutex
	file    *os.File
	records map[recordKey]metering.Record
	err     error // why nothing can be written any more
}

type recordKey struct {
	kind    string
	account metering.AccountID
	id      string
}

// OpenDocuments opens the file, creating it if it is missing. A line that a crash cut off was never reported as
// written: it is removed. The file grows with each change; in long-term use, rewrite it from time to time.
func OpenDocuments(store Inner, path string) (*Documents, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	d := &Documents{Inner: store, file: file, records: map[recordKey]metering.Record{}}
	if err := d.read(); err != nil {
		file.Close()
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return d, nil
}

func (d *Documents) read() error {
	lines, size := bufio.NewReader(d.file), int64(0)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF { // the rest is no whole line
			_, err = d.file.Seek(size, io.SeekStart)
			return errors.Join(err, d.file.Truncate(size))
		}
		var change []metering.Record
		if err == nil {
			err = json.Unmarshal(line, &change)
		}
		if err != nil {
			return err
		}
		d.apply(change)
		size += int64(len(line))
	}
}

// apply applies a change that was written.
func (d *Documents) apply(change []metering.Record) {
	for _, r := range change {
		if key := (recordKey{r.Kind, r.Account, r.ID}); r.Body == nil {
			delete(d.records, key)
		} else {
			d.records[key] = r
		}
	}
}

// PutRecords implements [metering.Records].
func (d *Documents) PutRecords(ctx context.Context, records ...metering.Record) error {
	if err := metering.CheckRecords(records); err != nil {
		return err
	}
	for _, r := range records {
		if _, err := d.Account(ctx, r.Account); err != nil { // accounts are never removed: this needs no lock
			return r.Refused(err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.checkUsable(ctx); err != nil || len(records) == 0 {
		return err
	}
	change := slices.Clone(records)
	for i := range change {
		r := &change[i]
		if d.records[recordKey{r.Kind, r.Account, r.ID}].Version != r.Version {
			return r.Refused(metering.ErrVersion)
		}
		r.Version++
		r.At, r.Body = r.At.UTC().Truncate(time.Microsecond), bytes.Clone(r.Body)
		if !r.Due.IsZero() {
			r.Due = r.Due.UTC().Truncate(time.Microsecond)
		}
	}
	line, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = d.file.Write(append(line, '\n'))
	if err = cmp.Or(err, d.file.Sync()); err != nil { // the state on disk is now unknown
		d.err = fmt.Errorf("writing records: %w: %w", metering.ErrUnavailable, err)
		return d.err
	}
	d.apply(change)
	return nil
}

// checkUsable returns an error if the store cannot be used. The lock is held.
func (d *Documents) checkUsable(ctx context.Context) error { return cmp.Or(ctx.Err(), d.err) }

// Record implements [metering.Records].
func (d *Documents) Record(
	ctx context.Context, account metering.AccountID, kind, id string,
) (metering.Record, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.checkUsable(ctx); err != nil {
		return metering.Record{}, err
	}
	r, ok := d.records[recordKey{kind, account, id}]
	if !ok {
		wanted := metering.Record{Account: account, Kind: kind, ID: id}
		return metering.Record{}, wanted.Refused(metering.ErrNotFound)
	}
	r.Body = bytes.Clone(r.Body)
	return r, nil
}

// Records implements [metering.Records]. It yields the records of the moment at which the loop began.
func (d *Documents) Records(ctx context.Context, f metering.RecordFilter) iter.Seq2[metering.Record, error] {
	return func(yield func(metering.Record, error) bool) {
		list, err := d.selectRecords(ctx, f)
		for _, r := range list {
			r.Body = bytes.Clone(r.Body)
			if err = ctx.Err(); err != nil || !yield(r, nil) {
				break
			}
		}
		if err != nil {
			yield(metering.Record{}, err)
		}
	}
}

func (d *Documents) selectRecords(ctx context.Context, f metering.RecordFilter) (list []metering.Record, err error) {
	if f.Kind == "" {
		return nil, errors.New("listing records: the filter names no kind")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.checkUsable(ctx); err != nil {
		return nil, err
	}
	for _, r := range d.records {
		if r.Kind == f.Kind && (f.Account == "" || f.Account == r.Account) && (f.ID == "" || f.ID == r.ID) &&
			(f.DueBy.IsZero() || !r.Due.IsZero() && !r.Due.After(f.DueBy)) &&
			(f.Before.IsZero() || r.At.Before(f.Before)) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b metering.Record) int {
		byTime := a.At.Compare(b.At)
		if !f.DueBy.IsZero() {
			byTime = a.Due.Compare(b.Due)
		}
		return cmp.Or(byTime, cmp.Compare(a.ID, b.ID), cmp.Compare(a.Account, b.Account))
	})
	if f.Newest {
		slices.Reverse(list)
	}
	if f.Limit > 0 {
		list = list[:min(f.Limit, len(list))]
	}
	return list, nil
}

// Close closes the file and the store below.
func (d *Documents) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if errors.Is(d.err, metering.ErrClosed) {
		return nil
	}
	d.err = metering.ErrClosed
	return errors.Join(d.file.Close(), d.Inner.Close())
}
