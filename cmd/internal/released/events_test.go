package released

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
)

// TestReleasedCodes holds the codes of findings, which programs and suppressions name, and links to their pages.
func TestReleasedCodes(t *testing.T) {
	var lines []string
	for _, r := range httpapi.Endpoints().Rules() {
		lines = append(lines, string(r.Code))
	}
	Check(t, List{Name: "codes", Lines: lines, Permanent: true,
		Remedy: "A code is permanent, whatever the release: its rule stays in the table. Its severity and texts may change."})
}

// TestReleasedEvents holds the bodies of webhooks: the types of events, and what their golden files show as data.
func TestReleasedEvents(t *testing.T) {
	var lines []string
	for _, event := range metering.EventTypes() {
		lines = append(lines, "type "+string(event)+" = category "+string(event.Category()))
		text, err := os.ReadFile(filepath.Join(moduleRoot(t), "metering", "notify", "testdata", string(event)+".txt"))
		require.NoError(t, err)
		_, after, _ := strings.Cut(string(text), "=== webhook ===\n")
		body, _, _ := strings.Cut(after, "\n=== ")
		var v any
		require.NoError(t, json.Unmarshal([]byte(body), &v), event)
		lines = append(lines, values(string(event), v)...)
	}
	Check(t, List{Name: "events", Lines: lines,
		Remedy: "Receivers read these fields: keep them, and add others beside them."})
}

// values are the paths and types of a JSON value.
func values(path string, v any) (lines []string) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			lines = append(lines, values(path+"."+name, member)...)
		}
		return lines
	case []any:
		for _, member := range v {
			lines = append(lines, values(path+"[]", member)...)
		}
		return append(lines, path+" = list")
	case string:
		return []string{path + " = string"}
	case bool:
		return []string{path + " = boolean"}
	case float64:
		return []string{path + " = number"}
	}
	return []string{path + " = null"}
}

// TestReleasedTools holds the tools of AI agents, and their arguments.
func TestReleasedTools(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(moduleRoot(t), "httpapi", "agent", "tools.json"))
	require.NoError(t, err)
	var tools []struct {
		Name      string
		Arguments []struct {
			Name, Kind string
			Required   bool
		}
	}
	require.NoError(t, json.Unmarshal(text, &tools))
	var lines []string
	for _, tool := range tools {
		var required []any
		for _, a := range tool.Arguments {
			lines = append(lines, "request "+tool.Name+"."+a.Name+" = "+a.Kind)
			if a.Required {
				required = append(required, a.Name)
			}
		}
		lines = append(lines, "request "+tool.Name+" requires = "+words(required))
	}
	require.NotEmpty(t, lines)
	Check(t, List{Name: "tools", Lines: lines, Widened: widened,
		Remedy: "Agents name these tools and arguments: keep them."})
}
