package httpapi

import (
	"encoding/json"
	"os"
	"path/filepath"
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

// Every row of the table is a row of the contract, letter for letter, in its order; what the contract
// has besides is listed in unbuilt, and nowhere else.
func TestContract(t *testing.T) {
	rows := goldenTable(t)
	require.Len(t, rows, 62)
	built := map[string]golden{}
	for _, ep := range endpoints {
		built[ep.ID()] = golden{ep.Method, Prefix + ep.Path, ep.Scope, ep.Credits, ep.Purpose}
	}
	require.Len(t, built, len(endpoints), "a row stands twice")
	next := 0
	for _, want := range rows {
		id := want.Method + " " + want.Path
		got, ok := built[id]
		if !ok {
			require.Contains(t, unbuilt, id, "the row is neither built nor listed as unbuilt")
			continue
		}
		require.Equal(t, want, got)
		require.NotContains(t, unbuilt, id, "the row is built: take it off the list")
		require.Equal(t, id, endpoints[next].ID(), "the table stands in the order of the contract")
		next++
		delete(built, id)
	}
	require.Empty(t, built, "rows that the contract does not have")
	require.Len(t, rows, len(endpoints)+len(unbuilt))
}
