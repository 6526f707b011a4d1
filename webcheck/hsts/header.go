package hsts

import "github.com/diagkit/diagkit/webcheck/hsts/policy"

// FieldName is the name of the header field.
const FieldName = policy.FieldName

// The names of the directives that have a meaning, in lower case.
const (
	nameMaxAge  = "max-age"
	nameInclude = "includesubdomains"
	namePreload = "preload"
)

// The parts of a header, see package policy, which reads them without package diag.
type (
	// A Header is one Strict-Transport-Security field value, read by the rules of RFC 6797.
	Header = policy.Header

	// A Directive is a part of a header between semicolons.
	Directive = policy.Directive

	// A Fault is a departure from RFC 6797, for which browsers ignore the field.
	Fault = policy.Fault

	// Kind is the kind of a [Fault].
	Kind = policy.Kind
)

// Parse parses the value of one Strict-Transport-Security field. It never fails: Faults of the header list
// what is wrong. If a response has several fields, pass only the first, the only one that counts (RFC 6797
// section 8.1).
func Parse(text string) *Header { return policy.Parse(text) }
