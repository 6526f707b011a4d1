package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	hostedmemory "github.com/diagkit/diagkit/mailauth/hostedspf/memory"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/notify"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A listener notes the types of the events that it is sent.
type listener struct {
	mu    sync.Mutex
	types []string
}

func (l *listener) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.types = append(l.types, r.Header["X-Service-Event-Type"]...)
	return &http.Response{StatusCode: 204, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
}

func (l *listener) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	types := l.types
	l.types = nil
	return types
}

// What is done to a hosted SPF profile is derived from what its store keeps, and arrives at a channel; the key that
// owns it may have been rotated.
func TestHostedSPFIsNotified(t *testing.T) {
	ctx, clock := t.Context(), meteringtest.NewClock()
	zone := func(addresses string) *diag.Env {
		w := diagtest.NewWorld(t)
		w.Zone(`example.com. TXT "v=spf1 include:_spf.example.org -all"` + "\n" + addresses)
		env := w.Env()
		env.Clock = clock.Now
		return env
	}
	first := zone(`_spf.example.org. TXT "v=spf1 ip4:192.0.2.0/25 -all"`)
	second := zone(`_spf.example.org. TXT "v=spf1 ip4:192.0.2.0/24 -all"`)
	broken := zone(`_spf.example.org. TXT "v=spf1 include:_spf.example.org -all"`)

	store := memory.New(memory.Config{Clock: clock.Now})
	defer store.Close()
	admin := metering.Admin{Store: store, Clock: clock.Now}
	account, err := admin.CreateAccount(ctx, "Example", "pack")
	require.NoError(t, err)
	key, _, err := admin.CreateKey(ctx, metering.KeyRequest{Account: account.ID, Name: "x", Scopes: metering.Scopes()})
	require.NoError(t, err)
	_, _, _, err = admin.RotateKey(ctx, key.ID, time.Hour)
	require.NoError(t, err)
	_, _, err = notify.Channels{Store: store, Clock: clock.Now}.Create(ctx, notify.ChannelRequest{
		Account: account.ID, Name: "ops", Kind: notify.Webhook, Target: "https://hooks.example.com/",
		Categories: []metering.EventCategory{metering.SPFEvents},
	})
	require.NoError(t, err)

	hostedStore := hostedmemory.New(hostedmemory.Config{Clock: clock.Now})
	heard := &listener{}
	worker := &notify.Worker{Store: store, Client: &http.Client{Transport: heard}, Clock: clock.Now}
	told := func(want ...string) {
		t.Helper()
		for range 2 { // a node that has just started finds only what is new
			deriver := &notify.Deriver{Store: store, SPF: spfProfiles{hostedStore}, Clock: clock.Now}
			require.NoError(t, deriver.CheckAll(ctx))
			require.NoError(t, worker.Flush(ctx))
		}
		assert.ElementsMatch(t, want, heard.take())
	}
	access := hostedspf.Access{Store: hostedStore, Owner: hostedspf.Owner(key.ID)}
	p, err := hostedspf.Create(ctx, first, access, hostedspf.CreateRequest{
		Domain: diag.MustDomain("example.com"), IncludeHost: diag.MustName("_flat.example.net"),
	})
	require.NoError(t, err)
	resolve := func(env *diag.Env) {
		t.Helper()
		clock.Advance(time.Hour)
		_, err := hostedspf.Resolve(context.WithoutCancel(ctx), env, access, hostedspf.ResolveRequest{ID: p.ID})
		require.NoError(t, err)
	}
	told("spf.profile_created")
	resolve(first)
	told()
	resolve(second)
	told("spf.profile_changed")
	resolve(broken)
	told("spf.profile_failed")
	resolve(broken)
	told()
	resolve(second)
	told("spf.profile_recovered")
	require.NoError(t, hostedspf.Remove(ctx, access, p.ID))
	told("spf.profile_removed")
}
