package publiccheck

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/internal/ui"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A site serves the check in a world.
type site struct {
	*Handler
	t *testing.T
}

func newSite(t *testing.T, env *diag.Env) *site {
	gate, err := metering.NewGate(t.Context(), metering.GateConfig{Store: memory.New(memory.Config{})})
	require.NoError(t, err)
	bounds := budget.New(budget.Config{})
	s := &site{New(Config{
		API:    httpapi.New(httpapi.Config{Gate: gate, Env: env, Budget: bounds}),
		Budget: bounds, PublicURL: "https://diag.example",
	}), t}
	t.Cleanup(func() { s.Close(); gate.Close() })
	return s
}

// inBubble runs a test in the Internet of the demonstration, with a synthetic clock.
func inBubble(t *testing.T, test func(t *testing.T, s *site, world *diagtest.World)) {
	synctest.Test(t, func(t *testing.T) {
		world, err := internet.New(time.Now())
		require.NoError(t, err)
		t.Cleanup(func() { world.Close() })
		test(t, newSite(t, world.Env()), world)
	})
}

// request sends a request from an address, with header fields given as names and values.
func (s *site) request(method, path, from, body string, fields ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr = netip.AddrPortFrom(netip.MustParseAddr(from), 1234).String()
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func (s *site) post(from, domain string, fields ...string) *httptest.ResponseRecorder {
	return s.request("POST", "/check", from, url.Values{"domain": {domain}}.Encode(), fields...)
}

func (s *site) get(path string) *httptest.ResponseRecorder {
	return s.request("GET", path, "192.0.2.1", "")
}

// check starts a check, and loads its page until it has ended.
func (s *site) check(domain string) *goquery.Document {
	s.t.Helper()
	w := s.post("192.0.2.1", domain)
	require.Equal(s.t, http.StatusSeeOther, w.Code, w.Body)
	for range 30 {
		page := s.get(w.Header().Get("Location"))
		require.Equal(s.t, http.StatusOK, page.Code)
		if page.Header().Get("Refresh") == "" {
			require.Less(s.t, page.Body.Len(), 60<<10)
			return s.parse(page)
		}
		time.Sleep(refreshTime)
	}
	require.Fail(s.t, "the check does not end")
	return nil
}

func (s *site) parse(w *httptest.ResponseRecorder) *goquery.Document {
	doc, err := goquery.NewDocumentFromReader(w.Body)
	require.NoError(s.t, err)
	require.Zero(s.t, doc.Find("[style], style, script:not([src])").Length())
	require.Equal(s.t, 1, doc.Find("h1").Length())
	return doc
}

func text(doc *goquery.Document) string {
	return strings.Join(strings.Fields(doc.Find("main").Text()), " ")
}

// A result says what is wrong and of how many checks that holds, what to do first with records to copy, and when it was
// checked. Within minutes it is shown again, without another check.
func TestResult(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site, world *diagtest.World) {
		doc := s.check("https://www.harbour.example/path")
		require.Contains(t, text(doc), "Check of www.harbour.example")
		doc = s.check("postmaster@Harbour.example.")
		page := text(doc)
		require.Regexp(t, `Check of harbour\.example . [A-Z].*\d+ of \d+ checks · checked just now`, page)
		require.NotEmpty(t, doc.Find("ol.steps .record .code, ol.steps .code").Length())
		require.NotEmpty(t, doc.Find(".parts tr").Length())
		require.Equal(t, 1, doc.Find(`a[href="/dashboard/check?domain=harbour.example"]`).Length())
		world.Forget()
		time.Sleep(5 * time.Minute)
		require.Equal(t, http.StatusSeeOther, s.post("198.51.100.1", "harbour.example").Code)
		require.Contains(t, text(s.parse(s.get("/check?domain=harbour.example"))), "checked 5 minutes ago")
		require.Empty(t, world.Queries(), "the domain is not checked again")
		time.Sleep(5 * time.Minute)
		require.Contains(t, text(s.parse(s.get("/check?domain=harbour.example"))), "There is no result")
		require.Empty(t, world.Queries(), "a GET starts nothing")
	})
}

