package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/sqlite"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const upper = `{"text":"Straße"}`

// A first start makes a store that can be used immediately, and reports it once.
func TestFirstStart(t *testing.T) {
	store := "--store=sqlite:" + filepath.Join(t.TempDir(), "diag.db")
	s := start(t, store)
	require.NotEmpty(t, s.secret)
	text := s.log.String()
	assert.Equal(t, 2, strings.Count(text, s.secret), "once alone and once in the line to paste: %s", text)
	assert.Contains(t, text, "curl -i "+s.url+"/public/v1/text/upper -H 'Authorization: Bearer "+s.secret+"'")
	r := s.post("/text/upper", upper)
	assert.Equal(t, http.StatusOK, r.status, r)
	assert.Contains(t, r.body, "STRASSE")
	require.Equal(t, exitOK, s.wait())

	accounts := parsed[[]accountView](t, "account", "list", store)
	require.Len(t, accounts, 1)
	assert.Equal(t, "default", accounts[0].Name)
	assert.Equal(t, metering.PlanID("self"), accounts[0].Plan)
	keys := parsed[[]keyView](t, "key", "list", store)
	require.Len(t, keys, 1)
	assert.Equal(t, metering.Scopes(), keys[0].Scopes)
	assert.Equal(t, metering.Live, keys[0].Environment)
	assert.Empty(t, keys[0].Secret)

	again := start(t, store)
	assert.NotRegexp(t, `First start|svc_|curl`, again.log.String())
	again.secret = s.secret
	assert.Equal(t, http.StatusOK, again.post("/text/upper", upper).status, "the key of the first start still works")
	require.Equal(t, exitOK, again.wait())
	assert.Len(t, parsed[[]keyView](t, "key", "list", store), 1)
	assert.EqualValues(t, 2, parsed[usageView](t, "usage", store).Used)
}

// If others keep what a server prints, its first key is in a file that only its user can read.
func TestFirstStartUnderSupervisor(t *testing.T) {
	t.Setenv("JOURNAL_STREAM", "8:12345")
	dir := t.TempDir()
	file := filepath.Join(dir, firstStartFile)
	require.NoError(t, os.WriteFile(file, []byte("of a start that came to nothing"), 0o644))
	log := newWatched()
	ctx, stop := context.WithCancel(t.Context())
	code := make(chan int)
	store := "--store=sqlite:" + filepath.Join(dir, "diag.db")
	go func() { code <- run(ctx, []string{"serve", "--listen=127.0.0.1:0", store}, log, log) }()
	url := log.wait(t, `msg=serving url=(\S+)`)[1]
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
	s := &server{t: t, url: url, secret: secretPattern.FindString(string(text))}
	assert.Equal(t, http.StatusOK, s.post("/text/upper", upper).status)
	assert.Contains(t, string(text), url+"/dashboard/enter?token=")
	stop()
	assert.Equal(t, exitOK, <-code)
	assert.Contains(t, log.String(), file)
	assert.NotRegexp(t, `svc_live|token=|Bearer`, log.String())
}

// A first start that was killed before it had a key is made up for by the next.
func TestFirstStartInterrupted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "diag.db")
	s, err := sqlite.Open(t.Context(), file, sqlite.Config{})
	require.NoError(t, err)
	_, err = metering.Admin{Store: s}.CreateAccount(t.Context(), firstAccount, firstPlan)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	again := start(t, "--store=sqlite:"+file)
	require.NotEmpty(t, again.secret)
	assert.Equal(t, http.StatusOK, again.post("/text/upper", upper).status)
	assert.Len(t, parsed[[]accountView](t, "account", "list", "--store=sqlite:"+file), 1)
}

// Without arguments diagd serves.
func TestServeIsDefault(t *testing.T) {
	t.Chdir(t.TempDir()) // of the file of the first start
	log := newWatched()
	ctx, stop := context.WithCancel(t.Context())
	code := make(chan int)
	go func() {
		code <- run(ctx, []string{"--listen=127.0.0.1:0", "--store=memory:", "--log-format=json"}, log, log)
	}()
	log.wait(t, `"msg":"serving"`)
	stop()
	assert.Equal(t, exitOK, <-code)
}

func TestSecondServer(t *testing.T) {
	store := "--store=sqlite:" + filepath.Join(t.TempDir(), "diag.db")
	start(t, store)
	log := newWatched()
	assert.Equal(t, exitFailed, run(t.Context(), []string{"serve", "--listen=127.0.0.1:0", store}, log, log))
	const want = `^diagd: the store sqlite:\S+ is in use by another server; stop that one or name another --store\n$`
	assert.Regexp(t, want, log.String())
	command(t, "usage", store) // administration is welcome
}

// slowServer answers queries for A records on demand.
type slowServer struct {
	address string
	asked   chan struct{}
	release chan struct{}
}

