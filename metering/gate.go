package metering

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// GateConfig is the configuration of a [Gate]. Only Store is required.
type GateConfig struct {
	Store   Store
	Plans   Prices           // nil means DefaultPlans
	Limiter Limiter          // nil means LocalLimiter
	Clock   func() time.Time // nil means time.Now; measures how old a cached record is
	Log     *slog.Logger     // logs when the store's Watch ends and restarts; nil disables logging

	Observer Observer // receives charges, and refusals for rate and quota; may be nil
}

// An Observer receives the outcomes of requests at a [Gate], for notifications. It is called on the request path, by
// many goroutines at once, and must neither block nor keep its arguments.
type Observer interface {
	// Settled receives the balance after each charge.
	Settled(account AccountID, b Balance)

	// Refused receives a request that was refused by its token bucket (a [*RefusedError]) or for want of
	// credits (a [*QuotaError]).
	Refused(c *Caller, err error)
}

// A Gate admits requests by the checks of CONTRACT 1.1, in order: syntax and checksum of the secret, lookup by hash,
// revoked, expired, address, token bucket. It caches keys and accounts, and every decision is as fresh as the store:
//
//   - A change through the same store value takes effect for the very next request, because [Generational]
//     is compared each time (and where a store lacks it, each request reads the store).
//   - A change by another process holds as soon as Watch yields it.
//   - While Watch has not yet settled, or has ended with an error, nothing read is trusted for longer
//     than a second.
//
// Only keys that exist are cached. A secret that is well formed but unknown is looked up each time and leaves no
// trace, so that guessing cannot fill the memory; [IPLimiter] runs before it.
//
// A Gate is safe for concurrent use.
type Gate struct {
	store          Store
	generation     func() uint64
	plans          Prices
	limiter        Limiter
	clock          func() time.Time
	log            *slog.Logger
	observer       Observer
	cache          directory
	settleDeadline settleDeadline
	stop           context.CancelFunc
	done           sync.WaitGroup
}

