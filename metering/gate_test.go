package metering

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var client = netip.MustParseAddr("192.0.2.7")

func TestAdmit(t *testing.T) {
	h := newHouse(t, "pack", nil)
	g := h.gate(t, true)
	c, err := g.Admit(t.Context(), h.secret.Reveal(), client, h.now)
	noError(t, err)
	equal(t, h.key, *c.Key)
	equal(t, h.account, *c.Account)
	equal(t, DefaultPlans()["pack"], *c.Plan)
	equal(t, Decision{Allowed: true, Limit: 60, Remaining: 59, Reset: time.Second}, c.Rate)

	_, err = g.Admit(t.Context(), h.secret.Reveal(), client, h.now)
	noError(t, err)
	equal(t, 1, h.reads.Load(), "the second request is served from memory")
}

// A key by its ID is admitted like one by its secret, and takes tokens of the same bucket.
func TestAdmitKey(t *testing.T) {
	h := newHouse(t, "pack", nil)
	g := h.gate(t, true)
	_, err := g.Admit(t.Context(), h.secret.Reveal(), client, h.now)
	noError(t, err)
	c, err := g.AdmitKey(t.Context(), h.key.ID, client, h.now)
	noError(t, err)
	equal(t, h.key, *c.Key)
	equal(t, 58, c.Rate.Remaining)
	_, err = g.AdmitKey(t.Context(), "key_none", client, h.now)
	equal[error](t, &RefusedError{Reason: InvalidKey}, err)
}

// All invalid keys get the same error, byte for byte.
func TestAdmitInvalid(t *testing.T) {
	h := newHouse(t, "pack", nil)
	g := h.gate(t, true)
	good := h.secret.Reveal()
	unknown, err := NewSecret(Live, nil)
	noError(t, err)
	for name, bearer := range map[string]string{
		"empty":       "",
		"malformed":   "Bearer",
		"mistyped":    good[:20] + string(alphabet[(strings.IndexByte(alphabet, good[20])+1)%32]) + good[21:],
		"cut":         good[:len(good)-1],
		"prolonged":   good + "a",
		"upper case":  strings.ToUpper(good),
		"with space":  " " + good,
		"very long":   strings.Repeat("a", 1<<20),
		"unknown":     unknown.Reveal(),
		"hash itself": fmt.Sprintf("%x", h.secret.Hash()),
	} {
		t.Run(name, func(t *testing.T) {
			reads := h.reads.Load()
			c, err := g.Admit(t.Context(), bearer, client, h.now)
			isTrue(t, c == nil)
			equal[error](t, &RefusedError{Reason: InvalidKey}, err)
			equal(t, reads+1, h.reads.Load(), "the same work for each: the store is asked")
		})
	}
	// Before and after the key is in memory.
	_, err = g.Admit(t.Context(), good, client, h.now)
	noError(t, err)
	_, err = g.Admit(t.Context(), good+"a", client, h.now)
	equal[error](t, &RefusedError{Reason: InvalidKey}, err)
}

// A store that returns another key than requested must not let anyone in.
func TestAdmitComparesTheHash(t *testing.T) {
	h := newHouse(t, "pack", nil)
	g, err := NewGate(t.Context(), GateConfig{Store: wrongKey{h.fakeStore, h.key}})
	noError(t, err)
	defer g.Close()
	other, err := NewSecret(Live, nil)
	noError(t, err)
	_, err = g.Admit(t.Context(), other.Reveal(), client, h.now)
	refused(t, err, InvalidKey)
}

type wrongKey struct {
	*fakeStore
	key Key
}

func (s wrongKey) KeyByHash(context.Context, [32]byte) (Key, error) { return s.key, nil }

// The order of CONTRACT 1.1: each refusal comes before all that follow, and takes no token before
// its turn.
func TestAdmitOrder(t *testing.T) {
	h := newHouse(t, "free", func(r *KeyRequest) {
		r.ExpiresAt = new(time.Now().Add(time.Hour))
		r.IPAllowlist = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	})
	g := h.gate(t, true)
	admit := func(from string, at time.Time) error {
		_, err := g.Admit(t.Context(), h.secret.Reveal(), netip.MustParseAddr(from), at)
		return err
	}
	for range 10 {
		noError(t, admit("192.0.2.1", h.now))
	}
	limited := refused(t, admit("192.0.2.1", h.now), RateLimited)
	equal(t, h.key.ID, limited.Caller.Key.ID)
	equal(t, 6*time.Second, limited.Caller.Rate.RetryAfter)

	elsewhere := refused(t, admit("198.51.100.1", h.now), AddressNotAllowed)
	isTrue(t, elsewhere.Caller == nil)

	noError(t, admit("192.0.2.1", h.key.ExpiresAt.Add(-1)))
	expired := refused(t, admit("198.51.100.1", *h.key.ExpiresAt), ExpiredKey)
	isTrue(t, expired.Caller == nil)

	h.now = h.key.ExpiresAt.Add(time.Second) // revoked later than expired: revoked wins
	_, err := h.admin.RevokeKey(t.Context(), h.key.ID, RevokedLeak)
	noError(t, err)
	revoked := refused(t, admit("198.51.100.1", h.now), RevokedKey)
	isTrue(t, revoked.Caller == nil)
}

