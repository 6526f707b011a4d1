package fetch_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/stretchr/testify/require"
)

// No proxy of the environment is used, whichever version of HTTP is spoken: it would connect where no guard
// is asked.
func TestDoUsesNoProxy(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, "http://192.0.2.99:8080")
		t.Setenv(strings.ToLower(name), "http://192.0.2.99:8080")
	}
	t.Setenv("NO_PROXY", "")
	t.Setenv("no_proxy", "")
	w := diagtest.NewWorld(t)
	site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Proto+" "+r.RequestURI)
	})
	w.HTTP("example.com", site)
	w.HTTPS("example.com", site)
	w.Site(diagtest.Site{Host: "one.example.com", HTTP1: true, Handler: site})
	for url, want := range map[string]string{
		"http://example.com/a":      "HTTP/1.1 /a",
		"https://example.com/a":     "HTTP/2.0 /a",
		"https://one.example.com/a": "HTTP/1.1 /a",
	} {
		w.Forget()
		r := do(t, w, get(url))
		require.Nil(t, r.Err, url)
		require.Equal(t, want, string(r.Body))
		require.Len(t, w.Connections(), 1)
		require.Equal(t, r.Final().IP, w.Connections()[0].Addr.Addr())
	}
}

// Blocked addresses are refused with the same words and in the same time, whatever is there and the reason, and
// without anything being sent: the client reveals nothing about its own network.
func TestDoRefusesAllAlike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.Env().Guard = diag.Guard{}
		w.SetLatencies(diagtest.Latency{DNS: time.Second, Connect: time.Second})
		w.Zone("private.example.com. A 10.0.0.1\nsilent.example.com. A 10.0.0.2\nclosed.example.com. A 10.0.0.3\n" +
			"loop.example.com. A 127.0.0.1\nmeta.example.com. A 169.254.169.254\nazure.example.com. A 168.63.129.16\n" +
			"six.example.com. AAAA fd00::1\nlink.example.com. AAAA fe80::1\nnat.example.com. AAAA 64:ff9b::a00:1\n" +
			"mapped.example.com. AAAA ::ffff:10.0.0.1\nboth.example.com. A 10.0.0.1\nboth.example.com. AAAA fd00::1")
		w.HTTP("private.example.com", text("secret"))
		w.Behave("10.0.0.2:80", diagtest.Unreachable)
		took := map[time.Duration][]string{}
		for _, host := range strings.Fields("private silent closed loop meta azure six link nat mapped both") {
			begin := time.Now()
			r := do(t, w, get("http://"+host+".example.com/"))
			took[time.Since(begin)] = append(took[time.Since(begin)], host)
			require.Equal(t, "the host leads to an address or port that must not be reached", r.Err.Message, host)
			require.Equal(t, fetch.Blocked, r.Err.Code)
		}
		require.Len(t, took, 1)
		for _, host := range strings.Fields("10.0.0.1 10.0.0.2 10.0.0.3 127.0.0.1 169.254.169.254 0x7f.1 017700000001 [::1] [::ffff:10.0.0.1]") {
			begin := time.Now()
			r := do(t, w, get("http://"+host+"/"))
			require.Equal(t, "the host leads to an address or port that must not be reached", r.Err.Message, host)
			require.Zero(t, time.Since(begin))
		}
		require.Empty(t, w.Connections())
	})
}

// Redirects to ports, to links of the machine and to users' accounts are not followed.
func TestDoRefusesTargets(t *testing.T) {
	for _, location := range []string{
		"http://example.com:0/", "http://example.com:25/", "http://example.com:65536/", "http://example.com:443a/",
		"http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/", "http://[2001:db8::80%25lo]/", "//a:b@example.com/", "http://@example.com/",
		"http://:@example.com/", "http://a%40b@example.com/", "http:///a@example.com/", "https:", "gopher://example.com:80/_x",
	} {
		w := diagtest.NewWorld(t)
		w.HTTP("example.com", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Location"] = []string{location}
			w.WriteHeader(http.StatusFound)
		}))
		r := do(t, w, get("http://example.com/"))
		require.NotNil(t, r.Err, location)
		require.Contains(t, []fetch.Reason{fetch.Blocked, fetch.Protocol}, r.Err.Code, location)
		require.Len(t, w.Connections(), 1, location)
		require.NotContains(t, r.Err.Message, "a:b")
	}
}

// Interim answers are bounded over HTTP/2 as they are over HTTP/1.1.
func TestDoInterimAnswersOverHTTP2(t *testing.T) {
	w := diagtest.NewWorld(t)
	sent := 0
	w.HTTPS("example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for w.Header().Set("X-Fill", strings.Repeat("a", 1000)); r.Context().Err() == nil && sent < 1e6; sent++ {
			w.WriteHeader(http.StatusEarlyHints)
		}
	}))
	r := do(t, w, get("https://example.com/"))
	require.NotNil(t, r.Err)
	require.Equal(t, fetch.Protocol, r.Err.Code, r.Err.Message)
	require.Empty(t, r.Hops)
}

// A body that expands without end is given up by its ratio, long before the limit of its length.
func TestDoRatio(t *testing.T) {
	for _, url := range []string{"http://example.com/", "https://example.com/"} {
		t.Run(url, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			bomb := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				endless(r, w, zeros())
			})
			w.HTTP("example.com", bomb)
			w.HTTPS("example.com", bomb)
			req := get(url)
			req.MaxBytes = fetch.MaxBytes
			r := do(t, w, req)
			require.NotNil(t, r.Err)
			require.Equal(t, "the body expands more than 200 times", r.Err.Message)
			require.True(t, r.Truncated)
			require.Less(t, len(r.Body), 4<<20)
		})
	}
}

// Neither cookies nor credentials are sent to another origin, be it another host, port or scheme.
func TestDoSendsCredentialsToOneOrigin(t *testing.T) {
	for _, target := range []string{"http://example.com/end", "https://example.com:8443/end", "https://www.example.com/end"} {
		w := diagtest.NewWorld(t)
		var end http.Header
		site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/end" {
				end = r.Header
				return
			}
			w.Header().Set("Set-Cookie", "session=1; Domain=example.com")
			http.Redirect(w, r, target, http.StatusFound)
		})
		w.HTTPS("example.com", site)
		w.HTTP("example.com", site)
		w.HTTPS("example.com:8443", site)
		w.HTTPS("www.example.com", site)
		req := get("https://example.com/")
		req.Header = http.Header{"Authorization": {"Bearer x"}, "Cookie": {"a=b"}, "Proxy-Authorization": {"Basic x"}}
		require.Nil(t, do(t, w, req).Err)
		require.NotNil(t, end)
		for _, name := range []string{"Authorization", "Cookie", "Proxy-Authorization", "Referer"} {
			require.Empty(t, end[name], fmt.Sprint(target, " ", name))
		}
	}
}
