package metering

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// admit makes one request with the key of the house, now.
func (h *house) admit(t *testing.T, g *Gate) (*Caller, error) {
	t.Helper()
	return g.Admit(t.Context(), h.secret.Reveal(), client, time.Now())
}

// Changes through the gate's own store take effect for the very next request, with a store that counts its changes and
// with one that does not. Watch reports nothing in this test.
func TestChangesHoldForTheNextRequest(t *testing.T) {
	for name, counted := range map[string]bool{"generational": true, "plain": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, "free", nil)
				h.admin.Clock = time.Now
				g := h.gate(t, counted)
				time.Sleep(time.Minute) // Watch has settled: whatever is in memory is trusted
				_, err := h.admit(t, g)
				noError(t, err)

				_, err = h.admin.SetAccount(t.Context(), h.account.ID, func(a *Account) { a.Plan = "agency" })
				noError(t, err)
				c, err := h.admit(t, g)
				noError(t, err)
				equal(t, 600, c.Rate.Limit)
				equal(t, 600-2, c.Rate.Remaining, "the bucket is still the same")

				_, _, second, err := h.admin.RotateKey(t.Context(), h.key.ID, time.Hour)
				noError(t, err)
				c, err = h.admit(t, g)
				noError(t, err)
				equal(t, KeyRotating, c.Key.State(time.Now()))
				_, err = g.Admit(t.Context(), second.Reveal(), client, time.Now())
				noError(t, err)
				time.Sleep(time.Hour - 1)
				_, err = h.admit(t, g)
				noError(t, err)
				time.Sleep(time.Nanosecond)
				_, err = h.admit(t, g)
				refused(t, err, RevokedKey, "the grace has ended")

				_, err = h.admin.RevokeKey(t.Context(), c.Key.RotatedTo, RevokedManual)
				noError(t, err)
				_, err = g.Admit(t.Context(), second.Reveal(), client, time.Now())
				refused(t, err, RevokedKey)
				g.Close()
			})
		})
	}
}

// A request that arrives after a change must not join a read that began before it.
func TestRequestsDoNotJoinOlderReads(t *testing.T) {
	for name, counted := range map[string]bool{"generational": true, "plain": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, "pack", nil)
				g := h.gate(t, counted)
				held := make(chan struct{})
				h.reading = func(context.Context) error { <-held; return nil }
				done := make(chan error)
				go func() {
					_, err := h.admit(t, g) // has read the key, and hangs
					done <- err
				}()
				synctest.Wait()
				h.mu.Lock()
				h.reading = nil
				h.mu.Unlock()
				_, err := h.admin.RevokeKey(t.Context(), h.key.ID, "")
				noError(t, err)
				_, err = h.admit(t, g)
				refused(t, err, RevokedKey)
				close(held)
				noError(t, <-done, "it was admitted before the key was revoked")
				_, err = h.admit(t, g)
				refused(t, err, RevokedKey, "the older read must not replace the newer")
				g.Close()
			})
		})
	}
}

// change writes a key as another process would: without the gate's store knowing.
func (h *house) changeElsewhere(edit func(*Key)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.keys[h.key.ID]
	edit(&k)
	h.keys[h.key.ID] = k
}

func revokeNow(k *Key) { k.RevokedAt = new(time.Now()) }

func TestWatchTellsOfOtherProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "free", nil)
		g := h.gate(t, true)
		time.Sleep(time.Hour)
		_, err := h.admit(t, g)
		noError(t, err)

		h.mu.Lock()
		h.accounts[h.account.ID] = Account{ID: h.account.ID, Plan: "agency"}
		h.mu.Unlock()
		c, err := h.admit(t, g)
		noError(t, err)
		equal(t, 10, c.Rate.Limit, "nobody has told")
		h.changes <- Change{Seq: 1, Account: h.account.ID}
		synctest.Wait()
		c, err = h.admit(t, g)
		noError(t, err)
		equal(t, 600, c.Rate.Limit)

		h.changeElsewhere(revokeNow)
		h.changes <- Change{Seq: 2, Key: "key_of_another"}
		synctest.Wait()
		reads := h.reads.Load()
		_, err = h.admit(t, g)
		noError(t, err)
		equal(t, reads, h.reads.Load(), "another key's change does not concern this one")
		h.changes <- Change{Seq: 3, Key: h.key.ID}
		synctest.Wait()
		_, err = h.admit(t, g)
		refused(t, err, RevokedKey)
		g.Close()
	})
}

// Watch reports a change while the key is being read: the result may be from before the change.
func TestWatchDuringARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "pack", nil)
		g := h.gate(t, true)
		time.Sleep(time.Hour)
		held := make(chan struct{})
		h.reading = func(context.Context) error { <-held; return nil }
		done := make(chan error)
		go func() {
			_, err := h.admit(t, g)
			done <- err
		}()
		synctest.Wait()
		h.changeElsewhere(revokeNow)
		h.changes <- Change{Seq: 1, Key: h.key.ID}
		synctest.Wait()
		close(held)
		noError(t, <-done)
		_, err := h.admit(t, g)
		refused(t, err, RevokedKey)
		g.Close()
	})
}

