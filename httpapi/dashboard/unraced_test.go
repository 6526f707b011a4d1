//go:build !race || nightly

package dashboard

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
	"github.com/diagkit/diagkit/metering/postgres"
	"github.com/diagkit/diagkit/metering/postgresdb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The race detector makes these many times slower, and their only concurrency is covered by other tests.

// A list of 10,000 domains is a page for a person. DIAG_TEST_POSTGRES is the URL of a database, on which it is measured.
func TestManyDomains(t *testing.T) {
	h := newFixture(t, withDemoWorld(t), func(c *Config) {
		if url := os.Getenv("DIAG_TEST_POSTGRES"); url != "" {
			c.Watches = watch.New(watch.Config{Store: postgresWith(t, url, *c), Clock: c.Clock})
		} else {
			withWatches(c)
		}
	})
	b := h.owner()
	b.add("plain.example")
	store, many := h.dash.Watches.Store, 10_000
	list, err := h.dash.Watches.List(t.Context(), h.account.ID)
	require.NoError(t, err)
	one, err := store.Record(t.Context(), h.account.ID, "watch", list[0].ID)
	require.NoError(t, err)
	one.Body = append(bytes.TrimSuffix(one.Body, []byte("}")), `,"mark":"error","score":71,"worst":"tls.certificate.expired",`+
		`"findings":{"critical":0,"error":2,"warning":5,"info":4},"changed_at":"2026-11-12T08:00:00Z",`+
		`"change":"worse: Certificate has expired and 2 more","expires_at":"2027-01-09T08:00:00Z","expiring":"certificate",`+
		`"last_run_at":"2026-11-12T08:00:00Z","next":"2026-11-13T08:00:00Z","month":24322,"spent_credits":240}`...)
	var copies []metering.Record
	for i := 1; i < many; i++ {
		d, r := diag.MustDomain(fmt.Sprintf("customer-%d.example.org", i)), one
		r.ID, r.Version = watch.ID(d), 0
		r.Body = bytes.Replace(one.Body, []byte("plain.example"), []byte(d.String()), 1)
		copies = append(copies, r)
	}
	for group := range slices.Chunk(copies, metering.MaxRecordsPut) {
		require.NoError(t, store.PutRecords(t.Context(), group...))
	}
	var took []time.Duration
	size := 0
	for range 9 {
		began := time.Now()
		page := b.send(http.MethodGet, "/dashboard?page=100", nil)
		size = len(page.body)
		took = append(took, time.Since(began))
		require.Equal(t, domainsPageSize, page.Find("table.domains tbody tr").Length())
		require.Contains(t, page.words("caption"), "10,000")
	}
	slices.Sort(took)
	t.Logf("a page of the list of %d domains on %T: %v in the middle, %v at worst, %d bytes", many, store, took[4], took[8],
		size)
	assert.Less(t, size, 60<<10)
	began := time.Now()
	file := b.send(http.MethodGet, "/dashboard/domains.csv", nil).body
	t.Logf("the same as a file: %v, %d bytes", time.Since(began), len(file))
	assert.Equal(t, 1+many, strings.Count(file, "\r\n"))
	form := url.Values{"every": {"24h0m0s"}}
	for i := range maxAdded {
		form.Add("domain", fmt.Sprintf("customer-%d.example.org", many+i))
	}
	began = time.Now()
	full := b.send(http.MethodPost, "/dashboard/domains", form)
	t.Logf("a form that adds %d domains, of which none fits: %v", maxAdded, time.Since(began))
	assert.Equal(t, http.StatusUnprocessableEntity, full.status)
	assert.Contains(t, full.words(".entries"), "customer-10000.example.org exceeds the 10,000 domains that an account can watch")
	assert.Equal(t, maxNamed, full.Find(".entries li").Length())
	assert.Equal(t, maxAdded, len(strings.Fields(full.Find("#domain").Text())))
	assert.Equal(t, 11, b.get("/dashboard?q=CUSTOMER-99.&page=99").Find("table.domains tbody tr").Length()+10)
}

// postgresWith is an empty store of its own that has the accounts of another.
func postgresWith(t *testing.T, url string, c Config) metering.Store {
	scratch, drop, err := postgresdb.Scratch(t.Context(), url)
	require.NoError(t, err)
	store, err := postgres.Open(t.Context(), scratch, postgres.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, errors.Join(store.Close(), drop())) })
	accounts, err := c.Store.Accounts(t.Context())
	require.NoError(t, err)
	for _, a := range accounts {
		a.Version = 0
		require.NoError(t, store.PutAccount(t.Context(), a))
	}
	return store
}