// Domains that are in order, and those that do not exist.
func TestVerdicts(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site, _ *diagtest.World) {
		for domain, want := range map[string]string{
			"good.example": "Everything that was checked is in order", "nowhere.example": "does not exist",
		} {
			require.Contains(t, text(s.check(domain)), want)
		}
	})
}

// Requests that only read start no check.
func TestReadsStartNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site, world *diagtest.World) {
		for _, method := range []string{"GET", "HEAD"} {
			w := s.request(method, "/check?domain=good.example", "192.0.2.1", "")
			require.Equal(t, http.StatusOK, w.Code)
			require.Equal(t, method == "HEAD", w.Body.Len() == 0)
			for name, value := range map[string]string{
				"X-Robots-Tag": "noindex, nofollow", "Cache-Control": "no-store", "Content-Security-Policy": ui.ScriptPolicy,
				"X-Content-Type-Options": "nosniff",
			} {
				require.Equal(t, value, w.Header().Get(name))
			}
		}
		for _, fields := range [][]string{
			{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example", "Sec-Fetch-Site", "same-site"},
		} {
			require.Equal(t, http.StatusForbidden, s.post("192.0.2.1", "good.example", fields...).Code)
		}
		synctest.Wait()
		require.Empty(t, world.Queries())
		own := s.post("192.0.2.1", "good.example", "Sec-Fetch-Site", "same-site", "Origin", "https://diag.example")
		require.Equal(t, http.StatusSeeOther, own.Code)
	})
}

// What is not a domain of the public Internet is refused next to the field, and repeated as text.
func TestNames(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site, world *diagtest.World) {
		for _, word := range []string{
			"", "localhost", "printer.local", "intranet.corp", "db.internal", "x.home.arpa", "1.0.0.127.in-addr.arpa",
			"a.onion", "router.lan", "LOCALHOST.", "foo.localhost", "http://db.internal/", "user@host.test",
			"10.0.0.1", "127.1", "[::1]", "http://[::1]/", "http://127.0.0.1:8080/", "169.254.169.254", "example", "v=spf1 -all",
			"<script>alert(1)</script>.com", "a..b", "exa mple.com", "\u202eexample.com", strings.Repeat("a.", 400) + "com",
			"192.0.2.0/24", "https://", "%zz", "\x00.com",
		} {
			for _, w := range []*httptest.ResponseRecorder{
				s.post("2001:db8::1", word), s.get("/check?" + url.Values{"domain": {word}}.Encode()),
			} {
				if word == "" && w.Code == http.StatusOK {
					continue
				}
				require.Equal(t, http.StatusUnprocessableEntity, w.Code, "%q", word)
				require.NotContains(t, w.Body.String(), "alert(1)</script>")
				require.NotContains(t, w.Body.String(), "\u202e")
				doc := s.parse(w)
				require.Equal(t, 1, doc.Find("#domain[aria-invalid=true]").Length(), "%q", word)
			}
		}
		require.Empty(t, world.Queries())
		require.Equal(t, http.StatusRequestEntityTooLarge, s.post("192.0.2.1", strings.Repeat("a", maxForm)).Code)
	})
}

// blocked is a world that answers no query before the caller leaves.
type blocked struct{ asked atomic.Int64 }

func (b *blocked) Exchange(ctx context.Context, _ *dns.Msg) (*dns.Msg, error) {
	b.asked.Add(1)
	<-ctx.Done()
	return nil, ctx.Err()
}

