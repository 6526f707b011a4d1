package main

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/dashboard"
	"github.com/diagkit/diagkit/httpapi/letterbox"
	"github.com/diagkit/diagkit/httpapi/metrics"
	"github.com/diagkit/diagkit/httpapi/pages"
	hostedmemory "github.com/diagkit/diagkit/mailauth/hostedspf/memory"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// A route is one method and path that a listener of diagd answers.
type route struct {
	listener string // the flag that starts it
	method   string // empty where the part takes any; of SMTP the command, of DNS the transport
	pattern  string // as in the table of the part
	path     string // a sample of it
	body     string // a sample: JSON for the API and /mcp, otherwise a form
	needs    string // key, session, signature, or nothing
}

// onPaths are samples of what patterns leave open.
var onPaths = strings.NewReplacer("{domain}", "example.com", "{operation...}", "text/lower",
	"{token}", strings.Repeat("a", 26), "{invoice}", "2026-10", "{share}", "shr_aaaaaaaa", "{profile}", "spf_aaaaaaaa",
	"{id}", "key_aaaaaaaa", "{finding}", "spf.record.missing", "{type}", "Finding",
	"{file}", "example.com.svg?share=a")

// onDashboard are its pages: what they need, the pattern, and a sample of a form.
var onDashboard = [][3]string{
	{"session", "GET /dashboard"},
	{"session", "GET /dashboard/domains.csv"},
	{"session", "POST /dashboard/domains", "domain=example.com&every=24h"},
	{"session", "POST /dashboard/domains/preview", "domain=example.com&every=24h"},
	{"session", "GET /dashboard/domains/{domain}"},
	{"session", "POST /dashboard/domains/{domain}/run"},
	{"session", "POST /dashboard/domains/{domain}/check"},
	{"session", "POST /dashboard/domains/{domain}/settings", "every=24h&budget=10"},
	{"session", "POST /dashboard/domains/{domain}/remove"},
	{"session", "GET /dashboard/check"},
	{"session", "POST /dashboard/check", "domain=example.com"},
	{"session", "GET /dashboard/playground"},
	{"session", "GET /dashboard/playground/{operation...}"},
	{"session", "POST /dashboard/playground/{operation...}", "text=A"},
	{"session", "GET /dashboard/results/{token}"},
	{"session", "GET /dashboard/keys"},
	{"session", "POST /dashboard/keys", "name=a&environment=live&scopes=dns:read"},
	{"session", "GET /dashboard/keys/{id}"},
	{"session", "POST /dashboard/keys/{id}/rotate", "grace=0"},
	{"session", "POST /dashboard/keys/{id}/revoke", "reason=manual&sure=yes"},
	{"session", "GET /dashboard/usage"},
	{"session", "GET /dashboard/usage.csv"},
	{"session", "GET /dashboard/activity"},
	{"session", "GET /dashboard/activity.csv"},
	{"session", "GET /dashboard/billing"},
	{"session", "POST /dashboard/billing/overage", "overage=on&overage_budget_cents=1000"},
	{"session", "GET /dashboard/billing/{invoice}"},
	{"session", "POST /dashboard/billing/{invoice}/void", "reason=a&sure=yes"},
	{"session", "POST /dashboard/billing/{invoice}/credit", "cents=1&credit_reason=a"},
	{"session", "GET /dashboard/channels"},
	{"session", "POST /dashboard/channels", "name=a&kind=email&target=a@example.com&categories=watch"},
	{"session", "GET /dashboard/channels/{id}"},
	{"session", "POST /dashboard/channels/{id}/rotate", "overlap=0"},
	{"session", "POST /dashboard/channels/{id}/remove", "sure=yes"},
	{"session", "POST /dashboard/channels/{id}/test"},
	{"session", "POST /dashboard/channels/{id}/confirm", "code=a"},
	{"session", "POST /dashboard/channels/{id}/replay", "since=24h"},
	{"session", "POST /dashboard/channels/{id}/enable"},
	{"session", "POST /dashboard/channels/{id}/disable"},
	{"session", "GET /dashboard/deliveries/{id}"},
	{"session", "POST /dashboard/deliveries/{id}/replay"},
	{"session", "GET /dashboard/spf"},
	{"session", "GET /dashboard/spf/{profile}"},
	{"session", "POST /dashboard/spf", "domain=example.com&key=key_aaaaaaaa"},
	{"session", "POST /dashboard/spf/{profile}/resolve"},
	{"session", "POST /dashboard/spf/{profile}/remove", "sure=yes"},
	{"session", "GET /dashboard/members"},
	{"session", "POST /dashboard/members", "email=a@example.com&role=viewer"},
	{"session", "GET /dashboard/members/{id}"},
	{"session", "POST /dashboard/members/{id}/role", "role=viewer"},
	{"session", "POST /dashboard/members/{id}/link"},
	{"session", "POST /dashboard/members/{id}/remove", "sure=yes"},
	{"session", "GET /dashboard/sessions"},
	{"session", "POST /dashboard/sessions/{id}/end"},
	{"session", "POST /dashboard/sessions/end-others", "sure=yes"},
	{"session", "POST /dashboard/saved", "page=/dashboard/keys"},
	{"session", "POST /dashboard/leave"},
	{"session", "POST /dashboard/account", "account=acc_aaaaaaaa"},
	{"session", "GET /dashboard/log"},
	{"nothing", "GET /dashboard/enter"},
	{"nothing", "POST /dashboard/enter", "token=a"},
	{"nothing", "POST /dashboard/enter/mail", "email=a@example.com"},
	{"session", "GET /dashboard/shares"},
	{"session", "POST /dashboard/shares", "token=a&result=a"},
	{"session", "POST /dashboard/shares/{share}/withdraw"},
	{"nothing", "GET /r/{token}"},
	{"nothing", "GET /badge/{file}"},
	{"nothing", "/"}, // reports that there is no such page
	{"nothing", "GET /dashboard/style.css"},
	{"nothing", "GET /dashboard/icon.svg"},
	{"nothing", "GET /dashboard/script.js"},
}

