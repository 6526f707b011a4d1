package main

import (
	"bytes"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Secrets appear only in the one place that shows them: not in the files of the store, while the server runs and
// after, nor in logs, metrics, replies or the output of any command.
func TestSecretsStaySecret(t *testing.T) {
	dir := t.TempDir()
	store := "--store=sqlite:" + filepath.Join(dir, "diag.db")
	s := start(t, store, "--metrics-listen=127.0.0.1:0", "--log-level=debug", "--log-format=json", "--ip-rate=0")
	metrics := s.log.wait(t, `serving metrics","url":"(\S+)/metrics`)[1]
	first := s.secret
	second := parsed[keyView](t, "key", "create", "--name=second", "--scopes=dns:read", store)
	third := parsed[keyView](t, "key", "rotate", string(second.ID), store)
	const idempotency = "idempotency-key-of-this-test"

	seen := &bytes.Buffer{} // all output of the program
	for _, secret := range []string{first, second.Secret, third.Secret, first[:44] + "a", "svc_live_x"} {
		s.secret = secret
		for _, r := range []reply{
			s.post("/text/upper", upper),
			s.post("/text/upper", upper, "Idempotency-Key", idempotency),
			s.post("/text/upper", upper, "Idempotency-Key", idempotency), // a replay
			s.post("/text/upper", `{}`, "Idempotency-Key", idempotency),  // a conflict or a fault
			s.post("/text/upper", `{"text":`),
			s.post("/http/qr", `{"data":"x"}`), // out of scope for some
			s.post("/nowhere", upper),
			s.post("/resolve", `{"qname":"x","qtype":"A"}`, "X-Request-Id", "mine"),
		} {
			seen.WriteString(r.body)
			require.NoError(t, r.header.Write(seen))
		}
	}
	command(t, "key", "revoke", string(second.ID), store)
	s.secret = second.Secret
	r := s.post("/text/upper", upper)
	for began := time.Now(); r.status != http.StatusUnauthorized && time.Since(began) < 2*time.Second; {
		r = s.post("/text/upper", upper)
	}
	require.Contains(t, r.body, "REVOKED_API_KEY")
	seen.WriteString(r.body)
	for _, args := range [][]string{
		{"key", "list"}, {"account", "list"}, {"usage"}, {"audit"}, {"migrate"},
	} {
		seen.WriteString(command(t, append(args, store)...))
		seen.WriteString(command(t, append(args, store, "--json")...))
	}
	for _, path := range []string{"/metrics", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2"} {
		seen.WriteString(get(t, metrics+path).body)
	}
	hidden := []string{first, second.Secret, third.Secret, idempotency}
	assertAbsent(t, "what was seen", seen.Bytes(), hidden)
	assertFilesHide(t, dir, hidden)
	require.Equal(t, exitOK, s.wait())
	assertFilesHide(t, dir, hidden)

	log := s.log.String()
	require.Contains(t, log, `"level":"DEBUG"`)
	assertAbsent(t, "the log", []byte(log), hidden)
}

// Neither log nor metrics nor pprof show what settings keep secret, where these come from the environment.
func TestSecretsOfSettings(t *testing.T) {
	const password, signing = "mailpassword-0123456789", "d2hhdCBhIHNlY3JldCBpdCB3b3VsZCBiZSB0byB0ZWxs"
	t.Setenv("DIAG_MAIL_SERVER", "submissions://user:"+password+"@127.0.0.1:1")
	t.Setenv("DIAG_MAIL_FROM", "diag@example.com")
	t.Setenv("DIAG_BILLER", "https://127.0.0.1:1/pay")
	t.Setenv("DIAG_BILLER_SECRET", "whsec_"+signing)
	s := start(t, "--store=memory:", "--metrics-listen=127.0.0.1:0", "--log-level=debug")
	metrics := s.log.wait(t, `"?serving metrics"? url=(\S+)/metrics`)[1]
	s.post("/text/upper", upper)
	var seen bytes.Buffer
	for _, path := range []string{"/metrics", "/readyz", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2"} {
		seen.WriteString(get(t, metrics+path).body)
	}
	require.Equal(t, exitOK, s.wait())
	seen.WriteString(s.log.String())
	assertAbsent(t, "log or metrics", seen.Bytes(), []string{password, signing})
}

// assertAbsent looks for secrets and for their ends.
func assertAbsent(t testing.TB, where string, text []byte, secrets []string) {
	t.Helper()
	for _, secret := range secrets {
		require.Greater(t, len(secret), 20)
		assert.False(t, bytes.Contains(text, []byte(secret)), "%s holds a secret", where)
		assert.False(t, bytes.Contains(text, []byte(secret[len(secret)-20:])), "%s holds the end of a secret", where)
	}
}

func assertFilesHide(t testing.TB, dir string, secrets []string) {
	t.Helper()
	files := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files++
		assertAbsent(t, path, text, secrets)
		info, statErr := d.Info()
		require.NoError(t, statErr)
		assert.Zero(t, info.Mode().Perm()&0o077, "%s is for its owner only", path)
		return err
	}))
	assert.NotZero(t, files)
}