func TestAdmitAllowlist(t *testing.T) {
	for name, c := range map[string]struct {
		list    string
		from    string
		allowed bool
	}{
		"inside":                   {"192.0.2.0/24", "192.0.2.255", true},
		"outside":                  {"192.0.2.0/24", "192.0.3.0", false},
		"one address":              {"192.0.2.7/32", "192.0.2.7", true},
		"its neighbour":            {"192.0.2.7/32", "192.0.2.8", false},
		"second of two":            {"198.51.100.0/24 2001:db8::/32", "2001:db8:1::1", true},
		"mapped client":            {"192.0.2.0/24", "::ffff:192.0.2.1", true},
		"mapped list":              {"::ffff:192.0.2.0/120", "192.0.2.1", true},
		"mapped list, outside":     {"::ffff:192.0.2.0/120", "192.0.3.1", false},
		"zone":                     {"fe80::/64", "fe80::1%eth0", true},
		"all of IPv4 is not IPv6":  {"0.0.0.0/0", "2001:db8::1", false},
		"all of IPv6 is not IPv4":  {"::/0", "192.0.2.1", false},
		"host bits are no trouble": {"192.0.2.77/24", "192.0.2.1", true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, "pack", func(r *KeyRequest) {
				for p := range strings.FieldsSeq(c.list) {
					r.IPAllowlist = append(r.IPAllowlist, netip.MustParsePrefix(p))
				}
			})
			_, err := h.gate(t, true).Admit(t.Context(), h.secret.Reveal(), netip.MustParseAddr(c.from), h.now)
			if c.allowed {
				noError(t, err)
			} else {
				refused(t, err, AddressNotAllowed)
			}
		})
	}
	t.Run("unknown client", func(t *testing.T) {
		h := newHouse(t, "pack", func(r *KeyRequest) {
			r.IPAllowlist = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
		})
		_, err := h.gate(t, true).Admit(t.Context(), h.secret.Reveal(), netip.Addr{}, h.now)
		refused(t, err, AddressNotAllowed)
	})
}

func TestRequire(t *testing.T) {
	c := &Caller{Key: &Key{Scopes: []Scope{MailRead, DNSRead}}}
	for name, s := range map[string]struct {
		any  []Scope
		want Scope
	}{
		"its own":            {[]Scope{DNSRead}, DNSRead},
		"second of two":      {[]Scope{WebRead, MailRead}, MailRead},
		"both: the first":    {[]Scope{DNSRead, MailRead}, DNSRead},
		"order of the asked": {[]Scope{MailRead, DNSRead}, MailRead},
	} {
		got, err := c.Require(s.any...)
		noError(t, err, "%s", name)
		equal(t, s.want, got, "%s", name)
	}
	_, err := c.Require(MailWrite, WebRead) // no scope implies another
	e := refused(t, err, ScopeMissing)
	equal(t, MailWrite, e.Required)
	isTrue(t, e.Caller == c)
	_, err = c.Require()
	refused(t, err, ScopeMissing)
}

func TestAdmitStoreFaults(t *testing.T) {
	disk := errors.New("the disk is gone")
	h := newHouse(t, "pack", nil)
	g := h.gate(t, true)
	h.fault = disk
	_, err := g.Admit(t.Context(), h.secret.Reveal(), client, h.now)
	errorIs(t, err, disk)
	h.fault = nil
	_, err = g.Admit(t.Context(), h.secret.Reveal(), client, h.now)
	noError(t, err, "a fault is not remembered")
}

func TestAdmitBrokenData(t *testing.T) {
	t.Run("plan", func(t *testing.T) {
		h := newHouse(t, "pack", nil)
		h.account.Plan = "gone"
		noError(t, h.PutAccount(t.Context(), h.account))
		_, err := h.gate(t, true).Admit(t.Context(), h.secret.Reveal(), client, h.now)
		contains(t, fmt.Sprint(err), `plan "gone"`)
	})
	t.Run("account", func(t *testing.T) {
		h := newHouse(t, "pack", nil)
		delete(h.accounts, h.account.ID)
		_, err := h.gate(t, true).Admit(t.Context(), h.secret.Reveal(), client, h.now)
		errorIs(t, err, ErrNotFound)
		_, isRefusal := errors.AsType[*RefusedError](err)
		isTrue(t, !isRefusal, "a missing account is our fault, not the caller's")
	})
}

type brokenLimiter struct{ error }

func (l brokenLimiter) Take(context.Context, *Bucket, Policy, time.Time) (Decision, error) {
	return Decision{Allowed: true}, l.error
}

func TestAdmitLimiterFault(t *testing.T) {
	h := newHouse(t, "pack", nil)
	away := errors.New("no connection")
	g, err := NewGate(t.Context(), GateConfig{Store: h.fakeStore, Limiter: brokenLimiter{away}})
	noError(t, err)
	defer g.Close()
	c, err := g.Admit(t.Context(), h.secret.Reveal(), client, h.now)
	errorIs(t, err, away)
	isTrue(t, c == nil)
}

