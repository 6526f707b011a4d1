package sample

import (
	"encoding/json"
	"flag"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata")

// The samples of some operations are those of testdata: one with a verdict, one with a path, a query, or an image.
func TestSamples(t *testing.T) {
	for _, name := range []string{"smtp/check", "spf/hosted", "spf/hosted/{id}/resolve", "http/qr", "text/regex/test"} {
		ep, ok := httpapi.Endpoints().ByName(name)
		require.True(t, ok, name)
		samples, err := Of(ep, ep.Example())
		require.NoError(t, err)
		var got strings.Builder
		for _, s := range samples {
			got.WriteString("== " + s.Title + "\n" + s.Text + "\n")
		}
		golden := filepath.Join("testdata", strings.ReplaceAll(ep.Slug(), "/", "-")+".txt")
		if *update {
			require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(want), got.String(), "run go test -update, and read the difference")
	}
}

// Every operation has a sample in each language, and those in Go compile as far as the parser sees. The programs in
// other languages are run by .ci/clients.
func TestEveryOperation(t *testing.T) {
	for _, ep := range httpapi.Endpoints() {
		samples, err := Of(ep, ep.Example())
		require.NoError(t, err, ep.Name())
		require.Len(t, samples, 5)
		for _, s := range samples {
			assert.Contains(t, s.Text, "/public/v1/", ep.Name())
			assert.NotContains(t, s.Text, "<no value>", ep.Name())
			if s.Title == "Go" {
				_, err := parser.ParseFile(token.NewFileSet(), s.File, s.Text, parser.AllErrors)
				assert.NoError(t, err, ep.Name())
			}
		}
	}
}

// A request that the operation does not take has no samples.
func TestNoRequest(t *testing.T) {
	ep, _ := httpapi.Endpoints().ByName("spf/hosted/{id}")
	for _, fields := range []string{`{}`, `[]`, `{"no_such":1}`} {
		_, err := Of(ep, []byte(fields))
		assert.Error(t, err, fields)
	}
}

func TestLiterals(t *testing.T) {
	const value = `{"a-b":[true,false,null,1.10,-2],"text":"it's \"$x\" \\ {y}",` + `"lines":"a\tb\r\n$c\u0000","none":{},"list":[]}`
	for _, tt := range []struct {
		syntax syntax
		want   string
	}{
		{python, `{"a-b": [True, False, None, 1.10, -2], "text": "it's \"$x\" \\ {y}", ` +
			`"lines": "a\tb\r\n$c\u0000", "none": {}, "list": []}`},
		{javascript, `{ "a-b": [true, false, null, 1.10, -2], text: "it's \"$x\" \\ {y}", ` +
			`lines: "a\tb\r\n$c\u0000", none: {}, list: [] }`},
		{php, `['a-b' => [true, false, null, 1.10, -2], 'text' => 'it\'s "$x" \\ {y}', ` +
			`'lines' => "a\tb\r\n\$c\x00", 'none' => new stdClass(), 'list' => []]`},
	} {
		got, err := tt.syntax.literal(value)
		require.NoError(t, err)
		assert.Equal(t, tt.want, got)
	}
	_, err := python.literal(`{"a":`)
	assert.Error(t, err)
}

// What Python and JavaScript read between the quotes is the text: both read the escapes of JSON.
func FuzzQuote(f *testing.F) {
	f.Add("a\u2028\"\\\n<>&")
	f.Fuzz(func(t *testing.T, text string) {
		var again string
		require.NoError(t, json.Unmarshal([]byte(quote(text)), &again))
		require.Equal(t, strings.ToValidUTF8(text, "\ufffd"), strings.ToValidUTF8(again, "\ufffd"))
		require.NotContains(t, quotePHP(text), "\n")
	})
}