func newSlowServer(t testing.TB) *slowServer {
	s := &slowServer{asked: make(chan struct{}, 100), release: make(chan struct{})}
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	s.address = conn.LocalAddr().String()
	server := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		s.asked <- struct{}{}
		<-s.release
		m := new(dns.Msg).SetReply(q)
		m.Answer = []dns.RR{&dns.A{
			Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 60},
			A:   net.IPv4(192, 0, 2, 1),
		}}
		w.WriteMsg(m)
	})}
	ended := make(chan error, 1)
	go func() { ended <- server.ActivateAndServe() }()
	t.Cleanup(func() {
		select {
		case <-s.release:
		default:
			close(s.release)
		}
		server.Shutdown()
		<-ended
	})
	return s
}

const slowly = `{"qname":"slow.example.com","qtype":"A"}`

// After a signal no new work is taken, and what runs is finished, answered and charged.
func TestDrain(t *testing.T) {
	store := "--store=sqlite:" + filepath.Join(t.TempDir(), "diag.db")
	slow := newSlowServer(t)
	s := start(t, store, "--resolver=udp://"+slow.address, "--metrics-listen=127.0.0.1:0")
	metrics := s.log.wait(t, `"?serving metrics"? url=(\S+)/metrics`)[1]
	require.Equal(t, http.StatusOK, get(t, metrics+"/readyz").status)
	answered := make(chan reply, 1)
	go func() { answered <- s.post("/resolve", slowly) }()
	<-slow.asked
	s.stop()
	s.log.wait(t, "msg=draining")
	refusesWork(t, s)
	assert.Equal(t, http.StatusServiceUnavailable, get(t, metrics+"/readyz").status)
	assert.Equal(t, http.StatusOK, get(t, metrics+"/healthz").status)
	close(slow.release)
	r := <-answered
	assert.Equal(t, http.StatusOK, r.status, r)
	assert.Contains(t, r.body, "192.0.2.1")
	assert.NotContains(t, r.body, "127.0.0.1", "the operator's resolver")
	assert.Equal(t, exitOK, s.wait())
	assert.EqualValues(t, 1, parsed[usageView](t, "usage", store).Used)
	command(t, "audit", store)
}

// refusesWork waits until the server takes no connection any more.
func refusesWork(t testing.TB, s *server) {
	address := strings.TrimPrefix(s.url, "http://")
	for began := time.Now(); time.Since(began) < patience; {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		conn.Close()
	}
	t.Fatal("the server still takes connections")
}

// What does not finish in time is cut off and not charged; the server ends all the same.
func TestDrainCutsOff(t *testing.T) {
	store := "--store=sqlite:" + filepath.Join(t.TempDir(), "diag.db")
	slow := newSlowServer(t)
	s := startApp(t, &app{drain: 100 * time.Millisecond}, store, "--resolver=udp://"+slow.address)
	failed := make(chan error, 1)
	go func() {
		_, err := post(t.Context(), s.url, s.secret, "/resolve", slowly)
		failed <- err
	}()
	<-slow.asked
	began := time.Now()
	assert.Equal(t, exitOK, s.wait())
	assert.Less(t, time.Since(began), patience)
	assert.Error(t, <-failed)
	assert.Contains(t, s.log.String(), "were canceled; they are not charged")
	assert.Zero(t, parsed[usageView](t, "usage", store).Used)
	command(t, "audit", store)
}

// A slow store is reported.
func TestSlowStore(t *testing.T) {
	hole, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0") // accepts, sends nothing
	require.NoError(t, err)
	defer hole.Close()
	log := newWatched()
	ctx, stop := context.WithCancel(t.Context())
	code := make(chan int, 1)
	a := &app{stdout: io.Discard, stderr: log}
	go func() {
		code <- a.main(ctx, []string{"serve", "--listen=127.0.0.1:0", "--store=postgres://diag@" + hole.Addr().String() + "/diag"})
	}()
	log.wait(t, `msg="opening the store" store=postgres://`)
	stop()
	assert.NotZero(t, <-code)
}

// A second signal does not wait for what runs.
func TestSecondSignal(t *testing.T) {
	slow := newSlowServer(t)
	p := startProcess(t, "--store=memory:", "--resolver=udp://"+slow.address)
	go post(t.Context(), p.url, secretPattern.FindString(p.log.String()), "/resolve", slowly)
	<-slow.asked
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	p.log.wait(t, "msg=draining")
	began := time.Now()
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	for err := error(nil); err == nil; { // until it has ended; an early signal may still be caught
		require.Less(t, time.Since(began), patience)
		time.Sleep(time.Millisecond) // signals without a pause overflow the stack of their handler
		err = p.cmd.Process.Signal(syscall.SIGTERM)
	}
	assert.Error(t, <-ended, "it was ended by the signal")
}

