package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/require"
)

// shelf and book are the requests of a table of tests: a list with parameters, one of its entries, and
// an action on one.
type shelf struct {
	Limit  int         `json:"limit,omitempty" in:"query" doc:"how many" default:"50" min:"1" max:"100"`
	Cursor string      `json:"cursor,omitempty" in:"query" doc:"where to go on" maxlen:"20"`
	Mark   *mark       `json:"mark,omitempty" in:"query" doc:"a pointer"`
	Colour string      `json:"colour,omitempty" in:"query" doc:"one of few" enum:"red green"`
	Hidden bool        `json:"hidden,omitempty" in:"query" doc:"also what is hidden"`
	Ratio  *float64    `json:"ratio,omitempty" in:"query" doc:"a number" min:"0" max:"1"`
	Domain diag.Domain `json:"domain,omitempty" in:"query" doc:"a type of its own"`
}

// mark is a text that parses itself.
type mark struct{ text string }

func (m *mark) UnmarshalText(text []byte) error {
	if m.text = string(text); strings.HasPrefix(m.text, "!") {
		return input.Invalid("mark", "must not begin with !")
	}
	return nil
}

type book struct {
	ID string `json:"id" in:"path" doc:"which one" pattern:"^b[0-9 /]{1,30}$"`
}

type lending struct {
	ID   string `json:"id" in:"path" doc:"which one"`
	Days int    `json:"days,omitempty" doc:"for how long" min:"1" max:"30"`
	To   string `json:"to,omitempty" doc:"to whom"`
}

type search struct {
	Words string `json:"words" in:"query" doc:"what to look for"`
	Shelf string `json:"shelf,omitempty" in:"query" doc:"where"`
}

type naming struct {
	ID   string `json:"id" in:"path" doc:"which one"`
	Name string `json:"name" doc:"its name"`
}

func (n naming) Validate() error {
	if n.Name == n.ID {
		return input.Invalid("name", "must not be the id")
	}
	return nil
}

// library is a table with all kinds of rows that have parameters.
func library() []Endpoint {
	return []Endpoint{
		{"GET", "/books", metering.MailRead, 1, "list",
			respond(func(r shelf) string { return fmt.Sprintf("list %d %q", r.Limit, r.Cursor) })},
		{"GET", "/books/{id}", metering.MailRead, 2, "show", respond(func(r book) string { return "show " + r.ID })},
		{"GET", "/books/{id}/pages", metering.MailRead, 2, "pages", respond(func(r book) string { return "pages " + r.ID })},
		{"POST", "/books/{id}/lend", metering.MailWrite, 5, "lend",
			respond(func(r lending) string { return fmt.Sprint("lend ", r.ID, " ", r.Days, " ", r.To) })},
		{"GET", "/books/first", metering.MailRead, 1, "exact", respond(func(struct{}) string { return "first" })},
		{"GET", "/search", metering.MailRead, 1, "search", accepts[search]()},
		{"POST", "/books/{id}/name", metering.MailWrite, 1, "name", accepts[naming]()},
		row("/plain", 1, echo),
	}
}

// says returns an operation that answers with a text.
func respond[Req any](text func(Req) string) Operation {
	return Call(func(_ context.Context, _ *diag.Env, req Req) (*testReport, error) {
		return &testReport{Text: text(req)}, nil
	})
}

// get makes a request without a body.
func (a *api) get(target string, headers ...string) *reply {
	c := attempt{"GET", Prefix + target, "", http.Header{"Authorization": {"Bearer " + a.secret}}, "198.51.100.1:4000"}
	for i := 0; i < len(headers); i += 2 {
		c.header.Set(headers[i], headers[i+1])
	}
	return a.do(c)
}

