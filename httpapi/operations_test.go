package httpapi

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const modulePath = "github.com/diagkit/diagkit/"

// The page maps the other names of an operation to the one that the reader knows.
func TestDocumentsOperations(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("# Operations, Go functions and commands\n\nEach operation of the API is a function of the library and a command of `diag`: " +
		"the same request, the same report.\n`ctx` is a `context.Context`, `env` a `*diag.Env` (nil: the real Internet), `access` a " +
		"`hostedspf.Access`. Prices and\nscopes: [endpoints.md](endpoints.md).\n\n" +
		"| operation | Go | package to import | command | or in short |\n|---|---|---|---|---|\n")
	short := shortCommands(t)
	for _, ep := range endpoints {
		pkg, call, err := ep.GoCall(exampleRequest(t, ep))
		require.NoError(t, err, ep.Path)
		function := strings.TrimPrefix(call[:strings.Index(call, "(")], "report, err := ")
		folder := strings.TrimPrefix(pkg, modulePath)
		require.DirExists(t, filepath.Join("..", filepath.FromSlash(folder)))
		fmt.Fprintf(&b, "| `%s %s` | `%s(%s)` | [%s](../../%s) | `diag %s` | %s |\n", ep.Method, ep.Path, function,
			signature(reflect.TypeOf(ep.Operation.function)), folder, folder, ep.Name(), strings.Join(short[ep.Name()], ", "))
	}
	fmt.Fprintf(&b, "\nThe paths of packages are below `%s`. Given a record instead of a domain, as in\n`diag spf 'v=spf1 mx -all'`, "+
		"the short commands `spf`, `dkim`, `dmarc` and `bimi` are the validators; given an address, `whois`\nand `rdap` are "+
		"`ip/whois`, and `host` is `ip/nslookup`.\n", modulePath)
	goldenFile(t, "operations.md", b.Bytes())
}

// signature writes the parameters of a function, and the type of its report.
func signature(f reflect.Type) string {
	params := make([]string, f.NumIn())
	for i := range params {
		switch in := f.In(i); in.String() {
		case "context.Context":
			params[i] = "ctx"
		case "*diag.Env":
			params[i] = "env"
		case "hostedspf.Access":
			params[i] = "access"
		default:
			params[i] = in.String()
		}
	}
	return strings.Join(params, ", ") + ") (" + f.Out(0).String() + ", error"
}

var shortName = regexp.MustCompile(`"([a-z0-9-]+)": +"([^"]+)"`)

// shortCommands reads from diag's source which short names an operation has.
func shortCommands(t *testing.T) map[string][]string {
	source, err := os.ReadFile("../cmd/diag/names.go")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(source), "var shortNames = ")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n}\n")
	names := map[string][]string{}
	for _, m := range shortName.FindAllStringSubmatch(table, -1) {
		require.True(t, slices.ContainsFunc(endpoints, func(ep Endpoint) bool { return ep.Name() == m[2] }), m[1])
		names[m[2]] = append(names[m[2]], "`"+m[1]+"`")
	}
	return names
}
