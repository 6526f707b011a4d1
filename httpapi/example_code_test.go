package httpapi

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The calls of the documentation compile.
func TestGoCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("needs time to build a program; runs without -short, as in .ci/run")
	}
	imports, body := map[string]bool{"context": true, module + "diag": true, module + "mailauth/hostedspf": true,
		"github.com/miekg/dns": true}, ""
	for _, ep := range endpoints {
		pkg, call, err := ep.GoCall(ep.Example())
		require.NoError(t, err, ep.Name())
		imports[pkg] = true
		require.NotContains(t, call, "\n")
		body += "\t{ " + call + "; _, _ = report, err }\n"
	}
	program := "package main\n"
	for pkg := range imports {
		program += fmt.Sprintf("import %q\n", pkg)
	}
	program += "func main() {\n\tvar ctx context.Context\n\tvar env *diag.Env\n\tvar access hostedspf.Access\n" +
		"\tvar text string\n\tvar data []byte\n\t_ = dns.TypeA\n" + body + "}\n"
	file := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(file, []byte(program), 0o600))
	out, err := exec.Command("go", "vet", file).CombinedOutput()
	require.NoError(t, err, string(out))
}

// The commands of the documentation are requests that the server decodes.
func TestCurl(t *testing.T) {
	command := regexp.MustCompile(`(?s)^curl "\$DIAG_SERVER(/public/v1/[^"]+)" \\\n  -H "Authorization: Bearer \$DIAG_KEY"` +
		`( .*-d '(.*)')?( .*--output image)?$`)
	s := newServer(Config{Gate: newAPI(t, "self", nil).gate}, endpoints)
	for _, ep := range endpoints {
		text, err := ep.Curl(ep.Example())
		require.NoError(t, err)
		m := command.FindStringSubmatch(text)
		require.NotNil(t, m, text)
		require.Equal(t, ep.HasBody(), m[2] != "", text)
		r, err := http.NewRequest(ep.Method, m[1], nil)
		require.NoError(t, err)
		row := s.routes[r.URL.Path]
		if row == nil {
			row = s.match(r.URL)
		}
		require.Equal(t, ep.Path, row[ep.Method].Path)
		if len(requestFieldsOf(ep.Operation.request).path.fields) == 0 && ep.HasBody() {
			_, err = ep.Operation.decode([]byte(strings.ReplaceAll(m[3], `'\''`, "'")))
			require.NoError(t, err, text)
		}
	}
}
