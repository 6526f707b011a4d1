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
// in the address of the page, or is derived from the secret of the session (tokenOf).
const (
	keptKind = "kept" // a result, or a text that is shown once, for keptFor
	keptFor  = 24 * time.Hour
	// maxRun bounds a run that a page waits for: the longest operation takes 45 seconds.
	maxRun = time.Minute

	// maxParts bounds the records of a result, of metering.MaxRecordBytes each.
	maxParts = 32
	partSize = metering.MaxRecordBytes - 1
	// maxKept bounds a result in memory.
	maxKept = 64 << 20
)

// maxResults bounds the results of an account, in bytes of the store: of more, the oldest go.
var maxResults = budget.Of(budget.Results).Account

// idOf returns the ID of the record that belongs to a token; ok is false if the text is not a token.
func idOf(token string) (id string, ok bool) {
	bits, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(bits) != sha256.Size {
		return "", false
	}
	hash := sha256.Sum256(bits)
	return hex.EncodeToString(hash[:]), true
}

// errRunning means that a result is not available yet.
var errRunning = errors.New("the result is being made")

// claim takes a token for one run. It returns false if another request has taken it: a form that is sent twice runs
// once.
func (d *dashboard) claim(ctx context.Context, account metering.AccountID, token string) (bool, error) {
	id, ok := idOf(token)
	if !ok {
		return false, metering.ErrNotFound
	}
	now := d.now()
	d.forget(ctx, keptKind, now.Add(-keptFor))
	err := d.Store.PutRecords(ctx, metering.Record{
		Account: account, Kind: keptKind, ID: id, At: now, Body: []byte{0},
	})
	if errors.Is(err, metering.ErrVersion) {
		return false, nil
	}
	return err == nil, err
}

// keep stores the result of a claimed token, sealed with it: a reader of the store cannot decrypt a request or its
// reply, which may be a message or a password. It reports whether the result fits.
func (d *dashboard) keep(ctx context.Context, account metering.AccountID, token string, value any) (bool, error) {
	return d.keepOver(ctx, account, token, 1, value)
}

// keepOver is keep over a version of the record; 0 for none.
func (d *dashboard) keepOver(
	ctx context.Context, account metering.AccountID, token string, version int64, value any,
) (bool, error) {
	text, err := packed(value)
	if err != nil {
		return false, err
	}
	seal, err := sealOf(token)
	if err != nil {
		return false, err
	}
	parts := slices.Collect(slices.Chunk(seal.Seal(nil, nil, text, nil), partSize))
	if len(parts) > maxParts {
		return false, nil
	}
	id, _ := idOf(token)
	now := d.now()
	records := make([]metering.Record, len(parts))
	for i, part := range parts {
		records[i] = metering.Record{Account: account, Kind: keptKind, ID: metering.PartID(id, i), At: now, Body: part}
	}
	records[0].Version, records[0].Body = version, append([]byte{byte(len(parts))}, parts[0]...)
	return true, metering.Shelf{Store: d.Store, Kind: keptKind, Bytes: maxResults, Age: keptFor}.Put(ctx, records...)
}

// kept reads a result. The error is [metering.ErrNotFound] for a foreign or forgotten token, or [errRunning].
func (d *dashboard) kept(ctx context.Context, account metering.AccountID, token string, into any) error {
	id, ok := idOf(token)
	if !ok {
		return metering.ErrNotFound
	}
	first, err := d.Store.Record(ctx, account, keptKind, id)
	switch {
	case err != nil:
		return err
	case d.now().Sub(first.At) >= keptFor:
		return metering.ErrNotFound
	case first.Body[0] == 0 && d.now().Sub(first.At) < maxRun:
		return errRunning
	case first.Body[0] == 0:
		return metering.ErrNotFound // the server that ran it has died
	}
	sealed := first.Body[1:]
	for i := 1; i < int(first.Body[0]); i++ {
		part, err := d.Store.Record(ctx, account, keptKind, metering.PartID(id, i))
		if err != nil {
			return err
		}
		sealed = append(sealed, part.Body...)
	}
	seal, err := sealOf(token)
	if err != nil {
		return err
	}
	text, err := seal.Open(nil, nil, sealed, nil)
	if err != nil {
		return fmt.Errorf("opening a kept result: %w", err)
	}
	return unpack(text, into)
}

// packed is a value as compressed JSON.
func packed(value any) ([]byte, error) {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	if err := errors.Join(json.NewEncoder(zip).Encode(value), zip.Close()); err != nil {
		return nil, fmt.Errorf("packing a result: %w", err)
	}
	return b.Bytes(), nil
}

func unpack(data []byte, into any) error {
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		err = json.NewDecoder(io.LimitReader(zip, maxKept)).Decode(into)
	}
	if err != nil {
		return fmt.Errorf("unpacking a result: %w", err)
	}
	return nil
}

// sealOf is AES-256-GCM, with a random nonce, under a key that only the token tells.
func sealOf(token string) (cipher.AEAD, error) {
	key := sha256.Sum256([]byte("diagkit dashboard result\n" + token))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// maxForgotten bounds how many records one request removes.
const maxForgotten = 64

// forget removes records of a kind that are older than they are kept. Who makes one removes old ones, so that they
// never pile up; that it fails is left to the next.
func (d *dashboard) forget(ctx context.Context, kind string, before time.Time) {
	if d.Doubt == nil || d.Doubt() == nil {
		_, _ = metering.Forget(ctx, d.Store, metering.RecordFilter{Kind: kind, Before: before, Limit: maxForgotten})
	}
}
