package diag

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf8"
)

// ForgetLists makes the lists of [Env.Data] be read again, each when it is needed next.
func (e *Env) ForgetLists() { e.source().lists.Clear() }

// listKey is under what a list is kept: one file may be read as lists of several types.
type listKey[T any] struct{ name string }

// List returns a list that an operator may replace, such as that of public resolvers: what parse
// makes of the file of that name in [Env.Data], or else what is built in. The file is read once for
// each Env and each type of list. The error names the file.
func List[T any](e *Env, name string, builtIn func() T, parse func([]byte) (T, error)) (T, error) {
	e = e.source()
	if e.Data == nil {
		return builtIn(), nil
	}
	if kept, ok := e.lists.Load(listKey[T]{name}); ok {
		return kept.(T), nil
	}
	data, err := fs.ReadFile(e.Data, name)
	if errors.Is(err, fs.ErrNotExist) {
		kept, _ := e.lists.LoadOrStore(listKey[T]{name}, builtIn())
		return kept.(T), nil
	}
	var list T
	if err == nil {
		list, err = parse(data)
	}
	if err != nil {
		return list, fmt.Errorf("reading the list %s: %w", name, err)
	}
	kept, _ := e.lists.LoadOrStore(listKey[T]{name}, list)
	return kept.(T), nil
}

// DecodeList reads the one JSON value of a list of an operator, in which no member may stand twice. If it is strict, no
// member may be unknown either.
func DecodeList(data []byte, v any, strict bool) error {
	if !utf8.Valid(data) {
		return errors.New("it is not valid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if strict {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the JSON value")
	}
	return uniqueMembers(json.NewDecoder(bytes.NewReader(data)))
}

// uniqueMembers reads one value and fails if an object has a member twice, which decoders resolve in silence.
func uniqueMembers(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	open, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for d.More() {
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				return err
			}
			lower := strings.ToLower(name.(string)) // encoding/json takes names whatever their case
			if seen[lower] {
				return fmt.Errorf("the member %.40q stands twice", name)
			}
			seen[lower] = true
		}
		if err := uniqueMembers(d); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}
