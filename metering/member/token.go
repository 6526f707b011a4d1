package member

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"

	"github.com/diagkit/diagkit/metering"
)

// NewToken draws 256 random bits.
func NewToken() string {
	bits := make([]byte, sha256.Size)
	_, _ = rand.Read(bits) // never fails
	return base64.RawURLEncoding.EncodeToString(bits)
}

func tokenID(token string) string {
	hash := sha256.Sum256([]byte(token))
	return hex.EncodeToString(hash[:])
}

// byToken returns the record of a token in any account.
func (m Members) byToken(ctx context.Context, kind, token string) (Session, error) {
	f := metering.RecordFilter{Kind: kind, ID: tokenID(token), Limit: 1}
	for s, err := range metering.ParseRecords(m.Store.Records(ctx, f), parseSession) {
		return s, err
	}
	return Session{}, metering.ErrNotFound
}

func parseSession(r metering.Record) (s Session, err error) {
	err = read(r, &s)
	s.ID, s.Account, s.Began, s.record = r.ID, r.Account, r.At, r
	return s, err
}
