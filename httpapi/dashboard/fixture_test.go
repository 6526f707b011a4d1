package dashboard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// A fixture is a dashboard over a store in memory, at an instant that only the test moves.
type fixture struct {
	t       *testing.T
	dash    *dashboard
	store   metering.Store
	account metering.Account
	other   metering.Account // of strangers, which has an owner too
	people  member.Members
	admin   metering.Admin
	gate    *metering.Gate
	log     bytes.Buffer

	mu  sync.Mutex
	now time.Time
}

// startTime is the initial time of a fixture: the middle of a month.
var startTime = time.Date(2026, time.November, 16, 10, 30, 0, 0, time.UTC)

// newFixture makes a fixture whose account is on the plan pack, with the members owner@, developer@ and
// viewer@example.com. Changes edit the configuration before the dashboard is made.
func newFixture(t *testing.T, changes ...func(*Config)) *fixture {
	return newFixtureAt(t, startTime, changes...)
}

// newFixtureAt makes a fixture with an initial time.
func newFixtureAt(t *testing.T, at time.Time, changes ...func(*Config)) *fixture {
	h := &fixture{t: t, now: at}
	h.store = memory.New(memory.Config{Clock: h.clock})
	h.people = member.Members{Store: h.store, Clock: h.clock}
	h.admin = metering.Admin{Store: h.store, Clock: h.clock}
	ctx := t.Context()
	var err error
	h.account, err = h.admin.CreateAccount(ctx, "Example & Co", "pack")
	require.NoError(t, err)
	h.other, err = h.admin.CreateAccount(ctx, "Strangers", "agency")
	require.NoError(t, err)
	for _, role := range member.Roles() {
		_, err = h.people.Add(ctx, h.account.ID, string(role)+"@example.com", role)
		require.NoError(t, err)
	}
	_, err = h.people.Add(ctx, h.other.ID, "owner@example.net", member.Owner)
	require.NoError(t, err)
	h.gate, err = metering.NewGate(context.WithoutCancel(ctx), metering.GateConfig{Store: h.store, Clock: h.clock})
	require.NoError(t, err)
	activity := &Activity{}
	log := slog.New(slog.NewTextHandler(&h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c := Config{
		Store: h.store, Clock: h.clock, Activity: activity, Log: log, Secure: true, PublicURL: "https://diag.example.com",
		Env: &diag.Env{},
	}
	for _, change := range changes {
		change(&c)
	}
	if c.API == nil {
		c.API = httpapi.New(httpapi.Config{Gate: h.gate, Clock: h.clock, Env: c.Env, HostedSPF: c.HostedSPF, IPRate: -1,
			Log: log, Observe: activity.Observe})
	}
	h.dash = New(c).(*dashboard)
	t.Cleanup(func() { h.gate.Close(); h.store.Close() })
	return h
}

func (h *fixture) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

// advance moves the clock.
func (h *fixture) advance(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// A browser keeps cookies, and sends the headers of a current browser's request from the same site.
type browser struct {
	*fixture
	cookies map[string]string
}

func (h *fixture) browser() *browser { return &browser{h, map[string]string{}} }

// as is a browser in which a member has entered.
func (h *fixture) as(email string) *browser {
	h.t.Helper()
	accounts, err := h.people.Of(h.t.Context(), email)
	require.NoError(h.t, err)
	require.NotEmpty(h.t, accounts, email)
	b := h.browser()
	_, b.cookies[h.dash.cookieName()], err = h.people.Begin(h.t.Context(), accounts[0].Account, email, "192.0.2.9")
	require.NoError(h.t, err)
	return b
}

// owner is a browser in which the owner of the account has entered.
func (h *fixture) owner() *browser { h.t.Helper(); return h.as("owner@example.com") }

// A reply is a page as a browser reads it.
type reply struct {
	*goquery.Document
	status int
	header http.Header
	body   string
}

// send sends a request. Fields are names and values of its header, which replace those of a browser.
func (b *browser) send(method, path string, form url.Values, fields ...string) *reply {
	b.t.Helper()
	path, _, _ = strings.Cut(path, "#") // which browsers keep to themselves
	var body io.Reader
	if method == http.MethodPost {
		body = strings.NewReader(form.Encode())
	}
	r := httptest.NewRequest(method, "https://diag.example.com"+path, body)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "https://diag.example.com")
	}
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	return b.do(r)
}

// do sends a request as it is, and keeps the cookies of its reply.
func (b *browser) do(r *http.Request) *reply {
	b.t.Helper()
	w := httptest.NewRecorder()
	b.dash.ServeHTTP(w, r)
	result := w.Result()
	for _, c := range result.Cookies() {
		if b.cookies[c.Name] = c.Value; c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(w.Body.Bytes()))
	require.NoError(b.t, err)
	return &reply{doc, result.StatusCode, result.Header, w.Body.String()}
}

// get shows a page that there must be.
func (b *browser) get(path string) *reply {
	b.t.Helper()
	p := b.send(http.MethodGet, path, nil)
	require.Equal(b.t, http.StatusOK, p.status, "%s: %s", path, p.Find("main").Text())
	return p
}

// post sends a form, given as names and values.
func (b *browser) post(path string, fields ...string) *reply {
	b.t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return b.send(http.MethodPost, path, form)
}

// follow sends a form that must be taken, and shows the page to which it leads.
func (b *browser) follow(path string, fields ...string) *reply {
	b.t.Helper()
	p := b.post(path, fields...)
	require.Equal(b.t, http.StatusSeeOther, p.status, "%s: %s", path, p.Find("main").Text())
	return b.get(p.header.Get("Location"))
}

// words are the text of a selection, with single spaces, also between elements.
func (p *reply) words(selector string) string {
	var texts []string
	for _, n := range p.Find(selector).Nodes {
		for d := range n.Descendants() {
			if d.Type == html.TextNode {
				texts = append(texts, strings.Fields(d.Data)...)
			}
		}
	}
	return strings.Join(texts, " ")
}

// editRecord replaces the part of a stored document that a value has.
func (h *fixture) editRecord(account metering.AccountID, kind, id string, value any) {
	h.t.Helper()
	r, err := h.store.Record(h.t.Context(), account, kind, id)
	require.NoError(h.t, err)
	var old, change map[string]any
	body, err := json.Marshal(value)
	require.NoError(h.t, err)
	require.NoError(h.t, json.Unmarshal(body, &change))
	require.NoError(h.t, json.Unmarshal(r.Body, &old))
	for name, v := range change {
		if v != "" {
			old[name] = v
		}
	}
	r.Body, err = json.Marshal(old)
	require.NoError(h.t, err)
	require.NoError(h.t, h.store.PutRecords(h.t.Context(), r))
}

func sha256Of(text string) [32]byte { return sha256.Sum256([]byte(text)) }

// requestAs returns a request of a member, for functions that identify the caller.
func requestAs(h *fixture, email string) *http.Request {
	one, err := h.people.Member(h.t.Context(), h.account.ID, email)
	require.NoError(h.t, err)
	s := &requestState{session: &session{Member: one, Account: h.account}}
	r := httptest.NewRequest("POST", "/dashboard", nil)
	return r.WithContext(context.WithValue(r.Context(), requestStateKey{}, s))
}