func TestPaths(t *testing.T) {
	a := newAPI(t, "self", nil, library()...)
	long := "b" + strings.Repeat("1", 29)
	for _, tt := range []struct{ name, method, path, want string }{
		{"exact", "GET", "/books", `list 0 ""`},
		{"parameter", "GET", "/books/b1", "show b1"},
		{"parameter inside", "GET", "/books/b1/pages", "pages b1"},
		{"exact before pattern", "GET", "/books/first", "first"},
		{"escaped letter", "GET", "/books/%62%31", "show b1"},
		{"escaped literal", "GET", "/book%73/b1", "show b1"},
		{"escaped space", "GET", "/books/b%201", "show b 1"},
		{"escaped slash belongs to the value", "GET", "/books/b%2F1", "show b/1"},
		{"escaped slash, lower case", "GET", "/books/b%2f1/pages", "pages b/1"},
		{"long", "GET", "/books/" + long, "show " + long},

		{"escaped slash separates nothing", "GET", "/books%2Fb1", "404"},
		{"nor in an exact path", "GET", "/books%2Ffirst", "404"},
		{"escaped slash before an action", "GET", "/books/b1%2Fpages", "404"},
		{"malformed", "GET", "/books/x1", "404"},
		{"malformed for its length", "GET", "/books/" + long + "11", "404"},
		{"endless", "GET", "/books/b" + strings.Repeat("1", 100_000), "404"},
		{"endless, and of no pattern", "POST", "/books/" + strings.Repeat("1", maxPath) + "/lend", "404"},
		{"invalid UTF-8", "GET", "/books/b%ff", "404"},
		{"invalid UTF-8, and of no pattern", "POST", "/books/b%ff/lend", "404"},
		{"NUL", "GET", "/books/b%00", "404"},
		{"the template itself", "GET", "/books/%7Bid%7D", "404"},
		{"empty", "GET", "/books/", "404"},
		{"empty inside", "GET", "/books//pages", "404"},
		{"slash at the end", "GET", "/books/b1/", "404"},
		{"slash at the end of an action", "GET", "/books/b1/pages/", "404"},
		{"unknown action", "GET", "/books/b1/burn", "404"},
		{"deeper", "GET", "/books/b1/pages/1", "404"},
		{"dots", "GET", "/books/../plain", "404"},
		{"letter case", "GET", "/Books/b1", "404"},

		{"method of a list", "POST", "/books", "405 GET, HEAD"},
		{"method of a parameter", "DELETE", "/books/b1", "405 GET, HEAD"},
		{"HEAD is GET without its body", "HEAD", "/books/b1", ""},
		{"HEAD of a list", "HEAD", "/books", ""},
		{"method of an action", "GET", "/books/b1/lend", "405 POST"},
		{"the method before the value", "POST", "/books/x1", "405 GET, HEAD"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := a.do(attempt{tt.method, Prefix + tt.path, "", http.Header{"Authorization": {"Bearer " + a.secret}}, ""})
			switch status, allow, _ := strings.Cut(tt.want, " "); status {
			case "404":
				require.Equal(t, 404, r.Code)
				require.Equal(t, reasonNotFound, r.problem().Details.Reason)
			case "405":
				require.Equal(t, 405, r.Code)
				require.Equal(t, allow, r.header("Allow"))
			case "":
				require.Equal(t, 200, r.Code)
				require.Empty(t, r.Body.String())
			default:
				require.Equal(t, 200, r.Code, "%s", r.Body)
				require.JSONEq(t, fmt.Sprintf(`{"text":%q}`, tt.want), r.Body.String())
			}
		})
	}
}

// The observations, and so ledger and metrics, name the row and never the value in its path.
func TestPathsAreNotObserved(t *testing.T) {
	a := newAPI(t, "self", nil, library()...)
	a.get("/books/b1?colour=red")
	a.get("/books/b123/pages")
	require.Equal(t, "GET /public/v1/books/{id}", a.seen[0].Endpoint)
	require.Equal(t, Observation{
		Endpoint: "GET /public/v1/books/{id}/pages", Code: "OK", Status: 200, Plan: "self", Credits: 2,
		Account: a.account.ID, Key: a.key.ID,
	}, a.observed()[1])
	require.NotContains(t, a.log.String(), "b123")
	require.NotContains(t, a.log.String(), "colour")
}

