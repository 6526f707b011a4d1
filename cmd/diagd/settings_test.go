package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/mailauth/dnsbl"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// writeConfig writes a settings file.
func writeConfig(t testing.TB, text string) (path string) {
	path = filepath.Join(t.TempDir(), "diagd.conf")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// The command line outranks the environment, and that the file.
func TestSettings(t *testing.T) {
	dir := func() string {
		d := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(d, plansFile), []byte("[]"), 0o600))
		return d
	}
	ofFlag, ofEnv, ofFile := dir(), dir(), dir()
	config := writeConfig(t, "# where lists are\n\n data = \""+ofFile+"\"\nresolver = udp://192.0.2.1, tcp://192.0.2.2\n")
	for _, test := range []struct {
		name string
		env  map[string]string
		args []string
		want string
	}{
		{"nothing", nil, nil, "built-in"},
		{"file", nil, []string{"--config", config}, ofFile},
		{"file named by the environment", map[string]string{"DIAG_CONFIG": config}, nil, ofFile},
		{"environment", map[string]string{"DIAG_DATA": ofEnv}, nil, ofEnv},
		{"environment and file", map[string]string{"DIAG_DATA": ofEnv}, []string{"--config", config}, ofEnv},
		{"all", map[string]string{"DIAG_DATA": ofEnv}, []string{"--config", config, "--data", ofFlag}, ofFlag},
		{"of other programs", map[string]string{"DIAG_KEY": "svc_live_x", "DIAG_SERVER": "https://diag.example",
			"DIAG_SERVICE_HOST": "10.0.0.1", "DIAG_PORT": "tcp://10.0.0.1:80", "DIAG_PORT_80_TCP": "tcp://10.0.0.1:80",
			"DIAG_TEST_X": "1", "DIAGNOSE": "1"}, nil, "built-in"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			views := parsed[[]dataView](t, append([]string{"data", "list"}, test.args...)...)
			at := slices.IndexFunc(views, func(v dataView) bool { return v.Name == plansFile })
			require.GreaterOrEqual(t, at, 0)
			assert.Equal(t, test.want, views[at].Source)
		})
	}
}

// All settings of the server can come from a file.
func TestSettingsOfServer(t *testing.T) {
	t.Chdir(t.TempDir()) // of the file of the first start
	config := writeConfig(t, `
		store = memory:
		log-format = json
		log-level = debug
		ip-rate = 0
		allow-networks = 10.0.0.0/8, 192.168.1.1
		allow-ports = 8025
		trusted-proxies = 127.0.0.1
		resolver = udp://127.0.0.1:5353
	`)
	s := start(t, "--config", config)
	s.post("/text/upper", upper)
	assert.Contains(t, s.log.String(), `"level":"DEBUG"`)
}

func TestBadSettings(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"unknown", "listen = 127.0.0.1:0\nlisen = 127.0.0.1:0", `diagd.conf:2: unknown setting "lisen"`},
		{"of one call", "json = true", `diagd.conf:1: unknown setting "json"`},
		{"itself", "config = other", `diagd.conf:1: unknown setting "config"`},
		{"twice", "data = a\ndata = b", "diagd.conf:2: data is set twice"},
		{"no value", "data", "diagd.conf:1: a line must be 'key = value'"},
		{"comment behind a value", "listen = 127.0.0.1:8080 # local", "diagd.conf:1: a comment must be on its own line"},
		{"comment in place of a value", "data =\t# none", "diagd.conf:1: a comment must be on its own line"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out, err bytes.Buffer
			got := run(t.Context(), []string{"data", "list", "--config", writeConfig(t, test.text)}, &out, &err)
			assert.Equal(t, exitUsage, got)
			assert.Contains(t, err.String(), test.want)
		})
	}
	t.Run("no number", func(t *testing.T) {
		t.Setenv("DIAG_IP_RATE", "many")
		var out, err bytes.Buffer
		assert.Equal(t, exitUsage, run(t.Context(), []string{"serve"}, &out, &err))
		assert.Contains(t, err.String(), "DIAG_IP_RATE: ip-rate: ")
	})
	for _, name := range []string{"DIAG_LISEN", "DIAG_JSON", "DIAG_"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "x")
			var out, err bytes.Buffer
			assert.Equal(t, exitUsage, run(t.Context(), []string{"data", "list"}, &out, &err))
			assert.Contains(t, err.String(), "unknown setting "+name+";")
		})
	}
	t.Run("quoted", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "a #b")
		require.NoError(t, os.Mkdir(dir, 0o700))
		command(t, "data", "list", "--config", writeConfig(t, `data = "`+dir+`"`))
	})
	t.Run("no folder", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		for _, dir := range []string{filepath.Join(t.TempDir(), "absent"), file} {
			for _, args := range []string{"serve --store memory: --listen 127.0.0.1:0", "data list", "data show plans.json"} {
				var out, err bytes.Buffer
				assert.Equal(t, exitFailed, run(t.Context(), append(strings.Fields(args), "--data", dir), &out, &err), args)
				assert.Contains(t, err.String(), dir)
			}
		}
	})
	t.Run("no file", func(t *testing.T) {
		var out, err bytes.Buffer
		assert.Equal(t, exitFailed, run(t.Context(), []string{"data", "list", "--config", "no/such/file"}, &out, &err))
		assert.Contains(t, err.String(), "--config: ")
	})
}

