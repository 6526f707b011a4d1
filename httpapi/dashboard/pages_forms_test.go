package dashboard

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
	"github.com/diagkit/diagkit/metering/notify"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// keyIn is the id of the key whose page a reply is.
func keyIn(p *reply) string {
	for _, code := range p.Find("dl code").EachIter() {
		if strings.HasPrefix(code.Text(), "key_") {
			return code.Text()
		}
	}
	return ""
}

// A key is created, rotated and revoked by forms. Its secret is shown once, and only to its creator.
func TestKeys(t *testing.T) {
	h := newFixture(t)
	b := h.as("developer@example.com")
	empty := b.get("/dashboard/keys")
	assert.Contains(t, empty.words(".empty"), "No keys yet")

	faulty := b.post("/dashboard/keys", "name", strings.Repeat("x", 65), "environment", "live", "expires_at", "0")
	wellFormed(t, "a faulty form", faulty)
	assert.Equal(t, http.StatusUnprocessableEntity, faulty.status)
	assert.Contains(t, faulty.words("#name-fault"), "1 to 64 characters")
	assert.Equal(t, "true", faulty.Find("#name").AttrOr("aria-invalid", ""))
	assert.Equal(t, strings.Repeat("x", 65), faulty.Find("#name").AttrOr("value", ""), "what was typed is kept")
	for _, tt := range []struct{ field, value, fault string }{
		{"scopes", "", "at least one scope"},
		{"ip_allowlist", "192.0.2.0/33", "addresses and networks"},
		{"expires_at", "1000000", "one of the list"},
		{"expires_on", "soon", "a time such as"},
		{"expires_on", "2001-01-01T00:00", "future"},
		{"environment", "prod", "live or test"},
		{"name", "a\r\nSet-Cookie: x=1", "control characters"},
	} {
		fields := map[string]string{"name": "ci", "scopes": "dns:read", "environment": "live", "expires_at": "0", tt.field: tt.value}
		var list []string
		for name, value := range fields {
			if value != "" {
				list = append(list, name, value)
			}
		}
		r := b.post("/dashboard/keys", list...)
		assert.Equal(t, http.StatusUnprocessableEntity, r.status, tt.field)
		assert.Contains(t, r.words("#"+tt.field+"-fault")+r.words("fieldset .fault")+r.words(".field .fault"), tt.fault, tt.field)
	}

	exact := b.follow("/dashboard/keys", "name", "exact", "scopes", "dns:read", "environment", "live", "expires_at", "0",
		"expires_on", "2099-12-31T23:59")
	assert.Contains(t, exact.words("dl"), "2099")

	made := b.post("/dashboard/keys", "name", "ci", "scopes", "dns:read", "scopes", "mail:read", "environment", "test",
		"expires_at", "30", "ip_allowlist", "192.0.2.0/24, 2001:db8::1")
	require.Equal(t, http.StatusSeeOther, made.status)
	at := made.header.Get("Location")
	assert.Empty(t, made.body, "the secret is on the page alone")
	assert.Empty(t, b.send("HEAD", at, nil).body)
	assert.Empty(t, h.as("developer@example.com").get(at).words(".secret"), "another session is not shown the secret")
	assert.Empty(t, b.get("/dashboard/keys").words(".secret"), "another page neither")
	page := b.get(at)
	secret := page.words(".secret code")
	assert.Regexp(t, `^svc_test_[a-z2-7]{36}$`, secret)
	assert.Equal(t, 0, page.Find("form[action$='/revoke'], form[action$='/rotate']").Length(), "first it is saved")
	assert.Contains(t, page.words("main"), `"Authorization: Bearer `+secret+`"`)
	assert.Equal(t, secret, b.get(at).words(".secret code"), "it stays until it is saved")
	saved := b.follow("/dashboard/saved", "page", page.Find("[name=page]").AttrOr("value", ""))
	assert.NotContains(t, saved.body, secret)
	assert.NotContains(t, b.get(at).body, secret)
	key, err := h.store.KeyByHash(t.Context(), sha256Of(secret))
	require.NoError(t, err)
	assert.Equal(t, []metering.Scope{"dns:read", "mail:read"}, key.Scopes)
	assert.Len(t, key.IPAllowlist, 2)
	assert.NotContains(t, page.words("dl"), "Deprecated use")
	_, err = metering.MarkDeprecatedUse(t.Context(), h.store, key.Account, key.ID,
		metering.DeprecatedUse{Endpoint: "POST /certificates/csr/parse", What: "mail:read", At: h.clock()})
	require.NoError(t, err)
	assert.Contains(t, b.get(at).words("dl"), "mail:read of POST /certificates/csr/parse")
	assert.Equal(t, startTime.AddDate(0, 0, 30), *key.ExpiresAt)

	next := b.follow("/dashboard/keys/"+string(key.ID)+"/rotate", "grace", "24")
	second := next.words(".secret code")
	assert.Regexp(t, `^svc_test_`, second)
	assert.NotEqual(t, string(key.ID), keyIn(next))
	old := b.get("/dashboard/keys/" + string(key.ID))
	assert.Contains(t, old.words("dl"), "Works until 2026-11-17 10:30 UTC in 24 hours")
	assert.Equal(t, 0, old.Find("form[action$='/rotate']").Length())
	twice := b.post("/dashboard/keys/"+string(key.ID)+"/rotate", "grace", "24")
	assert.Equal(t, http.StatusUnprocessableEntity, twice.status)
	assert.Contains(t, twice.words("[role=alert]"), "was rotated to")

	unsure := b.post("/dashboard/keys/"+keyIn(next)+"/revoke", "reason", "leak")
	assert.Equal(t, http.StatusUnprocessableEntity, unsure.status)
	assert.Contains(t, unsure.words("#sure-fault"), "must be checked")
	gone := b.follow("/dashboard/keys/"+keyIn(next)+"/revoke", "reason", "leak", "sure", "yes")
	assert.Contains(t, gone.words("dl"), "revoked leak")
	assert.Equal(t, 0, gone.Find("main form").Length())

	assert.NotEmpty(t, b.get("/dashboard/keys/"+keyIn(exact)).words(".secret"))
	h.advance(secretLifetime)
	assert.Empty(t, b.get("/dashboard/keys/"+keyIn(exact)).words(".secret"), "it is not shown for ever")

	h.silent(secret, second)
}

