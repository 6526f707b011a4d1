//go:build !race && linux

package main

// The race detector takes memory of its own, and only Linux reports the maximum resident memory of a process.

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
	"github.com/diagkit/diagkit/metering/member"
	"github.com/diagkit/diagkit/metering/sqlite"
	"github.com/diagkit/diagkit/metering/sqlitedb"
	"github.com/emersion/go-smtp"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A walk is a server as a process of its own with everything that members and strangers can reach. Its clock moves
// only when the test moves it: the effects of requests are counted, and no limit is refilled meanwhile.
type walk struct {
	t      *testing.T
	p      *process
	clock  string // file
	now    time.Time
	store  *sqlite.Store
	file   *sqlitedb.File
	people member.Members
	mails  *mailCount
	hooks  atomic.Int64 // deliveries that a webhook was sent
	hook   string       // its URL

	mine, other *tenant
	mu          sync.Mutex // of the session of mine
	letters     string     // address of the letter box
	zone        string     // address of the name server
	paid        string     // URL of callbacks
	has         things
	steps       int
	tenants     int
	peak        int64
}

// A tenant is an account with a key, and its owner in a browser.
type tenant struct {
	id      metering.AccountID
	email   string
	key     metering.KeyID
	secret  string
	session string // a cookie
	from    string // address
}

// walkPlan has more credits than a walk spends, and a rate that it meets.
const walkPlan = "walk"

func newWalk(t *testing.T) *walk {
	w := &walk{t: t, mails: &mailCount{sent: map[string]int{}}}
	w.now = time.Date(2026, time.November, 1, 10, 30, 0, 0, time.UTC)
	receiver := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		w.hooks.Add(1)
		rw.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(receiver.Close)
	w.hook = receiver.URL + "/"
	office, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: receiver.TLS.Certificates})
	require.NoError(t, err)
	mails := smtp.NewServer(w.mails)
	go mails.Serve(office)
	t.Cleanup(func() { mails.Close() })

	dir, data := t.TempDir(), t.TempDir()
	ca, db := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "diag.db")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: receiver.Certificate().Raw})
	require.NoError(t, os.WriteFile(ca, certificate, 0o600))
	plans := metering.DefaultPlans()
	plans[walkPlan] = metering.Plan{ID: walkPlan, Name: "Walk", Currency: "EUR", Credits: 1_000_000_000, PerMinute: 600}
	require.NoError(t, os.WriteFile(filepath.Join(data, plansFile), formatPlans(plans), 0o600))
	w.clock = filepath.Join(dir, "clock")
	w.pass(0)
	port := func(a net.Addr) string { return fmt.Sprint(a.(*net.TCPAddr).Port) }
	args := slices.Concat([]string{
		"serve", "--listen=127.0.0.1:0", "--store=sqlite:" + db, "--data=" + data, walkResolver(t),
		"--trusted-proxies=127.0.0.1/32", "--allow-networks=127.0.0.0/8", "--ca-file=" + ca,
		"--allow-ports=" + port(office.Addr()) + "," + port(receiver.Listener.Addr()),
		"--mail-server=submissions://" + office.Addr().String(), "--mail-from=diagd@example.net",
		"--public-url=https://diag.example.com", "--letterbox-listen=127.0.0.1:0", "--letterbox-domain=box.example",
		"--public-check",
		"--callback-listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0", "--biller=file:" + t.TempDir(),
	}, dnsFlags)
	w.p = &process{cmd: child(t.Context(), args...), log: newWatched()}
	w.p.cmd.Env = append(w.p.cmd.Env, clockEnv+"="+w.clock, "GOGC=", fmt.Sprint("GOMEMLIMIT=", goMemory),
		"DIAG_CALLBACK_SECRET="+callbackSecret)
	w.p.cmd.Stderr = w.p.log
	require.NoError(t, w.p.cmd.Start())
	w.p.url = w.p.log.wait(t, `msg=serving url=(\S+)`)[1]
	w.letters = w.p.log.wait(t, `letter box\W+address\W+([0-9.:]+)`)[1]
	w.zone = w.p.log.wait(t, `"serving DNS" address=(\S+)`)[1]
	w.paid = w.p.log.wait(t, `payment callbacks" url=(\S+)`)[1]
	clock := func() time.Time { return w.now }
	w.store, err = sqlite.Open(t.Context(), db, sqlite.Config{
		Admin: true, Clock: clock, Plans: metering.NewPriceList(plans.Versions(metering.Period{}, time.Time{})...)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.store.Close()) })
	w.file, err = sqlitedb.Open(db)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.file.Close()) })
	w.people = member.Members{Store: w.store, Clock: clock}
	w.mine, w.other = w.tenant("walker", "2001:db8:1:1::1"), w.tenant("other", "2001:db8:ffff::1")
	return w
}

