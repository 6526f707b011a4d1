package watch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/notify"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A watch is made with defaults, runs immediately, is changed, and is removed with its history.
func TestLifeOfAWatch(t *testing.T) {
	w := newWorld(t)
	made := w.create(watch.Settings{})
	assert.Equal(t, watch.ID(diag.MustDomain("example.com")), made.ID)
	assert.Equal(t, watch.Fresh, made.State)
	assert.Equal(t, []string{"mail", "dns", "web"}, made.Checks)
	assert.Equal(t, watch.DefaultEvery, made.Every)
	assert.EqualValues(t, 43, made.RunCost)
	assert.EqualValues(t, 43*(31+8), made.Budget)

	w.advance(0)
	one := w.get()
	assert.Equal(t, watch.OK, one.State)
	assert.Equal(t, view.Critical, one.Mark, "it has no web site, though an address")
	assert.NotNil(t, one.Score)
	assert.Positive(t, one.Counts.Critical)
	assert.Equal(t, []watch.Area{watch.MailArea, watch.DNSArea, watch.WebArea, watch.TLSArea}, one.Areas)
	assert.Equal(t, w.clock.Now(), one.LastRun)
	assert.True(t, one.NextRun.After(w.clock.Now().Add(6*time.Hour)) && !one.NextRun.After(w.clock.Now().Add(30*time.Hour)))
	assert.Positive(t, one.Spent)
	assert.LessOrEqual(t, one.Spent, one.RunCost)
	b, err := w.store.Balance(t.Context(), w.account.ID, metering.PeriodOf(w.clock.Now()))
	require.NoError(t, err)
	assert.Equal(t, one.Spent, b.Used, "a run is charged like its calls")

	now, err := w.watches.Now(t.Context(), w.account.ID, made.ID)
	require.NoError(t, err)
	labels := kit.Map(now.Records, watch.Record.Label)
	assert.Subset(t, labels, []string{"SPF", "DMARC", "MX", "NS", "A"})
	assert.NotEmpty(t, now.Facts)

	set, err := w.watches.Set(t.Context(), w.account.ID, made.ID, func(s *watch.Settings) {
		s.Checks, s.Every, s.Budget = []string{"dmarc/lookup", "mail"}, 2*time.Hour, 100
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"mail", "dmarc/lookup"}, set.Checks)
	assert.EqualValues(t, 100, set.Budget)
	assert.False(t, set.NextRun.After(w.clock.Now().Add(150*time.Minute)))
	ran, err := w.watches.RunNow(t.Context(), w.account.ID, made.ID)
	require.NoError(t, err)
	assert.Equal(t, w.clock.Now(), ran.NextRun)
	w.advance(time.Second)
	now, err = w.watches.Now(t.Context(), w.account.ID, made.ID)
	require.NoError(t, err)
	assert.NotContains(t, kit.Map(now.Records, watch.Record.Label), "NS", "it is asked for no more")
	runs, err := w.watches.History(t.Context(), w.account.ID, made.ID, time.Time{})
	require.NoError(t, err)
	require.Len(t, runs, 2)
	assert.True(t, runs[0].At.After(runs[1].At))

	list, err := w.watches.List(t.Context(), w.account.ID)
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Equal(t, w.get(), list[0])
	require.NoError(t, w.watches.Remove(t.Context(), w.account.ID, made.ID))
	_, err = w.watches.Get(t.Context(), w.account.ID, made.ID)
	require.ErrorIs(t, err, metering.ErrNotFound)
	again := w.create(watch.Settings{})
	runs, err = w.watches.History(t.Context(), w.account.ID, again.ID, time.Time{})
	require.NoError(t, err)
	assert.Empty(t, runs)
}

