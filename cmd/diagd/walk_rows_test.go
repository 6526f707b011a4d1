//go:build !race && linux

package main

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
	"github.com/diagkit/diagkit/metering/member"
	"github.com/diagkit/diagkit/metering/notify"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mostMemory is what the process may have resident, with all that runs, and goMemory what its collector is told: pools
// are half of that, whatever the machine has.
const mostMemory, goMemory = 512 << 20, 384 << 20

// A keptBound bounds what is kept of a kind: for an account in all, and how many are added in a day. 0 means no bound
// of its own.
type keptBound struct {
	most holding
	day  int64
}

// keptBounds are the bounds of each kind of record, and of the tables of the store, as package budget has them. A kind
// without a row is a fault.
var keptBounds = func() map[string]keptBound {
	changes, asked := budget.Of(budget.Changes), budget.Of(budget.Replays).Account
	members, channels := budget.Of(budget.Members).Account, budget.Of(budget.Channels).Account
	watches := budget.Of(budget.Watches).Account
	const day = 24 // hours
	links := budget.Of(budget.SignInMails).Person * day
	mails := budget.Of(budget.ChannelMails).Account * day
	one := keptBound{most: holding{1, metering.MaxRecordBytes}}
	return map[string]keptBound{
		"act":            {day: changes.Account + links}, // and those who sign in
		"member":         {most: holding{count: members}},
		"member_session": {most: holding{count: members * budget.Of(budget.Sessions).Person}},
		"member_link":    {day: changes.Account + links},
		"kept":           {most: holding{bytes: budget.Of(budget.Results).Account}},
		"share":          {most: holding{bytes: budget.Of(budget.Shares).Account}},
		"channel":        {most: holding{count: channels}},
		"mailbox":        {day: mails},
		"event":          {day: changes.Account + asked},
		"delivery":       {day: changes.Account*channels + asked},
		"watch":          {most: holding{count: watches}},
		"watch_state":    {most: holding{count: watches}},
		"watch_report":   {most: holding{count: watches, bytes: budget.Of(budget.Digests).Account}},
		"watch_history":  {most: holding{count: watches * 14}}, // chapters of months, for 400 days
		"acting":         {most: holding{count: 2}},            // keys of the dashboard and of watches
		"kept_list":      one, "share_list": one, "channel_turn": one, "member_turn": one, "watch_turn": one,

		"(keys)":     {day: changes.Account + 2},
		"(accounts)": {day: 1}, // which the operator makes
		"(ledger)":   {},       // paid for
		"(replies)":  {},       // paid for; bodies go at [budget.Replies]
	}
}()

// A walkRow says how a route is walked that has more to it than its sample.
type walkRow struct {
	before func(*walk) // makes what the requests of the account need
	// sample is the nth request: its path and its form.
	sample func(w *walk, n int) (path string, form url.Values)
	// strangers are the kinds that are kept of requests without session or key.
	strangers []string
	// rounds is how many requests there are of the account, where each takes long; 0: as many as elsewhere.
	rounds int
	mailed bool           // each that is served sends a mail, a moment later
	served map[string]int // how many requests of a sender are served at most
}

// things are what the account has, and the rows do something to.
type things struct {
	channel, mailed, delivery, member, result, key string
}

// form is a sample that always goes to one path.
func form(path func(*walk) string, fields ...string) func(*walk, int) (string, url.Values) {
	return func(w *walk, _ int) (string, url.Values) {
		values := url.Values{}
		for i := 0; i < len(fields); i += 2 {
			values.Add(fields[i], fields[i+1])
		}
		return path(w), values
	}
}

