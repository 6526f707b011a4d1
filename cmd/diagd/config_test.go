package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// checkConfig runs "diagd config check" and returns its exit code and its faults.
func checkConfig(t testing.TB, args ...string) (code int, v configView, text string) {
	t.Helper()
	var human, out, err bytes.Buffer
	run(t.Context(), append([]string{"config", "check"}, args...), &human, &human)
	code = run(t.Context(), append([]string{"config", "check", "--json"}, args...), &out, &err)
	require.NoError(t, json.Unmarshal(out.Bytes(), &v), "%s", &err)
	return code, v, human.String() + out.String() + err.String()
}

// All faults are reported together, with the place where each is set and what to do.
func TestConfigCheck(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, plansFile), []byte("["), 0o600))
	config := writeConfig(t, `# settings
lisen = 127.0.0.1:80
ip-rate = many
trusted-proxies = here
data = `+dir+`
data = other
nonsense
log-level = loud # very
metrics-listen = 127.0.0.1:http:1
`)
	t.Setenv("DIAG_LOG_FORMATS", "json")
	t.Setenv("DIAG_STORE", "sqlite:"+filepath.Join(dir, "absent", "diag.db"))
	code, v, text := checkConfig(t, "--config", config, "--resolver=gopher://192.0.2.1", "--tls-cert=a.pem")
	assert.Equal(t, exitFaults, code)
	assert.Contains(t, text, "the settings have faults (12)")
	got := map[string]settingFaultView{}
	for _, f := range v.Faults {
		got[strings.Replace(f.Source, config, "conf", 1)+" "+f.Setting] = f
		assert.NotEmpty(t, f.Remedy, f.Fault)
	}
	for place, want := range map[string][2]string{
		"conf:2 ":                {"unknown setting", "did you mean listen?"},
		"conf:3 ip-rate":         {"is not a number", "requests per minute"},
		"conf:4 trusted-proxies": {`"here" is not a network`, "X-Forwarded-For is trusted"},
		"conf:5 data":            {plansFile + ": reading the plans", "folder with files"},
		"conf:6 data":            {"data is set twice", "remove this line or " + config + ":5"},
		"conf:7 ":                {"a line must be 'key = value'", "write a value"},
		"conf:8 log-level":       {"a comment must be on its own line", "double quotes"},
		"conf:9 metrics-listen":  {"too many colons", "Prometheus"},
		"the environment ":       {"unknown setting DIAG_LOG_FORMATS", "did you mean DIAG_LOG_FORMAT?"},
		"DIAG_STORE store":       {"no such file or directory", "where accounts, keys and charges are stored"},
		"--resolver resolver":    {"gopher", "name servers to query"},
		"--tls-cert tls-cert":    {"must be set together", "PEM file"},
	} {
		assert.Contains(t, got[place].Fault, want[0], place)
		assert.Contains(t, got[place].Remedy, want[1], place)
		delete(got, place)
	}
	assert.Empty(t, got)

	code = run(t.Context(), []string{"config", "check", "--nonsense"}, new(bytes.Buffer), new(bytes.Buffer))
	assert.Equal(t, exitUsage, code)
	code = run(t.Context(), []string{"config", "check", "--config", dir + "/none"}, new(bytes.Buffer), new(bytes.Buffer))
	assert.Equal(t, exitFaults, code)
}

// What is in force is shown with its origin, and nothing is written: not even the store that a start would make.
func TestConfigCheckWritesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	config := writeConfig(t, "listen = 0.0.0.0:8080\nip-rate = 7\n")
	t.Setenv("DIAG_IP_RATE", "8")
	code, v, _ := checkConfig(t, "--config", config, "--allow-networks", "10.0.0.0/8, 192.0.2.1",
		"--acme-domain=diag.example")
	assert.Equal(t, exitOK, code)
	assert.Empty(t, v.Faults)
	for _, want := range []settingView{
		{"listen", "0.0.0.0:8080", config + ":1"}, {"ip-rate", "8", "DIAG_IP_RATE"}, {"store", "sqlite:diag.db", "default"},
		{"allow-networks", "10.0.0.0/8, 192.0.2.1", "--allow-networks"},
	} {
		assert.Contains(t, v.Settings, want)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
	count := 0
	settingFlags().VisitAll(func(*pflag.Flag) { count++ })
	assert.Len(t, v.Settings, count)
}

// No secret is shown, whether the setting is good or bad.
func TestConfigCheckHidesSecrets(t *testing.T) {
	for _, args := range [][]string{
		{"--spf-dns-tsig=hmac-sha256:name:s3cretbase64"},
		{"--spf-dns-listen=127.0.0.1:0", "--spf-dns-zone=a.example", "--spf-dns-ns=ns.b.example",
			"--spf-dns-tsig=s3cretbase64"},
		{"--resolver=https://user:s3cretbase64@192.0.2.1:x/"},
		{"--resolver=https://user:s3cretbase64@192.0.2.1/dns-query?token=s3cretbase64"},
		{"--store=postgres://user:s3cretbase64@127.0.0.1:1/diag?password=s3cretbase64&sslmode=disable"},
		{"--store=postgres://user:s3cretbase64%@127.0.0.1"},
		{"--redis=redis://user:s3cretbase64@127.0.0.1:6379"},
		{"--redis=redis://user:s3cretbase64@127.0.0.1:x"},
		{"--store=postgres://user:1/s3cretbase64@127.0.0.1"},
		{"--store=postgres://user:1#s3cretbase64@127.0.0.1/db"},
		{"--store=memory:", "--redis=redis://user:s3cretbase64@127.0.0.1:1/0"},
		{"--store=memory:", "--redis=redis://user:1/s3cretbase64@127.0.0.1"},
		{"--mail-server=submissions://user:s3cretbase64@mail.example", "--mail-from=a@example.com"},
		{"--mail-server=submissions://user:s3cretbase64@mail.example:x", "--mail-from=a@example.com"},
		{"--biller=https://pay.example/", "--biller-secret=whsec_s3cretbase64"},
	} {
		_, _, text := checkConfig(t, args...)
		assert.NotContains(t, text, "s3cretbase64", args)
		assert.Contains(t, text, redacted)
		if strings.HasPrefix(args[0], "--store") { // errors of other commands name the store
			var errs bytes.Buffer
			run(t.Context(), []string{"usage", args[0]}, &errs, &errs)
			assert.NotContains(t, errs.String(), "s3cretbase64")
		}
	}
}

// A fault is reported once, and names its place only once.
func TestConfigCheckFaults(t *testing.T) {
	for _, c := range []struct{ args, setting, fault string }{
		{"--biller=http://x", "biller", "must be file:DIR, an https://… URL or stripe"},
		{"--mail-from=a@example.com", "mail-from", "needs --mail-server, the server to submit mail to"},
		{"--data=/does/not/exist", "data", "stat /does/not/exist: no such file or directory"},
		{"--trusted-proxies=0.0.0.0/0", "trusted-proxies", "0.0.0.0/0 includes all clients, which could then claim any address; name your proxies"},
		{"--trusted-proxies=10.0.0.0/8,::/0", "trusted-proxies", "::/0 includes all clients, which could then claim any address; name your proxies"},
	} {
		code, v, _ := checkConfig(t, c.args)
		assert.Equal(t, exitFaults, code, c.args)
		require.Len(t, v.Faults, 1, c.args)
		assert.Equal(t, c.setting, v.Faults[0].Setting)
		assert.Equal(t, c.fault, v.Faults[0].Fault)
	}
}
