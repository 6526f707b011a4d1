package meteringtest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
)

func testMonth(t *testing.T, f *fixture) {
	customer := f.customer(Tiny)
	january := metering.Period{Year: 2026, Month: time.January}
	february := metering.Period{Year: 2026, Month: time.February}
	f.clock.Set(february.Start().Add(-time.Microsecond))
	f.spend(customer, 4)
	over := f.begin(f.op(customer, 6))
	f.quotaError(f.op(customer, 1))

	late := f.op(customer, 1) // admitted before midnight, begun after it
	f.clock.Set(february.Start())
	require.Equal(t, january, over.Period)
	require.Equal(t, int64(10), f.quotaError(late).Current)
	f.spend(customer, 10)
	f.quotaError(f.op(customer, 1))
	balance := f.settle(over)
	require.Equal(t, january, balance.Period, "midnight does not move a request to the next month")
	require.Equal(t, int64(10), balance.Used)

	for _, p := range []metering.Period{january, february} {
		b, err := f.store.Balance(t.Context(), customer.Account, p)
		require.NoError(t, err)
		require.Equal(t, metering.Balance{Period: p, Plan: Tiny, Limit: 10, Used: 10, Charges: b.Charges}, b)
	}
	b, err := f.store.Balance(t.Context(), customer.Account, metering.Period{Year: 2025, Month: time.December})
	require.NoError(t, err)
	require.Zero(t, b.Used)

	// An instant counts by its UTC month, whatever the time zone.
	kiritimati := time.FixedZone("+14", 14*3600)
	f.clock.Set(time.Date(2026, 3, 1, 0, 30, 0, 0, kiritimati))
	f.quotaError(f.op(customer, 1))

	// A year passes, and the first month is unchanged.
	for range 12 {
		f.clock.Set(metering.PeriodOf(f.clock.Now()).End())
		f.spend(customer, 1)
	}
	f.reopen()
	b, err = f.store.Balance(t.Context(), customer.Account, january)
	require.NoError(t, err)
	require.Equal(t, int64(10), b.Used)
	f.clock.Set(january.End().Add(-time.Second))
	f.quotaError(f.op(customer, 1))
	f.sound()
}

func testEntries(t *testing.T, f *fixture) {
	customer := f.customer(Large)
	require.Empty(t, f.entries(metering.EntryFilter{}))
	const count = 9000 // more than any store reads at once
	tickets := make([]metering.Ticket, 0, count)
	for len(tickets) < count {
		f.clock.Advance(1234567 * time.Nanosecond)
		ops := make([]metering.Op, 1500)
		for i := range ops {
			ops[i] = f.op(customer, int64(i%7+1))
		}
		tickets = append(tickets, f.beginAll(ops)...)
	}
	at := f.clock.Now().Truncate(time.Microsecond)
	f.settleAll(tickets)
	list := f.entries(metering.EntryFilter{})
	require.Len(t, list, count)
	byRequest := make(map[string]metering.Ticket, count)
	for _, ticket := range tickets {
		byRequest[ticket.RequestID] = ticket
	}
	last := int64(0)
	for _, e := range list {
		ticket, ok := byRequest[e.RequestID]
		require.True(t, ok, "twice, or never asked for: %s", e.RequestID)
		delete(byRequest, e.RequestID)
		require.Greater(t, e.Seq, last)
		last = e.Seq
		require.Equal(t, metering.Entry{
			Seq: e.Seq, RequestID: ticket.RequestID, Account: customer.Account, Key: customer.Key,
			Endpoint: "POST /public/v1/resolve", Credits: ticket.Credits, Period: ticket.Period, At: at,
			Ceiling: Plans()[Large].Credits, Chain: e.Chain,
		}, e)
	}

	var paged []metering.Entry
	filter := metering.EntryFilter{Account: customer.Account, Limit: 700}
	for {
		page := f.entries(filter)
		if len(page) == 0 {
			break
		}
		require.LessOrEqual(t, len(page), 700)
		paged = append(paged, page...)
		filter.After = page[len(page)-1].Seq
	}
	require.NotNil(t, list[count-1].Chain)
	require.Equal(t, list, paged)

	newest := f.entries(metering.EntryFilter{Account: customer.Account, Newest: true})
	slices.Reverse(newest)
	require.Equal(t, list, newest)
	newest = f.entries(metering.EntryFilter{Newest: true})
	slices.Reverse(newest)
	require.Equal(t, list, newest)

	seen := 0
	for range f.store.Entries(t.Context(), metering.EntryFilter{}) {
		if seen++; seen == 1500 {
			break
		}
	}
	require.Equal(t, 1500, seen, "one may stop early")
	f.spend(customer, 1)
}