// walkResolver answers immediately, also for names that do not exist: nothing waits for a server that is silent.
func walkResolver(t testing.TB) (flag string) {
	world := diagtest.NewWorld(t)
	world.Zone(mailZone)
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(func(rw dns.ResponseWriter, q *dns.Msg) {
		m, err := world.Exchange(t.Context(), q)
		if err != nil {
			m = new(dns.Msg).SetRcode(q, dns.RcodeNameError)
		}
		m = m.Copy()
		m.Id = q.Id
		_ = rw.WriteMsg(m)
	})}
	go server.ActivateAndServe()
	t.Cleanup(func() { server.Shutdown() })
	return "--resolver=udp://" + conn.LocalAddr().String()
}

// pass moves the clock.
func (w *walk) pass(d time.Duration) {
	w.now = w.now.Add(d)
	next := w.clock + ".next"
	require.NoError(w.t, os.WriteFile(next, []byte(w.now.Format(time.RFC3339)), 0o600))
	require.NoError(w.t, os.Rename(next, w.clock))
}

// forgetWatches ends what runs by itself, so that a step has caused whatever is added.
func (w *walk) forgetWatches() {
	watches := w.watches()
	list, err := watches.List(w.t.Context(), w.mine.id)
	require.NoError(w.t, err)
	for _, one := range list {
		require.NoError(w.t, watches.Remove(w.t.Context(), w.mine.id, one.ID))
	}
}

// tenant makes an account with a key and an owner.
func (w *walk) tenant(name, from string) *tenant {
	ctx, admin := w.t.Context(), metering.Admin{Store: w.store, Clock: w.people.Clock,
		Plans: metering.Plans{walkPlan: {ID: walkPlan, Currency: "EUR"}}}
	account, err := admin.CreateAccount(ctx, name, walkPlan)
	require.NoError(w.t, err)
	key, secret, err := admin.CreateKey(ctx, metering.KeyRequest{
		Account: account.ID, Name: name, Scopes: metering.Scopes()})
	require.NoError(w.t, err)
	c := &tenant{id: account.ID, email: "owner@" + name + ".example", key: key.ID, secret: secret.Reveal(), from: from}
	_, err = w.people.Add(ctx, account.ID, c.email, member.Owner)
	require.NoError(w.t, err)
	w.signIn(c)
	return c
}

// session returns the cookie of the account that walks, which signs in again after its session has ended.
func (w *walk) session() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mine.session == "" {
		w.signIn(w.mine)
	}
	return w.mine.session
}

func (w *walk) signIn(c *tenant) {
	_, secret, err := w.people.Begin(w.t.Context(), c.id, c.email, c.from)
	require.NoError(w.t, err)
	c.session = "__Host-diagkit=" + secret
}

// A mailCount is a mail server that counts the messages it receives, by recipient.
type mailCount struct {
	mu   sync.Mutex
	sent map[string]int
}

// NewSession implements [smtp.Backend].
func (m *mailCount) NewSession(*smtp.Conn) (smtp.Session, error) { return &mailSession{m: m}, nil }

// take returns how many mails there were since, and the most that one recipient got.
func (m *mailCount) take() (all, most int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.sent {
		all, most = all+n, max(most, n)
	}
	clear(m.sent)
	return all, most
}

