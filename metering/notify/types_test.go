package notify

import (
	"context"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/require"
)

// acts maps each event type to the actions that cause it.
var acts = map[metering.EventType]func(*world){
	metering.EventKeyCreated: func(w *world) { w.key(nil) },
	metering.EventKeyRotated: func(w *world) {
		key, _ := w.key(nil)
		w.rotate(key.ID, time.Hour)
	},
	metering.EventKeyGraceEnded: func(w *world) {
		key, _ := w.key(nil)
		w.rotate(key.ID, time.Hour)
		w.clock.Advance(time.Hour)
	},
	metering.EventKeyRevoked: func(w *world) {
		key, _ := w.key(nil)
		_, err := w.admin.RevokeKey(context.Background(), key.ID, metering.RevokedLeak)
		require.NoError(w, err)
	},
	metering.EventKeyExpiresSoon: func(w *world) {
		w.key(new(w.clock.Now().Add(10 * 24 * time.Hour)))
		w.clock.Advance(3 * 24 * time.Hour)
	},
	metering.EventKeyExpired: func(w *world) {
		w.key(new(w.clock.Now().Add(time.Hour)))
		w.clock.Advance(time.Hour)
	},
	metering.EventKeyDeprecated: func(w *world) {
		key, _ := w.key(nil)
		for range 2 {
			w.deriver.Deprecated(w.account.ID, key.ID, "POST /certificates/csr/parse", "mail:read")
		}
	},
	metering.EventUsageThreshold: func(w *world) {
		_, secret := w.key(nil)
		require.NoError(w, w.charge(secret, 40_000))
	},
	metering.EventQuotaExceeded: func(w *world) {
		_, secret := w.key(nil)
		require.NoError(w, w.charge(secret, 49_999))
		_, ok := w.charge(secret, 2).(*metering.QuotaError)
		require.True(w, ok)
	},
	metering.EventOverageStarted: func(w *world) {
		w.set(func(a *metering.Account) { a.OverageEnabled = true })
		_, secret := w.key(nil)
		require.NoError(w, w.charge(secret, 50_001))
	},
	metering.EventBudgetThreshold: func(w *world) {
		w.set(func(a *metering.Account) { a.OverageEnabled, a.OverageBudgetCents = true, new(int64(1000)) })
		_, secret := w.key(nil)
		require.NoError(w, w.charge(secret, 58_000))
	},
	metering.EventBudgetReached: func(w *world) {
		w.set(func(a *metering.Account) { a.OverageEnabled, a.OverageBudgetCents = true, new(int64(1000)) })
		_, secret := w.key(nil)
		require.NoError(w, w.charge(secret, 60_000))
	},
	metering.EventRateLimited: func(w *world) {
		_, secret := w.key(nil)
		for range 61 {
			_ = w.charge(secret, 1)
		}
	},
	metering.EventPeriodClosed:  func(w *world) { w.closeMonth(10) },
	metering.EventOverageBilled: func(w *world) { w.closeMonth(50_001) },
	metering.EventPaymentFailed: func(w *world) { w.closeMonth(10) },
	metering.EventSPFCreated:    func(w *world) { w.profile() },
	metering.EventSPFChanged: func(w *world) {
		w.profile()
		w.clock.Advance(time.Hour)
		w.spf.resolve(SPFResolution{ID: "res_2", At: w.clock.Now(), Changed: true, Added: 2, Removed: 1})
	},
	metering.EventSPFFailed: func(w *world) {
		w.profile()
		w.clock.Advance(time.Hour)
		w.spf.resolve(SPFResolution{ID: "res_2", At: w.clock.Now(), Failed: true, Error: "no answer"})
	},
	metering.EventSPFRecovered: func(w *world) {
		w.profile()
		w.clock.Advance(time.Hour)
		w.spf.resolve(SPFResolution{ID: "res_2", At: w.clock.Now(), Failed: true, Error: "no answer"})
		w.clock.Advance(time.Minute)
		w.spf.resolve(SPFResolution{ID: "res_3", At: w.clock.Now()})
	},
	metering.EventSPFRemoved: func(w *world) {
		w.profile()
		w.pump()
		w.spf.mu.Lock()
		w.spf.profiles = nil
		w.spf.mu.Unlock()
	},
	metering.EventDomainWorsened:      func(w *world) { w.tell(metering.EventDomainWorsened) },
	metering.EventDomainRecovered:     func(w *world) { w.tell(metering.EventDomainRecovered) },
	metering.EventDomainRecordChanged: func(w *world) { w.tell(metering.EventDomainRecordChanged) },
	metering.EventDomainExpiresSoon:   func(w *world) { w.tell(metering.EventDomainExpiresSoon) },
	metering.EventDomainUnreachable:   func(w *world) { w.tell(metering.EventDomainUnreachable) },
	metering.EventChannelTest: func(w *world) {
		list, err := w.channels.List(context.Background(), w.account.ID)
		require.NoError(w, err)
		_, err = w.channels.Test(context.Background(), w.account.ID, list[0].ID)
		require.NoError(w, err)
	},
	metering.EventChannelDisabled: func(w *world) {
		other, _ := w.channel("other")
		w.net.status(410)
		_, err := w.channels.Test(context.Background(), w.account.ID, other.ID)
		require.NoError(w, err)
		require.NoError(w, w.worker.step1())
		w.net.status(200)
	},
}

// tell writes an event in the same transaction as the change it reports.
func (w *world) tell(event metering.EventType) {
	w.Helper()
	record, err := metering.Event{
		ID: metering.EventID(event, "example.com"), Type: event, Account: w.account.ID, At: w.clock.Now(),
		Data: map[string]string{"domain": "example.com"},
	}.Record()
	require.NoError(w, err)
	require.NoError(w, w.store.PutRecords(context.Background(), record))
}

func (w *world) rotate(id metering.KeyID, grace time.Duration) (metering.Key, metering.Secret) {
	w.Helper()
	_, key, secret, err := w.admin.RotateKey(context.Background(), id, grace)
	require.NoError(w, err)
	return key, secret
}

// profile gives the account a hosted SPF profile, as it is after its first resolution.
func (w *world) profile() {
	key, _ := w.key(nil)
	w.spf.owner = key.ID
	w.spf.profiles = []SPFProfile{{
		ID: "spf_1", Domain: "example.com", IncludeHost: "k3v2.spf.example.net", CreatedAt: w.clock.Now(),
	}}
	w.spf.resolve(SPFResolution{ID: "res_1", At: w.clock.Now(), Changed: true, Added: 3})
}

// step1 runs one round, without the deliveries that follow from it.
func (w *Worker) step1() error {
	w.init()
	start := w.worker.Start
	defer func() { w.worker.Start = start }()
	ctx, cancel := context.WithCancel(context.Background())
	var err error
	w.worker.Start = func(ctx, jobs context.Context) (started int, _ error) {
		defer cancel()
		started, err = start(ctx, jobs)
		return started, err
	}
	_ = w.worker.Run(ctx)
	return err
}
