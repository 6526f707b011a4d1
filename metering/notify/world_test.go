package notify

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/stretchr/testify/require"
)

var anywhere = netip.MustParseAddr("192.0.2.1")

// A received is a request that a receiver got.
type received struct {
	*http.Request
	text    string
	spelled http.Header
}

func (r received) body(t *testing.T) (b Body) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(r.text), &b), r.text)
	return b
}

// An internet answers for all receivers.
type internet struct {
	mu     sync.Mutex
	got    []received
	answer func(*http.Request) (int, http.Header, string) // nil: 200 and "ok"
	fail   error
}

func (n *internet) RoundTrip(req *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	spelled := req.Header
	req = req.Clone(req.Context())
	req.Header = http.Header{} // as a server receives it
	for name, values := range spelled {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	n.mu.Lock()
	n.got = append(n.got, received{req, string(text), spelled})
	answer, fail := n.answer, n.fail
	n.mu.Unlock()
	if fail != nil {
		return nil, fail
	}
	status, header, body := 200, http.Header{}, "ok"
	if answer != nil {
		status, header, body = answer(req)
	}
	if header == nil {
		header = http.Header{}
	}
	resp := &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: req}
	return resp, req.Context().Err()
}

func (n *internet) status(status int) {
	n.answers(func(*http.Request) (int, http.Header, string) { return status, nil, "" })
}

func (n *internet) answers(f func(*http.Request) (int, http.Header, string)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answer = f
}

// take returns the requests received since the last call.
func (n *internet) take() []received {
	n.mu.Lock()
	defer n.mu.Unlock()
	got := n.got
	n.got = nil
	return got
}

// A world has one account with a plan that sells overage, and one clock for all parts.
type world struct {
	testing.TB
	clock    *meteringtest.Clock
	store    metering.Store
	admin    metering.Admin
	account  metering.Account
	channels Channels
	deriver  *Deriver
	worker   *Worker
	gate     *metering.Gate
	net      *internet
	spf      *fakeSPF
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{TB: t, clock: meteringtest.NewClock(), net: &internet{}, spf: &fakeSPF{}}
	w.store = memory.New(memory.Config{Clock: w.clock.Now})
	t.Cleanup(func() { w.store.Close() })
	return w.on(w.store)
}

// on builds the parts on a store.
func (w *world) on(store metering.Store) *world {
	w.store = store
	w.admin = metering.Admin{Store: store, Clock: w.clock.Now}
	w.channels = Channels{Store: store, Clock: w.clock.Now}
	w.worker = &Worker{Store: store, Client: &http.Client{Transport: w.net}, Clock: w.clock.Now}
	w.deriver = &Deriver{Store: store, SPF: w.spf, Clock: w.clock.Now, Wake: w.worker.Wake}
	var err error
	w.gate, err = metering.NewGate(context.Background(), metering.GateConfig{
		Store: store, Clock: w.clock.Now, Observer: w.deriver,
	})
	require.NoError(w, err)
	w.Cleanup(w.gate.Close)
	w.account, err = w.admin.CreateAccount(context.Background(), "Example", "pack")
	require.NoError(w, err)
	return w
}

// onEachStore runs a test on each kind of store.
func onEachStore(t *testing.T, name string, test func(*testing.T, *world)) {
	onLocalStores(t, name, test)
	t.Run(name+"/postgres", func(t *testing.T) {
		if testing.Short() {
			t.Skip("needs seconds for a schema of each test; runs without -short, as in .ci/run")
		}
		w := newWorld(t)
		test(t, w.on(newPostgres(t, w.clock, 1)[0]))
	})
}

// onLocalStores is onEachStore without PostgreSQL.
func onLocalStores(t *testing.T, name string, test func(*testing.T, *world)) {
	t.Run(name+"/memory", func(t *testing.T) { test(t, newWorld(t)) })
	t.Run(name+"/sqlite", func(t *testing.T) {
		w, _ := newSQLiteWorld(t)
		test(t, w)
	})
}

// channel creates a webhook.
func (w *world) channel(name string) (Channel, Secret) {
	w.Helper()
	c, secret, err := w.channels.Create(context.Background(), ChannelRequest{
		Account: w.account.ID, Name: name, Kind: Webhook, Target: "https://" + name + ".example.com/hook",
	})
	require.NoError(w, err)
	return c, secret
}

// pump runs everything that is due: it reports observations, checks accounts and delivers events.
func (w *world) pump() []received {
	w.Helper()
	ctx := context.Background()
	w.deriver.init()
	for done := false; !done; {
		select {
		case s := <-w.deriver.refused:
			require.NoError(w, w.deriver.record(ctx, s))
		default:
			done = true
		}
	}
	require.NoError(w, w.deriver.CheckAll(ctx))
	require.NoError(w, w.worker.Flush(ctx))
	return w.net.take()
}

// types returns the event types in a list of requests.
func types(t *testing.T, list []received) (names []metering.EventType) {
	for _, r := range list {
		names = append(names, r.body(t).EventType)
	}
	return names
}

func (w *world) key(expires *time.Time) (metering.Key, metering.Secret) {
	w.Helper()
	key, secret, err := w.admin.CreateKey(context.Background(), metering.KeyRequest{
		Account: w.account.ID, Name: "ci", Scopes: metering.Scopes(), ExpiresAt: expires,
	})
	require.NoError(w, err)
	return key, secret
}

// charge uses credits as a request does. It returns the error of Admit or Begin.
func (w *world) charge(secret metering.Secret, credits int64) error {
	w.Helper()
	ctx := context.Background()
	c, err := w.gate.Admit(ctx, secret.Reveal(), anywhere, w.clock.Now())
	if err != nil {
		return err
	}
	begun, err := w.gate.Begin(ctx, c, metering.Op{
		RequestID: metering.NewRequestID(), Endpoint: "POST /x", Credits: credits, Now: w.clock.Now(),
	})
	if err != nil {
		return err
	}
	_, err = w.gate.Settle(ctx, *begun.Ticket, metering.Outcome{At: w.clock.Now()})
	return err
}

func (w *world) set(change func(*metering.Account)) {
	w.Helper()
	_, err := w.admin.SetAccount(context.Background(), w.account.ID, change)
	require.NoError(w, err)
}

func (w *world) deliveries() []Delivery {
	w.Helper()
	list, err := w.channels.Deliveries(context.Background(), w.account.ID, "", 0)
	require.NoError(w, err)
	return list
}

// fakeSPF holds profiles of the first key of the account.
type fakeSPF struct {
	mu       sync.Mutex
	owner    metering.KeyID
	profiles []SPFProfile
	history  map[string][]SPFResolution
}

func (f *fakeSPF) Profiles(_ context.Context, key metering.KeyID) ([]SPFProfile, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if key != f.owner {
		return nil, nil
	}
	return f.profiles, nil
}

func (f *fakeSPF) Resolutions(_ context.Context, profile string, since time.Time) ([]SPFResolution, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.history[profile]
	for len(all) > 1 && all[1].At.Before(since) {
		all = all[1:]
	}
	return all, nil
}

// resolve adds to the history of the profile.
func (f *fakeSPF) resolve(r SPFResolution) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.history == nil {
		f.history = map[string][]SPFResolution{}
	}
	p := &f.profiles[0]
	p.UpdatedAt = r.At
	f.history[p.ID] = append(f.history[p.ID], r)
}

func port(t *testing.T, address string) uint16 {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	require.NoError(t, err)
	return uint16(n)
}