// The second listener is for the operator alone, and off by default.
func TestMetrics(t *testing.T) {
	s := start(t, "--store=memory:", "--metrics-listen=127.0.0.1:0", "--biller=file:"+t.TempDir())
	metrics := s.log.wait(t, `"?serving metrics"? url=(\S+)/metrics`)[1]
	s.post("/text/upper", upper)
	s.post("/text/upper", upper, "Authorization", "Bearer nonsense")
	text := get(t, metrics+"/metrics").body
	assert.Contains(t, text, `diagkit_requests_total{code="OK",endpoint="POST /public/v1/text/upper",plan="self"} 1`)
	assert.Contains(t, text,
		`diagkit_requests_total{code="INVALID_API_KEY",endpoint="POST /public/v1/text/upper",plan=""} 1`)
	assert.Contains(t, text, "diagkit_store_up 1\n")
	assert.Contains(t, text, "diagkit_connections 1\n")
	assert.Contains(t, text, "diagkit_deliveries_waiting 0\n")
	assert.Contains(t, text, "diagkit_payments_waiting 0\n")
	for _, path := range []string{"/healthz", "/readyz", "/debug/pprof/", "/debug/pprof/cmdline"} {
		assert.Equal(t, http.StatusOK, get(t, metrics+path).status, path)
	}
	for _, path := range []string{"/metrics", "/healthz", "/debug/pprof/"} {
		assert.Equal(t, http.StatusNotFound, get(t, s.url+path).status, "%s is not for the public", path)
	}
	command(t, "health", "--url", s.url)

	plain := start(t, "--store=memory:")
	assert.NotContains(t, plain.log.String(), "metrics")

	busy := newWatched()
	address := strings.TrimPrefix(metrics, "http://")
	assert.Equal(t, exitFailed, run(t.Context(),
		[]string{"serve", "--listen=127.0.0.1:0", "--store=memory:", "--metrics-listen", address}, busy, busy))
	assert.Contains(t, busy.String(), "diagd: --metrics-listen: ")
}

// Guessing is bounded by address, unless configured otherwise.
func TestIPRate(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
		want int // how many of 200 requests without a key are examined
	}{
		{"default", nil, httpapi.DefaultIPRate},
		{"three", []string{"--ip-rate=3"}, 3},
		{"off", []string{"--ip-rate=0"}, 200},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, append(test.args, "--store=memory:")...)
			count, began := map[int]int{}, time.Now()
			for range 200 {
				count[s.post("/text/upper", upper, "Authorization", "Bearer x").status]++
			}
			assert.Equal(t, 200, count[http.StatusUnauthorized]+count[http.StatusTooManyRequests])
			refilled := int(time.Since(began).Minutes()*float64(test.want)) + 1 // while the test ran
			assert.GreaterOrEqual(t, count[http.StatusUnauthorized], test.want)
			assert.LessOrEqual(t, count[http.StatusUnauthorized], test.want+refilled)
		})
	}
}

// A key that another process revokes is refused within two seconds, and one that it makes works immediately.
func TestOtherProcess(t *testing.T) {
	store := "--store=sqlite:" + filepath.Join(t.TempDir(), "diag.db")
	s := start(t, store)
	out, err := child(t.Context(), "key", "create", "--name=second", "--scopes=dns:read", "--json", store).Output()
	require.NoError(t, err)
	second := secretPattern.FindString(string(out))
	s.secret = second
	require.Equal(t, http.StatusOK, s.post("/text/upper", upper).status, "a new key works at once")

	keys := parsed[[]keyView](t, "key", "list", store)
	require.Len(t, keys, 2)
	require.NoError(t, child(t.Context(), "key", "revoke", string(keys[1].ID), "--reason=leak", store).Run())
	revoked := time.Now()
	for {
		r := s.post("/text/upper", upper)
		if r.status == http.StatusUnauthorized {
			assert.Contains(t, r.body, "REVOKED_API_KEY")
			break
		}
		require.Less(t, time.Since(revoked), patience, "the revoked key still works")
	}
	t.Logf("refused %s after the command ended", time.Since(revoked).Round(time.Millisecond))
	keys = parsed[[]keyView](t, "key", "list", store)
	assert.Equal(t, metering.KeyRevoked, keys[1].State)
	assert.Equal(t, metering.RevokedLeak, keys[1].RevokedReason)
}

// The API answers OPTIONS * itself, and not net/http in its place.
func TestOptionsOfServer(t *testing.T) {
	s := start(t, "--store=memory:")
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	require.NoError(t, err)
	reply, err := io.ReadAll(c)
	require.NoError(t, err)
	assert.Regexp(t, `^HTTP/1.1 501 `, string(reply))
	assert.Contains(t, string(reply), `"code":"INVALID_REQUEST"`)
	assert.Contains(t, string(reply), "X-Request-Id: req_")
}
