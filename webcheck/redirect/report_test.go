package redirect

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

const twoDomains = `
	http://example.com/?utm_source=a#top 301 | Location: https://www.example.com/ | Set-Cookie: a=1; Path=/ | Set-Cookie: a=2
	http://example.com/?utm_source=a 301 | Location: https://www.example.com/ | Set-Cookie: a=1; Path=/ | Set-Cookie: a=2
	https://www.example.com/ 307 | Location: //bücher.example/b | Strict-Transport-Security: max-age=31536000
	https://xn--bcher-kva.example/b 200 | <title>Books</title><link rel=canonical href="/books"><p>` + "\n"

func TestCheckReport(t *testing.T) {
	w := diagtest.NewWorld(t)
	serve(t, w, twoDomains)
	r := check(t, w, Request{URL: "HTTP://Example.COM?utm_source=a#top"})
	got, err := json.MarshalIndent(r, "", "  ")
	require.NoError(t, err)
	diagtest.Golden(t, "testdata/report.json", append(got, '\n'))
}

// Without meta, what documents say is reported and not followed.
func TestCheckWithoutMeta(t *testing.T) {
	for _, script := range []string{
		"https://example.com/ 200 | Refresh: 0;/b",
		"https://example.com/ 200 | <meta http-equiv=refresh content='0;/b'>",
	} {
		w := diagtest.NewWorld(t)
		serve(t, w, script)
		r := check(t, w, Request{URL: "https://example.com/", FollowMeta: new(false)})
		require.Len(t, r.Hops, 1)
		require.Equal(t, "refresh.later", join(diagtest.Codes(r.Verdict)))
		require.Empty(t, r.Hops[0].RedirectType)
		require.Zero(t, r.RedirectCount)
	}
}

func TestCheckRefuses(t *testing.T) {
	tests := []struct {
		field string
		req   Request
	}{
		{"url", Request{}},
		{"url", Request{URL: "https://user:pass@example.com/"}},
		{"url", Request{URL: "ftp://example.com/"}},
		{"url", Request{URL: "mailto:a@example.com"}},
		{"url", Request{URL: "https://example.com\u200B/"}},
		{"url", Request{URL: "https://example.com/" + strings.Repeat("a", input.MaxURL)}},
		{"url", Request{URL: "https://https://example.com/"}},
		{"method", Request{URL: "example.com", Method: "POST"}},
		{"method", Request{URL: "example.com", Method: "OPTIONS"}},
		{"max_redirects", Request{URL: "example.com", MaxRedirects: new(21)}},
		{"max_redirects", Request{URL: "example.com", MaxRedirects: new(-1)}},
		{"user_agent", Request{URL: "example.com", UserAgent: "a\r\nb"}},
	}
	for _, tt := range tests {
		_, err := Check(t.Context(), diagtest.NewWorld(t).Env(), tt.req)
		var input *diag.InputError
		require.ErrorAs(t, err, &input)
		require.Equal(t, tt.field, input.Field)
	}
}

// What is beyond our limits is reported as left out, and blamed on no site.
func TestCheckLeavesOut(t *testing.T) {
	for script, want := range map[string]diag.ScopePart{
		"https://example.com/ 302 | Location: /" + strings.Repeat("a", 9000): {
			Part: "target of hop 1", State: diag.LeftOut, Reason: "it is longer than 8192 octets"},
		"https://example.com/ 302 | Location: /" + strings.Repeat("\xe9", 4000): {
			Part: "target of hop 1", State: diag.LeftOut, Reason: "it is longer than 8192 octets"},
		"https://example.com/ 200 | Content-Encoding: zstd | <none>x": {
			Part: "document", State: diag.LeftOut, Reason: "its content coding is not understood here"},
	} {
		w := diagtest.NewWorld(t)
		serve(t, w, script)
		r := check(t, w, Request{URL: "https://example.com/"})
		require.True(t, r.Partial)
		require.Equal(t, want, r.Examined[0])
		require.Equal(t, diag.ScopePart{Part: "hop 1", State: diag.Examined}, r.Examined[1])
		if strings.HasPrefix(want.Part, "target") {
			require.Equal(t, diag.Valid, r.State)
			require.Empty(t, r.Error)
			require.Equal(t, "URL redirects to a URL that is longer than what is checked", r.Headline)
			require.NotEqual(t, "excellent", string(r.Band))
		}
	}
}

