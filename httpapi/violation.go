package httpapi

import (
	"errors"
	"strings"
)

// A Violation is one fault in a request.
type Violation struct {
	Field   string `json:"field" doc:"path of the field, such as ports[2]; empty for the body as a whole"`
	Reason  string `json:"reason" doc:"kind of fault" enum:"malformed_json invalid_field unknown_field missing_field"`
	Message string `json:"message" doc:"what is wrong, for people"`
}

// ViolationsError reports every fault found in a request. There is at least one.
type ViolationsError struct{ Violations []Violation }

func (e *ViolationsError) Error() string {
	texts := make([]string, len(e.Violations))
	for i, v := range e.Violations {
		texts[i] = strings.TrimPrefix(v.Field+": "+v.Message, ": ")
	}
	return strings.Join(texts, "; ")
}

// An inputError is a caller's fault reported by a diagnostic: [diag.InputError], or the same of a
// package that does not import diag.
type inputError interface {
	error
	InputField() (field, reason string)
}

// inputViolations returns the caller's faults in an error, joined ones included. With a path, that
// stands in place of the field which the error names, for a type does not know what it is used for.
func inputViolations(err error, path string) []Violation {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var list []Violation
		for _, e := range joined.Unwrap() {
			list = append(list, inputViolations(e, path)...)
		}
		return list
	}
	if input, ok := errors.AsType[inputError](err); ok {
		field, reason := input.InputField()
		if path != "" {
			field = path
		}
		return []Violation{{field, reasonInvalid, reason}}
	}
	return nil
}
