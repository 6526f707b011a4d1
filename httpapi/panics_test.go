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

// startsGoroutines are the files that may start goroutines other than by [diag.Group] and [metering.Worker]: those that
// carry panics themselves, run nothing but the library's or a server's own loop, or write the ledger of which nothing
// would be known after a panic.
var startsGoroutines = map[string]string{
	"diag/dial.go":                            "carries panics to the one who dials",
	"diag/group.go":                           "carries panics to the one who waits",
	"diag/resolver/ask.go":                    "carries panics to the one who waits",
	"diag/resolver/flight.go":                 "carries panics to those who wait",
	"httpapi/charge.go":                       "carries panics to the request",
	"httpapi/dashboard/signin.go":             "contains the job",
	"httpapi/handshake.go":                    "contains the handshake, and accepts as a server does",
	"httpapi/letterbox/letter.go":             "contains the analysis",
	"httpapi/letterbox/letterbox.go":          "waits for messages that are received",
	"mailauth/hostedspf/nameserver/server.go": "contains each answer, and listens as a server does",
	"mailauth/spf/eval/dns.go":                "waits for an answer that another caller asked for",
	"metering/billing/pay.go":                 "contains each invoice and account",
	"metering/gate.go":                        "follows the store's changes",
	"metering/notify/deriver.go":              "contains each round",
	"metering/postgres/lane.go":               "writes the ledger",
	"metering/postgres/store.go":              "writes the ledger",
	"metering/redis/limiter.go":               "probes Redis",
	"metering/sqlite/store.go":                "writes the ledger",
	"metering/worker.go":                      "contains each job",
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
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a go statement: use diag.Group", fset.Position(n.Pos()))
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "sync" && n.Sel.Name == "WaitGroup" {
					t.Errorf("%s: a sync.WaitGroup: use diag.Group", fset.Position(n.Pos()))
				}
			}
			return true
		})
		return nil
	})
	require.NoError(t, err)
}
