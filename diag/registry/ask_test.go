package registry

import (
	"net/http"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// respond answers every request with a status, a header and a body.
func respond(status int, retryAfter, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(status)
		w.Write([]byte(body))
	}
}

func TestAskRDAP(t *testing.T) {
	tests := []struct {
		name    string
		handler http.HandlerFunc
		want    outcome
		reason  string
	}{
		{"found", respond(200, "", `{"objectClassName": "domain", "handle": "x"}`), found, ""},
		{"without a class", respond(200, "", `{"ldhName": "example.com"}`), found, ""},
		{"not found", respond(404, "", `{"errorCode": 404}`), absent, ""},
		{"not found in the body", respond(200, "", `{"errorCode": "404"}`), absent, ""},
		{"too many in the body", respond(200, "", `{"errorCode": 429}`), limited, "it refused with status 429"},
		{"too many", respond(429, "60", ``), limited, "it refused with status 429, to be asked again after 60 seconds"},
		{"too many until", respond(429, "Fri, 02 Jan 2026 00:00:00 GMT", ``), limited,
			"it refused with status 429, to be asked again after Fri, 02 Jan 2026 00:00:00 GMT"},
		{"forbidden", respond(403, "", ``), limited, "it refused with status 403"},
		{"busy", respond(503, "5", ``), limited, "it refused with status 503, to be asked again after 5 seconds"},
		{"unavailable", respond(503, "", ``), unreadable, "it answered with status 503"},
		{"other error", respond(200, "", `{"errorCode": 500}`), unreadable, "it answered with the error 500"},
		{"other class", respond(200, "", `{"objectClassName": "entity", "handle": "x"}`), unreadable,
			"its answer is about something else"},
		{"nothing", respond(200, "", `{}`), unreadable, "its answer says nothing"},
		{"no JSON", respond(200, "", `<html>`), unreadable, "its answer is not JSON"},
		{"too long", respond(200, "", string(make([]byte, maxAnswer+1))), unreadable, "its answer is too long"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.HTTPS("rdap.example", tt.handler)
			a, err := askRDAP(t.Context(), w.Env(), []string{"https://rdap.example/"}, "domain/example.com", classDomain)
			require.NoError(t, err)
			require.Equal(t, tt.want, a.outcome)
			require.Equal(t, tt.reason, a.reason)
			require.Equal(t, tt.want == found, a.object != nil)
		})
	}
}

// Of several services the first with a conclusive answer counts, else the first that answered.
func TestAskSeveral(t *testing.T) {
	tests := []struct {
		name     string
		services []string
		want     outcome
		url      string
	}{
		{"first", []string{"https://good.example/", "https://bad.example/"}, found, "https://good.example/domain/x.example"},
		{"second", []string{"https://bad.example/", "https://good.example/"}, found, "https://good.example/domain/x.example"},
		{"after a silent one", []string{"https://dead.example/", "https://bad.example/"}, unreadable,
			"https://bad.example/domain/x.example"},
		{"before a silent one", []string{"https://bad.example/", "https://dead.example/"}, unreadable,
			"https://bad.example/domain/x.example"},
		{"no URL", []string{"https://%%/"}, unanswered, "https://%%/domain/x.example"},
		{"untrusted", []string{"https://untrusted.example/"}, unanswered, "https://untrusted.example/domain/x.example"},
		{"none", nil, unanswered, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.RDAP("good.example", map[string]string{"/domain/x.example": `{"ldhName": "x.example"}`})
			w.HTTPS("bad.example", respond(500, "", ""))
			w.Site(diagtest.Site{Host: "untrusted.example", Cert: diagtest.CertSelfSigned,
				Handler: respond(200, "", `{"ldhName": "x.example"}`)})
			a, err := askRDAP(t.Context(), w.Env(), tt.services, "domain/x.example", classDomain)
			require.NoError(t, err)
			require.Equal(t, tt.want, a.outcome)
			require.Equal(t, tt.url, a.url)
		})
	}
}