// NewGate starts a gate on a store. It reads nothing yet, and follows Watch in one goroutine until the context ends or
// Close is called; after that the gate still works, but trusts nothing that it has read for longer than a second. It
// panics without a store.
func NewGate(ctx context.Context, c GateConfig) (*Gate, error) {
	if c.Store == nil {
		panic("metering: GateConfig.Store is nil")
	}
	if c.Plans == nil {
		c.Plans = DefaultPlans()
	}
	if plans, ok := c.Plans.(Plans); ok {
		if err := plans.Validate(); err != nil {
			return nil, fmt.Errorf("starting the gate: %w", err)
		}
	}
	if c.Limiter == nil {
		c.Limiter = LocalLimiter{}
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	g := &Gate{
		store: c.Store, plans: c.Plans, limiter: c.Limiter, clock: c.Clock, observer: c.Observer,
		log: cmp.Or(c.Log, slog.New(slog.DiscardHandler)),
	}
	g.cache.init()
	if s, ok := c.Store.(Generational); ok {
		g.generation = s.Generation
	} else {
		g.generation = g.cache.nextFallbackGeneration
	}
	ctx, g.stop = context.WithCancel(ctx)
	g.done.Go(func() { g.follow(ctx) })
	return g, nil
}

// Close ends the goroutine of the gate and waits for it. The store stays open.
func (g *Gate) Close() {
	g.stop()
	g.done.Wait()
}

// A Caller is an admitted caller and its state at that moment. The values behind its pointers are shared with other
// requests and must not be changed.
type Caller struct {
	Key     *Key
	Account *Account
	Plan    *Plan
	Rate    Decision // of the key's token bucket
}

// A Refusal is the reason why a request was not admitted.
type Refusal string

// The refusals, in the order of the checks.
const (
	InvalidKey        Refusal = "invalid_key" // malformed, mistyped or unknown: not distinguished
	RevokedKey        Refusal = "revoked_key"
	ExpiredKey        Refusal = "expired_key"
	AddressNotAllowed Refusal = "address_not_allowed"
	RateLimited       Refusal = "rate_limited"
	ScopeMissing      Refusal = "scope_missing"
)

// A RefusedError refuses a request at the gate.
type RefusedError struct {
	Reason   Refusal
	Caller   *Caller // from the token bucket on (RateLimited, ScopeMissing); nil for earlier reasons
	Required Scope   // of ScopeMissing
}

func (e *RefusedError) Error() string {
	if e.Reason == ScopeMissing {
		return fmt.Sprintf("refused: %s: %s", e.Reason, e.Required)
	}
	return "refused: " + string(e.Reason)
}

// Admit decides about one request: bearer is the text after "Bearer ", from the client's address and now the instant
// of the request. The error is a *RefusedError, the store's, the limiter's or the context's. An admitted request takes
// one token of its key.
func (g *Gate) Admit(ctx context.Context, bearer string, from netip.Addr, now time.Time) (*Caller, error) {
	hash, ok := hashSecret(bearer)
	return g.admit(ctx, hash, ok, from, now)
}

// AdmitKey is [Gate.Admit] for a caller that the program authenticated itself, such as by a session cookie: it admits
// the key with an ID, whose secret is not needed. An ID that no key has is refused as [InvalidKey].
func (g *Gate) AdmitKey(ctx context.Context, id KeyID, from netip.Addr, now time.Time) (*Caller, error) {
	key, err := g.store.Key(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, &RefusedError{Reason: InvalidKey}
	case err != nil:
		return nil, fmt.Errorf("reading a key: %w", err)
	}
	return g.admit(ctx, key.Hash, true, from, now)
}

// admit decides about a request by the hash of its key's secret; ok is false for a text that is not a secret.
func (g *Gate) admit(ctx context.Context, hash [32]byte, ok bool, from netip.Addr, now time.Time) (*Caller, error) {
	e, r := g.cache.find(&hash)
	// Also for a text that is not a secret, so that it takes as long as an unknown one.
	if r == nil || !g.fresh(r) || !r.coversMonth(now) {
		var err error
		if e, r, err = g.load(ctx, hash, now); err != nil {
			return nil, err
		}
	}
	if r == nil || !ok {
		return nil, &RefusedError{Reason: InvalidKey}
	}
	if refusal := r.refuse(from, now); refusal != "" {
		return nil, &RefusedError{Reason: refusal}
	}
	rate, err := g.limiter.Take(ctx, &e.bucket, r.policy, now)
	if err != nil {
		return nil, fmt.Errorf("taking a token of key %s: %w", r.key.ID, err)
	}
	c := &Caller{Key: &r.key, Account: &r.account, Plan: &r.plan, Rate: rate}
	if !rate.Allowed {
		refused := &RefusedError{Reason: RateLimited, Caller: c}
		if g.observer != nil {
			g.observer.Refused(c, refused)
		}
		return nil, refused
	}
	return c, nil
}

// Recognizes reports whether a request shows a key that was admitted before and, according to the cache, would be
// admitted from this address now. It queries no store and takes no token: it distinguishes a good key from guesses at
// an address that has made too many of those.
func (g *Gate) Recognizes(bearer string, from netip.Addr, now time.Time) bool {
	hash, ok := hashSecret(bearer)
	_, r := g.cache.find(&hash)
	return ok && r != nil && r.refuse(from, now) == ""
}

// CallerByID returns the caller of a key that acts within this process without a secret: for a watch, or for a member
// who is signed in. It checks no address and takes no token. The error is [ErrNotFound], a *RefusedError or the
// store's.
func (g *Gate) CallerByID(ctx context.Context, id KeyID, now time.Time) (*Caller, error) {
	key, err := g.store.Key(ctx, id)
	if err != nil {
		return nil, err
	}
	r, err := g.read(ctx, key.Hash, PeriodOf(now))
	if err != nil {
		return nil, err
	}
	r.allowed = nil
	if refusal := r.refuse(netip.Addr{}, now); refusal != "" {
		return nil, &RefusedError{Reason: refusal}
	}
	return &Caller{Key: &r.key, Account: &r.account, Plan: &r.plan}, nil
}

// Require returns the first of the scopes that the caller's key has: any one of them suffices. Without one, or if no
// scope is given, it returns a *RefusedError that names the first.
func (c *Caller) Require(scopes ...Scope) (Scope, error) {
	for _, s := range scopes {
		if slices.Contains(c.Key.Scopes, s) {
			return s, nil
		}
	}
	refused := &RefusedError{Reason: ScopeMissing, Caller: c}
	if len(scopes) > 0 {
		refused.Required = scopes[0]
	}
	return "", refused
}

// Begin is the store's [Ledger].Begin for the caller: it fills in account and key, and, where they
// are zero, the instant and the lease. Idempotency keys belong to the caller's line of rotations.
func (g *Gate) Begin(ctx context.Context, c *Caller, op Op) (Begun, error) {
	op.Account, op.Key = c.Account.ID, c.Key.ID
	if op.Now.IsZero() {
		op.Now = g.clock()
	}
	if op.Lease.IsZero() {
		op.Lease = op.Now.Add(ClaimLease)
	}
	if op.Idempotency != nil {
		var err error
		if op.Line, err = g.Origin(ctx, *c.Key); err != nil {
			return Begun{}, err
		}
		op.KeptBytes = int64(c.Plan.PerMinute) * KeptPerRate
	}
	begun, err := g.store.Begin(ctx, op)
	if quota, ok := errors.AsType[*QuotaError](err); ok && g.observer != nil {
		g.observer.Refused(c, quota)
	}
	return begun, err
}

// Settle is the store's [Ledger].Settle, which has up to 15 seconds for it.
func (g *Gate) Settle(ctx context.Context, t Ticket, out Outcome) (Balance, error) {
	ctx, cancel := g.settleDeadline.bound(ctx)
	defer cancel()
	balance, err := g.store.Settle(ctx, t, out)
	if err == nil && g.observer != nil {
		g.observer.Settled(t.Account, balance)
	}
	return balance, err
}

// Cancel is the store's [Ledger].Cancel, which has up to 15 seconds for it.
func (g *Gate) Cancel(ctx context.Context, t Ticket) error {
	ctx, cancel := g.settleDeadline.bound(ctx)
	defer cancel()
	return g.store.Cancel(ctx, t)
}

// Health returns why the store cannot write, if it is known; nil for a store without that ability.
func (g *Gate) Health() error {
	if h, ok := g.store.(Healthy); ok {
		return h.Health()
	}
	return nil
}
