package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A mounted API is one below a path of another server, which authenticates by a cookie with the ID of a key.
func newMountedAPI(t *testing.T) *api {
	a := newAPI(t, "pack", func(c *Config) {
		c.PublicURL = "/tools"
		c.Authenticate = func(r *http.Request) (metering.KeyID, error) {
			switch session, err := r.Cookie("session"); {
			case err != nil:
				return "", nil
			case session.Value == "broken":
				return "", errors.New("the sessions cannot be read")
			case session.Value == "unavailable":
				return "", metering.ErrUnavailable
			default:
				return metering.KeyID(session.Value), nil
			}
		}
	})
	a.handler = http.StripPrefix("/tools", a.handler)
	return a
}

func (a *api) postMounted(session, path, body string, headers ...string) *reply {
	header := http.Header{"Content-Type": {jsonMedia}}
	if session != "" {
		header.Set("Cookie", "session="+session)
	}
	for i := 0; i < len(headers); i += 2 {
		header.Set(headers[i], headers[i+1])
	}
	return a.do(attempt{"POST", "/tools" + Prefix + path, body, header, "198.51.100.1:4000"})
}

// A program's own authentication takes the place of API keys. All that is said of a key still holds.
func TestAuthenticate(t *testing.T) {
	a := newMountedAPI(t)
	mail, _ := a.newKey(metering.MailRead)
	revoked, _ := a.newKey(metering.DNSRead)
	_, err := a.admin.RevokeKey(t.Context(), revoked.ID, "")
	require.NoError(t, err)
	for _, tt := range []struct {
		name, session, path string
		status              int
		want                string // of the body
	}{
		{"a session", string(a.key.ID), "/text/upper", 200, `"result":"A"`},
		{"no session", "", "/text/upper", 401, "The request is not authenticated."},
		{"a session of no key", "key_none", "/text/upper", 401, "INVALID_API_KEY"},
		{"a revoked key", string(revoked.ID), "/text/upper", 401, "REVOKED_API_KEY"},
		{"a key without the scope", string(mail.ID), "/text/upper", 403, "lacks the scope dns:read"},
		{"a fault of the program", "broken", "/text/upper", 500, "internal error"},
		{"a store that is unavailable", "unavailable", "/text/upper", 503, "cannot record anything now"},
		{"a path close to one", string(a.key.ID), "/text/uper", 404, "Did you mean POST /tools/public/v1/text/upper?"},
	} {
		r := a.postMounted(tt.session, tt.path, `{"text":"a"}`, "Authorization", "Bearer "+a.secret)
		assert.Equal(t, tt.status, r.Code, tt.name)
		assert.Contains(t, r.Body.String(), tt.want, tt.name)
		assert.Empty(t, r.header("WWW-Authenticate"), tt.name)
		if tt.status != 200 {
			r.problem()
		}
	}
	assert.EqualValues(t, 1, a.used())
	assert.Equal(t, a.key.ID, a.seen[0].Key)
	assert.NotContains(t, a.log.String(), a.secret)
	for range 60 { // the plan's requests a minute
		a.postMounted(string(a.key.ID), "/text/upper", `{"text":"a"}`)
	}
	r := a.postMounted(string(a.key.ID), "/text/upper", `{"text":"a"}`)
	assert.Equal(t, 429, r.Code)
	assert.Equal(t, "key", r.problem().Details.Scope)
}

// Replies that are kept under a caller's secret are not kept without one: a repetition is refused, not run again.
func TestAuthenticateKeepsNoSecrets(t *testing.T) {
	a := newMountedAPI(t)
	for _, tt := range []struct {
		path   string
		status int // of the repetition
	}{{"/text/password/generate", 409}, {"/text/upper", 200}} {
		body := map[int]string{409: `{}`, 200: `{"text":"a"}`}[tt.status]
		idempotency := []string{"Idempotency-Key", "once-and-for-all" + strings.ReplaceAll(tt.path, "/", "-")}
		first := a.postMounted(string(a.key.ID), tt.path, body, idempotency...)
		require.Equal(t, 200, first.Code, first.Body)
		again := a.postMounted(string(a.key.ID), tt.path, body, idempotency...)
		require.Equal(t, tt.status, again.Code, again.Body)
	}
	assert.EqualValues(t, 2, a.used())
}

// Requests that are forwarded for a client have its credentials.
func TestAuthenticateForwarded(t *testing.T) {
	a := newAPI(t, "pack", func(c *Config) {
		c.Authenticate = func(r *http.Request) (metering.KeyID, error) {
			session, err := r.Cookie("session")
			if err != nil {
				return "", nil
			}
			return metering.KeyID(session.Value), nil
		}
	})
	served := &API{a.handler.(*server)}
	upper, ok := Endpoints().ByName("text/upper")
	require.True(t, ok)
	client := httptest.NewRequest("POST", "/mcp", nil)
	client.AddCookie(&http.Cookie{Name: "session", Value: string(a.key.ID)})
	answer, err := served.Forward(t.Context(), client, upper, []byte(`{"text":"a"}`))
	require.NoError(t, err)
	assert.EqualValues(t, 1, answer.Credits)
	_, err = served.Forward(t.Context(), httptest.NewRequest("POST", "/mcp", nil), upper, []byte(`{"text":"a"}`))
	require.ErrorContains(t, err, "The request is not authenticated.")
}

// The document of a mounted API names the place of the API, and no API keys.
func TestMountedDocument(t *testing.T) {
	a := newMountedAPI(t)
	r := a.do(attempt{"GET", "/tools" + openapiPath, "", nil, "198.51.100.1:4"})
	require.Equal(t, 200, r.Code)
	d, whole := documentFrom(t, r.Body.Bytes()), documentFrom(t, Endpoints().OpenAPI())
	assert.Equal(t, "/tools", d.root["servers"].([]any)[0].(map[string]any)["url"])
	assert.Equal(t, whole.root["paths"], d.root["paths"])
	text, err := json.Marshal(d.root)
	require.NoError(t, err)
	for _, word := range []string{"svc_", "bearer", "apiKey", "WWW-Authenticate"} {
		assert.NotContains(t, string(text), word)
	}
	upper, ok := Endpoints().ByName("text/upper")
	require.True(t, ok)
	validate(t, d.reply(t, upper), a.postMounted(string(a.key.ID), "/text/upper", `{"text":"a"}`).Body.Bytes())
}
