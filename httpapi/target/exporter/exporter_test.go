package exporter_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/diagkit/diagkit/httpapi/target/exporter"
	"github.com/stretchr/testify/require"
)

// A locked buffer may be read while it is written.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) { l.mu.Lock(); defer l.mu.Unlock(); return l.b.Write(p) }
func (l *locked) String() string              { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }
func (l *locked) Reset()                      { l.mu.Lock(); defer l.mu.Unlock(); l.b.Reset() }

// A bench runs an exporter in a bubble of synctest, and records what it examines.
type bench struct {
	*exporter.Exporter
	reload chan os.Signal
	log    locked

	mu    sync.Mutex
	list  string
	err   error
	began map[string][]time.Time // the runs of each domain
	now   int                    // how many run at this time
	most  int
}

var domainIn = regexp.MustCompile(`"domain":"([^"]*)"`)

// asking is an Ask that notes the runs, and passes the questions on.
func (b *bench) asking(ask target.Ask) func() target.Ask {
	return func() target.Ask {
		return func(ctx context.Context, ep httpapi.Endpoint, body []byte) (*httpapi.Result, error) {
			if ep.Name() != "mail/domain-check" {
				return ask(ctx, ep, body)
			}
			b.mu.Lock()
			b.now++
			b.most = max(b.most, b.now)
			name := domainIn.FindSubmatch(body)[1]
			b.began[string(name)] = append(b.began[string(name)], time.Now())
			b.mu.Unlock()
			defer func() { b.mu.Lock(); b.now--; b.mu.Unlock() }()
			return ask(ctx, ep, body)
		}
	}
}

func (b *bench) set(list string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list, b.err = list, err
}

// runs counts the runs of a domain, or of all.
func (b *bench) runs(name string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for of, times := range b.began {
		if name == "" || of == name {
			n += len(times)
		}
	}
	return n
}

func (b *bench) atMost() int { b.mu.Lock(); defer b.mu.Unlock(); return b.most }

func (b *bench) times() map[string][]time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.began)
}

// start runs an exporter until the test ends.
func start(t *testing.T, list string, ask target.Ask, c exporter.Config) *bench {
	b := &bench{reload: make(chan os.Signal), list: list, began: map[string][]time.Time{}}
	c.List = func() (string, error) { b.mu.Lock(); defer b.mu.Unlock(); return b.list, b.err }
	c.Ask, c.Reload, c.Log = b.asking(ask), b.reload, slog.New(slog.NewTextHandler(&b.log, nil))
	c.Interval, c.Timeout, c.Parallel = cmp.Or(c.Interval, 6*time.Hour), time.Minute, cmp.Or(c.Parallel, 4)
	b.Exporter = exporter.New(c)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- b.Run(ctx) }()
	t.Cleanup(func() { stop(); require.NoError(t, <-ended) })
	return b
}

// get scrapes a path.
func (b *bench) get(path string) (status int, body string) {
	w := httptest.NewRecorder()
	b.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w.Code, w.Body.String()
}

// A scraped page has the values by name and labels.
type scraped map[string]float64

func (b *bench) scrape(t *testing.T, path string) scraped {
	t.Helper()
	status, body := b.get(path)
	require.Equal(t, 200, status, body)
	page := scraped{}
	for line := range strings.Lines(body) {
		if line[0] == '#' {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(strings.TrimSpace(line[i:]), 64)
		require.NoError(t, err, line)
		require.NotContains(t, page, line[:i])
		page[line[:i]] = value
	}
	return page
}

// with returns the samples whose name and labels have all words.
func (p scraped) with(words ...string) scraped {
	found := scraped{}
	for k, v := range p {
		has := true
		for _, word := range words {
			has = has && strings.Contains(k, word)
		}
		if has {
			found[k] = v
		}
	}
	return found
}

var errSilent = errors.New("nobody answers")

// slow takes a while for each check, and returns no knowledge.
func slow(ctx context.Context, _ httpapi.Endpoint, _ []byte) (*httpapi.Result, error) {
	time.Sleep(20 * time.Second)
	return nil, errSilent
}

func names(n int) string {
	var list strings.Builder
	for i := range n {
		fmt.Fprintf(&list, "d%d.example # number %d\n", i, i)
	}
	return list.String()
}

func TestSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, names(120), slow, exporter.Config{})
		time.Sleep(10 * time.Second)
		require.Positive(t, b.runs(""), "the first round begins at once")
		require.LessOrEqual(t, b.runs(""), 5)
		time.Sleep(2 * time.Hour)
		require.Equal(t, 120, b.runs(""))
		require.Equal(t, 4, b.atMost(), "as many as may run at once")

		time.Sleep(22 * time.Hour)
		before := b.runs("")
		hours := []int{}
		for range 24 {
			was := b.runs("")
			time.Sleep(time.Hour)
			hours = append(hours, b.runs("")-was)
		}
		require.InDelta(t, 4*120, b.runs("")-before, 12)
		for _, n := range hours {
			require.InDelta(t, 20, n, 15, "runs are spread: %v", hours)
		}
		for name, times := range b.times() {
			for i := range times[2:] {
				require.InDelta(t, 6, times[i+2].Sub(times[i+1]).Hours(), 0.7, name)
			}
		}
		require.Equal(t, 4, b.atMost())
		p := b.scrape(t, "/probe?target=d7.example")
		require.Equal(t, 0.0, p[`diag_run_success{target="d7.example"}`])
		require.Equal(t, p[`diag_runs_total{target="d7.example"}`], p[`diag_runs_failed_total{target="d7.example"}`])
		require.Contains(t, b.log.String(), `msg="nothing could be learned" target=d7.example error="nobody answers"`)
	})
}

