package dnsbl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// checkJSON returns what keeps a file from being one JSON value. The error tells the line, and nothing that stands
// in the file, which may hold keys.
func checkJSON(data []byte) error {
	if len(data) > maxFile {
		return fmt.Errorf("more than %d bytes", maxFile)
	}
	if !utf8.Valid(data) {
		return errors.New("the file is not UTF-8")
	}
	err := json.Unmarshal(data, new(json.RawMessage))
	if fault, ok := errors.AsType[*json.SyntaxError](err); ok {
		at := min(int(fault.Offset), len(data))
		return fmt.Errorf("line %d is not valid JSON", 1+bytes.Count(data[:at], []byte("\n")))
	}
	return err
}

// eachMember calls take for the members of an object, in their order, until one fails. The text is valid JSON.
func eachMember(data []byte, take func(name string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return errors.New("must be an object")
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if err := take(token.(string), value); err != nil { // the name of a member is nothing but a string
			return err
		}
	}
	return nil
}

// decode reads an object into the struct that into points to. Unlike [json.Unmarshal], it takes members only that
// the struct has, spelled as in its tags, each once, and none that is null. The error names the member.
func decode(data []byte, into any) error {
	fields := map[string]reflect.Value{}
	target := reflect.ValueOf(into).Elem()
	for i := range target.NumField() {
		name, _, _ := strings.Cut(target.Type().Field(i).Tag.Get("json"), ",")
		fields[name] = target.Field(i)
	}
	seen := map[string]bool{}
	return eachMember(data, func(name string, value json.RawMessage) error {
		field, ok := fields[name]
		switch {
		case !ok:
			return fmt.Errorf("%.40q is no member", name)
		case seen[name]:
			return fmt.Errorf("%s: stands twice", name)
		case string(value) == "null":
			return fmt.Errorf("%s: must not be null", name)
		}
		seen[name] = true
		err := json.Unmarshal(value, field.Addr().Interface())
		if fault, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			err = fmt.Errorf("must be %s, not %s", kinds[fault.Type.Kind()], fault.Value)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}

var kinds = map[reflect.Kind]string{
	reflect.String: "a string", reflect.Bool: "true or false", reflect.Slice: "an array",
	reflect.Struct: "a string", reflect.Pointer: "a string", // those that are read by UnmarshalText
}
