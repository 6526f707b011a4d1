package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/stretchr/testify/require"
)

// A scenarioFile is a small world, a request, and what the reply must tell a reader: state, severity, headline,
// advice, and that the advice does no harm.
type scenarioFile struct {
	Name      string          `json:"name"`
	Operation string          `json:"operation"` // method and path under Prefix, or "diag" and a target
	Args      []string        `json:"args"`      // of diag
	Why       string          `json:"why"`
	World     scenarioWorld   `json:"world"`
	Request   json.RawMessage `json:"request"`
	Expect    expectation     `json:"expect"`
	path      string
}

// superseded maps the name of a scenario to the reason why a copy in $CONFORMANCE_DIR that differs from the one in
// testdata is not played: the contract has changed since.
var superseded = map[string]string{
	"deliver-dmarc-p-none-monitoring": "no value is suggested in place of a p=none that works (CONTRACT 1.8)",
	"domain-dmarc-none-with-reports":  "no value is suggested in place of a p=none that works (CONTRACT 1.8)",
}

// scenarioFiles reads the whole set, by path below the folder "scenarios": those of testdata, and others of
// $CONFORMANCE_DIR. Each file is one of a row of the contract, and has nothing that this test does not know.
func scenarioFiles(t *testing.T) map[string]*scenarioFile {
	rows := map[string]bool{}
	for _, row := range goldenTable(t) {
		rows[row.Method+" "+strings.TrimPrefix(row.Path, Prefix)] = true
	}
	files := map[string]*scenarioFile{}
	for _, path := range diagtest.Vectors(t, "scenarios") {
		if filepath.Ext(path) != ".json" {
			continue
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		file, err := readScenario(text)
		require.NoError(t, err, path)
		file.path = path
		if file.target() == "" {
			require.True(t, rows[file.Operation], "%s: %s is no operation of the contract", path, file.Operation)
			require.Empty(t, file.Args, "%s: an operation has no args", path)
		} else {
			require.Empty(t, file.Request, "%s: a target has no request", path)
			only := expectation{Screen: file.Expect.Screen}
			require.Equal(t, only, file.Expect, "%s: a target is judged by its screen alone", path)
			require.NotNil(t, only.Screen, "%s: nothing is judged", path)
		}
		slashed := filepath.ToSlash(path)
		const folder = "/scenarios/"
		short := slashed[strings.LastIndex(slashed, folder)+len(folder):]
		if files[short] != nil { // one of $CONFORMANCE_DIR, changed
			if superseded[file.Name] != "" {
				continue
			}
			short = "other/" + short
		}
		files[short] = file
	}
	require.NotEmpty(t, files, "there is no scenario")
	for name := range superseded {
		ours := func(f *scenarioFile) bool { return f.Name == name }
		require.True(t, slices.ContainsFunc(slices.Collect(maps.Values(files)), ours), "no scenario is called %s any more", name)
	}
	return files
}

// readScenario reads a file, and refuses keys that nothing reads.
func readScenario(text []byte) (*scenarioFile, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	file := &scenarioFile{}
	return file, d.Decode(file)
}

// An unused key fails a scenario, at any depth.
func TestScenarioKeys(t *testing.T) {
	for _, text := range []string{
		`{%s}`, `{"world": {%s}}`, `{"world": {"answers": [{%s}]}}`, `{"world": {"servers": {"ns1.example.com.": {%s}}}}`,
		`{"world": {"signed_by": {"example.com.": {"signers": [{%s}]}}}}`, `{"world": {"https": {"example.com": {%s}}}}`,
		`{"world": {"https": {"example.com": {"addresses": {"192.0.2.1": {%s}}}}}}`, `{"expect": {%s}}`,
		`{"world": {"https": {"example.com": {"front": {%s}}}}}`,
		`{"world": {"https": {"example.com": {"crl": {%s}}}}}`, `{"expect": {"screen": {%s}}}`,
	} {
		_, err := readScenario([]byte(strings.Replace(text, "%s", "", 1)))
		require.NoError(t, err, text)
		_, err = readScenario([]byte(strings.Replace(text, "%s", `"other": true`, 1)))
		require.ErrorContains(t, err, "unknown field", text)
	}
}

// Scenarios are addressed by their names, which are distinct.
func TestScenarioNames(t *testing.T) {
	names := map[string]string{}
	for path, file := range scenarioFiles(t) {
		name := strings.TrimSuffix(filepath.ToSlash(file.path), path) + file.Name // those of a folder
		require.Empty(t, names[name], "%s: another file has the name %s", file.path, file.Name)
		names[name] = file.path
	}
}

// target returns the argument of the command line; empty for an operation.
func (s *scenarioFile) target() string {
	target, _ := strings.CutPrefix(s.Operation, "diag ")
	if target == s.Operation {
		return ""
	}
	return target
}

// A TargetScreen returns the output of diag about a target, which only a test outside of this package can run: the
// package that examines targets imports this one.
type TargetScreen func(ctx context.Context, env *diag.Env, target string, args []string) (string, error)

// PlayScenarios plays each scenario of an operation that is built, or of a target, and judges every expectation.
func PlayScenarios(t *testing.T, screenOf TargetScreen) {
	files := scenarioFiles(t)
	built, waiting := map[string]Endpoint{}, map[string]int{}
	for _, ep := range endpoints {
		built[ep.Method+" "+ep.Path] = ep
	}
	played, passed := 0, 0
	for _, path := range sortedKeys(files) {
		file := files[path]
		ep, ok := built[file.Operation]
		if !ok && file.target() == "" {
			waiting[file.Operation]++
			continue
		}
		played++
		t.Run(strings.TrimSuffix(path, ".json"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var faults []string
				var reply playedReply
				if target := file.target(); target != "" {
					var err error
					reply.screen, err = screenOf(t.Context(), file.World.build(t).Env(), target, file.Args)
					require.NoError(t, err)
					faults = file.Expect.Screen.judge(reply.screen)
				} else {
					reply = file.play(t, ep)
					faults = file.Expect.judge(reply)
				}
				for _, fault := range faults {
					t.Error(fault)
				}
				if len(faults) > 0 {
					t.Logf("why: %s (%s)\n%s", file.Why, file.path, reply.screen)
				} else {
					passed++
				}
			})
		})
	}
	require.NotZero(t, played, "no scenario is of an operation that is built")
	t.Logf("scenarios: %d/%d", passed, played)
	for _, op := range sortedKeys(waiting) {
		t.Logf("not built: %s, %d scenarios", op, waiting[op])
	}
}

