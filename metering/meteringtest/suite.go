package meteringtest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
)

// A reopener is a store that outlives its process. Reopen closes it, as a stopped server does, and opens it again on
// the data it left behind; the store it was called on is not used any more.
type reopener interface {
	Reopen(t *testing.T) metering.Store
}

// The plans of the suite.
const (
	Tiny    metering.PlanID = "tiny"    // 10 credits, hard cap
	Prime   metering.PlanID = "prime"   // 10007 credits, hard cap
	flex    metering.PlanID = "flex"    // 100 credits, then a tenth of a cent each
	Large   metering.PlanID = "large"   // a billion credits, hard cap
	metered metering.PlanID = "metered" // 107 credits, then three hundredths of a cent each
	lowered metering.PlanID = "lowered" // 10 credits from January 2026 on, 30 before, and 50 until those ended for all
)

// Plans returns the price list that a store under test sells. The caller owns the map.
func Plans() metering.Plans {
	plans := metering.Plans{
		Tiny:  {ID: Tiny, Name: "Tiny", Currency: "EUR", Credits: 10, PerMinute: 10},
		Prime: {ID: Prime, Name: "Prime", Currency: "EUR", Credits: 10007, PerMinute: 10},
		flex: {ID: flex, Name: "Flex", Currency: "EUR", Credits: 100, PerMinute: 10,
			OverageRate: metering.MicrosPerCent / 10},
		metered: {ID: metered, Name: "Metered", Currency: "EUR", Credits: 107, PerMinute: 10,
			OverageRate: metering.MicrosPerCent * 3 / 100},
		Large: {ID: Large, Name: "Large", Currency: "EUR", Credits: 1_000_000_000, PerMinute: 10},
	}
	january := metering.Period{Year: 2026, Month: time.January}
	var versions []metering.PlanVersion
	for _, v := range []metering.PlanVersion{
		{Plan: metering.Plan{Credits: 50}},
		{Plan: metering.Plan{Credits: 30}, From: metering.Period{Year: 2025, Month: time.October}, ReplacesAllowances: true},
		{Plan: metering.Plan{Credits: 10}, From: january},
	} {
		v.Plan.ID, v.Plan.Name, v.Plan.Currency, v.Plan.PerMinute = lowered, "Lowered", "EUR", 10
		versions = append(versions, v)
	}
	plans[lowered] = metering.NewPriceList(versions...).In(january)[lowered]
	return plans
}