// onWalk are the rows of routes that keep something, or whose samples need something that is there.
var onWalk = map[string]walkRow{
	"POST /public/v1/resolve/propagation": {rounds: 4}, // which ask servers that do not answer here
	"POST /public/v1/dnssec/check":        {rounds: 4},
	"POST /public/v1/mail/domain-check":   {rounds: 4},
	"POST /dashboard/domains": {sample: func(w *walk, n int) (string, url.Values) {
		one := fmt.Sprintf("d%d-%d.example", w.now.Unix(), n)
		return "/dashboard/domains", url.Values{"domain": {one + ", sub." + one},
			"every":  {"24h0m0s"},
			"checks": {"spf/lookup"}}
	}},
	"POST /dashboard/domains/{domain}/check": {rounds: 2, before: watching, sample: func(*walk, int) (string, url.Values) {
		return "/dashboard/domains/example.com/check", url.Values{"token": {member.NewToken()}}
	}},
	"POST /dashboard/check": {rounds: 2, sample: func(*walk, int) (string, url.Values) {
		return "/dashboard/check", url.Values{"domain": {"example.com"}, "token": {member.NewToken()}}
	}},
	"POST /dashboard/domains/{domain}/run": {before: watching},
	"POST /dashboard/domains/{domain}/settings": {before: watching, sample: func(w *walk, n int) (string, url.Values) {
		return "/dashboard/domains/example.com/settings", url.Values{"every": {"24h0m0s"}, "budget": {fmt.Sprint(n + 1)}}
	}},
	"POST /dashboard/domains/{domain}/remove": {before: watching},
	"POST /dashboard/playground/{operation...}": {sample: func(*walk, int) (string, url.Values) {
		return "/dashboard/playground/text/random", url.Values{"token": {member.NewToken()}}
	}},
	"POST /dashboard/keys": {sample: func(w *walk, n int) (string, url.Values) {
		return "/dashboard/keys", url.Values{"name": {strings.Repeat("🔑", 64)}, "environment": {"live"},
			"scopes": {"dns:read", "mail:read"}, "ip_allowlist": {strings.Repeat("2001:db8:1:2:3:4:5:6 ", 100)}}
	}},
	"GET /dashboard/keys/{id}":         {before: keyed, sample: form(toKey(""))},
	"POST /dashboard/keys/{id}/rotate": {before: keyed, sample: rotation},
	"POST /dashboard/keys/{id}/revoke": {before: keyed, sample: form(toKey("/revoke"), "reason", "manual", "sure", "yes")},
	"POST /dashboard/channels": {sample: func(w *walk, n int) (string, url.Values) {
		return "/dashboard/channels", url.Values{"name": {"a"}, "kind": {[]string{"email", "webhook"}[n%2]},
			"target": {[]string{fmt.Sprintf("a%d@example.com", n), w.hook}[n%2]}, "categories": {"api_key", "billing"}}
	}},
	"GET /dashboard/channels/{id}":         {before: subscribed, sample: form(toChannel(""))},
	"POST /dashboard/channels/{id}/rotate": {before: subscribed, sample: form(toChannel("/rotate"), "overlap", "24")},
	"POST /dashboard/channels/{id}/remove": {before: subscribed, sample: form(toChannel("/remove"), "sure", "yes")},
	"POST /dashboard/channels/{id}/test": {before: subscribed, sample: func(w *walk, n int) (string, url.Values) {
		return "/dashboard/channels/" + []string{w.has.channel, w.has.mailed}[n%2] + "/test", nil
	}},
	"POST /dashboard/channels/{id}/confirm": {before: subscribed, sample: func(w *walk, n int) (string, url.Values) {
		return "/dashboard/channels/" + w.has.mailed + "/confirm", url.Values{"code": {fmt.Sprint(n)}}
	}},
	"POST /dashboard/channels/{id}/replay": {before: subscribed, sample: form(toChannel("/replay"), "since", "720")},
	"POST /dashboard/channels/{id}/enable": {before: subscribed, sample: func(w *walk, n int) (string, url.Values) {
		of, act := []string{w.has.channel, w.has.mailed}[n%2], []string{"/enable", "/disable"}[n/2%2]
		return "/dashboard/channels/" + of + act, nil
	}},
	"POST /dashboard/channels/{id}/disable":  {before: subscribed, sample: form(toChannel("/disable"))},
	"GET /dashboard/deliveries/{id}":         {before: subscribed, sample: form(toDelivery(""))},
	"POST /dashboard/deliveries/{id}/replay": {before: subscribed, sample: form(toDelivery("/replay"))},
	"POST /dashboard/members": {sample: func(w *walk, n int) (string, url.Values) {
		email := fmt.Sprintf("m%d-%d@example.com", w.now.Unix(), n)
		return "/dashboard/members", url.Values{"email": {email}, "role": {"viewer"}}
	}},
	"GET /dashboard/members/{id}":         {before: joined, sample: form(toMember(""))},
	"POST /dashboard/members/{id}/role":   {before: joined, sample: form(toMember("/role"), "role", "developer")},
	"POST /dashboard/members/{id}/link":   {before: joined, sample: form(toMember("/link"))},
	"POST /dashboard/members/{id}/remove": {before: joined, sample: form(toMember("/remove"), "sure", "yes")},
	"POST /dashboard/account": {sample: func(w *walk, _ int) (string, url.Values) {
		return "/dashboard/account", url.Values{"account": {string(w.mine.id)}}
	}},
	"POST /dashboard/enter": {sample: entry, strangers: []string{"member_session", "member_link", "act"},
		served: map[string]int{"account": 20, "/64": 20, "/48": 160}},
	"POST /dashboard/enter/mail": {mailed: true, strangers: []string{"member_link"},
		sample: func(w *walk, _ int) (string, url.Values) {
			return "/dashboard/enter/mail", url.Values{"email": {w.mine.email}}
		},
		served: map[string]int{"account": 5, "/64": 5, "/48": 5}},
	"POST /dashboard/shares": {before: ran, sample: func(w *walk, _ int) (string, url.Values) {
		return "/dashboard/shares", url.Values{"token": {member.NewToken()}, "result": {w.has.result}}
	}},
	"POST /check": {sample: func(w *walk, n int) (string, url.Values) {
		return "/check", url.Values{"domain": {fmt.Sprintf("d%d-%d.example", w.now.Unix(), n)}}
	}, served: map[string]int{"account": 20, "/64": 20, "/48": 160}},
	"POST /letterbox": {served: map[string]int{"account": 10, "/64": 10, "/48": 80}},
}

