//go:build !race || nightly

package httpapi_test

import (
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFewCallsRunBack requires that the files of a package build on each other: in the best order of them at most a
// tenth of the calls from one file to another, or three, lead from a lower file to a higher one. It is excluded from
// race runs, which would only slow it down.
func TestFewCallsRunBack(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	t.Parallel()
	list, err := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Dir,GoFiles,Export", "../...").Output()
	require.NoError(t, err)
	type listed struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
	}
	exports, all := map[string]string{}, []listed{}
	for decoder := json.NewDecoder(strings.NewReader(string(list))); ; {
		var p listed
		if err := decoder.Decode(&p); err == io.EOF {
			break
		} else {
			require.NoError(t, err)
		}
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, "github.com/diagkit/diagkit/") {
			all = append(all, p)
		}
	}
	require.NotEmpty(t, all)
	fset := token.NewFileSet()
	compiled := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range all {
		var files []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			files = append(files, file)
		}
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
		checked, err := (&types.Config{Importer: compiled}).Check(p.ImportPath, fset, files, info)
		require.NoError(t, err)
		calls, count := map[[2]string]int{}, 0
		for used, of := range info.Uses {
			if _, ok := of.(*types.Func); !ok || of.Pkg() != checked {
				continue
			}
			from, to := fset.Position(used.Pos()).Filename, fset.Position(of.Pos()).Filename
			if from != to {
				calls[[2]string{from, to}]++
				count++
			}
		}
		back := callsBack(calls)
		assert.LessOrEqual(t, 10*back, max(30, count), "%s: of %d calls between its files %d run back up", p.ImportPath, count, back)
	}
}

// callsBack returns how many calls lead from a file to one above it, in an order of the files that no move of a single one
// makes better.
func callsBack(calls map[[2]string]int) int {
	var order []string // the uppermost first
	for pair := range calls {
		order = append(order, pair[:]...)
	}
	slices.Sort(order)
	order = slices.Compact(order)
	cost := func(order []string) (back int) {
		for i, below := range order {
			for _, above := range order[:i] {
				back += calls[[2]string{below, above}]
			}
		}
		return back
	}
	weight := map[string]int{}
	for pair, n := range calls {
		weight[pair[0]] -= n
		weight[pair[1]] += n
	}
	improved := func(order []string) int {
		for best := cost(order); ; {
			was := best
			for i := range order {
				for to := range order {
					moved := slices.Insert(slices.Delete(slices.Clone(order), i, i+1), to, order[i])
					if c := cost(moved); c < best {
						order, best = moved, c
					}
				}
			}
			if best == was {
				return best
			}
		}
	}
	named := improved(order)
	// Files that are called most, and call least, come last.
	slices.SortStableFunc(order, func(a, b string) int { return weight[a] - weight[b] })
	return min(named, improved(order))
}
