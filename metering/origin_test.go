package metering

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// keyReads counts the reads of single keys.
type keyReads struct {
	generational
	reads int
}

func (s *keyReads) Key(ctx context.Context, id KeyID) (Key, error) {
	s.reads++
	return s.generational.Key(ctx, id)
}

func originGate(t testing.TB, h *house) (*Gate, *keyReads) {
	store := &keyReads{generational: generational{h.fakeStore}}
	g, err := NewGate(context.Background(), GateConfig{Store: store})
	noError(t, err)
	t.Cleanup(g.Close)
	return g, store
}

// All keys of a line have one origin, and each rotation is read once.
func TestOrigin(t *testing.T) {
	h := newHouse(t, "pack", nil)
	g, store := originGate(t, h)
	other := newHouse(t, "pack", nil)
	key := h.key
	for n := range 5 {
		for range 2 {
			first, err := g.Origin(t.Context(), key)
			noError(t, err)
			equal(t, h.key.ID, first, n)
		}
		equal(t, n, store.reads)
		old, next, _, err := h.admin.RotateKey(t.Context(), key.ID, time.Hour)
		noError(t, err)
		first, err := g.Origin(t.Context(), old)
		noError(t, err)
		equal(t, h.key.ID, first, "the old key in its grace")
		key = next
	}
	first, err := g.Origin(t.Context(), other.key)
	noError(t, err)
	equal(t, other.key.ID, first)

	cold, coldStore := originGate(t, h)
	first, err = cold.Origin(t.Context(), key)
	noError(t, err)
	equal(t, h.key.ID, first)
	equal(t, 5, coldStore.reads)

	first, err = h.admin.Origin(t.Context(), key.ID)
	noError(t, err)
	equal(t, h.key.ID, first)
	_, err = h.admin.Origin(t.Context(), other.key.ID)
	isTrue(t, errors.Is(err, ErrNotFound))
}

// A line that cannot be followed to its end names no owner.
func TestOriginFaults(t *testing.T) {
	for _, test := range []struct {
		name   string
		damage func(h *house, key *Key)
		want   string
	}{
		{"a missing key", func(_ *house, key *Key) { key.RotatedFrom = "key_gone" }, "reading key key_gone: not found"},
		{"a circle", func(h *house, key *Key) {
			h.keys["key_a"] = Key{ID: "key_a", Account: key.Account, RotatedFrom: "key_b"}
			h.keys["key_b"] = Key{ID: "key_b", Account: key.Account, RotatedFrom: "key_a"}
			key.RotatedFrom = "key_a"
		}, "more than 4096 rotations"},
		{"another account", func(h *house, key *Key) {
			h.keys["key_a"] = Key{ID: "key_a", Account: "acc_other"}
			key.RotatedFrom = "key_a"
		}, "belongs to another account"},
		{"the store fails", func(h *house, key *Key) {
			key.RotatedFrom, h.fault = key.ID, errors.New("disk on fire")
		}, "disk on fire"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHouse(t, "pack", nil)
			g, _ := originGate(t, h)
			key := h.key
			test.damage(h, &key)
			for range 2 { // a fault is not remembered
				first, err := g.Origin(t.Context(), key)
				equal(t, "", first)
				contains(t, fmt.Sprint(err), test.want)
			}
		})
	}
}

// That a line is remembered gives it to no other account.
func TestOriginOfAnotherAccount(t *testing.T) {
	h := newHouse(t, "pack", nil)
	g, _ := originGate(t, h)
	_, next, _, err := h.admin.RotateKey(t.Context(), h.key.ID, time.Hour)
	noError(t, err)
	_, err = g.Origin(t.Context(), next)
	noError(t, err)
	next.Account = "acc_other"
	first, err := g.Origin(t.Context(), next)
	equal(t, "", first)
	contains(t, fmt.Sprint(err), "belongs to another account")
}

// However many lines there are, what is remembered of them is bounded.
func TestOriginsAreBounded(t *testing.T) {
	var o origins
	for n := range maxOrigins + 10 {
		id := KeyID(fmt.Sprint("key_", n))
		o.add(lineKey{"acc_a", id}, "key_first")
		first, ok := o.find(lineKey{"acc_a", id})
		isTrue(t, ok)
		equal(t, "key_first", first)
		isTrue(t, len(o.first) <= maxOrigins)
	}
}
