package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/diagkit/diagkit/cmd/diagd/internal/machine"
	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// settingsOfTests holds the values of DIAG_TEST_POSTGRES and DIAG_TEST_REDIS. Diagd refuses variables that begin with
// DIAG_ and are not its settings, so that they are kept here.
var settingsOfTests = map[string]string{}

// childEnv makes the test program be diagd itself, so that tests can kill a real process.
const childEnv = "DIAGD_TEST_IS_DIAGD"

// clockEnv names a file with the time (RFC 3339) that the process uses: no rate limit is refilled unless the test
// moves it.
const clockEnv = "DIAGD_TEST_CLOCK"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		if file := os.Getenv(clockEnv); file != "" {
			mainAt(file)
		}
		main()
		return
	}
	for _, entry := range os.Environ() { // the caller's settings for the program are not meant for its tests
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "DIAG_") {
			os.Unsetenv(name)
			settingsOfTests[name] = value
		}
	}
	os.Unsetenv("JOURNAL_STREAM") // of the user's session
	os.Exit(m.Run())
}

// mainAt is main by the clock that a file tells.
func mainAt(file string) {
	wall := func() time.Time {
		text, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		at, err := time.Parse(time.RFC3339, string(text))
		if err != nil {
			panic(err)
		}
		return at
	}
	machine.BoundMemory()
	began := wall()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	a := &app{stdout: os.Stdout, stderr: os.Stderr, drain: drainTime, slowOpen: slowOpenTime, wall: wall,
		monotonic: func() time.Duration { return wall().Sub(began) }}
	code := a.main(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// patience bounds every wait for another goroutine or process.
const patience = time.Minute

// A watched buffer signals when a line has been written.
type watched struct {
	mu    sync.Mutex
	b     bytes.Buffer
	wrote chan struct{} // closed and replaced by each write
}

func newWatched() *watched { return &watched{wrote: make(chan struct{})} }

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.wrote)
	w.wrote = make(chan struct{})
	return w.b.Write(p)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// wait returns the matches of a pattern, as soon as there are any.
func (w *watched) wait(t testing.TB, pattern string) []string {
	t.Helper()
	expr, limit := regexp.MustCompile(pattern), time.After(patience)
	for {
		w.mu.Lock()
		found, wrote := expr.FindStringSubmatch(w.b.String()), w.wrote
		w.mu.Unlock()
		if found != nil {
			return found
		}
		select {
		case <-wrote:
		case <-limit:
			t.Fatalf("%s did not show up in\n%s", pattern, w)
		}
	}
}

// A server is diagd serving, in this process.
type server struct {
	t      testing.TB
	url    string
	secret string // of the first start; empty at a later one
	log    *watched
	stop   context.CancelFunc
	code   chan int
}

var secretPattern = regexp.MustCompile(`svc_live_[a-z2-7]{36}`)

// start runs "diagd serve" on a free port until the test ends.
func start(t testing.TB, args ...string) *server {
	t.Helper()
	return startApp(t, &app{drain: drainTime}, args...)
}

func startApp(t testing.TB, a *app, args ...string) *server {
	t.Helper()
	s := &server{t: t, log: newWatched(), code: make(chan int, 1)}
	a.stdout, a.stderr = io.Discard, s.log
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go func() { s.code <- a.main(ctx, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)) }()
	t.Cleanup(func() { s.wait() })
	s.url = s.log.wait(t, `msg\W+serving\W+url\W+(https?://[^\s"]+)`)[1]
	s.secret = secretPattern.FindString(s.log.String())
	if m := regexp.MustCompile(`[^\s"=]+/` + firstStartFile).FindString(s.log.String()); m != "" {
		text, err := os.ReadFile(m)
		require.NoError(t, err)
		s.secret = secretPattern.FindString(string(text))
		require.NoError(t, os.Remove(m))
	}
	return s
}

// wait stops the server, and returns its exit code.
func (s *server) wait() int {
	s.stop()
	select {
	case code := <-s.code:
		s.code <- code
		return code
	case <-time.After(patience):
		s.t.Fatal("the server did not stop")
		return -1
	}
}

type reply struct {
	status int
	header http.Header
	body   string
}

// post calls an operation; headers are pairs of name and value.
func post(ctx context.Context, url, secret, path, body string, headers ...string) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/public/v1"+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return do(http.DefaultClient, req)
}

func do(client *http.Client, req *http.Request) (reply, error) {
	resp, err := client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(text)}, err
}

func (s *server) post(path, body string, headers ...string) reply {
	s.t.Helper()
	r, err := post(s.t.Context(), s.url, s.secret, path, body, headers...)
	require.NoError(s.t, err)
	return r
}

func get(t testing.TB, url string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	r, err := do(http.DefaultClient, req)
	require.NoError(t, err)
	return r
}

