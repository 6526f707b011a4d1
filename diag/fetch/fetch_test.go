package fetch_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

func do(t *testing.T, w *diagtest.World, req fetch.Request) *fetch.Result {
	t.Helper()
	r, err := fetch.Do(t.Context(), w.Env(), req)
	require.NoError(t, err)
	return r
}

func get(url string) fetch.Request {
	return fetch.Request{URL: diag.MustURL(url), MaxRedirects: fetch.DefaultRedirects}
}

func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }
}

// raw takes the connection over and speaks whatever it wants.
func raw(speak func(net.Conn)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		speak(conn)
	}
}

func rawText(answer string) http.HandlerFunc {
	return raw(func(c net.Conn) { io.WriteString(c, answer) })
}

func TestDo(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.HTTPS("example.com", text("hello"))
	r := do(t, w, get("https://example.com/a?b#c"))
	require.Nil(t, r.Err)
	require.Equal(t, "hello", string(r.Body))
	require.True(t, r.TLS.Trusted && r.TLS.HostnameMatch && r.TLS.ChainComplete)
	require.NoError(t, r.TLS.Err())

	h := *r.Final()
	require.Equal(t, "192.0.2.1", h.IP.String())
	h.Header, h.Fields, h.TLS, h.Timing = nil, nil, nil, fetch.Timing{}
	require.True(t, h.Target.IsZero())
	got, err := json.MarshalIndent(h, "", "  ")
	require.NoError(t, err)
	require.JSONEq(t, `{
		"index": 1, "url": "https://example.com/a?b#c", "method": "GET", "status_code": 200, "status_text": "OK",
		"ip": "192.0.2.1", "http_version": "HTTP/2", "tls_version": "TLS 1.3", "latency_ms": 0
	}`, string(got))
}

// Over either version of HTTP the header comes back as it was sent: in the order of the server, and
// over HTTP/1.1 in its spelling.
func TestDoWireOrder(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.HTTP("one.example.com", rawText("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"+
		"HTTP/1.1 200 Fine\r\nX-zulu: 1\r\nset-cookie: a\r\nAlpha:  2 \r\nSet-Cookie: b\r\n"+
		"X-Long: c\r\n  d\r\n\r\nbody"))
	w.HTTPS("two.example.com", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Set-Cookie"] = []string{"a", "b"}
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusTeapot)
	}))

	r := do(t, w, get("http://one.example.com/"))
	require.Nil(t, r.Err)
	require.Equal(t, "Fine", r.Final().StatusText)
	require.Equal(t, "HTTP/1.1", r.Final().HTTPVersion)
	require.Equal(t, []fetch.Field{
		{Name: "X-zulu", Value: "1"}, {Name: "set-cookie", Value: "a"}, {Name: "Alpha", Value: "2"},
		{Name: "Set-Cookie", Value: "b"}, {Name: "X-Long", Value: "c d"},
	}, r.Final().Fields)
	require.Equal(t, "body", string(r.Body))

	r = do(t, w, get("https://two.example.com/"))
	require.Nil(t, r.Err)
	require.Equal(t, http.StatusTeapot, r.Final().StatusCode)
	require.Contains(t, r.Final().Fields, fetch.Field{Name: "set-cookie", Value: "b"})
	require.Equal(t, []string{"a", "b"}, r.Final().Header["Set-Cookie"])
}

