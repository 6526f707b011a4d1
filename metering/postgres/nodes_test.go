package postgres_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/postgres"
)

// server is one of several stores on one schema.
type server struct {
	reopening
	clock *meteringtest.Clock
}

// servers opens stores on one schema, each with a separate clock, and creates an account with a key.
func servers(t *testing.T, n int, plan metering.PlanID) ([]server, metering.Op) {
	text := newSchema(t)
	list := make([]server, n)
	for i := range list {
		clock := meteringtest.NewClock()
		list[i] = server{openTest(t, text, postgres.Config{Plans: meteringtest.Plans(), Clock: clock.Now}), clock}
		t.Cleanup(func() { require.NoError(t, list[i].Close()) })
	}
	op := metering.Op{
		Account: "acc_example", Key: "key_example", Endpoint: "POST /x", RequestID: "req_example", Credits: 1,
	}
	require.NoError(t, list[0].PutAccount(t.Context(), metering.Account{ID: op.Account, Plan: plan}))
	require.NoError(t, list[0].PutKeys(t.Context(), metering.Key{ID: op.Key, Account: op.Account, Hash: [32]byte{1}}))
	return list, op
}

// begin begins an operation as of now, with an idempotency key if there is one.
func (s server) begin(op metering.Op, key byte) (metering.Begun, error) {
	op.Now = s.clock.Now()
	op.Lease = op.Now.Add(time.Minute)
	if key != 0 {
		op.Idempotency, op.Fingerprint = &[32]byte{key}, &[32]byte{key}
	}
	return s.Begin(context.Background(), op)
}

func (s server) settle(ticket metering.Ticket) error {
	reply := &metering.Reply{Status: 200, Body: []byte("reply")}
	_, err := s.Settle(context.Background(), ticket, metering.Outcome{At: s.clock.Now(), Reply: reply})
	return err
}

// TestServersShareCap lets goroutines on three servers compete for a prime number of credits.
func TestServersShareCap(t *testing.T) {
	list, op := servers(t, 3, meteringtest.Prime)
	var sold atomic.Int64
	var wg sync.WaitGroup
	for i := range 96 {
		wg.Go(func() {
			s, dice := list[i%len(list)], rand.New(rand.NewPCG(1, uint64(i)))
			for refusals := 0; refusals < 3; {
				op := op
				op.Credits = 1 + dice.Int64N(30)
				if dice.IntN(4) == 0 { // decided under the lock, concurrently with those granted in one statement
					var hash [32]byte
					binary.LittleEndian.PutUint64(hash[:], dice.Uint64())
					op.Idempotency, op.Fingerprint = &hash, &hash
				}
				begun, err := s.begin(op, 0)
				switch {
				case errors.As(err, new(*metering.QuotaError)):
					refusals++
				case !assert.NoError(t, err):
					return
				case dice.IntN(8) == 0:
					assert.NoError(t, list[dice.IntN(len(list))].Cancel(t.Context(), *begun.Ticket), "by any server")
				default:
					if assert.NoError(t, list[dice.IntN(len(list))].settle(*begun.Ticket)) {
						sold.Add(op.Credits)
					}
				}
			}
		})
	}
	wg.Wait()
	for {
		begun, err := list[0].begin(op, 0)
		if err != nil {
			require.ErrorAs(t, err, new(*metering.QuotaError))
			break
		}
		require.NoError(t, list[1].settle(*begun.Ticket))
		sold.Add(1)
	}
	require.Equal(t, int64(10007), sold.Load(), "never above, and never below")
	audit, err := list[2].Audit(t.Context())
	require.NoError(t, err)
	require.Empty(t, audit.Faults)
	require.Equal(t, int64(10007), audit.Credits)
}

// What one server remembers of an account's terms is worth nothing once another has changed them.
func TestServersShareTerms(t *testing.T) {
	list, op := servers(t, 2, meteringtest.Large)
	limits := meteringtest.Plans()
	busy := func(want int64) {
		t.Helper()
		for used := int64(0); ; used++ {
			begun, err := list[0].begin(op, 0)
			if want < 0 && used == 5 {
				return
			}
			if quota := new(metering.QuotaError); errors.As(err, &quota) {
				require.Equal(t, want, quota.Limit)
				return
			}
			require.NoError(t, err)
			require.NoError(t, list[0].settle(*begun.Ticket))
		}
	}
	put := func(plan metering.PlanID) {
		t.Helper()
		a, err := list[1].Account(t.Context(), op.Account)
		require.NoError(t, err)
		a.Plan = plan
		require.NoError(t, list[1].PutAccount(t.Context(), a))
	}
	busy(-1)
	put(meteringtest.Tiny)
	busy(limits[meteringtest.Tiny].Credits)
	put(meteringtest.Large)
	busy(-1)
}

func TestServersShareClaims(t *testing.T) {
	list, op := servers(t, 2, meteringtest.Large)
	for key := range byte(20) {
		var ran, replayed atomic.Int64
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				for s := list[i%2]; ; {
					begun, err := s.begin(op, key+1)
					switch {
					case errors.Is(err, metering.ErrInFlight):
						continue
					case !assert.NoError(t, err):
					case begun.Replay != nil:
						replayed.Add(1)
					default:
						ran.Add(1)
						assert.NoError(t, list[(i+1)%2].settle(*begun.Ticket))
					}
					return
				}
			})
		}
		wg.Wait()
		require.Equal(t, [2]int64{1, 15}, [2]int64{ran.Load(), replayed.Load()})
	}
}

