package main

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/diagkit/diagkit/cmd/diagd/internal/faultproxy"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/metering"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// cluster is several servers on one PostgreSQL and one Redis, each behind a proxy that can be cut.
type cluster struct {
	t               testing.TB
	db              database
	postgres, redis *faultproxy.Proxy
	admin           []string // flags of commands, which go to PostgreSQL itself
	serve           []string // flags of servers
	resolver        string
	world           *diagtest.World

	mu    sync.Mutex
	nodes []*process
	live  []string // addresses of those that serve
}

const (
	nodeCount = 3
	pollEvery = 20 * time.Millisecond

	soldCredits = 2003 // a prime: no number of requests divides it
	slowRate    = 6    // requests a minute: a token in ten seconds
)

// startCluster starts servers concurrently on an empty schema.
func startCluster(t testing.TB) *cluster {
	db := newDatabase(t)
	text := settingsOfTests["DIAG_TEST_REDIS"]
	if text == "" {
		t.Skip("needs Redis; DIAG_TEST_REDIS names it, such as redis://127.0.0.1:6379")
	}
	at, err := url.Parse(db.url)
	require.NoError(t, err)
	redis, err := url.Parse(text)
	require.NoError(t, err)
	c := &cluster{t: t, db: db, postgres: newProxy(t, at.Host), redis: newProxy(t, redis.Host)}
	redis.Host = c.redis.Addr()
	c.world = diagtest.NewWorld(t)
	c.world.Zone("mail.example. A 192.0.2.1")
	c.resolver = serveWorld(t, c.world)
	data := "--data=" + planFolder(t)
	c.admin = []string{"--store=" + db.url, data}
	c.serve = slices.Concat(dnsFlags, []string{
		"--store=" + db.behind(c.postgres.Addr()), "--redis=" + redis.String(), "--metrics-listen=127.0.0.1:0",
		"--log-level=info", c.resolver, data,
	})
	c.nodes = make([]*process, nodeCount)
	var wg sync.WaitGroup
	for i := range c.nodes {
		wg.Go(func() { c.nodes[i] = startProcess(t, c.serve...) })
	}
	wg.Wait()
	c.noteLive()
	return c
}

// planFolder holds a price list with one plan to exhaust and one that is slow.
func planFolder(t testing.TB) string {
	plans := metering.DefaultPlans()
	plans["sold"] = metering.Plan{ID: "sold", Name: "Sold", Currency: "EUR", Credits: soldCredits, PerMinute: 1_000_000}
	plans["slow"] = metering.Plan{ID: "slow", Name: "Slow", Currency: "EUR", Credits: 1_000_000, PerMinute: slowRate}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, plansFile), formatPlans(plans), 0o600))
	return dir
}

func (c *cluster) noteLive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live = nil
	for _, n := range c.nodes {
		if n != nil {
			c.live = append(c.live, n.url)
		}
	}
}

func (c *cluster) urls() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.live
}

// kill ends a server with -9, and replace starts another one in its place.
func (c *cluster) kill(i int) {
	c.nodes[i].kill(c.t)
	c.nodes[i] = nil
	c.noteLive()
}

func (c *cluster) replace(i int) {
	c.nodes[i] = startProcess(c.t, c.serve...)
	c.noteLive()
}

// command runs an administrative command.
func commandOf[V any](c *cluster, args ...string) V {
	return parsed[V](c.t, append(args, c.admin...)...)
}

// newKey makes a key of a new account.
func (c *cluster) newKey(plan string) keyView {
	account := commandOf[accountView](c, "account", "create", "--name="+plan, "--plan="+plan)
	return c.keyOf(string(account.ID))
}

func (c *cluster) keyOf(account string) keyView {
	return commandOf[keyView](c, "key", "create", "--account="+account, "--name=a", "--scopes=dns:read,mail:read")
}

// until waits for a condition that other processes meet.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	require.Eventually(t, is, patience, pollEvery, what)
}

func (p *process) ready(t testing.TB) string {
	metrics := p.log.wait(t, `"serving metrics" url=(\S+)/metrics`)[1]
	return get(t, metrics+"/readyz").body + get(t, metrics+"/metrics").body
}

// everywhere reports whether the health of every server contains a text.
func (c *cluster) everywhere(text string) bool {
	for _, n := range c.nodes {
		if n != nil && !strings.Contains(n.ready(c.t), text) {
			return false
		}
	}
	return true
}

