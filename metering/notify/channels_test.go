package notify

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestChannelFaults(t *testing.T) {
	const hook, token = "https://hooks.example.com/x", "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1"
	secret := NewSecret()
	tests := []struct {
		name  string
		r     ChannelRequest
		field string
	}{
		{"no name", ChannelRequest{Kind: Webhook, Target: hook}, "name"},
		{"a long name", ChannelRequest{Name: strings.Repeat("x", 65), Kind: Webhook, Target: hook}, "name"},
		{"a name of two lines", ChannelRequest{Name: "a\nb", Kind: Webhook, Target: hook}, "name"},
		{"no kind", ChannelRequest{Name: "x", Target: hook}, "kind"},
		{"no target", ChannelRequest{Name: "x", Kind: Webhook}, "target"},
		{"http", ChannelRequest{Name: "x", Kind: Webhook, Target: "http://hooks.example.com/"}, "target"},
		{"another scheme", ChannelRequest{Name: "x", Kind: Webhook, Target: "file:///etc/passwd"}, "target"},
		{"opaque", ChannelRequest{Name: "x", Kind: Webhook, Target: "https:hooks.example.com"}, "target"},
		{"user", ChannelRequest{Name: "x", Kind: Slack, Target: "https://u@hooks.example.com/"}, "target"},
		{"password", ChannelRequest{Name: "x", Kind: Teams, Target: "https://u:p@hooks.example.com/"}, "target"},
		{"no host", ChannelRequest{Name: "x", Kind: Webhook, Target: "https:///x"}, "target"},
		{"port", ChannelRequest{Name: "x", Kind: Webhook, Target: "https://hooks.example.com:22/"}, "target"},
		{"no port", ChannelRequest{Name: "x", Kind: Webhook, Target: "https://hooks.example.com:99999/"}, "target"},
		{"fragment", ChannelRequest{Name: "x", Kind: Webhook, Target: hook + "#a"}, "target"},
		{"blank", ChannelRequest{Name: "x", Kind: Webhook, Target: hook + " a"}, "target"},
		{"not ASCII", ChannelRequest{Name: "x", Kind: Webhook, Target: "https://ünicode.example.com/"}, "target"},
		{"long", ChannelRequest{Name: "x", Kind: Webhook, Target: hook + strings.Repeat("x", maxTarget)}, "target"},
		{"category", ChannelRequest{Name: "x", Kind: Webhook, Target: hook,
			Categories: []metering.EventCategory{"channel"}}, "categories"},
		{"token for a webhook", ChannelRequest{Name: "x", Kind: Webhook, Target: hook, Token: token}, "token"},
		{"telegram without token", ChannelRequest{Name: "x", Kind: Telegram, Target: "-100"}, "token"},
		{"telegram with a bad token", ChannelRequest{Name: "x", Kind: Telegram, Target: "-100", Token: "1/../x"}, "token"},
		{"telegram chat", ChannelRequest{Name: "x", Kind: Telegram, Target: "https://t.me/x", Token: token}, "target"},
		{"secret for slack", ChannelRequest{Name: "x", Kind: Slack, Target: hook, Secret: secret}, "secret"},
		{"secret and none", ChannelRequest{Name: "x", Kind: Webhook, Target: hook, Secret: secret, Unsigned: true}, "secret"},
		{"mail with a name", ChannelRequest{Name: "x", Kind: Email, Target: "A <a@example.com>"}, "target"},
		{"mail injection", ChannelRequest{Name: "x", Kind: Email, Target: "a@example.com\r\nBcc: b@example.com"}, "target"},
		{"two addresses", ChannelRequest{Name: "x", Kind: Email, Target: "a@example.com,b@example.com"}, "target"},
	}
	w := newWorld(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.r.Account = w.account.ID
			_, _, err := w.channels.Create(t.Context(), tt.r)
			var fault *metering.FieldError
			require.ErrorAs(t, err, &fault)
			assert.Equal(t, tt.field, fault.Field)
		})
	}
	list, err := w.channels.List(t.Context(), w.account.ID)
	require.NoError(t, err)
	assert.Empty(t, list)
	_, _, err = w.channels.Create(t.Context(), ChannelRequest{Account: "acc_none", Name: "x", Kind: Webhook, Target: hook})
	assert.ErrorIs(t, err, metering.ErrNotFound)
	_, err = w.channels.Test(t.Context(), w.account.ID, "chn_none")
	assert.ErrorIs(t, err, metering.ErrNotFound)
	w.channels.AllowHTTP = true
	_, _, err = w.channels.Create(t.Context(),
		ChannelRequest{Account: w.account.ID, Name: "x", Kind: Webhook, Target: "http://lab.example.com/"})
	assert.NoError(t, err)
}

