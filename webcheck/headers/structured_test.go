package headers

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Policies that are tokens or dictionaries are read exactly where they are structured fields (RFC 9651).
func TestConformanceStructuredFields(t *testing.T) {
	const field = "Cross-Origin-Opener-Policy"
	passed := 0
	for _, file := range []string{
		"token.json", "token-generated.json", "item.json", "string.json", "string-generated.json", "number.json", "binary.json",
		"boolean.json", "date.json", "display-string.json", "dictionary.json", "param-dict.json", "key-generated.json",
		"large-generated.json", "examples.json",
	} {
		type vector struct {
			Name     string
			Raw      []string
			Type     string `json:"header_type"`
			Expected []json.RawMessage
			MustFail bool `json:"must_fail"`
			CanFail  bool `json:"can_fail"`
		}
		for _, v := range diagtest.Cases[vector](t, diagtest.Suite(t, "platform/structured-fields/"+file)) {
			if v.CanFail {
				continue
			}
			switch v.Type {
			case "item":
				var want struct{ Type, Value string }
				if !v.MustFail { // the type accompanies the value where JSON has no such type
					var typed struct {
						Type  string `json:"__type"`
						Value any
					}
					_ = json.Unmarshal(v.Expected[0], &typed)
					want.Type = typed.Type
					want.Value, _ = typed.Value.(string)
				}
				e := &evidence{head: http.Header{field: v.Raw}}
				token, ok := e.token(field, []string{want.Value})
				assert.Equal(t, want.Type == "token", ok, "%s: %s", file, v.Name)
				if ok {
					assert.Equal(t, want.Value, token, "%s: %s", file, v.Name)
				}
			case "dictionary":
				f := readFeatures(v.Raw)
				assert.Equal(t, v.MustFail, f.err != nil, "%s: %s: %v", file, v.Name, f.err)
				names := []string{}
				for _, member := range v.Expected {
					var pair []json.RawMessage
					var name string
					require.NoError(t, json.Unmarshal(member, &pair))
					require.NoError(t, json.Unmarshal(pair[0], &name))
					names = append(names, name)
				}
				if !v.MustFail {
					assert.ElementsMatch(t, names, f.order, "%s: %s", file, v.Name)
				}
			default:
				continue
			}
			passed++
		}
	}
	require.Greater(t, passed, 500)
	t.Logf("platform/structured-fields: %d items and dictionaries", passed)
}
