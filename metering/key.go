package metering

import (
	"net/netip"
	"slices"
	"time"
)

// Environment labels a key. Both environments reach the same endpoints at the same prices.
type Environment string

// The environments.
const (
	Live Environment = "live"
	Test Environment = "test"
)

// A Scope is a permission that a key carries. No scope implies another.
type Scope string

// The scopes.
const (
	DNSRead   Scope = "dns:read"
	MailRead  Scope = "mail:read"
	MailWrite Scope = "mail:write"
	WebRead   Scope = "web:read"
)

// KeyState is what may be done with a key at an instant.
type KeyState string

// The states of a key.
const (
	keyActive   KeyState = "active"
	KeyRotating KeyState = "rotating" // replaced, and still good until GraceUntil
	KeyRevoked  KeyState = "revoked"
	keyExpired  KeyState = "expired"
)

// RevokedReason says why a key no longer works.
type RevokedReason string

// The reasons of a revocation.
const (
	RevokedManual   RevokedReason = "manual"
	revokedRotation RevokedReason = "rotation"
	RevokedLeak     RevokedReason = "leak"
)

// A Key is an API key as the store knows it: never the secret itself, only its SHA-256 and the first characters.
type Key struct {
	ID            KeyID
	Version       int64 // 0 for a key that was never stored
	Account       AccountID
	Name          string // 1 to 64 characters
	Environment   Environment
	Scopes        []Scope // fixed at creation
	Hash          [32]byte
	DisplayPrefix string // environment and first 8 characters of the secret
	IPAllowlist   []netip.Prefix
	CreatedAt     time.Time
	ExpiresAt     *time.Time
	RevokedAt     *time.Time
	RevokedReason RevokedReason // of RevokedAt, or "rotation" from GraceUntil on
	RotatedFrom   KeyID
	RotatedTo     KeyID
	GraceUntil    *time.Time
	LastUsedAt    *time.Time // kept by Settle; a write of the key does not change it
}

// Clone returns a copy that shares nothing with the key.
func (k Key) Clone() Key {
	k.Scopes, k.IPAllowlist = slices.Clone(k.Scopes), slices.Clone(k.IPAllowlist)
	for _, t := range []**time.Time{&k.ExpiresAt, &k.RevokedAt, &k.GraceUntil, &k.LastUsedAt} {
		*t = clone(*t)
	}
	return k
}

// State returns what the key is at an instant. Revoked beats expired.
func (k Key) State(now time.Time) KeyState {
	switch {
	case k.RevokedAt != nil && !now.Before(*k.RevokedAt):
		return KeyRevoked
	case k.GraceUntil != nil && !now.Before(*k.GraceUntil):
		return KeyRevoked
	case k.ExpiresAt != nil && !now.Before(*k.ExpiresAt):
		return keyExpired
	case k.GraceUntil != nil:
		return KeyRotating
	default:
		return keyActive
	}
}