func (b *blocked) env() *diag.Env {
	return &diag.Env{Resolver: b, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
}

func inSilence(t *testing.T, test func(t *testing.T, s *site, world *blocked)) {
	synctest.Test(t, func(t *testing.T) {
		world := &blocked{}
		test(t, newSite(t, world.env()), world)
	})
}

// Of networks, each starts some checks in an hour. One that is refused has no cost.
func TestRate(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site, world *diagtest.World) {
		limit := int(budget.Of(budget.PublicChecks).Network)
		for i := range limit {
			require.Equal(t, http.StatusSeeOther, s.post("2001:db8::1", fmt.Sprintf("d%d.example", i)).Code)
			time.Sleep(time.Second)
			synctest.Wait()
			s.cancelAll()
		}
		world.Forget()
		refused := s.post("2001:db8::2", "good.example")
		require.Equal(t, http.StatusTooManyRequests, refused.Code)
		require.NotEmpty(t, refused.Header().Get("Retry-After"))
		require.Contains(t, text(s.parse(refused)), "Your network can start 20 checks per hour. Try again in ")
		require.Empty(t, world.Queries())
		require.Equal(t, http.StatusSeeOther, s.post("2001:db8:1::1", "good.example").Code, "others are served")
		require.Equal(t, http.StatusSeeOther, s.post("2001:db8::1", "good.example").Code, "one that runs is shared")
	})
}

// cancelAll ends the checks that run as if nobody asked for them.
func (s *site) cancelAll() {
	s.mu.Lock()
	for _, r := range s.results {
		r.idle.Reset(0)
	}
	s.mu.Unlock()
	synctest.Wait()
}

// The number of checks that run is bounded, in all and for each network. What is refused is not counted.
func TestBusy(t *testing.T) {
	inSilence(t, func(t *testing.T, s *site, _ *blocked) {
		bound := budget.Of(budget.PublicRuns)
		n := 0
		start := func(from string) int {
			n++
			return s.post(from, fmt.Sprintf("d%d.example", n)).Code
		}
		for range bound.Network {
			require.Equal(t, http.StatusSeeOther, start("192.0.2.1"))
		}
		for range 100 {
			require.Equal(t, http.StatusServiceUnavailable, start("192.0.2.1"))
		}
		for i := range bound.All - bound.Network {
			require.Equal(t, http.StatusSeeOther, start(fmt.Sprintf("198.51.%d.1", i)))
		}
		busy := s.post("203.0.113.1", "last.example")
		require.Equal(t, http.StatusServiceUnavailable, busy.Code)
		require.Equal(t, "10", busy.Header().Get("Retry-After"))
		require.Contains(t, text(s.parse(busy)), "Try again in 10 seconds")
		require.EqualValues(t, bound.All, s.Budget.PublicRuns.Held())
		s.cancelAll()
		require.Zero(t, s.Budget.PublicRuns.Held())
		require.Equal(t, http.StatusSeeOther, start("192.0.2.1"))
	})
}

// A check ends once nobody asks for it, and leaves nothing behind.
func TestLeave(t *testing.T) {
	inSilence(t, func(t *testing.T, s *site, world *blocked) {
		began := time.Now()
		at := s.post("192.0.2.1", "slow.example").Header().Get("Location")
		for range 2 { // its page loads itself
			page := s.get(at)
			require.Equal(t, "2", page.Header().Get("Refresh"))
			require.Contains(t, text(s.parse(page)), "Still running")
			time.Sleep(refreshTime)
		}
		require.EqualValues(t, 1, s.Budget.PublicRuns.Held())
		time.Sleep(idleTime)
		synctest.Wait()
		require.Zero(t, s.Budget.PublicRuns.Held())
		require.Less(t, time.Since(began), maxRunTime)
		require.Contains(t, text(s.parse(s.get(at))), "There is no result")
		require.Zero(t, s.bytes)
		require.Empty(t, s.results)
	})
}

// A browser that leaves is not waited for, and does not end the check of others.
func TestShared(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site, world *diagtest.World) {
		world.Latency(50 * time.Millisecond)
		ctx, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 5 {
			at := s.post("192.0.2.1", "good.example").Header().Get("Location")
			wg.Go(func() {
				s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", at, nil))
			})
		}
		require.EqualValues(t, 1, s.Budget.PublicRuns.Held())
		leave()
		wg.Wait()
		require.Contains(t, text(s.check("good.example")), "in order")
		require.Equal(t, 1, world.Asked("_dmarc.good.example.", dns.TypeTXT))
	})
}

