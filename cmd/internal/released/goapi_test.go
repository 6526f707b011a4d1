package released

import (
	"bytes"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/diagkit/diagkit/"

// families are the folders of the library, with a list each.
var families = []string{"diag", "httpapi", "mailauth", "metering", "textutil", "webcheck"}

// TestReleasedGo holds what programs of others can name: the exported declarations of all public packages. A line is a
// constant with its value, a variable, a function, a type, a field or a method. The methods of an interface are one
// line: another method breaks the types that implement it.
func TestReleasedGo(t *testing.T) {
	exports := exportData(t)
	imports := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	for _, family := range families {
		t.Run(family, func(t *testing.T) {
			var lines []string
			for path := range exports {
				name, ours := strings.CutPrefix(path, module)
				if !ours || strings.Contains(path, "/internal/") || name != family && !strings.HasPrefix(name, family+"/") {
					continue
				}
				pkg, err := imports.Import(path)
				require.NoError(t, err)
				for _, line := range declarations(pkg) {
					lines = append(lines, name+": "+line)
				}
			}
			require.NotEmpty(t, lines)
			Check(t, List{Name: "go-" + family, Lines: lines,
				Remedy: `Keep it and mark it "// Deprecated:", with its replacement and the version that removes it.`})
		})
	}
}

// exportData returns the files with the types of all packages that the library consists of or imports.
func exportData(t *testing.T) map[string]string {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}
	for _, family := range families {
		args = append(args, module+family+"/...")
	}
	list := exec.Command("go", args...)
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	require.NoError(t, err, "%s", &stderr)
	for _, family := range families { // so that a result is not kept when a source has changed
		folder := filepath.Join(moduleRoot(t), family)
		err := filepath.WalkDir(folder, func(_ string, _ fs.DirEntry, err error) error { return err })
		require.NoError(t, err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = file
	}
	return files
}

// declarations renders the exported declarations of a package, without names of parameters.
func declarations(pkg *types.Package) (lines []string) {
	r := renderer{pkg}
	for _, name := range pkg.Scope().Names() {
		switch o := pkg.Scope().Lookup(name).(type) {
		case *types.Const:
			if o.Exported() {
				line := "const " + name + " " + r.text(o.Type())
				if _, basic := o.Type().(*types.Basic); !basic { // others are limits and versions, which may move
					line += " = " + o.Val().ExactString()
				}
				lines = append(lines, line)
			}
		case *types.Var:
			if o.Exported() {
				lines = append(lines, "var "+name+" "+r.text(o.Type()))
			}
		case *types.Func:
			if o.Exported() {
				lines = append(lines, "func "+name+r.signature(o.Signature()))
			}
		case *types.TypeName:
			if o.Exported() {
				lines = append(lines, r.declared(o)...)
			}
		}
	}
	return lines
}

// A renderer writes types as a file of its package names them.
type renderer struct{ pkg *types.Package }

func (r renderer) qualifier(p *types.Package) string {
	switch {
	case p == r.pkg:
		return ""
	case strings.Contains(p.Path(), "/internal/"): // where it lies is ours to change
		return "internal"
	}
	return strings.TrimPrefix(p.Path(), module)
}

func (r renderer) text(t types.Type) string {
	if s, ok := t.(*types.Signature); ok { // a type of functions, whose parameters need no names
		return "func" + r.signature(s)
	}
	return types.TypeString(t, r.qualifier)
}

// signature is that of a function, without the names of its parameters.
func (r renderer) signature(s *types.Signature) string {
	var params, results []string
	for v := range s.Params().Variables() {
		params = append(params, r.text(v.Type()))
	}
	if s.Variadic() {
		last := len(params) - 1
		params[last] = "..." + strings.TrimPrefix(params[last], "[]")
	}
	for v := range s.Results().Variables() {
		results = append(results, r.text(v.Type()))
	}
	text := r.typeParams(s.TypeParams()) + "(" + strings.Join(params, ", ") + ")"
	switch len(results) {
	case 0:
		return text
	case 1:
		return text + " " + results[0]
	}
	return text + " (" + strings.Join(results, ", ") + ")"
}

func (r renderer) typeParams(list *types.TypeParamList) string {
	var params []string
	for p := range list.TypeParams() {
		params = append(params, p.Obj().Name()+" "+r.text(p.Constraint()))
	}
	if params == nil {
		return ""
	}
	return "[" + strings.Join(params, ", ") + "]"
}

// declared renders a type, its fields and its methods. Those of another name of a type are where that is declared,
// unless programs cannot import that package.
func (r renderer) declared(o *types.TypeName) (lines []string) {
	name := o.Name()
	if o.IsAlias() {
		lines = append(lines, "type "+name+" = "+r.text(types.Unalias(o.Type())))
	}
	named, ok := types.Unalias(o.Type()).(*types.Named)
	if !ok || o.IsAlias() && !isInternal(named) {
		return lines
	}
	if !o.IsAlias() {
		lines = append(lines, "type "+name+r.typeParams(named.TypeParams())+" "+r.kind(named.Underlying()))
	}
	if s, ok := named.Underlying().(*types.Struct); ok {
		lines = append(lines, r.fields("field "+name+".", s)...)
	}
	if _, ok := named.Underlying().(*types.Interface); ok {
		return lines
	}
	for selection := range types.NewMethodSet(types.NewPointer(named)).Methods() {
		if f := selection.Obj().(*types.Func); f.Exported() && (len(selection.Index()) == 1 || r.hidden(named, selection)) {
			receiver := name
			if _, ok := f.Signature().Recv().Type().(*types.Pointer); ok {
				receiver = "*" + name
			}
			lines = append(lines, "method "+receiver+"."+f.Name()+r.signature(f.Signature()))
		}
	}
	return lines
}

// hidden reports whether a promoted method is that of an embedded type that programs cannot name.
func (r renderer) hidden(t *types.Named, selection *types.Selection) bool {
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return false
	}
	embedded := s.Field(selection.Index()[0])
	return !embedded.Exported() || isInternal(embedded.Type())
}

func isInternal(t types.Type) bool {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Pkg() != nil && strings.Contains(named.Obj().Pkg().Path(), "/internal/")
}

// kind is what a type is, without fields, and for an interface with all of its methods.
func (r renderer) kind(t types.Type) string {
	switch t := t.(type) {
	case *types.Struct:
		return "struct"
	case *types.Interface:
		var parts []string
		for m := range t.Methods() {
			parts = append(parts, m.Name()+r.signature(m.Signature()))
		}
		if !t.IsMethodSet() { // a constraint
			parts = append(parts, r.text(t))
		}
		slices.Sort(parts)
		return "interface { " + strings.Join(parts, "; ") + " }"
	}
	return r.text(t)
}

// fields renders the exported fields of a struct, those of embedded types that programs cannot name included.
func (r renderer) fields(prefix string, s *types.Struct) (lines []string) {
	for f := range s.Fields() {
		inner, isStruct := f.Type().Underlying().(*types.Struct)
		switch {
		case f.Embedded() && isStruct && (!f.Exported() || isInternal(f.Type())):
			lines = append(lines, r.fields(prefix, inner)...)
		case f.Exported() && f.Embedded():
			lines = append(lines, prefix+f.Name()+" = embedded "+r.text(f.Type()))
		case f.Exported() && isStruct && f.Type() == f.Type().Underlying():
			lines = append(lines, r.fields(prefix+f.Name()+".", inner)...)
		case f.Exported():
			lines = append(lines, prefix+f.Name()+" = "+r.text(f.Type()))
		}
	}
	return lines
}
