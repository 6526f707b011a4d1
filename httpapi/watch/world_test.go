package watch_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// A world is a server with an account, whose checks see a small Internet in memory.
type world struct {
	testing.TB
	clock   *meteringtest.Clock
	net     *diagtest.World
	store   metering.Store
	admin   metering.Admin
	watches *watch.Watches
	account metering.Account
}

// zone is a domain without a fault that a check of its mail would find.
const zone = `
example.com.        SOA ns1.provider.example. hostmaster.example.com. 1 14400 3600 1209600 300
example.com.        NS  ns1.provider.example.
example.com.        NS  ns2.provider.example.
example.com.        A   192.0.2.80
example.com.        MX  10 mx1.example.com.
example.com.        TXT "v=spf1 ip4:192.0.2.25 -all"
_dmarc.example.com. TXT "v=DMARC1; p=reject; rua=mailto:dmarc@example.com"
mx1.example.com.    A   192.0.2.25
ns1.provider.example. A 192.0.2.53
ns2.provider.example. A 198.51.100.53
`

func newWorld(t testing.TB, change ...func(*watch.Config)) *world {
	w := &world{TB: t, clock: meteringtest.NewClock(), net: diagtest.NewWorld(t)}
	w.net.SetTime(w.clock.Now())
	w.net.Zone(zone)
	w.net.ServeZones()
	w.store = memory.New(memory.Config{Clock: w.clock.Now})
	w.admin = metering.Admin{Store: w.store, Clock: w.clock.Now, DowngradeNow: true}
	var err error
	w.account, err = w.admin.CreateAccount(t.Context(), "test", "pack")
	require.NoError(t, err)
	gate, err := metering.NewGate(context.Background(), metering.GateConfig{Store: w.store, Clock: w.clock.Now})
	require.NoError(t, err)
	t.Cleanup(func() { gate.Close(); w.store.Close() })
	env := w.net.NewEnv()
	env.Clock = w.clock.Now
	api := httpapi.New(httpapi.Config{Gate: gate, Clock: w.clock.Now, Env: env})
	c := watch.Config{Store: w.store, Clock: w.clock.Now, PublicURL: "https://diag.example", Ask: api.Ask}
	for _, f := range change {
		f(&c)
	}
	w.watches = watch.New(c)
	return w
}

// create watches example.com.
func (w *world) create(s watch.Settings) watch.Watch {
	w.Helper()
	v, err := w.watches.Create(w.Context(), watch.Request{Account: w.account.ID, Domain: "example.com", Settings: s})
	require.NoError(w, err)
	return v
}

// advance moves the clock and runs what is due.
func (w *world) advance(d time.Duration) {
	w.Helper()
	w.clock.Advance(d)
	w.net.SetTime(w.clock.Now())
	require.NoError(w, w.watches.Flush(w.Context()))
}

func (w *world) get() watch.Watch {
	w.Helper()
	v, err := w.watches.Get(w.Context(), w.account.ID, watch.ID(diag.MustDomain("example.com")))
	require.NoError(w, err)
	return v
}

// replace puts other records in the place of those of a name and type.
func (w *world) replace(name string, kind uint16, text string) {
	w.net.Remove(func(r dns.RR) bool { return r.Header().Name == name && r.Header().Rrtype == kind })
	w.net.Zone(text)
}

// told is an event as a receiver reads it.
type told struct {
	Event  metering.EventType `json:"-"`
	At     time.Time          `json:"-"`
	Domain string
	URL    string
	Mend   string
	Name   string
	Label  string
	Old    []string
	New    []string
	Flips  int `json:"change_count"`
	Reason watch.Reason
	Seen   time.Time `json:"first_seen_at"`

	Findings []struct{ Code, Title, Severity, Mend string }
	Expiring string
	Days     int `json:"days_left"`
}

// told returns the events about domains so far, the oldest first.
func (w *world) told() (list []told) {
	w.Helper()
	for r, err := range w.store.Records(w.Context(), metering.RecordFilter{Kind: metering.EventKind}) {
		require.NoError(w, err)
		e, err := metering.ParseEvent(r)
		require.NoError(w, err)
		if e.Type.Category() != metering.DomainEvents {
			continue
		}
		one := told{Event: e.Type, At: e.At}
		require.NoError(w, json.Unmarshal(e.Data.(json.RawMessage), &one))
		list = append(list, one)
	}
	slices.SortStableFunc(list, func(a, b told) int { return a.At.Compare(b.At) })
	return list
}
