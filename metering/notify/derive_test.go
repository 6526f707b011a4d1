package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const day = 24 * time.Hour

// The events of a key over its lifetime.
func TestKeyEvents(t *testing.T) {
	type step struct {
		after time.Duration // since the step before
		act   func(*world)
		want  []metering.EventType
	}
	var key metering.Key
	create := func(life time.Duration) func(*world) {
		return func(w *world) {
			var expires *time.Time
			if life > 0 {
				expires = new(w.clock.Now().Add(life))
			}
			key, _ = w.key(expires)
		}
	}
	rotate := func(grace time.Duration) func(*world) { return func(w *world) { w.rotate(key.ID, grace) } }
	revoke := func(w *world) {
		_, err := w.admin.RevokeKey(context.Background(), key.ID, "")
		require.NoError(w, err)
	}
	nothing := func(*world) {}
	created, rotated, graceEnded := metering.EventKeyCreated, metering.EventKeyRotated, metering.EventKeyGraceEnded
	revoked, soon, expired := metering.EventKeyRevoked, metering.EventKeyExpiresSoon, metering.EventKeyExpired
	tests := []struct {
		name  string
		steps []step
	}{
		{"a life of ten days", []step{
			{0, create(10 * day), []metering.EventType{created}},
			{3*day - 1, nothing, nil},
			{1, nothing, []metering.EventType{soon}},
			{6 * day, nothing, []metering.EventType{soon}},
			{day, nothing, []metering.EventType{expired}},
			{day, nothing, nil},
		}},
		{"a short life has no notice that lies before its creation", []step{
			{0, create(2 * day), []metering.EventType{created}},
			{day, nothing, []metering.EventType{soon}},
			{day, nothing, []metering.EventType{expired}},
		}},
		{"notices that were missed are no news", []step{
			{0, create(8 * day), []metering.EventType{created}},
			{7*day + time.Hour, nothing, []metering.EventType{soon}},
		}},
		{"nor is any of them when the key has expired", []step{
			{0, create(2 * day), []metering.EventType{created}},
			{3 * day, nothing, []metering.EventType{expired}},
		}},
		{"rotation", []step{
			{0, create(0), []metering.EventType{created}},
			{day, rotate(time.Hour), []metering.EventType{rotated}},
			{time.Hour - 1, nothing, nil},
			{1, nothing, []metering.EventType{graceEnded}},
		}},
		{"rotation without grace", []step{
			{0, create(0), []metering.EventType{created}},
			{day, rotate(0), []metering.EventType{rotated, graceEnded}},
		}},
		{"the old key of a rotation gives no notice of its expiry, the new one does", []step{
			{0, create(10 * day), []metering.EventType{created}},
			{day, rotate(30 * day), []metering.EventType{rotated}},
			{2 * day, nothing, []metering.EventType{soon}},
			{7 * day, nothing, []metering.EventType{expired, expired}},
		}},
		{"revoked in its grace", []step{
			{0, create(0), []metering.EventType{created}},
			{day, rotate(time.Hour), []metering.EventType{rotated}},
			{0, revoke, []metering.EventType{revoked}},
			{time.Hour, nothing, nil},
		}},
		{"revoked before its expiry", []step{
			{0, create(8 * day), []metering.EventType{created}},
			{0, revoke, []metering.EventType{revoked}},
			{8 * day, nothing, nil},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.channel("a")
			for i, s := range tt.steps {
				w.clock.Advance(s.after)
				s.act(w)
				assert.ElementsMatch(t, s.want, types(t, w.pump()), "step %d", i)
				w.deriver = &Deriver{Store: w.store, Clock: w.clock.Now} // another node, or the same after a restart
				assert.Empty(t, w.pump(), "step %d, once more", i)
			}
		})
	}
}

// The rotation of one key of many is reported even if its successor is far behind it in the list.
func TestEventsOfManyKeys(t *testing.T) {
	w := newWorld(t)
	w.channel("a")
	var keys []metering.Key
	for i := range 2*keyBatchSize + 1 {
		keys = append(keys, metering.Key{
			ID: metering.KeyID(fmt.Sprintf("key_%026d", i)), Account: w.account.ID, Name: "many", Environment: metering.Live,
			Scopes: metering.Scopes(), Hash: [32]byte{byte(i), byte(i >> 8)}, CreatedAt: w.clock.Now().Add(-2 * horizon),
		})
	}
	require.NoError(t, w.store.PutKeys(t.Context(), keys...))
	require.Empty(t, w.pump())
	w.rotate(keys[0].ID, time.Hour)
	w.rotate(keys[keyBatchSize].ID, time.Hour)
	rotated := metering.EventKeyRotated
	require.Equal(t, []metering.EventType{rotated, rotated}, types(t, w.pump()))
	w.clock.Advance(time.Hour)
	require.Len(t, w.pump(), 2)
}

