package dashboard

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/metering/member"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// share makes a link to the result that a page shows, and returns its path.
func (b *browser) share(page *reply) string {
	b.t.Helper()
	p := b.submit(page.Find(`main form[action="/dashboard/shares"]`).First())
	require.Equal(b.t, http.StatusSeeOther, p.status, p.words("main"))
	result := b.get(p.header.Get("Location"))
	require.NotEmpty(b.t, result.words("#shared"))
	require.Equal(b.t, page.Find("h1").Text(), result.Find("h1").Text(), "the result stays on the page")
	return strings.TrimPrefix(result.Find("#shared a").AttrOr("href", ""), b.dash.PublicURL)
}

// A link ends when it is withdrawn, and after 30 days; strangers can do nothing with it.
func TestShareEnds(t *testing.T) {
	h := newFixture(t, withDemoWorld(t))
	b := h.owner()
	result := b.run(b.get("/dashboard/playground/text/lower?example"))
	form := result.Find(`main form[action="/dashboard/shares"]`)
	first, second := b.share(result), b.submit(form)
	assert.Contains(t, second.header.Get("Location"), strings.TrimPrefix(first, "/r/"), "a form that is sent twice makes one link")
	list := b.get("/dashboard/shares")
	withdraw := list.Find("main table form")
	require.Equal(t, 1, withdraw.Length())
	require.NotContains(t, list.body, strings.TrimPrefix(first, "/r/"))
	require.Equal(t, 0, h.as("viewer@example.com").get("/dashboard/shares").Find("main form").Length())

	strange := h.as("owner@example.net")
	require.Equal(t, 0, strange.get("/dashboard/shares").Find("main table").Length())
	require.Equal(t, http.StatusNotFound, strange.submit(withdraw).status)
	require.Equal(t, http.StatusNotFound, strange.submit(form).status)
	require.Equal(t, http.StatusForbidden, h.as("viewer@example.com").submit(withdraw).status)
	require.Equal(t, http.StatusForbidden, h.as("viewer@example.com").submit(form).status)
	strange.get(first)

	require.Equal(t, http.StatusSeeOther, b.submit(withdraw).status)
	gone := strange.send(http.MethodGet, first, nil)
	require.Equal(t, http.StatusGone, gone.status)
	require.NotContains(t, gone.body, "straße")
	require.Contains(t, b.get("/dashboard/shares").words("main"), "revoked")

	later := b.share(b.run(b.get("/dashboard/playground/text/upper?example")))
	h.advance(shareLifetime - time.Second)
	strange.get(later)
	h.advance(time.Second)
	require.Equal(t, http.StatusGone, strange.send(http.MethodGet, later, nil).status)
	h.advance(shareLifetime + time.Second)
	require.NoError(t, h.dash.storeShare(t.Context(), h.other.ID, member.NewToken(), &share{View: &view.View{}}))
	for _, path := range []string{later, "/r/" + member.NewToken(), "/r/x", "/r/" + strings.Repeat("A", 43)} {
		require.Equal(t, http.StatusNotFound, strange.send(http.MethodGet, path, nil).status, path)
	}
}

// forged is text that strangers write into records and subjects.
const forged = "<script>alert(1)</script>\"'\u202e\x1b[31m\x00"

// Strangers' text is escaped in every page, without control characters.
func TestShareHostile(t *testing.T) {
	h := newFixture(t)
	v := &view.View{Subject: forged, Headline: forged, Record: forged,
		Facts: []view.Fact{{Label: forged, Value: forged, Code: forged}},
		Steps: []view.Step{{Code: forged, Text: forged, Name: forged, Type: forged, Value: forged}},
		Findings: []diag.Finding{{Code: forged, Title: forged, Detail: forged, Advice: forged, Reference: forged,
			Severity: diag.Error}}}
	token, kept := member.NewToken(), member.NewToken()
	require.NoError(t, h.dash.storeShare(t.Context(), h.account.ID, token, &share{Title: "spf/lookup", View: v}))
	reply, err := json.Marshal(map[string]string{"result": forged})
	require.NoError(t, err)
	_, err = h.dash.claimToken(t.Context(), h.account.ID, kept)
	require.NoError(t, err)
	require.NoError(t, h.dash.storeRun(t.Context(), h.account.ID, kept, &run{Operation: "text/lower", RequestID: "req_x",
		Fields: bytes.ReplaceAll(reply, []byte("result"), []byte("text")), Reply: reply, Media: "application/json"}))
	for _, path := range []string{"/r/" + token, "/dashboard/shares", "/dashboard/playground/text/lower?result=" + kept,
		"/dashboard/playground/text/lower?f.text=%3Cscript%3E%E2%80%AE"} {
		page := h.owner().get(path)
		require.Equal(t, 0, page.Find(`script:not([src="/dashboard/script.js"])`).Length(), path)
		page.Find("textarea").Remove() // which hold the input
		shown, err := page.Html()
		require.NoError(t, err)
		for _, obeyed := range []string{"\x1b", "\x00"} {
			require.NotContains(t, shown, obeyed, path)
		}
		if !strings.Contains(path, "f.text") { // where it is the value of a field
			require.NotContains(t, shown, "\u202e", path)
		}
	}
}

// Each recipient sees only what he can fix.
func TestFixesFor(t *testing.T) {
	v := &view.View{Subject: "example.com", Facts: []view.Fact{{Label: "a", Value: "b"}}, Record: "v=spf1",
		Findings: []diag.Finding{{Code: "tls.certificate.expired"}, {Code: "spf.all.pass"}, {Code: "smtp.mx.literal"},
			{Code: "smtp.relay.open"}},
		Better: []diag.Finding{{Code: "spf.other"}},
		Steps: []view.Step{{Code: "spf.all.pass", Name: "example.com.", Type: "TXT", Value: "v=spf1 -all"},
			{Code: "tls.certificate.expired", Text: "Renew"}, {Code: "reverse.ptr.missing", Name: "x.", Type: "PTR", Value: "y."}}}
	codes := func(v *view.View) (list []string) {
		for _, f := range v.Findings {
			list = append(list, string(f.Code))
		}
		for _, s := range v.Steps {
			list = append(list, s.Value+s.Text)
		}
		return list
	}
	dns, host := fixesFor(v, recipientDNS), fixesFor(v, recipientHost)
	assert.Equal(t, []string{"spf.all.pass", "smtp.mx.literal", "v=spf1 -all", "y."}, codes(dns))
	assert.Equal(t, []string{"tls.certificate.expired", "smtp.relay.open", "Renew"}, codes(host))
	assert.Empty(t, dns.Facts)
	assert.Empty(t, dns.Better)
	assert.Nil(t, fixesFor(&view.View{}, recipientDNS))
	assert.Nil(t, fixesFor(v, "anybody"))
}
