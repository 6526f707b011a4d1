//go:build !race || nightly

package httpapi_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGoDoc reads the documentation of every package as users do: it speaks of nothing that they cannot see, no exported
// field or function has a type that they cannot name, and of an enumeration it names all values.
func TestGoDoc(t *testing.T) {
	packages := 0
	for _, top := range []string{"diag", "mailauth", "webcheck", "textutil", "metering", "httpapi"} {
		err := filepath.WalkDir(filepath.Join("..", top), func(dir string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			if d.Name() == "testdata" {
				return fs.SkipDir
			}
			p := readPackage(t, dir)
			if len(p.decls) > 0 {
				packages++
				p.check(t)
			}
			return nil
		})
		require.NoError(t, err)
	}
	require.NotZero(t, packages)
}

// A sourcePackage holds the declarations in the files of a folder, tests excluded.
type sourcePackage struct {
	dir    string
	decls  []ast.Decl
	docs   []string                     // of what is exported
	scope  map[string]bool              // names of the package
	values map[string]map[string]string // constants by their type and name
	texts  map[string]string            // types with their comments
}

func readPackage(t *testing.T, dir string) *sourcePackage {
	p := &sourcePackage{dir: dir, scope: map[string]bool{}, values: map[string]map[string]string{}, texts: map[string]string{}}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		require.NoError(t, err)
		p.decls, p.docs = append(p.decls, f.Decls...), append(p.docs, f.Doc.Text())
		for _, d := range f.Decls {
			if fun, ok := d.(*ast.FuncDecl); ok && fun.Recv == nil {
				p.scope[fun.Name.Name] = true
			}
			general, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range general.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					p.scope[spec.Name.Name] = true
					p.texts[spec.Name.Name] = general.Doc.Text() + spec.Doc.Text()
				case *ast.ValueSpec:
					for i, name := range spec.Names {
						p.scope[name.Name] = true
						if of, ok := spec.Type.(*ast.Ident); ok && i < len(spec.Values) {
							if p.values[of.Name] == nil {
								p.values[of.Name] = map[string]string{}
							}
							p.values[of.Name][name.Name] = textOf(spec.Values[i])
						}
					}
				}
			}
		}
	}
	return p
}

// textOf returns the text of a literal, or nothing.
func textOf(e ast.Expr) string {
	if literal, ok := e.(*ast.BasicLit); ok && literal.Kind == token.STRING {
		text, _ := strconv.Unquote(literal.Value)
		return text
	}
	return ""
}

func (p *sourcePackage) check(t *testing.T) {
	nameable := func(owner string, e ast.Expr) {
		assert.False(t, p.hides(e), "%s: %s has a type that is not exported", p.dir, owner)
	}
	for _, d := range p.decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if !d.Name.IsExported() || d.Recv != nil && p.hides(d.Recv.List[0].Type) {
				continue
			}
			p.docs = append(p.docs, d.Doc.Text())
			nameable(d.Name.Name, d.Type)
			if d.Recv == nil || d.Name.Name != "Values" {
				continue
			}
			if of, ok := d.Recv.List[0].Type.(*ast.Ident); ok {
				words := regexp.MustCompile(`[\w.-]*\w`).FindAllString(p.texts[of.Name], -1)
				for _, value := range p.listed(d, of.Name) {
					assert.Contains(t, words, value, "%s: a value of %s, which its comment does not name", p.dir, of)
				}
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if !spec.Name.IsExported() {
						continue
					}
					p.docs = append(p.docs, p.texts[spec.Name.Name])
					of, ok := spec.Type.(*ast.StructType)
					for i := 0; ok && i < len(of.Fields.List); i++ {
						if field := of.Fields.List[i]; len(field.Names) > 0 && field.Names[0].IsExported() {
							p.docs = append(p.docs, field.Doc.Text(), field.Comment.Text())
							nameable(spec.Name.Name+"."+field.Names[0].Name, field.Type)
						}
					}
				case *ast.ValueSpec:
					if spec.Names[0].IsExported() {
						p.docs = append(p.docs, d.Doc.Text(), spec.Doc.Text(), spec.Comment.Text())
						nameable(spec.Names[0].Name, spec.Type)
					}
				}
			}
		}
	}
	for _, doc := range p.docs {
		for _, word := range regexp.MustCompile(`\w+`).FindAllString(doc, -1) {
			inner := !ast.IsExported(word) && strings.ToLower(word) != word
			assert.False(t, inner && p.scope[word], "%s: %s is not exported, and a comment speaks of it:\n%s", p.dir, word, doc)
		}
	}
}

// listed returns the values of an enumeration that its method Values lists; none if its constants are all exported,
// because they are then listed below it.
func (p *sourcePackage) listed(values *ast.FuncDecl, of string) (list []string) {
	hidden := false
	ast.Inspect(values.Body, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok && p.values[of][name.Name] != "" {
			list = append(list, p.values[of][name.Name])
			hidden = hidden || !name.IsExported()
		}
		return true
	})
	if !hidden {
		return nil
	}
	return list
}

// hides reports whether a type is one that users cannot name.
func (p *sourcePackage) hides(e ast.Expr) (hidden bool) {
	if e == nil {
		return false
	}
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ArrayType:
			hidden = hidden || p.hides(n.Elt) // not its length
			return false
		case *ast.SelectorExpr, *ast.StructType, *ast.InterfaceType:
			return false
		case *ast.Field:
			hidden = hidden || p.hides(n.Type) // not its name
			return false
		case *ast.Ident:
			hidden = hidden || p.scope[n.Name] && !n.IsExported()
		}
		return true
	})
	return hidden
}
