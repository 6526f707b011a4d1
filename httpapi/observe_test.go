package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
)

func TestWithoutValues(t *testing.T) {
	for message, want := range map[string]string{
		"must be from 1 to 65535":                                                 "must be from 1 to 65535",
		`"a..b" is not a domain name: it has an empty label`:                      "… is not a domain name: it has an empty label",
		`"say \"hi\" now" is not one of tcp, udp`:                                 "… is not one of tcp, udp",
		`"cut off by the bound`:                                                   "…",
		"ns1.example.net has no address: add it, as in ns1.example.net/192.0.2.1": "… has no address: add it, as in …",
		"There was no usable answer from ns1.example.com.":                        "There was no usable answer from …",
		"the scheme appears twice, give https://example.com":                      "the scheme appears twice, give …",
		"someone@example.com is an address":                                       "… is an address",
		"bücher is not ASCII":                                                     "… is not ASCII",
		"must hold 0, 1, d or s, not 2":                                           "must hold 0, 1, d or s, not 2",
	} {
		require.Equal(t, want, withoutValues(message), message)
	}
}

// TestNoValueIsObserved sends each operation its example with a mark in place of each value, one at a time: what is
// observed of the failure names the field and never the mark.
func TestNoValueIsObserved(t *testing.T) {
	w := diagtest.NewWorld(t)
	a := newAPI(t, "self", func(c *Config) { c.Env, c.IPRate = w.Env(), -1 })
	failures, named := 0, 0
	for _, ep := range Endpoints() {
		for _, request := range markedRequests(t, exampleRequest(t, ep)) {
			target, body, err := ep.Target(request)
			if err != nil {
				continue // which nobody can send
			}
			a.seen = a.seen[:0]
			c := attempt{method: ep.Method, path: target, body: string(body), from: "198.51.100.1:4000", header: http.Header{}}
			c.header.Set("Authorization", "Bearer "+a.secret)
			c.header.Set("Content-Type", "application/json")
			a.do(c)
			require.Len(t, a.seen, 1)
			o := a.seen[0]
			if o.Code == "OK" {
				continue
			}
			failures++
			require.NotContains(t, strings.ToLower(o.Field+o.Message), "zqmark", "%s %s", ep.ID(), request)
			require.NotEmpty(t, o.Message)
			require.LessOrEqual(t, len(o.Field), 64)
			require.LessOrEqual(t, len(o.Message), 200)
			require.True(t, utf8.ValidString(o.Field+o.Message))
			if o.Field != "" {
				named++
			}
		}
	}
	require.Greater(t, failures, 300)
	require.Greater(t, named, failures/2)
}

// marks are values that no operation accepts everywhere, each with the mark in it.
var marks = []any{
	"zqmark", "zqmark..zqmark", "https://https://zqmark:99999/zqmark path", "user:zqmark@zqmark", "zq\"zqmark\nzqmark",
	"ZQMARK zqmark", "zqmark" + strings.Repeat("z", 400), "zqmark=1; zqmark", []any{"zqmark", "zqmark"}, map[string]any{"zqmark": "zqmark"},
}

// markedRequests returns copies of a request, each with one of its values replaced by a mark.
func markedRequests(t *testing.T, request []byte) (list [][]byte) {
	t.Helper()
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(request))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&fields))
	for name, value := range fields {
		for _, mark := range marks {
			replacements := []any{mark}
			if items, ok := value.([]any); ok && len(items) > 0 {
				replacements = append(replacements, append([]any{mark}, items[1:]...))
			}
			for _, replacement := range replacements {
				fields[name] = replacement
				text, err := json.Marshal(fields)
				require.NoError(t, err)
				list = append(list, text)
			}
		}
		fields[name] = value
	}
	return list
}

// What is remembered of a failure is bounded, whatever was sent.
func TestObservedTextsAreBounded(t *testing.T) {
	long := strings.Repeat("ä", 500)
	var o Observation
	o.observe(&Problem{Code: InvalidRequest, Message: "x", Details: ProblemDetails{Fields: []Violation{
		{Field: "field" + strings.Repeat("a", 500), Reason: reasonUnknown, Message: strings.Repeat("is wrong ", 100)},
		{Field: "other", Message: "is wrong"},
	}}})
	require.LessOrEqual(t, len(o.Field), 64)
	require.LessOrEqual(t, len(o.Message), 200)
	o = Observation{}
	o.observe(&Problem{Code: InvalidRequest, Message: "x", Details: ProblemDetails{Fields: []Violation{{Field: long, Message: "is wrong"}}}})
	require.Empty(t, o.Field, "a name that is not one of a schema")
	_, err := diag.ParseDomain("a..b")
	require.Error(t, err)
	o = Observation{}
	o.observe(&problemFor(err).problem)
	require.Equal(t, "domain", o.Field)
	require.Contains(t, o.Message, "… is not a domain")
}