// TestStore tests that a store fulfills the contract of [metering.Store]. Each part gets a new, empty store from
// newStore, which must sell [Plans] and end leases by the clock, and closes it. If parts are named, only these run.
func TestStore(t *testing.T, newStore func(t *testing.T, clock *Clock) metering.Store, only ...string) {
	parts := []struct {
		name string
		test func(t *testing.T, f *fixture)
	}{
		{"accounts", testAccounts},
		{"account versions", testAccountVersions},
		{"keys", testKeys},
		{"key filters", testKeyFilters},
		{"many keys", testManyKeys},
		{"key versions", testKeyVersions},
		{"key secrets are unique", testKeyHashes},
		{"rotation is atomic", testRotation},
		{"last use", testLastUse},
		{"watch", testWatch},
		{"watch from a sequence number", testWatchSince},
		{"watch ends", testWatchEnds},
		{"generation", testGeneration},
		{"invalid operations", testInvalid},
		{"unknown account", testUnknownAccount},
		{"hard cap", testHardCap},
		{"overage", testOverage},
		{"plan change", testPlanChange},
		{"parts of a charge", testParts},
		{"parts after a lease", testLapsedParts},
		{"budget", testBudget},
		{"scheduled plan", testScheduled},
		{"allowance of a lowered plan", testLowered},
		{"suspension", testSuspension},
		{"plan versions", testPlanVersions},
		{"huge price", testHugePrice},
		{"settle once", testSettleOnce},
		{"cancel", testCancel},
		{"lease", testLease},
		{"ticket is not trusted with money", testForgedTicket},
		{"replay", testReplay},
		{"replay forms", testReplayForms},
		{"replay window", testReplayWindow},
		{"replay survives an exhausted quota", testReplayExhausted},
		{"in flight", testInFlight},
		{"mismatch", testMismatch},
		{"failure releases the claim", testClaimReleased},
		{"lapsed claim", testClaimLapsed},
		{"keys do not share claims", testClaimPerKey},
		{"reply that is not kept", testReplyNotKept},
		{"bound of kept replies", testKeptBytes},
		{"rotation keeps claims", testRotatedClaims},
		{"clock that was set back", testClockSetBack},
		{"month", testMonth},
		{"balances of a month", testMonthly},
		{"entries", testEntries},
		{"entry filters", testEntryFilters},
		{"sums", testSums},
		{"hours", testHours},
		{"audit", testAudit},
		{"chain", testChain},
		{"records", testRecords},
		{"record versions", testRecordVersions},
		{"record lists", testRecordLists},
		{"record limits", testRecordLimits},
		{"race for a record", testRaceRecords},
		{"pruned ledger", testPruneLedger},
		{"pruned changes", testPruneChanges},
		{"pruning while charges continue", testPruneRace},
		{"closed", testClosed},
		{"ended context", testEndedContext},
		{"lost acknowledgement", testLostAcknowledgement},
		{"survival", testSurvival},
		{"race for the last credit", testRaceQuota},
		{"race for the last credit of a budget", testRaceBudget},
		{"race of duplicates", testRaceDuplicates},
		{"race of plan changes", testRacePlans},
		{"race of versions", testRaceVersions},
		{"race of cancels", testRaceCancel},
		{"model", testModel},
	}
	for _, part := range parts {
		if len(only) > 0 && !slices.Contains(only, part.name) {
			continue
		}
		t.Run(part.name, func(t *testing.T) {
			clock := NewClock()
			f := &fixture{t: t, clock: clock, store: newStore(t, clock)}
			t.Cleanup(func() { require.NoError(t, f.store.Close()) })
			part.test(t, f)
		})
	}
}

// fixture is a store under test with helper methods.
type fixture struct {
	t     *testing.T
	clock *Clock
	store metering.Store
	names atomic.Int64
}

func (f *fixture) ctx() context.Context { return f.t.Context() }

// name returns a new identifier with the prefix.
func (f *fixture) name(prefix string) string { return fmt.Sprintf("%s_%026d", prefix, f.names.Add(1)) }

// account creates an account.
func (f *fixture) account(plan metering.PlanID) metering.AccountID {
	f.t.Helper()
	a := metering.Account{ID: metering.AccountID(f.name("acc")), Name: "Example", Plan: plan, CreatedAt: f.clock.Now()}
	require.NoError(f.t, f.store.PutAccount(f.ctx(), a))
	return a.ID
}

// newKey returns a key that is not stored yet.
func (f *fixture) newKey(account metering.AccountID) metering.Key {
	id := f.name("key")
	return metering.Key{
		ID: metering.KeyID(id), Account: account, Name: "Example", Environment: metering.Live,
		Scopes: []metering.Scope{metering.DNSRead}, Hash: sha256.Sum256([]byte(id)),
		DisplayPrefix: "svc_live_abcdefgh", CreatedAt: f.clock.Now(),
	}
}

// key creates a key.
func (f *fixture) key(account metering.AccountID) metering.KeyID {
	f.t.Helper()
	k := f.newKey(account)
	require.NoError(f.t, f.store.PutKeys(f.ctx(), k))
	return k.ID
}

// customer creates an account with a key and returns an operation of it.
func (f *fixture) customer(plan metering.PlanID) metering.Op {
	f.t.Helper()
	account := f.account(plan)
	return metering.Op{Account: account, Key: f.key(account), Endpoint: "POST /public/v1/resolve", Credits: 1}
}