// silent checks that neither the log of the server nor that of acts, nor any record of the store holds secrets.
func (h *fixture) silent(secrets ...string) {
	h.t.Helper()
	acts, err := metering.Acts(h.t.Context(), h.store, metering.ActFilter{})
	require.NoError(h.t, err)
	require.NotEmpty(h.t, acts)
	for _, secret := range secrets {
		require.NotEmpty(h.t, secret)
		assert.NotContains(h.t, h.log.String(), secret)
		for _, a := range acts {
			assert.NotContains(h.t, a.Detail+a.Subject+a.Error+a.Who+a.From, secret)
		}
		for _, kind := range []string{"member_session", resultKind} {
			for r, err := range h.store.Records(h.t.Context(), metering.RecordFilter{Kind: kind}) {
				require.NoError(h.t, err)
				assert.NotContains(h.t, string(r.Body), secret)
			}
		}
	}
}

// Channels of all kinds are created; secrets and targets that are secrets are shown once or never.
func TestChannels(t *testing.T) {
	h := newFixture(t)
	b := h.as("developer@example.com")
	assert.Contains(t, b.get("/dashboard/channels").words(".empty"), "No notifications yet")
	page := b.follow("/dashboard/channels", "name", "ops", "kind", "webhook", "target", "https://hooks.example.com/in?key=verysecret",
		"categories", "billing", "categories", "usage")
	secret := page.words(".secret code")
	assert.Regexp(t, "^whsec_", secret)
	assert.Contains(t, page.words("dl"), "Billing, Usage")
	at := "/dashboard/channels/" + page.words("dl code:contains(chn_)")
	assert.NotContains(t, b.follow("/dashboard/saved", "page", at).body, secret)
	const slack = "https://hooks.slack.com/services/T0/B0/verysecret"
	for kind, fields := range map[string][]string{
		"slack": {"target", slack}, "teams": {"target", "https://example.webhook.office.com/verysecret"},
		"email": {"target", "ops@example.com"}, "telegram": {"target", "-100123", "token", "123456789:AAabcdefghijklmnopqrstuvwxyz012345678"},
	} {
		made := b.post("/dashboard/channels", append([]string{"name", kind, "kind", kind, "categories", "spf"}, fields...)...)
		assert.Equal(t, http.StatusSeeOther, made.status, "%s: %s", kind, made.words("main"))
	}
	list := b.get("/dashboard/channels")
	assert.Equal(t, 6, list.Find("tbody tr").Length(), "five channels, and the question to the address")
	asked, _ := list.Find("a:contains(email)").Attr("href")
	assert.Contains(t, b.get(asked).words("dl"), "unconfirmed")
	assert.Equal(t, http.StatusUnprocessableEntity, b.post(asked+"/confirm", "code", "x").status)
	assert.Equal(t, http.StatusUnprocessableEntity, b.post(asked+"/test").status)
	assert.Contains(t, b.follow(asked+"/enable").words("dl"), "unconfirmed", "it is asked again")
	assert.NotContains(t, list.body, "verysecret")

	for _, tt := range []struct{ name, kind, target, field string }{
		{"", "webhook", "https://hooks.example.com/", "name"},
		{"a\nb", "webhook", "https://hooks.example.com/", "name"},
		{"x", "webhook", "http://hooks.example.com/", "target"},
		{"x", "webhook", "https://hooks.example.com:22/", "target"},
		{"x", "telegram", "-100123", "token"},
	} {
		r := b.post("/dashboard/channels", "name", tt.name, "kind", tt.kind, "target", tt.target, "token", "", "categories", "spf")
		assert.Equal(t, http.StatusUnprocessableEntity, r.status, tt)
		assert.NotEmpty(t, r.words("#"+tt.field+"-fault"), tt)
	}

	none := b.post("/dashboard/channels", "name", "x", "kind", "webhook", "target", "https://hooks.example.com/")
	assert.Contains(t, none.words("fieldset .fault"), "at least one")

	tested := b.follow(at + "/test")
	assert.Contains(t, tested.words("#test-event"), "pending The event is being sent.")
	assert.Contains(t, tested.words("table"), "channel.test")
	assert.Contains(t, tested.words("table"), "0/6")
	link, _ := tested.Find("table a").Attr("href")
	assert.Contains(t, b.get(link).words(".empty"), "Not attempted yet")
	assert.Contains(t, b.follow(at+"/replay", "since", "24").words("dl"), "active")
	replayed := b.follow(link + "/replay")
	assert.Contains(t, replayed.words("dl"), "Replay of")

	rotated := b.follow(at+"/rotate", "overlap", "24")
	assert.Contains(t, rotated.words("dl"), "in 24 hours")
	assert.Regexp(t, "^whsec_", rotated.words(".secret code"))
	assert.Contains(t, b.follow(at+"/disable").words("dl"), "disabled in the dashboard")
	assert.Equal(t, http.StatusUnprocessableEntity, b.post(at+"/test").status)
	assert.Contains(t, b.follow(at+"/enable").words("dl"), "active")
	assert.Equal(t, http.StatusUnprocessableEntity, b.post(at+"/remove").status)
	b.follow(at+"/remove", "sure", "yes")
	assert.Equal(t, http.StatusNotFound, b.send("GET", at, nil).status)
	h.silent(secret, rotated.words(".secret code"), "verysecret", "AAabcdefghijklmnopqrstuvwxyz")
}

