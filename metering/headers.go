package metering

import (
	"strconv"
	"time"
)

// PolicyField writes one item of the RateLimit-Policy field, such as `"default";q=60;w=60`
// (draft-ietf-httpapi-ratelimit-headers-10, "RateLimit-Policy Field"). Both of its parameters are
// integers; the window is written in whole seconds, at least 1. Characters that a string of RFC 9651 section 3.3.3
// cannot hold are left out of the name.
func PolicyField(p Policy, name string) string {
	window := p.Window
	if window <= 0 {
		window = time.Minute
	}
	b := appendString(make([]byte, 0, 64), name)
	b = append(b, ";q="...)
	b = appendInteger(b, int64(p.Limit))
	b = append(b, ";w="...)
	b = appendInteger(b, wholeSeconds(max(window, time.Second)))
	return string(b)
}

// LimitField writes one item of the RateLimit field, such as `"default";r=9;t=6`
// (draft-ietf-httpapi-ratelimit-headers-10, "RateLimit Field"): the tokens left and, in seconds rounded up, the time
// until the bucket is full. For a refused request it is the time to the next token instead, and at least 1, so that
// Retry-After names the same instant: the draft asks that it is not earlier than t.
func LimitField(d Decision, name string) string {
	until := d.Reset
	if !d.Allowed && d.RetryAfter >= 0 {
		until = max(d.RetryAfter, time.Second)
	}
	b := appendString(make([]byte, 0, 64), name)
	b = append(b, ";r="...)
	b = appendInteger(b, int64(d.Remaining))
	b = append(b, ";t="...)
	b = appendInteger(b, wholeSeconds(until))
	return string(b)
}

// appendString writes a structured-field string (RFC 9651 section 4.1.6).
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c >= 0x20 && c <= 0x7e:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// maxInteger is the largest integer of a structured field (RFC 9651 section 3.3.1).
const maxInteger = 999_999_999_999_999

// appendInteger writes an integer that is not negative.
func appendInteger(b []byte, n int64) []byte {
	return strconv.AppendInt(b, min(max(0, n), maxInteger), 10)
}

// wholeSeconds rounds up, so that no client retries too early.
func wholeSeconds(d time.Duration) int64 { return int64((max(0, d) + time.Second - 1) / time.Second) }
