package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/metering/budget"
	"github.com/diagkit/diagkit/metering/member"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// linkPath is the path of a new link of an address.
func (h *fixture) linkPath(email string) (path, token string) {
	h.t.Helper()
	token, err := h.people.NewLink(h.t.Context(), email)
	require.NoError(h.t, err)
	return strings.TrimPrefix(SignInURL(h.dash.PublicURL, token), h.dash.PublicURL), token
}

// Opening a link, by whatever method, does not use it; sending its form signs in, once.
func TestSignIn(t *testing.T) {
	h := newFixture(t)
	at, token := h.linkPath("owner@example.com")
	b := h.browser()
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodGet} {
		require.Equal(t, http.StatusOK, b.send(method, at, nil, "Sec-Fetch-Site", "cross-site", "Sec-Purpose", "prefetch").status)
	}
	page := b.get(at)
	wellFormed(t, at, page)
	assert.Equal(t, "no-referrer", page.header.Get("Referrer-Policy"))
	assert.Equal(t, "Sign in as owner@example.com", page.words("h1"))
	assert.Empty(t, b.cookies)
	account, _ := page.Find("input[name=account]").Attr("value")

	b.cookies["__Host-diagkit"] = "chosen-by-somebody-else" // fixation: what the browser had before is not what it gets
	home := b.follow("/dashboard/enter", "token", token, "account", account)
	assert.Contains(t, home.words(".user"), "owner@example.com, owner")
	secret := b.cookies["__Host-diagkit"]
	assert.NotEqual(t, "chosen-by-somebody-else", secret)
	assert.Len(t, secret, 43)

	again := h.browser().post("/dashboard/enter", "token", token, "account", account)
	assert.Equal(t, http.StatusNotFound, again.status)
	assert.Contains(t, again.words("main"), "was already used")
	assert.Equal(t, http.StatusNotFound, h.browser().send("GET", at, nil).status)

	_, token = h.linkPath("owner@example.com") // signing in again makes a new session, and the old one is over
	b.follow("/dashboard/enter", "token", token, "account", account)
	assert.NotEqual(t, secret, b.cookies["__Host-diagkit"])
	old := h.browser()
	old.cookies["__Host-diagkit"] = secret
	assert.Equal(t, http.StatusSeeOther, old.send("GET", "/dashboard/keys", nil).status)
	assert.NotContains(t, h.log.String(), token)
	assert.NotContains(t, h.log.String(), secret)
}

// The cookie is restricted to this host and path, hidden from scripts, and under TLS sent over TLS only.
func TestCookie(t *testing.T) {
	for _, secure := range []bool{true, false} {
		h := newFixture(t, func(c *Config) { c.Secure = secure })
		_, token := h.linkPath("owner@example.com")
		b := h.browser()
		r := b.post("/dashboard/enter", "token", token, "account", string(h.account.ID))
		require.Equal(t, http.StatusSeeOther, r.status)
		c, err := http.ParseSetCookie(r.header.Get("Set-Cookie"))
		require.NoError(t, err)
		assert.True(t, c.HttpOnly)
		assert.Equal(t, http.SameSiteLaxMode, c.SameSite)
		assert.Equal(t, "/", c.Path)
		assert.Empty(t, c.Domain)
		assert.Equal(t, secure, c.Secure)
		assert.Equal(t, secure, strings.HasPrefix(c.Name, "__Host-"))
	}
	h := newFixture(t)
	b := h.owner()
	r := httptest.NewRequest("GET", "https://diag.example.com/dashboard/keys", nil)
	r.Header.Set("Cookie", "__Host-diagkit="+b.cookies["__Host-diagkit"]+"; __Host-diagkit=another")
	assert.Equal(t, http.StatusSeeOther, h.browser().do(r).status, "of two sessions none counts")
}