// Attempts are shown with the receiver's reply, which may be anything.
func TestDelivery(t *testing.T) {
	h, own, _ := newSeededFixture(t)
	d := notify.Delivery{Attempts: []notify.Attempt{
		{At: startTime, Ended: true, Status: 503, Error: "status 503", Millis: 1200, Response: hostileName},
		{At: startTime.Add(time.Minute)},
	}}
	h.editRecord(own.ID, "delivery", own.ids["/dashboard/deliveries/"], d)
	page := h.owner().get("/dashboard/deliveries/" + own.ids["/dashboard/deliveries/"])
	wellFormed(t, "delivery", page)
	assert.Contains(t, page.words("table"), "503")
	assert.Contains(t, page.words("table pre"), hostileName)
	assert.Contains(t, page.words("table"), "running")
	assert.Contains(t, page.words("dl"), "2/6")
}

// Usage is summed by day, operation and key, with the charges since the last page view.
func TestUsage(t *testing.T) {
	h, own, _ := newSeededFixture(t)
	b := h.owner()
	key, err := h.store.Key(t.Context(), metering.KeyID(own.ids["/dashboard/keys/"]))
	require.NoError(t, err)
	assert.Contains(t, b.get("/dashboard/usage").words("dl"), "Used 1 of 50,000 credits")
	h.charge(own.Account, key, "req_2", "spf/lookup", 1500)
	h.advance(23 * time.Hour)
	h.charge(own.Account, key, "req_3", "spf/lookup", 500)
	b = h.owner()
	page := b.get("/dashboard/usage")
	assert.Contains(t, page.words("dl"), "Used 2,001 of 50,000 credits")
	assert.Contains(t, page.words("dl"), "Projected by month end 3,")
	assert.Contains(t, page.words("details table"), "16 Nov 1,501 2 0 0 17 Nov 500 1 0 0")
	assert.Contains(t, page.words("table"), "spf/lookup 2,000 2")
	assert.Contains(t, page.words("table"), hostileName+" 2,001 3")
	assert.Contains(t, b.get("/dashboard/usage?month=2026-10").words("dl"), "Used 6 of 50,000 credits")
	keys := b.get("/dashboard/keys")
	assert.Equal(t, "2,001 credits in the last 24 hours", keys.Find("svg.chart").AttrOr("aria-label", ""))

	file := b.get("/dashboard/usage.csv?month=2026-11")
	assert.Contains(t, file.header.Get("Content-Disposition"), "usage-2026-11.csv")
	rows, err := csv.NewReader(strings.NewReader(file.body)).ReadAll()
	require.NoError(t, err)
	assert.Equal(t, [][]string{
		{"day", "key", "key_name", "endpoint", "credits", "charges_count"},
		{"2026-11-16", string(key.ID), hostileName, "POST /public/v1/dns/lookup", "1", "1"},
		{"2026-11-16", string(key.ID), hostileName, "POST /public/v1/spf/lookup", "1500", "1"},
		{"2026-11-17", string(key.ID), hostileName, "POST /public/v1/spf/lookup", "500", "1"},
	}, rows)
}

