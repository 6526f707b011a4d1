package fetch_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/stretchr/testify/require"
)

// TestConformanceRedirects plays the scenarios that are written as "302 /where" or as a description
// of what else a server may do, and holds the outcome against the words of what is expected.
func TestConformanceRedirects(t *testing.T) {
	type scenario struct {
		ID     string
		Chain  []string
		Expect string
	}
	scenarios, passed := diagtest.Cases[scenario](t, diagtest.Vectors(t, "web/ssrf/redirect_scenarios.json")), 0
	for _, s := range scenarios {
		ok := t.Run(s.ID, func(t *testing.T) {
			require.True(t, understood(s.Chain, s.Expect), "nothing here can play %q, or tell %q", s.Chain, s.Expect)
			synctest.Test(t, func(t *testing.T) {
				w := diagtest.NewWorld(t)
				site := play(s.Chain, strings.Contains(s.Expect, "loop"))
				for _, host := range hosts(s.Chain) {
					w.HTTP(host, site)
					w.HTTPS(host, site)
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				r := do(t, w, get("http://start.example/dir/page"))
				runtime.ReadMemStats(&after)
				t.Logf("%d hops, %s, error %v", len(r.Hops), r.URL, r.Err)
				hold(t, s.Expect, r)
				require.Less(t, after.HeapAlloc, before.HeapAlloc+32<<20)
				time.Sleep(time.Minute) // of the bubble, for the servers to notice
			})
		})
		if ok {
			passed++
		}
	}
	t.Logf("redirects: %d/%d", passed, len(scenarios))
}

// expectations are the words of the outcomes and when they are fulfilled.
var expectations = map[string]func(*fetch.Result) bool{
	"blocked":        func(r *fetch.Result) bool { return code(r) == fetch.Blocked },
	"hop 1 reported": func(r *fetch.Result) bool { return len(r.Hops) >= 1 },
	"loop":           func(r *fetch.Result) bool { return r.Loop && code(r) == fetch.Loop },
	"fragment kept":  func(r *fetch.Result) bool { return code(r) == "" && strings.HasSuffix(r.URL.String(), "#z") },
	"final":          func(r *fetch.Result) bool { return code(r) == "" && r.Final() != nil },
	"warning":        func(r *fetch.Result) bool { return len(r.Hops) >= 1 },
	"followed":       func(r *fetch.Result) bool { return code(r) == "" && len(r.Hops) == 2 },
	"refused":        func(r *fetch.Result) bool { return code(r) != "" },
	"timeout":        func(r *fetch.Result) bool { return code(r) == fetch.Timeout },
	"stopped at":     func(r *fetch.Result) bool { return r.Truncated && len(r.Body) <= fetch.DefaultBytes },
	"protocol error": func(r *fetch.Result) bool { return code(r) == fetch.Protocol },
	"too many":       func(r *fetch.Result) bool { return code(r) == fetch.TooManyRedirects },
}

func code(r *fetch.Result) fetch.Reason {
	if r.Err == nil {
		return ""
	}
	return r.Err.Code
}

func hold(t *testing.T, expect string, r *fetch.Result) {
	t.Helper()
	for words, held := range expectations {
		if strings.Contains(expect, words) {
			require.True(t, held(r), "%q: %d hops, error %v", words, len(r.Hops), r.Err)
		}
	}
}

var (
	knownStep = regexp.MustCompile(`^(\d{3}( (https?:)?/?\S*| \(.*\)| two Location headers| /\S+ raw bytes` +
		`| gzip .* zeros| chunked forever)?|1 header byte per second|raw text without status line)$`)
	hostInStep = regexp.MustCompile(`https?://([a-z0-9.-]+\.[a-z]+)`)
)

func understood(chain []string, expect string) bool {
	for _, step := range chain {
		if !knownStep.MatchString(step) {
			return false
		}
	}
	for words := range expectations {
		if strings.Contains(expect, words) {
			return true
		}
	}
	return false
}

// hosts lists the hosts of a scenario: the start, and those that it leads to by name.
func hosts(chain []string) []string {
	list := []string{"start.example"}
	for _, m := range hostInStep.FindAllStringSubmatch(strings.Join(chain, " "), -1) {
		if !slices.Contains(list, m[1]) {
			list = append(list, m[1])
		}
	}
	return list
}

// play returns a site that gives the answers of a chain in turn; then the last again, or 200.
func play(chain []string, repeat bool) http.Handler {
	n := 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		step := "200"
		if n < len(chain) {
			step = chain[n]
		} else if repeat {
			step = chain[len(chain)-1]
		}
		n++
		answer(w, r, step)
	})
}

func answer(w http.ResponseWriter, r *http.Request, step string) {
	var status int
	rest := step
	if n, err := fmt.Sscanf(step, "%d", &status); n == 1 && err == nil && status >= 100 {
		_, rest, _ = strings.Cut(step, " ")
	}
	location := strings.NewReplacer(`\t`, "\t", " raw bytes", "").Replace(rest)
	switch {
	case strings.HasPrefix(step, "1 header byte"):
		raw(drip)(w, r)
	case strings.HasPrefix(step, "raw text"):
		rawText("hello, this is no HTTP\n")(w, r)
	case strings.HasPrefix(rest, "gzip"):
		w.Header().Set("Content-Encoding", "gzip")
		endless(r, w, zeros())
	case strings.HasPrefix(rest, "chunked"):
		endless(r, w, []byte(strings.Repeat("endless ", 1000)))
	case status == 0:
		panic("not understood: " + step)
	case strings.Contains(rest, "two Location"):
		w.Header()["Location"] = []string{"/one", "/two"}
		w.WriteHeader(status)
	case rest == "" || strings.HasPrefix(rest, "("):
		w.WriteHeader(status)
	default:
		rawText(fmt.Sprintf("HTTP/1.1 %d X\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", status, location))(w, r)
	}
}

func drip(c net.Conn) {
	for _, b := range []byte("HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", 100)) {
		time.Sleep(time.Second) // of the bubble
		if _, err := c.Write([]byte{b}); err != nil {
			return
		}
	}
}

// zeros is one member of a gzip stream, which may have any number of them (RFC 1952 section 2.2).
var zeros = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(make([]byte, 1<<20))
	z.Close()
	return b.Bytes()
})

func endless(r *http.Request, w io.Writer, block []byte) {
	for r.Context().Err() == nil {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}
