package hsts

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// chromium is a list in the form of Chromium.
const chromium = `// Copyright: a comment of several lines,
// "with" quotes { and braces.
{
  // Pinned keys.
  "pinsets": [{"name": "test", "static_spki_hashes": ["x//y"]}],
  "entries": [
    // A section
    { "name": "dev", "policy": "public-suffix", "mode": "force-https", "include_subdomains": true },
    { "name": "Example.com", "policy": "bulk-1-year", "mode": "force-https", "include_subdomains": true }, // behind
    { "name": "host.example.net", "policy": "custom", "mode": "force-https" },
    { "name": "pins.example.net", "policy": "google", "include_subdomains_for_pinning": true, "pins": "test" },
    /* a block */ { "name": "old.example.org", "policy": "bulk-18-weeks", "mode": "force-https", "include_subdomains": true },
    { "name": "new.example.org", "policy": "of the future", "mode": "force-https", "include_subdomains": true, "x": [1] }
  ]
}
`

func TestParseList(t *testing.T) {
	for _, text := range []string{chromium, base64.StdEncoding.EncodeToString([]byte(chromium))} {
		list, err := ParseList([]byte(text))
		require.NoError(t, err)
		require.Equal(t, 5, list.Len())
		require.Regexp(t, `^sha256:[0-9a-f]{12}$`, list.Version)
		for domain, want := range map[string]string{
			"example.com":          "example.com bulk-1-year",
			"www.example.com":      "example.com bulk-1-year",
			"a.b.example.com":      "example.com bulk-1-year",
			"site.dev":             "dev public-suffix",
			"host.example.net":     "host.example.net custom",
			"www.host.example.net": "",
			"pins.example.net":     "",
			"new.example.org":      "new.example.org ",
			"com":                  "",
			"notexample.com":       "",
		} {
			got := ""
			if e, ok := list.Lookup(domain); ok {
				got = e.Name + " " + string(e.Policy)
			}
			require.Equal(t, want, got, domain)
		}
	}
}

func TestParseOwnList(t *testing.T) {
	list, err := ParseList([]byte(`{"version": "2026-11-01", "source": "by hand", "entries": [
		{"name": "example.com", "include_subdomains": true, "policy": "bulk-1-year"},
		{"name": "example.net", "include_subdomains": false, "status": "pending"}]}`))
	require.NoError(t, err)
	require.Equal(t, "2026-11-01", list.Version)
	e, ok := list.Lookup("example.net")
	require.True(t, ok)
	require.Equal(t, Entry{"example.net", false, NoPolicy, true}, e)
	require.Equal(t, Pending, e.Status())
}

func TestParseListRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "EOF",
		"[]":                             "array",
		`{"entries": []} {}`:             "follows",
		`{"entries": {}}`:                "object",
		`{"entries": [1]}`:               "number",
		`{"entries": [], "entries": []}`: "appears twice",
		`{"entries": [{"name": "a", "name": "b", "mode": "force-https"}]}`:                          "appears twice",
		`{"entries": [{"name": "a", "mode": "force-https"}, {"name": "A", "mode": "force-https"}]}`: "a appears twice",
		`{"entries": [{"name": "a..b", "mode": "force-https"}]}`:                                    "not a domain",
		`{"entries": [{"mode": "force-https"}]}`:                                                    "not a domain",
		`{"entries": [{"name": "a", "mode": "force-https", "status": "gone"}]}`:                     "neither",
		`{"version": "", "entries": []}`:                                                            "version",
		`{"version": "1", "x": 1, "entries": []}`:                                                   "unknown field",
		`{"version": "1", "entries": [{"name": "a", "includes": true}]}`:                            "unknown field",
		`{"version": "1", "entries": [{"name": "a", "policy": "x"}]}`:                               "unknown policy",
		`{"entries": [{"name": "a"`:                                                                 "EOF",
		`{"entries": [` + strings.Repeat("[", 100):                                                  "EOF",
		`{"entries": ` + strings.Repeat("[", 20_000):                                                "max depth",
		"///": "",
	} {
		_, err := ParseList([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

func TestNoList(t *testing.T) {
	list, err := ParseList(NoList())
	require.NoError(t, err)
	require.Empty(t, list.Version)
	require.Zero(t, list.Len())
}

// large is a list of the size of Chromium's.
func large(n int) []byte {
	var b strings.Builder
	b.WriteString("{\"entries\": [\n// all of them\n")
	for i := range n {
		fmt.Fprintf(&b, "    { \"name\": \"site-%d.example\", \"policy\": \"bulk-1-year\", \"mode\": \"force-https\", "+
			"\"include_subdomains\": true },\n", i)
	}
	b.WriteString(`{ "name": "example", "mode": "force-https", "policy": "custom" }]}`)
	return []byte(b.String())
}

func BenchmarkParseList(b *testing.B) {
	data := large(150_000)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := ParseList(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkListLookup(b *testing.B) {
	list, err := ParseList(large(150_000))
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		list.Lookup("a.b.site-77777.example")
	}
}

func FuzzParseList(f *testing.F) {
	f.Add([]byte(chromium))
	f.Add([]byte(`{"version":"1","entries":[{"name":"a","include_subdomains":true}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := ParseList(data)
		require.True(t, (list == nil) == (err != nil))
		if err != nil {
			return
		}
		for i := range list.Len() {
			e := list.Entry(i)
			found, ok := list.Lookup(e.Name)
			require.True(t, ok)
			require.Equal(t, e, found)
		}
	})
}