// Activity shows charges of the ledger, and the refusals that the process remembers; both can be searched.
func TestActivity(t *testing.T) {
	h, own, foreign := newSeededFixture(t)
	b := h.owner()
	key := metering.KeyID(own.ids["/dashboard/keys/"])
	observe := func(o httpapi.Observation) {
		h.advance(time.Second)
		o.At = h.clock()
		h.dash.Activity.Observe(o)
	}
	observe(httpapi.Observation{RequestID: "req_refused", Account: own.ID, Key: key, Endpoint: "dkim/lookup", Code: "QUOTA_EXCEEDED", Status: 429})
	observe(httpapi.Observation{RequestID: "req_now" + string(own.ID), Account: own.ID, Key: key, Endpoint: "dns/lookup", Code: "OK", Status: 200, Credits: 1, Duration: 42 * time.Millisecond})
	observe(httpapi.Observation{RequestID: "req_theirs", Account: foreign.ID, Endpoint: "dkim/lookup", Code: "OK"})
	observe(httpapi.Observation{RequestID: "req_nobodys", Endpoint: "dkim/lookup", Code: "INVALID_API_KEY"})
	page := b.get("/dashboard/activity")
	assert.Equal(t, 2, page.Find(".requests li").Length(), "each request once: %s", page.words(".requests"))
	assert.Contains(t, page.words(".requests li:nth-child(1) summary"), "OK 1 credit 42 ms")
	assert.Contains(t, page.words(".requests"), "QUOTA_EXCEEDED")
	assert.NotContains(t, page.body, "req_theirs")
	assert.Contains(t, page.words("main"), "kept in memory by this server only")
	for query, want := range map[string]int{
		"id=req_refused": 1, "operation=dkim": 1, "operation=/dns/lookup": 1, "code=ok": 1, "code=quota_exceeded": 1,
		"key=" + string(key): 2, "key=" + foreign.ids["/dashboard/keys/"]: 0, "id=req_theirs": 0, "month=2026-10": 3,
		"month=2026-10&operation=spf": 3, "before=2026-11-16": 0, "before=2026-11-16T10:30:01Z": 1,
		"before=2026-11-17+00:00": 2, "month=2026-10&id=req_" + string(own.ID) + "1": 1,
	} {
		assert.Equal(t, want, b.get("/dashboard/activity?"+query).Find(".requests li").Length(), query)
	}
	assert.Contains(t, b.get("/dashboard/activity?before=yesterday").words("#before-fault"), "must be a time")
	for range 2 * maxAccountFailures {
		observe(httpapi.Observation{RequestID: "req_many", Account: own.ID, Code: "RATE_LIMITED"})
	}
	list, since := h.dash.Activity.Requests(own.ID)
	assert.Len(t, list, maxAccountFailures+1)
	assert.True(t, since.After(startTime))
	assert.True(t, slices.IsSortedFunc(list, func(a, b httpapi.Observation) int { return b.At.Compare(a.At) }))
	assert.Len(t, b.get("/dashboard/activity").Find(".requests li").Nodes, maxActivityRows)
}

