package httpapi

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// pure packages are arithmetic and text. Their importers pay for neither net/http nor crypto/tls.
var pure = []string{"diag/idn", "diag/input", "diag/kit", "diag/netmask", "diag/phrase", "diag/rule", "diag/view",
	"textutil", "webcheck/hsts/policy"}

// TestWeights bounds how many packages the importer of each public package compiles, those of the standard library
// included. testdata/weights.txt lists the bounds: the numbers of today, rounded up to tens.
func TestWeights(t *testing.T) {
	list := exec.Command("go", "list", "-f", `{{if ne .Name "main"}}{{.ImportPath}} {{join .Deps " "}}{{end}}`, "./...")
	list.Dir = ".."
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0") // what the bounds are of
	out, err := list.Output()
	require.NoError(t, err)
	path := filepath.Join("testdata", "weights.txt")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	bounds := map[string]int{}
	for line := range strings.Lines(string(text)) {
		bound, pkg, _ := strings.Cut(strings.TrimSpace(line), " ")
		bounds[pkg], err = strconv.Atoi(bound)
		require.NoError(t, err)
	}
	updating := flag.Lookup("update").Value.String() == "true" // the flag of diagtest.Golden
	var today strings.Builder
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.Contains(fields[0], "/internal") || top(strings.TrimPrefix(fields[0], module)) == "examples" {
			continue
		}
		pkg, deps := strings.TrimPrefix(fields[0], module), fields[1:]
		if slices.Contains(pure, pkg) {
			for _, costly := range []string{"net/http", "crypto/tls", "github.com/miekg/dns"} {
				require.NotContains(t, deps, costly, "%s is pure and must not import %s", pkg, costly)
			}
		}
		n := len(deps) + 1
		fmt.Fprintf(&today, "%3d %s\n", (n+9)/10*10, pkg)
		if !updating {
			require.Contains(t, bounds, pkg, "%s is not in %s", pkg, path)
			require.LessOrEqual(t, n, bounds[pkg], "packages that %s pulls in", pkg)
		}
	}
	if updating {
		diagtest.Golden(t, path, []byte(today.String()))
	}
}

// maxBytes bounds the smallest program that calls a package, without symbols, in KiB: a tenth above its size.
var maxBytes = map[string]int{
	"netmask": 2400, "idn": 3000, "hsts": 1800, "textutil": 3300, "eval": 8000, "spf": 9400, "dkim": 9000, "dmarc": 4700,
	"headers": 12800, "metering": 4300, "httpapi": 32100,
}

func TestProgramSizes(t *testing.T) {
	if testing.Short() {
		t.Skip("links a program for each package")
	}
	dir := t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", dir+string(filepath.Separator), "./testdata/weights/...")
	build.Env = append(os.Environ(), "GOFLAGS=", "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	programs, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, programs, len(maxBytes))
	for _, p := range programs {
		info, err := p.Info()
		require.NoError(t, err)
		size := int(info.Size() / 1024)
		t.Log(strconv.Itoa(size), "KiB", p.Name())
		require.LessOrEqual(t, size, maxBytes[p.Name()], "%s is larger than its bound, in KiB", p.Name())
	}
}