// A link ends after 15 minutes, and with its member.
func TestLinkEnds(t *testing.T) {
	h := newFixture(t)
	at, token := h.linkPath("viewer@example.com")
	h.advance(member.LinkTime - time.Second)
	h.browser().get(at)
	h.advance(time.Second)
	assert.Equal(t, http.StatusNotFound, h.browser().send("GET", at, nil).status)
	assert.Equal(t, http.StatusNotFound, h.browser().post("/dashboard/enter", "token", token, "account", string(h.account.ID)).status)

	at, token = h.linkPath("viewer@example.com")
	assert.Equal(t, http.StatusNotFound, h.browser().post("/dashboard/enter", "token", token, "account", string(h.other.ID)).status)
	require.NoError(t, h.people.Remove(t.Context(), h.account.ID, "viewer@example.com"))
	assert.Equal(t, http.StatusNotFound, h.browser().send("GET", at, nil).status)
}

// Of many concurrent uses of one link one succeeds.
func TestLinkOnce(t *testing.T) {
	h := newFixture(t)
	_, token := h.linkPath("owner@example.com")
	var all sync.WaitGroup
	count := make(chan string, 32)
	for range 16 {
		all.Go(func() {
			if _, secret, err := h.people.Enter(context.Background(), token, h.account.ID, ""); err == nil {
				count <- secret
			}
		})
	}
	all.Wait()
	assert.Len(t, count, 1)
}

// withMail is a change of a fixture that keeps what is mailed.
func withMail(sent chan<- string) func(*Config) {
	return func(c *Config) {
		c.Mail = func(_ context.Context, to, subject, text string) error {
			sent <- to + "\n" + subject + "\n" + text
			return nil
		}
	}
}

// A link is mailed to members. The reply is the same for every address, and the number of requests is limited.
func TestMailLink(t *testing.T) {
	sent := make(chan string, 100)
	h := newFixture(t, withMail(sent))
	b := h.browser()
	known := b.post("/dashboard/enter/mail", "email", " Owner@Example.com ")
	unknown := b.post("/dashboard/enter/mail", "email", "nobody@example.com")
	assert.Equal(t, known.status, unknown.status)
	assert.Equal(t, known.header, unknown.header)
	assert.Equal(t, known.body, unknown.body)
	assert.Contains(t, b.get(known.header.Get("Location")).words(".notice"), "If the address belongs to a member")
	mail := <-sent
	assert.True(t, strings.HasPrefix(mail, "owner@example.com\n"), mail)
	at := mail[strings.Index(mail, "https://"):]
	at = strings.TrimPrefix(at[:strings.IndexByte(at, '\n')], h.dash.PublicURL)
	assert.Contains(t, b.get(at).words("h1"), "owner@example.com")

	for _, text := range []string{"", "no address", "a@b\r\nBcc: all@example.com", "Ada <ada@example.com>", "ada@exämple.com"} {
		r := b.post("/dashboard/enter/mail", "email", text)
		assert.Equal(t, http.StatusUnprocessableEntity, r.status, text)
		assert.Contains(t, r.words("#email-fault"), "must be a mail address", text)
	}
	h.advance(time.Minute)
	emailAttempts := int(budget.Of(budget.SignInMails).Person)
	for i := range emailAttempts {
		status := b.post("/dashboard/enter/mail", "email", "owner@example.com").status
		if i < emailAttempts-1 {
			assert.Equal(t, http.StatusSeeOther, status)
		}
	}
	assert.Equal(t, http.StatusTooManyRequests, b.post("/dashboard/enter/mail", "email", "owner@example.com").status)
	h.advance(time.Hour)
	assert.Equal(t, http.StatusSeeOther, b.post("/dashboard/enter/mail", "email", "owner@example.com").status)

	none := newFixture(t) // without a mail server
	assert.Equal(t, http.StatusNotFound, none.browser().post("/dashboard/enter/mail", "email", "owner@example.com").status)
	assert.Contains(t, none.browser().get("/dashboard/enter").words("main"), "diagd member link EMAIL")
}

