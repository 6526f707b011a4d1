package httpapi

import _ "embed" // the OpenAPI document

// Version is that of the wire contract.
const Version = "1.2.0"

// openAPIDocument is made of the table, and of examples that the operations make themselves, by a test
// (TestDocuments), which fails where it differs.
//
//go:embed docs/openapi.json
var openAPIDocument string

// OpenAPI returns the OpenAPI 3.1 document of all endpoints as JSON. It is the same for every server.
func OpenAPI() []byte { return []byte(openAPIDocument) }
