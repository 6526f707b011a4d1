package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// health finds the server by the settings that the server has: flags, environment or file.
func TestHealth(t *testing.T) {
	cert, key := writeCertificate(t, t.TempDir(), 1)
	s := start(t, "--store=memory:", "--tls-cert", cert, "--tls-key", key, "--metrics-listen=127.0.0.1:0")
	address := strings.TrimPrefix(s.url, "https://")
	metrics := s.log.wait(t, `"?serving metrics"? url=http://(\S+)/metrics`)[1]
	command(t, "health", "--listen", address, "--tls-cert", cert, "--tls-key", key, "--metrics-listen", metrics)
	_, port, _ := strings.Cut(address, ":")
	command(t, "health", "--listen", "0.0.0.0:"+port, "--tls-cert", cert)
	command(t, "health", "--listen", ":"+port, "--acme-domain", "diag.example")
	command(t, "health", "--config", writeConfig(t, "listen = "+address+"\ntls-cert = "+cert))
	t.Setenv("DIAG_LISTEN", address)
	t.Setenv("DIAG_TLS_CERT", cert)
	command(t, "health")

	var out, err bytes.Buffer
	assert.Equal(t, exitFailed, run(t.Context(), []string{"health", "--metrics-listen", "127.0.0.1:1"}, &out, &err))
	assert.Contains(t, err.String(), "127.0.0.1:1")
	assert.Equal(t, exitUsage, run(t.Context(), []string{"health", "--listen", "127.0.0.1:0"}, &out, &err))
	assert.Contains(t, err.String(), "--url")
}

func TestHealthOfReplies(t *testing.T) {
	for _, test := range []struct {
		status, want int
	}{{200, exitOK}, {429, exitOK}, {500, exitFailed}, {503, exitFailed}} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			assert.Equal(t, httpapi.Prefix+"/openapi.json", r.URL.Path)
			w.WriteHeader(test.status)
		}))
		var out, err bytes.Buffer
		assert.Equal(t, test.want, run(t.Context(), []string{"health", "--url", s.URL}, &out, &err), "%d: %s", test.status, &err)
		s.Close()
	}
}

func TestOwnAddress(t *testing.T) {
	for listen, want := range map[string]string{
		":8080": "127.0.0.1:8080", "0.0.0.0:80": "127.0.0.1:80", "[::]:80": "[::1]:80",
		"192.0.2.1:80": "192.0.2.1:80", "localhost:80": "localhost:80", "[2001:db8::1]:80": "[2001:db8::1]:80",
	} {
		got, err := loopbackAddress("listen", listen)
		require.NoError(t, err, listen)
		assert.Equal(t, want, got)
	}
}

// SIGHUP reads files again and ends nothing.
func TestHangup(t *testing.T) {
	data := t.TempDir()
	p := startProcess(t, "--store=memory:", "--data", data)
	secret := secretPattern.FindString(p.log.String())
	works := func() {
		t.Helper()
		r, err := post(t.Context(), p.url, secret, "/text/upper", upper)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, r.status)
	}
	works()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
	p.log.wait(t, "reloaded certificate and lists")
	works()
	require.NoError(t, os.WriteFile(filepath.Join(data, "vantages.json"), []byte("["), 0o600))
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
	p.log.wait(t, "the old ones stay in force.*vantages.json")
	works()
}

// Who reads in the log that the server serves finds it ready.
func TestReadyWhenServing(t *testing.T) {
	readiness := make(chan int, 1)
	log := &onServing{watched: newWatched()}
	log.do = func() {
		metrics := log.wait(t, `"?serving metrics"? url=(\S+)/metrics`)[1]
		readiness <- get(t, metrics+"/readyz").status
	}
	a := &app{drain: drainTime, stdout: io.Discard, stderr: log}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- a.main(ctx, []string{"serve", "--listen=127.0.0.1:0", "--store=memory:", "--metrics-listen=127.0.0.1:0"})
	}()
	assert.Equal(t, http.StatusOK, <-readiness)
	stop()
	assert.Equal(t, exitOK, <-ended)
}

