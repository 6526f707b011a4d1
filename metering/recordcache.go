package metering

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A RecordCache stores temporary data of accounts, such as results, within a bound per account: when it is full, the
// oldest entries of that account are removed. Only Store, Kind and Bytes are required.
type RecordCache struct {
	Store Records
	Kind  string        // of the records
	Bytes int64         // how much an account may keep, as the sum of its bodies
	Age   time.Duration // after which entries are removed when others are put; 0 means never
}

// maxEntries bounds the entries of one account, so that the list fits into a record.
const maxEntries = 300

// A cachedEntry is an entry of a cache: records that were put together.
type cachedEntry struct {
	ID    string `json:"id"`
	Parts int    `json:"parts"`
	Bytes int64  `json:"bytes"`
	At    int64  `json:"at"` // Unix seconds
}

// PartID returns the id of a part of an entry; the first part has number 0 and the id of the entry itself.
func PartID(id string, part int) string {
	if part == 0 {
		return id
	}
	return fmt.Sprintf("%s.%d", id, part)
}

// listKind is the kind of the record that lists the entries of an account, with the id listID.
func (s RecordCache) listKind() string { return s.Kind + "_list" }

const listID = "list"

// Put stores the records of one entry, all or none, and removes the oldest entries of the account to make room. They
// are of one account and of the kind of the cache, and have the ids of [PartID]; an entry of one part replaces the one
// with the same id. An entry larger than Bytes is refused with a *[FieldError]. The error is ErrVersion like that
// of PutRecords.
func (s RecordCache) Put(ctx context.Context, records ...Record) error {
	added := cachedEntry{ID: records[0].ID, Parts: len(records), At: records[0].At.Unix()}
	for _, r := range records {
		added.Bytes += int64(len(r.Body))
	}
	if added.Bytes > s.Bytes {
		return &FieldError{Field: "body", Reason: fmt.Sprintf("has more than the %d bytes that an account may keep", s.Bytes)}
	}
	account := records[0].Account
	for range versionTries {
		list, entries, err := s.list(ctx, account)
		if err != nil {
			return err
		}
		entries = slices.DeleteFunc(entries, func(i cachedEntry) bool { return i.ID == added.ID }) // which it replaces
		if entries, err = s.evict(ctx, account, entries, added); err != nil {
			return err
		}
		if list.Body, err = json.Marshal(append(entries, added)); err != nil {
			return err
		}
		err = s.Store.PutRecords(ctx, append(slices.Clip(records), list)...)
		if !errors.Is(err, ErrVersion) {
			return err
		}
		now, _, err := s.list(ctx, account)
		if err != nil {
			return err
		}
		if now.Version == list.Version {
			return ErrVersion // of the records
		}
	}
	return ErrVersion
}

// list reads the entries of an account, the oldest first.
func (s RecordCache) list(ctx context.Context, account AccountID) (r Record, entries []cachedEntry, err error) {
	r, err = s.Store.Record(ctx, account, s.listKind(), listID)
	if errors.Is(err, ErrNotFound) {
		return Record{Account: account, Kind: s.listKind(), ID: listID, At: time.Unix(0, 0).UTC()}, nil, nil
	}
	if err == nil {
		err = json.Unmarshal(r.Body, &entries)
	}
	return r, entries, err
}

// evict removes the oldest entries until the added one fits, and returns the rest.
func (s RecordCache) evict(
	ctx context.Context, account AccountID, entries []cachedEntry, added cachedEntry,
) ([]cachedEntry, error) {
	if s.Age > 0 {
		entries = slices.DeleteFunc(entries, func(i cachedEntry) bool {
			return time.Duration(added.At-i.At)*time.Second >= s.Age
		})
	}
	sum := added.Bytes
	for _, i := range entries {
		sum += i.Bytes
	}
	for len(entries) > 0 && (sum > s.Bytes || len(entries) >= maxEntries) {
		if err := s.remove(ctx, account, entries[0]); err != nil {
			return nil, err
		}
		sum -= entries[0].Bytes
		entries = entries[1:]
	}
	return entries, nil
}

// remove removes the records of a thing, as far as they are still there.
func (s RecordCache) remove(ctx context.Context, account AccountID, entry cachedEntry) error {
	var old []Record
	for part := range entry.Parts {
		r, err := s.Store.Record(ctx, account, s.Kind, PartID(entry.ID, part))
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		r.Body = nil
		old = append(old, r)
	}
	if len(old) == 0 {
		return nil
	}
	if err := s.Store.PutRecords(ctx, old...); !errors.Is(err, ErrVersion) { // another does the same
		return err
	}
	return nil
}
