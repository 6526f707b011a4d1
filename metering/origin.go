package metering

import (
	"context"
	"fmt"
	"sync"
)

const (
	// maxRotations bounds the line of a key: daily rotations of ten years are fewer.
	maxRotations = 4096
	// maxOrigins bounds what is remembered of lines. Each takes about a hundred bytes.
	maxOrigins = 16384
)

// origins caches the first key of lines of rotations. A line never changes: a key is made from at most one other,
// permanently.
type origins struct {
	mu    sync.RWMutex
	first map[lineKey]KeyID
}

// lineKey is a key of a line, all of whose keys belong to one account.
type lineKey struct {
	account AccountID
	key     KeyID
}

func (o *origins) find(m lineKey) (KeyID, bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	first, ok := o.first[m]
	return first, ok
}

func (o *origins) add(k lineKey, first KeyID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.first == nil || len(o.first) >= maxOrigins { // rare, and read again at the cost of a few rows
		o.first = make(map[lineKey]KeyID)
	}
	o.first[k] = first
}

// Origin returns the id of the first key in the line of rotations that led to a key; for a key that is not a rotation,
// its own. What belongs to a key for longer than one secret lives is kept under that id, so that it stays with the
// key's successors, and with the old key for as long as its grace lasts.
//
// The error is the store's or the context's, or says that a key of the line is missing or belongs to
// another account, or that the line does not end within 4096 rotations.
func (g *Gate) Origin(ctx context.Context, key Key) (KeyID, error) {
	first, err := origin(ctx, g.store, key, g.cache.origins.find)
	if err == nil && key.RotatedFrom != "" {
		g.cache.origins.add(lineKey{key.Account, key.RotatedFrom}, first)
	}
	return first, err
}

// Origin is [Gate.Origin] for a key by its id. It remembers nothing. The error is ErrNotFound where
// there is no such key.
func (a Admin) Origin(ctx context.Context, id KeyID) (KeyID, error) {
	key, err := a.store().Key(ctx, id)
	if err != nil {
		return "", fmt.Errorf("finding the first key of %s: %w", id, err)
	}
	return origin(ctx, a.store(), key, func(lineKey) (KeyID, bool) { return "", false })
}

// origin walks a line back to its first key, or to the first one that is known.
func origin(ctx context.Context, keys Keys, key Key, known func(lineKey) (KeyID, bool)) (KeyID, error) {
	first := key.ID
	for before, n := key.RotatedFrom, 0; before != ""; n++ {
		if id, ok := known(lineKey{key.Account, before}); ok {
			return id, nil
		}
		if n == maxRotations {
			return "", fmt.Errorf("finding the first key of %s: the line has more than %d rotations", key.ID, n)
		}
		k, err := keys.Key(ctx, before)
		if err != nil {
			return "", fmt.Errorf("finding the first key of %s: reading key %s: %w", key.ID, before, err)
		}
		if k.Account != key.Account {
			return "", fmt.Errorf("finding the first key of %s: key %s belongs to another account", key.ID, before)
		}
		first, before = k.ID, k.RotatedFrom
	}
	return first, nil
}
