package hold_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/internal/hold"
)

// source is a store of one account that has settled nothing, and of one reply.
type source struct {
	plan  metering.PlanID
	month error
	reply func() (hold.Record, error)
}

func (s *source) Account(_ context.Context, id metering.AccountID) (metering.Account, error) {
	if id != "acc_a" {
		return metering.Account{}, metering.ErrNotFound
	}
	return metering.Account{ID: id, Version: 1, Plan: s.plan}, nil
}

func (s *source) Month(context.Context, metering.AccountID, metering.Period) (hold.Month, error) {
	return hold.Month{}, s.month
}

func (s *source) Absent(hold.ClaimID) bool { return s.reply == nil }

func (s *source) Reply(context.Context, hold.ClaimID) (hold.Record, error) { return s.reply() }

var noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

func newBook(s *source) *hold.Book {
	s.plan = "free" // 30 credits
	return hold.New(hold.Config{
		Source: s, Plans: metering.DefaultPlans(), Clock: func() time.Time { return noon },
	})
}

func op(credits int64) metering.Op {
	return metering.Op{Account: "acc_a", Key: "key_a", Credits: credits, Now: noon, Lease: noon.Add(time.Minute)}
}

func keyed() metering.Op {
	o := op(1)
	o.RequestID = "req_second"
	o.Idempotency, o.Fingerprint = &[32]byte{1}, &[32]byte{2}
	return o
}

func begin(t *testing.T, b *hold.Book, o metering.Op) metering.Ticket {
	begun, err := b.Begin(t.Context(), o)
	require.NoError(t, err)
	require.NotNil(t, begun.Ticket)
	return *begun.Ticket
}

// TestRecordWrittenWhileLooking settles a duplicate between the read of the disk, which found nothing, and the claim:
// the second must not run.
func TestRecordWrittenWhileLooking(t *testing.T) {
	s := &source{}
	b := newBook(s)
	looks := 0
	s.reply = func() (hold.Record, error) {
		if looks++; looks == 1 {
			s.reply = nil
			first := begin(t, b, keyed())
			settling, err := b.Settle(first)
			require.NoError(t, err)
			settling.Done()
			s.reply = func() (hold.Record, error) {
				return hold.Record{RequestID: "req_first", Fingerprint: [32]byte{2}, Expires: noon.Add(time.Hour)}, nil
			}
			return hold.Record{}, metering.ErrNotFound // the state of the disk before
		}
		panic("unreachable")
	}
	begun, err := b.Begin(t.Context(), keyed())
	require.NoError(t, err)
	require.Nil(t, begun.Ticket)
	require.Equal(t, "req_first", begun.Replay.RequestID)
	require.Equal(t, int64(1), begun.Replay.Balance.Used)
}

// TestClaimTakenWhileLooking is the same with a duplicate that is still running.
func TestClaimTakenWhileLooking(t *testing.T) {
	s := &source{}
	b := newBook(s)
	s.reply = func() (hold.Record, error) {
		s.reply = nil
		begin(t, b, keyed())
		return hold.Record{}, metering.ErrNotFound
	}
	_, err := b.Begin(t.Context(), keyed())
	require.ErrorIs(t, err, metering.ErrInFlight)
}

func TestUndo(t *testing.T) {
	b := newBook(&source{})
	ticket := begin(t, b, op(30))
	settling, err := b.Settle(ticket)
	require.NoError(t, err)
	require.Equal(t, int64(30), settling.Credits)
	_, err = b.Settle(ticket)
	require.ErrorIs(t, err, metering.ErrLapsed, "it is being settled already")

	settling.Undo()
	settling, err = b.Settle(ticket)
	require.NoError(t, err)
	balance := settling.Done()
	require.Equal(t, [2]int64{30, 0}, [2]int64{balance.Used, balance.Held})
}

// A promise cancelled while it is being settled is released if nothing was charged, and only then.
func TestCancelWhileSettling(t *testing.T) {
	for _, charged := range []bool{false, true} {
		b := newBook(&source{})
		ticket := begin(t, b, keyed())
		settling, err := b.Settle(ticket)
		require.NoError(t, err)
		b.Cancel(ticket)
		_, err = b.Begin(t.Context(), keyed())
		require.ErrorIs(t, err, metering.ErrInFlight, "what is being settled may be charged yet")
		if charged {
			require.Equal(t, int64(1), settling.Done().Used)
			continue
		}
		settling.Undo()
		begun, err := b.Begin(t.Context(), keyed())
		require.NoError(t, err)
		require.NotNil(t, begun.Ticket)
		_, err = b.Settle(ticket)
		require.ErrorIs(t, err, metering.ErrLapsed)
	}
}

