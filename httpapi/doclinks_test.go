//go:build !race || nightly

package httpapi_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ours begins the import paths of this module.
const ours = "github.com/diagkit/diagkit/"

// docLink matches what go doc treats as a link: a name, or a name of an imported package, in brackets.
var docLink = regexp.MustCompile(`(?:^|[\s"'(\x60—–-])\[\*?((?:[a-z][\w/]*\.)?[A-Z]\w*(?:\.[A-Z]\w*)?)\](?:$|[^\w(\[])`)

// TestDocLinks follows the links of all comments that lead into this module.
func TestDocLinks(t *testing.T) {
	names := map[string]map[string]bool{} // of our packages, by path: Name, Type.Method and Type.Field
	files := map[string][]*ast.File{}
	for _, top := range []string{"diag", "mailauth", "webcheck", "textutil", "metering", "httpapi", "cmd"} {
		err := filepath.WalkDir(filepath.Join("..", top), func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") ||
				strings.Contains(file, "testdata") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			require.NoError(t, err)
			dir := ours + filepath.ToSlash(filepath.Dir(file)[len("../"):])
			files[dir] = append(files[dir], f)
			if names[dir] == nil {
				names[dir] = map[string]bool{}
			}
			declare(names[dir], f)
			return nil
		})
		require.NoError(t, err)
	}
	links := 0
	for dir, parsed := range files {
		for _, f := range parsed {
			imports := importsOf(f)
			for _, group := range f.Comments {
				for _, m := range docLink.FindAllStringSubmatch(withoutCode(group.Text()), -1) {
					links++
					name, in := m[1], dir
					if pkg, rest, ok := strings.Cut(name, "."); ok && pkg == strings.ToLower(pkg) {
						name, in = rest, imports[pkg]
					}
					if has := names[in]; has != nil { // otherwise it is of another module
						assert.True(t, has[name], "%s: [%s] leads nowhere", dir, m[1])
					}
				}
			}
		}
	}
	require.Greater(t, links, 1000, "links are found")
}

var quoted = regexp.MustCompile(`"[^"\n]*"`)

// withoutCode returns a comment without its indented lines, which are code, and without quotations.
func withoutCode(text string) string {
	lines := strings.Split(quoted.ReplaceAllString(text, ""), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "\t") || strings.HasPrefix(line, " ") {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}

func importsOf(f *ast.File) map[string]string {
	imports := map[string]string{}
	for _, spec := range f.Imports {
		at := strings.Trim(spec.Path.Value, `"`)
		name := path.Base(at)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = at
	}
	return imports
}

// declare records the declarations of a file.
func declare(names map[string]bool, f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = receiver(d.Recv.List[0].Type) + "." + name
			}
			names[name] = true
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						names[name.Name] = true
					}
				case *ast.TypeSpec:
					names[spec.Name.Name] = true
					ast.Inspect(spec.Type, func(n ast.Node) bool {
						if field, ok := n.(*ast.Field); ok {
							for _, name := range field.Names {
								names[spec.Name.Name+"."+name.Name] = true
							}
						}
						return true
					})
				}
			}
		}
	}
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