// Each fault names its field.
func TestBadSettings(t *testing.T) {
	w := newWorld(t)
	w.create(watch.Settings{})
	for name, tt := range map[string]struct {
		domain string
		s      watch.Settings
		want   []string
	}{
		"no domain":   {"", watch.Settings{}, []string{"domain"}},
		"an address":  {"192.0.2.1", watch.Settings{}, []string{"domain"}},
		"no dot":      {"localhost", watch.Settings{}, []string{"domain"}},
		"markup":      {"<b>.example", watch.Settings{}, []string{"domain"}},
		"line break":  {"a\r\nb.example", watch.Settings{}, []string{"domain"}},
		"watched":     {"EXAMPLE.com.", watch.Settings{}, []string{"domain"}},
		"check":       {"a.example", watch.Settings{Checks: []string{"mail", "text/upper"}}, []string{"checks[1]"}},
		"needs more":  {"a.example", watch.Settings{Checks: []string{"dkim/lookup"}}, []string{"checks[0]"}},
		"often":       {"a.example", watch.Settings{Every: time.Minute}, []string{"every"}},
		"seldom":      {"a.example", watch.Settings{Every: 8 * 24 * time.Hour}, []string{"every"}},
		"fraction":    {"a.example", watch.Settings{Every: time.Hour + time.Millisecond}, []string{"every"}},
		"small":       {"a.example", watch.Settings{Budget: 42}, []string{"budget"}},
		"negative":    {"a.example", watch.Settings{Budget: -1}, []string{"budget"}},
		"channel":     {"a.example", watch.Settings{Channels: []string{"chn_none"}}, []string{"channels[0]"}},
		"channels":    {"a.example", watch.Settings{Channels: make17()}, []string{"channels"}},
		"all at once": {"", watch.Settings{Checks: []string{"x"}, Every: 1, Channels: []string{"y"}}, []string{"domain", "checks[0]", "every", "channels[0]"}},
	} {
		_, err := w.watches.Create(t.Context(), watch.Request{Account: w.account.ID, Domain: tt.domain, Settings: tt.s})
		assert.Equal(t, tt.want, fieldsOf(err), "%s: %v", name, err)
	}
	_, err := w.watches.Set(t.Context(), w.account.ID, watch.ID(diag.MustDomain("example.com")), func(s *watch.Settings) { s.Every = 1 })
	assert.Equal(t, []string{"every"}, fieldsOf(err))
}

func make17() (list []string) {
	for i := range 17 {
		list = append(list, string(rune('a'+i)))
	}
	return list
}

// fieldsOf are the fields that an error names.
func fieldsOf(err error) (fields []string) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			fields = append(fields, fieldsOf(e)...)
		}
		return fields
	}
	if f, ok := errors.AsType[*metering.FieldError](err); ok {
		return []string{f.Field}
	}
	return nil
}

// What another account watches is not found.
func TestForeignWatches(t *testing.T) {
	w := newWorld(t)
	id := w.create(watch.Settings{}).ID
	w.advance(0)
	other, err := w.admin.CreateAccount(t.Context(), "other", "pack")
	require.NoError(t, err)
	for name, do := range map[string]func() error{
		"get": func() error { _, err := w.watches.Get(t.Context(), other.ID, id); return err },
		"set": func() error { _, err := w.watches.Set(t.Context(), other.ID, id, func(*watch.Settings) {}); return err },
		"run": func() error { _, err := w.watches.RunNow(t.Context(), other.ID, id); return err },
		"now": func() error { _, err := w.watches.Now(t.Context(), other.ID, id); return err },
		"at":  func() error { _, err := w.watches.At(t.Context(), other.ID, id, w.clock.Now()); return err },
		"history": func() error {
			_, err := w.watches.History(t.Context(), other.ID, id, time.Time{})
			return err
		},
		"remove": func() error { return w.watches.Remove(t.Context(), other.ID, id) },
	} {
		assert.ErrorIs(t, do(), metering.ErrNotFound, name)
	}
	list, err := w.watches.List(t.Context(), other.ID)
	require.NoError(t, err)
	assert.Empty(t, list)
	_, _, err = notify.Channels{Store: w.store, Clock: w.clock.Now}.Create(t.Context(), notify.ChannelRequest{
		Account: w.account.ID, Name: "ops", Kind: notify.Webhook, Target: "https://hooks.example/x",
	})
	require.NoError(t, err)
	channels, err := notify.Channels{Store: w.store, Clock: w.clock.Now}.List(t.Context(), w.account.ID)
	require.NoError(t, err)
	_, err = w.watches.Create(t.Context(), watch.Request{Account: other.ID, Domain: "a.example",
		Settings: watch.Settings{Channels: []string{channels[0].ID}}})
	assert.Equal(t, []string{"channels[0]"}, fieldsOf(err), "nor are its channels")
}

