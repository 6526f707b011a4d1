package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shop is an account from which many buy concurrently, on all servers of a cluster, until nothing is left.
type shop struct {
	c      *cluster
	secret string
	client *http.Client
	failed atomic.Int64 // requests that got no answer, or 503

	mu     sync.Mutex
	bought map[string]string // reply by idempotency key
	open   []string          // keys of which it is unknown whether they were bought
}

// A purchase is the result of an attempt to buy.
type purchase int

const (
	isBought purchase = iota
	isOpen            // a request with the key has not ended, as far as the servers know
	isSoldOut
	isBroken
)

const shoppers = 48

// slowKeys are purchases that last: what is sold is the address of a name whose name server is slow.
var slowKeys = []string{"slowly-0001", "slowly-0002", "slowly-0003", "slowly-0004", "slowly-0005"}

// soldOut sells an account's credits on all servers while one is killed and PostgreSQL and Redis come and go. All
// of them are sold, none twice, and none that was acknowledged is lost.
func (c *cluster) soldOut() {
	key := c.newKey("sold")
	s := &shop{
		c: c, secret: key.Secret, bought: map[string]string{},
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: shoppers}, Timeout: patience},
	}
	defer s.client.CloseIdleConnections()
	var wg sync.WaitGroup
	for i := range shoppers {
		wg.Go(func() { s.shopping(fmt.Sprintf("shopper-%02d", i), i) })
	}
	s.after(soldCredits/8, func() { s.killWhileBuying(1) })
	s.after(soldCredits/4, func() { c.redis.Cut() })
	s.after(soldCredits*3/8, c.redis.Restore)
	s.after(soldCredits/2, func() {
		c.postgres.Cut()
		before := s.failed.Load()
		until(c.t, "requests fail", func() bool { return s.failed.Load() > before+shoppers })
		until(c.t, "servers notice", func() bool { return c.everywhere("not ready: ") })
		c.postgres.Restore()
		until(c.t, "servers recover", func() bool { return c.everywhere("diagkit_store_up 1") })
	})
	wg.Wait()
	c.replace(1)
	s.shopping("afterwards", 0)

	account := string(key.Account)
	usage := func() int64 { return commandOf[usageView](c, "usage", "--account="+account).Used }
	held := func() int64 {
		return c.db.number("SELECT coalesce(sum(credits), 0)::bigint FROM holds WHERE account = $1", account)
	}
	c.t.Logf("%d bought, %d charged, %d held for purchases whose end nobody knows; %d requests failed",
		len(s.bought), usage(), held(), s.failed.Load())
	require.GreaterOrEqual(c.t, held(), int64(len(slowKeys)))
	require.EqualValues(c.t, soldCredits, usage()+held(), "what is held for a dead server stays so until its lease ends")
	for i, key := range slowKeys {
		require.Equal(c.t, isOpen, s.buy(key, i), "and so does the claim of its idempotency key")
	}

	// Two minutes later: leases have expired, and what was open is tried again.
	c.db.execute("UPDATE holds SET lease = lease - 120000000")
	c.world.Delay("slow.example", 0)
	for i, key := range append(s.open, slowKeys...) {
		require.Contains(c.t, []purchase{isBought, isSoldOut}, s.buy(key, i), "nothing is left open")
	}
	s.shopping("at-last", 0)
	require.EqualValues(c.t, soldCredits, usage(), "sold exactly")
	require.Len(c.t, s.bought, soldCredits, "one purchase for each credit")
	s.replays(usage)
	audit := commandOf[auditView](c, "audit")
	require.Empty(c.t, audit.Faults)
	require.EqualValues(c.t, soldCredits, c.db.number("SELECT count(*) FROM ledger WHERE account = $1", account))
}

// after waits until so much is bought.
func (s *shop) after(count int, do func()) {
	until(s.c.t, "sales go on", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.bought) >= count || s.c.t.Failed()
	})
	do()
}

// shopping makes one purchase after the other until nothing is left.
func (s *shop) shopping(name string, node int) {
	for n := 0; ; n++ {
		key := fmt.Sprintf("%s-number-%06d", name, n)
		switch s.buy(key, node+n) {
		case isOpen:
			s.mu.Lock()
			s.open = append(s.open, key)
			s.mu.Unlock()
		case isSoldOut, isBroken:
			return
		case isBought:
		}
	}
}

// buy tries one server after the other, always with the same key, until one knows the outcome.
func (s *shop) buy(key string, node int) purchase {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	for ; ctx.Err() == nil; node++ {
		urls := s.c.urls()
		r, err := s.ask(ctx, urls[node%len(urls)], key)
		switch {
		case err != nil || r.status == http.StatusServiceUnavailable:
			s.failed.Add(1)
			<-time.After(pollEvery) // simultaneous retries would only delay the recovery of the servers
		case r.status == http.StatusOK:
			return s.take(key, r)
		case r.status == http.StatusConflict && strings.Contains(r.body, `"in_flight"`):
			return isOpen
		case r.status == http.StatusForbidden && strings.Contains(r.body, `"QUOTA_EXCEEDED"`):
			return isSoldOut
		default:
			assert.Fail(s.c.t, "an unexpected reply", "%s: %v", key, r)
			return isBroken
		}
	}
	assert.Fail(s.c.t, "no server answers")
	return isBroken
}

// killWhileBuying kills a server that is known to have begun what lasts.
func (s *shop) killWhileBuying(node int) {
	c := s.c
	c.world.Zone("slow.example. A 192.0.2.9")
	c.world.Delay("slow.example", time.Minute)
	var hashes [][]byte
	var wg sync.WaitGroup
	for _, key := range slowKeys {
		hash := sha256.Sum256([]byte(key))
		hashes = append(hashes, hash[:])
		wg.Go(func() {
			_, err := s.ask(context.Background(), c.nodes[node].url, key)
			assert.Error(c.t, err)
		})
	}
	until(c.t, "they have begun", func() bool {
		return c.db.number("SELECT count(*) FROM holds WHERE hash = ANY($1)", hashes) == int64(len(hashes))
	})
	c.kill(node)
	wg.Wait()
}

// take keeps the reply to a purchase. The reply to the same one is the same to the byte.
func (s *shop) take(key string, r reply) purchase {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, again := s.bought[key]; again {
		assert.Equal(s.c.t, old, r.body, key)
	}
	if !slices.Contains(slowKeys, key) {
		assert.Contains(s.c.t, r.body, strings.ToUpper(key))
	}
	s.bought[key] = r.body
	return isBought
}

func (s *shop) ask(ctx context.Context, url, key string) (reply, error) {
	path, body := "/text/upper", fmt.Sprintf(`{"text":%q}`, key)
	if slices.Contains(slowKeys, key) {
		path, body = "/resolve", `{"qname":"slow.example","qtype":"A"}`
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/public/v1"+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	req.Header.Set("Authorization", "Bearer "+s.secret)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	return do(s.client, req)
}

// replays repeats each purchase at every server. All have it, and charge nothing.
func (s *shop) replays(usage func() int64) {
	before, asked := usage(), 0
	for key := range s.bought {
		for node := range s.c.urls() {
			require.Equal(s.c.t, isBought, s.buy(key, node))
		}
		if asked++; asked == 100 {
			break
		}
	}
	require.Equal(s.c.t, before, usage())
}
