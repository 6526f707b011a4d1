package notify

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestWait(t *testing.T) {
	tests := []struct {
		n     int
		asked time.Duration
		want  time.Duration
	}{
		{1, 0, 10 * time.Second}, {2, 0, time.Minute}, {3, 0, 10 * time.Minute},
		{4, 0, time.Hour}, {5, 0, 6 * time.Hour}, {6, 0, 24 * time.Hour},
		{1, 5 * time.Second, 10 * time.Second},
		{1, 90 * time.Second, 90 * time.Second},
		{2, 48 * time.Hour, 24 * time.Hour},
		{6, 48 * time.Hour, 24 * time.Hour},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, wait(tt.n, tt.asked), "%d, %v", tt.n, tt.asked)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		text string
		want time.Duration
	}{
		{"120", 2 * time.Minute}, {" 7 ", 7 * time.Second}, {"0", 0}, {"-5", 0}, {"", 0}, {"soon", 0}, {"1.5", 0},
		{"99999999999999999999999", 24 * time.Hour}, {"18446744073709551615", 24 * time.Hour},
		{"Thu, 15 Jan 2026 12:03:00 GMT", 3 * time.Minute}, {"Thu, 15 Jan 2026 11:00:00 GMT", 0},
		{"Fri, 15 Jan 2027 12:00:00 GMT", 24 * time.Hour},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, retryAfter(tt.text, now), tt.text)
	}
}

func TestVerdictOf(t *testing.T) {
	tests := map[int]verdict{
		200: accepted, 202: accepted, 204: accepted, 299: accepted,
		301: retry, 302: retry, 304: retry, 307: retry,
		400: refused, 401: refused, 403: refused, 404: refused, 408: retry, 410: gone, 413: refused, 429: retry,
		500: retry, 502: retry, 503: retry, 504: retry, 599: retry, 600: retry, 101: retry,
	}
	for status, want := range tests {
		assert.Equal(t, want, verdictOf(status), http.StatusText(status))
	}
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("120")
	f.Add("Thu, 15 Jan 2026 12:03:00 GMT")
	f.Fuzz(func(t *testing.T, text string) {
		if d := retryAfter(text, time.Unix(0, 0)); d < 0 || d > maxRetryAfter {
			t.Errorf("%q gave %v", text, d)
		}
	})
}