// percents returns the thresholds that the requests report.
func percents(t *testing.T, list []received) (percents []int) {
	for _, r := range list {
		var f facts
		require.NoError(t, json.Unmarshal(r.body(t).Data, &f))
		percents = append(percents, f.Percent)
	}
	return percents
}

func TestUsageThresholds(t *testing.T) {
	w := newWorld(t)
	_, secret := w.key(nil)
	require.NoError(t, w.charge(secret, 26_000)) // before there is a channel
	w.clock.Advance(time.Minute)
	w.channel("a")
	assert.Empty(t, w.pump(), "what had been used is no news")
	charge := func(credits int64) []int {
		require.NoError(t, w.charge(secret, credits))
		return percents(t, w.pump())
	}
	assert.Empty(t, charge(13_999))
	assert.Equal(t, []int{80}, charge(1), "exactly 80 percent")
	assert.Empty(t, charge(4_999))
	assert.Equal(t, []int{100}, charge(5_001), "the highest of two")
	w.clock.Set(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC))
	assert.Empty(t, w.pump())
	assert.Equal(t, []int{50}, charge(25_000), "the next month")
	w.set(func(a *metering.Account) { a.Plan = "agency" })
	assert.Empty(t, w.pump())
	assert.Equal(t, []int{50}, charge(475_000), "a larger plan has thresholds of its own")
}

// A charge that was admitted before midnight and settled after it counts for the old month, and is reported.
func TestLateSettlement(t *testing.T) {
	w := newWorld(t)
	w.channel("a")
	_, secret := w.key(nil)
	w.pump()
	w.clock.Set(time.Date(2026, 1, 31, 23, 59, 59, 0, time.UTC))
	c, err := w.gate.Admit(t.Context(), secret.Reveal(), anywhere, w.clock.Now())
	require.NoError(t, err)
	begun, err := w.gate.Begin(t.Context(), c,
		metering.Op{RequestID: "r", Endpoint: "x", Credits: 40_000, Now: w.clock.Now()})
	require.NoError(t, err)
	w.clock.Advance(time.Minute)
	assert.Empty(t, w.pump())
	_, err = w.gate.Settle(t.Context(), *begun.Ticket, metering.Outcome{At: w.clock.Now()})
	require.NoError(t, err)
	got := w.pump()
	require.Equal(t, []int{80}, percents(t, got))
	assert.Contains(t, got[0].text, `"period":"2026-01"`)
}

func TestBudget(t *testing.T) {
	w := newWorld(t)
	w.set(func(a *metering.Account) { a.OverageEnabled, a.OverageBudgetCents = true, new(int64(1000)) }) // 10,000 credits
	_, secret := w.key(nil)
	w.channel("a")
	w.pump()
	charge := func(credits int64) []metering.EventType {
		require.NoError(t, w.charge(secret, credits))
		return types(t, w.pump())
	}
	threshold, reached := metering.EventBudgetThreshold, metering.EventBudgetReached
	assert.Equal(t, []metering.EventType{metering.EventUsageThreshold}, charge(50_000))
	assert.Equal(t, []metering.EventType{metering.EventOverageStarted}, charge(1))
	assert.Empty(t, charge(7_998))
	assert.Equal(t, []metering.EventType{threshold}, charge(1))
	assert.Empty(t, charge(1_995))
	_, ok := w.charge(secret, 6).(*metering.QuotaError)
	require.True(t, ok)
	assert.ElementsMatch(t, []metering.EventType{metering.EventQuotaExceeded, reached}, types(t, w.pump()),
		"the last credits are too few for the request")
	assert.Empty(t, charge(5), "reached to the credit, and told before")
	w.set(func(a *metering.Account) { a.OverageBudgetCents = new(int64(2000)) })
	assert.Empty(t, w.pump())
	assert.Equal(t, []metering.EventType{threshold}, charge(6_000), "a larger budget")
	assert.Equal(t, []metering.EventType{reached}, charge(4_000))
}

