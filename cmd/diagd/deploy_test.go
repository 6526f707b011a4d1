package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/metrics"
	"github.com/diagkit/diagkit/textutil"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"
)

// deployed reads a file that is meant for operators.
func deployed(t testing.TB, elem ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	require.NoError(t, err)
	return string(data)
}

// deployedYAML reads a file with the YAML reader of textutil and another one.
func deployedYAML(t testing.TB, name string) (v map[string]any) {
	t.Helper()
	text := deployed(t, "deploy", name)
	report, err := textutil.FormatYAML(textutil.YAMLFormatRequest{Text: text})
	require.NoError(t, err)
	require.True(t, report.Valid, "%s: %v", name, report.Error)
	require.NoError(t, yaml.Unmarshal([]byte(text), &v))
	return v
}

// served returns the names of all metrics that a server can expose, with their labels.
func served(t *testing.T) (names, labels map[string]bool) {
	t.Helper()
	m := metrics.New()
	m.Observe(httpapi.Observation{
		Endpoint: "POST /x", Code: "OK", Status: 200, Plan: "self", Credits: 1, Replay: true, Deprecated: "operation",
		Duration: time.Second,
	})
	m.ObserveResolution("changed")
	m.ObserveQuestion("NOERROR")
	for _, g := range metrics.Gauges() {
		m.GaugeFunc(g, func() float64 { return 1 })
	}
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	names = map[string]bool{"up": true} // of Prometheus itself
	labels = map[string]bool{"instance": true, "job": true}
	for line := range strings.Lines(w.Body.String()) {
		name, rest, _ := strings.Cut(line, " ")
		name, inside, _ := strings.Cut(name, "{")
		if !strings.HasPrefix(line, "#") {
			names[name] = true
			for _, l := range labelName.FindAllStringSubmatch(inside+" "+rest, -1) {
				labels[l[1]] = true
			}
		}
	}
	return names, labels
}