func toKey(act string) func(*walk) string {
	return func(w *walk) string { return "/dashboard/keys/" + w.has.key + act }
}

func toDelivery(act string) func(*walk) string {
	return func(w *walk) string { return "/dashboard/deliveries/" + w.has.delivery + act }
}

func toChannel(act string) func(*walk) string {
	return func(w *walk) string { return "/dashboard/channels/" + w.has.channel + act }
}

func toMember(act string) func(*walk) string {
	return func(w *walk) string { return "/dashboard/members/" + w.has.member + act }
}

// do sends a form of the account, which must be taken, and returns where it leads.
func (w *walk) do(path string, fields ...string) string {
	_, values := form(func(*walk) string { return path }, fields...)(w, 0)
	body := strings.NewReader(values.Encode())
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.p.url+path, body)
	require.NoError(w.t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Cookie", w.mine.session)
	got, err := do(walkClient, r)
	require.NoError(w.t, err)
	require.Equal(w.t, http.StatusSeeOther, got.status, "%s: %s", path, got)
	to, _, _ := strings.Cut(got.header.Get("Location"), "?")
	return to
}

// watching makes a watch that has run once.
func watching(w *walk) {
	w.do("/dashboard/domains", "domain", "example.com", "every", "24h0m0s", "checks", "spf/lookup")
	until(w.t, "the watch has run", func() bool {
		list, err := w.watches().List(w.t.Context(), w.mine.id)
		require.NoError(w.t, err)
		return !list[0].LastRun.IsZero()
	})
}

func keyed(w *walk) {
	w.has.key = path.Base(w.do("/dashboard/keys", "name", "a", "environment", "live", "scopes", "dns:read"))
}