// command runs an administrative command that succeeds, and returns its output.
func command(t testing.TB, args ...string) string {
	t.Helper()
	var out, err bytes.Buffer
	require.Equal(t, exitOK, run(t.Context(), args, &out, &err), "%v: %s", args, &err)
	return out.String()
}

// parsed runs an administrative command with --json into a value.
func parsed[V any](t testing.TB, args ...string) (v V) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(command(t, append(args, "--json")...)), &v))
	return v
}

// newStore makes the store of a first start and returns it as a flag, with the first secret.
func newStore(t testing.TB) (flag, secret string) {
	t.Helper()
	flag = "--store=sqlite:" + filepath.Join(t.TempDir(), "diag.db")
	s := start(t, flag)
	require.Equal(t, exitOK, s.wait())
	return flag, s.secret
}

// thisMonth is the month of all of a test: where another begins within minutes, it waits for that.
func thisMonth() metering.Period {
	month := metering.PeriodOf(time.Now().Add(2 * patience))
	time.Sleep(time.Until(month.Start()))
	return month
}

// child is diagd as a process of its own.
func child(ctx context.Context, args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := endWithTests(exec.CommandContext(ctx, self, args...))
	cmd.Env = append(os.Environ(), childEnv+"=1")
	return cmd
}

func TestExitCodes(t *testing.T) {
	store, _ := newStore(t)
	absent := "--store=sqlite:" + filepath.Join(t.TempDir(), "none.db")
	for _, test := range []struct {
		name string
		args string
		want int
		err  string
	}{
		{"help", "--help", exitOK, ""},
		{"no command", "nonsense", exitUsage, `unknown command "diagd nonsense"; diagd --help lists all`},
		{"no subcommand", "key", exitUsage, "diagd key needs a command"},
		{"no such subcommand", "key nonsense", exitUsage, `unknown command "diagd key nonsense"`},
		{"unknown flag", "serve --nonsense", exitUsage, "unknown flag: --nonsense"},
		{"surplus argument", "usage 2026-01", exitUsage, `diagd usage takes no argument, such as "2026-01"`},
		{"missing argument", "key revoke", exitUsage, "diagd key revoke takes the id of a key"},
		{"no month", "usage --month yesterday", exitUsage, "--month: a period is a year and a month"},
		{"key without a name", "key create --scopes dns:read", exitUsage, "name: "},
		{"key without a scope", "key create --name a", exitUsage, "scopes: must name at least one scope"},
		{"unknown scope", "key create --name a --scopes dns:write", exitUsage, `there is no scope "dns:write"`},
		{"no address", "key create --name a --scopes dns:read --ip here", exitUsage, `--ip: "here" is not a network`},
		{"unknown account", "account show acc_none", exitFailed, "account acc_none: not found"},
		{"unknown key", "key revoke key_none", exitFailed, "key key_none: not found"},
		{"unknown plan", "account create --name a --plan gold", exitUsage, `there is no plan "gold"`},
		{"no budget", "account set acc_none --budget-cents lots", exitUsage, "is not a number of cents or none"},
		{"neither on nor off", "account set acc_none --overage maybe", exitUsage, `"maybe" is not on or off`},
		{"absent store", "usage " + absent, exitFailed, "diagd serve creates it at its first start"},
		{"nothing to migrate", "migrate " + absent, exitFailed, "diagd serve creates it at its first start"},
		{"memory", "usage --store memory:", exitUsage, "cannot be administered from another process"},
		{"no store", "usage --store floppy:a", exitUsage, `"floppy:a" is not sqlite:FILE, postgres://… or memory:`},
		{"no database", "usage --store postgres://user:x/y@host", exitUsage, "--store: the URL of PostgreSQL must be such as"},
		{"nobody there", "usage --store postgres://user@127.0.0.1:1/db", exitFailed, "--store: opening the store: "},
		{"no Redis", "serve --store memory: --redis http://127.0.0.1", exitUsage, "--redis: the URL of Redis must be such as"},
		{"copy of a database", "backup x --store postgres://user@127.0.0.1:1/db", exitUsage, "such as pg_dump"},
		{"no list", "data show colours.json", exitUsage, `unknown list "colours.json"`},
		{"negative rate", "serve --ip-rate -1", exitUsage, "--ip-rate: must be 0 or more"},
		{"no proxy", "serve --trusted-proxies here", exitUsage, "--trusted-proxies: "},
		{"no log format", "serve --log-format xml", exitUsage, `--log-format: "xml" is not text or json`},
		{"no log level", "serve --log-level loud", exitUsage, `--log-level: "loud" is not debug`},
		{"no resolver", "serve --resolver carrier-pigeon://a", exitUsage, "--resolver: "},
		{"no address to serve on", "serve --listen nowhere", exitFailed, "--listen: "},
		{"no certificate", "serve --tls-cert no/such --tls-key no/such", exitFailed, "loading the certificate: "},
		{"half a certificate", "serve --tls-cert a.pem", exitUsage, "--tls-cert and --tls-key must be set together"},
		{"two certificates", "serve --tls-cert a.pem --acme-domain a.example", exitUsage, "exclude each other"},
		{"name server without a zone", "serve --spf-dns-listen 127.0.0.1:0",
			exitUsage, "needs --spf-dns-zone and --spf-dns-ns"},
		{"no zone", "serve --spf-dns-listen 127.0.0.1:0 --spf-dns-zone a..b", exitUsage, "--spf-dns-zone: "},
		{"no name server", "serve --spf-dns-listen 127.0.0.1:0 --spf-dns-zone a.example --spf-dns-ns b.example=c",
			exitUsage, "--spf-dns-ns: "},
		{"no glue", "serve --spf-dns-listen 127.0.0.1:0 --spf-dns-zone a.example --spf-dns-ns ns.a.example",
			exitUsage, "zone a.example: its name server ns.a.example needs 1 to 4 addresses"},
		{"profile of nobody", "spf create --domain example.com", exitUsage, "--key and --domain are required"},
		{"profile of no domain", "spf create --key key_a --domain a..b", exitUsage, "--domain: "},
		{"no contact", "serve --spf-dns-listen 127.0.0.1:0 --spf-dns-zone a.example --spf-dns-ns b.example",
			exitUsage, "needs a contact"},
		{"no address of a secondary", "serve --spf-dns-listen 127.0.0.1:0 --spf-dns-zone s.a.example --spf-dns-ns b.example " +
			"--spf-dns-secondaries ns2.example", exitUsage, "--spf-dns-secondaries: "},
		{"no key", "serve --spf-dns-listen 127.0.0.1:0 --spf-dns-zone s.a.example --spf-dns-ns b.example " +
			"--spf-dns-tsig key", exitUsage, "--spf-dns-tsig: "},
		{"no key to sign with", "serve --spf-dns-listen 127.0.0.1:0 --spf-dns-zone s.a.example --spf-dns-ns b.example " +
			"--spf-dns-key no/such", exitUsage, "--spf-dns-key: "},
		{"key for no zone", "spf key", exitUsage, "--spf-dns-zone is required"},
		{"folder for no key", "spf key --spf-dns-zone a.example --dir no/such", exitFailed, "writing a key: "},
		{"DS of no key", "spf ds", exitUsage, "--spf-dns-key is required"},
		{"DS of an absent key", "spf ds --spf-dns-key no/such", exitUsage, "--spf-dns-key: "},
		{"profile nowhere", "spf create --key key_a --domain example.com", exitUsage, "--include-host or --spf-dns-zone"},
		{"no include host", "spf create --key key_a --domain example.com --include-host a..b",
			exitUsage, "--include-host: "},
		{"no zone of a profile", "spf create --key key_a --domain example.com --spf-dns-zone .a",
			exitUsage, "--spf-dns-zone: "},
		{"half a second", "spf create --key key_a --domain example.com --interval 500s500ms", exitUsage, "whole seconds"},
		{"unknown owner", "spf create --key key_a --domain example.com --include-host a.example",
			exitFailed, "key key_a: not found"},
		{"profiles of an unknown key", "spf list --key key_a", exitFailed, "key key_a: not found"},
		{"profiles of no domain", "spf list --domain a..b", exitUsage, "--domain: "},
		{"unknown profile", "spf show spf_none", exitFailed, `"spf_none": there is no such profile`},
		{"unknown profile to resolve", "spf resolve spf_none", exitFailed, `"spf_none": there is no such profile`},
		{"unknown profile to pause", "spf pause spf_none", exitFailed, `"spf_none": there is no such profile`},
		{"unknown profile to remove", "spf remove spf_none", exitFailed, `"spf_none": there is no such profile`},
		{"no profile", "spf remove", exitUsage, "diagd spf remove takes the id of a profile"},
		{"profiles in memory", "spf list --store memory:", exitUsage, "cannot be administered from another process"},
		{"profiles of an absent store", "spf list " + absent, exitFailed, "diagd serve creates it at its first start"},
		{"nobody answers", "health --url http://127.0.0.1:1", exitFailed, "connection refused"},
	} {
		t.Run(test.name, func(t *testing.T) {
			args := strings.Fields(test.args)
			if !strings.Contains(test.args, "--store") {
				args = append(args, store)
			}
			var out, err bytes.Buffer
			assert.Equal(t, test.want, run(t.Context(), args, &out, &err), "%s", &err)
			assert.Contains(t, err.String(), test.err)
			if test.want != exitOK {
				assert.Equal(t, 1, strings.Count(err.String(), "\n"), "a fault is one line: %s", &err)
			}
		})
	}
}

func (r reply) String() string { return fmt.Sprintf("%d %s", r.status, r.body) }
