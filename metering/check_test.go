package metering

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// The checks of this package's tests. Each stops its test on failure; detail is a format and its arguments.

func fail(t testing.TB, detail []any, format string, args ...any) {
	t.Helper()
	message := fmt.Sprintf(format, args...)
	if len(detail) > 0 {
		message += " (" + fmt.Sprintf(detail[0].(string), detail[1:]...) + ")"
	}
	t.Fatal(message)
}

func isTrue(t testing.TB, condition bool, detail ...any) {
	t.Helper()
	if !condition {
		fail(t, detail, "the condition does not hold")
	}
}

func noError(t testing.TB, err error, detail ...any) {
	t.Helper()
	if err != nil {
		fail(t, detail, "unexpected error: %v", err)
	}
}

func errorIs(t testing.TB, err, target error, detail ...any) {
	t.Helper()
	if !errors.Is(err, target) {
		fail(t, detail, "the error is %v, not %v", err, target)
	}
}

func equal[T any](t testing.TB, want, got T, detail ...any) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		fail(t, detail, "got %+v, want %+v", got, want)
	}
}

func matches(t testing.TB, pattern, text string, detail ...any) {
	t.Helper()
	if !regexp.MustCompile(pattern).MatchString(text) {
		fail(t, detail, "%q does not match %s", text, pattern)
	}
}

func contains(t testing.TB, text, part string, detail ...any) {
	t.Helper()
	if !strings.Contains(text, part) {
		fail(t, detail, "%q does not contain %q", text, part)
	}
}

// refused asserts that the error is a RefusedError with the reason, and returns it.
func refused(t testing.TB, err error, reason Refusal, detail ...any) *RefusedError {
	t.Helper()
	e, ok := errors.AsType[*RefusedError](err)
	if !ok || e.Reason != reason {
		fail(t, detail, "the error is %v, not the refusal %s", err, reason)
	}
	return e
}

// badField asserts that the error is a FieldError about the field.
func badField(t testing.TB, err error, field string, detail ...any) {
	t.Helper()
	if e, ok := errors.AsType[*FieldError](err); !ok || e.Field != field {
		fail(t, detail, "the error is %v, not one about the field %s", err, field)
	}
}