func TestDoRedirects(t *testing.T) {
	tests := []struct {
		name     string
		location string
		url      string // where the chain ends
		hops     int
		err      fetch.Reason
		message  string
	}{
		{"absolute", "https://www.example.com/end", "https://www.example.com/end", 2, "", ""},
		{"absolute path", "/end", "http://example.com/end", 2, "", ""},
		{"relative path", "../end?q", "http://example.com/end?q", 2, "", ""},
		{"scheme-relative", "//www.example.com/end", "", 1, fetch.Connect, "port 80 of www.example.com refuses connections"},
		{"query only", "?x=end", "http://example.com/a/b?x=end", 2, "", ""},
		{"bytes beyond ASCII", "/caf\u00e9/end", "http://example.com/caf%C3%A9/end", 2, "", ""},
		{"space and lone percent sign", "/100% end", "http://example.com/100%25%20end", 2, "", ""},
		{"lone percent sign in the query", "/end?a=100%&b=%zz", "http://example.com/end?a=100%&b=%zz", 2, "", ""},
		{"lone percent sign in the fragment", "/end#?%", "http://example.com/end#?%25", 2, "", ""},
		{"backslash in the query", `/end?a=\b`, "http://example.com/end?a=%5Cb", 2, "", ""},
		{"international host", "https://b\u00fccher.example/end", "https://xn--bcher-kva.example/end", 2, "", ""},
		{"own fragment", "/end#new", "http://example.com/end#new", 2, "", ""},
		{"bytes that are not UTF-8", "/caf\xe9/end", "http://example.com/caf%E9/end", 2, "", ""},
		{"tab", "/en\td", "", 1, fetch.Protocol, "control character"},
		{"backslash", `/\www.example.com\end`, "", 1, fetch.Connect, "port 80 of www.example.com refuses connections"},
		{"three slashes", "https:///www.example.com/end", "https://www.example.com/end", 2, "", ""},
		{"one slash and another scheme", "https:/www.example.com/end", "https://www.example.com/end", 2, "", ""},
		{"no slash", "http:end", "http://example.com/a/end", 2, "", ""},
		{"no host", "//", "", 1, fetch.Blocked, "the host is no good: it is empty"},
		{"port 0", "http://example.com:0/", "", 1, fetch.Blocked, "port"},
		{"longer than 2,048 octets", "/end?" + strings.Repeat("a", 8000), "http://example.com/end?" + strings.Repeat("a", 8000), 2, "", ""},
		{"to itself", "/a/b", "", 1, fetch.Loop, "loop"},
		{"loopback", "http://127.0.0.1/", "", 1, fetch.Blocked, "must not be reached"},
		{"loopback in disguise", "http://2130706433/", "", 1, fetch.Blocked, "must not be reached"},
		{"metadata", "http://169.254.169.254/latest/", "", 1, fetch.Blocked, "must not be reached"},
		{"private by name", "http://private.example.com/", "", 1, fetch.Blocked, "must not be reached"},
		{"other port", "http://example.com:22/", "", 1, fetch.Blocked, "must not be reached"},
		{"other scheme", "ftp://example.com/", "", 1, fetch.Blocked, "scheme"},
		{"file", "file:///etc/passwd", "", 1, fetch.Blocked, "scheme"},
		{"script", "javascript:alert(1)", "", 1, fetch.Blocked, "scheme"},
		{"user name", "https://user@www.example.com/", "", 1, fetch.Blocked, "user name"},
		{"unknown host", "https://nowhere.example.com/", "", 1, fetch.DNS, "nowhere.example.com does not exist"},
		{"broken zone", "https://broken.example.com/", "", 1, fetch.DNS, "could not be looked up: the resolver answered SERVFAIL"},
		{"empty", "", "http://example.com/a/b", 1, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.Zone("private.example.com. A 10.0.0.1")
			w.Break("broken.example.com", dns.RcodeServerFailure)
			site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !strings.Contains(r.URL.String(), "end") {
					w.Header()["Location"] = []string{tt.location}
					w.WriteHeader(http.StatusFound)
				}
			})
			w.HTTP("example.com", site)
			w.HTTPS("www.example.com", site)
			w.HTTPS("xn--bcher-kva.example", site)

			r := do(t, w, get("http://example.com/a/b"))
			require.Len(t, r.Hops, tt.hops)
			require.Equal(t, http.StatusFound, r.Hops[0].StatusCode)
			if tt.err != "" {
				require.NotNil(t, r.Err)
				require.Equal(t, tt.err, r.Err.Code)
				require.Contains(t, r.Err.Message, tt.message)
				return
			}
			require.Nil(t, r.Err)
			require.Equal(t, tt.url, r.URL.String())
			require.Equal(t, tt.url, r.Final().URL)
		})
	}
}

func TestDoRedirectStatuses(t *testing.T) {
	tests := []struct {
		status int
		hops   int
	}{
		{200, 1}, {201, 1}, {300, 1}, {301, 2}, {302, 2}, {303, 2}, {304, 1}, {305, 1}, {307, 2}, {308, 2}, {404, 1},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.status), func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.HTTP("example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/" {
					w.Header().Set("Location", "/end")
					w.WriteHeader(tt.status)
				}
			}))
			r := do(t, w, get("http://example.com/"))
			require.Nil(t, r.Err)
			require.Len(t, r.Hops, tt.hops)
		})
	}
}

func TestDoRedirectLimit(t *testing.T) {
	w := diagtest.NewWorld(t)
	n := 0
	w.HTTP("example.com", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n++
		w.Header().Set("Location", fmt.Sprintf("/%d", n))
		w.WriteHeader(http.StatusFound)
	}))
	r := do(t, w, get("http://example.com/"))
	require.Equal(t, fetch.TooManyRedirects, r.Err.Code)
	require.Len(t, r.Hops, fetch.DefaultRedirects+1)
	require.Equal(t, "there are more than 10 redirects", r.Err.Message)
	require.False(t, r.Loop)

	r = do(t, w, fetch.Request{URL: diag.MustURL("http://example.com/")})
	require.Nil(t, r.Err, "without following any, a redirect is a result")
	require.Equal(t, fetch.HTTPRedirect, r.Final().RedirectType)
}

