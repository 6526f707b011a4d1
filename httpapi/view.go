package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// View returns the human-readable form of a report, which is a pointer as in [Result]. Every report has a view.
func View(report any) *view.View {
	if r, ok := report.(interface{ View() *view.View }); ok {
		return r.View()
	}
	if v := textView(report); v != nil {
		return v
	}
	return plainView(report)
}

// Decode reads a report of the endpoint from the JSON of a reply, such as that of a server. It returns nil for an
// endpoint that answers with an image.
func (ep Endpoint) Decode(reply []byte) (any, error) {
	if ep.Operation.report == nil {
		return nil, nil
	}
	report := reflect.New(ep.Operation.report).Interface()
	if err := json.Unmarshal(reply, report); err != nil {
		return nil, fmt.Errorf("reading the reply: %w", err)
	}
	return report, nil
}

// Recognize determines the endpoint of a report, by the names of its members. It also returns the report; ok is false
// if it is the reply of no endpoint.
func Recognize(reply []byte) (ep Endpoint, report any, ok bool) {
	for _, ep := range endpoints {
		if ep.Operation.report == nil {
			continue
		}
		report := reflect.New(ep.Operation.report).Interface()
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
	var first, second map[string]json.RawMessage
	if json.Unmarshal(a, &first) != nil || json.Unmarshal(b, &second) != nil {
		return false
	}
	return maps.EqualFunc(first, second, func(json.RawMessage, json.RawMessage) bool { return true })
}

// plainView returns the view of a report without one of its own, such as that of a custom operation: its
// verdict, if it embeds one, and as facts its members that fit on a line each.
func plainView(report any) *view.View {
	r := reflect.Indirect(reflect.ValueOf(report))
	v := view.Answer("", "answered")
	if r.Kind() != reflect.Struct {
		return v
	}
	for _, sf := range reflect.VisibleFields(r.Type()) {
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if sf.Anonymous && sf.Type == reflect.TypeFor[diag.Verdict]() {
			v = view.Of("", r.FieldByIndex(sf.Index).Interface().(diag.Verdict), false)
		}
		if sf.Anonymous || len(sf.Index) > 1 || !sf.IsExported() || name == "-" || len(v.Facts) == view.MaxFacts {
			continue
		}
		switch kinds := kindsOf(sf.Type); {
		case sf.Type.Kind() == reflect.Slice, slices.Equal(kinds, []string{"object"}):
		default:
			var text string
			if value, err := encode(r.FieldByIndex(sf.Index).Interface()); err == nil {
				text = valueText(bytes.TrimSpace(value))
			}
			if text != "null" && !strings.Contains(text, "\n") {
				v.Fact(view.Words(cmp.Or(name, sf.Name)), phrase.Clip(text, maxShownResult))
			}
		}
	}
	return v
}