// A scrape shows the current state and sends no queries, however often and in whatever format.
func TestScrapeAsksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, names(3), slow, exporter.Config{})
		synctest.Wait()
		p := b.scrape(t, "/metrics")
		require.Equal(t, 3.0, p["diag_exporter_targets"])
		require.Empty(t, p.with("diag_run_"), "nothing was examined")
		require.Len(t, p.with("diag_runs_total"), 3)
		time.Sleep(time.Hour)
		was := b.runs("")
		for range 50 {
			for path, want := range map[string]int{
				"/metrics": 200, "/probe?target=d1.example": 200, "/probe?target=D1.example.": 200,
				"/probe?target=other.example": 404, "/probe?target=": 404, "/probe": 404, "/other": 404,
			} {
				status, body := b.get(path)
				require.Equal(t, want, status, path)
				require.NotContains(t, body, "other.example", "a page holds nothing of what a stranger wrote")
			}
		}
		w := httptest.NewRecorder()
		b.ServeHTTP(w, httptest.NewRequest("POST", "/metrics", nil))
		require.Equal(t, 405, w.Code)
		synctest.Wait()
		require.Equal(t, was, b.runs(""))
		require.NotContains(t, b.scrape(t, "/probe?target=d1.example"), "diag_exporter_targets")
	})
}

func TestReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, "a.example\nb.example", slow, exporter.Config{Interval: time.Hour})
		time.Sleep(3 * time.Minute)
		require.Equal(t, []int{1, 1}, []int{b.runs("a.example"), b.runs("b.example")})

		b.set("b.example\n\n# c comes\nc.example\nc.example # twice", nil) // noticed without a signal
		time.Sleep(3 * time.Minute)
		require.Equal(t, 2.0, b.scrape(t, "/metrics")["diag_exporter_targets"])
		require.Equal(t, []int{1, 1}, []int{b.runs("b.example"), b.runs("c.example")})
		require.Equal(t, 1.0, b.scrape(t, "/metrics")[`diag_runs_total{target="b.example"}`], "it keeps what is known")
		status, _ := b.get("/probe?target=a.example")
		require.Equal(t, 404, status)

		for fault, about := range map[string]string{
			"b.example\n192.0.2.1": `line 2: \"192.0.2.1\" is not a domain name`, "http://b.example/": "is not a domain name",
			"a_b..example": "line 1: ", "user@b.example": "is not a domain name", names(10_001): "more than 10000 domains",
		} {
			synctest.Wait()
			b.log.Reset()
			b.set(fault, nil)
			b.reload <- os.Interrupt
			synctest.Wait()
			require.Contains(t, b.log.String(), about)
			require.Equal(t, 0.0, b.scrape(t, "/metrics")["diag_exporter_list_valid"])
			require.Equal(t, 2.0, b.scrape(t, "/metrics")["diag_exporter_targets"])
		}
		b.set("", errors.New("no such file"))
		b.reload <- os.Interrupt
		synctest.Wait()
		require.Equal(t, 2.0, b.scrape(t, "/metrics")["diag_exporter_targets"])

		b.set("d.example", nil)
		b.reload <- os.Interrupt // immediately
		synctest.Wait()
		require.Equal(t, 1.0, b.scrape(t, "/metrics")["diag_exporter_targets"])
		require.Equal(t, 1.0, b.scrape(t, "/metrics")["diag_exporter_list_valid"])
		was := b.runs("b.example")
		time.Sleep(3 * time.Hour)
		require.Equal(t, was, b.runs("b.example"), "who left the list is not examined any more")
		require.Positive(t, b.runs("d.example"))
	})
}

// A list that cannot be read at the start is an error, and a check that panics ends neither the program nor the schedule.
func TestFaults(t *testing.T) {
	require.PanicsWithValue(t, "exporter: Config.List or Config.Ask is nil", func() { exporter.New(exporter.Config{}) })
	e := exporter.New(exporter.Config{
		List: func() (string, error) { return "-", nil }, Ask: func() target.Ask { return nil },
	})
	require.ErrorContains(t, e.Run(t.Context()), "line 1: ")
	synctest.Test(t, func(t *testing.T) {
		broken := func(context.Context, httpapi.Endpoint, []byte) (*httpapi.Result, error) { panic("a bug") }
		b := start(t, "a.example", broken, exporter.Config{Interval: time.Hour})
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		require.InDelta(t, 24, b.scrape(t, "/metrics")[`diag_runs_failed_total{target="a.example"}`], 2)
		require.Contains(t, b.log.String(), "a check panicked")
	})
}
