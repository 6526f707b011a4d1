package httpapi

import (
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/diagkit/diagkit/"

// layers lists what each top-level folder may import of this module, in addition to itself. It reads downwards:
// nothing imports a folder that is below it.
var layers = map[string][]string{
	"textutil": {},
	"metering": {},
	"diag":     {},
	"mailauth": {"diag"},
	"webcheck": {"diag"},
	"httpapi":  {"diag", "textutil", "metering", "mailauth", "webcheck"},
	"cmd":      {"diag", "textutil", "metering", "mailauth", "webcheck", "httpapi"},
	"examples": {"diag", "textutil", "metering", "mailauth", "webcheck", "httpapi"},
}

// heavy modules must not burden importers of a check: only these packages may import them.
var heavy = map[string][]string{
	"github.com/prometheus/":           {"httpapi/metrics"},
	"github.com/modelcontextprotocol/": {"httpapi/agent", "examples/agent"},
	"zombiezen.com/":                   {"metering/sqlitedb", "metering/sqlite", "mailauth/hostedspf/sqlite"},
	module + sqliteFiles:               {"metering/sqlite", "mailauth/hostedspf/sqlite", "cmd/diagd"},
	"github.com/spf13/":                {"cmd"},
	"html/template": {"httpapi/pages", "httpapi/dashboard", "httpapi/letterbox", "httpapi/publiccheck",
		"httpapi/internal/ui", "diag/view/render"},
	"github.com/redis/":             {"metering/redis"},
	"github.com/alicebob/":          {}, // Redis in memory, for the tests of metering/redis
	"golang.org/x/crypto/acme":      {"cmd/diagd"},
	"golang.org/x/image":            {"webcheck/internal/raster"},
	"github.com/makiuchi-d/":        {"webcheck/qr", "webcheck/internal/scan", "cmd/diag"},
	"github.com/emersion/go-smtp":   {"metering/notify", "httpapi/letterbox"}, // its client; servers in tests, too
	"github.com/standard-webhooks/": {},                                       // the second verifier of the tests of metering/notify
	"go.yaml.in/":                   {},                                       // the second reader of the tests of textutil/internal/yaml
	"github.com/jackc/":             {"metering/postgresdb", "metering/postgres", "mailauth/hostedspf/postgres", "cmd/diagd/internal/bench"},
}

// sqliteFiles and postgresDatabases are the packages that all stores on SQLite and on PostgreSQL share. They import
// nothing of ours; hosted SPF keeps its tables next to the ledger's.
const (
	sqliteFiles       = "metering/sqlitedb"
	postgresDatabases = "metering/postgresdb"
)

// below lists what package diag is made of. Of these, only the resolver and the messages import a DNS library.
var below = []string{"diag/dnsmsg", "diag/input", "diag/kit", "diag/phrase", "diag/resolver", "diag/rule"}

// misplaced returns the violation of an import, or nothing. Paths are relative to the module.
func misplaced(pkg, imported string) string {
	from, to := top(pkg), top(imported)
	switch {
	case layers[from] == nil:
		return pkg + " is in no layer"
	case strings.HasSuffix(imported, "test") && from != "examples":
		return pkg + " imports the test package " + imported
	case pkg == "diag/resolver":
		return pkg + " lies below everything and must not import " + imported
	case pkg == "diag" && slices.Contains(below, imported):
		return ""
	case slices.Contains(below, pkg) && !slices.Contains(below, imported):
		return pkg + " lies below diag and must not import " + imported
	case pkg == "diag":
		return "diag must not import " + imported
	case pkg == sqliteFiles || pkg == postgresDatabases:
		return pkg + " lies below the stores and must not import " + imported
	case imported == sqliteFiles && pkg == "mailauth/hostedspf/sqlite",
		imported == postgresDatabases && pkg == "mailauth/hostedspf/postgres":
		return ""
	case from != to && !slices.Contains(layers[from], to):
		return pkg + " must not import " + imported
	}
	return ""
}

func top(p string) string { first, _, _ := strings.Cut(p, "/"); return first }

func TestLayers(t *testing.T) {
	list := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...")
	list.Dir = ".."
	out, err := list.Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		pkg, imports, _ := strings.Cut(strings.TrimSpace(line), " ")
		pkg = strings.TrimPrefix(pkg, module)
		for imported := range strings.FieldsSeq(imports) {
			if ours, ok := strings.CutPrefix(imported, module); ok {
				if fault := misplaced(pkg, ours); fault != "" {
					t.Error(fault)
				}
			}
			for prefix, allowed := range heavy {
				if strings.HasPrefix(imported, prefix) && !slices.ContainsFunc(allowed, func(a string) bool {
					return pkg == a || strings.HasPrefix(pkg, a+"/")
				}) {
					t.Errorf("%s must not import %s", pkg, imported)
				}
			}
		}
	}
}

// A program that serves the API alone does not compile the optional parts.
func TestAPIAlone(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	deps := strings.Fields(string(out))
	require.Contains(t, deps, module+"metering")
	for _, pkg := range deps {
		for _, prefix := range []string{module + "httpapi/", module + "metering/member", module + "metering/notify", module + "metering/billing",
			"github.com/modelcontextprotocol/", "html/template"} {
			require.False(t, strings.HasPrefix(pkg, prefix), "httpapi imports %s", pkg)
		}
	}
}

// The test of the layers must be able to fail.
func TestMisplaced(t *testing.T) {
	tests := []struct{ pkg, imported, want string }{
		{"diag/resolve", "diag", ""},
		{"mailauth/mtasts", "diag/fetch", ""},
		{"diag", "diag/resolver", ""},
		{"diag", "diag/rule", ""},
		{"diag", "diag/resolve", "diag must not import diag/resolve"},
		{"diag/rule", "diag/phrase", ""},
		{"diag/rule", "diag", "diag/rule lies below diag and must not import diag"},
		{"diag/resolver", "diag", "diag/resolver lies below everything and must not import diag"},
		{"mailauth/spf", "webcheck/qr", "mailauth/spf must not import webcheck/qr"},
		{"textutil", "diag", "textutil must not import diag"},
		{"mailauth/hostedspf/sqlite", "metering/sqlitedb", ""},
		{"mailauth/hostedspf", "metering/sqlitedb", "mailauth/hostedspf must not import metering/sqlitedb"},
		{"mailauth/hostedspf/sqlite", "metering", "mailauth/hostedspf/sqlite must not import metering"},
		{"mailauth/hostedspf/postgres", "metering/postgresdb", ""},
		{"mailauth/hostedspf/postgres", "metering/postgres", "mailauth/hostedspf/postgres must not import metering/postgres"},
		{"metering/sqlite", "metering/sqlitedb", ""},
		{"metering/sqlitedb", "metering", "metering/sqlitedb lies below the stores and must not import metering"},
		{"metering/sqlite", "httpapi", "metering/sqlite must not import httpapi"},
		{"httpapi", "diag/diagtest", "httpapi imports the test package diag/diagtest"},
		{"examples/demo", "diag/diagtest", ""},
		{"pkg/util", "diag", "pkg/util is in no layer"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, misplaced(tt.pkg, tt.imported), path.Join(tt.pkg, tt.imported))
	}
}
