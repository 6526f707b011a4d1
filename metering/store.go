package metering

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"
)

// Sentinels that a caller branches on.
var (
	// ErrNotFound means that the store has no such account, key or entry.
	ErrNotFound = errors.New("not found")

	// ErrInFlight means that the first request with this idempotency key is still running.
	ErrInFlight = errors.New("a request with this idempotency key is still running")

	// ErrMismatch means that the idempotency key was used for another request.
	ErrMismatch = errors.New("the idempotency key was used for another request")

	// ErrVersion means that a key or account was changed by another writer since it was read.
	ErrVersion = errors.New("changed by another writer since it was read")

	// ErrLapsed means that a ticket's lease ended, or that it was settled or cancelled
	// before: its hold is gone and it can charge nothing.
	ErrLapsed = errors.New("the ticket has lapsed")

	// ErrReplyGone means that the first request with this idempotency key was carried out and charged,
	// and that its reply can no longer be sent again: it was too large to keep, or newer ones of the same
	// line of keys have taken its room.
	ErrReplyGone = errors.New("the reply to the first request with this idempotency key is no longer kept")

	// ErrUnavailable means that the store cannot do its work at present: its disk is full or broken, another process
	// does not let go of it, its file was removed, or it does not answer in time. The caller may try again later.
	ErrUnavailable = errors.New("the store is unavailable")

	// ErrClosed means that the store has been closed.
	ErrClosed = errors.New("the store is closed")
)

// A QuotaError refuses a request that the account cannot pay for. Nothing was held.
type QuotaError struct {
	Plan      PlanID
	Limit     int64 // allowance of the period, in credits
	Current   int64 // used and held, in credits
	Requested int64 // the price of the request, in credits
	Left      int64 // credits that may still be used: of the allowance, and of overage as far as the budget goes
	// Overage is how many credits of Current were admitted above the allowance, and OverageMicros their cost.
	Overage, OverageMicros int64
	Reason                 QuotaReason
}

// QuotaReason is the reason why an account cannot pay.
type QuotaReason string

const (
	QuotaAllowanceUsed QuotaReason = "allowance_used" // and the plan sells no credits beyond it
	QuotaOverageOff    QuotaReason = "overage_off"    // the allowance is used, and the account does not allow overage
	QuotaBudgetReached QuotaReason = "budget_reached" // overage costs as much as the account allows
	QuotaSuspended     QuotaReason = "suspended"      // the account is suspended
)

func (e *QuotaError) Error() string {
	if e.Reason == QuotaSuspended {
		return fmt.Sprintf("plan %s: the account is %s", e.Plan, e.Reason)
	}
	return fmt.Sprintf("plan %s: %d of %d credits are taken, %d more were asked for",
		e.Plan, e.Current, e.Limit, e.Requested)
}

// Store is the complete storage of one metered server: accounts, keys, plans, the ledger and records. A custom store
// has the methods of these five interfaces and Close, and must pass meteringtest.TestStore; it may also have the
// abilities [Generational], [Healthy], [Monthly] and [Pruner]. Package hold does the arithmetic of holds, claims and
// quotas, which all stores share.
//
// A store that wraps another embeds it and replaces the methods of one part, as examples/ownstore does.
type Store interface {
	Accounts
	Keys
	PlanVersions
	Ledger
	Records

	// Close finishes the work under way, makes it durable and releases the store.
	Close() error
}

// Accounts holds the accounts.
type Accounts interface {
	// Account returns an account, or ErrNotFound.
	Account(ctx context.Context, id AccountID) (Account, error)

	// Accounts lists all accounts by creation time and id.
	Accounts(ctx context.Context) ([]Account, error)

	// PutAccount creates an account (Version 0) or replaces the one with the same Version. The stored Version is one
	// more; it returns ErrVersion on a conflict with another writer. A new plan or budget takes effect for the very
	// next Begin on this node.
	PutAccount(ctx context.Context, a Account) error
}

