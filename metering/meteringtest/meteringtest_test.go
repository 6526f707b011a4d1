package meteringtest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/diagkit/diagkit/metering/meteringtest"
)

var errBroken = errors.New("broken")

// TestFaultyIsAStore runs the suite through a wrapper that has no faults.
func TestFaultyIsAStore(t *testing.T) {
	meteringtest.TestStore(t, func(_ *testing.T, clock *meteringtest.Clock) metering.Store {
		return meteringtest.Faulty(memory.New(memory.Config{Plans: meteringtest.Plans(), Clock: clock.Now}))
	})
}

func TestFaults(t *testing.T) {
	account := metering.Account{ID: "acc_a", Plan: meteringtest.Tiny}
	key := metering.Key{ID: "key_a", Account: "acc_a"}
	record := metering.Record{Account: "acc_a", Kind: "note", ID: "a", Body: []byte("a")}
	clock := meteringtest.NewClock()
	op := metering.Op{Account: "acc_a", Key: "key_a", Credits: 1, Now: clock.Now(), Lease: clock.Now().Add(time.Minute)}
	calls := map[meteringtest.Call]func(s metering.Store, t metering.Ticket) error{
		meteringtest.Begin: func(s metering.Store, _ metering.Ticket) error {
			_, err := s.Begin(t.Context(), op)
			return err
		},
		meteringtest.Settle: func(s metering.Store, ticket metering.Ticket) error {
			_, err := s.Settle(t.Context(), ticket, metering.Outcome{At: clock.Now()})
			return err
		},
		meteringtest.Cancel: func(s metering.Store, ticket metering.Ticket) error { return s.Cancel(t.Context(), ticket) },
		meteringtest.Balance: func(s metering.Store, _ metering.Ticket) error {
			_, err := s.Balance(t.Context(), "acc_a", metering.PeriodOf(clock.Now()))
			return err
		},
		meteringtest.Account: func(s metering.Store, _ metering.Ticket) error {
			_, err := s.Account(t.Context(), "acc_a")
			return err
		},
		meteringtest.PutAccount: func(s metering.Store, _ metering.Ticket) error {
			return s.PutAccount(t.Context(), metering.Account{ID: "acc_b"})
		},
		meteringtest.Key: func(s metering.Store, _ metering.Ticket) error {
			_, err := s.Key(t.Context(), "key_a")
			return err
		},
		meteringtest.KeyByHash: func(s metering.Store, _ metering.Ticket) error {
			_, err := s.KeyByHash(t.Context(), [32]byte{})
			return err
		},
		meteringtest.PutKeys: func(s metering.Store, _ metering.Ticket) error {
			return s.PutKeys(t.Context(), metering.Key{ID: "key_b", Account: "acc_a", Hash: [32]byte{1}})
		},
		meteringtest.PutRecords: func(s metering.Store, _ metering.Ticket) error {
			return s.PutRecords(t.Context(), metering.Record{Account: "acc_a", Kind: "note", ID: "b", Body: []byte("b")})
		},
		meteringtest.GetRecord: func(s metering.Store, _ metering.Ticket) error {
			_, err := s.Record(t.Context(), "acc_a", "note", "a")
			return err
		},
		meteringtest.Records: func(s metering.Store, _ metering.Ticket) error {
			for _, err := range s.Records(t.Context(), metering.RecordFilter{Kind: "note"}) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		meteringtest.Watch: func(s metering.Store, _ metering.Ticket) error {
			for _, err := range s.Watch(t.Context(), 1) {
				if err != nil {
					return err
				}
				break
			}
			return nil
		},
	}
	for call, do := range calls {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s after=%v", call, after), func(t *testing.T) {
				inner := memory.New(memory.Config{Plans: meteringtest.Plans(), Clock: clock.Now})
				defer inner.Close()
				require.NoError(t, inner.PutAccount(t.Context(), account))
				require.NoError(t, inner.PutKeys(t.Context(), key))
				require.NoError(t, inner.PutRecords(t.Context(), record))
				begun, err := inner.Begin(t.Context(), op)
				require.NoError(t, err)
				s := meteringtest.Faulty(inner, meteringtest.Fault{Call: call, Times: 1, After: after, Err: errBroken})
				if call != meteringtest.Watch || !after {
					require.ErrorIs(t, do(s, *begun.Ticket), errBroken)
					require.Equal(t, 1, s.Calls(call))
				}
				s.Inject(meteringtest.Fault{Call: call, Err: errBroken})
				s.Heal()
				// Whatever had its effect cannot have it twice.
				err = do(s, *begun.Ticket)
				switch {
				case after && call == meteringtest.Settle:
					require.ErrorIs(t, err, metering.ErrLapsed)
				case after && (call == meteringtest.PutKeys || call == meteringtest.PutAccount ||
					call == meteringtest.PutRecords):
					require.ErrorIs(t, err, metering.ErrVersion)
				default:
					require.NoError(t, err)
				}
			})
		}
	}
}