// TestSettlingDoesNotLapse sweeps long after the lease while the disk is slow.
func TestSettlingDoesNotLapse(t *testing.T) {
	now := noon
	s := &source{plan: "free"}
	b := hold.New(hold.Config{Source: s, Plans: metering.DefaultPlans(), Clock: func() time.Time { return now }})
	slow, undone := begin(t, b, op(10)), begin(t, b, op(5))
	settling, err := b.Settle(slow)
	require.NoError(t, err)
	other, err := b.Settle(undone)
	require.NoError(t, err)

	claimed, err := b.Settle(begin(t, b, keyed()))
	require.NoError(t, err)

	now = noon.Add(time.Hour)
	b.Sweep()
	_, err = b.Begin(t.Context(), keyed())
	require.ErrorIs(t, err, metering.ErrInFlight, "nor does its claim")
	claimed.Done()
	balance, err := b.Balance(t.Context(), "acc_a", metering.PeriodOf(now))
	require.NoError(t, err)
	require.Equal(t, int64(15), balance.Held)
	require.Equal(t, int64(11), settling.Done().Used)
	other.Undo()
	b.Sweep()
	balance, err = b.Balance(t.Context(), "acc_a", metering.PeriodOf(now))
	require.NoError(t, err)
	require.Equal(t, int64(0), balance.Held, "once undone, the lease counts again")
}

// TestMonthsInUseAreKept visits more months than are kept, while one has a promise.
func TestMonthsInUseAreKept(t *testing.T) {
	b := newBook(&source{})
	held := begin(t, b, op(7))
	for i := range 12 {
		later := op(1)
		later.Now = held.Period.Start().AddDate(0, i+1, 0)
		later.Lease = later.Now.Add(time.Minute)
		b.Cancel(begin(t, b, later))
	}
	balance, err := b.Balance(t.Context(), "acc_a", held.Period)
	require.NoError(t, err)
	require.Equal(t, int64(7), balance.Held)
	settling, err := b.Settle(held)
	require.NoError(t, err)
	require.Equal(t, int64(7), settling.Done().Used)
}

func TestOlderVersionIsIgnored(t *testing.T) {
	b := newBook(&source{})
	b.SetAccount(metering.Account{ID: "acc_a", Version: 3, Plan: "pack"})
	b.SetAccount(metering.Account{ID: "acc_a", Version: 2, Plan: "free"})
	balance, err := b.Balance(t.Context(), "acc_a", metering.PeriodOf(noon))
	require.NoError(t, err)
	require.Equal(t, metering.PlanID("pack"), balance.Plan)
}

func TestSourceErrors(t *testing.T) {
	broken := errors.New("the disk is gone")
	s := &source{month: broken}
	b := newBook(s)
	_, err := b.Begin(t.Context(), op(1))
	require.ErrorIs(t, err, broken)
	_, err = b.Balance(t.Context(), "acc_a", metering.PeriodOf(noon))
	require.ErrorIs(t, err, broken)
	s.month, s.reply = nil, func() (hold.Record, error) { return hold.Record{}, broken }
	_, err = b.Begin(t.Context(), keyed())
	require.ErrorIs(t, err, broken, "not knowing whether there is a reply is not knowing that there is none")
	s.reply = nil
	begin(t, b, keyed())
}

func Example() {
	book := newBook(&source{})
	begun, err := book.Begin(context.Background(), op(20))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = book.Begin(context.Background(), op(11))
	fmt.Println(err)

	settling, err := book.Settle(*begun.Ticket)
	if err != nil {
		fmt.Println(err)
		return
	}
	// Here the store makes the charge durable.
	balance := settling.Done()
	fmt.Println(balance.Used, "used,", balance.Remaining(), "left")

	// Output:
	// plan free: 20 of 30 credits are taken, 11 more were asked for
	// 20 used, 10 left
}

// A million promises that are cancelled or abandoned leave nothing held.
func TestCancelledPromisesLeaveNothing(t *testing.T) {
	now := noon
	s := &source{plan: "self"}
	b := hold.New(hold.Config{Source: s, Plans: metering.DefaultPlans(), Clock: func() time.Time { return now }})
	held := func() int64 {
		balance, err := b.Balance(t.Context(), "acc_a", metering.PeriodOf(noon))
		require.NoError(t, err)
		return balance.Held
	}
	promises := diagtest.Share(1_000_000, 5)
	for i := range promises {
		begun, err := b.Begin(t.Context(), op(3))
		if err != nil {
			t.Fatal(err)
		}
		if i%1000 != 0 {
			b.Cancel(*begun.Ticket)
		}
	}
	require.Equal(t, int64(promises/1000*3), held(), "what nobody finished is held until its lease ends")
	now = noon.Add(time.Minute)
	require.Zero(t, held())
}

// While the clock is in doubt no lease ends and no reply expires, whatever it says.
func TestDoubt(t *testing.T) {
	now, doubt := noon, error(nil)
	s := &source{plan: "free"}
	b := hold.New(hold.Config{
		Source: s, Plans: metering.DefaultPlans(), Clock: func() time.Time { return now }, Doubt: func() error { return doubt },
	})
	ticket := begin(t, b, op(10))
	kept := hold.Record{RequestID: "req_first", Fingerprint: *keyed().Fingerprint, Expires: noon.Add(time.Hour)}
	s.reply = func() (hold.Record, error) { return kept, nil }
	repeated := func() metering.Begun {
		o := keyed()
		o.Now, o.Lease = now, now.Add(time.Minute)
		begun, err := b.Begin(t.Context(), o)
		require.NoError(t, err)
		return begun
	}
	now, doubt = noon.Add(10*24*time.Hour), errors.New("it jumped")
	require.NotNil(t, repeated().Replay)
	b.Sweep()
	settling, err := b.Settle(ticket)
	require.NoError(t, err)
	settling.Done()
	doubt = nil
	require.NotNil(t, repeated().Ticket, "it has expired")
}