// Keys holds the API keys. It is read mostly; Watch makes a revocation known at once.
type Keys interface {
	// KeyByHash returns the key with the SHA-256 of a secret, or ErrNotFound.
	KeyByHash(ctx context.Context, hash [32]byte) (Key, error)

	// Key returns a key by its id, or ErrNotFound.
	Key(ctx context.Context, id KeyID) (Key, error)

	// Keys yields the keys that the filter selects, by creation time and id. The loop over them may call the store;
	// keys that change meanwhile may be left out or come twice.
	Keys(ctx context.Context, f KeyFilter) iter.Seq2[Key, error]

	// CountKeys counts the keys that the filter selects by their state at its At, whatever its Offset and Limit are. A
	// state that no key has is missing.
	CountKeys(ctx context.Context, f KeyFilter) (map[KeyState]int, error)

	// PutKeys creates (Version 0) or replaces (same Version) keys, all or none, so that a rotation
	// writes the old and the new key in one step. It returns ErrVersion where another writer was
	// first, and ErrNotFound where the account does not exist.
	PutKeys(ctx context.Context, keys ...Key) error

	// Watch yields every change of a key or an account after the sequence number since, in order, and waits for more
	// until the context ends. The first change yielded after since 0 may be any state that is not older than the call.
	// A change made through this store value is yielded at once, one made by another process within a second. The
	// iterator ends with the context's error, or with the store's when it is closed.
	Watch(ctx context.Context, since int64) iter.Seq2[Change, error]
}

// Generational is an optional ability of a [Store]: a counter by which a cache knows at once, and
// without asking the store anything, that a key or an account was changed through this store value.
// [Gate] asks for it by type assertion, and compares it on every request.
//
// Generation rises with every PutKeys and PutAccount that changed something: after the change can be read by KeyByHash,
// Key and Account, and before the call returns, also where it returns an error but may have been carried out. It need
// not rise for changes by other processes, which Watch reports, and should not rise for anything else, such as a last
// use: everything cached is read again after it rose. It must be cheap (an atomic load) and safe for concurrent use.
//
// A wrapper of a store that embeds the interface loses the ability unless it forwards the method.
// That is safe: the gate then reads key and account from the store for each request.
type Generational interface {
	Generation() uint64
}

// Healthy is an optional ability of a [Store]: it reports whether the store is known to be unable to write, without
// trying. While Health returns an error, Begin refuses with ErrUnavailable before any work is done, and a server is
// not ready.
type Healthy interface {
	// Health returns nil, or an error that wraps ErrUnavailable.
	Health() error
}

// A Change reports that a key or an account has changed. One of the ids is set; its new state must be read. If neither
// is set, changes up to Seq were pruned before they were reported (see [Pruner]), and everything must be reloaded.
type Change struct {
	Seq     int64
	Key     KeyID
	Account AccountID
}