// A clock that jumps is reported in every way, and only while it is wrong; the server continues to sell.
func TestClockInDoubt(t *testing.T) {
	var jump atomic.Int64
	wall := func() time.Time { return time.Now().Add(time.Duration(jump.Load())) }
	s := startApp(t, &app{drain: drainTime, wall: wall}, "--store=memory:", "--metrics-listen=127.0.0.1:0")
	metrics := s.log.wait(t, `"?serving metrics"? url=(\S+)/metrics`)[1]
	told := func() (readyz, gauges string) {
		ready := get(t, metrics+"/readyz")
		assert.Equal(t, http.StatusOK, ready.status)
		return ready.body, get(t, metrics+"/metrics").body
	}
	readyz, gauges := told()
	assert.NotContains(t, readyz, "clock")
	assert.Contains(t, gauges, "diagkit_clock_trusted 1\n")
	jump.Store(int64(10 * 24 * time.Hour))
	for range 3 {
		readyz, gauges = told()
		assert.Contains(t, readyz, "clock: the clock jumped by 240h0m0s")
		assert.Contains(t, gauges, "diagkit_clock_trusted 0\n")
		assert.Equal(t, http.StatusOK, s.post("/text/upper", upper).status)
	}
	jump.Store(0)
	readyz, gauges = told()
	assert.NotContains(t, readyz, "clock")
	assert.Contains(t, gauges, "diagkit_clock_trusted 1\n")
	assert.Equal(t, 1, strings.Count(s.log.String(), "the clock is in doubt"))
	assert.Equal(t, 1, strings.Count(s.log.String(), "believed again"))
}

// A clock that jumps by minutes or months, forwards or back, moves no charge to another month, ends no key and
// forgets no reply, and needs no manual correction.
func TestMovedClock(t *testing.T) {
	var jump atomic.Int64
	wall := func() time.Time { return time.Now().Add(time.Duration(jump.Load())) }
	month := thisMonth()
	store, secret := newStore(t)
	ends := parsed[keyView](t, "key", "create", "--name=ends", "--scopes=dns:read", "--expires-in=1h", store).Secret
	s := startApp(t, &app{drain: drainTime, wall: wall}, store, "--metrics-listen=127.0.0.1:0")
	s.secret = secret
	metrics := s.log.wait(t, `"?serving metrics"? url=(\S+)/metrics`)[1]
	assert.Equal(t, http.StatusOK, s.post("/text/upper", upper, "Idempotency-Key", "0123456789").status)
	const day = 24 * time.Hour
	for _, d := range []time.Duration{3 * time.Minute, -3 * time.Minute, 2 * day, -2 * day, 90 * day, -90 * day} {
		jump.Store(int64(d))
		again := s.post("/text/upper", upper, "Idempotency-Key", "0123456789")
		assert.Equal(t, "true", again.header.Get("X-Idempotent-Replay"), d)
		s.secret = ends
		r := s.post("/text/upper", upper)
		assert.Equal(t, http.StatusOK, r.status, d)
		at, err := strconv.ParseInt(r.header.Get("X-RateLimit-Reset"), 10, 64)
		require.NoError(t, err)
		assert.WithinDuration(t, time.Now(), time.Unix(at, 0), time.Minute, d)
		s.secret = secret
		assert.Contains(t, get(t, metrics+"/readyz").body, "clock: the clock jumped by", d)
		jump.Store(0)
		assert.NotContains(t, get(t, metrics+"/readyz").body, "clock", d)
	}
	s.wait()
	assert.EqualValues(t, 7, parsed[usageView](t, "usage", "--month", month.String(), store).Charges)
	assert.Empty(t, parsed[auditView](t, "audit", store).Faults)
}

// onServing calls a function while the server waits for its line to be written.
type onServing struct {
	*watched
	do func()
}

func (w *onServing) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "msg=serving ") {
		w.do()
	}
	return w.watched.Write(p)
}
