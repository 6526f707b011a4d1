package dashboard

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/httpapi"
	hostedmemory "github.com/diagkit/diagkit/mailauth/hostedspf/memory"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// withDemoWorld is a change of a fixture: its checks see the Internet of the demo, and it has hosted SPF profiles.
func withDemoWorld(t *testing.T) func(*Config) {
	world, err := internet.New(startTime)
	require.NoError(t, err)
	t.Cleanup(world.Close)
	return func(c *Config) {
		c.Env = world.Env()
		c.HostedSPF = hostedmemory.New(hostedmemory.Config{Clock: c.Clock})
	}
}

// values returns what a browser sends for an untouched form.
func values(form *goquery.Selection) url.Values {
	sent := url.Values{}
	form.Find("input, textarea, select").Each(func(_ int, s *goquery.Selection) {
		name, value := s.AttrOr("name", ""), s.AttrOr("value", "")
		_, checked := s.Attr("checked")
		switch kind := s.AttrOr("type", ""); {
		case name == "", kind == "file", kind == "checkbox" && !checked:
			return
		case goquery.NodeName(s) == "textarea":
			value = strings.ReplaceAll(s.Text(), "\n", "\r\n")
		case goquery.NodeName(s) == "select":
			chosen := s.Find("option[selected]")
			if chosen.Length() == 0 {
				chosen = s.Find("option").First()
			}
			value = chosen.AttrOr("value", chosen.Text())
		}
		sent.Add(name, value)
	})
	return sent
}