func TestNewGateRefuses(t *testing.T) {
	func() {
		defer func() { isTrue(t, recover() == "metering: GateConfig.Store is nil") }()
		_, _ = NewGate(t.Context(), GateConfig{})
	}()
	_, err := NewGate(t.Context(), GateConfig{Store: newFakeStore(), Plans: Plans{"x": {}}})
	isTrue(t, err != nil)
}

// 256 goroutines, one key, a stopped clock: exactly the capacity is admitted, and there is no error but the refusal.
func TestAdmitIsExactUnderContention(t *testing.T) {
	h := newHouse(t, "enterprise", nil)
	g := h.gate(t, true)
	var admitted, limited, other atomic.Int64
	var wg sync.WaitGroup
	for range 256 {
		wg.Go(func() {
			for range 20 {
				_, err := g.Admit(t.Context(), h.secret.Reveal(), client, h.now)
				if e, ok := errors.AsType[*RefusedError](err); ok && e.Reason == RateLimited {
					limited.Add(1)
				} else if err != nil {
					other.Add(1)
				} else {
					admitted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	equal(t, 0, other.Load())
	equal(t, 1200, admitted.Load())
	equal(t, 256*20-1200, limited.Load())
}

func TestGateLedger(t *testing.T) {
	h := newHouse(t, "pack", nil)
	g, err := NewGate(t.Context(), GateConfig{Store: h.fakeStore, Clock: func() time.Time { return h.now }})
	noError(t, err)
	defer g.Close()
	c, err := g.Admit(t.Context(), h.secret.Reveal(), client, h.now)
	noError(t, err)
	h.begin = func(op Op) (Begun, error) { return Begun{Ticket: &Ticket{Op: op, Token: 7}}, nil }

	begun, err := g.Begin(t.Context(), c, Op{RequestID: "req_1", Credits: 3, Account: "acc_of_another"})
	noError(t, err)
	equal(t, Op{RequestID: "req_1", Credits: 3, Account: h.account.ID, Key: h.key.ID, Now: h.now,
		Lease: h.now.Add(ClaimLease)}, begun.Ticket.Op)

	given := Op{Now: h.now.Add(1), Lease: h.now.Add(2)}
	begun, err = g.Begin(t.Context(), c, given)
	noError(t, err)
	equal(t, given.Now, begun.Ticket.Now)
	equal(t, given.Lease, begun.Ticket.Lease)

	_, err = g.Settle(t.Context(), *begun.Ticket, Outcome{At: h.now})
	noError(t, err)
	equal(t, []Ticket{*begun.Ticket}, h.settled)
	errorIs(t, g.Cancel(t.Context(), *begun.Ticket), ErrClosed, "the store's error is handed on")
}

// silentStore never answers, and has lost its disk.
type silentStore struct{ generational }

func (silentStore) Settle(ctx context.Context, _ Ticket, _ Outcome) (Balance, error) {
	<-ctx.Done()
	return Balance{}, ctx.Err()
}

func (silentStore) Cancel(ctx context.Context, _ Ticket) error { <-ctx.Done(); return ctx.Err() }

func (silentStore) Health() error { return ErrUnavailable }

// A store that does not answer does not block callers forever.
func TestSettleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "pack", nil)
		g, err := NewGate(t.Context(), GateConfig{Store: silentStore{generational{h.fakeStore}}})
		noError(t, err)
		defer g.Close()
		for name, call := range map[string]func() error{
			"Settle": func() error { _, err := g.Settle(context.Background(), Ticket{}, Outcome{}); return err },
			"Cancel": func() error { return g.Cancel(context.Background(), Ticket{}) },
		} {
			began := time.Now()
			isTrue(t, errors.Is(call(), context.DeadlineExceeded), name)
			equal(t, settleTime, time.Since(began), name)
		}
		equal(t, ErrUnavailable, g.Health())
		noError(t, h.gate(t, true).Health())
	})
}

// Idempotency keys belong to the line of rotations, with room by the plan.
func TestBeginForTheLine(t *testing.T) {
	h := newHouse(t, "pack", nil)
	g := h.gate(t, true)
	var seen Op
	h.begin = func(op Op) (Begun, error) { seen = op; return Begun{}, nil }
	_, rotated, _, err := h.admin.RotateKey(t.Context(), h.key.ID, time.Hour)
	noError(t, err)
	plan := DefaultPlans()["pack"]
	caller := &Caller{Key: &rotated, Account: &h.account, Plan: &plan}
	_, err = g.Begin(t.Context(), caller, Op{Credits: 1})
	noError(t, err)
	equal(t, rotated.ID, seen.Claimant())
	_, err = g.Begin(t.Context(), caller, Op{Credits: 1, Idempotency: &[32]byte{}, Fingerprint: &[32]byte{}})
	noError(t, err)
	equal(t, rotated.ID, seen.Key)
	equal(t, h.key.ID, seen.Claimant())
	equal(t, int64(60*4<<20), seen.KeptBytes)
}
