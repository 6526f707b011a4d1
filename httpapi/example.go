package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// Example returns a request of the endpoint, a JSON object as [Endpoint.Run] takes it: the fields that are required or
// have an example in their tag, with these.
func (ep Endpoint) Example() []byte {
	var b bytes.Buffer
	groups := map[string]bool{}
	for _, p := range ep.Params() {
		if p.Example == "" || p.OneOf != "" && groups[p.OneOf] && !p.Required {
			continue
		}
		groups[p.OneOf] = true
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		value := p.JSON(p.Example)
		if p.List { // the example is the list as JSON, or its only entry
			if value = json.RawMessage(p.Example); p.Example[0] != '[' {
				value = append(append([]byte{'['}, p.JSON(p.Example)...), ']')
			}
		}
		fmt.Fprintf(&b, "%q:%s", p.Name, value)
	}
	return []byte("{" + b.String() + "}")
}

// Curl returns the command that sends a request, a JSON object of all its fields, to the server at $DIAG_SERVER with
// the key $DIAG_KEY.
func (ep Endpoint) Curl(fields []byte) (string, error) {
	target, body, err := ep.Target(fields)
	if err != nil {
		return "", err
	}
	const next = " \\\n  "
	command := `curl "$DIAG_SERVER` + target + `"` + next + `-H "Authorization: Bearer $DIAG_KEY"`
	if ep.HasBody() {
		if p := requestFieldsOf(ep.Operation.fields()); len(p.path.fields)+len(p.query.fields) == 0 {
			body = fields // in the order of its author
		}
		quoted := strings.ReplaceAll(string(body), "'", `'\''`)
		command += next + "-H 'Content-Type: application/json'" + next + "-d '" + quoted + "'"
	}
	if ep.ReturnsImage() {
		command += next + "--output image"
	}
	return command, nil
}

// GoCall returns the call of the library that answers a request, a JSON object of all its fields, as the endpoint
// does, and the path of the package to import. In the call, ctx, env and access have their usual types; long texts
// and files are the variables text and data. Both are empty for a function that no other package can call.
func (ep Endpoint) GoCall(fields []byte) (pkg, call string, err error) {
	request, err := ep.Operation.decode(fields)
	if err != nil {
		return "", "", err
	}
	f := reflect.ValueOf(ep.Operation.function)
	function := runtime.FuncForPC(f.Pointer()).Name() // example.com/module/package.Function
	if !callable.MatchString(function) {
		return "", "", nil
	}
	args := []string{}
	for i := range f.Type().NumIn() {
		switch in := f.Type().In(i); in {
		case reflect.TypeFor[context.Context]():
			args = append(args, "ctx")
		case reflect.TypeFor[*diag.Env]():
			args = append(args, "env")
		case ep.Operation.request:
			args = append(args, goLiteral(reflect.ValueOf(request).Elem()))
		default:
			args = append(args, "access")
		}
	}
	name := path.Base(function)
	return strings.TrimSuffix(function, name[strings.Index(name, "."):]),
		"report, err := " + name + "(" + strings.Join(args, ", ") + ")", nil
}

// callable are the names of functions that other packages can import: no methods, no literals, and none of a command.
var callable = regexp.MustCompile(`/\w+\.[A-Z]\w*$`)

// maxLiteral is the length from which on a string makes a call hard to read.
const maxLiteral = 120

func goLiteral(v reflect.Value) string {
	t, parts := v.Type(), []string{}
	switch {
	case t == byteListType:
		return "data"
	case t.Kind() == reflect.Pointer:
		return "new(" + goLiteral(v.Elem()) + ")"
	case t.Kind() == reflect.String && v.Len() > maxLiteral:
		return "text"
	case t.Kind() == reflect.String:
		return strconv.Quote(v.String())
	case t.Kind() == reflect.Slice:
		for i := range v.Len() {
			parts = append(parts, goLiteral(v.Index(i)))
		}
	case t.Kind() == reflect.Struct && isText(t) && path.Base(t.PkgPath()) == "input": // valid by construction
		return fmt.Sprintf("diag.Must%s(%q)", t.Name(), v)
	case t.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if f := t.Field(i); f.IsExported() && !v.Field(i).IsZero() {
				parts = append(parts, f.Name+": "+goLiteral(v.Field(i)))
			}
		}
	case isText(t): // the only number with names is that of a type of records
		return fmt.Sprintf("%s(dns.Type%s)", goType(t), v)
	default:
		return fmt.Sprint(v)
	}
	return goType(t) + "{" + strings.Join(parts, ", ") + "}"
}

// goType is the name of a type as programs write it: those of package input by their names in diag.
func goType(t reflect.Type) string { return inputType.ReplaceAllString(t.String(), "diag.") }

var inputType = regexp.MustCompile(`\binput\.`)
