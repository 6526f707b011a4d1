package main

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	hostedmemory "github.com/diagkit/diagkit/mailauth/hostedspf/memory"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// apiServer serves the API on a world, and returns its address and a key.
func apiServer(t testing.TB, world *diagtest.World) (address, secret string) {
	return hostingServer(t, world, hostedmemory.New(hostedmemory.Config{}))
}

// hostingServer is an apiServer that keeps profiles of hosted SPF, one of which belongs to the key.
func hostingServer(t testing.TB, world *diagtest.World, profiles hostedspf.Store) (address, secret string) {
	store := memory.New(memory.Config{})
	admin := metering.Admin{Store: store}
	account, err := admin.CreateAccount(t.Context(), "test", "self")
	require.NoError(t, err)
	request := metering.KeyRequest{Account: account.ID, Name: "test", Scopes: metering.Scopes()}
	owner, key, err := admin.CreateKey(t.Context(), request)
	require.NoError(t, err)
	require.NoError(t, profiles.Create(t.Context(), hostedspf.Profile{
		ID: profileID, Owner: hostedspf.Owner(owner.ID), Domain: diag.MustDomain("example.com"), Name: "Example",
		Status: hostedspf.Active, SourceRecord: "v=spf1 mx -all", IncludeHost: diag.MustName("x.spf.example.net"),
		IntervalSeconds: hostedspf.DefaultInterval, CreatedAt: world.Now(), UpdatedAt: world.Now(),
	}))
	gate, err := metering.NewGate(t.Context(), metering.GateConfig{Store: store})
	require.NoError(t, err)
	server := httptest.NewServer(httpapi.Handler(httpapi.Config{Gate: gate, Env: world.Env(), HostedSPF: profiles}))
	t.Cleanup(func() { server.Close(); gate.Close(); store.Close() })
	return server.URL, key.Reveal()
}

const profileID = "spf_mn4zq2vtw6k7y3cx5hbd2jfgla"

// exampleArgs is the command line of an endpoint's own examples.
func exampleArgs(ep httpapi.Endpoint) []string {
	args := []string{ep.Name()}
	for _, p := range positionalParams(ep.Params()) {
		if p.Required || p.OneOf != "" {
			args = append(args, p.Example)
		}
	}
	return args
}

// Every check gives the same JSON here as from a server, and the same exit code.
func TestSameAsServer(t *testing.T) {
	world := testWorld(t)
	address, secret := apiServer(t, world)
	for _, ep := range httpapi.Endpoints() {
		if ep.Hosted() {
			continue // TestHosted
		}
		t.Run(ep.Name(), func(t *testing.T) {
			args := append(exampleArgs(ep), "--json")
			here, again, there := newSession(world), newSession(world), newSession(nil)
			code := here.run(t.Context(), args)
			require.Contains(t, []int{exitOK, exitFinding, exitPartial}, code, "%s", &here.err)
			require.Equal(t, code, again.run(t.Context(), args))
			require.Equal(t, code, there.run(t.Context(), append(args, "--server", address, "--key", secret)), "%s", &there.err)
			if here.out.String() == again.out.String() {
				assert.Equal(t, here.out.String(), there.out.String())
				return
			}
			assert.Equal(t, members(t, here.out.Bytes()), members(t, there.out.Bytes())) // such as a new password each time
		})
	}
}