// An account may watch so many domains and no more, independently of others.
func TestWatchesAreBounded(t *testing.T) {
	const most = 10_000
	w := newWorld(t)
	one := w.create(watch.Settings{})
	record, err := w.store.Record(t.Context(), w.account.ID, "watch", one.ID)
	require.NoError(t, err)
	record.Version, record.Due = 0, time.Time{}
	var records []metering.Record
	for i := range most - 2 {
		record.ID = fmt.Sprintf("wat_%d", i)
		if records = append(records, record); len(records) == metering.MaxRecordsPut || i == most-3 {
			require.NoError(t, w.store.PutRecords(t.Context(), records...))
			records = nil
		}
	}
	add := func(account metering.AccountID, domain string) error {
		_, err := w.watches.Create(t.Context(), watch.Request{Account: account, Domain: domain})
		return err
	}
	require.NoError(t, add(w.account.ID, "a.example"))
	err = add(w.account.ID, "b.example")
	require.Equal(t, []string{"domain"}, fieldsOf(err))
	assert.ErrorContains(t, err, "the account watches 10000 domains, which is the most")
	several, err := w.watches.CreateAll(t.Context(), w.account.ID,
		[]diag.Domain{diag.MustDomain("a.example"), diag.MustDomain("b.example")}, watch.Settings{})
	require.NoError(t, err)
	assert.Equal(t, []diag.Domain{diag.MustDomain("a.example")}, several.Watched)
	assert.Equal(t, []diag.Domain{diag.MustDomain("b.example")}, several.Excess)
	_, err = w.watches.Get(t.Context(), w.account.ID, watch.ID(diag.MustDomain("b.example")))
	assert.ErrorIs(t, err, metering.ErrNotFound)
	other, err := w.admin.CreateAccount(t.Context(), "other", "pack")
	require.NoError(t, err)
	require.NoError(t, add(other.ID, "b.example"))
	require.NoError(t, w.watches.Remove(t.Context(), w.account.ID, one.ID))
	require.NoError(t, add(w.account.ID, "b.example"))
}

// Several domains are added in one go: those that are watched already or exceed the limit are left out and named.
func TestCreateAll(t *testing.T) {
	w := newWorld(t)
	w.create(watch.Settings{})
	list := []diag.Domain{diag.MustDomain("example.com")}
	for i := range 600 { // more than a transaction has
		list = append(list, diag.MustDomain(fmt.Sprintf("customer-%d.example", i)))
	}
	s := watch.Settings{Checks: []string{"dmarc/lookup"}, Every: watch.MaxEvery}
	before, err := w.watches.Preview(t.Context(), w.account.ID, list, s)
	require.NoError(t, err)
	assert.EqualValues(t, 5+2, before.MonthlyCredits)
	all, err := w.watches.CreateAll(t.Context(), w.account.ID, list, s)
	require.NoError(t, err)
	assert.Equal(t, before, all)
	assert.Equal(t, list[:1], all.Watched)
	assert.Equal(t, list[1:], all.New)
	assert.Empty(t, all.Excess)
	watched, err := w.watches.List(t.Context(), w.account.ID)
	require.NoError(t, err)
	require.Len(t, watched, len(list))
	for _, one := range watched {
		if one.Domain == "example.com" {
			continue
		}
		require.Equal(t, s.Checks, one.Checks)
		require.Equal(t, all.MonthlyCredits, one.Budget)
		require.Equal(t, watch.Fresh, one.State)
	}
	again, err := w.watches.CreateAll(t.Context(), w.account.ID, list, s)
	require.NoError(t, err)
	assert.Equal(t, list, again.Watched)
	_, err = w.watches.CreateAll(t.Context(), w.account.ID, list, watch.Settings{Every: time.Second, Checks: []string{"x"}})
	assert.ElementsMatch(t, []string{"every", "checks[0]"}, fieldsOf(err))
}

// A domain has a fault in each of the areas whose findings are warnings or worse.
func TestAreas(t *testing.T) {
	w := newWorld(t)
	w.create(watch.Settings{Checks: []string{"dmarc/lookup"}})
	w.advance(0)
	assert.Empty(t, w.get().Areas)
	w.replace("_dmarc.example.com.", dns.TypeTXT, "")
	for range 4 {
		w.advance(24 * time.Hour)
	}
	assert.Equal(t, []watch.Area{watch.MailArea}, w.get().Areas)
}

func TestChecks(t *testing.T) {
	list := newWorld(t).watches.Checks()
	assert.Equal(t, []string{"mail", "dns", "web"}, list[:3])
	assert.Contains(t, list, "deliverability/score")
	assert.False(t, slices.Contains(list, "dmarc/generate"))
	assert.Equal(t, "Domain does not exist", watch.Title("spf.domain.nxdomain"))
}