func (m *mailCount) count() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, sent := range m.sent {
		n += sent
	}
	return n
}

type mailSession struct {
	m  *mailCount
	to string
}

func (*mailSession) Mail(string, *smtp.MailOptions) error { return nil }

func (s *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = to
	return nil
}

func (s *mailSession) Data(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	s.m.sent[s.to]++
	return err
}

func (*mailSession) Reset()        {}
func (*mailSession) Logout() error { return nil }

// A holding is the stored records of one kind.
type holding struct{ count, bytes int64 }

// kept returns the holdings of each account and kind: records by their kind, and the rows of tables.
func (w *walk) kept() map[[2]string]holding {
	conn, err := w.file.Connect()
	require.NoError(w.t, err)
	defer func() { require.NoError(w.t, conn.Close()) }()
	all := map[[2]string]holding{}
	var text string
	_, err = sqlitedb.Get(conn, `SELECT group_concat(account || ' ' || kind || ' ' || n || ' ' || bytes, char(10)) FROM (
		SELECT account, kind, count(*) AS n, sum(length(body)) AS bytes FROM records GROUP BY account, kind
		UNION ALL SELECT account, '(keys)', count(*), 400 * count(*) FROM keys GROUP BY account
		UNION ALL SELECT 'any', '(ledger)', count(*), 100 * count(*) FROM ledger
		UNION ALL SELECT 'any', '(accounts)', count(*), 100 * count(*) FROM accounts
		UNION ALL SELECT 'any', '(replies)', count(*), coalesce(sum(bytes), 0) FROM replies)`, nil, &text)
	require.NoError(w.t, err)
	for line := range strings.Lines(text) {
		var account, kind string
		var h holding
		_, err := fmt.Sscan(line, &account, &kind, &h.count, &h.bytes)
		require.NoError(w.t, err, line)
		if history, _, ok := strings.Cut(kind, "."); ok { // one kind for each watch
			kind = history
		}
		name := [2]string{account, kind}
		all[name] = holding{all[name].count + h.count, all[name].bytes + h.bytes}
	}
	return all
}

// forgetPeak resets [highWater] (proc_pid_clear_refs(5)).
func (w *walk) forgetPeak() {
	require.NoError(w.t, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", w.p.cmd.Process.Pid), []byte("5"), 0))
}

// A sender is an origin of requests.
type sender struct {
	name string
	from func(i int) string // address
	mine bool               // whether it shows the account's key, or session
}

var senders = []sender{
	{"account", func(int) string { return "2001:db8:1:1::1" }, true},
	{"/64", func(i int) string { return fmt.Sprintf("2001:db8:2:2::%x", i+1) }, false},
	{"/48", func(i int) string { return fmt.Sprintf("2001:db8:3:%x::1", i+1) }, false},
}

// size is the content of requests.
type size string

const (
	small size = "small"
	large size = "large"
)

// tooLong is a body longer than anything takes.
var tooLong = make([]byte, 16<<20)

// request is the nth of a sender to a route.
func (w *walk) request(r *route, s sender, z size, n int) *http.Request {
	method, path, form := r.method, r.path, r.body
	if method == "" {
		method = http.MethodPost
	}
	if row := onWalk[r.pattern]; row.sample != nil {
		var values url.Values
		path, values = row.sample(w, n)
		form = values.Encode()
	}
	media := "application/x-www-form-urlencoded"
	ep, isAPI := operations()[r.pattern]
	if isAPI || r.path == "/mcp" {
		media = "application/json"
	}
	room := formRoom(r, ep)
	var body io.Reader = strings.NewReader(form)
	switch {
	case z == small:
	case n%3 == 0 && media == "application/json": // as long as it may be
		body = strings.NewReader(form + strings.Repeat(" ", max(0, room-len(form))))
	case n%3 == 0:
		body = strings.NewReader(form + "&name=" + strings.Repeat("a", max(0, room-len(form)-100)))
	case n%3 == 1: // its length is announced
		body = bytes.NewReader(tooLong)
	default:
		body = struct{ io.Reader }{bytes.NewReader(tooLong)}
	}
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.p.url+path, body)
	require.NoError(w.t, err)
	req.Header.Set("Content-Type", media)
	req.Header.Set("X-Forwarded-For", s.from(n))
	switch {
	case !s.mine:
	case r.needs == "key":
		req.Header.Set("Authorization", "Bearer "+w.mine.secret)
		req.Header.Set("Accept", "application/json, text/event-stream")
		if method == http.MethodPost && isAPI {
			req.Header.Set("Idempotency-Key", "walk-"+member.NewToken())
		}
	default:
		req.Header.Set("Cookie", w.session())
	}
	return req
}