// submit sends a form as a browser does. Fields are names and values that were typed instead.
func (b *browser) submit(form *goquery.Selection, fields ...string) *reply {
	b.t.Helper()
	require.Equal(b.t, 1, form.Length())
	sent := values(form)
	for i := 0; i < len(fields); i += 2 {
		sent.Set(fields[i], fields[i+1])
	}
	if form.AttrOr("enctype", "") == "" {
		return b.send(http.MethodPost, form.AttrOr("action", ""), sent)
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, list := range sent {
		for _, value := range list {
			require.NoError(b.t, w.WriteField(name, value))
		}
	}
	require.NoError(b.t, w.Close())
	return b.upload(form.AttrOr("action", ""), w.FormDataContentType(), &body)
}

func (b *browser) upload(path, media string, body *bytes.Buffer) *reply {
	r := httptest.NewRequest(http.MethodPost, "https://diag.example.com"+path, body)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Content-Type", media)
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	return b.do(r)
}

// run sends the form of an operation's page, and shows the page to which it leads.
func (b *browser) run(page *reply, fields ...string) *reply {
	b.t.Helper()
	p := b.submit(page.Find(`main form[action^="/dashboard/playground/"]`), fields...)
	require.Equal(b.t, http.StatusSeeOther, p.status, p.words("main"))
	return b.get(p.header.Get("Location"))
}

// The faults of a field are shown next to it, and what was typed is kept.
func TestPlaygroundFaults(t *testing.T) {
	h := newFixture(t, withDemoWorld(t))
	b := h.owner()
	page := b.run(b.get("/dashboard/playground/text/stats"), "f.text", "a b", "f.top", "many", "f.words_per_minute", "0")
	assert.Equal(t, "many", page.Find(`[id="f.top"]`).AttrOr("value", ""))
	assert.Equal(t, "true", page.Find(`[id="f.top"]`).AttrOr("aria-invalid", ""))
	assert.NotEmpty(t, page.words(`[id="f.top-fault"]`))
	assert.NotEmpty(t, page.words(`[id="f.words_per_minute-fault"]`))
	assert.Empty(t, page.words(`[id="f.text-fault"]`))
	assert.Contains(t, page.words(".notice.bad"), "Nothing was charged")
	wellFormed(t, "with faults", page)

	none := b.run(b.get("/dashboard/playground/text/hash"))
	assert.NotEmpty(t, none.words(".fault")+none.words(".notice.bad p+p"))

	key, err := h.admin.ServiceKey(t.Context(), h.account.ID, actor)
	require.NoError(t, err)
	_, err = h.admin.RevokeKey(t.Context(), key.ID, metering.RevokedManual)
	require.NoError(t, err)
	assert.Contains(t, b.run(b.get("/dashboard/playground/text/hash?f.text=x")).words(".notice.bad"), "was revoked")
}

// A file is sent as it is, a text of several lines with the line ends that it had.
func TestPlaygroundFiles(t *testing.T) {
	h := newFixture(t, withDemoWorld(t))
	b := h.owner()
	hash := "64ec88ca00b268e5ba1a35678a1b5316d212f4f366b2477232534a8aeca37f3c" // of Hello world
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	require.NoError(t, w.WriteField("token", member.NewToken()))
	file, err := w.CreateFormFile("f.data_base64", "hello\".txt")
	require.NoError(t, err)
	_, err = file.Write([]byte("Hello world"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	sent := b.upload("/dashboard/playground/text/hash", w.FormDataContentType(), &body)
	require.Equal(t, http.StatusSeeOther, sent.status, sent.words("main"))
	assert.Contains(t, b.get(sent.header.Get("Location")).words("#result"), hash)

	page := b.get("/dashboard/playground/text/stats")
	page = b.run(page, "f.text", "one\r\n\ntwo")
	assert.Contains(t, page.words("#result"), `-d '{"text":"one\n\ntwo"}'`)
}

// A form that is sent twice runs once, and a token of strangers opens nothing.
func TestOnce(t *testing.T) {
	h := newFixture(t, withDemoWorld(t))
	b := h.owner()
	page := b.get("/dashboard/playground/text/lower?example")
	form := page.Find(`main form[action^="/dashboard/playground/"]`)
	first, second := b.submit(form), b.submit(form)
	at := first.header.Get("Location")
	require.Equal(t, at, second.header.Get("Location"))
	balance, err := h.store.Balance(t.Context(), h.account.ID, metering.PeriodOf(h.clock()))
	require.NoError(t, err)
	require.Equal(t, int64(1), balance.Used)
	assert.Equal(t, "no-referrer", b.get(at).header.Get("Referrer-Policy"))
	assert.Contains(t, h.as("viewer@example.com").get(at).words("main"), "straße", "members share their results")

	strange := h.as("owner@example.net")
	download := b.get(at).Find("#result a[download]").AttrOr("href", "")
	for _, path := range []string{at, download, "/dashboard/playground/text/upper" + at[strings.Index(at, "?"):],
		"/dashboard/playground/text/nothing", "/dashboard/results/x"} {
		assert.Equal(t, http.StatusNotFound, strange.send(http.MethodGet, path, nil).status, path)
	}
	assert.Equal(t, http.StatusNotFound, b.post("/dashboard/playground/text/lower", "token", "x", "f.text", "X").status)
	h.advance(resultLifetime + time.Second)
	b = h.owner()
	assert.Equal(t, http.StatusNotFound, b.send(http.MethodGet, at, nil).status)
	b.run(page, "token", member.NewToken())
	n := 0
	for range h.store.Records(t.Context(), metering.RecordFilter{Kind: resultKind}) {
		n++
	}
	assert.Equal(t, 1, n, "who runs something removes what is over")
}

// A run in progress is shown as such, and the page reloads.
func TestRunning(t *testing.T) {
	h := newFixture(t)
	token := member.NewToken()
	first, err := h.dash.claimToken(t.Context(), h.account.ID, token)
	require.NoError(t, err)
	require.True(t, first)
	page := h.owner().get("/dashboard/playground/text/lower?result=" + token)
	assert.Contains(t, page.words("main"), "The check is running")
	assert.Equal(t, "2", page.header.Get("Refresh"))
	h.advance(maxRunTime)
	assert.Equal(t, http.StatusNotFound, h.owner().send(http.MethodGet, "/dashboard/playground/text/lower?result="+token, nil).status)
}

// Viewers see the forms, and may spend nothing.
func TestPlaygroundViewer(t *testing.T) {
	h := newFixture(t, withDemoWorld(t))
	b := h.as("viewer@example.com")
	for _, ep := range httpapi.Endpoints() {
		op := operation{ep}
		page := b.get(op.Page() + "?example")
		require.Equal(t, 0, page.Find(`main button`).Length(), op.Name())
		require.Equal(t, http.StatusForbidden, b.submit(page.Find(`main form`)).status, op.Name())
	}
	_, err := h.store.Record(t.Context(), h.account.ID, "acting", actor)
	require.ErrorIs(t, err, metering.ErrNotFound)
}

// For every form, the request is a JSON object, and the form made of that has the same values.
func FuzzFields(f *testing.F) {
	f.Add("text/stats", "f.text=a&f.top=3&f.words_per_minute=%00")
	f.Add("text/hash", "f.algorithms=md5&f.algorithms=sha1&f.data_base64=a+b&f.hmac_key=%22")
	f.Add("resolve", "f.qname=%FF&f.dnssec=on")
	f.Add("spf/hosted/{id}", "f.id=..%2f..")
	f.Fuzz(func(t *testing.T, name, query string) {
		ep, ok := httpapi.Endpoints().ByName(name)
		form, err := url.ParseQuery(query)
		if !ok || err != nil {
			return
		}
		op := operation{ep}
		fields, err := op.fields(&http.Request{PostForm: form})
		require.NoError(t, err)
		require.True(t, json.Valid(fields), "%s", fields)
		inputs, _ := op.inputs(fields, []httpapi.Violation{{Field: query, Message: "x"}})
		require.Len(t, inputs, len(op.Params()))
		again := url.Values{}
		for _, i := range inputs {
			if i.Widget() == "switch" && !i.Checked() {
				continue
			}
			again.Set(i.Field(), i.Value)
			if i.Checked() && i.Widget() == "switch" {
				again.Set(i.Field(), "true")
			}
		}
		twice, err := op.fields(&http.Request{PostForm: again})
		require.NoError(t, err)
		require.JSONEq(t, string(fields), string(twice))
	})
}

// Only what is a token opens anything, and each spelling opens something else.
func FuzzToken(f *testing.F) {
	f.Add(member.NewToken())
	f.Add("")
	f.Add(strings.Repeat("A", 42) + "B")
	f.Fuzz(func(t *testing.T, text string) {
		id, ok := tokenID(text)
		if ok {
			bits, err := base64.RawURLEncoding.DecodeString(text)
			require.NoError(t, err)
			require.Equal(t, text, base64.RawURLEncoding.EncodeToString(bits))
		}
		require.Equal(t, ok, len(id) == 64)
	})
}

// Operations of one's own are in the playground: form, faults, a charged run, its answer and the share.
func TestOwnOperation(t *testing.T) {
	type request struct {
		Domain diag.Domain `json:"domain" example:"example.com"`
		Ports  []int       `json:"ports,omitempty" doc:"where it listens" min:"1"`
	}
	type report struct {
		diag.Verdict
		Domain diag.Domain `json:"domain"`
	}
	check := func(r request) (*report, error) {
		return &report{diag.Verdict{State: diag.Valid, Headline: "All hosts are allowed"}, r.Domain}, nil
	}
	own := httpapi.Endpoint{Method: "POST", Path: "/acme/hosts", Scope: metering.MailRead, Credits: 7,
		Purpose: "hosts that our policy allows", Operation: httpapi.Pure(check)}
	h := newFixture(t, func(c *Config) {
		gate, err := metering.NewGate(t.Context(), metering.GateConfig{Store: c.Store, Clock: c.Clock})
		require.NoError(t, err)
		t.Cleanup(func() { gate.Close() })
		c.API = httpapi.New(httpapi.Config{Gate: gate, Clock: c.Clock, IPRate: -1, Endpoints: []httpapi.Endpoint{own}})
	})
	b := h.owner()
	const at = "/dashboard/playground/acme/hosts"
	assert.Equal(t, 1, b.get("/dashboard/playground").Find(`a[href="`+at+`"]`).Length())
	form := b.get(at + "?example")
	assert.Equal(t, "example.com", form.Find(`[id="f.domain"]`).AttrOr("value", ""))
	assert.Equal(t, "Where it listens; at least 1; one on each line.", form.words(`[id="f.ports-hint"]`))
	assert.Empty(t, form.words(`[id="f.domain-hint"]`), "the field has no description")
	wellFormed(t, "of one's own", form)
	assert.NotEmpty(t, b.run(form, "f.domain", "exa mple").words(`[id="f.domain-fault"]`))
	require.Zero(t, h.used())

	answer := b.run(b.get(at + "?example"))
	assert.Contains(t, answer.words("#result"), "All hosts are allowed")
	assert.Contains(t, answer.words(".samples"), "Python")
	assert.NotContains(t, answer.words(".samples"), "Library", "no package has the function")
	assert.EqualValues(t, 7, h.used())
	assert.Contains(t, b.get(b.share(answer)).words("main"), "Hosts that our policy allows.")
}
