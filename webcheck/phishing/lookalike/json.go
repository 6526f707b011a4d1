package lookalike

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// maxFile bounds a file, in bytes; the built-in one has 50,000.
const maxFile = 4 << 20

// decode reads one JSON value strictly: no unknown members, none twice, nothing behind it.
func decode(data []byte, v any) error {
	switch {
	case len(data) > maxFile:
		return fmt.Errorf("it has more than %d bytes", maxFile)
	case !utf8.Valid(data):
		return errors.New("it is not valid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if err := unique(d); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the JSON value")
	}
	d = json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// unique reads one value and fails if an object has a member twice, which decoders resolve in silence.
func unique(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	open, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	names := map[string]bool{}
	for d.More() {
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				return err
			}
			if s, _ := name.(string); names[s] {
				return fmt.Errorf("the member %.40q stands twice", s)
			} else {
				names[s] = true
			}
		}
		if err := unique(d); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}
