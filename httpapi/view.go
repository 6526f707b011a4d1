package httpapi

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/diagkit/diagkit/diag/view"
)

// Decode reads a report of the endpoint from the JSON of a reply, such as that of a server. It returns nil for an endpoint
// that answers with an image.
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
