package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The check is asked over HTTP like those of the API, and answered, refused and charged like them.
func TestOverHTTP(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone("example.com. MX 10 mx1.provider.example.\nexample.com. MX 20 mx.elsewhere.example.")
	world.Silence("silent.example")
	store := memory.New(memory.Config{})
	mail, key, err := newAPI(t.Context(), world.Env(), store, metering.MailRead)
	require.NoError(t, err)
	web, other, err := newAPI(t.Context(), world.Env(), store, metering.WebRead)
	require.NoError(t, err)
	for _, tt := range []struct {
		name, body string
		handler    http.Handler
		key        metering.Secret
		status     int
		want       string // of the reply
		charged    string
	}{
		{"a fault of the domain", `{"domain":"example.com","provider":"provider.example"}`, mail, key,
			200, `"code":"acme.mail_hosts.foreign`, "3"},
		{"a fault of the request", `{"domain":"example.com","max_hosts":21,"more":1}`, mail, key,
			400, `"max_hosts: must be at most 20 (and 2 more)"`, ""},
		{"another scope", `{"domain":"example.com","provider":"provider.example"}`, web, other,
			403, `"lacks the scope mail:read"`, ""},
		{"silence of the DNS", `{"domain":"silent.example","provider":"provider.example"}`, mail, key,
			502, "There was no usable answer from", ""},
	} {
		r := httptest.NewRequest(http.MethodPost, "/public/v1/acme/mail-hosts", strings.NewReader(tt.body))
		r.Header.Set("Authorization", "Bearer "+tt.key.Reveal())
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		tt.handler.ServeHTTP(w, r)
		assert.Equal(t, tt.status, w.Code, tt.name)
		assert.Contains(t, w.Body.String(), strings.Trim(tt.want, `"`), tt.name)
		assert.Equal(t, tt.charged, strings.Join(w.Header()["X-Credits-Consumed"], ""), tt.name)
	}
	accounts, err := store.Accounts(t.Context())
	require.NoError(t, err)
	balance, err := store.Balance(t.Context(), accounts[0].ID, metering.PeriodOf(time.Now()))
	require.NoError(t, err)
	assert.EqualValues(t, 3, balance.Used, "what failed costs nothing")

	w := httptest.NewRecorder()
	mail.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/public/v1/openapi.json", nil))
	var document struct {
		Paths map[string]map[string]struct {
			Credits int64  `json:"x-credits"`
			Scope   string `json:"x-scope"`
		}
	}
	body, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(body, &document))
	row := document.Paths["/public/v1/acme/mail-hosts"]["post"]
	assert.EqualValues(t, 3, row.Credits)
	assert.Equal(t, "mail:read", row.Scope)
}

// The rules have been seen both ways.
func TestRules(t *testing.T) {
	var seen diagtest.Seen
	for zone, codes := range map[string]string{
		"example.com. MX 10 mx1.provider.example.":                                       "",
		"example.com. A 192.0.2.1":                                                       "acme.mail_hosts.missing",
		"example.com. MX 10 mx.elsewhere.example.":                                       "acme.mail_hosts.foreign",
		"example.com. MX 10 a.provider.example.\nexample.com. MX 10 b.provider.example.": "acme.mail_hosts.many",
	} {
		world := diagtest.NewWorld(t)
		world.Zone(zone)
		var r request
		const body = `{"domain":"example.com","provider":"provider.example","max_hosts":1}`
		require.NoError(t, json.Unmarshal([]byte(body), &r))
		got, err := check(t.Context(), world.Env(), r)
		require.NoError(t, err)
		var list []string
		for _, code := range seen.Add(got.Verdict) {
			list = append(list, string(code))
		}
		assert.Equal(t, codes, strings.Join(list, " "), zone)
	}
	diagtest.CoverRules(t, rules, seen)
}
