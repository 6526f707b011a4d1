package diag

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// Within returns a context for one step of a diagnostic: it ends after the limit, or after nine tenths
// of what is left of ctx, so that what has been learned by then can still be reported.
func Within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, TimeLeft(ctx, limit))
}

// TimeLeft is the time that [Within] grants.
func TimeLeft(ctx context.Context, limit time.Duration) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return min(limit, time.Until(end)*9/10)
	}
	return limit
}

// Reason says in a few words why an exchange over the network failed, for a sentence of a finding.
func Reason(err error) string {
	if known := reason(err); known != "" {
		return known
	}
	if asked, ok := errors.AsType[*resolver.AskError](err); ok {
		return Reason(asked.Err)
	}
	_, onSocket := errors.AsType[*net.OpError](err) // its text has the addresses of both ends
	_, onHTTP := errors.AsType[*url.Error](err)
	if onSocket || onHTTP || errors.Is(err, net.ErrClosed) {
		return "the connection failed"
	}
	if _, text, ok := strings.Cut(err.Error(), resolver.ErrLame.Error()+": "); ok && errors.Is(err, resolver.ErrLame) {
		return Quote(text)
	}
	return Quote(strings.ReplaceAll(err.Error(), "\n", "; "))
}

// reason describes an error in words of our own; empty if unknown.
func reason(err error) string {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, resolver.ErrTimeout), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return "no response"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, context.Canceled):
		return "broken off before there was a response"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF):
		return "connection closed by the other side"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route to the host"
	case errors.Is(err, resolver.ErrNoMessage):
		return resolver.ErrNoMessage.Error()
	}
	if blocked, ok := errors.AsType[*BlockedError](err); ok {
		return blocked.Error()
	}
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	_, notTLS := errors.AsType[tls.RecordHeaderError](err)
	_, lookup := errors.AsType[*net.DNSError](err)
	switch {
	case unverified, unknown:
		return "its certificate is not trusted"
	case alert, notTLS:
		return "the TLS handshake failed"
	case lookup:
		return "the name could not be looked up"
	}
	if _, ok := errors.AsType[*dns.Error](err); ok {
		return "a response that is not valid DNS"
	}
	return ""
}

// Timing says when a diagnostic ran. Reports embed it.
type Timing struct {
	CheckedAt  time.Time `json:"checked_at" doc:"when the check began"`
	DurationMS int64     `json:"duration_ms" min:"0" doc:"how long it took"`
}

// Began is when the check began.
func (t Timing) Began() time.Time { return t.CheckedAt }

// NewTiming returns the timing of an operation that began and ended at these times; the start is truncated to whole
// seconds.
func NewTiming(began, ended time.Time) Timing {
	return Timing{CheckedAt: began.UTC().Truncate(time.Second), DurationMS: max(0, ended.Sub(began).Milliseconds())}
}

// Sentence makes a sentence of the text of an error, which may begin with a name and therefore keeps
// its first letter unless its first word is a common one.
func Sentence(s string) string {
	first, _, _ := strings.Cut(s, " ")
	if slices.Contains([]string{"a", "an", "the", "there", "that", "this", "no", "its", "more", "port", "white"}, first) {
		s = Upper(s)
	}
	return s + "."
}

// Upper begins a text with a capital letter, as that of a sentence.
func Upper(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Count writes a number of things, which are more than one with an s: "1 record", "2 records".
func Count[N int | int64 | uint32](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Span writes a duration for people: 6 h 2 min, 21 s, 3 days.
func Span(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		if m := int(d.Minutes()) % 60; m > 0 {
			return fmt.Sprintf("%d h %d min", int(d.Hours()), m)
		}
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return Count(int64(d.Hours()/24), "day")
}

// Series lists things in a sentence, at most so many of them: "a", "a and b", "a, b and c", "a, b and 3 more".
func Series(list []string, most int) string {
	if more := len(list) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), more)
	}
	last := len(list) - 1
	if last < 1 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:last], ", ") + " and " + list[last]
}

// maxQuoted bounds what a sentence quotes from a record, in bytes.
const maxQuoted = 200

// Clip makes an untrusted text valid UTF-8 of at most so many bytes, and an ellipsis where it is longer.
func Clip(s string, most int) string {
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// Quote makes an untrusted text fit for a sentence: valid UTF-8, at most 200 bytes and an ellipsis, and quoted as Go
// does if it has control characters.
func Quote(s string) string {
	s = Clip(s, maxQuoted)
	if strings.ContainsFunc(s, unicode.IsControl) {
		return fmt.Sprintf("%q", s)
	}
	return s
}

// Values are the words of an enumeration, for its method of that name.
func Values[T ~string](list ...T) []string {
	return Map(list, func(v T) string { return string(v) })
}

// OrZero returns what p points to, or the zero value if p is nil.
func OrZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Map applies a function to each item of a list; for an empty list it returns an empty one, not nil.
func Map[T, R any](list []T, f func(T) R) []R {
	results := make([]R, len(list))
	for i, item := range list {
		results[i] = f(item)
	}
	return results
}

// Regexp returns a function that compiles an expression when it is first called, and panics if it is invalid. It is
// for package variables, which are then compiled only in programs that use them.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// Words returns a function that makes a set of the words in a text, also when it is first called.
func Words(text string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for word := range strings.FieldsSeq(text) {
			set[word] = true
		}
		return set
	})
}

// WordLists is [Words] for a text of several lists, by their names. A list begins with a line of its name and a colon, and
// ends with an empty line.
func WordLists(text string) func(name string) func() map[string]bool {
	return func(name string) func() map[string]bool {
		return sync.OnceValue(func() map[string]bool {
			_, list, found := strings.Cut("\n"+text, "\n"+name+":\n")
			if !found {
				panic("no list of " + name)
			}
			list, _, _ = strings.Cut(list, "\n\n")
			return Words(list)()
		})
	}
}

// maxCompared bounds the words that are compared, in bytes: what is misspelled is not much longer than what was meant.
const maxCompared = 64

// Distance is how many letters have to be changed, put in, taken out or swapped with their neighbours to make one word
// of another. Of long words it is just large.
func Distance(a, b string) int {
	if a == b {
		return 0
	}
	if len(a) > maxCompared || len(b) > maxCompared {
		return maxCompared
	}
	var last, row, next [maxCompared + 1]int
	for j := range len(b) + 1 {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			next[j+1] = min(change, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], last[j-1]+1)
			}
		}
		last, row = row, next
	}
	return row[len(b)]
}