// beside are the routes of the smaller tables: the listener, the required credential, the pattern, and a sample of a
// body.
var beside = [][4]string{
	{"listen", "nothing", "GET /letterbox"},
	{"listen", "nothing", "POST /letterbox"},
	{"listen", "nothing", "GET /letterbox/{token}"},
	{"listen", "nothing", "GET /letterbox/style.css"},
	{"listen", "nothing", "GET /letterbox/script.js"},
	{"listen", "nothing", "GET /letterbox/icon.svg"},
	{"listen", "nothing", "GET /check"},
	{"listen", "nothing", "POST /check", "domain=example.com"},
	{"listen", "key", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
	{"listen", "nothing", "/unsubscribe/", "List-Unsubscribe=One-Click"},
	{"listen", "nothing", "/confirm/"},
	{"callback-listen", "signature", "POST /billing/callback",
		`{"schema_version":"1","invoice":"2026-10","account":"acc_a","reference":"pi_1","status":"paid"}`},
	{"metrics-listen", "nothing", "GET /metrics"},
	{"metrics-listen", "nothing", "GET /healthz"},
	{"metrics-listen", "nothing", "GET /readyz"},
	{"metrics-listen", "nothing", "/debug/pprof/"},
	{"metrics-listen", "nothing", "/debug/pprof/cmdline"},
	{"metrics-listen", "nothing", "/debug/pprof/profile"}, // takes 30 seconds by default
	{"metrics-listen", "nothing", "/debug/pprof/symbol"},
	{"metrics-listen", "nothing", "/debug/pprof/trace"},
}

// withoutHTTP are the commands and transports of listeners that speak something else, with samples of what they get.
var withoutHTTP = []route{
	{"letterbox-listen", "HELO", "", "mx.example.com", "", "nothing"},
	{"letterbox-listen", "EHLO", "", "mx.example.com", "", "nothing"},
	{"letterbox-listen", "STARTTLS", "", "", "", "nothing"},
	{"letterbox-listen", "MAIL", "", "FROM:<a@example.com>", "", "nothing"},
	{"letterbox-listen", "RCPT", "", "TO:<a@box.example>", "", "nothing"},
	{"letterbox-listen", "DATA", "", "", "Subject: a\r\n\r\na\r\n.\r\n", "nothing"},
	{"letterbox-listen", "BDAT", "", "3 LAST", "a\r\n", "nothing"},
	{"letterbox-listen", "RSET", "", "", "", "nothing"},
	{"letterbox-listen", "NOOP", "", "", "", "nothing"},
	{"letterbox-listen", "VRFY", "", "a", "", "nothing"},
	{"letterbox-listen", "QUIT", "", "", "", "nothing"},
	{"spf-dns-listen", "UDP", "", "example.spf.example.", "", "nothing"},
	{"spf-dns-listen", "TCP", "", "example.spf.example.", "", "nothing"},
}

// pagesOfDocs are those that are not made from the table of endpoints.
var pagesOfDocs = strings.Fields(`/ /docs /docs/quickstart /docs/authentication /docs/credits /docs/idempotency
	/docs/errors /docs/rate-limits /docs/billing /docs/watches /docs/webhooks /docs/hosted-spf /docs/agents
	/docs/findings /docs/findings/{finding} /docs/types /docs/types/{type} /docs/search /docs/style.css /docs/docs.js
	/docs/icon.svg /llms.txt /openapi.json /openapi.yaml /robots.txt`)

// routes are everything that the listeners of diagd answer. [TestRoutes] holds them against the tables of the parts.
func routes(testing.TB) (all []route) {
	add := func(listener, needs, pattern, body string) {
		method, path, ok := strings.Cut(pattern, " ")
		if !ok {
			method, path = "", pattern
		}
		all = append(all, route{listener, method, pattern, onPaths.Replace(path), body, needs})
	}
	for _, ep := range httpapi.Endpoints() {
		body := ""
		if ep.HasBody() {
			body = string(ep.Example())
		}
		add("listen", "key", ep.ID(), body)
		add("listen", "nothing", "GET /docs/"+ep.Slug(), "")
	}
	add("listen", "nothing", "GET "+openapiPath, "")
	for _, path := range pagesOfDocs {
		add("listen", "nothing", "GET "+path, "")
	}
	for _, row := range onDashboard {
		add("listen", row[0], row[1], row[2])
	}
	for _, row := range beside {
		add(row[0], row[1], row[2], row[3])
	}
	return append(all, withoutHTTP...)
}

// parts are the handlers of all listeners that speak HTTP, on an empty store in memory.
func parts(t testing.TB) (front httpapi.Front, health *healthServer, callback *callbacks) {
	t.Helper()
	store, quiet := memory.New(memory.Config{}), slog.New(slog.DiscardHandler)
	gate, err := metering.NewGate(context.Background(), metering.GateConfig{Store: store})
	require.NoError(t, err)
	t.Cleanup(gate.Close)
	a := &app{}
	a.serving.dashboard.ownersEditInvoices = true
	checked := checkedFlags{log: quiet}
	api := httpapi.New(httpapi.Config{Gate: gate, Pages: pages.Handler(pages.Config{})})
	front = a.mount(checked, api, dashboard.Config{
		Store: store, Log: quiet, HostedSPF: hostedmemory.New(hostedmemory.Config{}),
	}, "https://diag.example")
	box, err := letterbox.New(letterbox.Config{Domain: diag.MustDomain("box.example")})
	require.NoError(t, err)
	t.Cleanup(func() { box.Close() })
	front.Parts["letterbox"] = box
	a.serving.publicCheck = true
	t.Cleanup(a.servePublicCheck(checked, api, nil, "https://diag.example", front.Parts))
	return front, newHealth(metrics.New().Handler(), gate.Health, nil, quiet), &callbacks{log: quiet}
}

// [routes] lists exactly the routes of all tables.
func TestRoutes(t *testing.T) {
	front, health, callback := parts(t)
	var want []string
	has := func(listener string, handler http.Handler, otherwise string) {
		patterns := []string{otherwise}
		if table, ok := handler.(interface{ Patterns() []string }); ok {
			patterns = table.Patterns()
		}
		for _, pattern := range patterns {
			want = append(want, listener+" "+pattern)
		}
	}
	for _, ep := range httpapi.Endpoints() {
		want = append(want, "listen "+ep.ID())
	}
	want = append(want, "listen GET "+openapiPath)
	for _, path := range pages.Handler(pages.Config{}).(interface{ Patterns() []string }).Patterns() {
		want = append(want, "listen GET "+path)
	}
	for first, part := range front.Parts {
		switch first {
		case "r", "badge": // the pages that the dashboard has
			require.Equal(t, front.Parts["dashboard"], part)
		case "mcp":
			has("listen", part, "/"+first)
		default:
			has("listen", part, "/"+first+"/")
		}
	}
	has("metrics-listen", health.Handler.(httpapi.Front).API, "")
	has("callback-listen", callback.handler(), "")
	var got, listeners []string
	for _, r := range routes(t) {
		if listeners = append(listeners, r.listener); r.pattern != "" {
			got = append(got, r.listener+" "+r.pattern)
		}
	}
	require.ElementsMatch(t, want, got)

	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(serveFlags).add(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		if strings.HasSuffix(f.Name, "listen") {
			require.Contains(t, listeners, f.Name, "a listener without routes")
		}
	})
}