// operations are the endpoints of the API by their patterns.
var operations = sync.OnceValue(func() map[string]httpapi.Endpoint {
	all := map[string]httpapi.Endpoint{}
	for _, ep := range httpapi.Endpoints() {
		all[ep.ID()] = ep
	}
	return all
})

// formRoom returns the maximum length of a body that is read.
func formRoom(r *route, ep httpapi.Endpoint) int {
	switch {
	case ep.Path != "":
		return int(ep.MaxBody())
	case r.path == "/mcp":
		return 4 << 20
	case strings.Contains(r.pattern, "/playground/"):
		return 3 << 20
	}
	return 64 << 10
}

// replies are the replies of a step.
type replies struct {
	mu     sync.Mutex
	status map[int]int // 0: the connection was cut while a body too large was sent
	last   reply       // that was refused
}

func (a *replies) served() (n int) {
	for status, count := range a.status {
		if status != 0 && status < 400 {
			n += count
		}
	}
	return n
}

var walkClient = &http.Client{
	Transport:     &http.Transport{MaxIdleConnsPerHost: 64},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// send sends the requests of a step, and records the replies. A cookie that is set is kept.
func (w *walk) send(a *replies, s sender, r *http.Request) {
	got, err := do(walkClient, r)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.status[0]++ // it is closed while the client still sends
		return
	}
	a.status[got.status]++
	if got.status >= 400 {
		a.last = got
	}
	if cookies := got.header.Values("Set-Cookie"); s.mine && len(cookies) > 0 {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.mine.session, _, _ = strings.Cut(cookies[len(cookies)-1], ";")
		if strings.HasSuffix(w.mine.session, "=") {
			w.mine.session = ""
		}
	}
}

// A step is a route, a sender, and a request.
type step struct {
	route *route
	from  sender
	size  size
}

func (s step) String() string { return fmt.Sprintf("%s, %s, %s", s.route.pattern, s.from.name, s.size) }

// pause is the time before a step, in which what limits the route is refilled. All steps together stay within a month,
// at whose end invoices are made.
func (s step) pause() time.Duration {
	if _, ok := onWalk[s.route.pattern]; ok {
		return time.Hour
	}
	return 2 * time.Minute
}

// rounds are how many requests a step has.
func (s step) rounds() int {
	if n := onWalk[s.route.pattern].rounds; n > 0 && s.from.mine {
		return n
	}
	few := 1 // of strangers at pages for members, which all answer alike
	if s.route.needs == "session" && !s.from.mine && !diagtest.Whole() {
		few = 4
	}
	if s.size == large {
		return diagtest.Share(48, 3) / few
	}
	return diagtest.Share(1000, 40) / few
}

// atOnce is how many large requests there are at a time.
const atOnce = 16