func TestDoLoop(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.HTTP("example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", map[string]string{"/a": "/b", "/b": "/c#x", "/c": "/a#y"}[r.URL.Path])
		w.WriteHeader(http.StatusMovedPermanently)
	}))
	r := do(t, w, get("http://example.com/a"))
	require.True(t, r.Loop)
	require.Equal(t, fetch.Loop, r.Err.Code)
	require.Len(t, r.Hops, 3)
}

func TestDoKeepsCredentialsAtHome(t *testing.T) {
	w := diagtest.NewWorld(t)
	seen := map[string]http.Header{}
	site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen[r.Host+r.URL.Path] = r.Header
		if r.Host == "example.com" {
			w.Header().Set("Set-Cookie", "session=1")
			w.Header().Set("Location", map[string]string{"/": "/b", "/b": "https://other.example/"}[r.URL.Path])
			w.WriteHeader(http.StatusFound)
		}
	})
	w.HTTPS("example.com", site)
	w.HTTPS("other.example", site)
	req := get("https://example.com/")
	req.Header = http.Header{"authorization": {"Bearer x"}, "X-Mine": {"1"}}
	req.UserAgent = "test/1"
	require.Nil(t, do(t, w, req).Err)

	require.Equal(t, "Bearer x", seen["example.com/b"].Get("Authorization"))
	require.Empty(t, seen["other.example/"].Get("Authorization"))
	require.Equal(t, "1", seen["other.example/"].Get("X-Mine"))
	require.Equal(t, "test/1", seen["other.example/"].Get("User-Agent"))
	for where, header := range seen {
		require.Empty(t, header.Get("Cookie"), where)
	}
}

func TestDoTLS(t *testing.T) {
	tests := []struct {
		cert   diagtest.Cert
		reason pki.Reason
	}{
		{diagtest.CertExpired, pki.Expired},
		{diagtest.CertNotYetValid, pki.NotYetValid},
		{diagtest.CertWrongName, pki.WrongName},
		{diagtest.CertSelfSigned, pki.SelfSignedLeaf},
		{diagtest.CertUnknownAuthority, pki.UnknownAuthority},
		{diagtest.CertMissingIntermediate, pki.UnknownAuthority},
	}
	for _, tt := range tests {
		t.Run(string(tt.cert), func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.Site(diagtest.Site{Host: "example.com", Handler: text("hello"), Cert: tt.cert})
			r := do(t, w, get("https://example.com/"))
			require.Equal(t, fetch.TLS, r.Err.Code)
			require.Empty(t, r.Hops, "nothing must be sent to a host that is not trusted")
			require.NotEmpty(t, r.TLS.Chain, "the report must be able to show the certificate")
			trust, ok := r.Err.Cause.(*pki.TrustError)
			require.True(t, ok)
			require.Equal(t, tt.reason, trust.Reason)

			req := get("https://example.com/")
			req.AllowUntrusted = true
			r = do(t, w, req)
			require.Nil(t, r.Err)
			require.Error(t, r.TLS.Err())
			require.Equal(t, "hello", string(r.Body))
		})
	}
}

