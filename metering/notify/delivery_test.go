package notify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// test sends a test event to a new channel, and returns the delivery.
func (w *world) test(c Channel) Delivery {
	w.Helper()
	d, err := w.channels.Test(context.Background(), w.account.ID, c.ID)
	require.NoError(w, err)
	return d
}

func (w *world) delivery(id string) Delivery {
	w.Helper()
	d, err := w.channels.Delivery(context.Background(), w.account.ID, id)
	require.NoError(w, err)
	return d
}

// A receiver that fails for ever is tried six times at the times of the contract, and can then be replayed for a day.
func TestSchedule(t *testing.T) {
	w := newWorld(t)
	w.net.status(500)
	c, secret := w.channel("a")
	d := w.test(c)
	began := w.clock.Now()
	at := []time.Duration{0, 10 * time.Second, 70 * time.Second, 670 * time.Second, 4270 * time.Second,
		25870 * time.Second}
	for i, when := range at {
		w.clock.Set(began.Add(when - time.Second))
		if i > 0 {
			require.Empty(t, w.pump(), "before attempt %d", i+1)
		}
		w.clock.Set(began.Add(when))
		got := w.pump()
		require.Len(t, got, 1, "attempt %d", i+1)
		r, b := got[0], got[0].body(t)
		assert.Equal(t, i+1, b.Attempt)
		assert.Equal(t, fmt.Sprintf("%d/6", i+1), r.Header.Get("X-Service-Attempt"))
		assert.Equal(t, d.Event, b.EventID)
		assert.Equal(t, d.ID, b.DeliveryID)
		assert.Equal(t, fmt.Sprint(w.clock.Now().Unix()), r.Header.Get("X-Service-Timestamp"))
		assert.NoError(t, Verify(r.Header, []byte(r.text), w.clock.Now(), secret))
		assert.Equal(t, RetryScheduled, w.delivery(d.ID).State)
	}
	w.net.status(200)
	end := began.Add(at[5] + 24*time.Hour)
	w.clock.Set(end.Add(-time.Second))
	require.Empty(t, w.pump())
	replay, err := w.channels.Replay(t.Context(), w.account.ID, d.ID)
	require.NoError(t, err)
	got := w.pump()
	require.Len(t, got, 1)
	assert.Equal(t, d.Event, got[0].body(t).EventID)
	assert.Equal(t, replay.ID, got[0].body(t).DeliveryID)
	assert.Equal(t, 1, got[0].body(t).Attempt)
	assert.Equal(t, Delivered, w.delivery(replay.ID).State)

	w.clock.Set(end)
	require.Empty(t, w.pump())
	d = w.delivery(d.ID)
	assert.Equal(t, FailedExhausted, d.State)
	assert.Len(t, d.Attempts, MaxAttempts)
	assert.True(t, d.Next.IsZero())
	_, err = w.channels.Replay(t.Context(), w.account.ID, d.ID)
	require.NoError(t, err, "as long as the event is kept")
	require.Len(t, w.pump(), 1)
}

func TestAnswers(t *testing.T) {
	after := http.Header{"Retry-After": {"120"}}
	tests := []struct {
		name   string
		status int
		header http.Header
		fail   error
		want   DeliveryState
		next   time.Duration
	}{
		{"200", 200, nil, nil, Delivered, 0},
		{"204", 204, nil, nil, Delivered, 0},
		{"301", 301, http.Header{"Location": {"https://elsewhere.example.com/"}}, nil, RetryScheduled, 10 * time.Second},
		{"307", 307, http.Header{"Location": {"https://elsewhere.example.com/"}}, nil, RetryScheduled, 10 * time.Second},
		{"400", 400, nil, nil, FailedPermanent, 0},
		{"404", 404, after, nil, FailedPermanent, 0},
		{"408", 408, nil, nil, RetryScheduled, 10 * time.Second},
		{"429", 429, after, nil, RetryScheduled, 2 * time.Minute},
		{"503", 503, after, nil, RetryScheduled, 2 * time.Minute},
		{"500", 500, nil, nil, RetryScheduled, 10 * time.Second},
		{"network", 0, nil, errors.New("connection refused"), RetryScheduled, 10 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.net.answers(func(*http.Request) (int, http.Header, string) { return tt.status, tt.header, "<b>no\x00\n</b>" })
			w.net.fail = tt.fail
			c, _ := w.channel("a")
			d := w.test(c)
			require.Len(t, w.pump(), 1)
			d = w.delivery(d.ID)
			assert.Equal(t, tt.want, d.State)
			require.Len(t, d.Attempts, 1)
			assert.Equal(t, tt.status, d.Attempts[0].Status)
			assert.Equal(t, tt.want != Delivered, d.Attempts[0].Error != "")
			if tt.next == 0 {
				assert.True(t, d.Next.IsZero())
			} else {
				assert.Equal(t, w.clock.Now().Add(tt.next), d.Next)
			}
			if tt.want != Delivered && tt.fail == nil {
				assert.Equal(t, "<b>no </b>", d.Attempts[0].Response)
			}
		})
	}
}

