package httpapi

import (
	"context"
	"go/ast"
	goparser "go/parser"
	gotoken "go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/compose"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// A brokenResolver is a resolver of ours that fails for all questions alike.
type brokenResolver func(ctx context.Context, q *dns.Msg) (*dns.Msg, error)

func (f brokenResolver) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) { return f(ctx, q) }

// A panic in a part reaches the log, and not the client.
func TestPanicInAPart(t *testing.T) {
	a := newAPI(t, "free", nil,
		row("/x", 3, func(context.Context, *diag.Env, testRequest) (*testReport, error) {
			return &testReport{Panics: compose.Panics{{Value: "index out of range", Stack: []byte("parts.go:17")}}}, nil
		}))
	r := a.post("/x", `{}`)
	require.Equal(t, 200, r.Code)
	require.NotContains(t, r.Body.String(), "index out of range")
	require.Contains(t, a.log.String(), "index out of range")
	require.Contains(t, a.log.String(), "parts.go:17")
}

// A panic of a caller's resolver ends one request, whichever goroutine it happens in, and an invalid reply counts as
// silence.
func TestResolverOfACaller(t *testing.T) {
	tests := []struct {
		name     string
		resolver brokenResolver
		status   int
	}{
		{"panic", func(context.Context, *dns.Msg) (*dns.Msg, error) { panic("a bug in one decoder") }, 500},
		{"no message", func(context.Context, *dns.Msg) (*dns.Msg, error) { return nil, nil }, 502},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newAPI(t, "free", func(c *Config) { c.Env = &diag.Env{Resolver: tt.resolver} })
			for _, op := range []string{"spf/lookup", "dane/lookup", "url/check", "spf/lookup"} {
				body := `{"domain":"example.com"}`
				if op == "url/check" {
					body = `{"url":"https://example.com/"}`
				}
				r := a.post("/"+op, body)
				require.Equal(t, tt.status, r.Code, "%s: %s", op, r.Body)
			}
			require.Zero(t, a.used())
		})
	}
}

// startsGoroutines are the files that may start goroutines other than by [diag.Group]: those that carry panics
// themselves, run nothing but the library's or a server's own loop, or write the ledger of which nothing would be
// known after a panic.
var startsGoroutines = map[string]string{
	"diag/dial.go":                "carries panics to the one who dials",
	"diag/resolver/ask.go":        "carries panics to the one who waits",
	"diag/resolver/flight.go":     "carries panics to those who wait",
	"httpapi/handshake.go":        "contains the handshake, and accepts as a server does",
	"httpapi/charge.go":           "carries panics to the request",
	"httpapi/letterbox/letter.go": "contains the analysis",
	"httpapi/dashboard/signin.go": "contains the job",
	"metering/sqlite/health.go":   "waits for two channels",
}

// A goroutine with an unrecovered panic ends the process. In packages that others import, [diag.Group] starts them
// all.
func TestGoroutines(t *testing.T) {
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(filepath.ToSlash(path), "../")
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "cmd" || name == "examples" || d.Name() == "testdata" || strings.HasSuffix(name, "test")):
			return filepath.SkipDir
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || startsGoroutines[name] != "":
			return nil
		}
		fset := gotoken.NewFileSet()
		file, err := goparser.ParseFile(fset, path, nil, goparser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s: a go statement: use diag.Group", fset.Position(g.Pos()))
			}
			return true
		})
		return nil
	})
	require.NoError(t, err)
}