func TestChannelLimit(t *testing.T) {
	w := newWorld(t)
	for i := range maxChannels {
		w.channel(fmt.Sprintf("c%d", i))
	}
	_, _, err := w.channels.Create(t.Context(),
		ChannelRequest{Account: w.account.ID, Name: "x", Kind: Webhook, Target: "https://x.example.com/"})
	assert.ErrorContains(t, err, "20 channels")
	w.key(nil)
	assert.Len(t, w.pump(), maxChannels, "an event goes to all")
}

// A channel receives events of its categories that occur after it was created, and none while it is disabled.
func TestWhatChannelsAreTold(t *testing.T) {
	w := newWorld(t)
	w.key(nil)
	w.clock.Advance(time.Second)
	keys, _, err := w.channels.Create(t.Context(), ChannelRequest{
		Account: w.account.ID, Name: "keys", Kind: Webhook, Target: "https://keys.example.com/",
		Categories: []metering.EventCategory{metering.SPFEvents, metering.KeyEvents, metering.KeyEvents},
	})
	require.NoError(t, err)
	assert.Equal(t, []metering.EventCategory{metering.KeyEvents, metering.SPFEvents}, keys.Categories)
	_, _, err = w.channels.Create(t.Context(), ChannelRequest{
		Account: w.account.ID, Name: "usage", Kind: Webhook, Target: "https://usage.example.com/",
		Categories: []metering.EventCategory{metering.UsageEvents},
	})
	require.NoError(t, err)
	assert.Empty(t, w.pump(), "the first key is older")
	_, secret := w.key(nil)
	require.NoError(t, w.charge(secret, 25_000))
	told := map[string]metering.EventType{}
	for _, r := range w.pump() {
		told[r.URL.Host] = r.body(t).EventType
	}
	assert.Equal(t, map[string]metering.EventType{
		"keys.example.com": metering.EventKeyCreated, "usage.example.com": metering.EventUsageThreshold,
	}, told)

	for range 2 {
		_, err = w.channels.Disable(t.Context(), w.account.ID, keys.ID, "holidays")
		require.NoError(t, err)
	}
	w.key(nil)
	got := w.pump()
	require.Len(t, got, 1, "the other channel is told, once")
	assert.Equal(t, "usage.example.com", got[0].URL.Host)
	assert.Equal(t, metering.EventChannelDisabled, got[0].body(t).EventType)
	assert.Contains(t, got[0].text, "holidays")
	w.clock.Advance(time.Second)
	_, err = w.channels.Enable(t.Context(), w.account.ID, keys.ID)
	require.NoError(t, err)
	assert.Empty(t, w.pump(), "what occurred meanwhile is not told")
	w.key(nil)
	assert.Len(t, w.pump(), 1)
}

