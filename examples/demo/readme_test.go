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
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const readme = "../../README.md"

var (
	screenBlock      = regexp.MustCompile("(?s)<!-- screen: (\\S+) (\\S+) -->\n```\n.*?```\n")
	conformanceBlock = regexp.MustCompile(`(?s)<!-- conformance -->\n(.*?)<!-- end -->\n`)
)

// README.md shows the actual picture and screen.
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
	diagtest.Golden(t, readme, text)
}

// printed returns the output of a command at 80 columns.
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
		return b.String()
	}
	require.Fail(t, "no such operation", name)
	return ""
}

// README.md fits on two pages: a stranger reads it to the end.
func TestReadmeLength(t *testing.T) {
	text, err := os.ReadFile(readme)
	require.NoError(t, err)
	assert.LessOrEqual(t, bytes.Count(text, []byte("\n")), 150)
	assert.LessOrEqual(t, len(text), 7_000)
	for _, link := range regexp.MustCompile(`\]\(([^):]+)\)`).FindAllSubmatch(text, -1) {
		assert.FileExists(t, "../../"+string(link[1]))
	}
	assert.Contains(t, string(text), fmt.Sprintf(" %d operations", len(httpapi.Endpoints())))
	for line := range strings.Lines(string(text)) {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), 121, line)
	}
}

// The table of README.md is an extract of CONFORMANCE.md: each figure is in the row of its suite.
func TestReadmeConformance(t *testing.T) {
	text, err := os.ReadFile(readme)
	require.NoError(t, err)
	all, err := os.ReadFile("../../CONFORMANCE.md")
	require.NoError(t, err)
	rows := map[string]string{}
	for line := range strings.Lines(string(all)) {
		if suite, rest, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | "); ok {
			rows[suite] = rest
		}
	}
	block := conformanceBlock.FindSubmatch(text)
	require.NotNil(t, block)
	_, table, _ := strings.Cut(string(block[1]), "|---|---|---|\n")
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "| "), " | ")
		require.Len(t, cells, 3, line)
		for _, figure := range strings.Split(cells[1]+", "+cells[2], ", ") {
			assert.Contains(t, rows[cells[0]], figure, cells[0])
		}
	}
	assert.Positive(t, strings.Count(table, "\n"))
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