// Refusals for quota are reported once a month, and those for rate once per key and hour, however many there are.
func TestRefusals(t *testing.T) {
	w := newWorld(t)
	w.channel("a")
	_, one := w.key(nil)
	_, two := w.key(nil)
	w.pump()
	flood := func(secret metering.Secret) {
		for range 500 {
			_ = w.charge(secret, 1)
		}
	}
	limited := []metering.EventType{metering.EventRateLimited}
	flood(one)
	assert.Equal(t, limited, types(t, w.pump()))
	flood(one)
	assert.Empty(t, w.pump())
	flood(two)
	assert.Equal(t, limited, types(t, w.pump()), "another key")
	w.clock.Advance(59 * time.Minute)
	flood(one)
	assert.Empty(t, w.pump(), "the same hour")
	w.clock.Advance(time.Minute)
	flood(one)
	assert.Equal(t, limited, types(t, w.pump()), "the next hour")
	newDeriverOn(w)
	flood(one)
	assert.Empty(t, w.pump(), "told by another node")

	w.clock.Advance(time.Hour)
	quota := func() { require.Error(t, w.charge(two, 60_000)) }
	quota()
	assert.Equal(t, []metering.EventType{metering.EventQuotaExceeded}, types(t, w.pump()))
	w.clock.Advance(time.Hour)
	quota()
	assert.Empty(t, w.pump())
	w.clock.Set(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC))
	quota()
	assert.Equal(t, []metering.EventType{metering.EventQuotaExceeded}, types(t, w.pump()))
}

// newDeriverOn replaces the deriver and the gate by those of another node.
func newDeriverOn(w *world) {
	w.deriver = &Deriver{Store: w.store, SPF: w.spf, Clock: w.clock.Now}
	gate, err := metering.NewGate(context.Background(), metering.GateConfig{
		Store: w.store, Clock: w.clock.Now, Observer: w.deriver,
	})
	require.NoError(w, err)
	w.Cleanup(gate.Close)
	w.gate = gate
}

// A charge triggers a check only when it passes the next threshold.
func TestSettledNudges(t *testing.T) {
	w := newWorld(t)
	w.channel("a")
	_, secret := w.key(nil)
	w.pump()
	require.NoError(t, w.charge(secret, 24_999))
	assert.Empty(t, w.deriver.requests)
	require.NoError(t, w.charge(secret, 1))
	require.NoError(t, w.charge(secret, 1))
	assert.Len(t, w.deriver.requests, 1)
	require.NoError(t, w.deriver.CheckAccount(t.Context(), <-w.deriver.requests))
	require.NoError(t, w.worker.Flush(t.Context()))
	assert.Equal(t, []int{50}, percents(t, w.net.take()))
	require.NoError(t, w.charge(secret, 1))
	assert.Empty(t, w.deriver.requests)
}

// A running deriver learns of changes immediately: of keys from the store's Watch, of charges and refusals from the
// gate.
func TestDeriverRuns(t *testing.T) {
	w := newWorld(t)
	w.channel("a")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	woken := make(chan struct{}, 16)
	w.deriver.Wake, w.deriver.Every = func() { woken <- struct{}{} }, time.Hour
	done := make(chan error)
	require.NoError(t, w.deriver.CheckAll(ctx)) // so that it knows the account before it is charged
	go func() { done <- w.deriver.Run(ctx) }()
	await := func(want ...metering.EventType) {
		t.Helper()
		var got []metering.EventType
		for len(got) < len(want) {
			select {
			case <-woken:
			case <-time.After(time.Minute):
				require.Fail(t, "nothing was derived", "%v", got)
			}
			require.NoError(t, w.worker.Flush(t.Context()))
			got = append(got, types(t, w.net.take())...)
		}
		assert.Equal(t, want, got)
	}
	_, secret := w.key(nil)
	await(metering.EventKeyCreated)
	require.NoError(t, w.charge(secret, 25_000))
	await(metering.EventUsageThreshold)
	require.Error(t, w.charge(secret, 60_000))
	await(metering.EventQuotaExceeded)
	stop()
	assert.ErrorIs(t, <-done, context.Canceled)
}