// A playedReply is the outcome of the request of a scenario.
type playedReply struct {
	status int
	body   []byte
	screen string // the output of diag; empty if there is no report
}

// play runs the request as the server decodes it.
func (s *scenarioFile) play(t *testing.T, ep Endpoint) playedReply {
	world := s.World.build(t)
	result, err := ep.Run(t.Context(), world.Env(), privateKeys(t, s.Request))
	if err == nil {
		reply := playedReply{status: http.StatusOK, body: result.Body}
		if s.Expect.Screen != nil {
			var screen strings.Builder
			o := render.Options{Width: ScreenWidth, Title: ep.Name()}
			require.NoError(t, render.Text(&screen, View(result.Report), o))
			reply.screen = screen.String()
		}
		return reply
	}
	f := problemFor(err)
	body, err := encode(f.problem)
	require.NoError(t, err)
	return playedReply{status: f.status, body: body}
}

// The world of every scenario can be made, also for operations that are not built.
func TestConformanceScenarioWorlds(t *testing.T) {
	for path, file := range scenarioFiles(t) {
		t.Run(strings.TrimSuffix(path, ".json"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				world := file.World.build(t)
				require.NoError(t, world.Err())
				require.True(t, file.target() != "" || json.Valid(privateKeys(t, file.Request)))
			})
		})
	}
}