// Operations on profiles return the JSON of the library on the server's store; without a server, their error names
// what they need.
func TestHosted(t *testing.T) {
	world := testWorld(t)
	profiles := hostedmemory.New(hostedmemory.Config{Clock: world.Now})
	address, secret := hostingServer(t, world, profiles)
	access := hostedspf.Access{Store: profiles, Owner: hostedspf.AnyOwner}
	n := 0
	for _, ep := range httpapi.Endpoints() {
		if !ep.Hosted() {
			continue
		}
		n++
		t.Run(ep.Name(), func(t *testing.T) {
			here, there := newSession(world), newSession(nil)
			assert.Equal(t, exitUsage, here.run(t.Context(), exampleArgs(ep)))
			assert.Equal(t, "diag: "+ep.Name()+" works on profiles stored by a server: name it with --server and --key\n",
				here.err.String())

			args := append(exampleArgs(ep), "--json", "--server", address, "--key", secret)
			require.Less(t, there.run(t.Context(), args), exitUsage, "%s", &there.err)
			want, err := ep.RunHosted(t.Context(), world.Env(), access, exampleFields(t, ep))
			require.NoError(t, err)
			assert.Equal(t, members(t, want.Body), members(t, there.out.Bytes()))
			if ep.Method == http.MethodGet {
				assert.Equal(t, string(want.Body), there.out.String())
			}
		})
	}
	assert.NotZero(t, n)
}

// exampleFields is the JSON of exampleArgs.
func exampleFields(t testing.TB, ep httpapi.Endpoint) []byte {
	fields := map[string]json.RawMessage{}
	for _, p := range ep.Params() {
		if p.Required {
			fields[p.Name] = p.JSON(p.Example)
		}
	}
	text, err := json.Marshal(fields)
	require.NoError(t, err)
	return text
}

// A missing profile is reported in the words of the server.
func TestHostedNotFound(t *testing.T) {
	address, secret := apiServer(t, testWorld(t))
	s := newSession(nil)
	args := []string{"spf/hosted/spf_aaaaaaaaaaaaaaaaaaaaaaaaaa", "--server", address, "--key", secret}
	assert.Equal(t, exitUsage, s.run(t.Context(), args))
	assert.Regexp(t, `^diag: INVALID_REQUEST: There is nothing at this path\. \(req_\w+\)\n$`, s.err.String())
}

// A key that is not valid will not become so: the command does not wait.
func TestWaitRefused(t *testing.T) {
	address, _ := apiServer(t, testWorld(t))
	s := newSession(nil)
	args := []string{"wait", "late.example", "A", "192.0.2.1", "--server", address, "--key", "svc_live_none"}
	assert.Equal(t, exitIncomplete, s.run(t.Context(), append(args, "--timeout", "20s", "--every", "15s")))
	assert.Contains(t, s.err.String(), "diag: the server rejected the API key")
}

func members(t testing.TB, text []byte) []string {
	var r map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &r))
	return slices.Sorted(maps.Keys(r))
}

type recordedRequest struct {
	path, body    string
	method, query string
	header        http.Header
}

// recordingServer answers everything with 200 and a reply.
func recordingServer(t testing.TB, reply string) (address string, seen *recordedRequest) {
	seen = &recordedRequest{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		*seen = recordedRequest{r.URL.Path, string(body), r.Method, r.URL.RawQuery, r.Header}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, reply)
	}))
	t.Cleanup(server.Close)
	return server.URL, seen
}

// A reply from a server is judged as one from here.
func TestReplies(t *testing.T) {
	for _, test := range []struct {
		name, reply string
		want        int
	}{
		{"nothing", `{"findings":[]}`, exitOK},
		{"in part", `{"partial":true,"findings":[{"severity":"warning"}]}`, exitPartial},
		{"a finding outweighs", `{"partial":true,"findings":[{"severity":"error"}]}`, exitFinding},
		{"an unknown severity", `{"findings":[{"severity":"dreadful"}]}`, exitIncomplete},
		{"no JSON", `<html>`, exitIncomplete},
	} {
		t.Run(test.name, func(t *testing.T) {
			address, seen := recordingServer(t, test.reply)
			s := newSession(nil)
			s.key = "svc_test_x"
			args := []string{"mta-sts/lookup", "a.example", "--server", address + "/", "--key", "svc_test_x"}
			assert.Equal(t, test.want, s.run(t.Context(), args), "%s", &s.err)
			assert.Equal(t, "Bearer svc_test_x", seen.header.Get("Authorization"))
		})
	}
}

