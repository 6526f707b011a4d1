package metering

import (
	"context"
	"errors"
	"time"
)

// CountGuard returns a record that a writer stores with what it adds, after counting what an account has of a kind: of
// two writers that counted the same, one gets [ErrVersion] from PutRecords, and must count again. It is read before the
// count.
//
//	turn, err := metering.CountGuard(ctx, store, account, "channel")
//	// count the channels of the account, and refuse one too many
//	err = store.PutRecords(ctx, channel, turn)
func CountGuard(ctx context.Context, store Records, account AccountID, kind string) (Record, error) {
	const id = "turn"
	r, err := store.Record(ctx, account, kind+"_turn", id)
	if errors.Is(err, ErrNotFound) {
		return Record{Account: account, Kind: kind + "_turn", ID: id, At: time.Unix(0, 0).UTC(), Body: []byte{'-'}}, nil
	}
	return r, err
}