// Each hop costs a lookup and a connection, and nothing else.
func TestCheckRoundTrips(t *testing.T) {
	var world *diagtest.World
	trips := diagtest.RoundTrips(t, func(w *diagtest.World) {
		world = w
		serve(t, w, twoDomains)
	}, func(ctx context.Context, env *diag.Env) {
		_, err := Check(ctx, env, Request{URL: "http://example.com/?utm_source=a"})
		require.NoError(t, err)
	})
	require.Equal(t, 6, trips)
	require.Len(t, tcp(world), 3)
}

func tcp(w *diagtest.World) (list []diagtest.Connection) {
	for _, c := range w.Connections() {
		if c.Network == "tcp" {
			list = append(list, c)
		}
	}
	return list
}

func TestCheckContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		unlucky(w)
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		r, err := Check(ctx, w.Env(), Request{URL: "https://silent.example.com/"})
		require.NoError(t, err, "there is a report before the time is up")
		require.True(t, r.Partial)
		require.Equal(t, diag.Unknown, r.State)
		require.Equal(t, fetch.Timeout, r.Error.Code)

		short, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = Check(short, w.Env(), Request{URL: "https://silent.example.com/"})
		require.ErrorIs(t, err, context.Canceled)
	})
}

// closed is a resolver whose port is closed.
type closed struct{}

func (closed) Exchange(context.Context, *dns.Msg) (*dns.Msg, error) { return nil, syscall.ECONNREFUSED }

func TestRawIn(t *testing.T) {
	for location, want := range map[string]string{
		"https://example.com/a?b=c&d=[e]#f": "", "/a%20b": "", " /a\t": "", "//user@example.com/~a/!$'()*+,;=": "",
		"/a b": "a space", "/100%": "a percent sign without two hexadecimal digits", "/%zz": "a percent sign without two hexadecimal digits",
		"/é": "the character 'é'", "/\xe9": "the byte 0xE9, which is not UTF-8,", "/a\"b": "the character '\"'", "/a\tb": "the character '\\t'",
		"/{id}": "the character '{'", `\\example.com`: "", `/a?\b`: "the character '\\\\'",
	} {
		require.Equal(t, want, rawIn(location), location)
	}
}

// A resolver that is dead is our failure, not the site's, and one question that goes unanswered is not a fault.
func TestCheckSilence(t *testing.T) {
	w := diagtest.NewWorld(t)
	serve(t, w, twoDomains)
	_, err := Check(t.Context(), &diag.Env{Resolver: closed{}}, Request{URL: "http://example.com/?utm_source=a"})
	require.ErrorIs(t, err, diag.ErrUnavailable)
	w.Break("xn--bcher-kva.example", dns.RcodeServerFailure)
	r := check(t, w, Request{URL: "http://example.com/?utm_source=a"})
	require.Equal(t, "host.unknown location.raw", join(diagtest.Codes(r.Verdict)))
	require.Equal(t, diag.Unknown, r.State)
	require.True(t, r.Partial)
	for _, c := range r.Passed {
		require.NotContains(t, []diag.Code{"url.redirect.downgrade", "url.certificate.expired", "url.redirect.loop"}, c.Code)
	}
}