// A malformed ID gets the same bytes as an unknown path.
func TestNotFoundLooksAlike(t *testing.T) {
	a := newAPI(t, "self", nil, library()...)
	body := func(r *reply) string {
		require.Equal(t, 404, r.Code)
		return strings.ReplaceAll(r.Body.String(), r.header("X-Request-Id"), "req")
	}
	require.Equal(t, body(a.get("/nothing")), body(a.get("/books/x1")))
	require.Zero(t, a.used())
}

// Rows that cannot be served end the program at its start.
func TestRowsAreChecked(t *testing.T) {
	type noPlace struct {
		Text string `json:"text"`
	}
	type badPlace struct {
		Text string `json:"text" in:"header"`
	}
	type list struct {
		Texts []string `json:"texts" in:"query"`
	}
	type object struct {
		Inner inner `json:"inner" in:"query"`
	}
	type vague struct {
		ID string `json:"id,omitempty" in:"path"`
	}
	type torn struct {
		A string `json:"a,omitempty" in:"query" oneof:"x"`
		B string `json:"b,omitempty" oneof:"x"`
	}
	type choice struct {
		ID string `json:"id,omitempty" in:"path" oneof:"x"`
	}
	for _, tt := range []struct {
		name, method, path string
		op                 Operation
		want               string
	}{
		{"GET with a body", "GET", "/x", accepts[noPlace](), "GET /public/v1/x: the field text needs a place outside the body"},
		{"another method", "PUT", "/x", accepts[struct{}](), "the method must be GET or POST"},
		{"another place", "POST", "/x", accepts[badPlace](), `a request has no place "header"`},
		{"a parameter without its field", "GET", "/x/{name}", accepts[book](),
			`the path has the parameters ["name"], the request has fields for ["id"]`},
		{"a field without its parameter", "GET", "/x", accepts[book](), `has fields for ["id"]`},
		{"a list", "GET", "/x", accepts[list](), "a parameter is one text"},
		{"an object", "GET", "/x", accepts[object](), "a parameter is one text"},
		{"an optional segment", "GET", "/x/{id}", accepts[vague](), "what is in the path is always there"},
		{"a group in two places", "POST", "/x", accepts[torn](), "the fields of the group x are in different places"},
		{"a choice in the path", "GET", "/x/{id}", accepts[choice](), "what is in the path is no choice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			defer func() { require.Contains(t, fmt.Sprint(recover()), tt.want) }()
			newAPI(t, "self", nil, Endpoint{tt.method, tt.path, metering.DNSRead, 1, "", tt.op})
		})
	}
	t.Run("two templates for one path", func(t *testing.T) {
		defer func() {
			require.Equal(t, "httpapi: the paths /public/v1/x/{id} and /public/v1/{id}/y overlap", recover())
		}()
		newAPI(t, "self", nil, Endpoint{"GET", "/x/{id}", metering.DNSRead, 1, "", accepts[book]()},
			Endpoint{"GET", "/{id}/y", metering.DNSRead, 1, "", accepts[book]()})
	})
}

// takes is an operation that takes a type of request.
func accepts[Req any]() Operation { return respond(func(Req) string { return "" }) }

// Whatever a parameter is, its escaped form is matched and gives it back; and no path panics.
func FuzzTemplate(f *testing.F) {
	f.Add("b1", "/x/b1/y")
	f.Add("a/b c%?#", "/x/%2f/y")
	f.Add("\xff", "/x//y/")
	f.Add("", "%")
	f.Fuzz(func(t *testing.T, value, path string) {
		x := parseTemplate("/x/{id}/y")
		values, ok := x.match("/x/" + url.PathEscape(value) + "/y")
		require.Equal(t, value != "", ok)
		if ok {
			require.Equal(t, []string{value}, values)
		}
		if values, ok := x.match(path); ok {
			require.Len(t, values, 1)
			require.Equal(t, 3, strings.Count(path, "/"))
		}
	})
}