// A receiver that is gone disables its channel and notifies the other channels; queued deliveries fail.
func TestGone(t *testing.T) {
	w := newWorld(t)
	a, _ := w.channel("a")
	b, _ := w.channel("b")
	w.net.answers(func(r *http.Request) (int, http.Header, string) {
		if r.URL.Host == "a.example.com" {
			return 410, nil, ""
		}
		return 200, nil, "ok"
	})
	w.worker.PerChannel = 1
	first, second := w.test(a), w.test(a)
	got := w.pump()
	require.Len(t, got, 2)
	var told Body
	for _, r := range got {
		if r.URL.Host == "b.example.com" {
			told = r.body(t)
		}
	}
	assert.Equal(t, metering.EventChannelDisabled, told.EventType)
	assert.Contains(t, string(told.Data), a.ID)
	states := []DeliveryState{w.delivery(first.ID).State, w.delivery(second.ID).State}
	assert.Equal(t, []DeliveryState{FailedPermanent, FailedPermanent}, states)
	a, err := w.channels.Channel(t.Context(), w.account.ID, a.ID)
	require.NoError(t, err)
	assert.Equal(t, ChannelDisabled, a.State)
	assert.Contains(t, a.Reason, "410")
	_, err = w.channels.Replay(t.Context(), w.account.ID, first.ID)
	assert.ErrorContains(t, err, "disabled")
	_, err = w.channels.Test(t.Context(), w.account.ID, a.ID)
	assert.ErrorContains(t, err, "disabled")

	_, err = w.channels.Enable(t.Context(), w.account.ID, a.ID)
	require.NoError(t, err)
	w.net.status(200)
	replay, err := w.channels.Replay(t.Context(), w.account.ID, first.ID)
	require.NoError(t, err)
	assert.Len(t, w.pump(), 1)
	assert.Equal(t, Delivered, w.delivery(replay.ID).State)

	late := w.test(b)
	require.NoError(t, w.channels.Remove(t.Context(), w.account.ID, b.ID))
	assert.Empty(t, w.pump())
	assert.Equal(t, FailedPermanent, w.delivery(late.ID).State)
	assert.Equal(t, channelRemoved, w.delivery(late.ID).Attempts[0].Error)
}

