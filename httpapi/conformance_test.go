package httpapi

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/stretchr/testify/require"
)

// step is one step of a scenario of idempotency: a client's action and the expected reply.
type step struct {
	Op       string
	Key      string
	Path     string
	Body     string
	Seconds  int
	N        int
	Expect   int
	Code     ErrorCode
	Replay   bool
	Consumed *int
	SameBody bool `json:"same_body"`
	SameType bool `json:"same_content_type"`
	Runs     int
	Charged  int
}

// scenario is a world in which one scenario is played: the scenarios' paths with operations that
// count their runs and take any request.
type scenario struct {
	*api
	runs  atomic.Int64
	first *reply // of the first post, with which later ones are compared
}

type anyRequest struct {
	Name string `json:"qname,omitempty"`
	Type string `json:"qtype,omitempty"`
	Text string `json:"text,omitempty"`
}

type drawing struct{ data []byte }

func (d drawing) MediaType() string { return "image/png" }
func (d drawing) Bytes() []byte     { return d.data }

func newScenario(t *testing.T, open opener) *scenario {
	s := &scenario{}
	answer := func(_ context.Context, _ *diag.Env, req anyRequest) (*testReport, error) {
		n := s.runs.Add(1)
		return &testReport{Text: req.Name + req.Type + time.Duration(n).String()}, nil
	}
	draw := func(req anyRequest) (drawing, error) { return drawing{[]byte("\x89PNG\x00" + req.Text)}, nil }
	s.api = newAPIOn(t, open, "agency", func(c *Config) { c.Observe = nil },
		Endpoint{"POST", "/resolve", metering.DNSRead, 1, "", Call(answer)},
		Endpoint{"POST", "/resolve/propagation", metering.DNSRead, 3, "", Call(answer)},
		Endpoint{"POST", "/http/qr", metering.WebRead, 2, "", image(draw, "image/png")})
	return s
}

// idempotencyKey turns the short labels of the scenarios into keys of lawful length. A quoted label
// stays quoted, and one that is too long stays as it is.
func idempotencyKey(label string) string {
	if len(label) > 100 {
		return label
	}
	if inner, ok := strings.CutPrefix(label, `"`); ok {
		return `"scenario-` + inner
	}
	return "scenario-" + label
}

func (s *scenario) send(st step) *reply {
	path := strings.TrimPrefix(st.Path, Prefix)
	if path == "" {
		path = "/resolve"
	}
	return s.post(path, st.Body, "Idempotency-Key", idempotencyKey(st.Key))
}

func (s *scenario) play(t *testing.T, st step) {
	switch st.Op {
	case "post":
		before := s.used()
		r := s.send(st)
		require.Equal(t, st.Expect, r.Code, "%s", r.Body)
		require.Equal(t, int64(*st.Consumed), s.used()-before, "charged")
		if r.Code == 200 {
			require.Equal(t, decimal(int64(*st.Consumed)), r.header("X-Credits-Consumed"))
			require.Equal(t, map[bool]string{true: "true", false: ""}[st.Replay], r.header("X-Idempotent-Replay"))
		}
		if st.Code != "" {
			require.Equal(t, st.Code, r.problem().Code)
		}
		if s.first == nil {
			s.first = r
			return
		}
		if st.SameBody || st.Replay {
			require.Equal(t, s.first.Body.Bytes(), r.Body.Bytes())
			require.NotEqual(t, s.first.header("X-Request-Id"), r.header("X-Request-Id"))
		}
		if st.SameType || st.Replay {
			require.Equal(t, s.first.header("Content-Type"), r.header("Content-Type"))
		}
	case "advance":
		s.clock.Advance(time.Duration(st.Seconds) * time.Second)
	case "parallel":
		s.parallel(t, st)
	case "exhaust_rate":
		for s.post("/resolve", "{").Code != 429 { // malformed: it takes a token and costs nothing
		}
	case "exhaust_quota":
		_, err := s.admin.SetAccount(t.Context(), s.account.ID, func(a *metering.Account) { a.Plan = "free" })
		require.NoError(t, err)
		for s.post("/http/qr", "{}").Code == 200 || s.post("/resolve", "{}").Code == 200 {
			s.clock.Advance(time.Minute) // the free plan's bucket is small
		}
		s.clock.Advance(time.Minute)
		require.Equal(t, QuotaExceeded, s.post("/resolve", "{}").problem().Code)
	case "revoke":
		_, err := s.admin.RevokeKey(t.Context(), s.key.ID, "")
		require.NoError(t, err)
	case "begin":
		s.first = nil
		s.store.Inject(meteringtest.Fault{Call: meteringtest.Settle, Times: 1, After: true, Err: context.DeadlineExceeded})
		require.NotEqual(t, 200, s.send(st).Code, "the reply is lost after the charge")
	case "settle_then_crash":
		require.Equal(t, int64(1), s.used(), "the charge was written before the reply was lost")
	default:
		t.Fatalf("the scenario has the unknown step %q", st.Op)
	}
}

func (s *scenario) parallel(t *testing.T, st step) {
	runs, used := s.runs.Load(), s.used()
	var wg sync.WaitGroup
	var once sync.Once
	answered := make(chan bool)
	for range st.N {
		wg.Go(func() {
			r := s.send(st)
			if r.Code == 409 { // the first is in flight: retry when it is done
				require.Equal(t, reasonInFlight, r.problem().Details.Reason)
				<-answered
				r = s.send(st)
			}
			require.Equal(t, 200, r.Code)
			once.Do(func() { close(answered) })
		})
	}
	wg.Wait()
	require.Equal(t, int64(st.Runs), s.runs.Load()-runs)
	require.Equal(t, int64(st.Charged), s.used()-used)
}

func TestConformanceIdempotency(t *testing.T) {
	type sequence struct {
		Name  string
		Steps []step
	}
	scenarios := diagtest.Cases[sequence](t, diagtest.Vectors(t, "platform/idempotency/scenarios.json"))
	for name, open := range map[string]opener{"memory": inMemory, "SQLite": inNewFile} {
		passed := 0
		for _, sc := range scenarios {
			t.Run(name+"/"+sc.Name, func(t *testing.T) {
				s := newScenario(t, open)
				for _, st := range sc.Steps {
					s.play(t, st)
				}
				passed++
			})
		}
		t.Logf("idempotency in %s: %d/%d scenarios", name, passed, len(scenarios))
	}
}