// After signing in a visitor is redirected to the requested page, and to no other site.
func TestNext(t *testing.T) {
	sent := make(chan string, 10)
	h := newFixture(t, withMail(sent))
	b := h.browser()
	asked := b.send("GET", "/dashboard/usage?month=2026-11", nil)
	page := b.get(asked.header.Get("Location"))
	next, _ := page.Find("input[name=next]").Attr("value")
	b.follow("/dashboard/enter/mail", "email", "owner@example.com", "next", next)
	mail := <-sent
	at := strings.TrimPrefix(mail[strings.Index(mail, "https://"):], h.dash.PublicURL)
	button := b.get(at[:strings.IndexByte(at, '\n')]).Find("form")
	fields := []string{}
	for _, input := range button.Find("input").EachIter() {
		fields = append(fields, input.AttrOr("name", ""), input.AttrOr("value", ""))
	}
	assert.Equal(t, "/dashboard/usage?month=2026-11", b.post("/dashboard/enter", fields...).header.Get("Location"))
	for _, next := range []string{"https://evil.example", "//evil.example", "/\\evil.example", "/dashboard//evil.example",
		"/dashboard\r\nX-Injected: 1", "/other", ""} {
		_, token := h.linkPath("owner@example.com")
		r := h.browser().post("/dashboard/enter", "token", token, "account", string(h.account.ID), "next", next)
		assert.Equal(t, "/dashboard", r.header.Get("Location"), next)
	}
}

// An address that guesses links, or secrets of sessions, is stopped. Who has a session is not.
func TestAttempts(t *testing.T) {
	h := newFixture(t)
	b := h.browser()
	addressAttempts, visitAttempts := h.dash.Budget.SignIns.Limit, h.dash.Budget.Visits.Limit
	statuses := map[int]int{}
	for range 3 * addressAttempts {
		statuses[b.send("GET", "/dashboard/enter?token=guess", nil).status]++
		statuses[b.post("/dashboard/enter", "token", "guess", "account", string(h.account.ID)).status]++
	}
	assert.LessOrEqual(t, statuses[http.StatusNotFound], addressAttempts)
	assert.Equal(t, 6*addressAttempts, statuses[http.StatusNotFound]+statuses[http.StatusTooManyRequests])
	h.advance(time.Minute)
	assert.Equal(t, http.StatusNotFound, b.send("GET", "/dashboard/enter?token=guess", nil).status)

	owner := h.owner()
	for range 2 * visitAttempts {
		owner.get("/dashboard/log")
	}
	b.cookies["__Host-diagkit"] = "guess"
	last := 0
	for range 2 * visitAttempts {
		last = b.send("GET", "/dashboard/log", nil).status
	}
	assert.Equal(t, http.StatusTooManyRequests, last)
}

// Requests for links to ever more addresses are stopped, for the whole network. Others can still request one.
func TestMailsFromOneNetwork(t *testing.T) {
	h := newFixture(t, withMail(make(chan string, 1000)))
	spammer, count := netip.MustParseAddr("2001:db8::1"), 0
	for n := range 200 {
		h.advance(5 * time.Second)
		if h.dash.takeSignInMail(spammer, fmt.Sprintf("a%d@example.com", n)) {
			count++
		}
	}
	perHour := int(budget.Of(budget.SignInMails).Network)
	assert.Equal(t, perHour+200*5/60, count)
	assert.False(t, h.dash.takeSignInMail(netip.MustParseAddr("2001:db8::2"), "b@example.com"), "a /64 is one sender")
	assert.True(t, h.dash.takeSignInMail(netip.MustParseAddr("198.51.100.1"), "b@example.com"))
}

// Guesses of shared links are stopped; valid links are not affected.
func TestGuessedShares(t *testing.T) {
	h := newFixture(t)
	token := member.NewToken()
	require.NoError(t, h.dash.storeShare(t.Context(), h.account.ID, token, &share{View: &view.View{Subject: "example.com"}}))
	b := h.browser()
	for range 2 * h.dash.Budget.Visits.Limit {
		require.Equal(t, http.StatusOK, b.send(http.MethodGet, "/r/"+token, nil).status)
	}
	statuses := map[int]int{}
	for range 2 * h.dash.Budget.Visits.Limit {
		statuses[b.send(http.MethodGet, "/r/"+member.NewToken(), nil).status]++
	}
	limit := h.dash.Budget.Visits.Limit
	require.Equal(t, map[int]int{http.StatusNotFound: limit, http.StatusTooManyRequests: limit}, statuses)
}

