package metering

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
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

// KeyState is the state of a key at an instant.
type KeyState string

// The states of a key.
const (
	KeyActive   KeyState = "active"
	KeyRotating KeyState = "rotating" // replaced, and still good until GraceUntil
	KeyRevoked  KeyState = "revoked"
	KeyExpired  KeyState = "expired"
)

// KeyStates returns all states: those of keys that work first.
func KeyStates() []KeyState { return []KeyState{KeyActive, KeyRotating, KeyExpired, KeyRevoked} }

// RevokedReason is the reason why a key was revoked.
type RevokedReason string

// The reasons of a revocation.
const (
	RevokedManual   RevokedReason = "manual"
	RevokedRotation RevokedReason = "rotation"
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

// MaxKeyIDs bounds how many keys a [KeyFilter] may name: more than a page shows, and what every database binds.
const MaxKeyIDs = 1000

// KeyFilter selects keys of an account; other zero fields select all.
type KeyFilter struct {
	Account AccountID  // required
	IDs     []KeyID    // only these, at most MaxKeyIDs
	Text    string     // only keys whose name, id or DisplayPrefix contains this, in which A to Z are as good as a to z
	States  []KeyState // only keys in one of these states
	At      time.Time  // the instant of the states, which must be set where they matter
	Newest  bool       // the other way round: the newest first
	Offset  int        // without so many of the first
	Limit   int        // at most so many; 0 means all
}

// Check reports a filter that no store can apply.
func (f *KeyFilter) Check() error {
	switch {
	case f.Account == "":
		return errors.New("listing keys: the filter names no account")
	case len(f.IDs) > MaxKeyIDs:
		return fmt.Errorf("listing keys: %d ids are more than %d", len(f.IDs), MaxKeyIDs)
	}
	return nil
}

// Selects reports whether the filter selects a key, apart from Offset and Limit.
func (f *KeyFilter) Selects(k *Key) bool {
	text := lowerASCII(f.Text)
	contains := func(part string) bool { return strings.Contains(lowerASCII(part), text) }
	return k.Account == f.Account && (len(f.IDs) == 0 || slices.Contains(f.IDs, k.ID)) &&
		(contains(k.Name) || contains(string(k.ID)) || contains(k.DisplayPrefix)) &&
		(len(f.States) == 0 || slices.Contains(f.States, k.State(f.At)))
}

// lowerASCII writes A to Z as a to z, and nothing else: that every database does alike.
func lowerASCII(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, text)
}

// State returns the state of the key at an instant. Revoked beats expired.
func (k Key) State(now time.Time) KeyState {
	switch {
	case k.RevokedAt != nil && !now.Before(*k.RevokedAt):
		return KeyRevoked
	case k.GraceUntil != nil && !now.Before(*k.GraceUntil):
		return KeyRevoked
	case k.ExpiresAt != nil && !now.Before(*k.ExpiresAt):
		return KeyExpired
	case k.GraceUntil != nil:
		return KeyRotating
	default:
		return KeyActive
	}
}