// Each relevant resolution is reported once, across checks and restarts.
func TestSPFEvents(t *testing.T) {
	w := newWorld(t)
	w.channel("a")
	w.profile()
	assert.ElementsMatch(t, []metering.EventType{metering.EventKeyCreated, metering.EventSPFCreated}, types(t, w.pump()))
	steps := []struct {
		r    SPFResolution
		want []metering.EventType
	}{
		{SPFResolution{}, nil},
		{SPFResolution{Changed: true, Added: 1}, []metering.EventType{metering.EventSPFChanged}},
		{SPFResolution{Failed: true}, []metering.EventType{metering.EventSPFFailed}},
		{SPFResolution{Failed: true}, nil},
		{SPFResolution{Changed: true}, []metering.EventType{metering.EventSPFRecovered, metering.EventSPFChanged}},
		{SPFResolution{Failed: true}, []metering.EventType{metering.EventSPFFailed}},
		{SPFResolution{}, []metering.EventType{metering.EventSPFRecovered}},
	}
	for i, s := range steps {
		w.clock.Advance(time.Hour)
		s.r.ID, s.r.At = fmt.Sprintf("res_x%d", i), w.clock.Now()
		w.spf.resolve(s.r)
		assert.ElementsMatch(t, s.want, types(t, w.pump()), "step %d", i)
		if i%2 == 0 {
			newDeriverOn(w)
		}
		assert.Empty(t, w.pump())
	}
}

func BenchmarkSettled(b *testing.B) {
	w := newWorld(b)
	w.channel("a")
	require.NoError(b, w.deriver.CheckAll(context.Background()))
	balance := metering.Balance{Period: metering.PeriodOf(w.clock.Now()), Used: 1, Limit: 50_000}
	b.ReportAllocs()
	for b.Loop() {
		w.deriver.Settled(w.account.ID, balance)
	}
}

// Of an account with many keys beyond their rate, some are reported; the keys of other accounts are reported
// regardless.
func TestRefusalsOfManyKeys(t *testing.T) {
	w := newWorld(t)
	w.channel("a")
	key, _ := w.key(nil)
	w.pump()
	other, err := w.admin.CreateAccount(t.Context(), "Other", "pack")
	require.NoError(t, err)
	refuse := func(account metering.Account, id string) {
		k := key
		k.ID, k.Account = metering.KeyID(id), account.ID
		c := &metering.Caller{Key: &k, Account: &account, Plan: new(metering.DefaultPlans()["pack"])}
		w.deriver.Refused(c, &metering.RefusedError{Reason: metering.RateLimited, Caller: c})
	}
	most := int(budget.Of(budget.RateEvents).Account)
	for i := range 2 * most {
		refuse(w.account, fmt.Sprint("key_", i))
	}
	require.Len(t, w.deriver.refused, most)
	refuse(other, "key_x")
	require.Len(t, w.deriver.refused, most+1)
}

func BenchmarkRefused(b *testing.B) {
	w := newWorld(b)
	key, _ := w.key(nil)
	caller := &metering.Caller{Key: &key, Account: &w.account, Plan: new(metering.DefaultPlans()["pack"])}
	var err error = &metering.RefusedError{Reason: metering.RateLimited, Caller: caller}
	b.ReportAllocs()
	for b.Loop() {
		w.deriver.Refused(caller, err)
	}
}

// BenchmarkLook measures a check of a thousand accounts with a channel and three keys each, without new events.
func BenchmarkLook(b *testing.B) {
	w := newWorld(b)
	for range 1000 {
		var err error
		w.account, err = w.admin.CreateAccount(context.Background(), "x", "pack")
		require.NoError(b, err)
		w.channel("a")
		for range 3 {
			w.key(nil)
		}
	}
	w.pump()
	for b.Loop() {
		require.NoError(b, w.deriver.CheckAll(context.Background()))
	}
}

// BenchmarkDelivery is one delivery to a receiver that answers at once, of a queue of some hundreds.
func BenchmarkDelivery(b *testing.B) {
	w := newWorld(b)
	var channels []Channel
	for i := range maxChannels {
		c, _ := w.channel(fmt.Sprintf("c%d", i))
		channels = append(channels, c)
	}
	for i := 0; b.Loop(); i++ {
		w.test(channels[i%len(channels)])
		if i%400 == 399 {
			require.NoError(b, w.worker.Flush(context.Background()))
			w.net.take()
		}
	}
}