// take repeats a step, and checks its effects against the bounds.
func (w *walk) take(s step) {
	w.pass(s.pause())
	w.forgetWatches()
	if s.from.mine && onWalk[s.route.pattern].sample != nil { // whose budgets of a day are whole
		w.tenants++
		w.mine = w.tenant(fmt.Sprint("walker", w.tenants), w.mine.from)
	}
	if s.from.mine || s.from.name == senders[1].name && s.size == small {
		w.signIn(w.mine)
		w.signIn(w.other)
	}
	if row := onWalk[s.route.pattern]; row.before != nil && s.from.mine {
		row.before(w)
	}
	w.settle()
	w.mails.take()
	w.hooks.Store(0)
	w.forgetPeak()
	before, a := w.kept(), &replies{status: map[int]int{}}
	if s.size == small {
		for i := range s.rounds() {
			w.send(a, s.from, w.request(s.route, s.from, s.size, i))
		}
	} else {
		var wg sync.WaitGroup
		slots := make(chan struct{}, atOnce)
		for i := range s.rounds() {
			r := w.request(s.route, s.from, s.size, i)
			slots <- struct{}{}
			wg.Go(func() { w.send(a, s.from, r); <-slots })
		}
		wg.Wait()
	}
	w.settle()
	if row := onWalk[s.route.pattern]; row.mailed {
		until(w.t, "mails arrive", func() bool { return w.mails.count() >= a.served() })
	}
	peak, after := highWater(w.t, w.p.cmd.Process.Pid), w.kept()
	mails, most := w.mails.take()
	kept := w.compare(s, before, after)
	if line := statuses(a.status); kept != "" || mails > 0 || w.hooks.Load() > 0 || len(a.status) > 1 {
		w.t.Logf("%-42s %-8s %-6s %-24s peak %3d MiB, mails %d, deliveries %d%s", s.route.pattern, s.from.name, s.size,
			line, peak>>20, mails, w.hooks.Load(), kept)
	}
	w.steps, w.peak = w.steps+1, max(w.peak, peak)
	assert.Less(w.t, peak, int64(mostMemory), "%s: memory", s)
	links, questions := budget.Of(budget.SignInMails), budget.Of(budget.ChannelMails)
	assert.LessOrEqual(w.t, int64(most), max(links.Person, questions.Person), "%s: mails to one address", s)
	assert.LessOrEqual(w.t, int64(mails), max(links.Account, questions.Account), "%s: mails", s)
	if most, bounded := onWalk[s.route.pattern].served[s.from.name]; bounded {
		assert.LessOrEqual(w.t, a.served(), most, "%s: served", s)
	}
	w.judge(s, a)
	if s.size == small && a.last.status == http.StatusTooManyRequests {
		w.refusedAgain(s)
	}
	w.othersAreServed(s)
}

func statuses(status map[int]int) string {
	var list []string
	for _, code := range slices.Sorted(maps.Keys(status)) {
		list = append(list, fmt.Sprintf("%d×%d", status[code], code))
	}
	return strings.Join(list, " ")
}

// judge finds replies that no client should get, and refusals that do not say what they are.
func (w *walk) judge(s step, a *replies) {
	for status, count := range a.status {
		if status == 0 {
			assert.Equal(w.t, large, s.size, "%s: a connection was cut", s)
			continue
		}
		assert.True(w.t, status < 500 || status == http.StatusServiceUnavailable || status == http.StatusNotImplemented ||
			status == http.StatusGatewayTimeout || status == http.StatusBadGateway,
			"%s: %d times %d: %s", s, count, status, a.last.body)
	}
	if a.last.status == 0 || s.route.method == http.MethodHead {
		return
	}
	assert.Regexp(w.t, `<h1|"message"|Wait|not shared`, a.last.body, "%s: %d says nothing", s, a.last.status)
	if a.last.status == http.StatusTooManyRequests || a.last.status == http.StatusServiceUnavailable {
		assert.NotEmpty(w.t, a.last.header.Get("Retry-After"), "%s: %d", s, a.last.status)
	}
}

// refusedAgain repeats refused requests: they keep nothing.
func (w *walk) refusedAgain(s step) {
	r := w.request(s.route, s.from, s.size, s.rounds()-1)
	before, a := w.kept(), &replies{status: map[int]int{}}
	w.send(a, s.from, r)
	assert.Equal(w.t, http.StatusTooManyRequests, a.last.status, "%s: again", s)
	after := w.kept()
	for name, is := range after {
		if name[0] == string(w.mine.id) && !strings.HasPrefix(name[1], "watch") {
			assert.Equal(w.t, before[name], is, "%s: what was refused keeps %s", s, name[1])
		}
	}
}