// Redirects are not followed, and of an endless answer only the beginning is read.
func TestRealReceivers(t *testing.T) {
	var followed bool
	mux := http.NewServeMux()
	mux.HandleFunc("/moved", func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, "/new", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/new", func(http.ResponseWriter, *http.Request) { followed = true })
	mux.HandleFunc("/endless", func(rw http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := rw.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	})
	server := httptest.NewTLSServer(mux)
	defer server.Close()
	w := newWorld(t)
	w.worker.Client = server.Client()
	w.channels.Ports = []uint16{port(t, server.URL)}
	for path, want := range map[string]DeliveryState{"/moved": RetryScheduled, "/endless": Delivered} {
		c, _, err := w.channels.Create(t.Context(), ChannelRequest{
			Account: w.account.ID, Name: "x", Kind: Webhook, Target: server.URL + path,
		})
		require.NoError(t, err)
		d := w.test(c)
		w.pump()
		assert.Equal(t, want, w.delivery(d.ID).State, path)
	}
	assert.False(t, followed)
}

// Errors of the network hold the URL, in which there may be a secret: nothing of that is stored.
func TestErrorsHoldNoSecrets(t *testing.T) {
	w := newWorld(t)
	const token = "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1"
	kinds := []ChannelRequest{
		{Kind: Webhook, Target: "https://a.example.com/p?token=topsecret" + strings.Repeat("s", 60)}, // cut when shown
		{Kind: Slack, Target: "https://hooks.slack.com/services/T0/B0/topsecret"},
		{Kind: Teams, Target: "https://prod.example.com/workflows/topsecret?sig=topsecret"},
		{Kind: Telegram, Target: "-100", Token: token},
	}
	w.net.answers(func(r *http.Request) (int, http.Header, string) {
		return 400, nil, strings.Repeat("x", 160) + "bad: " + r.URL.RequestURI()
	})
	var deliveries []Delivery
	for i, r := range kinds {
		r.Account, r.Name = w.account.ID, "x"
		c, _, err := w.channels.Create(t.Context(), r)
		require.NoError(t, err)
		assert.NotContains(t, fmt.Sprintf("%+v", c), "topsecret")
		assert.NotContains(t, fmt.Sprintf("%+v", c), "AAHdq")
		w.net.fail = nil
		if i%2 == 0 {
			w.net.fail = &url.Error{Op: "Post", URL: r.Target, Err: errors.New("dialling: refused")}
		}
		deliveries = append(deliveries, w.test(c))
		w.pump()
		w.net.fail = nil
		deliveries = append(deliveries, w.test(c))
		w.pump()
	}
	for _, d := range deliveries {
		text := fmt.Sprintf("%+v", w.delivery(d.ID))
		assert.NotContains(t, text, "topsecret")
		assert.NotContains(t, text, "AAHdq")
	}
	for _, bad := range []string{"http://topsecret.example.com/", "https://u:topsecret@x.example.com/", "://topsecret"} {
		_, _, err := w.channels.Create(t.Context(),
			ChannelRequest{Account: w.account.ID, Name: "x", Kind: Webhook, Target: bad})
		require.Error(t, err)
		assert.NotContains(t, err.Error(), "topsecret")
	}
}

func TestTidy(t *testing.T) {
	w := newWorld(t)
	c, _ := w.channel("a")
	w.test(c)
	w.key(nil)
	w.pump()
	require.Len(t, w.deliveries(), 2)
	w.clock.Advance(keepFor)
	n, err := Tidy(t.Context(), w.store, w.clock.Now())
	require.NoError(t, err)
	assert.Zero(t, n)
	waiting := w.test(c)
	w.clock.Advance(time.Microsecond)
	n, err = Tidy(t.Context(), w.store, w.clock.Now())
	require.NoError(t, err)
	assert.Equal(t, 4, n)
	require.Len(t, w.deliveries(), 1)
	w.clock.Advance(keepFor)
	_, err = Tidy(t.Context(), w.store, w.clock.Now())
	require.NoError(t, err)
	assert.Equal(t, waiting.ID, w.deliveries()[0].ID, "what is due stays")
	assert.Empty(t, w.pump(), "but its event is gone")
	assert.Equal(t, eventPruned, w.delivery(waiting.ID).Attempts[0].Error)
}

func TestPrintable(t *testing.T) {
	assert.Equal(t, "a b c", printable([]byte("a\r\nb\x00\xff\u202ec")))
	assert.Equal(t, strings.Repeat("ä", maxShown)+"…", printable([]byte(strings.Repeat("ä", maxShown+1))))
}

// Over HTTP/1.1 the names of the headers are spelled as the contract spells them.
func TestSpellingOfHeaders(t *testing.T) {
	w := newWorld(t)
	c, _ := w.channel("a")
	w.test(c)
	got := w.pump()
	require.Len(t, got, 1)
	for _, name := range []string{
		"User-Agent", "X-Service-Event-ID", "X-Service-Delivery-ID", "X-Service-Attempt", "X-Service-Event-Type", "X-Service-Timestamp",
		"X-Service-Signature", "webhook-id", "webhook-timestamp", "webhook-signature",
	} {
		require.Len(t, got[0].spelled[name], 1, name)
	}
}

// What did not arrive at a channel since a time is sent again, each event once, until it arrives.
func TestReplaySince(t *testing.T) {
	w := newWorld(t)
	c, _ := w.channel("a")
	early := w.test(c)
	w.net.status(500)
	for range MaxAttempts {
		w.pump()
		w.clock.Advance(24 * time.Hour)
	}
	require.Equal(t, FailedExhausted, func() DeliveryState { w.pump(); return w.delivery(early.ID).State }())
	since := w.clock.Now()
	w.net.status(404)
	refused := w.test(c)
	w.pump()
	w.net.status(200)
	arrived := w.test(c)
	w.pump()
	require.Equal(t, Delivered, w.delivery(arrived.ID).State)
	require.False(t, w.delivery(refused.ID).ReplayableUntil().IsZero())

	again, err := w.channels.ReplaySince(t.Context(), w.account.ID, c.ID, since)
	require.NoError(t, err)
	require.Len(t, again, 1)
	require.Equal(t, refused.Event, again[0].Event)
	w.net.status(404)
	w.pump()
	w.net.status(200)
	again, err = w.channels.ReplaySince(t.Context(), w.account.ID, c.ID, since.Add(-30*24*time.Hour))
	require.NoError(t, err)
	require.Equal(t, []string{early.Event, refused.Event}, []string{again[0].Event, again[1].Event})
	require.Len(t, again, 2)
	w.pump()
	again, err = w.channels.ReplaySince(t.Context(), w.account.ID, c.ID, time.Time{})
	require.NoError(t, err)
	require.Empty(t, again, "all have arrived")
}

// An account has so many tests and replays a day, whatever its channels; what is refused keeps nothing, and others are
// not affected.
func TestAskedDeliveriesAreBounded(t *testing.T) {
	w := newWorld(t)
	c, _ := w.channel("a")
	w.net.status(404)
	failed := []Delivery{w.test(c), w.test(c), w.test(c)}
	w.pump()
	w.clock.Advance(requestedWindow)
	var records []metering.Record
	put := func() {
		require.NoError(t, w.store.PutRecords(t.Context(), records...))
		records = nil
	}
	for i := range maxRequested - 2 {
		d := Delivery{ID: fmt.Sprint("dlv_", i), Account: w.account.ID, Channel: c.ID, Event: failed[0].Event,
			State: Delivered, ReplayOf: "dlv_x", CreatedAt: w.clock.Now()}
		if records = append(records, d.record(0)); len(records) == metering.MaxRecordsPut {
			put()
		}
	}
	put()
	again, err := w.channels.ReplaySince(t.Context(), w.account.ID, c.ID, time.Time{})
	require.NoError(t, err)
	require.Len(t, again, 2, "as many as are left")
	count := func() int {
		list, err := w.channels.Deliveries(t.Context(), w.account.ID, "", 0)
		require.NoError(t, err)
		return len(list)
	}
	before := count()
	for name, ask := range map[string]func() error{
		"test":   func() error { _, err := w.channels.Test(t.Context(), w.account.ID, c.ID); return err },
		"replay": func() error { _, err := w.channels.Replay(t.Context(), w.account.ID, failed[0].ID); return err },
		"since": func() error {
			_, err := w.channels.ReplaySince(t.Context(), w.account.ID, c.ID, time.Time{})
			return err
		},
	} {
		refused, ok := errors.AsType[*metering.FieldError](ask())
		require.True(t, ok, name)
		require.Contains(t, refused.Reason, "2000 tests and replays within a day", name)
	}
	require.Equal(t, before, count())
	other, err := w.admin.CreateAccount(t.Context(), "Other", "pack")
	require.NoError(t, err)
	theirs, _, err := w.channels.Create(t.Context(), ChannelRequest{
		Account: other.ID, Name: "b", Kind: Webhook, Target: "https://hooks.example.com/b"})
	require.NoError(t, err)
	_, err = w.channels.Test(t.Context(), other.ID, theirs.ID)
	require.NoError(t, err)
	w.clock.Advance(requestedWindow)
	_, err = w.channels.Test(t.Context(), w.account.ID, c.ID)
	require.NoError(t, err)
}