func TestDoFailures(t *testing.T) {
	big := strings.Repeat("X-Fill: "+strings.Repeat("a", 1000)+"\r\n", 300)
	tests := []struct {
		name       string
		url        string
		err        fetch.Reason
		message    string
		unanswered bool
	}{
		{"no such host", "http://none.example.com/", fetch.DNS, "none.example.com does not exist", false},
		{"broken zone", "http://broken.example.com/", fetch.DNS, "SERVFAIL", true},
		{"refused", "http://refuses.example.com/", fetch.Connect, "refuses connections", false},
		{"unreachable", "http://192.0.2.202/", fetch.Timeout, "in time", true},
		{"private", "http://10.0.0.1/", fetch.Blocked, "must not be reached", false},
		{"closed at once", "http://192.0.2.203/", fetch.Protocol, "closed the connection", false},
		{"TLS broken off", "https://192.0.2.203/", fetch.TLS, "broke off", false},
		{"no TLS", "https://plain.example.com:8080/", fetch.TLS, "does not speak TLS", false},
		{"no HTTP", "http://raw.example.com/ftp", fetch.Protocol, "is not HTTP", false},
		{"head too long", "http://raw.example.com/big", fetch.Protocol, "longer than 256 KiB", false},
		{"head too long over HTTP/2", "https://big.example.com/", fetch.Protocol, "longer than 256 KiB", false},
		{"head breaks off", "http://raw.example.com/half", fetch.Protocol, "without a complete answer", false},
		{"two lengths", "http://raw.example.com/lengths", fetch.Protocol, "does not say where its body ends: Content-Length: 1 and content-length: 2", false},
		{"length that is no number", "http://raw.example.com/length", fetch.Protocol, "does not say where its body ends: Content-Length: +5", false},
		{"bad status", "http://raw.example.com/status", fetch.Protocol, "valid status line", false},
		{"changes the protocol", "http://raw.example.com/101", fetch.Protocol, "without being asked", false},
		{"interim answers for ever", "http://raw.example.com/100", fetch.Protocol, "violates HTTP", false},
	}
	answers := map[string]string{
		"/ftp": "220 ready\r\n", "/big": "HTTP/1.1 200 OK\r\n" + big, "/half": "HTTP/1.1 200 OK\r\nA: ",
		"/lengths": "HTTP/1.1 200 OK\r\nContent-Length: 1\r\ncontent-length: 2\r\n\r\nab",
		"/length":  "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello", "/status": "HTTP/1.1 abc OK\r\n\r\n", "/101": "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n",
		"/100": strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 100),
	}
	w := diagtest.NewWorld(t)
	w.Zone("refuses.example.com. A 192.0.2.201")
	w.Break("broken.example.com", dns.RcodeServerFailure)
	w.Behave("192.0.2.202:80", diagtest.Unreachable)
	w.Behave("192.0.2.203:80", diagtest.Closes)
	w.Behave("192.0.2.203:443", diagtest.Closes)
	w.HTTP("plain.example.com:8080", text("hello"))
	w.HTTP("raw.example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rawText(answers[r.URL.Path])(w, r)
	}))
	w.HTTPS("big.example.com", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := range 300 {
			w.Header().Set(fmt.Sprintf("X-Big-%d", i), strings.Repeat("a", 1000))
		}
	}))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := do(t, w, get(tt.url))
			require.NotNil(t, r.Err)
			require.Equal(t, tt.err, r.Err.Code, "%v", r.Err.Cause)
			require.Contains(t, r.Err.Message, tt.message, "%v", r.Err.Cause)
			require.Equal(t, tt.unanswered, r.Err.Unanswered)
			require.Nil(t, r.Final())
			require.NotNil(t, r.Hops)
		})
	}
}

func TestDoBadRequests(t *testing.T) {
	u := diag.MustURL("https://example.com/")
	tests := []struct {
		name, field string
		req         fetch.Request
	}{
		{"no URL", "url", fetch.Request{}},
		{"method", "method", fetch.Request{URL: u, Method: "PUT"}},
		{"body of GET", "body", fetch.Request{URL: u, Body: []byte("x")}},
		{"redirects of POST", "max_redirects", fetch.Request{URL: u, Method: "POST", MaxRedirects: 1}},
		{"redirects", "max_redirects", fetch.Request{URL: u, MaxRedirects: 21}},
		{"bytes", "max_bytes", fetch.Request{URL: u, MaxBytes: -1}},
		{"user agent", "user_agent", fetch.Request{URL: u, UserAgent: "a\r\nb"}},
		{"host", "header", fetch.Request{URL: u, Header: http.Header{"host": {"x"}}}},
		{"header name", "header", fetch.Request{URL: u, Header: http.Header{"a b": {"x"}}}},
		{"header value", "header", fetch.Request{URL: u, Header: http.Header{"A": {"x", "y\r\nz"}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := fetch.Do(t.Context(), diagtest.NewWorld(t).Env(), tt.req)
			var input *diag.InputError
			require.ErrorAs(t, err, &input)
			require.Equal(t, tt.field, input.Field)
		})
	}
}

// The real world is asked nothing about an address that must not be reached.
func TestDoInTheRealWorld(t *testing.T) {
	r, err := fetch.Do(t.Context(), nil, get("http://127.0.0.1/"))
	require.NoError(t, err)
	require.Equal(t, fetch.Blocked, r.Err.Code)
	require.NotContains(t, r.Err.Message, "127.0.0.1")
}

// A body is posted over either version of HTTP.
func TestPost(t *testing.T) {
	w := diagtest.NewWorld(t)
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %d %s %v", r.Method, r.Header.Get("Content-Type"), r.ContentLength, body, err)
	})
	w.HTTP("example.com", echo)
	w.HTTPS("example.com", echo)
	for _, scheme := range []string{"http", "https"} {
		r := do(t, w, fetch.Request{URL: diag.MustURL(scheme + "://example.com/"), Method: "POST", Body: []byte("hello"),
			Header: http.Header{"Content-Type": {"text/x"}}})
		require.Nil(t, r.Err)
		require.Equal(t, "POST text/x 5 hello <nil>", string(r.Body))
	}
}
