package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/stretchr/testify/require"
)

// sample has a field of every kind that a request may hold.
type sample struct {
	Name    string         `json:"name" minlen:"2" maxlen:"5"`
	Bytes   string         `json:"bytes,omitempty" maxbytes:"4"`
	Colour  string         `json:"colour,omitempty" enum:"red green" default:"red"`
	Code    string         `json:"code,omitempty" pattern:"^[a-z]+$"`
	Count   int            `json:"count,omitempty" min:"1" max:"10"`
	Port    uint16         `json:"port,omitempty"`
	Ratio   float64        `json:"ratio,omitempty" min:"0" max:"1"`
	Verify  *bool          `json:"verify,omitempty" default:"true"`
	Margin  *int           `json:"margin,omitempty" min:"0" max:"16"`
	Domain  diag.Domain    `json:"domain,omitempty"`
	IP      *diag.IP       `json:"ip,omitempty"`
	Level   *diag.Severity `json:"level,omitempty"`
	List    []string       `json:"list,omitempty" minitems:"1" maxitems:"3" unique:"true" enum:"a b c d"`
	Domains []diag.Domain  `json:"domains,omitempty" maxitems:"2" unique:"true"`
	Inner   *inner         `json:"inner,omitempty"`
	Either  string         `json:"either,omitempty" oneof:"source"`
	Or      string         `json:"or,omitempty" oneof:"source"`
	Union   union          `json:"union,omitempty"`
}

type inner struct {
	Deep []inner `json:"deep,omitempty"`
	X    int     `json:"x"`
}

// union is a string or a number.
type union struct{ text string }

func (u *union) UnmarshalJSON(b []byte) error {
	if b[0] != '"' && b[0] != '-' && (b[0] < '0' || '9' < b[0]) {
		return input.Invalid("netmask", "must be a string or a number")
	}
	u.text = string(b)
	return nil
}

func (union) Schema() map[string]any { return map[string]any{"type": []string{"string", "number"}} }

func (s *sample) Validate() error {
	if s.Name == "both" {
		return errors.Join(input.Invalid("name", "one"), input.Invalid("list", "two"))
	}
	return nil
}

func TestDecode(t *testing.T) {
	var s sample
	require.NoError(t, decode([]byte(` {
		"name" : "J\u00f6\ud83d\ude00\n", "bytes":"äö", "colour":"green", "code":"abc", "count":1.0e1, "port":65535,
		"ratio":0.5, "verify":false, "margin":0, "domain":"Bücher.example.", "ip":"::ffff:192.0.2.1", "level":"error",
		"list":["a","b"], "domains":["a.example","b.example"], "inner":{"x":-3,"deep":[{"x":1,"deep":[]}]},
		"or":"", "union": 24, "either": null } `), &s))
	require.Equal(t, "Jö😀\n", s.Name)
	require.Equal(t, "äö", s.Bytes)
	require.Equal(t, 10, s.Count)
	require.Equal(t, uint16(65535), s.Port)
	require.False(t, *s.Verify)
	require.Zero(t, *s.Margin)
	require.Equal(t, "xn--bcher-kva.example", s.Domain.String())
	require.Equal(t, "192.0.2.1", s.IP.String())
	require.Equal(t, diag.Error, *s.Level)
	require.Equal(t, []string{"a", "b"}, s.List)
	require.Len(t, s.Domains, 2)
	require.Equal(t, 1, s.Inner.Deep[0].X)
	require.Equal(t, "24", s.Union.text)
}