// While Watch is broken, nothing is trusted for longer than a second.
func TestWatchBreaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "agency", nil)
		g := h.gate(t, true)
		time.Sleep(time.Hour)
		_, err := h.admit(t, g)
		noError(t, err)
		for range 10 { // it breaks before it ever settles again
			h.broken <- errors.New("connection reset")
			synctest.Wait()
			h.changeElsewhere(revokeNow)
			time.Sleep(unwatchedTrust)
			_, err = h.admit(t, g)
			refused(t, err, RevokedKey, "it must hold within two seconds")
			h.changeElsewhere(func(k *Key) { k.RevokedAt = nil })
			time.Sleep(unwatchedTrust / 4)
		}
		g.Close()
	})
}

// A change between the end of one Watch and the time at which the next has settled is not missed.
func TestWatchIsTakenUpAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "agency", nil)
		g := h.gate(t, true)
		time.Sleep(time.Hour)
		h.broken <- errors.New("connection reset")
		synctest.Wait()
		time.Sleep(watchRetry + watchSettle - 1)
		_, err := h.admit(t, g)
		noError(t, err)
		isTrue(t, !g.cache.watching.Load())
		h.changeElsewhere(revokeNow)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		isTrue(t, g.cache.watching.Load())
		equal(t, 2, h.watches.Load())
		_, err = h.admit(t, g)
		refused(t, err, RevokedKey)
		g.Close()
	})
}

// A Watch that ends again and again never counts as working.
func TestWatchNeverSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "pack", nil)
		g := h.gate(t, true)
		for i := range 20 {
			time.Sleep(watchSettle - 1)
			h.broken <- []error{ErrClosed, nil}[i%2] // with an error, and without a word
			synctest.Wait()
			isTrue(t, !g.cache.watching.Load())
			time.Sleep(watchRetry)
			synctest.Wait()
		}
		g.Close()
	})
}

func TestReadsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "agency", nil)
		g := h.gate(t, true)
		h.reading = func(context.Context) error { time.Sleep(time.Second); return nil }
		errs := make(chan error, 100)
		for range cap(errs) {
			go func() {
				_, err := h.admit(t, g)
				errs <- err
			}()
		}
		for range cap(errs) {
			noError(t, <-errs)
		}
		equal(t, 1, h.reads.Load())
		g.Close()
	})
}

// The request that performs a shared read is cancelled: the others must not fail with it.
func TestReaderGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "agency", nil)
		g := h.gate(t, true)
		h.reading = func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Second):
				return nil
			}
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		request := func(ctx context.Context, n int) chan error {
			errs := make(chan error, n)
			for range n {
				go func() {
					_, err := g.Admit(ctx, h.secret.Reveal(), client, time.Now())
					errs <- err
				}()
			}
			synctest.Wait()
			return errs
		}
		reader, patient, waiter := request(impatient, 1), request(t.Context(), 10), request(impatient, 1)
		errorIs(t, <-reader, context.DeadlineExceeded)
		errorIs(t, <-waiter, context.DeadlineExceeded, "one that waits may go as well")
		for range cap(patient) {
			noError(t, <-patient)
		}
		equal(t, 2, h.reads.Load())
		g.Close()
	})
}

// A store that panics must not leave later requests waiting.
func TestReadPanics(t *testing.T) {
	h := newHouse(t, "agency", nil)
	g := h.gate(t, true)
	h.reading = func(context.Context) error { panic("a bug") }
	func() {
		defer func() { equal[any](t, "a bug", recover()) }()
		_, _ = h.admit(t, g)
	}()
	h.reading = nil
	_, err := h.admit(t, g)
	noError(t, err)
}

func TestKeyVanishesAndReturns(t *testing.T) {
	h := newHouse(t, "free", nil)
	g := h.gate(t, true)
	c, err := h.admit(t, g)
	noError(t, err)
	equal(t, 9, c.Rate.Remaining)
	delete(h.keys, h.key.ID)
	h.counter.Add(1)
	_, err = h.admit(t, g)
	refused(t, err, InvalidKey)
	h.keys[h.key.ID] = h.key
	c, err = h.admit(t, g)
	noError(t, err)
	equal(t, 8, c.Rate.Remaining, "its bucket was kept")
}

// Well-formed but unknown secrets leave no trace.
func TestGuessingDoesNotGrowMemory(t *testing.T) {
	h := newHouse(t, "pack", nil)
	g := h.gate(t, true)
	guess := func(n int) {
		for range n {
			s, err := NewSecret(Live, nil)
			noError(t, err)
			_, err = g.Admit(t.Context(), s.Reveal(), client, h.now)
			refused(t, err, InvalidKey)
		}
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	guess(1000)
	before := heap()
	guess(20_000)
	grown := heap() - before
	isTrue(t, grown < 100_000, "%d bytes for 20000 guesses", grown)
	equal(t, 0, len(g.cache.byKey))
}

func TestGateEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "pack", nil)
		ctx, cancel := context.WithCancel(t.Context())
		g, err := NewGate(ctx, GateConfig{Store: generational{h.fakeStore}})
		noError(t, err)
		time.Sleep(time.Hour)
		cancel()
		synctest.Wait() // the test would hang here, were the goroutine still there
		_, err = h.admit(t, g)
		noError(t, err)
		h.changeElsewhere(revokeNow)
		time.Sleep(unwatchedTrust)
		_, err = h.admit(t, g)
		refused(t, err, RevokedKey)
		g.Close()
	})
}

// While changes are not reported, a read is trusted for so short a time that a revocation holds within two seconds
// (CONTRACT 4.3), of which a read may take half.
func TestBlindTrust(t *testing.T) {
	isTrue(t, unwatchedTrust <= time.Second)
}