func testEntryFilters(t *testing.T, f *fixture) {
	a, b := f.customer(Large), f.customer(Large)
	c := a
	c.Key = f.key(a.Account)
	c.Endpoint = "GET /public/v1/spf/hosted/{id}"
	january := metering.PeriodOf(f.clock.Now())
	f.spend(a, 1)
	f.spend(b, 2)
	f.spend(c, 3)
	f.clock.Set(january.End())
	f.spend(a, 4)
	f.spend(b, 5)
	february := metering.PeriodOf(f.clock.Now())
	var requests []string
	var seqs []int64
	for _, e := range f.entries(metering.EntryFilter{}) {
		requests, seqs = append(requests, e.RequestID), append(seqs, e.Seq)
	}
	cases := []struct {
		name   string
		filter metering.EntryFilter
		want   []int64
	}{
		{"all", metering.EntryFilter{}, []int64{1, 2, 3, 4, 5}},
		{"limit", metering.EntryFilter{Limit: 2}, []int64{1, 2}},
		{"account", metering.EntryFilter{Account: a.Account}, []int64{1, 3, 4}},
		{"key", metering.EntryFilter{Key: c.Key}, []int64{3}},
		{"key of another account", metering.EntryFilter{Key: c.Key, Account: b.Account}, nil},
		{"period", metering.EntryFilter{Period: &february}, []int64{4, 5}},
		{"account and period", metering.EntryFilter{Account: b.Account, Period: &january}, []int64{2}},
		{"account and limit", metering.EntryFilter{Account: a.Account, Limit: 1}, []int64{1}},
		{"unknown account", metering.EntryFilter{Account: "acc_none"}, nil},
		{"unknown key", metering.EntryFilter{Key: "key_none"}, nil},
		{"newest", metering.EntryFilter{Newest: true}, []int64{5, 4, 3, 2, 1}},
		{"newest of an account", metering.EntryFilter{Newest: true, Account: a.Account}, []int64{4, 3, 1}},
		{"newest and limit", metering.EntryFilter{Newest: true, Account: a.Account, Limit: 2}, []int64{4, 3}},
		{"newest of a period", metering.EntryFilter{Newest: true, Account: a.Account, Period: &january}, []int64{3, 1}},
		{"request", metering.EntryFilter{RequestID: requests[1]}, []int64{2}},
		{"request of another account", metering.EntryFilter{RequestID: requests[1], Account: a.Account}, nil},
		{"endpoint", metering.EntryFilter{Endpoint: "spf/hosted/{"}, []int64{3}},
		{"endpoint and account", metering.EntryFilter{Endpoint: "resolve", Account: a.Account}, []int64{1, 4}},
		{"path", metering.EntryFilter{Path: "/resolve", Account: a.Account}, []int64{1, 4}},
		{"end of a path alone", metering.EntryFilter{Path: "/spf/hosted"}, nil},
		{"no pattern in a path", metering.EntryFilter{Path: "%resolve"}, nil},
		{"since", metering.EntryFilter{Since: january.End()}, []int64{4, 5}},
		{"since, to the nanosecond", metering.EntryFilter{Since: january.End().Add(1)}, nil},
		{"since, the newest", metering.EntryFilter{Since: january.End(), Newest: true, Account: a.Account}, []int64{4}},
		{"since and after", metering.EntryFilter{Since: january.Start(), After: seqs[3]}, []int64{5}},
		{"no pattern", metering.EntryFilter{Endpoint: "s%t"}, nil},
		{"before", metering.EntryFilter{Before: january.End()}, []int64{1, 2, 3}},
		{"before, to the nanosecond", metering.EntryFilter{Before: january.End().Add(1)}, []int64{1, 2, 3, 4, 5}},
		{"newest before", metering.EntryFilter{Newest: true, Before: january.End(), Limit: 1}, []int64{3}},
		{"empty period", metering.EntryFilter{Period: &metering.Period{Year: 1999, Month: 1}}, nil},
	}
	for _, c := range cases {
		var got []int64
		for _, e := range f.entries(c.filter) {
			got = append(got, e.Credits)
		}
		require.Equal(t, c.want, got, c.name)
	}
	all := f.entries(metering.EntryFilter{})
	require.Equal(t, "GET /public/v1/spf/hosted/{id}", all[2].Endpoint)
	require.Equal(t, all[2:], f.entries(metering.EntryFilter{After: all[1].Seq}))
	require.Empty(t, f.entries(metering.EntryFilter{After: all[4].Seq}))
}

