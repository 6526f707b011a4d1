package httpapi

import (
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
)

// operationDocs holds a file for each operation: a request and the reply to it, made by the operation
// itself in the test world (TestDocuments).
//
//go:embed docs/operations
var operationDocs embed.FS

// An example is one request and the reply to it.
type example struct {
	Request json.RawMessage `json:"request"`
	Reply   json.RawMessage `json:"reply,omitempty"` // absent for an image
}

// docName is the name of the operation's documents: /spf/hosted/{id} is spf-hosted-id.
func (ep Endpoint) docName() string {
	return strings.NewReplacer("/", "-", "{", "", "}", "").Replace(ep.Name())
}

// embeddedExample returns the example of an operation; an operation that is new has none yet.
func embeddedExample(ep Endpoint) example {
	text, err := operationDocs.ReadFile("docs/operations/" + ep.docName() + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return example{}
	}
	var ex example
	if err == nil {
		err = json.Unmarshal(text, &ex)
	}
	if err != nil {
		panic("httpapi: the example of " + ep.ID() + ": " + err.Error())
	}
	return ex
}
