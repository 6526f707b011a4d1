package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/sqlite"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The environment of the child, which is this test binary once more.
const (
	crashPath = "DIAGKIT_API_CRASH_PATH" // the database to serve
	crashAt   = "DIAGKIT_API_CRASH_AT"   // where it dies, if anywhere
)

// A crashingStore kills its process, as kill -9 does, at one point of a request.
type crashingStore struct {
	metering.Store
	at string
}

func (s *crashingStore) crash(at string) {
	if s.at == at {
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Kill()
		select {}
	}
}

func (s *crashingStore) Begin(ctx context.Context, op metering.Op) (metering.Begun, error) {
	begun, err := s.Store.Begin(ctx, op)
	s.crash("after Begin")
	return begun, err
}

func (s *crashingStore) Settle(ctx context.Context, t metering.Ticket, out metering.Outcome) (metering.Balance, error) {
	s.crash("between work and Settle")
	b, err := s.Store.Settle(ctx, t, out)
	s.crash("after Settle")
	return b, err
}

// TestCrashChild is the server that TestCrash kills.
func TestCrashChild(t *testing.T) {
	path := os.Getenv(crashPath)
	if path == "" {
		return
	}
	store, err := sqlite.Open(t.Context(), path, sqlite.Config{})
	require.NoError(t, err)
	gate, err := metering.NewGate(t.Context(), metering.GateConfig{Store: &crashingStore{store, os.Getenv(crashAt)}})
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	fmt.Printf("serving http://%s\n", l.Addr())
	s := &http.Server{Handler: newServer(Config{Gate: gate}, []Endpoint{row("/x", 3, echo)})}
	go s.Serve(l)
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test closes it
	require.NoError(t, s.Shutdown(t.Context()))
	gate.Close()
	require.NoError(t, store.Close())
}

// crashing runs the child until stop, or until it kills itself.
func crashing(t *testing.T, path, at string) (url string, stop func()) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestCrashChild$")
	cmd.Env = append(os.Environ(), crashPath+"="+path, crashAt+"="+at)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() && url == "" {
		if _, at, ok := strings.Cut(lines.Text(), "serving "); ok {
			url = at
			break
		}
	}
	require.NotEmpty(t, url)
	return url, func() {
		in.Close()
		_, _ = io.Copy(io.Discard, out)
		err := cmd.Wait()
		if at == "" {
			require.NoError(t, err)
		}
	}
}

// A server that dies at any point of a request has charged it completely or not at all: the retry runs, or is a
// replay, and is charged once. Its claim died with it, so that no retry waits for a lease.
func TestCrash(t *testing.T) {
	for _, tt := range []struct {
		at      string
		charged int64 // by the one that died
	}{{"after Begin", 0}, {"between work and Settle", 0}, {"after Settle", 3}} {
		for _, key := range []string{"0123456789", ""} {
			t.Run(tt.at+" "+key, func(t *testing.T) {
				t.Parallel()
				path := t.TempDir() + "/diag.db"
				store, err := sqlite.Open(t.Context(), path, sqlite.Config{})
				require.NoError(t, err)
				admin := metering.Admin{Store: store}
				account, err := admin.CreateAccount(t.Context(), "test", "self")
				require.NoError(t, err)
				_, secret, err := admin.CreateKey(t.Context(), metering.KeyRequest{
					Account: account.ID, Name: "test", Scopes: []metering.Scope{metering.DNSRead},
				})
				require.NoError(t, err)
				require.NoError(t, store.Close())
				send := func(url string) (*http.Response, error) {
					r, err := http.NewRequestWithContext(t.Context(), "POST", url+Prefix+"/x", strings.NewReader(`{"text":"a"}`))
					require.NoError(t, err)
					r.GetBody = nil // the client must not try again by itself
					r.Header.Set("Authorization", "Bearer "+secret.Reveal())
					r.Header.Set("Content-Type", jsonMedia)
					if key != "" {
						r.Header.Set("Idempotency-Key", key)
					}
					return http.DefaultClient.Do(r)
				}
				used := func() int64 {
					store, err := sqlite.Open(t.Context(), path, sqlite.Config{Admin: true})
					require.NoError(t, err)
					defer store.Close()
					audit, err := store.Audit(t.Context())
					require.NoError(t, err)
					require.Empty(t, audit.Faults)
					return audit.Credits
				}

				url, stop := crashing(t, path, tt.at)
				_, err = send(url)
				require.Error(t, err, "it died before it answered")
				stop()
				require.Equal(t, tt.charged, used())

				url, stop = crashing(t, path, "")
				r, err := send(url)
				require.NoError(t, err)
				body, err := io.ReadAll(r.Body)
				require.NoError(t, err)
				r.Body.Close()
				stop()
				assert.Equal(t, 200, r.StatusCode, "%s", body)
				assert.Equal(t, `{"text":"a"}`, strings.TrimSpace(string(body)))
				replayed := tt.charged > 0 && key != ""
				assert.Equal(t, replayed, r.Header.Get("X-Idempotent-Replay") == "true")
				want := int64(3)
				if key == "" {
					want += tt.charged // the second request cannot be recognized as a retry
				}
				assert.Equal(t, want, used())
			})
		}
	}
}
