// Package ownstore is a metering store of your own: call [New] to wrap a [metering.Store], which then also writes a
// line for each charge, for an accounting department.
//
//	file, err := os.OpenFile("spending.jsonl", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
//	…
//	store := ownstore.New(sqliteStore, file)
//	gate, err := metering.NewGate(ctx, metering.GateConfig{Store: store})
//
// A store is the interface metering.Store, which has five parts. To wrap one, embed it and replace the methods that
// matter: [Store] replaces Settle, the only call that moves money, and [Documents] all of a part. Whatever a store does
// inside, it must pass meteringtest.TestStore, which store_test.go runs: quotas that are never oversold, charges that
// are made once, revocations that hold at once.
package ownstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// A logEntry is one line of the log.
type logEntry struct {
	At        time.Time          `json:"at"`
	RequestID string             `json:"request_id"`
	Account   metering.AccountID `json:"account"`
	Key       metering.KeyID     `json:"key"`
	Endpoint  string             `json:"endpoint"`
	Credits   int64              `json:"credits"`
	Remaining int64              `json:"remaining"` // of the month's allowance
}

// Inner is the interface of a store to be wrapped. Generational is optional for a gate, which without it queries the
// store for every request; here it is required, so that embedding passes it on. The stores in memory and in SQLite
// have it.
type Inner interface {
	metering.Store
	metering.Generational
}

// A Store is a store that logs charges. Make one with [New].
type Store struct {
	Inner

	mu  sync.Mutex
	log *json.Encoder
	err error // the first line that could not be written
}

// New wraps a store. The log gets one line of JSON for each charge, whole and in one Write.
func New(store Inner, log io.Writer) *Store { return &Store{Inner: store, log: json.NewEncoder(log)} }

// Settle charges, and logs the charge. By then the charge is a fact: that a line cannot be written must not look like
// a charge that failed, or the caller would be served for nothing. Close reports it.
func (s *Store) Settle(ctx context.Context, t metering.Ticket, out metering.Outcome) (metering.Balance, error) {
	balance, err := s.Inner.Settle(ctx, t, out)
	if err != nil {
		return balance, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.log.Encode(logEntry{
		At: out.At.UTC(), RequestID: t.RequestID, Account: t.Account, Key: t.Key,
		Endpoint: t.Endpoint, Credits: t.Credits, Remaining: balance.Remaining(),
	})
	if s.err == nil {
		s.err = err
	}
	return balance, nil
}

// Close closes the store below, and reports the first line of the log that could not be written.
func (s *Store) Close() error {
	err := s.Inner.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		err = errors.Join(err, fmt.Errorf("writing the spending log: %w", s.err))
	}
	return err
}