// The output of "data show" is a valid file of that name.
func TestData(t *testing.T) {
	dir := t.TempDir()
	builtIn := command(t, "data", "show", plansFile)
	assert.Contains(t, builtIn, `"id": "agency"`)
	require.NoError(t, os.WriteFile(filepath.Join(dir, plansFile), []byte(builtIn), 0o600))
	assert.Equal(t, builtIn, command(t, "data", "show", plansFile, "--data", dir))
	start(t, "--store=memory:", "--data", dir)
	assert.Contains(t, command(t, "data", "list", "--data", dir), dir)
	assert.Contains(t, command(t, "data", "list"), "built-in")

	for _, test := range []struct{ name, text, want string }{
		{"no JSON", "[", "unexpected EOF"},
		{"unknown field", `[{"id":"a","colour":"red"}]`, `unknown field "colour"`},
		{"twice", `[{"id":"a","per_minute":1},{"id":"a","per_minute":1}]`, "a is listed twice"},
		{"senseless", `[{"id":"a"}]`, "per_minute must be at least 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, plansFile), []byte(test.text), 0o600))
			var out, err bytes.Buffer
			assert.Equal(t, exitFailed, run(t.Context(), []string{"serve", "--store=memory:", "--data", dir}, &out, &err))
			assert.Contains(t, err.String(), filepath.Join(dir, plansFile))
			assert.Contains(t, err.String(), test.want)
		})
	}
}

// Keys of blocklists are checked at the start, and never shown.
func TestKeysAreNotShown(t *testing.T) {
	dir, key := t.TempDir(), "S3cretKey"
	file := filepath.Join(dir, dnsbl.KeysFile)
	require.NoError(t, os.WriteFile(file, []byte(`{"spamhaus": "`+key+`"}`), 0o600))
	start(t, "--store=memory:", "--data", dir)
	assert.Equal(t, "{}\n", command(t, "data", "show", dnsbl.KeysFile))
	assert.Contains(t, command(t, "data", "show", dnsbl.File), "zen.spamhaus.org")
	for _, args := range [][]string{{"data", "show", dnsbl.KeysFile}, {"serve", "--store=memory:"}} {
		var out, err bytes.Buffer
		if args[0] == "serve" {
			require.NoError(t, os.WriteFile(file, []byte(`{"spamhaus": "`+key+`",}`), 0o600))
		}
		assert.NotZero(t, run(t.Context(), append(args, "--data", dir), &out, &err))
		assert.NotContains(t, out.String()+err.String(), key)
		assert.Contains(t, err.String(), dnsbl.KeysFile)
	}
}

// An operator's own plan is sold.
func TestOwnPlan(t *testing.T) {
	dir := t.TempDir()
	plans := `[{"id":"self","name":"Own use","currency":"EUR","price_cents":null,"credits":3,"per_minute":100}]`
	require.NoError(t, os.WriteFile(filepath.Join(dir, plansFile), []byte(plans), 0o600))
	s := start(t, "--store=memory:", "--data", dir)
	for range 3 {
		assert.Equal(t, 200, s.post("/text/upper", upper).status)
	}
	assert.Contains(t, s.post("/text/upper", upper).body, "QUOTA_EXCEEDED")
}