func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		name   string
		status int
		reply  string
		want   int
		err    string
	}{
		{"bad key", 401, `{"code":"INVALID_API_KEY","message":"No.","request_id":"req_1"}`, exitIncomplete,
			"diag: the server rejected the API key: check --key and $DIAG_KEY (req_1)\n"},
		{"bad request", 400, `{"code":"INVALID_REQUEST","message":"qname: bad","request_id":"req_1"}`, exitUsage,
			"diag: INVALID_REQUEST: qname: bad (req_1)\n"},
		{"hostile words", 500, `{"code":"INTERNAL_ERROR","message":"\u001b[2J","request_id":"req_1"}`, exitIncomplete,
			"diag: INTERNAL_ERROR: \\u001b[2J (req_1)\n"},
		{"the resolver is silent", 502, `{"code":"INTERNAL_ERROR","message":"There was no usable answer from X.",` +
			`"details":{"reason":"upstream_unavailable"},"request_id":"req_1"}`,
			exitIncomplete, "diag: no usable answer from X\n"},
		{"the resolver is slow", 504, `{"code":"INTERNAL_ERROR","message":"There was no answer from X in time.",` +
			`"details":{"reason":"timeout"},"request_id":"req_1"}`,
			exitIncomplete, "diag: timeout waiting for X\n"},
		{"no credits", 402, `{"code":"QUOTA_EXCEEDED","message":"None are left.","request_id":"req_1"}`, exitIncomplete,
			"diag: QUOTA_EXCEEDED: None are left. (req_1)\n"},
		{"a proxy", 502, `<html>`, exitIncomplete, "diag: SERVER answered 502 Bad Gateway\n"},
		{"elsewhere", 307, ``, exitIncomplete, "diag: SERVER answered 307 Temporary Redirect\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", "http://"+r.Host+"/stolen")
				assert.NotEqual(t, "/stolen", r.URL.Path, "the key went elsewhere")
				w.WriteHeader(test.status)
				io.WriteString(w, test.reply)
			}))
			defer server.Close()
			s := newSession(nil)
			args := []string{"resolve", "a", "A", "--server", server.URL, "--key", "svc_test_x"}
			assert.Equal(t, test.want, s.run(t.Context(), args))
			assert.Equal(t, test.err, strings.ReplaceAll(s.err.String(), server.URL, "SERVER"))
		})
	}
}

// Why a server cannot be reached is reported in words.
func TestServerUnreached(t *testing.T) {
	s := newSession(nil)
	assert.Equal(t, exitIncomplete, s.run(t.Context(), []string{"spf", "a", "--server", "http://127.0.0.1:1", "--key", "svc_test_x"}))
	assert.Equal(t, "diag: connecting to http://127.0.0.1:1: connection refused\n", s.err.String())
}

// All faults of a request are reported, each in a line, and the same ones locally and from a server.
func TestFaultsOfRequest(t *testing.T) {
	world := testWorld(t)
	address, secret := apiServer(t, world)
	here, there := newSession(world), newSession(nil)
	args := []string{"resolve", "exa..mple", "NONSENSE"}
	assert.Equal(t, exitUsage, here.run(t.Context(), args))
	assert.Equal(t, exitUsage, there.run(t.Context(), append(args, "--server", address, "--key", secret)))
	assert.Regexp(t, `^diag: qname: .+\ndiag: qtype: .+\n$`, here.err.String())
	assert.Equal(t, here.err.String(), there.err.String())
}

