// Package client is what oapi-codegen makes of the API, beside this test.
package client

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
)

type operation struct {
	OperationID string
	Scope       string `json:"x-scope"`
	Parameters  []struct {
		In     string
		Schema struct{ Examples []string }
	}
	RequestBody struct {
		Content map[string]struct{ Example json.RawMessage }
	}
}

// Each operation is called as its examples in the OpenAPI document say, and once with a parameter that it does not have.
func TestEveryOperation(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]operation
	}
	text, err := os.ReadFile("openapi.json")
	if err != nil || json.Unmarshal(text, &doc) != nil {
		t.Fatal("openapi.json cannot be read")
	}
	c, err := NewClientWithResponses(os.Getenv("GATEWAY"), WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+os.Getenv("DIAG_KEY"))
		r.Header.Set("User-Agent", "Go")
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	stray := RequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.URL.RawQuery = "no_such_parameter=1"
		return nil
	})
	for _, methods := range doc.Paths {
		for _, op := range methods {
			if op.Scope == "" {
				continue // the document itself
			}
			t.Run(op.OperationID, func(t *testing.T) {
				call := reflect.ValueOf(c).MethodByName(strings.ToUpper(op.OperationID[:1]) + op.OperationID[1:] + "WithResponse")
				args := op.arguments(t, call.Type())
				check(t, call.Call(args), http.StatusOK, "JSON200")
				body := check(t, call.Call(append(args, reflect.ValueOf(stray))), http.StatusBadRequest, "JSON400")
				if !strings.Contains(body, `"field":"no_such_parameter","reason":"unknown_field"`) {
					t.Error(body)
				}
			})
		}
	}
}

// arguments are what a method of the client takes: a context, the parameters of the path, the others, and the body.
func (op operation) arguments(t *testing.T, method reflect.Type) []reflect.Value {
	args := []reflect.Value{reflect.ValueOf(t.Context())}
	for _, p := range op.Parameters {
		if p.In == "path" {
			args = append(args, reflect.ValueOf(p.Schema.Examples[0]))
		}
	}
	for len(args) < method.NumIn()-1 { // but for the editors
		arg := reflect.New(method.In(len(args))).Elem()
		if arg.Kind() == reflect.Pointer {
			arg.Set(reflect.New(arg.Type().Elem()))
		} else if err := json.Unmarshal(op.RequestBody.Content["application/json"].Example, arg.Addr().Interface()); err != nil {
			t.Fatal(err)
		}
		args = append(args, arg)
	}
	return args
}

// check returns the body of a reply, all of which its type holds.
func check(t *testing.T, results []reflect.Value, status int, member string) string {
	t.Helper()
	if !results[1].IsNil() {
		t.Fatal(results[1])
	}
	reply := results[0].Elem()
	body := reply.FieldByName("Body").Bytes()
	if got := reply.FieldByName("HTTPResponse").Interface().(*http.Response); got.StatusCode != status {
		t.Fatalf("%s %s", got.Status, body)
	}
	typed := reply.FieldByName(member)
	if !typed.IsValid() { // an image
		return string(body)
	}
	again, err := json.Marshal(typed.Interface())
	if err != nil {
		t.Fatal(err)
	}
	var want, have any
	if json.Unmarshal(body, &want) != nil || json.Unmarshal(again, &have) != nil || !reflect.DeepEqual(want, have) {
		t.Errorf("the type holds of %s only %s", body, again)
	}
	return string(body)
}