// An ownReport is the reply of an operation that a program adds to the server.
type ownReport struct {
	diag.Verdict
	Domain diag.Domain `json:"domain"`
}

const ownCode = diag.Code("acme.hosts.foreign")

func (ownReport) Rules() []rule.Description {
	return []rule.Description{{Code: ownCode, Severity: diag.Error, Title: "Mail goes to a foreign host"}}
}

// An operation of one's own that takes a domain is watched like ours.
func TestWatchOfOwnOperation(t *testing.T) {
	type request struct {
		Domain diag.Domain `json:"domain" example:"example.com"`
	}
	foreign := false
	check := func(_ context.Context, _ *diag.Env, r request) (*ownReport, error) {
		report := &ownReport{diag.Verdict{State: diag.Valid, Headline: "All hosts are allowed"}, r.Domain}
		if foreign {
			report.Verdict = diag.Verdict{State: diag.Bad, Headline: "Mail goes to a foreign host",
				Findings: []diag.Finding{{Code: ownCode, Severity: diag.Error, Title: "Mail goes to a foreign host"}}}
		}
		return report, nil
	}
	own := httpapi.Endpoint{Method: "POST", Path: "/acme/hosts", Scope: metering.MailRead, Credits: 7,
		Purpose: "hosts that our policy allows", Operation: httpapi.Call(check)}
	w := newWorld(t, func(c *watch.Config) {
		gate, err := metering.NewGate(t.Context(), metering.GateConfig{Store: c.Store, Clock: c.Clock})
		require.NoError(t, err)
		t.Cleanup(func() { gate.Close() })
		c.Endpoints = []httpapi.Endpoint{own}
		c.Ask = httpapi.New(httpapi.Config{Gate: gate, Clock: c.Clock, Endpoints: c.Endpoints}).Ask
	})
	assert.Contains(t, w.watches.Checks(), "acme/hosts")
	assert.Equal(t, "Mail goes to a foreign host", w.watches.Title(ownCode))
	assert.Equal(t, string(ownCode), watch.Title(ownCode))
	assert.EqualValues(t, 7, w.create(watch.Settings{Checks: []string{"acme/hosts"}}).RunCost)
	w.advance(0)
	assert.Equal(t, view.Good, w.get().Mark)
	foreign = true
	for range 4 {
		w.advance(25 * time.Hour)
	}
	assert.Equal(t, ownCode, w.get().Worst)
}

// An account with many watches that are due has its share of the runs, and is not in the way of others.
func TestManyDueOfOneAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		asked, let := map[metering.AccountID]int{}, make(chan struct{})
		w := newWorld(t, func(c *watch.Config) {
			store := c.Store
			c.Ask = func(ctx context.Context, id metering.KeyID, _ httpapi.Endpoint, _ []byte) (*httpapi.Answer, error) {
				key, err := store.Key(ctx, id)
				if err != nil {
					return nil, err
				}
				mu.Lock()
				asked[key.Account]++
				mu.Unlock()
				select {
				case <-let:
				case <-ctx.Done():
				}
				return nil, context.Canceled
			}
		})
		one := w.create(watch.Settings{Checks: []string{"spf/lookup"}})
		record, err := w.store.Record(t.Context(), w.account.ID, "watch", one.ID)
		require.NoError(t, err)
		record.Version = 0
		var records []metering.Record
		for i := range 5000 {
			record.ID = fmt.Sprintf("wat_%d", i)
			records = append(records, record)
		}
		for group := range slices.Chunk(records, metering.MaxRecordsPut) {
			require.NoError(t, w.store.PutRecords(t.Context(), group...))
		}
		w.clock.Advance(time.Second)
		other, err := w.admin.CreateAccount(t.Context(), "other", "pack")
		require.NoError(t, err)
		_, err = w.watches.Create(t.Context(), watch.Request{Account: other.ID, Domain: "example.com",
			Settings: watch.Settings{Checks: []string{"spf/lookup"}}})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.watches.Run(ctx) }()
		synctest.Wait()
		mu.Lock()
		assert.Equal(t, map[metering.AccountID]int{w.account.ID: 4, other.ID: 1}, asked)
		mu.Unlock()
		close(let)
		stop()
		<-done
	})
}
