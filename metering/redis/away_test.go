package redis

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
)

// record is a log that may be read while it is written.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) count(part string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Count(r.text.String(), part)
}

// watched opens a limiter that is impatient to have Redis back.
func watched(t *testing.T, url string) (*Limiter, *record) {
	t.Helper()
	log := &record{}
	l, err := newLimiter(url, Config{Log: slog.New(slog.NewTextHandler(log, nil)), Timeout: patient})
	require.NoError(t, err)
	l.pause = time.Millisecond
	l.start(t.Context())
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l, log
}

const soon, often = time.Minute, time.Millisecond

// While Redis is away each server has a local bucket for a key; when it is back they share one again.
func TestAwayAndBack(t *testing.T) {
	server := miniredis.NewMiniRedis()
	require.NoError(t, server.Start())
	defer server.Close()
	p := metering.Policy{Limit: 10}
	var servers []*Limiter
	var logs []*record
	buckets := []*metering.Bucket{{ID: "key"}, {ID: "key"}}
	for range buckets {
		l, log := watched(t, "redis://"+server.Addr())
		servers, logs = append(servers, l), append(logs, log)
	}
	burst := func(now time.Time) (allowed int) {
		for range 15 {
			for i, l := range servers {
				d, err := l.Take(t.Context(), buckets[i], p, now)
				require.NoError(t, err)
				if d.Allowed {
					allowed++
				}
			}
		}
		return allowed
	}
	require.Equal(t, 10, burst(noon), "one bucket")
	server.Close()
	require.Equal(t, 20, burst(noon), "one bucket for each server")
	for i, l := range servers {
		require.EqualValues(t, 15, l.Away())
		require.Error(t, l.Health())
		require.Equal(t, 1, logs[i].count("Redis is away"), "it is told once")
	}
	require.NoError(t, server.Restart())
	for i, l := range servers {
		require.Eventually(t, func() bool { return l.Health() == nil && logs[i].count("Redis is back") == 1 }, soon, often)
	}
	require.Equal(t, 10, burst(noon.Add(time.Minute)), "one bucket again")
	require.EqualValues(t, 15, servers[0].Away())
}

// A Redis that takes connections and never answers costs one request its patience, and no other anything.
func TestBlackHole(t *testing.T) {
	hole, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer hole.Close()
	l, err := newLimiter("redis://"+hole.Addr().String(), Config{})
	require.NoError(t, err)
	defer l.client.Close()
	p, b := metering.Policy{Limit: 1000}, metering.Bucket{ID: "key"}
	begun := time.Now()
	d, err := l.Take(t.Context(), &b, p, noon)
	require.NoError(t, err)
	require.True(t, d.Allowed)
	require.Less(t, time.Since(begun), time.Minute)
	require.Error(t, l.Health())

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 1000 {
		_, err := l.Take(ctx, &b, p, noon)
		require.NoError(t, err, "none waits")
	}
	require.EqualValues(t, 1001, l.Away())
}

// A server starts without Redis, and uses it once it is available.
func TestStartWithoutRedis(t *testing.T) {
	server := miniredis.NewMiniRedis()
	require.NoError(t, server.Start())
	addr := server.Addr()
	server.Close()
	l, _ := watched(t, "redis://"+addr)
	require.Error(t, l.Health())
	require.NoError(t, server.StartAddr(addr))
	defer server.Close()
	require.Eventually(t, func() bool { return l.Health() == nil }, soon, often)
}

// A Redis that answers but refuses to write, to a stranger for example, is away.
func TestRefusalsAreAbsence(t *testing.T) {
	server := miniredis.RunT(t)
	l, log := watched(t, "redis://"+server.Addr())
	server.SetError("MISCONF Redis is configured to save RDB snapshots, but it is currently not able to persist on disk.")
	d, err := l.Take(t.Context(), &metering.Bucket{ID: "key"}, metering.Policy{Limit: 1}, noon)
	require.NoError(t, err)
	require.True(t, d.Allowed)
	require.ErrorContains(t, l.Health(), "MISCONF")
	require.Equal(t, 1, log.count("MISCONF"))
	server.SetError("")
	require.Eventually(t, func() bool { return l.Health() == nil }, soon, often)
}

// The end of a request's context is not a failure of Redis.
func TestEndedContext(t *testing.T) {
	l, _ := watched(t, "redis://"+miniredis.RunT(t).Addr())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := l.Take(ctx, &metering.Bucket{ID: "key"}, metering.Policy{Limit: 1}, noon)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, l.Health())
	require.Zero(t, l.Away())
}

func TestURLs(t *testing.T) {
	for _, url := range []string{
		"", "127.0.0.1:6379", "http://127.0.0.1", "redis://", "redis:///0", "redis://user:Secret#x@host",
		"redis://user:Sec/ret@host",
		"redis://user:12/Secret@host", "redis://user:12?Secret=x@host", "redis://user:Sec%ret@host:6379",
		"redis://h:1?addr=h:2&Secret=1",
	} {
		_, err := Open(t.Context(), url, Config{})
		require.Error(t, err, url)
		require.NotContains(t, err.Error(), "ecret", "a password may be part of it")
	}
	for _, url := range []string{
		"redis://127.0.0.1:1", "redis://user:secret@[::1]:6379/2", "rediss://h", "redis://h:1?addr=h:2",
		"redis://h?pool_size=5",
	} {
		client, err := connect(url, patience)
		require.NoError(t, err, url)
		require.NoError(t, client.Close())
	}
}

// Errors of a Redis that refuses the password do not contain it.
func TestWrongPassword(t *testing.T) {
	server := miniredis.RunT(t)
	server.RequireAuth("right")
	l, log := watched(t, "redis://:Secret@"+server.Addr())
	require.ErrorContains(t, l.Health(), "WRONGPASS")
	require.Zero(t, log.count("Secret"))
}