// The owner turns overage on with a budget, and corrects invoices if the server lets owners do so.
func TestBilling(t *testing.T) {
	h, own, _ := newSeededFixture(t, func(c *Config) { c.Seller = "Example Ltd\n1 Main Street" })
	b := h.owner()
	page := b.get("/dashboard/billing")
	assert.Contains(t, page.words("main"), "29.00 EUR per month")
	assert.Contains(t, page.words("main"), "50,000 credits per month")
	assert.Contains(t, page.words("main"), "This month so far")
	for _, bad := range []string{"-1", "1.234", "abc", "1e3", "99999999999999999999"} {
		r := b.post("/dashboard/billing/overage", "overage", "on", "overage_budget_cents", bad)
		assert.Equal(t, http.StatusUnprocessableEntity, r.status, bad)
		assert.NotEmpty(t, r.words("#overage_budget_cents-fault"), bad)
	}
	page = b.follow("/dashboard/billing/overage", "overage", "on", "overage_budget_cents", "25,50")
	assert.Equal(t, "25.50", page.Find("#overage_budget_cents").AttrOr("value", ""))
	account, err := h.store.Account(t.Context(), own.ID)
	require.NoError(t, err)
	assert.True(t, account.OverageEnabled)
	assert.EqualValues(t, 2550, *account.OverageBudgetCents)
	b.follow("/dashboard/billing/overage", "overage_budget_cents", "")

	assert.Contains(t, page.words("main"), "keep going at 1.00 EUR per 1,000 credits")
	assert.Contains(t, page.words("main"), "Estimate for November 2026, based on usage so far.")
	at := "/dashboard/billing/2026-10"
	invoice := b.get(at)
	wellFormed(t, "invoice", invoice)
	assert.Contains(t, invoice.words(".parties"), "From Example Ltd 1 Main Street Billed to "+hostileName)
	assert.Contains(t, invoice.words(".parties"), "Period October 2026")
	assert.Equal(t, 0, invoice.Find(".card .screen form, .card form").Length(), "what is printed has no forms")
	assert.Contains(t, invoice.words("table"), "Total 6 of 50,000 credits used")
	assert.Contains(t, invoice.words(".badge"), "draft")
	h.advance(2 * time.Hour)
	_, err = h.dash.billing(requestAs(h, "owner@example.com")).Finalize(t.Context(), own.ID, "2026-10")
	require.NoError(t, err)
	assert.Equal(t, http.StatusUnprocessableEntity, b.post(at+"/credit", "cents", "1.00").status)
	assert.Equal(t, http.StatusUnprocessableEntity, b.post(at+"/credit", "cents", "1e9", "credit_reason", "x").status)
	tooMuch := b.post(at+"/credit", "cents", "1000.00", "credit_reason", "x")
	assert.Equal(t, http.StatusUnprocessableEntity, tooMuch.status)
	assert.Contains(t, tooMuch.words("[role=alert]"), "cents to be credited")
	credited := b.follow(at+"/credit", "cents", "1.00", "credit_reason", hostileName)
	assert.Contains(t, credited.words("main"), "Credited 1.00 EUR")
	assert.Contains(t, credited.words("main"), hostileName)
	assert.Contains(t, credited.words("main"), "owner@example.com")
	assert.Equal(t, http.StatusUnprocessableEntity, b.post(at+"/void", "reason", "wrong").status)
	void := b.follow(at+"/void", "reason", "wrong", "sure", "yes", "reissue", "yes")
	assert.Contains(t, void.words(".badge"), "void")
	b.get(at + ".2")

	strict := newFixture(t)
	assert.Equal(t, http.StatusNotFound, strict.owner().post(at+"/void", "reason", "x", "sure", "yes").status,
		"elsewhere a customer must not void his own invoices")
}

