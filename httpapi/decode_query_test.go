package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func decodeTarget(t testing.TB, method, path, target, body string) (any, error) {
	t.Helper()
	u, err := url.ParseRequestURI(Prefix + target)
	require.NoError(t, err)
	for _, ep := range library() {
		if ep.Method == method && ep.Path == path {
			return ep.mustBeServable().decodeParameters(u, []byte(body))
		}
	}
	t.Fatal("there is no such row")
	return nil, nil
}

func TestQuery(t *testing.T) {
	for _, tt := range []struct {
		query string
		want  shelf
	}{
		{"", shelf{}},
		{"?", shelf{}},
		{"?&&", shelf{}},
		{"?limit=5", shelf{Limit: 5}},
		{"?limit=5&cursor=abc&", shelf{Limit: 5, Cursor: "abc"}},
		{"?cursor=", shelf{}},
		{"?cursor", shelf{}},
		{"?cursor=null", shelf{Cursor: "null"}},
		{"?cursor=5", shelf{Cursor: "5"}},
		{"?cursor=%22a%5C", shelf{Cursor: `"a\`}},
		{"?cursor=a+b%20c%2B", shelf{Cursor: "a b c+"}},
		{"?cursor=a=b;c", shelf{Cursor: "a=b;c"}},
		{"?cursor=%C3%A4%00", shelf{Cursor: "ä\x00"}},
		{"?%6Cimit=7", shelf{Limit: 7}},
		{"?hidden=true&colour=red", shelf{Hidden: true, Colour: "red"}},
		{"?hidden=false", shelf{}},
		{"?mark=", shelf{Mark: &mark{}}},
		{"?mark=x", shelf{Mark: &mark{"x"}}},
		{"?ratio=0.5", shelf{Ratio: new(0.5)}},
		{"?limit=100", shelf{Limit: 100}},
	} {
		t.Run(tt.query, func(t *testing.T) {
			got, err := decodeTarget(t, "GET", "/books", "/books"+tt.query, "")
			require.NoError(t, err)
			require.Equal(t, &tt.want, got)
		})
	}
}

func TestQueryViolations(t *testing.T) {
	const known = "is not a parameter of this request; the parameters are limit, cursor, mark, colour, hidden, ratio, domain"
	for _, tt := range []struct {
		query string
		want  []string
	}{
		{"limit=0", []string{"limit invalid_field must be at least 1"}},
		{"limit=101", []string{"limit invalid_field must be at most 100"}},
		{"limit=", []string{"limit invalid_field must be a whole number"}},
		{"limit", []string{"limit invalid_field must be a whole number"}},
		{"limit=1.5", []string{"limit invalid_field must be a whole number"}},
		{"limit=+5", []string{"limit invalid_field must be a whole number"}},
		{"limit=%2B5", []string{"limit invalid_field must be a whole number"}},
		{"limit=007", []string{"limit invalid_field must be a whole number"}},
		{"limit=0x10", []string{"limit invalid_field must be a whole number"}},
		{"limit=null", []string{"limit invalid_field must be a whole number"}},
		{"limit=5,6", []string{"limit invalid_field must be a whole number"}},
		{"limit=99999999999999999999", []string{"limit invalid_field must be a whole number"}},
		{"hidden=1", []string{"hidden invalid_field must be true or false"}},
		{"hidden=True", []string{"hidden invalid_field must be true or false"}},
		{"ratio=1e400", []string{"ratio invalid_field must be a number"}},
		{"ratio=NaN", []string{"ratio invalid_field must be a number"}},
		{"colour=blue", []string{"colour invalid_field must be one of red, green"}},
		{"cursor=" + strings.Repeat("x", 21), []string{"cursor invalid_field must have at most 20 characters"}},
		{"mark=!x", []string{"mark invalid_field must not begin with !"}},
		{"lim=5", []string{"lim unknown_field " + known}},
		{"Limit=5", []string{"Limit unknown_field " + known}},
		{"limit[]=5", []string{"limit[] unknown_field " + known}},
		{"=5", []string{" unknown_field " + known}},
		{"limit=5&limit=5", []string{"limit invalid_field is given twice"}},
		{"limit=5&%6cimit=6", []string{"limit invalid_field is given twice"}},
		{"limit=x&limit=5", []string{"limit invalid_field must be a whole number", "limit invalid_field is given twice"}},
		{"cursor=%", []string{"cursor invalid_field has a percent sign without two hexadecimal digits"}},
		{"cursor=%zz", []string{"cursor invalid_field has a percent sign without two hexadecimal digits"}},
		{"cursor=%ff", []string{"cursor invalid_field is not valid UTF-8"}},
		{"%ff=1", []string{" invalid_field the name of a parameter is not valid UTF-8"}},
		{"%zz=1", []string{" invalid_field the name of a parameter has a percent sign without two hexadecimal digits"}},
		{"cursor=" + strings.Repeat("x", maxQuery), []string{" invalid_field the query must have at most 4096 bytes, not 4103"}},
		{"limit=0&colour=blue&x=1&hidden=2", []string{
			"limit invalid_field must be at least 1", "colour invalid_field must be one of red, green",
			"x unknown_field " + known, "hidden invalid_field must be true or false"}},
	} {
		t.Run(tt.query[:min(len(tt.query), 40)], func(t *testing.T) {
			u := &url.URL{Path: Prefix + "/books", RawQuery: tt.query}
			_, err := library()[0].mustBeServable().decodeParameters(u, nil)
			require.Error(t, err)
			f := problemFor(err)
			require.Equal(t, 400, f.status)
			var got []string
			for _, v := range f.problem.Details.Fields {
				got = append(got, v.Field+" "+v.Reason+" "+v.Message)
			}
			require.Equal(t, tt.want, got)
		})
	}
	many := &url.URL{Path: Prefix + "/books", RawQuery: strings.Repeat("x&", maxQuery/2)}
	_, err := library()[0].mustBeServable().decodeParameters(many, nil)
	require.Len(t, problemFor(err).problem.Details.Fields, maxViolations, "a short query makes no long reply")
}

// A row without parameters refuses them on GET; on POST the query is ignored.
func TestQueryOfOtherRows(t *testing.T) {
	a := newAPI(t, "self", nil, library()...)
	p := a.get("/books/b1?limit=5").problem()
	require.Equal(t, reasonUnknown, p.Details.Reason)
	require.Equal(t, "limit: is not a parameter of this request; it has none", p.Message)
	require.Equal(t, reasonUnknown, a.get("/books/first?id=b1").problem().Details.Reason)
	require.Equal(t, reasonUnknown, a.get("/books/b1?id=b2").problem().Details.Reason, "the path alone says which")
	require.Equal(t, 404, a.get("/books/x1?limit=5").Code, "what names nothing has no parameters")
	require.Equal(t, reasonUnknown, a.post("/books/b1/lend?limit=5", `{}`).problem().Details.Reason)
	require.Equal(t, 200, a.post("/plain?&", `{}`).Code)
	require.Len(t, a.post("/plain?limit=5", `{"x":1}`).problem().Details.Fields, 2, "all faults at once")
}

// No operation ignores a parameter that it does not have.
func TestUnknownParameters(t *testing.T) {
	a := newAPI(t, "self", nil)
	for _, ep := range endpoints {
		path := ep.Path
		for _, p := range ep.Params() {
			path = strings.Replace(path, "{"+p.Name+"}", p.Example, 1)
		}
		header := http.Header{"Authorization": {"Bearer " + a.secret}}
		r := a.do(attempt{ep.Method, Prefix + path + "?utm_source=x", "", header, ""})
		require.Equal(t, 400, r.Code, ep.Path)
		require.Contains(t, fmt.Sprint(r.problem().Details.Fields), "{utm_source unknown_field is not a parameter", ep.Path)
	}
	require.Zero(t, a.used())
	header := http.Header{"Authorization": {"Bearer " + a.secret}, "Content-Type": {"multipart/form-data; boundary=b"}}
	form := "--b\r\nContent-Disposition: form-data; name=file; filename=a\r\n\r\nx\r\n--b--\r\n"
	r := a.do(attempt{"POST", Prefix + "/http/qr/decode?utm_source=x", form, header, ""})
	require.Contains(t, r.problem().Message, "utm_source")
}

// What is required is required wherever it is, and a request may have rules of its own.
func TestRequiredParameters(t *testing.T) {
	a := newAPI(t, "self", nil, library()...)
	require.Equal(t, "words: is required", a.get("/search?shelf=1").problem().Message)
	require.Equal(t, 200, a.get("/search?words=").Code)
	require.Equal(t, "name: is required", a.post("/books/b1/name", ``).problem().Message)
	require.Equal(t, "name: is required", a.post("/books/b1/name", `{}`).problem().Message)
	require.Equal(t, "name: must not be the id", a.post("/books/b1/name", `{"name":"b1"}`).problem().Message)
	require.Equal(t, 200, a.post("/books/b1/name", `{"name":"x"}`).Code)
}

func TestBodyBesidePath(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"none", ``, "lend b1 0 "},
		{"empty object", `{}`, "lend b1 0 "},
		{"fields", `{"days":5,"to":"me"}`, "lend b1 5 me"},
		{"the id again", `{"id":"b2"}`, "id: is not a field of this request; the fields are days, to"},
		{"unknown", `{"day":5}`, "day: is not a field of this request; the fields are days, to"},
		{"bounds", `{"days":31,"to":1}`, "days: must be at most 30 (and 1 more)"},
		{"null", `null`, "a JSON object is expected"},
		{"malformed", `{`, "line 1, column 1: unexpected end of JSON input"},
		{"more", `{} {}`, "line 1, column 4: invalid character '{' after top-level value"},
		{"invalid UTF-8", "{\"to\":\"\xff\"}", "the body is not valid UTF-8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newAPI(t, "self", nil, library()...)
			r := a.post("/books/b1/lend", tt.body)
			if r.Code == 200 {
				require.JSONEq(t, fmt.Sprintf(`{"text":%q}`, tt.want), r.Body.String())
				require.Equal(t, int64(5), a.used())
				return
			}
			require.Equal(t, 400, r.Code)
			require.Equal(t, tt.want, r.problem().Message)
			require.Zero(t, a.used())
		})
	}
}

func TestTarget(t *testing.T) {
	rows := map[string]Endpoint{}
	for _, ep := range library() {
		rows[ep.Path] = ep
	}
	for _, tt := range []struct{ path, fields, want, body string }{
		{"/books", `{}`, "/books", ""},
		{"/books", `{"cursor":"a b&c=d+é","limit":5,"hidden":true,"mark":null}`, "/books?limit=5&cursor=a+b%26c%3Dd%2B%C3%A9&hidden=true", ""},
		{"/books", `{"cursor":""}`, "/books?cursor=", ""},
		{"/books/{id}", `{"id":"b/1 ?"}`, "/books/b%2F1%20%3F", ""},
		{"/books/{id}", `{}`, "id: is required", ""},
		{"/books/{id}", `{"id":""}`, "id: is required", ""},
		{"/books/{id}", `{"id":null}`, "id: is required", ""},
		{"/books/{id}", `{"id":"b1","x":1}`, "x: is not a field of this request", ""},
		{"/books/{id}", `{"y":1,"x":1}`, "id: is required; x: is not a field of this request; " +
			"y: is not a field of this request", ""},
		{"/books/{id}", `[]`, "a JSON object is expected", ""},
		{"/books/{id}/lend", `{"id":"b1","days":5}`, "/books/b1/lend", `{"days":5}`},
		{"/books/{id}/lend", `{"id":"b1"}`, "/books/b1/lend", `{}`},
		{"/plain", `{"text":"x"}`, "/plain", `{"text":"x"}`},
	} {
		t.Run(tt.path+tt.fields, func(t *testing.T) {
			target, body, err := rows[tt.path].Target([]byte(tt.fields))
			if err != nil {
				require.EqualError(t, err, tt.want)
				return
			}
			require.Equal(t, Prefix+tt.want, target)
			require.Equal(t, tt.body, string(body))
		})
	}
}

// Run accepts all fields alike, and reports the same faults as the server.
func TestRunWithParameters(t *testing.T) {
	rows := library()
	result, err := rows[0].Run(t.Context(), nil, []byte(`{"limit":5,"cursor":"x"}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"text":"list 5 \"x\""}`, string(result.Body))
	result, err = rows[3].Run(t.Context(), nil, []byte(`{"id":"b1","days":3}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"text":"lend b1 3 "}`, string(result.Body))
	_, err = rows[1].Run(t.Context(), nil, []byte(`{}`))
	require.EqualError(t, err, "id: is required")

	places := map[string]Location{}
	for _, p := range rows[3].Params() {
		places[p.Name] = p.In
	}
	require.Equal(t, map[string]Location{"id": InPath, "days": InBody, "to": InBody}, places)
	require.Equal(t, InQuery, rows[0].Params()[0].In)
}

// A query and its encoding are equivalent; and no query panics.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		"limit=5&cursor=a+b", "cursor=%C3%A4%00&hidden=true", "ratio=0.25&mark=%21", "limit=1e1&&=&%=%zz",
		"domain=B%C3%BCcher.example&colour=red", "cursor=\"\\&limit=-0", "mark=a&mark=b",
	} {
		f.Add(seed)
	}
	ep := library()[0].mustBeServable()
	f.Fuzz(func(t *testing.T, query string) {
		first, err := ep.decodeParameters(&url.URL{Path: Prefix + "/books", RawQuery: query}, nil)
		if (err == nil) == (first == nil) {
			t.Fatal("a request or an error")
		}
		if err != nil {
			require.NotEmpty(t, problemFor(err).problem.Details.Fields)
			return
		}
		fields, err := json.Marshal(queryFields(first.(*shelf)))
		require.NoError(t, err)
		target, _, err := ep.Target(fields)
		require.NoError(t, err)
		u, err := url.ParseRequestURI(target)
		require.NoError(t, err)
		second, err := ep.decodeParameters(u, nil)
		require.NoError(t, err, target)
		require.True(t, reflect.DeepEqual(first, second), "%q and %q", query, target)
	})
}

// queryFields writes a request as the JSON object that Target takes.
func queryFields(r *shelf) map[string]any {
	fields := map[string]any{"cursor": r.Cursor, "hidden": r.Hidden, "ratio": r.Ratio, "mark": nil}
	if r.Limit != 0 {
		fields["limit"] = r.Limit
	}
	if r.Mark != nil {
		fields["mark"] = r.Mark.text
	}
	if r.Colour != "" {
		fields["colour"] = r.Colour
	}
	if d := r.Domain.String(); d != "" {
		fields["domain"] = d
	}
	return fields
}
