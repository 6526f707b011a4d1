package buildinfo

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestText(t *testing.T) {
	end := "contract " + httpapi.Version + "\ngo1.26.8 " + runtime.GOOS + "/" + runtime.GOARCH + "\n"
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "4317c95"}
	at := debug.BuildSetting{Key: "vcs.time", Value: "2026-11-26T03:21:44+01:00"}
	for _, test := range []struct {
		name, version string
		settings      []debug.BuildSetting
		want          string
	}{
		{"of the proxy", "v1.2.3", nil, "diag v1.2.3\n"},
		{"of a repository", "v1.2.3", []debug.BuildSetting{commit, at, {Key: "vcs.modified", Value: "false"}},
			"diag v1.2.3\ncommit 4317c95 of 2026-11-26T02:21:44Z\n"},
		{"with changes", "v1.2.3+dirty", []debug.BuildSetting{commit, at, {Key: "vcs.modified", Value: "true"}},
			"diag v1.2.3+dirty\ncommit 4317c95 of 2026-11-26T02:21:44Z, with uncommitted changes\n"},
		{"no time", "v1.2.3", []debug.BuildSetting{commit, {Key: "vcs.time", Value: "soon"}}, "diag v1.2.3\ncommit 4317c95\n"},
		{"before any tag", "v0.0.0-20261126022144-4317c95a8c11", []debug.BuildSetting{commit},
			"diag v0.9.0\ncommit 4317c95\n"},
		{"after a tag", "v0.9.1-0.20261126022144-4317c95a8c11", nil, "diag v0.9.1-0.20261126022144-4317c95a8c11\n"},
		{"go run", "(devel)", nil, "diag v0.9.0\n"},
		{"nothing recorded", "", nil, "diag v0.9.0\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			build := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: test.version}, Settings: test.settings}
			assert.Equal(t, test.want+end, describe(build).Text("diag"))
		})
	}
}

func TestRead(t *testing.T) {
	info := Read()
	assert.Equal(t, httpapi.Version, info.Contract)
	assert.Equal(t, runtime.Version(), info.Go)
	text, err := json.Marshal(describe(&debug.BuildInfo{GoVersion: "go1.26.8"}))
	require.NoError(t, err)
	assert.JSONEq(t, `{"version":"v0.9.0","contract_version":"`+httpapi.Version+`","go_version":"go1.26.8","platform":"`+
		runtime.GOOS+"/"+runtime.GOARCH+`"}`, string(text))
}