// hostedSPF makes profiles due while every server runs a scheduler: each is resolved once, and served by all.
func (c *cluster) hostedSPF() (ids []string) {
	first := commandOf[[]keyView](c, "key", "list")[0]
	var hosts []string
	for range diagtest.Share(8, 2) {
		p := commandOf[spfView](c, "spf", "create", "--key="+string(first.ID), "--domain=example.com",
			"--record=v=spf1 a:mail.example -all", "--spf-dns-zone=spf.example.net", c.resolver)
		ids, hosts = append(ids, p.ID), append(hosts, p.IncludeHost.String())
	}
	c.world.Zone("mail.example. A 198.51.100.1")
	for _, id := range ids {
		commandOf[spfView](c, "spf", "pause", id)
		commandOf[spfView](c, "spf", "resume", id) // due immediately
	}
	until(c.t, "each is resolved", func() bool {
		return c.db.number("SELECT count(*) FROM spf_resolutions") >= int64(2*len(ids))
	})
	for _, n := range c.nodes {
		server := n.log.wait(c.t, `"serving DNS" address=(\S+)`)[1]
		question := new(dns.Msg).SetQuestion(dns.Fqdn(hosts[len(hosts)-1]), dns.TypeTXT)
		require.Eventually(c.t, func() bool {
			m, err := dns.ExchangeContext(c.t.Context(), question, server)
			return err == nil && strings.Contains(m.String(), "198.51.100.1")
		}, patience, 250*time.Millisecond, "each is served") // a server limits its replies to one network
	}
	return ids
}

// revocation is seen by every server, within a second on a machine that has time.
func (c *cluster) revocation() {
	key := c.newKey("self")
	for _, url := range c.urls() {
		r, err := post(c.t.Context(), url, key.Secret, "/text/upper", upper)
		require.NoError(c.t, err)
		require.Equal(c.t, http.StatusOK, r.status)
	}
	command(c.t, append([]string{"key", "revoke", string(key.ID)}, c.admin...)...)
	revoked := time.Now()
	for _, url := range c.urls() {
		until(c.t, "it is revoked", func() bool {
			r, err := post(c.t.Context(), url, key.Secret, "/text/upper", upper)
			return err == nil && r.status == http.StatusUnauthorized
		})
	}
	c.t.Logf("a revocation was seen by %d servers within %v", len(c.urls()), time.Since(revoked).Round(time.Millisecond))
}

// rates are shared by the servers, and each server's own while Redis is away.
func (c *cluster) rates() {
	account := string(commandOf[accountView](c, "account", "create", "--name=slow", "--plan=slow").ID)
	c.burst(account, slowRate, "rate limits are shared", 0)
	c.redis.Cut()
	c.burst(account, slowRate*nodeCount, "this server limits by itself", 1)
	c.redis.Restore()
	c.burst(account, slowRate, "rate limits are shared", 0)
}

// burst sends every server more than a key may have, and expects so much to be allowed when Redis is in a state
// before and after. On a machine that is busy with others a server may consider Redis unavailable at any time: then
// it tries again with another key.
func (c *cluster) burst(account string, want int, state string, away int) {
	for range 10 {
		key := c.keyOf(account)
		for _, n := range c.nodes { // the first request of a server finds out
			_, err := post(c.t.Context(), n.url, c.keyOf(account).Secret, "/text/upper", upper)
			require.NoError(c.t, err)
			until(c.t, state, func() bool { return strings.Contains(n.ready(c.t), state) })
		}
		lost := c.losses()
		begun := time.Now()
		got := c.allowed(key.Secret)
		refilled := int(time.Since(begun)/(10*time.Second)) + 1
		if away == 0 && c.losses() != lost {
			continue
		}
		for _, n := range c.nodes {
			assert.Contains(c.t, n.ready(c.t), fmt.Sprintf("diagkit_limiter_away %d", away))
		}
		assert.GreaterOrEqual(c.t, got, want, state)
		assert.Less(c.t, got, want+refilled*nodeCount, state)
		c.t.Logf("%s: %d of %d requests were allowed", state, got, 3*slowRate*nodeCount)
		return
	}
	c.t.Error("Redis was away in ten attempts")
}

// losses returns how often servers have lost Redis.
func (c *cluster) losses() (n int) {
	for _, p := range c.nodes {
		n += strings.Count(p.log.String(), "Redis is away")
	}
	return n
}

// allowed sends each server concurrently three times what a key may have, and counts what is granted.
func (c *cluster) allowed(secret string) (granted int) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, url := range c.urls() {
		wg.Go(func() {
			for range 3 * slowRate {
				r, err := post(c.t.Context(), url, secret, "/text/upper", upper)
				if assert.NoError(c.t, err) && r.status == http.StatusOK {
					mu.Lock()
					granted++
					mu.Unlock()
				} else {
					assert.Contains(c.t, r.body, "RATE_LIMIT")
				}
			}
		})
	}
	wg.Wait()
	return granted
}
