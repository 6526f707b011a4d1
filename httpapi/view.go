package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	"github.com/diagkit/diagkit/diag/view"
)

// Decode reads a report of the endpoint from the JSON of a reply, such as that of a server. It returns nil for an
// endpoint that answers with an image.
func (ep Endpoint) Decode(reply []byte) (any, error) {
	if ep.op.report == nil {
		return nil, nil
	}
	report := reflect.New(ep.op.report).Interface()
	if err := json.Unmarshal(reply, report); err != nil {
		return nil, fmt.Errorf("reading the reply: %w", err)
	}
	return report, nil
}

// View is what a person sees of a report, which is a pointer as in [Result]. Whatever answers with a report has a view.
func View(report any) *view.View {
	if r, ok := report.(interface{ View() *view.View }); ok {
		return r.View()
	}
	return textView(report)
}

// Recognize finds out which endpoint a report is of, by the names of its members. It returns the report, too; ok is
// false for what no endpoint answers.
func Recognize(reply []byte) (ep Endpoint, report any, ok bool) {
	for _, ep := range endpoints {
		if ep.op.report == nil {
			continue
		}
		report := reflect.New(ep.op.report).Interface()
		d := json.NewDecoder(bytes.NewReader(reply))
		d.DisallowUnknownFields()
		if d.Decode(report) != nil {
			continue
		}
		if again, err := encode(report); err == nil && sameMembers(again, reply) {
			return ep, report, true
		}
	}
	return Endpoint{}, nil, false
}

// sameMembers reports whether two JSON objects have members of the same names.
func sameMembers(a, b []byte) bool {
	var one, other map[string]json.RawMessage
	if json.Unmarshal(a, &one) != nil || json.Unmarshal(b, &other) != nil {
		return false
	}
	return maps.EqualFunc(one, other, func(json.RawMessage, json.RawMessage) bool { return true })
}