// Ledger is the whole of money. Begin is a promise; Settle is the only write that counts.
type Ledger interface {
	// Begin claims the idempotency key of the operation, if it has one, and holds the price. It has
	// exactly one outcome: a Ticket, a Replay, ErrInFlight, ErrMismatch, ErrReplyGone, a *QuotaError, or
	// another error. A replay is looked for before the quota, so that it survives an exhausted one. The
	// hold and the claim are a lease until op.Lease; a crash of a single-node store releases them.
	Begin(ctx context.Context, op Op) (Begun, error)

	// Settle commits charge, ledger row and kept reply in one durable transaction, and releases hold and claim. When it
	// returns nil the charge survives a crash of the machine. It is fenced by the ticket: the second Settle of one
	// ticket, and one after Cancel or after the lease ended, returns ErrLapsed and changes nothing. When the context
	// ends while the transaction is being written, the error is ErrUnavailable, and the charge may still be made; the
	// claim stays until that is known, so that a repetition is not charged twice.
	Settle(ctx context.Context, t Ticket, out Outcome) (Balance, error)

	// Cancel releases the hold and the claim and leaves no trace. Cancelling a settled, cancelled or lapsed ticket does
	// nothing. Where a Settle is not decided, or the store cannot do it now, it is done as soon as it can be.
	Cancel(ctx context.Context, t Ticket) error

	// Balance returns the use of an account in a period. It is ErrNotFound for an unknown account.
	Balance(ctx context.Context, id AccountID, p Period) (Balance, error)

	// Entries yields the charges that the filter selects, oldest first unless it says otherwise.
	Entries(ctx context.Context, f EntryFilter) iter.Seq2[Entry, error]

	// Sums adds up the charges that the filter selects, which names an account, and whose Newest and Limit do not
	// count. A caller who keeps the result, and passes its Last as After, reads each charge once.
	Sums(ctx context.Context, f EntryFilter) (Sums, error)

	// Hours adds up what keys of an account were charged since an instant, by the hour in which the charge was
	// completed, in no certain order. Hours without a charge are missing.
	Hours(ctx context.Context, account AccountID, keys []KeyID, since time.Time) ([]HourSum, error)

	// Audit recomputes every balance from the ledger and reports each that does not agree, rows, balances and plans
	// that do not fit into their chain, keys that charged without existing, and periods above what the plan could have
	// allowed.
	Audit(ctx context.Context) (Audit, error)
}

// Op is an operation whose price is to be held.
type Op struct {
	RequestID string
	Account   AccountID
	Key       KeyID
	Endpoint  string // the row's method and path, such as "POST /public/v1/resolve"
	Credits   int64  // price, at least 1
	Now       time.Time
	Lease     time.Time // when hold and claim lapse; at most ClaimLease after Now
	// Idempotency is the SHA-256 of the client's idempotency key, and Fingerprint that of the
	// request (CONTRACT 5). Both are nil for a request without one.
	Idempotency *[32]byte
	Fingerprint *[32]byte
	// Line is the first key of the line of rotations that led to Key, to which idempotency keys belong:
	// a retry with the new secret is not charged again. Empty means Key.
	Line KeyID
	// KeptBytes bounds the sum of the bodies that are kept for the line. Beyond it the oldest are dropped,
	// and only their claims stay. 0 means no bound.
	KeptBytes int64
}

// Claimant returns the key to which the idempotency key of the operation belongs.
func (o *Op) Claimant() KeyID { return cmp.Or(o.Line, o.Key) }

// Begun is the result of Begin: exactly one of the fields is set.
type Begun struct {
	Ticket *Ticket
	Replay *Replay
}

// A Ticket is a hold and, with an idempotency key, a claim. It is a value; only the store that issued it can honor it.
type Ticket struct {
	Op
	Token  uint64 // fences the lease; issued by the store
	Period Period // fixed at admission: midnight does not move a request to the next month
	// Overage is how many of the credits are above the allowance, and OverageRate the price of each of them; both are
	// fixed at admission.
	Overage, OverageRate int64
}

// A Replay is the kept reply of an earlier request, and the balance of today.
type Replay struct {
	RequestID string // of the request that was charged
	Reply     Reply
	Balance   Balance
}

// Outcome is the stored result of a successful request.
type Outcome struct {
	At    time.Time // completion; an idempotency record lives ReplayWindow from here
	Reply *Reply    // kept for replays; nil when the operation has no idempotency key
}

// A Reply is a stored reply, which a replay sends again byte for byte.
type Reply struct {
	Status int
	Header map[string]string // media type and the end-point's own headers
	Body   []byte
	// Form is the form of Body: PlainReply, RerunReply (no body is kept, the deterministic operation runs again),
	// SealedReply (encrypted under the caller's secret) or GoneReply (no body is left: a repetition is refused with
	// ErrReplyGone).
	Form ReplyForm
}

