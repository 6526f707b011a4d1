package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// A scenarioFile is a small world, a request, and what the reply must tell a person: state, severity,
// headline, advice, and that the advice harms nobody.
type scenarioFile struct {
	Name      string          `json:"name"`
	Operation string          `json:"operation"` // method and path under Prefix
	Why       string          `json:"why"`
	World     scenarioWorld   `json:"world"`
	Request   json.RawMessage `json:"request"`
	Expect    expectation     `json:"expect"`
	path      string
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
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		file := &scenarioFile{path: path}
		require.NoError(t, d.Decode(file), path)
		require.True(t, rows[file.Operation], "%s: %s is no operation of the contract", path, file.Operation)
		slashed := filepath.ToSlash(path)
		const folder = "/scenarios/"
		short := slashed[strings.LastIndex(slashed, folder)+len(folder):]
		if files[short] != nil { // one of $CONFORMANCE_DIR, changed
			short = "other/" + short
		}
		files[short] = file
	}
	require.NotEmpty(t, files, "there is no scenario")
	return files
}

// Scenarios are called by their names, which are told apart.
func TestScenarioNames(t *testing.T) {
	names := map[string]string{}
	for path, file := range scenarioFiles(t) {
		name := strings.TrimSuffix(filepath.ToSlash(file.path), path) + file.Name // those of a folder
		require.Empty(t, names[name], "%s: another file has the name %s", file.path, file.Name)
		names[name] = file.path
	}
}

// Each scenario of an operation that is built is played, and every expectation judged.
func TestConformanceScenarios(t *testing.T) {
	files := scenarioFiles(t)
	built, waiting := map[string]Endpoint{}, map[string]int{}
	for _, ep := range endpoints {
		built[ep.Method+" "+ep.Path] = ep
	}
	played, passed := 0, 0
	for _, path := range sortedKeys(files) {
		file := files[path]
		ep, ok := built[file.Operation]
		if !ok {
			waiting[file.Operation]++
			continue
		}
		played++
		t.Run(strings.TrimSuffix(path, ".json"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				status, body := file.play(t, ep)
				faults := file.Expect.judge(status, body)
				for _, fault := range faults {
					t.Error(fault)
				}
				if len(faults) > 0 {
					t.Logf("why: %s (%s)", file.Why, file.path)
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

// play runs the request as the server decodes it.
func (s *scenarioFile) play(t *testing.T, ep Endpoint) (status int, body []byte) {
	world := s.World.build(t)
	result, err := ep.Run(t.Context(), world.Env(), privateKeys(t, s.Request))
	if err == nil {
		return http.StatusOK, result.Body
	}
	f := problemFor(err)
	body, err = encode(f.problem)
	require.NoError(t, err)
	return f.status, body
}

// The world of every scenario can be made, also for operations that are not built.
func TestConformanceScenarioWorlds(t *testing.T) {
	for path, file := range scenarioFiles(t) {
		t.Run(strings.TrimSuffix(path, ".json"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				world := file.World.build(t)
				require.NoError(t, world.Err())
				require.True(t, json.Valid(privateKeys(t, file.Request)))
			})
		})
	}
}