// rotation rotates the newest key of a line each time.
func rotation(w *walk, _ int) (string, url.Values) {
	newest := metering.KeyFilter{Account: w.mine.id, Newest: true, Limit: 1}
	keys, err := metering.Collect(w.store.Keys(w.t.Context(), newest))
	require.NoError(w.t, err)
	return "/dashboard/keys/" + string(keys[0].ID) + "/rotate", url.Values{"grace": {"24"}}
}

// subscribed makes a channel that is a webhook and one of mail, and a delivery.
func subscribed(w *walk) {
	ctx, channels := w.t.Context(), w.channels()
	list, err := channels.List(ctx, w.mine.id)
	require.NoError(w.t, err)
	for _, c := range list {
		require.NoError(w.t, channels.Remove(ctx, w.mine.id, c.ID))
	}
	w.has.channel = path.Base(w.do("/dashboard/channels", "name", "a", "kind", "webhook", "target", w.hook,
		"categories", "api_key"))
	w.has.mailed = path.Base(w.do("/dashboard/channels", "name", "b", "kind", "email", "target", "b@example.com",
		"categories", "api_key"))
	w.do("/dashboard/channels/" + w.has.channel + "/test")
	sent, err := channels.Deliveries(ctx, w.mine.id, w.has.channel, 1)
	require.NoError(w.t, err)
	w.has.delivery = sent[0].ID
	w.pass(time.Hour)
}

func joined(w *walk) {
	one, err := w.people.Member(w.t.Context(), w.mine.id, "joined@example.com")
	if err != nil {
		one, err = w.people.Add(w.t.Context(), w.mine.id, "joined@example.com", member.Viewer)
	}
	require.NoError(w.t, err)
	w.has.member = one.ID()
}

// entry uses a new link each time.
func entry(w *walk, _ int) (string, url.Values) {
	token, err := w.people.NewLink(w.t.Context(), w.mine.email)
	require.NoError(w.t, err)
	return "/dashboard/enter", url.Values{"token": {token}, "account": {string(w.mine.id)}}
}

func ran(w *walk) {
	w.has.result = member.NewToken()
	w.do("/dashboard/playground/text/upper", "f.text", "a", "token", w.has.result)
}

func (w *walk) channels() notify.Channels {
	return notify.Channels{Store: w.store, Clock: w.people.Clock}
}

func (w *walk) watches() *watch.Watches {
	return watch.New(watch.Config{Store: w.store, Clock: w.people.Clock})
}

// walkedBeside are the listeners that [walk.beside] walks, and whether it does: that of metrics is the operator's own.
var walkedBeside = map[string]bool{
	"letterbox-listen": true, "spf-dns-listen": true, "callback-listen": true, "metrics-listen": false,
}

// Every route is repeated with large bodies and with many small ones, from one account, one /64 and one /48: memory,
// what is kept, mails and deliveries stay within their bounds, what is refused keeps nothing, and others are served.
func TestWalk(t *testing.T) {
	if testing.Short() {
		t.Skip("needs many seconds; runs without -short, as in .ci/run")
	}
	w := newWalk(t)
	stale := maps.Clone(onWalk)
	for _, r := range routes(t) {
		delete(stale, r.pattern)
		if r.listener != "listen" {
			_, known := walkedBeside[r.listener]
			assert.True(t, known, "%s is not walked", r.listener)
			continue
		}
		alike := r.needs == "key" || strings.HasPrefix(r.path, "/docs/")
		if alike && !diagtest.Sampled(r.pattern, 8) {
			continue
		}
		for _, s := range senders {
			for _, z := range []size{small, large} {
				w.take(step{&r, s, z})
			}
		}
	}
	assert.Empty(t, slices.Collect(maps.Keys(stale)), "rows of routes that there are not")
	w.beside()
	t.Logf("%d steps, %d MiB at most; what has no line kept nothing and was answered alike", w.steps, w.peak>>20)
}