func TestFaultsAreCounted(t *testing.T) {
	inner := memory.New(memory.Config{})
	defer inner.Close()
	s := meteringtest.Faulty(inner, meteringtest.Fault{Call: meteringtest.PutAccount, Times: 2, Err: errBroken})
	put := func() error { return s.PutAccount(t.Context(), metering.Account{ID: "acc_a"}) }
	require.ErrorIs(t, put(), errBroken)
	require.ErrorIs(t, put(), errBroken)
	require.NoError(t, put())
	s.Inject(meteringtest.Fault{Call: meteringtest.Account, Err: errBroken})
	for range 5 {
		_, err := s.Account(t.Context(), "acc_a")
		require.ErrorIs(t, err, errBroken)
	}
}

// A dead store does nothing more, for any call.
func TestDie(t *testing.T) {
	for _, done := range []bool{false, true} {
		inner := memory.New(memory.Config{})
		defer inner.Close()
		s := meteringtest.Faulty(inner)
		s.Die(1, done, errBroken)
		require.NoError(t, s.PutAccount(t.Context(), metering.Account{ID: "acc_a"}))
		require.ErrorIs(t, s.PutAccount(t.Context(), metering.Account{ID: "acc_b"}), errBroken)
		require.ErrorIs(t, s.PutAccount(t.Context(), metering.Account{ID: "acc_c"}), errBroken)
		_, err := s.Accounts(t.Context())
		require.ErrorIs(t, err, errBroken)
		left, err := inner.Accounts(t.Context())
		require.NoError(t, err)
		require.Len(t, left, map[bool]int{false: 1, true: 2}[done])
	}
}

func TestWatchBreaks(t *testing.T) {
	inner := memory.New(memory.Config{})
	defer inner.Close()
	require.NoError(t, inner.PutAccount(t.Context(), metering.Account{ID: "acc_a"}))
	require.NoError(t, inner.PutAccount(t.Context(), metering.Account{ID: "acc_b"}))
	s := meteringtest.Faulty(inner, meteringtest.Fault{Call: meteringtest.Watch, After: true, Err: errBroken})
	var seen []metering.AccountID
	var last error
	for c, err := range s.Watch(t.Context(), 1) {
		if last = err; err == nil {
			seen = append(seen, c.Account)
		}
	}
	require.Equal(t, []metering.AccountID{"acc_b"}, seen)
	require.ErrorIs(t, last, errBroken)
}

// Example makes a store lose the acknowledgement of a charge.
func Example() {
	ctx := context.Background()
	clock := meteringtest.NewClock()
	store := meteringtest.Faulty(memory.New(memory.Config{Plans: meteringtest.Plans(), Clock: clock.Now}))
	defer store.Close()
	if err := store.PutAccount(ctx, metering.Account{ID: "acc_example", Plan: meteringtest.Tiny}); err != nil {
		fmt.Println(err)
		return
	}
	begun, err := store.Begin(ctx, metering.Op{
		Account: "acc_example", Credits: 3, Now: clock.Now(), Lease: clock.Now().Add(time.Minute),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	store.Inject(meteringtest.Fault{
		Call: meteringtest.Settle, Times: 1, After: true, Err: errors.New("the connection broke"),
	})
	_, err = store.Settle(ctx, *begun.Ticket, metering.Outcome{At: clock.Now()})
	fmt.Println(err)
	balance, err := store.Balance(ctx, "acc_example", metering.PeriodOf(clock.Now()))
	fmt.Println(balance.Used, "credits were charged", err)

	// Output:
	// the connection broke
	// 3 credits were charged <nil>
}