// A session ends after 12 hours without use, and after 30 days.
func TestSessionEnds(t *testing.T) {
	h := newFixture(t)
	idle := h.owner()
	h.advance(member.IdleTime - time.Second)
	idle.get("/dashboard/log")
	h.advance(member.IdleTime)
	assert.Equal(t, http.StatusSeeOther, idle.send("GET", "/dashboard/log", nil).status)

	busy := h.owner()
	for at := time.Duration(0); at < member.SessionTime; at += 11 * time.Hour {
		busy.get("/dashboard/log")
		h.advance(11 * time.Hour)
	}
	assert.Equal(t, http.StatusSeeOther, busy.send("GET", "/dashboard/log", nil).status)
}

// A session is written to once a minute at most.
func TestSessionSeen(t *testing.T) {
	h := newFixture(t)
	b := h.owner()
	seen := func() time.Time {
		list, err := h.people.Sessions(t.Context(), h.account.ID)
		require.NoError(t, err)
		return list[0].LastSeen
	}
	first := seen()
	h.advance(59 * time.Second)
	b.get("/dashboard/log")
	assert.Equal(t, first, seen())
	h.advance(time.Second)
	b.get("/dashboard/log")
	assert.Equal(t, first.Add(time.Minute), seen())
}

// Sessions are listed, and can be ended: one's own by everybody, those of all by owners. A member who is removed is out.
func TestSessions(t *testing.T) {
	h := newFixture(t)
	viewer, elsewhere, owner := h.as("viewer@example.com"), h.as("viewer@example.com"), h.owner()
	page := viewer.get("/dashboard/sessions")
	assert.Equal(t, 2, page.Find("tbody tr").Length(), "nobody else's")
	assert.Equal(t, 3, owner.get("/dashboard/sessions").Find("tbody tr").Length())
	list, err := h.people.Sessions(t.Context(), h.account.ID)
	require.NoError(t, err)
	for _, s := range list {
		if s.Email == "owner@example.com" {
			assert.Equal(t, http.StatusNotFound, viewer.post("/dashboard/sessions/"+s.ID+"/end").status)
		}
	}
	viewer.follow("/dashboard/sessions/end-others", "sure", "yes")
	assert.Equal(t, http.StatusSeeOther, elsewhere.send("GET", "/dashboard/log", nil).status)
	viewer.get("/dashboard/log")

	action, _ := owner.get("/dashboard/sessions").Find("tbody form").Attr("action")
	owner.follow(action)
	assert.Equal(t, http.StatusSeeOther, viewer.send("GET", "/dashboard/log", nil).status)

	developer := h.as("developer@example.com")
	owner.follow("/dashboard/members/"+memberID(t, h, "developer@example.com")+"/remove", "sure", "yes")
	assert.Equal(t, http.StatusSeeOther, developer.send("GET", "/dashboard/log", nil).status)

	out := owner.post("/dashboard/leave")
	assert.Equal(t, http.StatusSeeOther, out.status)
	assert.Empty(t, owner.cookies)
	assert.Contains(t, owner.get(out.header.Get("Location")).words(".notice"), "signed out")
}

func memberID(t *testing.T, h *fixture, email string) string {
	m, err := h.people.Member(t.Context(), h.account.ID, email)
	require.NoError(t, err)
	return m.ID()
}

