package metering

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// deprecatedKind is the kind of the records that mark keys with deprecated use.
const deprecatedKind = "deprecated_use"

// A DeprecatedUse records that a key has used something deprecated (CONTRACT 1.12).
type DeprecatedUse struct {
	Endpoint string    `json:"endpoint"`
	What     string    `json:"what"` // the scope by which it was admitted, or "operation" for the endpoint itself
	At       time.Time `json:"at"`   // when that was first noticed
}

// MarkDeprecatedUse notes the first deprecated use of a key, in one transaction with other records, such as the event
// that reports it. It reports whether it is the first.
func MarkDeprecatedUse(
	ctx context.Context, store Records, account AccountID, key KeyID, use DeprecatedUse, others ...Record,
) (first bool, err error) {
	err = store.PutRecords(ctx, append(others, Record{
		Account: account, Kind: deprecatedKind, ID: string(key), At: use.At, Body: RecordBody(use),
	})...)
	if errors.Is(err, ErrVersion) {
		return false, nil
	}
	return err == nil, err
}

// DeprecatedUseOf returns the first deprecated use of a key, or nil.
func DeprecatedUseOf(ctx context.Context, store Records, account AccountID, key KeyID) (*DeprecatedUse, error) {
	r, err := store.Record(ctx, account, deprecatedKind, string(key))
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	use := &DeprecatedUse{}
	if err := json.Unmarshal(r.Body, use); err != nil {
		return nil, fmt.Errorf("reading the deprecated use of key %s: %w", key, err)
	}
	return use, nil
}
