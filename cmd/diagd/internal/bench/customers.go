package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/httpapi"
)

// customers make one purchase after the other, each with an idempotency key of its own.
type customers struct {
	count  int
	secret string
	client *http.Client

	next atomic.Int64

	mu     sync.Mutex
	bought map[string][32]byte // hash of the reply, by key
	ids    map[string]string   // of requests that were charged, by key; not of those whose first reply did not come
	open   map[string]bool     // keys whose reply did not come; false: a dead server has the claim, as long as its lease
	fault  error               // the first unexpected reply

	toleratesRefusals         bool // a server may refuse for a while
	lost, replayed, different int  // replies that did not come, came again, and came again as others or at a price
	refused                   int
}

func newCustomers(count int) *customers {
	return &customers{
		count: count, bought: map[string][32]byte{}, ids: map[string]string{}, open: map[string]bool{},
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: count}},
	}
}

// runAll runs a function for each of them concurrently, and waits for all.
func (c *customers) runAll(do func()) {
	var all sync.WaitGroup
	for range c.count {
		all.Go(do)
	}
	all.Wait()
	c.client.CloseIdleConnections()
}

func queue(keys []string) <-chan string {
	queue := make(chan string, len(keys))
	for _, key := range keys {
		queue <- key
	}
	close(queue)
	return queue
}

// buyUntil lets all of them buy, and calls end after so many purchases. They continue until the server is lost.
func (c *customers) buyUntil(ctx context.Context, url string, count int, end func()) error {
	c.fault = nil
	var left []string // purchases that the last kill has left open are retried first
	for key, free := range c.open {
		if free {
			left = append(left, key)
		}
	}
	again, had := queue(left), len(c.bought)
	var once sync.Once
	var ended sync.WaitGroup
	enough := func() { once.Do(func() { ended.Go(end) }) }
	c.runAll(func() {
		for {
			key, left := <-again
			if !left {
				key = c.newKey()
			}
			if !c.buy(ctx, url, key) {
				enough() // lost before its time: end makes sure of it
				return
			}
			c.mu.Lock()
			if len(c.bought)-had >= count || c.fault != nil {
				enough()
			}
			c.mu.Unlock()
		}
	})
	ended.Wait()
	return c.fault
}

func (c *customers) newKey() string { return fmt.Sprintf("purchase-%09d", c.next.Add(1)) }

// buy makes one purchase, and reports whether the server answered.
func (c *customers) buy(ctx context.Context, url, key string) bool {
	status, header, body, err := c.ask(ctx, url, key)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.open[key] = true    // it is unknown whether it was charged
		if ctx.Err() == nil { // otherwise the customer has left
			c.lost++
		}
		return false
	}
	switch {
	case status == http.StatusOK && strings.Contains(body, strings.ToUpper(key)):
		delete(c.open, key)
		hash := sha256.Sum256([]byte(body))
		free := header.Get("X-Idempotent-Replay") != ""
		if old, again := c.bought[key]; again {
			c.replayed++
			if old != hash || !free {
				c.different++
			}
		} else if !free {
			c.ids[key] = header.Get("X-Request-Id")
		}
		c.bought[key] = hash
	case status == http.StatusConflict && strings.Contains(body, `"in_flight"`):
		c.open[key] = false
		c.refused++
	case status == http.StatusServiceUnavailable && c.toleratesRefusals:
		c.open[key] = true
		c.refused++
	case c.fault == nil:
		c.fault = fmt.Errorf("an unexpected reply to %s: %d %s", key, status, body)
	}
	return true
}

func (c *customers) ask(ctx context.Context, url, key string) (status int, header http.Header, body string, err error) {
	text := fmt.Sprintf(`{"text":%q}`, key)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+httpapi.Prefix+"/text/upper", strings.NewReader(text))
	if err != nil {
		return 0, nil, "", err
	}
	req.Header.Set("Authorization", "Bearer "+c.secret)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	resp, err := c.client.Do(req)
	if err != nil {
		return 0, nil, "", err
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, string(reply), err
}

const (
	// buyPause is the mean pause: every fault meets some hundred charges a second, at no regular times, and no more.
	buyPause = 20 * time.Millisecond
	// buyTries is how often one thing is tried before the next: a dead server may have its claim for minutes.
	buyTries = 5
)

// buyUntilDone lets all of them buy until the context ends, however long servers are unavailable.
func (c *customers) buyUntilDone(ctx context.Context, url func() string) {
	c.runAll(func() {
		for ctx.Err() == nil {
			key := c.newKey()
			for tries := 0; tries < buyTries && !c.hasBought(key) && sleep(ctx, rand.N(2*buyPause)); tries++ {
				c.buy(ctx, url(), key)
			}
		}
	})
}

func (c *customers) repeat(ctx context.Context, url string, count int) {
	c.mu.Lock()
	keys := slices.Collect(maps.Keys(c.bought))
	c.mu.Unlock()
	for _, key := range keys[:min(count, len(keys))] {
		c.buy(ctx, url, key)
	}
}

func (c *customers) hasBought(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.bought[key]
	return ok
}

func (c *customers) charges() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.bought)
}

// maxReplays bounds how many replies are requested again at the end.
const maxReplays = 20_000

// settle retries the purchases that were left open, and then repeats the completed ones.
func (c *customers) settle(ctx context.Context, url string) error {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(c.open)), maps.Keys(c.bought))
	left := queue(keys[:min(len(keys), len(c.open)+maxReplays)])
	c.runAll(func() {
		for key := range left {
			c.buy(ctx, url, key)
		}
	})
	if c.fault == nil && len(c.open) > 0 {
		c.fault = fmt.Errorf("%d purchases stay open", len(c.open))
	}
	return c.fault
}

// sleep waits, and reports whether to continue.
func sleep(ctx context.Context, d time.Duration) bool {
	pause, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-pause.Done()
	return ctx.Err() == nil
}
