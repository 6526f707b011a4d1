package dashboard

import (
	"encoding/xml"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/metering/budget"
	"github.com/diagkit/diagkit/metering/member"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// badge requests a badge, which must be an image without anything that loads or runs.
func (h *fixture) badge(path string, status int) string {
	h.t.Helper()
	p := h.browser().send(http.MethodGet, path, nil)
	require.Equal(h.t, status, p.status, "%s: %s", path, p.body)
	require.Equal(h.t, "image/svg+xml", p.header.Get("Content-Type"))
	require.Contains(h.t, p.header.Get("Content-Security-Policy"), "default-src 'none'; sandbox")
	require.Equal(h.t, map[int]string{200: "public, max-age=300", 404: "no-store"}[status], p.header.Get("Cache-Control"))
	require.NoError(h.t, xml.Unmarshal([]byte(p.body), new(struct{})))
	require.NotRegexp(h.t, `(?i)<script|<style|href|\son\w+=|url\(`, p.body)
	return p.body
}

// A shared check of a domain has a badge, whose markup the pages of the share offer. It ends with the share.
func TestBadge(t *testing.T) {
	h := newFixture(t, withDemoWorld(t), withWatches)
	b := h.owner()
	checked := b.get(b.submit(b.get("/dashboard/check?domain=harbour.example").Find("form.check")).header.Get("Location"))
	form := checked.Find(`main form[action="/dashboard/shares"]`).First()
	notice := b.get(b.submit(form).header.Get("Location"))
	shared := strings.TrimPrefix(notice.Find("#shared a").AttrOr("href", ""), h.dash.PublicURL)
	require.Contains(t, notice.words("#shared"), "[![State of harbour.example](https://diag.example.com/badge/harbour.example.svg?share=")
	page := h.browser().get(shared)
	image := page.Find("main img").AttrOr("src", "")
	require.Equal(t, "/badge/harbour.example.svg?share="+strings.TrimPrefix(shared, "/r/"), image)
	require.Contains(t, page.words("main"), `<a href="https://diag.example.com`+shared+`"><img src="https://diag.example.com`+image)
	drawn := h.badge(image, http.StatusOK)
	require.Contains(t, drawn, `role="img" aria-label="harbour.example: 1 critical · 2026-11-16"><title>`)
	require.Equal(t, drawn, h.badge(strings.Replace(image, "harbour.example", "HARBOUR.example", 1), http.StatusOK))

	// All others look alike.
	missing := h.badge("/badge/harbour.example.svg", http.StatusNotFound)
	require.Contains(t, missing, "not shared")
	token := strings.TrimPrefix(shared, "/r/")
	for _, path := range []string{
		"/badge/good.example.svg?share=" + token, "/badge/harbour.example?share=" + token, "/badge/.svg?share=" + token,
		"/badge/harbour.example.svg?share=" + member.NewToken(), "/badge/harbour.example.svg?share=x",
		"/badge/harbour.example.png?share=" + token, "/badge/%3Cscript%3E.svg?share=" + token,
	} {
		require.Equal(t, missing, h.badge(path, http.StatusNotFound), path)
	}
	require.Equal(t, http.StatusSeeOther, b.submit(b.get("/dashboard/shares").Find("main table form")).status)
	require.Equal(t, missing, h.badge(image, http.StatusNotFound), "it was revoked")
}

// Results that are not of a whole domain have no badge.
func TestBadgeOfDomainsAlone(t *testing.T) {
	h := newFixture(t, withDemoWorld(t))
	b := h.owner()
	shared := b.share(b.run(b.get("/dashboard/playground/spf/lookup?f.domain=good.example")))
	require.Zero(t, h.browser().get(shared).Find("main img").Length())
	h.badge("/badge/good.example.svg?share="+strings.TrimPrefix(shared, "/r/"), http.StatusNotFound)
}

// A network may request a number of badges that are not there; those that are have no bound.
func TestBadgeGuesses(t *testing.T) {
	h := newFixture(t)
	token := member.NewToken()
	require.NoError(t, h.dash.storeShare(t.Context(), h.account.ID, token,
		&share{Domain: "example.com", View: &view.View{Subject: "example.com"}, At: startTime}))
	for range 2 * budget.Of(budget.Visits).Network {
		require.Contains(t, h.badge("/badge/example.com.svg?share="+token, http.StatusOK), "no faults · 2026-11-16")
	}
	for range budget.Of(budget.Visits).Network {
		h.badge("/badge/example.com.svg?share=x", http.StatusNotFound)
	}
	refused := h.browser().send(http.MethodGet, "/badge/example.com.svg?share="+token, nil)
	require.Equal(t, http.StatusTooManyRequests, refused.status)
	require.NotEmpty(t, refused.header.Get("Retry-After"))
	h.advance(time.Minute)
	h.badge("/badge/example.com.svg?share="+token, http.StatusOK)
}

// The state is that of the gravest findings.
func TestBadgeState(t *testing.T) {
	for want, severities := range map[string][]diag.Severity{
		"2 critical": {diag.Critical, diag.Critical, diag.Error}, "1 error": {diag.Error, diag.Warning},
		"3 warnings": {diag.Warning, diag.Warning, diag.Warning}, "no faults": nil,
	} {
		v := &view.View{}
		for _, s := range severities {
			v.Findings = append(v.Findings, diag.Finding{Severity: s})
		}
		assert.Equal(t, want, badgeState(v, v.Mark()))
	}
	assert.Equal(t, "not known", badgeState(&view.View{}, (&view.View{Partial: true}).Mark()))
}
