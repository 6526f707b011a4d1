package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/stretchr/testify/require"
)

const readme = "../../README.md"

var (
	screenBlock = regexp.MustCompile("(?s)<!-- screen: (\\S+) (\\S+) -->\n```\n.*?```\n")
	tableBlock  = regexp.MustCompile(`(?s)<!-- (operations|conformance) -->\n.*?<!-- end -->\n`)
)

// README.md shows the actual output: the picture, the screens, the table of operations, and the results of third-party
// test suites.
func TestReadme(t *testing.T) {
	if !alone(t) {
		return
	}
	cryptotest.SetGlobalRandom(t, 1)
	text, err := os.ReadFile(readme)
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		at := time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)
		time.Sleep(time.Until(at))
		world, err := internet.New(at)
		require.NoError(t, err)
		defer world.Close()
		text = screenBlock.ReplaceAllFunc(text, func(block []byte) []byte {
			m := screenBlock.FindSubmatch(block)
			return fmt.Appendf(nil, "<!-- screen: %s %s -->\n```\n%s```\n", m[1], m[2], printed(t, world.Env(), string(m[1]), string(m[2])))
		})
		broken, err := target.Parse("hopeless.example")
		require.NoError(t, err)
		v := target.Run(t.Context(), broken, target.Options{}, target.Local(world.Env()), nil).View()
		var picture bytes.Buffer
		require.NoError(t, render.SVG(&picture, v.Drawing, v.Subject+": "+v.Headline))
		diagtest.Golden(t, "screen.svg", picture.Bytes())
	})
	text = tableBlock.ReplaceAllFunc(text, func(block []byte) []byte {
		name := string(tableBlock.FindSubmatch(block)[1])
		table := map[string]func(testing.TB) string{"operations": operationsTable, "conformance": conformanceTable}[name](t)
		return []byte("<!-- " + name + " -->\n" + table + "<!-- end -->\n")
	})
	diagtest.Golden(t, readme, text)
}

// printed returns the command and its output at 80 columns.
func printed(t testing.TB, env *diag.Env, name, domain string) string {
	for _, ep := range httpapi.Endpoints() {
		if ep.Name() != name {
			continue
		}
		fields := `{"domain":"` + domain + `"}`
		for _, p := range ep.Params() {
			if p.Required && p.Name != "domain" {
				fields = `{"` + p.Name + `":"` + domain + `"}`
			}
		}
		result, err := ep.Run(t.Context(), env, []byte(fields))
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, render.Text(&b, httpapi.View(result.Report), render.Options{Title: name}))
		return "$ diag " + name + " " + domain + "\n" + b.String()
	}
	require.Fail(t, "no such operation", name)
	return ""
}

func operationsTable(testing.TB) string {
	var b strings.Builder
	b.WriteString("| operation | credits | |\n|---|---|---|\n")
	for _, ep := range httpapi.Endpoints() {
		fmt.Fprintf(&b, "| `%s` | %d | %s |\n", ep.Name(), ep.Credits, ep.Summary())
	}
	return b.String()
}

// conformanceTable takes what is reached of the suites that peers were measured with from CONFORMANCE.md.
func conformanceTable(t testing.TB) string {
	text, err := os.ReadFile("../../CONFORMANCE.md")
	require.NoError(t, err)
	var b strings.Builder
	b.WriteString("| suite | diagkit | peers |\n|---|---|---|\n")
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) < 5 || !strings.HasPrefix(strings.TrimSpace(cells[0]), "`") || strings.TrimSpace(cells[len(cells)-1]) == "" {
			continue
		}
		rows++
		n := len(cells)
		fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.TrimSpace(cells[0]), strings.TrimSpace(cells[n-2]), strings.TrimSpace(cells[n-1]))
	}
	require.NotZero(t, rows)
	return b.String()
}

// What README.md has a reader paste is complete: a body has its type, and a key its length.
func TestReadmeCurl(t *testing.T) {
	text, err := os.ReadFile(readme)
	require.NoError(t, err)
	bodies := 0
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", "")) {
		if strings.HasPrefix(line, "    curl ") && strings.Contains(line, " -d '") {
			bodies++
			require.Contains(t, line, "-H 'Content-Type: application/json'")
			require.Regexp(t, "-H 'Idempotency-Key: [!-~]{10,255}'", line)
		}
	}
	require.Positive(t, bodies)
}
