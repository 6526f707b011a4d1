package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The command serves its list, reads it again on SIGHUP, and ends with its context.
func TestExporter(t *testing.T) {
	list := filepath.Join(t.TempDir(), "domains.txt")
	require.NoError(t, os.WriteFile(list, []byte("example.com # ours\n"), 0o600))
	s := newSession(testWorld(t))
	out, in := io.Pipe()
	s.stderr = in
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() {
		args := "exporter --listen 127.0.0.1:0 --only web broken.example --targets "
		ended <- s.run(ctx, append(strings.Fields(args), list))
	}()
	stderr := bufio.NewReader(out)
	line, err := stderr.ReadString('\n')
	require.NoError(t, err)
	go io.Copy(io.Discard, stderr)
	url := regexp.MustCompile(`http://\S+/`).FindString(line)
	require.NotEmpty(t, url, line)
	get := func(path string) string {
		r, err := http.Get(url + path)
		require.NoError(t, err)
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		return string(body)
	}
	eventually := func(path, want string) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Contains(get(path), want) }, time.Minute, 50*time.Millisecond)
	}
	eventually("metrics", "\ndiag_exporter_targets 2\n")
	eventually("probe?target=broken.example", "# TYPE diag_runs_total counter\ndiag_runs_total{target=\"broken.example\"} ")
	assert.Contains(t, get("probe?target=silent.example"), "the domains of the list alone")

	require.NoError(t, os.WriteFile(list, []byte("example.com\nexample.org\n"), 0o600))
	self, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	require.NoError(t, self.Signal(syscall.SIGHUP))
	eventually("metrics", "\ndiag_exporter_targets 3\n")
	stop()
	require.Equal(t, exitOK, <-ended)
}

func TestExporterRefused(t *testing.T) {
	for args, want := range map[string]string{
		"":                               "name domains as arguments or with --targets FILE",
		"example.com --interval 1m":      "--interval: must be at least 15m0s",
		"example.com --parallel 0":       "--parallel: must be from 1 to 64",
		"example.com --only all":         `--only: "all" is not one of`,
		"example.com --server http://x/": "omit --server",
		"--targets missing.txt":          "missing.txt",
		"192.0.2.1":                      "is not a domain name",
	} {
		s := newSession(testWorld(t))
		all := strings.Fields("exporter --listen 127.0.0.1:0 " + args)
		assert.Equal(t, exitUsage, s.run(t.Context(), all), args)
		assert.Contains(t, s.err.String(), want)
		assert.NotContains(t, s.err.String(), "serving")
	}
}

// expressions are those of the board and of the alert rules.
func expressions(t *testing.T) (board, alerts []string) {
	var b struct {
		Panels []struct {
			ID      int
			Title   string
			Type    string
			Targets []struct{ Expr string }
		}
	}
	data, err := os.ReadFile("deploy/grafana.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &b))
	for i, p := range b.Panels {
		assert.Equal(t, i+1, p.ID)
		assert.Equal(t, p.Type == "row", len(p.Targets) == 0, p.Title)
		for _, target := range p.Targets {
			board = append(board, target.Expr)
		}
	}
	data, err = os.ReadFile("deploy/alerts.yaml")
	require.NoError(t, err)
	return board, regexp.MustCompile(`(?m)^        expr: .*(?:\n          .*)*`).FindAllString(string(data), -1)
}

// Every metric and label of the board and of the alert rules exists, and each metric is in one of them.
func TestDomainsBoard(t *testing.T) {
	source, err := os.ReadFile("../../httpapi/target/exporter/exporter.go")
	require.NoError(t, err)
	metric := regexp.MustCompile(`\bdiag_[a-z_]+`)
	board, alerts := expressions(t)
	text := strings.Join(append(board, alerts...), "\n")
	require.Len(t, alerts, 11)
	lines := regexp.MustCompile(`(?m)^\t\{"diag_.*"(?:gauge|counter)"`).FindAllString(string(source), -1)
	exposed := metric.FindAllString(strings.Join(lines, "\n"), -1)
	require.Greater(t, len(exposed), 15)
	for _, name := range metric.FindAllString(text, -1) {
		assert.Contains(t, exposed, name, "there is no such metric")
	}
	for _, name := range exposed {
		assert.Regexp(t, name+`\b`, text, "nothing shows it")
	}
	for _, l := range regexp.MustCompile(`([a-z_]+)(?:=~|!=|=)"`).FindAllStringSubmatch(text, -1) {
		assert.Contains(t, []string{"target", "check", "state", "severity", "code", "kind", "subject", "instance", "job"}, l[1])
	}
}
