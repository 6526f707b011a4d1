package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	hostedmemory "github.com/diagkit/diagkit/mailauth/hostedspf/memory"
	"github.com/diagkit/diagkit/metering"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// A resolving API has one profile in the world of the examples.
type resolving struct {
	*api
	world  *diagtest.World
	store  *hostedmemory.Store
	mu     sync.Mutex
	events []hostedspf.EventType
}

func newResolving(t *testing.T) *resolving {
	s := &resolving{world: exampleWorld(t)}
	s.api = newAPI(t, "self", func(c *Config) {
		s.world.SetTime(c.Clock())
		s.store = hostedmemory.New(hostedmemory.Config{Clock: c.Clock})
		c.HostedSPF, c.Env, c.Observe = s.store, s.world.Env(), nil
		c.NotifySPF = func(e hostedspf.Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, e.Type)
		}
	})
	fill(t, s.store, profile(profileID(1), s.owner(), s.clock.Now()))
	return s
}

// resolve requests a resolution without a body.
func (s *resolving) resolve(headers ...string) *reply {
	h := http.Header{"Authorization": {"Bearer " + s.secret}}
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return s.do(attempt{"POST", Prefix + "/spf/hosted/" + profileID(1) + "/resolve", "", h, ""})
}

func (s *resolving) history() []hostedspf.Resolution {
	list, err := s.store.Resolutions(context.Background(), hostedspf.HistoryQuery{ProfileID: profileID(1), Limit: 100})
	require.NoError(s.t, err)
	return list
}

func TestResolveProfile(t *testing.T) {
	s := newResolving(t)
	r := s.resolve()
	require.Equal(t, 200, r.Code, "%s", r.Body)
	require.Equal(t, "5", r.header("X-Credits-Consumed"))
	var report hostedspf.ResolveReport
	require.NoError(t, json.Unmarshal(r.Body.Bytes(), &report))
	require.Equal(t, hostedspf.ResolutionChanged, report.Resolution.Status)
	require.Equal(t, hostedspf.Manual, report.Resolution.Trigger)
	require.Contains(t, report.Profile.FlattenedRecord, "ip4:192.0.2.25")
	require.NotEmpty(t, report.Profile.Records)
	require.Equal(t, []hostedspf.EventType{hostedspf.ProfileChanged}, s.events)

	require.Equal(t, 200, s.post("/spf/hosted/"+profileID(1)+"/resolve", `{}`).Code)
	require.Len(t, s.history(), 2)
	require.Equal(t, int64(10), s.used())

	p := s.post("/spf/hosted/"+profileID(1)+"/resolve", `{"force":true}`).problem()
	require.Equal(t, reasonUnknown, p.Details.Reason)
	require.Equal(t, "force: is not a field of this request; it has none", p.Message)
}

// A resolution that fails is a result: the last good records stay, and it is charged.
func TestResolveFails(t *testing.T) {
	s := newResolving(t)
	require.Equal(t, 200, s.resolve().Code)
	s.world.Break("example.com", dns.RcodeServerFailure)
	r := s.resolve()
	require.Equal(t, 200, r.Code, "%s", r.Body)
	var report hostedspf.ResolveReport
	require.NoError(t, json.Unmarshal(r.Body.Bytes(), &report))
	require.Equal(t, hostedspf.ResolutionFailed, report.Resolution.Status)
	require.Equal(t, hostedspf.Failed, report.Profile.Status)
	require.Contains(t, report.Profile.FlattenedRecord, "ip4:192.0.2.25")
	require.Equal(t, int64(10), s.used())
}

// Silent or slow name servers fail the resolution early enough for the failure to be stored and reported.
func TestResolveOfSlowServers(t *testing.T) {
	const silent = -1
	for name, delay := range map[string]time.Duration{
		"silent": silent, "too slow": time.Minute, "too slow in sum": 2 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newResolving(t)
				name := "slow.example"
				for range 11 { // each include is one round trip
					s.world.Zone(fmt.Sprintf(`%s. TXT "v=spf1 include:a.%[1]s -all"`, name))
					if delay == silent {
						s.world.Silence(name)
					} else {
						s.world.Delay(name, delay)
					}
					name = "a." + name
				}
				s.world.Zone(name + `. TXT "v=spf1 ip4:192.0.2.1 -all"`)
				_, err := s.store.Update(t.Context(), profileID(1), func(p *hostedspf.Profile) error {
					p.SourceRecord = "v=spf1 include:slow.example -all"
					return nil
				})
				require.NoError(t, err)
				began := time.Now()
				r := s.resolve()
				require.Equal(t, 200, r.Code, "%s", r.Body)
				require.Contains(t, r.Body.String(), `"status":"failed"`)
				require.LessOrEqual(t, time.Since(began), hostedspf.Timeout)
				require.Len(t, s.history(), 1)
			})
		})
	}
}

// Who may only read must not resolve, and neither must another key.
func TestWhoMayResolve(t *testing.T) {
	s := newResolving(t)
	_, reader := s.newKey(metering.MailRead)
	r := s.resolve("Authorization", "Bearer "+reader)
	require.Equal(t, InsufficientScope, r.problem().Code)
	require.Equal(t, "mail:write", r.problem().Details.Required)
	_, stranger := s.newKey(metering.MailRead, metering.MailWrite)
	require.Equal(t, 404, s.resolve("Authorization", "Bearer "+stranger).Code)
	require.Empty(t, s.history())
	require.Empty(t, s.events)
	require.Zero(t, s.used())
}

// The repetition of a request resolves nothing again.
func TestResolveIsIdempotent(t *testing.T) {
	s := newResolving(t)
	first := s.resolve("Idempotency-Key", "0123456789")
	s.clock.Advance(time.Minute)
	again := s.resolve("Idempotency-Key", "0123456789")
	require.Equal(t, first.Body.String(), again.Body.String())
	require.Equal(t, "true", again.header("X-Idempotent-Replay"))
	require.Len(t, s.history(), 1)
	require.Equal(t, int64(5), s.used())
}

// Requests for one profile wait for each other: each makes a resolution of its own.
func TestResolveAtOnce(t *testing.T) {
	s := newResolving(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if r := s.resolve(); r.Code != 200 {
				t.Errorf("%d %s", r.Code, r.Body)
			}
		})
	}
	wg.Wait()
	require.Len(t, s.history(), 4)
	require.Equal(t, int64(20), s.used())
}
