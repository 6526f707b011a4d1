package httpapi

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/require"
)

// golden is a row of testdata/endpoints.json, the table of the wire contract.
type golden struct {
	Method  string         `json:"method"`
	Path    string         `json:"path"`
	Scope   metering.Scope `json:"scope"`
	Credits int64          `json:"credits"`
	Purpose string         `json:"purpose"`
}

func goldenTable(t *testing.T) []golden {
	data, err := os.ReadFile(filepath.Join("testdata", "endpoints.json"))
	require.NoError(t, err)
	var rows []golden
	require.NoError(t, json.Unmarshal(data, &rows))
	return rows
}

// The table is that of the contract: the same rows, letter for letter, in the same order.
func TestContract(t *testing.T) {
	rows := goldenTable(t)
	require.Len(t, rows, 62)
	var built []golden
	for _, ep := range endpoints {
		built = append(built, golden{ep.Method, Prefix + ep.Path, ep.Scope, ep.Credits, ep.Purpose})
	}
	require.Equal(t, rows, built)
}

// spf/lookup takes names with underscores, as those that others include; no wildcard, and not the root
// (CONTRACT 3.3.1).
func TestNamesOfSPFLookup(t *testing.T) {
	at := slices.IndexFunc(endpoints, func(ep Endpoint) bool { return ep.Path == "/spf/lookup" })
	world := exampleWorld(t)
	for name, reason := range map[string]string{
		"example.com": "", "_spf.example.com": "", "*.example.com": reasonInvalid, ".": reasonInvalid, "": reasonInvalid,
		"a b.example": reasonInvalid,
	} {
		_, err := endpoints[at].Run(t.Context(), world.Env(), []byte(`{"domain":"`+name+`"}`))
		if reason == "" {
			require.NoError(t, err, name)
			continue
		}
		require.Error(t, err, name)
		details := problemFor(err).problem.Details
		require.Equal(t, reason, details.Reason, name)
		require.Equal(t, "domain", details.Fields[0].Field, name)
	}
}