// op completes an operation as of now: a new request with its price.
func (f *fixture) op(customer metering.Op, credits int64) metering.Op {
	customer.RequestID = f.name("req")
	customer.Credits = credits
	customer.Now = f.clock.Now()
	customer.Lease = customer.Now.Add(time.Minute)
	return customer
}

// keyed adds an idempotency key and the fingerprint of a body.
func keyed(op metering.Op, key, body string) metering.Op {
	hash, fingerprint := sha256.Sum256([]byte(key)), sha256.Sum256([]byte(body))
	op.Idempotency, op.Fingerprint = &hash, &fingerprint
	return op
}

// begin expects a ticket.
func (f *fixture) begin(op metering.Op) metering.Ticket {
	f.t.Helper()
	begun, err := f.store.Begin(f.ctx(), op)
	require.NoError(f.t, err)
	require.Nil(f.t, begun.Replay)
	require.NotNil(f.t, begun.Ticket)
	return *begun.Ticket
}

// replay expects a replay.
func (f *fixture) replay(op metering.Op) metering.Replay {
	f.t.Helper()
	begun, err := f.store.Begin(f.ctx(), op)
	require.NoError(f.t, err)
	require.Nil(f.t, begun.Ticket)
	require.NotNil(f.t, begun.Replay)
	return *begun.Replay
}

// refused expects no ticket, and returns why.
func (f *fixture) refused(op metering.Op) error {
	f.t.Helper()
	begun, err := f.store.Begin(f.ctx(), op)
	require.Error(f.t, err)
	require.Equal(f.t, metering.Begun{}, begun)
	return err
}

// outcome is a success as of now with a reply of the text.
func (f *fixture) outcome(body string) metering.Outcome {
	return metering.Outcome{At: f.clock.Now(), Reply: &metering.Reply{
		Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Body: []byte(body),
	}}
}

// settle expects a charge.
func (f *fixture) settle(t metering.Ticket) metering.Balance {
	f.t.Helper()
	balance, err := f.store.Settle(f.ctx(), t, f.outcome("reply to "+t.RequestID))
	require.NoError(f.t, err)
	return balance
}

// spend begins and settles.
func (f *fixture) spend(customer metering.Op, credits int64) metering.Ticket {
	f.t.Helper()
	t := f.begin(f.op(customer, credits))
	f.settle(t)
	return t
}

// balance is that of this month.
func (f *fixture) balance(account metering.AccountID) metering.Balance {
	f.t.Helper()
	b, err := f.store.Balance(f.ctx(), account, metering.PeriodOf(f.clock.Now()))
	require.NoError(f.t, err)
	return b
}

// uses expects the used and held credits of this month.
func (f *fixture) uses(account metering.AccountID, used, held int64) {
	f.t.Helper()
	b := f.balance(account)
	require.Equal(f.t, used, b.Used, "used")
	require.Equal(f.t, held, b.Held, "held")
}

// entries returns the entries that a filter selects.
func (f *fixture) entries(filter metering.EntryFilter) []metering.Entry {
	f.t.Helper()
	var list []metering.Entry
	for e, err := range f.store.Entries(f.ctx(), filter) {
		require.NoError(f.t, err)
		list = append(list, e)
	}
	return list
}

// sound expects that the ledger agrees with every balance, and returns the sum of it.
func (f *fixture) sound() metering.Audit {
	f.t.Helper()
	audit, err := f.store.Audit(f.ctx())
	require.NoError(f.t, err)
	require.Empty(f.t, audit.Faults)
	return audit
}

// reopen closes and opens the store again, and reports whether it can.
func (f *fixture) reopen() bool {
	f.t.Helper()
	r, ok := f.store.(reopener)
	if ok {
		f.store = r.Reopen(f.t)
	}
	return ok
}
