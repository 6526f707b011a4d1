package httpapi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/require"
)

var (
	since  = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	sunset = time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC)
)

// describeRow returns the description of one row in the document.
func describeRow(t *testing.T, ep Endpoint) schema {
	var doc struct{ Paths map[string]map[string]schema }
	text := openAPI([]Endpoint{ep}, func(Endpoint) example { return example{} })
	require.NoError(t, json.Unmarshal(text, &doc))
	return doc.Paths[Prefix+ep.Path][strings.ToLower(ep.Method)]
}

func toJSON(t *testing.T, v any) string {
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

func TestScopeTransition(t *testing.T) {
	moved := func(path string, d Deprecation) Endpoint {
		return Endpoint{"POST", path, metering.WebRead, 1, "test", Call(echo).alsoAllow(metering.MailRead, d)}
	}
	dated, undated := moved("/dated", Deprecation{since, sunset}), moved("/undated", Deprecation{})
	a := newAPI(t, "self", nil, dated, undated)
	for _, c := range []struct {
		name               string
		path               string
		scopes             []metering.Scope
		deprecated         string
		deprecation, ended string
	}{
		{"both scopes", "/dated", []metering.Scope{metering.MailRead, metering.WebRead}, "", "", ""},
		{"the row's scope", "/dated", []metering.Scope{metering.WebRead}, "", "", ""},
		{"the other scope", "/dated", []metering.Scope{metering.MailRead}, "mail:read", "@1772323200", "Thu, 31 Dec 2026 23:59:59 GMT"},
		{"the other scope before a date is set", "/undated", []metering.Scope{metering.MailRead}, "mail:read", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, a.secret = a.newKey(c.scopes...)
			before := len(a.log.String())
			r := a.post(c.path, "{}")
			require.Equal(t, 200, r.Code)
			require.Equal(t, c.deprecation, r.header("Deprecation"))
			require.Equal(t, c.ended, r.header("Sunset"))
			require.Equal(t, c.deprecated, a.seen[len(a.seen)-1].Deprecated)
			require.Equal(t, c.deprecated != "", strings.Contains(a.log.String()[before:], `"msg":"deprecated use"`))
		})
	}
	t.Run("neither scope", func(t *testing.T) {
		_, a.secret = a.newKey(metering.DNSRead, metering.MailWrite)
		p := a.post("/dated", "{}").problem()
		require.Equal(t, InsufficientScope, p.Code)
		require.Equal(t, "web:read", p.Details.Required)
	})
	t.Run("described", func(t *testing.T) {
		op := describeRow(t, dated)
		require.Equal(t, "1 credit, scope web:read. A key with the scope mail:read alone is accepted too; "+
			"that is deprecated and ends on 2026-12-31.", op["description"])
		require.Equal(t, []any{"mail:read"}, op["x-deprecated-scopes"])
		require.NotContains(t, op, "deprecated")
		require.Contains(t, toJSON(t, op["responses"]), "#/components/headers/Sunset")
		require.Equal(t, []metering.Scope{metering.WebRead, metering.MailRead}, dated.Scopes())
	})
}

func TestDeprecatedRow(t *testing.T) {
	old := Endpoint{"POST", "/old", metering.WebRead, 1, "test", Call(echo).withDeprecation(Deprecation{since, sunset})}
	a := newAPI(t, "self", nil, old)
	for _, body := range []string{"{}", "[]"} { // refusals report it too
		r := a.post("/old", body)
		require.Equal(t, "@1772323200", r.header("Deprecation"))
		require.Equal(t, "Thu, 31 Dec 2026 23:59:59 GMT", r.header("Sunset"))
		require.Equal(t, "operation", a.seen[len(a.seen)-1].Deprecated)
	}
	op := describeRow(t, old)
	require.Equal(t, true, op["deprecated"])
	require.Contains(t, toJSON(t, op["responses"]), "#/components/headers/Deprecation")
}