// An account neither sees nor changes anything of another account.
func TestAccountsAreApart(t *testing.T) {
	w := newWorld(t)
	c, _ := w.channel("a")
	d := w.test(c)
	other, err := w.admin.CreateAccount(t.Context(), "Other", "pack")
	require.NoError(t, err)
	_, err = w.channels.Channel(t.Context(), other.ID, c.ID)
	assert.ErrorIs(t, err, metering.ErrNotFound)
	_, err = w.channels.Replay(t.Context(), other.ID, d.ID)
	assert.ErrorIs(t, err, metering.ErrNotFound)
	assert.ErrorIs(t, w.channels.Remove(t.Context(), other.ID, c.ID), metering.ErrNotFound)
	list, err := w.channels.Deliveries(t.Context(), other.ID, "", 0)
	require.NoError(t, err)
	assert.Empty(t, list)
	_, _, err = w.admin.CreateKey(t.Context(),
		metering.KeyRequest{Account: other.ID, Name: "x", Scopes: metering.Scopes()})
	require.NoError(t, err)
	assert.Len(t, w.pump(), 1, "the test alone")
}

func TestRotateSecret(t *testing.T) {
	w := newWorld(t)
	c, old := w.channel("a")
	given := NewSecret()
	c, current, err := w.channels.RotateSecret(t.Context(), w.account.ID, c.ID, given, time.Hour)
	require.NoError(t, err)
	assert.Equal(t, given.Reveal(), current.Reveal())
	assert.Equal(t, w.clock.Now().Add(time.Hour), c.SignedTwiceUntil)
	verifies := func(s Secret) bool {
		w.test(c)
		got := w.pump()
		require.Len(t, got, 1)
		return Verify(got[0].Header, []byte(got[0].text), w.clock.Now(), s) == nil
	}
	assert.True(t, verifies(old))
	assert.True(t, verifies(current))
	w.clock.Advance(time.Hour)
	assert.False(t, verifies(old))
	assert.True(t, verifies(current))
	_, next, err := w.channels.RotateSecret(t.Context(), w.account.ID, c.ID, Secret{}, 0)
	require.NoError(t, err)
	assert.False(t, verifies(current))
	assert.True(t, verifies(next))
	for _, overlap := range []time.Duration{-1, maxOverlap + 1} {
		_, _, err = w.channels.RotateSecret(t.Context(), w.account.ID, c.ID, Secret{}, overlap)
		assert.ErrorContains(t, err, "overlap")
	}
	slack, _, err := w.channels.Create(t.Context(), ChannelRequest{
		Account: w.account.ID, Name: "s", Kind: Slack, Target: "https://hooks.slack.com/services/x"})
	require.NoError(t, err)
	assert.Equal(t, "https://hooks.slack.com/…", slack.Target)
	_, _, err = w.channels.RotateSecret(t.Context(), w.account.ID, slack.ID, Secret{}, 0)
	assert.ErrorContains(t, err, "signs nothing")
}

// Of two concurrent requests to add the last channel, one fails because the limit is reached.
func TestLastChannel(t *testing.T) {
	w := newWorld(t)
	create := func(c Channels) error {
		_, _, err := c.Create(t.Context(), ChannelRequest{
			Account: w.account.ID, Name: "a", Kind: Webhook, Target: "https://hooks.example.com/a"})
		return err
	}
	for range maxChannels - 1 {
		require.NoError(t, create(w.channels))
	}
	store := &meeting{Store: w.store}
	store.both.Add(2)
	w.channels.Store = store
	faults := make([]error, 2)
	var both sync.WaitGroup
	for i := range faults {
		both.Go(func() { faults[i] = create(w.channels) })
	}
	both.Wait()
	require.ErrorContains(t, errors.Join(faults...), "has 20 channels, which is the most")
	require.True(t, faults[0] == nil || faults[1] == nil)
	list, err := w.channels.List(t.Context(), w.account.ID)
	require.NoError(t, err)
	require.Len(t, list, maxChannels)
}

// meeting is a barrier for the first two writers: neither writes before both have counted.
type meeting struct {
	metering.Store
	writes atomic.Int64
	both   sync.WaitGroup
}

func (m *meeting) PutRecords(ctx context.Context, records ...metering.Record) error {
	if m.writes.Add(1) <= 2 {
		m.both.Done()
		m.both.Wait()
	}
	return m.Store.PutRecords(ctx, records...)
}