func TestServerFlags(t *testing.T) {
	for _, args := range []string{
		"--server diag.example", "--server ftp://diag.example", "--server https://", "--server :",
		"--server https://diag.example --resolver udp://192.0.2.1",
		"--server https://diag.example --allow-ports 25",
		"--server https://diag.example --deny-networks 192.0.2.0/24",
		"--server https://diag.example --root-hints named.root",
		"--server https://diag.example --trust-anchor root.key",
		"--server https://diag.example --hello-name checks.example.net",
		"--server https://diag.example --ca-file no/such/file",
	} {
		s := newSession(nil)
		got := s.run(t.Context(), append([]string{"text/upper", "a", "--key", "svc_test_x"}, strings.Fields(args)...))
		assert.Equal(t, exitUsage, got, "%s: %s", args, &s.err)
	}
}

// What works locally only runs here although the environment names a server, and says so.
func TestServerOfEnvironment(t *testing.T) {
	world := testWorld(t)
	world.ServeZones()
	zoneFile(t, "zones/db.example.com", nextZone)
	for _, tt := range []struct {
		args, option string
		code         int
	}{
		{"TXT _dmarc.example.com --short --zone zones/db.example.com", "--zone", exitOK},
		{"example.com --only mail --no-smtp --zone zones/db.example.com", "--zone", exitFinding},
		{"--no-smtp --zone zones/db.example.com", "--zone", exitFinding},
		{"example.com --plan --only mail --no-smtp --fail-on critical", "--plan", exitPartial},
		{"text/upper a --resolver udp://192.0.2.1", "--resolver", exitOK},
		{"text/upper a --allow-networks 10.0.0.0/8", "--allow-networks", exitOK},
		{"text/upper a --deny-networks 192.0.2.0/24", "--deny-networks", exitOK},
		{"text/upper a --allow-ports 25", "--allow-ports", exitOK},
		{"text/upper a --hello-name checks.example.net", "--hello-name", exitOK},
		{"text/upper a --ns ns1.example.com/192.0.2.53", "--ns", exitUsage}, // of which domain
		{"wait example.com A 192.0.2.80 --resolver udp://192.0.2.1", "--resolver", exitOK},
		{"diff zones/db.example.com zones/db.example.com --zone zones/db.example.com", "", exitUsage},
		{"spf/hosted --resolver udp://192.0.2.1", "", exitUsage},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Setenv("DIAG_SERVER", "http://127.0.0.1:1")
			t.Setenv("DIAG_KEY", "svc_test_x")
			s := newSession(world)
			assert.Equal(t, tt.code, s.run(t.Context(), strings.Fields(tt.args)), "%s%s", &s.out, &s.err)
			note := "diag: note: " + tt.option + " works locally only: $DIAG_SERVER is not used\n"
			assert.Equal(t, tt.option != "", strings.Contains(s.err.String(), note), "%s", &s.err)

			s = newSession(world)
			args := append(strings.Fields(tt.args), "--server", "http://127.0.0.1:1")
			assert.Equal(t, exitUsage, s.run(t.Context(), args), "%s%s", &s.out, &s.err)
		})
	}
}

// The certificate of a private authority is trusted with --ca-file, and not without.
func TestServerAuthority(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{}`)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(file, text, 0o600))
	args := []string{"text/upper", "a", "--server", server.URL, "--key", "svc_test_x"}
	s := newSession(nil)
	assert.Equal(t, exitIncomplete, s.run(t.Context(), args))
	s = newSession(nil)
	assert.Equal(t, exitOK, s.run(t.Context(), append(args, "--ca-file", file)), "%s", &s.err)
}

// The key may come from the environment, where other users of the machine cannot see it.
func TestKeyFromEnvironment(t *testing.T) {
	t.Setenv("DIAG_KEY", "svc_test_secret")
	address, seen := recordingServer(t, `{}`)
	s := newSession(nil)
	require.Equal(t, exitOK, s.run(t.Context(), []string{"text/upper", "a", "--server", address}))
	assert.Equal(t, "Bearer svc_test_secret", seen.header.Get("Authorization"))
	require.Equal(t, exitOK, s.run(t.Context(), []string{"text/upper", "--help"}))
	assert.NotContains(t, s.out.String()+s.err.String(), "svc_test_secret")
}