// ReplyForm is the form in which a kept reply is stored.
type ReplyForm uint8

// The forms of a kept reply.
const (
	PlainReply  ReplyForm = 0
	RerunReply  ReplyForm = 1
	SealedReply ReplyForm = 2
	GoneReply   ReplyForm = 3
)

// Kept returns the reply as a store keeps it: without the body if it is too large.
func (r *Reply) Kept() Reply {
	if len(r.Body) > MaxReplyBytes {
		return Reply{Status: r.Status, Form: GoneReply}
	}
	return *r
}

// Balance is the use of an account in one period, in credits.
type Balance struct {
	Period  Period
	Plan    PlanID
	Limit   int64 // the plan's allowance
	Used    int64 // settled
	Held    int64 // promised to requests under way
	Charges int64 // settled requests
	// Overage is how many of the settled credits were admitted above the allowance at that moment, and OverageMicros
	// their cost, in millionths of a cent.
	Overage       int64
	OverageMicros int64
}

// Remaining returns the part of the allowance that is not settled, never negative.
func (b Balance) Remaining() int64 { return max(0, b.Limit-(b.Used-b.Overage)) }

// An Entry is one charge.
type Entry struct {
	Seq       int64 // strictly increasing in the order of commit
	RequestID string
	Account   AccountID
	Key       KeyID
	Endpoint  string
	Credits   int64
	Period    Period
	At        time.Time // of completion, to the microsecond
	// Overage is how many of the credits were above the allowance at admission, and OverageRate the price of each of
	// them in millionths of a cent; 0 without overage.
	Overage     int64
	OverageRate int64
	Ceiling     int64 // the largest use that was allowed at admission; 0 in rows of earlier layouts
	// Chain is the link that ends with this entry: nil for all but the last of a group, and in rows of earlier layouts.
	Chain *Chain
}

// EntryFilter selects entries; zero fields select all.
type EntryFilter struct {
	Account   AccountID
	Key       KeyID
	Period    *Period
	RequestID string
	Endpoint  string    // only of endpoints that contain this
	Path      string    // only of endpoints that end with this
	Overage   bool      // only entries with overage
	After     int64     // only entries with a greater Seq
	Since     time.Time // only entries with an At that is not before this; see SeqSince
	Before    time.Time // only entries with an At before this
	Newest    bool      // the other way round: the newest first
	Limit     int       // at most so many; 0 means all
}

// Selects reports whether the filter selects an entry, apart from Limit.
func (f *EntryFilter) Selects(e *Entry) bool {
	return (f.Account == "" || f.Account == e.Account) && (f.Key == "" || f.Key == e.Key) &&
		(f.Period == nil || *f.Period == e.Period) && (f.RequestID == "" || f.RequestID == e.RequestID) &&
		strings.Contains(e.Endpoint, f.Endpoint) && strings.HasSuffix(e.Endpoint, f.Path) &&
		(!f.Overage || e.Overage > 0) && e.Seq > f.After && !e.At.Before(f.Since) &&
		(f.Before.IsZero() || e.At.Before(f.Before))
}

// Audit is the result of recomputing the balances from the ledger.
type Audit struct {
	Accounts int
	Entries  int64
	Credits  int64
	Unproven int64 // entries that no chain proves: of earlier layouts, and of months of which a part was pruned
	Faults   []AuditFault
}

// AuditFault is a difference between the ledger and the data derived from it.
type AuditFault struct {
	Account AccountID `json:"account"`
	Period  Period    `json:"period"`
	Detail  string    `json:"detail"`
}

// Monthly is an optional ability of a [Store]: it returns the balances of a month of all accounts that have one, in
// few reads and in no particular order. Without it a close reads each account.
type Monthly interface {
	Balances(ctx context.Context, p Period) iter.Seq2[MonthBalance, error]
}

// MonthBalance is the balance of an account, without plan and limit.
type MonthBalance struct {
	Account AccountID
	Balance
}