// Documents of any size and shape are read within their bounds.
func TestCheckHostilePages(t *testing.T) {
	for name, body := range map[string]string{
		"deep":    strings.Repeat("<b>", 1<<20),
		"scripts": strings.Repeat("<script>location=1</script>", 1<<16),
		"slashes": "<script>" + strings.Repeat(`\/`, 1<<20),
		"open":    "<noscript>" + strings.Repeat("<meta http-equiv=refresh content='0;url=", 1<<15),
		"refresh": "<meta http-equiv=refresh content='0;url=" + strings.Repeat("a", 1<<20) + "'>",
		"titles":  strings.Repeat("<title>a</title><link rel=canonical href=b>", 1<<15),
	} {
		t.Run(name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.HTTPS("example.com", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				w.Write([]byte(body))
			}))
			begin := diagtest.ProcessorTime()
			r := check(t, w, Request{URL: "https://example.com/"})
			require.Less(t, diagtest.ProcessorTime()-begin, 5*time.Second)
			require.Less(t, len(r.Final.Title), 4096)
			require.Len(t, r.Hops, 1)
		})
	}
}

// TestConformanceURLCheck plays the scenarios of redirects that are a status and a Location; the others
// are about the client itself, in package fetch.
func TestConformanceURLCheck(t *testing.T) {
	type scenario struct {
		ID     string
		Chain  []string
		Expect string
	}
	scenarios := diagtest.Cases[scenario](t, diagtest.Vectors(t, "web/ssrf/redirect_scenarios.json"))
	played, passed := 0, 0
	for _, s := range scenarios {
		if !playable(s.Chain) {
			continue
		}
		played++
		if t.Run(s.ID, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			n := 0
			site := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				step := "200"
				if n < len(s.Chain) {
					step = s.Chain[n]
				}
				if n++; strings.Contains(s.Expect, "loop") {
					step = s.Chain[len(s.Chain)-1]
				}
				status, rest, _ := strings.Cut(step, " ")
				rest = strings.NewReplacer(" raw bytes", "", `\t`, "\t").Replace(rest)
				switch {
				case strings.Contains(rest, "two Location"):
					w.Header()["Location"] = []string{"/one", "/two"}
				case rest != "" && !strings.HasPrefix(rest, "("):
					w.Header()["Location"] = []string{rest}
				}
				code, _ := strconv.Atoi(status)
				w.WriteHeader(code)
			})
			w.HTTP("start.example", site)
			w.HTTPS("start.example", site)
			r := check(t, w, Request{URL: "http://start.example/dir/page"})
			fulfilled(t, s.Expect, r)
			consistent(t, r)
		}) {
			passed++
		}
	}
	require.NotZero(t, played)
	t.Logf("scenarios: %d/%d, of %d with those of the client", passed, played, len(scenarios))
}

// playable reports whether all steps of a chain are a status and a Location.
func playable(chain []string) bool {
	for _, step := range chain {
		_, rest, _ := strings.Cut(step, " ")
		if step[0] < '3' || step[0] > '3' || strings.Contains(rest, "gzip") || strings.Contains(rest, "chunked") {
			return false
		}
	}
	return true
}

func fulfilled(t *testing.T, expect string, r *Report) {
	t.Helper()
	known := false
	for words, held := range map[string]bool{
		"blocked":        r.Error.Code == fetch.Blocked && r.State == diag.Bad,
		"hop 1 reported": len(r.Hops) == 1,
		"loop":           r.LoopDetected,
		"fragment kept":  strings.HasSuffix(r.FinalURL, "#z") && r.FinalStatusCode == 200,
		"final":          r.FinalStatusCode != 0 && len(r.Hops) == 1,
		"warning":        r.State == diag.Warned || r.State == diag.Bad,
		"followed":       r.RedirectCount == 1 && r.Error.Code == "",
		"refused":        r.RedirectCount == 0 && r.Error.Code != "",
		"too many":       r.Truncated,
	} {
		if strings.Contains(expect, words) {
			known = true
			require.True(t, held, "%q: %+v", words, r.Findings)
		}
	}
	require.True(t, known, "nothing here can tell %q", expect)
}