// A member of several accounts chooses one, and can change to another. A link that an owner has made leads only into
// that owner's account: otherwise an owner could access every account of any address that he adds to his own.
func TestSeveralAccounts(t *testing.T) {
	h := newFixture(t)
	ctx := t.Context()
	_, err := h.people.Add(ctx, h.account.ID, "owner@example.net", member.Viewer)
	require.NoError(t, err)
	at, token := h.linkPath("owner@example.net")
	b := h.browser()
	assert.Equal(t, 2, b.get(at).Find("form[action='/dashboard/enter']").Length())
	home := b.follow("/dashboard/enter", "token", token, "account", string(h.other.ID))
	assert.Contains(t, home.words(".user"), "Strangers")
	before := b.cookies["__Host-diagkit"]
	home = b.follow("/dashboard/account", "account", string(h.account.ID))
	assert.Contains(t, home.words(".user"), "Example & Co owner@example.net, viewer")
	assert.NotEqual(t, before, b.cookies["__Host-diagkit"])
	assert.Equal(t, http.StatusForbidden, b.send("GET", "/dashboard/members/"+memberID(t, h, "owner@example.com"), nil).status)

	page := h.owner().follow("/dashboard/members/" + memberID(t, h, "owner@example.net") + "/link")
	u, err := url.Parse(page.words(".secret code"))
	require.NoError(t, err)
	guest := h.browser()
	assert.Equal(t, 1, guest.get(u.RequestURI()).Find("form[action='/dashboard/enter']").Length())
	assert.Equal(t, http.StatusNotFound,
		guest.post("/dashboard/enter", "token", u.Query().Get("token"), "account", string(h.other.ID)).status)
	guest.follow("/dashboard/enter", "token", u.Query().Get("token"), "account", string(h.account.ID))
	assert.Equal(t, 0, guest.get("/dashboard/sessions").Find("form[action='/dashboard/account']").Length())
	assert.Equal(t, http.StatusNotFound, guest.post("/dashboard/account", "account", string(h.other.ID)).status)
}

// The header that names a member counts from a trusted proxy alone.
func TestTrustedUserHeader(t *testing.T) {
	h := newFixture(t, func(c *Config) {
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		c.TrustedUserHeader = "X-Forwarded-Email"
	})
	ask := func(b *browser, peer string, names ...string) *reply {
		r := httptest.NewRequest("GET", "https://diag.example.com/dashboard/log", nil)
		r.RemoteAddr = peer
		r.Header["X-Forwarded-Email"] = names
		r.Header.Set("X-Forwarded-For", "203.0.113.9")
		for name, value := range b.cookies {
			r.AddCookie(&http.Cookie{Name: name, Value: value})
		}
		return b.do(r)
	}
	for _, tt := range []struct {
		name, peer string
		emails     []string
		status     int
	}{
		{"a member", "10.1.2.3:4000", []string{"Owner@example.com"}, http.StatusOK},
		{"mapped", "[::ffff:10.1.2.3]:4000", []string{"viewer@example.com"}, http.StatusOK},
		{"somebody else", "10.1.2.3:4000", []string{"nobody@example.com"}, http.StatusSeeOther},
		{"not through the proxy", "192.0.2.1:4000", []string{"owner@example.com"}, http.StatusSeeOther},
		{"two", "10.1.2.3:4000", []string{"owner@example.com", "viewer@example.com"}, http.StatusSeeOther},
		{"a list", "10.1.2.3:4000", []string{"owner@example.com, viewer@example.com"}, http.StatusSeeOther},
		{"none", "10.1.2.3:4000", nil, http.StatusSeeOther},
	} {
		b := h.browser()
		assert.Equal(t, tt.status, ask(b, tt.peer, tt.emails...).status, tt.name)
		assert.Equal(t, tt.status == http.StatusOK, len(b.cookies) == 1, tt.name)
	}
	b := h.browser()
	ask(b, "10.1.2.3:4000", "owner@example.com")
	first := b.cookies["__Host-diagkit"]
	ask(b, "10.1.2.3:4000", "owner@example.com")
	assert.Equal(t, first, b.cookies["__Host-diagkit"], "one session goes on")
	other := ask(b, "10.1.2.3:4000", "viewer@example.com")
	assert.Contains(t, other.words(".user"), "viewer@example.com", "the proxy has let somebody else through")
	assert.Contains(t, b.get("/dashboard/sessions").words("table"), "203.0.113.9", "the address is that of the client")
}