// A check has a deadline, and says why it found nothing; after a minute the domain can be checked again.
func TestDeadline(t *testing.T) {
	inSilence(t, func(t *testing.T, s *site, world *blocked) {
		began := time.Now()
		require.Regexp(t, "Check of slow.example .*(There was no usable answer|did not finish in time)",
			text(s.check("slow.example")))
		require.LessOrEqual(t, time.Since(began), maxRunTime+waitTime+refreshTime)
		asked := world.asked.Load()
		require.Equal(t, http.StatusSeeOther, s.post("192.0.2.1", "slow.example").Code)
		require.Equal(t, asked, world.asked.Load())
		time.Sleep(failureLifetime)
		require.Equal(t, http.StatusSeeOther, s.post("192.0.2.1", "slow.example").Code)
		synctest.Wait()
		require.Greater(t, world.asked.Load(), asked)
	})
}

// Close ends the checks that run, and none starts afterwards.
func TestClose(t *testing.T) {
	inSilence(t, func(t *testing.T, s *site, _ *blocked) {
		require.Equal(t, http.StatusSeeOther, s.post("192.0.2.1", "slow.example").Code)
		s.Close()
		require.Zero(t, s.Budget.PublicRuns.Held())
		require.Equal(t, http.StatusServiceUnavailable, s.post("192.0.2.1", "slow.example").Code)
	})
}

// panicking fails as no resolver should.
type panicking struct{}

func (panicking) Exchange(context.Context, *dns.Msg) (*dns.Msg, error) {
	panic("runtime error: index out of range [7] at /srv/resolver.go:7")
}

// A panic ends one check. The page does not say why.
func TestPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, &diag.Env{Resolver: panicking{}})
		page := text(s.check("good.example"))
		require.Contains(t, page, internalProblem)
		require.Empty(t, diagtest.Leaks(page))
		require.Zero(t, s.Budget.PublicRuns.Held())
	})
}

// Addresses of private networks are never connected to, wherever the records of a domain lead.
func TestGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.Zone(`
evil.com.       NS  ns.evil.com.
evil.com.       A   10.0.0.1
evil.com.       A   127.0.0.1
evil.com.       AAAA ::1
evil.com.       MX  10 mx.evil.com.
evil.com.       TXT "v=spf1 ip4:169.254.169.254 a mx -all"
ns.evil.com.    A   192.168.0.1
mx.evil.com.    A   169.254.169.254
mta-sts.evil.com. CNAME localhost.
_mta-sts.evil.com. TXT "v=STSv1; id=1"
`)
		env := world.NewEnv()
		var dialed sync.Map
		env.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			dialed.Store(address, true)
			return world.Dial(ctx, network, address)
		}
		s := newSite(t, env)
		page := s.check("evil.com")
		require.Contains(t, text(page), "Check of evil.com")
		dialed.Range(func(address, _ any) bool {
			at, err := netip.ParseAddrPort(address.(string))
			require.NoError(t, err)
			assert.False(t, at.Addr().IsPrivate() || at.Addr().IsLoopback() || at.Addr().IsLinkLocalUnicast(), address)
			return true
		})
	})
}

// The memory of results is bounded: of more, the oldest go.
func TestMemory(t *testing.T) {
	inSilence(t, func(t *testing.T, s *site, _ *blocked) {
		for i := range 5 {
			r := &result{done: make(chan struct{})}
			name := fmt.Sprintf("d%d.example", i)
			s.results[name], s.bytes = r, s.bytes+r.size()
			large := &report{}
			large.Body += "x"
			for len(large.Body) < maxResultBytes/4 {
				large.Body += large.Body
			}
			s.end(name, r, large, "", false)
			require.LessOrEqual(t, s.bytes, maxResultBytes)
			time.Sleep(time.Second)
		}
		_, ok := s.lookUp("d0.example")
		require.False(t, ok)
		_, ok = s.lookUp("d4.example")
		require.True(t, ok)
	})
}