// TestDeadServer lets a server go silent while it holds credits and a claim. When its lease has ended on another, that
// sells them again, and the first is refused, even if its clock is behind.
func TestDeadServer(t *testing.T) {
	list, op := servers(t, 2, meteringtest.Tiny)
	silent, other := list[0], list[1]
	op.Credits = 10
	begun, err := silent.begin(op, 1)
	require.NoError(t, err)
	_, err = other.begin(op, 1)
	require.ErrorIs(t, err, metering.ErrInFlight)
	_, err = other.begin(op, 0)
	require.ErrorAs(t, err, new(*metering.QuotaError))

	other.clock.Advance(time.Minute)
	again, err := other.begin(op, 1)
	require.NoError(t, err)
	require.ErrorIs(t, silent.settle(*begun.Ticket), metering.ErrLapsed)
	require.NoError(t, other.settle(*again.Ticket))

	// A late Settle that comes first wins, and the credits are not sold again.
	op.Credits = 1
	_, err = other.begin(op, 0)
	require.ErrorAs(t, err, new(*metering.QuotaError))
	audit, err := other.Audit(t.Context())
	require.NoError(t, err)
	require.Empty(t, audit.Faults)
	require.Equal(t, int64(10), audit.Credits)
}

// TestCrashOfPostgreSQL empties what PostgreSQL empties after a crash: promises are gone, charges are not.
func TestCrashOfPostgreSQL(t *testing.T) {
	list, op := servers(t, 1, meteringtest.Tiny)
	s := list[0]
	settled, err := s.begin(op, 1)
	require.NoError(t, err)
	require.NoError(t, s.settle(*settled.Ticket))
	op.Credits = 5
	lost, err := s.begin(op, 2)
	require.NoError(t, err)
	execute(t, s.url, "TRUNCATE admissions, taken, holds")
	require.ErrorIs(t, s.settle(*lost.Ticket), metering.ErrLapsed)
	replay, err := s.begin(op, 1)
	require.NoError(t, err)
	require.NotNil(t, replay.Replay)
	op.Credits = 10
	_, err = s.begin(op, 0)
	require.ErrorAs(t, err, new(*metering.QuotaError), "what is charged still counts")
	op.Credits = 9
	begun, err := s.begin(op, 2)
	require.NoError(t, err)
	require.NoError(t, s.settle(*begun.Ticket))
}

// TestRevocation revokes a key on one server, and directly in the database: a second server learns of it by a
// notification, a third, without notifications, by polling.
func TestRevocation(t *testing.T) {
	text := newSchema(t)
	config := postgres.Config{Plans: meteringtest.Plans()}
	first, looking := openTest(t, text, config), openTest(t, text, config)
	told := openTest(t, text, config.Polling(time.Hour))
	for _, s := range []reopening{first, told, looking} {
		defer func() { require.NoError(t, s.Close()) }()
	}
	k := metering.Key{ID: "key_example", Account: "acc_example", Hash: [32]byte{1}}
	require.NoError(t, first.PutAccount(t.Context(), metering.Account{ID: k.Account, Plan: meteringtest.Tiny}))
	require.NoError(t, first.PutKeys(t.Context(), k))
	rises := func(s reopening, change func()) time.Duration {
		t.Helper()
		for c, err := range s.Watch(t.Context(), 1) {
			require.NoError(t, err)
			require.Equal(t, k.ID, c.Key)
			break // a watcher that was notified sees the change
		}
		before, start := s.Generation(), time.Now()
		change()
		require.Eventually(t, func() bool { return s.Generation() > before }, time.Minute, time.Millisecond)
		return time.Since(start)
	}
	took := rises(told, func() {
		k.Version++
		now := time.Now()
		k.RevokedAt, k.RevokedReason = &now, metering.RevokedManual
		require.NoError(t, first.PutKeys(t.Context(), k))
	})
	t.Log("notified after", took)
	got, err := told.KeyByHash(t.Context(), k.Hash)
	require.NoError(t, err)
	require.NotNil(t, got.RevokedAt)
	took = rises(looking, func() {
		execute(t, text, "INSERT INTO changes (seq, key, account) SELECT max(seq) + 1, 'key_example', '' FROM changes")
	})
	t.Log("found after", took)
}

// TestSweep removes what lapsed and expired of accounts at rest.
func TestSweep(t *testing.T) {
	list, op := servers(t, 1, meteringtest.Large)
	s := list[0]
	for key := range byte(5) {
		begun, err := s.begin(op, key+1)
		require.NoError(t, err)
		if key > 0 {
			require.NoError(t, s.settle(*begun.Ticket))
		}
	}
	count := func(what string) (n int64) {
		t.Helper()
		return queryInt(t, s.url, "SELECT "+what)
	}
	s.SweepAll()
	require.Equal(t, int64(4), count("count(*) FROM replies"))
	require.Equal(t, int64(20), count("sum(bytes)::bigint FROM lines"))
	require.Equal(t, int64(5), count("sum(credits)::bigint FROM taken"))
	s.clock.Advance(metering.ReplayWindow)
	s.SweepAll()
	require.Zero(t, count("count(*) FROM replies"))
	require.Zero(t, count("sum(bytes)::bigint FROM lines"))
	require.Zero(t, count("count(*) FROM holds"))
	require.Equal(t, int64(4), count("sum(credits)::bigint FROM taken"))
}
