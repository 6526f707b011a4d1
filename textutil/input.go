package textutil

import (
	"fmt"
	"unicode/utf8"
)

// MaxText bounds the text of a request, in bytes (CONTRACT 1.9).
const MaxText = 1 << 20

// An InputError reports a request that makes no sense; the fault is the caller's.
type InputError struct {
	Field  string // name of the field in the request, as in its JSON
	Reason string // a sentence for the caller, without the field's name
}

func (e *InputError) Error() string { return e.Field + ": " + e.Reason }

// InputField returns the field and the reason.
func (e *InputError) InputField() (field, reason string) { return e.Field, e.Reason }

// invalid returns an InputError with a formatted reason.
func invalid(field, format string, args ...any) error {
	return &InputError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// checkText returns an InputError if the text is too long or is not UTF-8.
func checkText(field, text string) error {
	if len(text) > MaxText {
		return invalid(field, "has %d bytes; the most is %d", len(text), MaxText)
	}
	if !utf8.ValidString(text) {
		return invalid(field, "is not valid UTF-8: byte %d belongs to no character", invalidByte(text))
	}
	return nil
}

// invalidByte returns the position of the first byte that belongs to no character, or len(text).
func invalidByte(text string) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return len(text)
}