var (
	labelName  = regexp.MustCompile(`([a-z_]+)="`)
	labelsOf   = regexp.MustCompile(`\b(?:by|without|on|ignoring) ?\(([^)]*)\)`)
	inBraces   = regexp.MustCompile(`\{[^}]*\}`)
	inBrackets = regexp.MustCompile(`\[[^\]]*\]`)
	word       = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*(?:\s*\()?`)
)

// inQuery returns the metrics and labels of a PromQL expression of the kind that these files contain.
func inQuery(expr string) (names, labels []string) {
	for _, list := range labelsOf.FindAllStringSubmatch(expr, -1) {
		for name := range strings.SplitSeq(list[1], ",") {
			labels = append(labels, strings.TrimSpace(name))
		}
	}
	for _, braces := range inBraces.FindAllString(expr, -1) {
		for _, l := range regexp.MustCompile(`([a-z_]+)\s*[=!]`).FindAllStringSubmatch(braces, -1) {
			labels = append(labels, l[1])
		}
	}
	rest := inBrackets.ReplaceAllString(inBraces.ReplaceAllString(labelsOf.ReplaceAllString(expr, ""), ""), "")
	for _, name := range word.FindAllString(rest, -1) {
		if !strings.HasSuffix(name, "(") && name != "and" && name != "or" && name != "unless" {
			names = append(names, name)
		}
	}
	return names, labels
}

func TestInQuery(t *testing.T) {
	names, labels := inQuery(
		`topk(3, sum by (le, code) (rate(a_total{instance=~"$x", b!="c"}[5m])) / 2 unless up{job="d"} == 0)`)
	assert.Equal(t, []string{"a_total", "up"}, names)
	assert.Equal(t, []string{"le", "code", "instance", "b", "job"}, labels)
}

// Every metric and label of the board and of the alert rules exists, and each gauge of ours is shown.
func TestBoardAndAlerts(t *testing.T) {
	exposed, known := served(t)
	known["le"] = true
	var board struct {
		Panels []struct {
			ID      int
			Title   string
			Type    string
			Targets []struct{ Expr, RefID string }
		}
		Templating struct{ List []struct{ Name string } }
	}
	require.NoError(t, json.Unmarshal([]byte(deployed(t, "deploy", "grafana.json")), &board))
	exprs, ids := []string{}, map[int]bool{}
	for _, p := range board.Panels {
		assert.False(t, ids[p.ID], "two panels have the id %d", p.ID)
		ids[p.ID] = true
		assert.NotEmpty(t, p.Title)
		assert.Equal(t, p.Type == "row", len(p.Targets) == 0, p.Title)
		for _, target := range p.Targets {
			exprs = append(exprs, target.Expr)
		}
	}
	shown := map[string]bool{}
	alerts := deployedYAML(t, "alerts.yaml")
	for _, group := range alerts["groups"].([]any) {
		for _, rule := range group.(map[string]any)["rules"].([]any) {
			exprs = append(exprs, rule.(map[string]any)["expr"].(string))
			assert.NotEmpty(t, rule.(map[string]any)["annotations"])
		}
	}
	for g, most := range map[metrics.Gauge]time.Duration{metrics.BackupAge: backupAge, metrics.AuditAge: auditAge} {
		assert.Contains(t, exprs, fmt.Sprintf("%s unless %[1]s <= %d * 86400", g, most/day), "as diagd doctor has it")
	}
	for _, expr := range exprs {
		names, labels := inQuery(expr)
		assert.NotEmpty(t, names, expr)
		for _, name := range names {
			assert.True(t, exposed[name], "%s: there is no metric %s", expr, name)
			shown[name] = true
		}
		for _, label := range labels {
			assert.True(t, known[label], "%s: there is no label %s", expr, label)
		}
	}
	for name := range exposed {
		base := regexp.MustCompile(`_(sum|count)$`).ReplaceAllString(name, "_bucket")
		if strings.HasPrefix(name, "diagkit_") {
			assert.True(t, shown[name] || shown[base], "no panel shows %s", name)
		}
	}
}

// Every setting that the files name exists.
func TestDeployedSettings(t *testing.T) {
	settings := settingFlags()
	known := func(where, name string) {
		assert.NotNil(t, settings.Lookup(name), "%s: unknown setting %s", where, name)
	}
	variable := regexp.MustCompile(`\bDIAG_[A-Z_]+`)
	for _, path := range []string{
		"deploy/compose.yaml", "deploy/diagd.service", "deploy/diagd.conf", "../../Dockerfile", "../../README.md",
		"docs/administration.md", "docs/several-servers.md", "docs/billing.md", "docs/hosted-spf.md", "docs/install.md",
	} {
		for _, name := range variable.FindAllString(deployed(t, path), -1) {
			flag := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, "DIAG_")), "_", "-")
			if name != "DIAG_KEY" && name != "DIAG_SERVER" { // of the program diag
				known(path, flag)
			}
		}
	}
	for line := range strings.Lines(deployed(t, "deploy", "diagd.conf")) {
		key, _, ok := strings.Cut(strings.TrimPrefix(line, "# "), " = ")
		if ok && !strings.Contains(key, " ") {
			known("deploy/diagd.conf", key)
		}
	}

	// Commands are parsed as diagd would.
	commands := regexp.MustCompile(`(?m)(?:^Exec\w+=/usr/local/bin/|^    )diagd( [^\\\n]*)?`)
	count := 0
	for _, path := range []string{
		"deploy/diagd.service", "docs/administration.md", "docs/notifications.md", "docs/backup.md", "docs/hosted-spf.md",
		"docs/install.md",
	} {
		for _, found := range commands.FindAllStringSubmatch(deployed(t, path), -1) {
			count++
			cmd, rest, err := (&app{}).command().Find(strings.Fields(found[1]))
			require.NoError(t, err, "%s: %s", path, found[0])
			for _, arg := range rest {
				if name, isFlag := strings.CutPrefix(arg, "--"); isFlag {
					name, _, _ = strings.Cut(name, "=")
					assert.NotNil(t, lookupFlag(cmd.Flags(), cmd.InheritedFlags(), name), "%s: %s", path, found[0])
				}
			}
		}
	}
	assert.Greater(t, count, 5)
	require.Empty(t, settingFaults(t, filepath.Join("deploy", "diagd.conf")))
}

func lookupFlag(own, inherited *pflag.FlagSet, name string) *pflag.Flag {
	if f := own.Lookup(name); f != nil {
		return f
	}
	return inherited.Lookup(name)
}

// settingFaults are those of a file, but that the folders of a real machine are not there.
func settingFaults(t testing.TB, path string) (faults []settingFaultView) {
	_, v, _ := checkConfig(t, "--config", path)
	for _, f := range v.Faults {
		if f.Setting != "store" {
			faults = append(faults, f)
		}
	}
	return faults
}

// The compose file is read by two readers, and names nothing that is not there.
func TestCompose(t *testing.T) {
	file := deployedYAML(t, "compose.yaml")
	services, volumes := file["services"].(map[string]any), file["volumes"].(map[string]any)
	for name, s := range services {
		service := s.(map[string]any)
		needs, _ := service["depends_on"].(map[string]any)
		for other := range needs {
			require.Contains(t, services, other, name)
			assert.Contains(t, services[other].(map[string]any), "healthcheck", "%s waits for the health of %s", name, other)
		}
		mounts, _ := service["volumes"].([]any)
		for _, m := range mounts {
			source, _, _ := strings.Cut(m.(string), ":")
			if strings.HasPrefix(source, ".") {
				assert.FileExists(t, filepath.Join("deploy", source), name)
			} else {
				assert.Contains(t, volumes, source, name)
			}
		}
		if build, ok := service["build"].(string); ok {
			assert.FileExists(t, filepath.Join("deploy", build, "Dockerfile"))
		} else {
			assert.Regexp(t, `:\S+$`, service["image"], "an image has a version")
		}
	}
	scrape := deployedYAML(t, "prometheus.yaml")
	text, err := json.Marshal(scrape)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"names":["diagd"]`)
	assert.Contains(t, string(text), `"job_name":"diagd"`)
	assert.Contains(t, string(text), `"port":9090`)
	env := services["diagd"].(map[string]any)["environment"].(map[string]any)
	assert.Equal(t, "0.0.0.0:9090", env["DIAG_METRICS_LISTEN"])
	for name, value := range env {
		t.Setenv(name, regexp.MustCompile(`\$\{[^}]*\}`).ReplaceAllString(value.(string), "password"))
	}
	code, v, _ := checkConfig(t)
	assert.Equal(t, exitOK, code, "%+v", v.Faults)
}

// The unit is sound and exposes little, by systemd's own measure.
func TestUnit(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("needs the program systemd-analyze (Debian: apt-get install systemd); .ci/run installs it")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	unit := filepath.Join(t.TempDir(), "diagd.service")
	text := strings.ReplaceAll(deployed(t, "deploy", "diagd.service"), "/usr/local/bin/diagd", self)
	require.NoError(t, os.WriteFile(unit, []byte(text), 0o600))
	var out bytes.Buffer
	for _, args := range [][]string{
		{"verify", "--recursive-errors=no", unit},
		{"security", "--offline=true", "--threshold=20", unit}, // 2.0 of 10
	} {
		cmd := exec.CommandContext(t.Context(), "systemd-analyze", args...)
		cmd.Stdout, cmd.Stderr = &out, &out
		out.Reset()
		require.NoError(t, cmd.Run(), "%s", &out)
		if args[0] == "verify" {
			assert.Empty(t, out.String())
		}
	}
}
