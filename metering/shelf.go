package metering

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Shelf stores temporary data of accounts, such as results, within a bound per account: when it is full, the oldest
// entries of that account are removed. Only Store, Kind and Bytes are required.
type Shelf struct {
	Store Records
	Kind  string        // of the records
	Bytes int64         // how much an account may keep, as the sum of its bodies
	Age   time.Duration // after which another than the shelf forgets what it holds; 0 means never
}

// maxItems bounds what a shelf has of one account, so that the list fits into a record.
const maxItems = 300

// A shelved is an entry of a shelf: records that were put together.
type shelved struct {
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
func (s Shelf) listKind() string { return s.Kind + "_list" }

const listID = "list"

// Put stores the records of one entry, all or none, and removes the oldest entries of the account to make room. They
// are of one account and of the kind of the shelf, and have the ids of [PartID]; an entry of one part replaces the one
// with the same id. An entry larger than the shelf is refused with a *[FieldError]. The error is ErrVersion like that
// of PutRecords.
func (s Shelf) Put(ctx context.Context, records ...Record) error {
	added := shelved{ID: records[0].ID, Parts: len(records), At: records[0].At.Unix()}
	for _, r := range records {
		added.Bytes += int64(len(r.Body))
	}
	if added.Bytes > s.Bytes {
		return &FieldError{Field: "body", Reason: fmt.Sprintf("has more than the %d bytes that an account may keep", s.Bytes)}
	}
	account := records[0].Account
	for range versionTries {
		list, has, err := s.list(ctx, account)
		if err != nil {
			return err
		}
		has = slices.DeleteFunc(has, func(i shelved) bool { return i.ID == added.ID }) // which it replaces
		if has, err = s.makeRoom(ctx, account, has, added); err != nil {
			return err
		}
		if list.Body, err = json.Marshal(append(has, added)); err != nil {
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
func (s Shelf) list(ctx context.Context, account AccountID) (r Record, has []shelved, err error) {
	r, err = s.Store.Record(ctx, account, s.listKind(), listID)
	if errors.Is(err, ErrNotFound) {
		return Record{Account: account, Kind: s.listKind(), ID: listID, At: time.Unix(0, 0).UTC()}, nil, nil
	}
	if err == nil {
		err = json.Unmarshal(r.Body, &has)
	}
	return r, has, err
}

// makeRoom removes the oldest entries until the added one fits, and returns the rest.
func (s Shelf) makeRoom(ctx context.Context, account AccountID, has []shelved, added shelved) ([]shelved, error) {
	if s.Age > 0 {
		has = slices.DeleteFunc(has, func(i shelved) bool { return time.Duration(added.At-i.At)*time.Second >= s.Age })
	}
	sum := added.Bytes
	for _, i := range has {
		sum += i.Bytes
	}
	for len(has) > 0 && (sum > s.Bytes || len(has) >= maxItems) {
		if err := s.remove(ctx, account, has[0]); err != nil {
			return nil, err
		}
		sum -= has[0].Bytes
		has = has[1:]
	}
	return has, nil
}

// remove removes the records of a thing, as far as they are still there.
func (s Shelf) remove(ctx context.Context, account AccountID, thing shelved) error {
	var old []Record
	for part := range thing.Parts {
		r, err := s.Store.Record(ctx, account, s.Kind, PartID(thing.ID, part))
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