// A shared result is public, and does not reveal who shared it and how it was requested.
func TestShareOperations(t *testing.T) {
	h := newFixture(t, withDemoWorld(t))
	b, stranger := h.owner(), h.browser()
	secrets := []string{string(h.account.ID), "Example &amp; Co", "owner@example.com", "127.0.0.53", "key_", "svc_", "acc_",
		"req_", "dashboard/"}
	for _, ep := range httpapi.Endpoints() {
		op := operation{ep}
		result := b.run(b.get(op.Page() + "?example"))
		if !shareable(op.Name()) || op.Name() == "http/qr" || op.Hosted() && op.Path != "/spf/hosted" {
			require.Equal(t, 0, result.Find(`main form[action="/dashboard/shares"]`).Length(), op.Name())
			continue
		}
		page := stranger.get(b.share(result))
		require.Equal(t, 1, page.Find("section.view").Length(), op.Name())
		wellFormed(t, op.Name(), page)
		require.Equal(t, "noindex, nofollow", page.header.Get("X-Robots-Tag"))
		require.Contains(t, page.Find(`meta[name="robots"]`).AttrOr("content", ""), "noindex")
		require.Equal(t, "no-referrer", page.header.Get("Referrer-Policy"))
		require.Equal(t, 0, page.Find("nav:not(.links)").Length())
		require.NotContains(t, page.body, " style=", op.Name())
		shown := strings.NewReplacer("/dashboard/style.css", "", "/dashboard/icon.svg", "",
			"/dashboard/script.js", "").Replace(page.body)
		for _, secret := range secrets {
			require.NotContains(t, shown, secret, op.Name())
		}
		if op.Name() == "resolve" {
			require.Contains(t, result.words(".view .facts"), "server")
			require.NotContains(t, page.words(".view .facts"), "server")
		}
	}
	assert.Empty(t, stranger.cookies)
}

// What is kept can be opened with the token alone, whatever its length.
func TestStoreResult(t *testing.T) {
	h := newFixture(t)
	ctx := t.Context()
	for _, size := range []int{0, 10, resultPartSize, 5 * resultPartSize} {
		token, text := member.NewToken(), strings.Repeat(member.NewToken(), size/43)
		_, err := h.dash.claimToken(ctx, h.account.ID, token)
		require.NoError(t, err)
		fits, err := h.dash.storeResult(ctx, h.account.ID, token, text)
		require.NoError(t, err)
		require.True(t, fits)
		var again string
		require.NoError(t, h.dash.loadResult(ctx, h.account.ID, token, &again))
		require.Equal(t, text, again)
		require.ErrorIs(t, h.dash.loadResult(ctx, h.other.ID, token, &again), metering.ErrNotFound)
	}
	token := member.NewToken()
	_, err := h.dash.claimToken(ctx, h.account.ID, token)
	require.NoError(t, err)
	r := &run{Operation: "text/lower", Fields: []byte("{}"), Reply: make([]byte, maxResultParts*resultPartSize)}
	_, _ = rand.Read(r.Reply)
	require.NoError(t, h.dash.storeRun(ctx, h.account.ID, token, r))
	var again run
	require.NoError(t, h.dash.loadResult(ctx, h.account.ID, token, &again))
	require.Contains(t, again.Error, "too long")
	require.Empty(t, again.Fields)
	require.Empty(t, again.Reply)
}

// Every operation can be run by its form with its example, is charged once, and shows its result, JSON, curl and Go.
func TestPlayground(t *testing.T) {
	h := newFixture(t, withDemoWorld(t))
	b, all := h.owner(), 0
	spent := int64(0)
	list := b.get("/dashboard/playground")
	for _, ep := range httpapi.Endpoints() {
		op := operation{ep}
		require.Equal(t, 1, list.Find(`a[href="`+op.Page()+`"]`).Length(), op.Name())
		require.Contains(t, list.words("main"), op.Summary())
		page := b.get(op.Page() + "?example")
		wellFormed(t, op.Name(), page)
		page = b.run(page)
		wellFormed(t, op.Name(), page)
		if op.Hosted() && op.Path != "/spf/hosted" {
			assert.Contains(t, page.words(".notice.bad"), "There is nothing at this path.", op.Name())
			continue
		}
		require.Empty(t, page.words(".bad"), op.Name())
		require.Contains(t, page.words("#result"), "req_", op.Name())
		require.Contains(t, page.words("#result"), `curl "$DIAG_SERVER`, op.Name())
		require.Contains(t, page.words("#result"), "report, err :=", op.Name())
		require.NotContains(t, page.body, " style=", op.Name())
		require.NotContains(t, page.body, "svc_", op.Name())
		if op.Name() == "http/qr" {
			picture := b.get(page.Find("img.reply").AttrOr("src", ""))
			require.Equal(t, "image/png", picture.header.Get("Content-Type"))
			require.Contains(t, picture.header.Get("Content-Security-Policy"), "sandbox")
		} else {
			require.Equal(t, 1, page.Find("section.view").Length(), op.Name())
			download := b.get(page.Find("#result a[download]").AttrOr("href", ""))
			require.True(t, json.Valid([]byte(download.body)), op.Name())
		}
		all++
		spent += op.Credits
	}
	require.Equal(t, len(httpapi.Endpoints())-4, all)
	balance, err := h.store.Balance(t.Context(), h.account.ID, metering.PeriodOf(h.clock()))
	require.NoError(t, err)
	require.Equal(t, spent, balance.Used)
	require.NotContains(t, h.log.String(), "ERROR")
}
