package memory

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// records is the documents beside the ledger, by kind.
type records struct {
	mu    sync.Mutex
	kinds map[string]map[recordName]metering.Record
}

type recordName struct {
	account metering.AccountID
	id      string
}

// Record implements [metering.Records].
func (s *Store) Record(
	ctx context.Context, account metering.AccountID, kind, id string,
) (metering.Record, error) {
	if err := s.ready(ctx); err != nil {
		return metering.Record{}, err
	}
	s.records.mu.Lock()
	defer s.records.mu.Unlock()
	r, ok := s.records.kinds[kind][recordName{account, id}]
	if !ok {
		return metering.Record{}, fmt.Errorf("%s %s of %s: %w", kind, id, account, metering.ErrNotFound)
	}
	r.Body = bytes.Clone(r.Body)
	return r, nil
}

// Records implements [metering.Records]. It yields the records of the moment at which the loop began.
func (s *Store) Records(ctx context.Context, f metering.RecordFilter) iter.Seq2[metering.Record, error] {
	return func(yield func(metering.Record, error) bool) {
		err := s.ready(ctx)
		if err == nil && f.Kind == "" {
			err = errors.New("listing records: the filter names no kind")
		}
		if err != nil {
			yield(metering.Record{}, err)
			return
		}
		for _, r := range s.records.list(f) {
			if err := s.ready(ctx); err != nil {
				yield(metering.Record{}, err)
				return
			}
			r.Body = bytes.Clone(r.Body)
			if !yield(r, nil) {
				return
			}
		}
	}
}

// list selects and sorts. Bodies never change, so that they need no copy here.
func (p *records) list(f metering.RecordFilter) []metering.Record {
	var list []metering.Record
	p.mu.Lock()
	for name, r := range p.kinds[f.Kind] {
		if (f.Account == "" || f.Account == name.account) && (f.ID == "" || f.ID == name.id) &&
			(f.DueBy.IsZero() || !r.Due.IsZero() && !r.Due.After(f.DueBy)) &&
			(f.Before.IsZero() || r.At.Before(f.Before)) {
			list = append(list, r)
		}
	}
	p.mu.Unlock()
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
	return list
}

// PutRecords implements [metering.Records].
func (s *Store) PutRecords(ctx context.Context, list ...metering.Record) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	if err := metering.CheckRecords(list); err != nil {
		return err
	}
	s.admin.mu.RLock()
	defer s.admin.mu.RUnlock()
	p := &s.records
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range list {
		if _, ok := s.admin.accounts[r.Account]; !ok {
			return fmt.Errorf("%s %s: account %s: %w", r.Kind, r.ID, r.Account, metering.ErrNotFound)
		}
		if p.kinds[r.Kind][recordName{r.Account, r.ID}].Version != r.Version {
			return r.Refused(metering.ErrVersion)
		}
	}
	for _, r := range list {
		p.put(r)
	}
	return nil
}

// put writes or removes a record under the lock.
func (p *records) put(r metering.Record) {
	kind, name := p.kinds[r.Kind], recordName{r.Account, r.ID}
	if r.Body == nil {
		delete(kind, name)
		return
	}
	if kind == nil {
		kind = make(map[recordName]metering.Record)
		p.kinds[r.Kind] = kind
	}
	r.Version++
	r.At = r.At.UTC().Truncate(time.Microsecond)
	if !r.Due.IsZero() {
		r.Due = r.Due.UTC().Truncate(time.Microsecond)
	}
	r.Body = bytes.Clone(r.Body)
	kind[name] = r
}
