//go:build !race

package httpapi

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

const (
	// most connections that a request may cause: propagation queries every public resolver, and retries.
	maxConnections = 400

	// most memory that may be live after a request, above the level before it.
	maxLive = 64 << 20
)

// Whatever redirects, heads and bodies web sites answer with, every operation comes to an end within its
// time and its memory, and reaches no place that is not public.
func TestConformanceSSRFRedirects(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	type scenario struct {
		ID    string
		Chain []string
	}
	scenarios := diagtest.Cases[scenario](t, diagtest.Vectors(t, "web/ssrf/redirect_scenarios.json"))
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // garbage is counted too
	passed := 0
	for _, s := range scenarios {
		if t.Run(s.ID, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newTrap("127.0.0.1")
				p.site = misbehaving(t, s.Chain)
				p.urls = []string{"https://turn.com/0"}
				guarded(t, p.bounded(t))
				time.Sleep(5 * time.Minute) // of the bubble, for the servers to notice
			})
		}) {
			passed++
		}
	}
	t.Logf("redirects: %d/%d", passed, len(scenarios))
}

// bounded sends all requests of all operations, and checks their use of resources against the limits.
func (p trap) bounded(t *testing.T) map[string][]netip.AddrPort {
	dialled := map[string][]netip.AddrPort{}
	w := p.build(t)
	for _, ep := range endpoints {
		if !outgoing(ep) {
			continue
		}
		for _, body := range p.requests(t, ep) {
			w.Forget()
			before, begin := liveHeap(), time.Now()
			_, err := ep.Run(t.Context(), w.Env(), body)
			require.Less(t, time.Since(begin), ep.Operation.time+time.Second, "%s %s: %v", ep.Path, body, err)
			require.Less(t, liveHeap(), before+maxLive, "%s %s", ep.Path, body)
			require.Less(t, len(w.Connections()), maxConnections, "%s %s", ep.Path, body)
			for _, c := range w.Connections() {
				dialled[ep.Path] = append(dialled[ep.Path], c.Addr)
			}
		}
	}
	return dialled
}

func liveHeap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// misbehaving answers every request by the last step of a chain, since the requesting operation is unknown.
func misbehaving(t *testing.T, chain []string) http.Handler {
	step := chain[len(chain)-1]
	status, rest, _ := strings.Cut(step, " ")
	code, err := strconv.Atoi(status)
	location := strings.NewReplacer(`\t`, "\t", " raw bytes", "").Replace(rest)
	raw := func(speak func(io.Writer)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil { // not possible over HTTP/2, so the server is silent
				<-r.Context().Done()
				panic(http.ErrAbortHandler)
			}
			defer conn.Close()
			speak(conn)
		}
	}
	switch {
	case strings.HasPrefix(step, "1 header byte"):
		return raw(func(w io.Writer) {
			for _, b := range []byte("HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", 20)) {
				time.Sleep(time.Second) // of the bubble
				if _, err := w.Write([]byte{b}); err != nil {
					return
				}
			}
		})
	case strings.HasPrefix(step, "raw text"):
		return raw(func(w io.Writer) { io.WriteString(w, "hello, this is no HTTP\n") })
	case err != nil || code < 200:
		require.Fail(t, "nothing here can play", "%q", step)
	case strings.HasPrefix(rest, "gzip"):
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			endless(w, r, zeros())
		})
	case strings.HasPrefix(rest, "chunked"):
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			endless(w, r, []byte(strings.Repeat("endless ", 1000)))
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch {
		case strings.Contains(rest, "two Location"):
			w.Header()["Location"] = []string{"/one", "/two"}
		case rest != "" && !strings.HasPrefix(rest, "("):
			w.Header()["Location"] = []string{location}
		}
		w.WriteHeader(code)
		fmt.Fprint(w, "")
	})
}

// zeros is one member of a gzip stream, which may have any number of them (RFC 1952 section 2.2).
var zeros = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(make([]byte, 1<<20))
	z.Close()
	return b.Bytes()
})

func endless(w io.Writer, r *http.Request, block []byte) {
	for r.Context().Err() == nil {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}
