package dashboard

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
)

// The dashboard keeps results temporarily in records whose ID is the SHA-256 of a token, which no store holds: it is
// in the address of the page, or is derived from the secret of the session (secretToken).
const (
	resultKind     = "kept" // a result, or a text that is shown once, for resultLifetime
	resultLifetime = 24 * time.Hour
	// maxRunTime bounds a run that a page waits for: the longest operation takes 45 seconds.
	maxRunTime = time.Minute

	// maxResultParts bounds the records of a result, of metering.MaxRecordBytes each.
	maxResultParts = 32
	resultPartSize = metering.MaxRecordBytes - 1
	// maxUnpackedBytes bounds a result in memory.
	maxUnpackedBytes = 64 << 20
)

// maxResultBytes bounds the results of an account, in bytes of the store: of more, the oldest go.
var maxResultBytes = budget.Of(budget.Results).Account

// tokenID returns the ID of the record that belongs to a token; ok is false if the text is not a token.
func tokenID(token string) (id string, ok bool) {
	bits, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(bits) != sha256.Size {
		return "", false
	}
	hash := sha256.Sum256(bits)
	return hex.EncodeToString(hash[:]), true
}

// errRunning means that a result is not available yet.
var errRunning = errors.New("the result is being made")

// claimToken takes a token for one run. It returns false if another request has taken it: a form that is sent twice
// runs once.
func (d *dashboard) claimToken(ctx context.Context, account metering.AccountID, token string) (bool, error) {
	id, ok := tokenID(token)
	if !ok {
		return false, metering.ErrNotFound
	}
	now := d.now()
	d.deleteExpired(ctx, resultKind, now.Add(-resultLifetime))
	err := d.Store.PutRecords(ctx, metering.Record{
		Account: account, Kind: resultKind, ID: id, At: now, Body: []byte{0},
	})
	if errors.Is(err, metering.ErrVersion) {
		return false, nil
	}
	return err == nil, err
}

// storeResult stores the result of a claimed token, sealed with it: a reader of the store cannot decrypt a request or
// its reply, which may be a message or a password. It reports whether the result fits.
func (d *dashboard) storeResult(
	ctx context.Context, account metering.AccountID, token string, value any,
) (bool, error) {
	return d.replaceResult(ctx, account, token, 1, value)
}

// replaceResult is storeResult over a version of the record; 0 for none.
func (d *dashboard) replaceResult(
	ctx context.Context, account metering.AccountID, token string, version int64, value any,
) (bool, error) {
	text, err := pack(value)
	if err != nil {
		return false, err
	}
	seal, err := newSeal(token)
	if err != nil {
		return false, err
	}
	parts := slices.Collect(slices.Chunk(seal.Seal(nil, nil, text, nil), resultPartSize))
	if len(parts) > maxResultParts {
		return false, nil
	}
	id, _ := tokenID(token)
	now := d.now()
	records := make([]metering.Record, len(parts))
	for i, part := range parts {
		records[i] = metering.Record{Account: account, Kind: resultKind, ID: metering.PartID(id, i), At: now, Body: part}
	}
	records[0].Version, records[0].Body = version, append([]byte{byte(len(parts))}, parts[0]...)
	cache := metering.RecordCache{Store: d.Store, Kind: resultKind, Bytes: maxResultBytes, Age: resultLifetime}
	return true, cache.Put(ctx, records...)
}

// loadResult reads a result. The error is [metering.ErrNotFound] for a foreign or forgotten token, or [errRunning].
func (d *dashboard) loadResult(ctx context.Context, account metering.AccountID, token string, result any) error {
	id, ok := tokenID(token)
	if !ok {
		return metering.ErrNotFound
	}
	first, err := d.Store.Record(ctx, account, resultKind, id)
	switch {
	case err != nil:
		return err
	case d.now().Sub(first.At) >= resultLifetime:
		return metering.ErrNotFound
	case first.Body[0] == 0 && d.now().Sub(first.At) < maxRunTime:
		return errRunning
	case first.Body[0] == 0:
		return metering.ErrNotFound // the server that ran it has died
	}
	sealed := first.Body[1:]
	for i := 1; i < int(first.Body[0]); i++ {
		part, err := d.Store.Record(ctx, account, resultKind, metering.PartID(id, i))
		if err != nil {
			return err
		}
		sealed = append(sealed, part.Body...)
	}
	seal, err := newSeal(token)
	if err != nil {
		return err
	}
	text, err := seal.Open(nil, nil, sealed, nil)
	if err != nil {
		return fmt.Errorf("opening a kept result: %w", err)
	}
	return unpack(text, result)
}

// pack is a value as compressed JSON.
func pack(value any) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if err := errors.Join(json.NewEncoder(w).Encode(value), w.Close()); err != nil {
		return nil, fmt.Errorf("packing a result: %w", err)
	}
	return b.Bytes(), nil
}

func unpack(data []byte, value any) error {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		err = json.NewDecoder(io.LimitReader(r, maxUnpackedBytes)).Decode(value)
	}
	if err != nil {
		return fmt.Errorf("unpacking a result: %w", err)
	}
	return nil
}

// newSeal is AES-256-GCM, with a random nonce, under a key that only the token tells.
func newSeal(token string) (cipher.AEAD, error) {
	key := sha256.Sum256([]byte("diagkit dashboard result\n" + token))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// maxDeleted bounds how many records one request removes.
const maxDeleted = 64

// deleteExpired removes records of a kind that are older than they are kept. Who makes one removes old ones, so that
// they never pile up; that it fails is left to the next.
func (d *dashboard) deleteExpired(ctx context.Context, kind string, before time.Time) {
	if d.Doubt == nil || d.Doubt() == nil {
		_, _ = metering.RemoveRecords(ctx, d.Store, metering.RecordFilter{Kind: kind, Before: before, Limit: maxDeleted})
	}
}