func TestDecodeViolations(t *testing.T) {
	tests := []struct {
		name, body string
		want       []string // field reason, and a part of the message of the first
	}{
		{"empty", ``, []string{" malformed_json"}},
		{"no object", `[1]`, []string{" malformed_json"}},
		{"unclosed", `{"name":"abc"`, []string{" malformed_json"}},
		{"trailing data", `{"name":"abc","or":""} {}`, []string{" malformed_json"}},
		{"trailing comma", `{"name":"abc","or":"",}`, []string{" malformed_json"}},
		{"single quotes", `{'name':"abc"}`, []string{" malformed_json"}},
		{"bare word", `{"name":abc}`, []string{" malformed_json"}},
		{"leading zero", `{"name":"abc","or":"","count":01}`, []string{" malformed_json"}},
		{"comment", `{/**/"name":"abc"}`, []string{" malformed_json"}},
		{"byte-order mark", "\ufeff{}", []string{" malformed_json"}},
		{"invalid UTF-8", "{\"name\":\"\xff\"}", []string{" malformed_json"}},
		{"lone surrogate", `{"name":"\ud800x"}`, []string{" malformed_json"}},
		{"lone surrogate at the end", `{"name":"\\\ud800"}`, []string{" malformed_json"}},
		{"surrogates in the wrong order", `{"name":"\udc00\ud800"}`, []string{" malformed_json"}},
		{"nested deeper than any type", `{"name":"abc","or":"","z":` + strings.Repeat(`[`, 9000) + strings.Repeat(`]`, 9000) + `}`,
			[]string{"z unknown_field"}},
		{"control character", "{\"name\":\"a\nb\"}", []string{" malformed_json"}},
		{"bad escape", `{"name":"\x41"}`, []string{" malformed_json"}},
		{"NUL after", "{\"name\":\"abc\",\"or\":\"\"}\x00", []string{" malformed_json"}},
		{"too deep", `{"name":"abc","or":"","inner":` + strings.Repeat(`{"x":1,"deep":[`, 40), []string{" malformed_json"}},
		{"deep in an unknown field", `{"z":` + strings.Repeat(`[`, 100), []string{" malformed_json"}},

		{"missing", `{}`, []string{"name missing_field", "either missing_field"}},
		{"null", `{"name":null,"or":""}`, []string{"name missing_field"}},
		{"both of a group", `{"name":"abc","or":"","either":""}`, []string{"either invalid_field"}},
		{"unknown", `{"name":"abc","or":"","Name":"abc"}`, []string{"Name unknown_field"}},
		{"twice", `{"name":"abc","name":"abd","or":""}`, []string{"name malformed_json"}},
		{"wrong types", `{"name":1,"count":"1","verify":1,"list":{},"inner":[],"domain":7,"ratio":"x","or":true}`,
			[]string{"name invalid_field", "count invalid_field", "verify invalid_field", "list invalid_field",
				"inner invalid_field", "domain invalid_field", "ratio invalid_field", "or invalid_field"}},
		{"bounds", `{"name":"a","bytes":"äöü","colour":"blue","code":"A","count":11,"port":65536,"ratio":1.1,"margin":-1,"or":""}`,
			[]string{"name invalid_field", "bytes invalid_field", "colour invalid_field", "code invalid_field",
				"count invalid_field", "port invalid_field", "ratio invalid_field", "margin invalid_field"}},
		{"characters, not bytes", `{"name":"äöüäöü","or":""}`, []string{"name invalid_field"}},
		{"no whole number", `{"name":"abc","or":"","count":1.5}`, []string{"count invalid_field"}},
		{"huge number", `{"name":"abc","or":"","count":1e400,"ratio":1e400}`, []string{"count invalid_field", "ratio invalid_field"}},
		{"negative port", `{"name":"abc","or":"","port":-1}`, []string{"port invalid_field"}},
		{"list", `{"name":"abc","or":"","list":["a","e","a",null]}`, []string{"list[1] invalid_field", "list[2] invalid_field", "list invalid_field"}},
		{"empty list", `{"name":"abc","or":"","list":[]}`, []string{"list invalid_field"}},
		{"domains", `{"name":"abc","or":"","domains":["a.example","A.example."]}`, []string{"domains[1] invalid_field"}},
		{"paths", `{"name":"abc","or":"","inner":{"deep":[{"x":1},{"x":"1","y":2}]}}`,
			[]string{"inner.deep[1].x invalid_field", "inner.deep[1].y unknown_field", "inner.x missing_field"}},
		{"bad domain", `{"name":"abc","or":"","domain":"a..b"}`, []string{"domain invalid_field"}},
		{"a type's own form", `{"name":"abc","or":"","union":true}`, []string{"union invalid_field"}},
		{"rules of the request", `{"name":"both","or":""}`, []string{"name invalid_field", "list invalid_field"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := decode([]byte(tt.body), new(sample))
			require.Error(t, err)
			var got []string
			for _, v := range problemFor(err).problem.Details.Fields {
				require.NotEmpty(t, v.Message)
				got = append(got, v.Field+" "+v.Reason)
			}
			require.Equal(t, tt.want, got, "%v", err)
		})
	}
}

func TestDecodeMessages(t *testing.T) {
	tests := []struct{ body, want string }{
		{"{\n \"name\": tru }", "line 2, column 13: invalid character ' ' in literal true"},
		{`{"nmae":"abc"}`, "nmae: is not a field of this request; the fields are name, bytes,"},
		{`{"colour":"blue"}`, "colour: must be one of red, green"},
		{`{"count":11}`, "count: must be at most 10"},
		{`{"list":["a","b","c","d"]}`, "list: must have at most 3 entries, not 4"},
	}
	for _, tt := range tests {
		require.ErrorContains(t, decode([]byte(tt.body), new(sample)), tt.want)
	}
	many := `{"x0":0` + strings.Repeat(`,"x":0`, 500) + `}`
	require.LessOrEqual(t, len(problemFor(decode([]byte(many), new(sample))).problem.Details.Fields), maxViolations)
}

// What we accept, encoding/json accepts too, and both read the same.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"name":"abc","or":"","list":["a"],"inner":{"x":1}}`))
	f.Add([]byte(`{"name":"\ud83d\ude00 ","or":"\\\"","count":1e1,"port":5,"verify":null}`))
	f.Add([]byte(`{"name":"abc","either":"","domain":"xn--bcher-kva.example","ip":"2001:db8::1","union":"/24"}`))
	f.Add([]byte("{\"\\u0000\":[[[{}]]],\"name\":\x01}"))
	f.Fuzz(func(t *testing.T, body []byte) {
		var ours sample
		err := decode(body, &ours)
		if !json.Valid(body) {
			require.Error(t, err)
		}
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		var theirs sample
		if err := json.Unmarshal(body, &theirs); err != nil {
			// 1e1 for a whole number is ours alone, and so is null for a type with a form of its own.
			if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok || strings.Contains(string(body), "null") {
				return
			}
			t.Fatalf("encoding/json: %v", err)
		}
		if strings.Contains(string(body), "null") {
			return
		}
		require.True(t, reflect.DeepEqual(ours, theirs), "%+v\n%+v", ours, theirs)
	})
}

func BenchmarkDecode(b *testing.B) {
	body := []byte(`{"name":"abc","or":"text","list":["a","b"],"count":5}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := decode(body, new(sample)); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleViolationsError() {
	err := decode([]byte(`{"name":"a","colour":"blue","or":""}`), new(sample))
	fmt.Println(err)
	// Output: name: must have at least 2 characters; colour: must be one of red, green
}

func TestEmptyText(t *testing.T) {
	var request struct {
		Data string `json:"data" required:"true" minlen:"1" doc:"what to encode"`
	}
	require.ErrorContains(t, decode([]byte(`{"data":""}`), &request), "data: must not be empty")
}
