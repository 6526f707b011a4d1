package main

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// describeDigLine returns the queries of a command line, their servers and their options, in words; or the refusal, after an
// exclamation mark.
func describeDigLine(line string) string {
	var a app
	words := strings.Fields(line)
	for i, word := range words {
		if word == "''" {
			words[i] = ""
		}
	}
	args, err := a.extractDigLine(new(app).command().PersistentFlags(), words)
	if err != nil {
		return "! " + err.Error()
	}
	if a.line == nil {
		return "not of that kind"
	}
	said := []string{}
	for _, q := range a.line.questions {
		said = append(said, q.describe())
	}
	flags := slices.DeleteFunc(args, func(word string) bool { return word == "resolve" || word == "ip/nslookup" })
	return strings.TrimSpace(strings.TrimSuffix(strings.Join(said, "; ")+" | "+strings.Join(flags, " "), " | "))
}

func (q question) describe() string {
	parts := []string{q.fields["qname"], q.fields["qclass"], q.fields["qtype"]}
	if !q.isRecordLookup() {
		parts = []string{"names of " + q.fields["ip"]}
	}
	for _, field := range slices.Sorted(maps.Keys(q.fields)) {
		if !slices.Contains([]string{"qname", "qclass", "qtype", "ip"}, field) {
			parts = append(parts, field+"="+q.fields[field])
		}
	}
	for _, s := range q.servers {
		parts = append(parts, "@"+s.String())
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

// Command lines as users of dig, host and nslookup type them: the queries, their servers and options, or the refusal.
func TestDigLines(t *testing.T) {
	table, err := os.ReadFile("testdata/dig.txt")
	require.NoError(t, err)
	line, lines := "", 0
	for text := range strings.Lines(string(table)) {
		text = strings.TrimSuffix(text, "\n")
		switch said, isSaid := strings.CutPrefix(text, "\t"); {
		case isSaid:
			assert.Equal(t, said, describeDigLine(line), line)
			lines++
		case !strings.HasPrefix(text, "#"):
			line = text
		}
	}
	assert.Greater(t, lines, 300)
}

// Every command line is parsed or refused.
func FuzzDigLine(f *testing.F) {
	table, err := os.ReadFile("testdata/dig.txt")
	require.NoError(f, err)
	for text := range strings.Lines(string(table)) {
		f.Add(strings.TrimSpace(text))
	}
	f.Add("dig --color '' example.com")
	flags := new(app).command().PersistentFlags()
	f.Fuzz(func(t *testing.T, line string) {
		var a app
		words := strings.Split(line, " ")
		args, err := a.extractDigLine(flags, words)
		if (err == nil) == (args == nil) || err != nil && a.line != nil {
			t.Errorf("%q: %q, %v", words, args, err)
		}
		for _, name := range a.line.names() {
			if name == "" {
				t.Errorf("%q: a question without a name", words)
			}
		}
	})
}