func testAudit(t *testing.T, f *fixture) {
	require.Equal(t, metering.Audit{}, f.sound())
	a, b := f.customer(Tiny), f.customer(Large)
	f.spend(a, 4)
	f.spend(b, 1000)
	f.begin(f.op(a, 2)) // a hold is no charge
	require.Equal(t, metering.Audit{Accounts: 2, Entries: 2, Credits: 1004}, f.sound())

	stranger := a
	stranger.Key = "key_unknown"
	f.spend(stranger, 1)
	audit, err := f.store.Audit(t.Context())
	require.NoError(t, err)
	require.Len(t, audit.Faults, 1)
	require.Equal(t, a.Account, audit.Faults[0].Account)
	require.Equal(t, metering.PeriodOf(f.clock.Now()), audit.Faults[0].Period)
	require.Contains(t, audit.Faults[0].Detail, "key_unknown")
}

func testSurvival(t *testing.T, f *fixture) {
	customer := f.customer(Tiny)
	f.settle(f.begin(keyed(f.op(customer, 3), "k", "body")))
	f.spend(customer, 2)
	entries := f.entries(metering.EntryFilter{})
	account, err := f.store.Account(t.Context(), customer.Account)
	require.NoError(t, err)
	key, err := f.store.Key(t.Context(), customer.Key)
	require.NoError(t, err)
	ticket := f.begin(f.op(customer, 1))
	if !f.reopen() {
		t.Log("the store does not outlive its process: there is nothing to test")
		return
	}

	require.Equal(t, entries, f.entries(metering.EntryFilter{}))
	got, err := f.store.Account(t.Context(), customer.Account)
	require.NoError(t, err)
	require.Equal(t, account, got)
	gotKey, err := f.store.KeyByHash(t.Context(), key.Hash)
	require.NoError(t, err)
	require.Equal(t, key, gotKey)
	require.Equal(t, int64(5), f.balance(customer.Account).Used)
	replay := f.replay(keyed(f.op(customer, 3), "k", "body"))
	require.Equal(t, "reply to "+entries[0].RequestID, string(replay.Reply.Body))
	require.ErrorIs(t, f.refused(keyed(f.op(customer, 3), "k", "other")), metering.ErrMismatch)

	// Whether a hold survives is the store's affair, but a ticket is honored at most once.
	if _, err := f.store.Settle(t.Context(), ticket, f.outcome("")); err != nil {
		require.ErrorIs(t, err, metering.ErrLapsed)
		f.spend(customer, 1)
	}
	f.clock.Advance(metering.ClaimLease)
	f.spend(customer, 4)
	f.quotaError(f.op(customer, 1))
	f.clock.Advance(metering.ReplayWindow)
	f.reopen()
	f.quotaError(f.op(customer, 1))
	require.Equal(t, int64(10), f.sound().Credits)
}

// testMonthly reads the balances of all accounts at once, if the store can, and only the charges with overage.
func testMonthly(t *testing.T, f *fixture) {
	settled, held, idle, early := f.customer(flex), f.customer(Tiny), f.customer(Tiny), f.customer(Tiny)
	f.spend(early, 1)
	f.clock.Set(metering.PeriodOf(f.clock.Now()).End())
	p := metering.PeriodOf(f.clock.Now())
	f.change(settled.Account, func(a *metering.Account) { a.OverageEnabled = true })
	f.spend(settled, 95)
	f.spend(settled, 20)
	f.begin(f.op(settled, 2))
	f.begin(f.op(held, 3))
	charges := f.entries(metering.EntryFilter{Account: settled.Account, Period: &p, Overage: true})
	require.Len(t, charges, 1)
	require.Equal(t, [2]int64{20, 15}, [2]int64{charges[0].Credits, charges[0].Overage})

	store, ok := f.store.(metering.Monthly)
	if !ok {
		return
	}
	got := map[metering.AccountID]metering.Balance{}
	for b, err := range store.Balances(t.Context(), p) {
		require.NoError(t, err)
		require.NotContains(t, got, b.Account)
		got[b.Account] = b.Balance
	}
	want := map[metering.AccountID]metering.Balance{}
	for _, id := range []metering.AccountID{settled.Account, held.Account} {
		b, err := f.store.Balance(t.Context(), id, p)
		require.NoError(t, err)
		b.Plan, b.Limit = "", 0
		want[id] = b
	}
	require.Equal(t, want, got)
	require.NotContains(t, got, idle.Account)
}