// othersAreServed sends requests as another account, and as a stranger, of another network.
func (w *walk) othersAreServed(s step) {
	c, from := w.other, fmt.Sprintf("2001:db8:%x::1", 0x1000+w.steps)
	ask := func(what string, want int, method, path, body string, headers ...string) {
		r, err := http.NewRequestWithContext(w.t.Context(), method, w.p.url+path, strings.NewReader(body))
		require.NoError(w.t, err)
		r.Header.Set("X-Forwarded-For", from)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		got, err := do(walkClient, r)
		require.NoError(w.t, err)
		assert.Equal(w.t, want, got.status, "%s: %s of others", s, what)
	}
	const form = "application/x-www-form-urlencoded"
	ask("the page", http.StatusOK, "GET", "/dashboard/keys", "", "Cookie", c.session)
	if diagtest.Whole() {
		ask("the form", http.StatusSeeOther, "POST", "/dashboard/sessions/end-others", "", "Cookie", c.session,
			"Content-Type", form)
	}
	ask("the API", http.StatusOK, "POST", httpapi.Prefix+"/text/upper", upper, "Authorization", "Bearer "+c.secret,
		"Content-Type", "application/json")
	ask("the letter box", http.StatusSeeOther, "POST", "/letterbox", "", "Content-Type", form)
	ask("the entry", http.StatusOK, "GET", "/dashboard/enter", "")
}

// settle waits until all that is due has been delivered.
func (w *walk) settle() {
	conn, err := w.file.Connect()
	require.NoError(w.t, err)
	defer func() { require.NoError(w.t, conn.Close()) }()
	delivered := func() bool {
		var waiting int64
		_, err := sqlitedb.Get(conn, `SELECT count(*) FROM records WHERE kind = 'event' AND due IS NOT NULL
			OR kind = 'delivery' AND json_extract(body, '$.state') = 'pending'`, nil, &waiting)
		require.NoError(w.t, err)
		return waiting == 0
	}
	if !delivered() {
		until(w.t, "events are delivered", delivered)
	}
}

// later are the kinds that follow from earlier requests automatically.
var later = map[string]bool{"(ledger)": true, "event": true, "delivery": true}

// compare describes what a step has added. It is checked against [keptBounds]; of strangers nothing is kept except
// what the row of the route says.
func (w *walk) compare(s step, before, after map[[2]string]holding) (text string) {
	for _, name := range slices.SortedFunc(maps.Keys(after), func(a, b [2]string) int {
		return strings.Compare(a[0]+a[1], b[0]+b[1])
	}) {
		account, kind := name[0], name[1]
		was, is := before[name], after[name]
		if account != string(w.mine.id) && account != "any" {
			continue
		}
		bound, known := keptBounds[kind]
		if !assert.True(w.t, known, "%s: %q is kept without a bound", s, kind) {
			continue
		}
		if bound.most.count > 0 {
			assert.LessOrEqual(w.t, is.count, bound.most.count, "%s: %s of %s", s, kind, account)
		}
		if bound.most.bytes > 0 {
			assert.LessOrEqual(w.t, is.bytes, bound.most.bytes, "%s: bytes of %s of %s", s, kind, account)
		}
		if bound.day > 0 {
			assert.LessOrEqual(w.t, is.count-was.count, bound.day, "%s: %s of %s in a day", s, kind, account)
		}
		if is == was {
			continue
		}
		text += fmt.Sprintf(", %s %+d (%+d B)", kind, is.count-was.count, is.bytes-was.bytes)
		if grown := is.count > was.count || is.bytes > was.bytes; grown && !s.from.mine && !later[kind] {
			assert.Contains(w.t, onWalk[s.route.pattern].strangers, kind, "%s: %+d of %s is kept for strangers", s,
				is.count-was.count, kind)
		}
	}
	return text
}