// Members are added, changed and removed; one owner always stays.
func TestMembers(t *testing.T) {
	h := newFixture(t)
	b := h.owner()
	page := b.follow("/dashboard/members", "email", "Ada@Example.org", "role", "developer")
	assert.Contains(t, page.words("h1"), "ada@example.org")
	assert.Contains(t, page.words(".secret code"), "/dashboard/enter?token=", "adding is inviting")
	at := "/dashboard/members/" + memberID(t, h, "ada@example.org")
	for _, tt := range []struct{ email, role, field string }{
		{"ada@example.org", "viewer", "email"}, {"no", "viewer", "email"}, {"x@example.org", "admin", "role"},
		{"x@example.org\r\nBcc: y@example.org", "viewer", "email"},
	} {
		r := b.post("/dashboard/members", "email", tt.email, "role", tt.role)
		assert.Equal(t, http.StatusUnprocessableEntity, r.status, tt)
		assert.NotEmpty(t, r.words("#"+tt.field+"-fault"), tt)
	}
	assert.Equal(t, http.StatusSeeOther, b.post(at+"/link").status, "one that nobody has seen gives way to the next")
	link := b.follow(at + "/link").words(".secret code")
	assert.Contains(t, link, "https://diag.example.com/dashboard/enter?token=")
	assert.NotContains(t, b.follow("/dashboard/saved", "page", at).body, "enter?token=")
	b.follow(at+"/role", "role", "viewer")
	mine := "/dashboard/members/" + memberID(t, h, "owner@example.com")
	for _, path := range []string{mine + "/role", mine + "/remove"} {
		r := b.post(path, "role", "viewer", "sure", "yes")
		assert.Equal(t, http.StatusUnprocessableEntity, r.status, path)
		assert.Contains(t, r.words("[role=alert]"), "last owner")
	}
	b.follow(at+"/remove", "sure", "yes")
	assert.Equal(t, http.StatusNotFound, b.send("GET", at, nil).status)
	log := b.get("/dashboard/log")
	assert.Contains(t, log.words("table"), "Invited a member")
	assert.Equal(t, log.words("table"), b.get("/dashboard/log?kind=members").words("table"))
	assert.Contains(t, b.get("/dashboard/log?kind=keys").words(".empty"), "No entries match")
	assert.Contains(t, log.words("table"), "last owner")
	h.silent(link[strings.Index(link, "token=")+6:])
}

// An invitation is mailed where the server sends mail, and its link is shown where the mail cannot be sent.
func TestInvitations(t *testing.T) {
	sent, fails := make(chan string, 100), false
	h := newFixture(t, withMail(sent), func(c *Config) {
		send := c.Mail
		c.Mail = func(ctx context.Context, to, subject, text string) error {
			if fails {
				return errors.New("no answer")
			}
			return send(ctx, to, subject, text)
		}
	})
	b := h.owner()
	page := b.follow("/dashboard/members", "email", "ada@example.org", "role", "developer")
	wellFormed(t, "invited", page)
	assert.Contains(t, page.words("main .notice"), "We mailed a sign-in link to ada@example.org.")
	assert.Empty(t, page.words(".secret"))
	mail := <-sent
	assert.True(t, strings.HasPrefix(mail, "ada@example.org\nInvitation to Example & Co\n"), mail)
	assert.Contains(t, mail, "owner@example.com invites you to the account Example & Co, with the role developer.")
	at := mail[strings.Index(mail, "https://"):]
	at = strings.TrimPrefix(at[:strings.IndexByte(at, '\n')], h.dash.PublicURL)
	assert.Contains(t, h.browser().get(at).words("h1"), "ada@example.org")
	list := b.get("/dashboard/members")
	wellFormed(t, "members", list)
	assert.Contains(t, list.words(`tr:contains("ada@example.org")`), "not signed in Send new link")

	one := "/dashboard/members/" + memberID(t, h, "ada@example.org")
	assert.Contains(t, b.follow(one+"/link", "show", "yes").words(".secret code"), "/dashboard/enter?token=")
	b.follow("/dashboard/saved", "page", one)
	fails = true
	unsent := b.follow(one + "/link")
	assert.Contains(t, unsent.words("main .notice"), "could not be sent")
	assert.Contains(t, unsent.words(".secret code"), "/dashboard/enter?token=")
	fails = false
	for range budget.Of(budget.SignInMails).Person {
		b.follow(one + "/link")
	}
	assert.Contains(t, b.follow(one+"/link").words("main .notice"), "could not be sent", "too many mails to one address")
	for i := range budget.Of(budget.SignInMails).Account {
		b.post("/dashboard/members", "email", fmt.Sprintf("m%d@example.org", i), "role", "viewer")
	}
	assert.Less(t, len(sent), int(budget.Of(budget.SignInMails).Account), "mails of an account are bounded")
	assert.Equal(t, 0, h.as("viewer@example.com").get("/dashboard/members").Find("main form").Length())
}

// A new channel is tested at once. Its page shows how the test goes on, and loads itself again until the first attempt
// has ended, but not for ever.
func TestChannelTest(t *testing.T) {
	h := newFixture(t)
	b := h.as("developer@example.com")
	page := b.follow("/dashboard/channels", "name", "ops", "kind", "webhook", "target", "https://hooks.example.com/",
		"categories", "usage", "test", "yes")
	wellFormed(t, "tested", page)
	assert.Regexp(t, "^whsec_", page.words(".secret code"))
	outcome := page.Find("#test-event")
	assert.Contains(t, outcome.Text(), "The event is being sent.")
	refresh := regexp.MustCompile(`<noscript><meta http-equiv="refresh" content="2;url=([^"]*)"></noscript>`)
	next := html.UnescapeString(refresh.FindStringSubmatch(page.body)[1])
	assert.Equal(t, next, outcome.AttrOr("data-poll", ""))
	again := b.get(next)
	assert.Regexp(t, "^whsec_", again.words(".secret code"), "loading again loses nothing")
	at := strings.Replace(next, "poll=1", fmt.Sprintf("poll=%d", maxPolls), 1)
	assert.NotRegexp(t, refresh, b.get(at).body)
	assert.Empty(t, b.get(at).Find("#test-event").AttrOr("data-poll", ""))

	u, err := url.Parse(next)
	require.NoError(t, err)
	id := u.Query().Get("test")
	h.editRecord(h.account.ID, "delivery", id, notify.Delivery{State: notify.RetryScheduled, Attempts: []notify.Attempt{
		{At: startTime, Ended: true, Error: "connection refused"}}})
	failed := b.get(next)
	assert.Contains(t, failed.words("#test-event"), "Not delivered: connection refused.")
	assert.NotRegexp(t, refresh, failed.body)
	h.editRecord(h.account.ID, "delivery", id, notify.Delivery{State: notify.Delivered, Attempts: []notify.Attempt{
		{At: startTime, Ended: true, Status: 204, Millis: 12}}})
	assert.Contains(t, b.get(next).words("#test-event"), "Delivered. The receiver answered with status 204 after 12 ms.")

	other := b.post("/dashboard/channels", "name", "b", "kind", "webhook", "target", "https://hooks.example.com/",
		"categories", "usage").header.Get("Location")
	assert.NotContains(t, other, "test=")
	path, _, _ := strings.Cut(other, "?")
	assert.Equal(t, http.StatusNotFound, b.send("GET", path+"?test="+id, nil).status, "a test of another channel")
	assert.Equal(t, http.StatusNotFound, b.send("GET", path+"?test=x", nil).status)
}

// Requests that no browser makes are answered too: a path with slashes, an invalid body, and an unknown path.
func TestOddRequests(t *testing.T) {
	h := newFixture(t)
	b := h.owner()
	for path, status := range map[string]int{
		"/dashboard/": http.StatusMovedPermanently, "/dashboard//keys": http.StatusMovedPermanently,
		"/dashboard/nothing": http.StatusNotFound, "/dashboard/keys/a/b/c": http.StatusNotFound,
		"/dashboard/enter?token=" + strings.Repeat("x", 5000): http.StatusNotFound,
		"/dashboard/log?before=x":                             http.StatusNotFound,
		"/dashboard/keys?notice=%3Cscript%3E":                 http.StatusOK,
	} {
		r := b.send("GET", path, nil)
		assert.Equal(t, status, r.status, path)
		if status != http.StatusMovedPermanently {
			wellFormed(t, path, r)
		}
	}
	big := b.post("/dashboard/keys", "name", strings.Repeat("x", maxForm))
	assert.Equal(t, http.StatusRequestEntityTooLarge, big.status)
	assert.Equal(t, http.StatusNotFound, b.send("DELETE", "/dashboard/keys", nil).status)
	assert.Contains(t, b.send("GET", "/dashboard/style.css", nil).header.Get("Content-Type"), "text/css")
}
