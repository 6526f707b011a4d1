package dkim_test

import (
	"math/rand/v2"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/message"
	msgauth "github.com/emersion/go-msgauth/dkim"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lookup answers go-msgauth with the same records.
func (r records) lookup(name string) ([]string, error) {
	record, ok := r[strings.ToLower(name)+"."]
	switch {
	case !ok || record == "NXDOMAIN":
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	case strings.HasPrefix(record, "~~"):
		return nil, &net.DNSError{Err: "no answer", Name: name, IsTemporary: true}
	default:
		return []string{record}, nil
	}
}

// A defect is where go-msgauth is known to differ, with the rule that finds such a signature.
type defect struct {
	name    string
	applies func(r dkim.Result, err error, text string) bool
}

var defects = []defect{
	{"fails each signature with l=", func(r dkim.Result, err error, _ string) bool {
		return r.BodyLength != nil && err != nil && strings.Contains(err.Error(), "body length")
	}},
	{"compares d= and i= with their letter case, and i= without decoding it", func(r dkim.Result, err error, _ string) bool {
		return err != nil && strings.Contains(err.Error(), "domain mismatch") && r.Cause != dkim.DomainMismatch
	}},
	{"does not enforce t=s of the key", func(r dkim.Result, err error, _ string) bool {
		return r.Cause == dkim.DomainMismatch && r.Key != nil && r.Key.Strict()
	}},
	{"takes a tag list for valid in which a tag is empty", func(r dkim.Result, err error, _ string) bool {
		return r.Cause == dkim.SyntaxError && strings.Contains(r.Reason, "nothing before a semicolon")
	}},
	{"refuses base64 without padding, which RFC 6376 section 2.10 allows", func(r dkim.Result, err error, _ string) bool {
		return err != nil && strings.Contains(err.Error(), "illegal base64") && len(r.Signature.Bytes) > 0
	}},
	{"takes a CR without LF for white space or a line end", func(_ dkim.Result, _ error, text string) bool {
		return loneCR.MatchString(text)
	}},
}

var loneCR = regexp.MustCompile(`\r([^\n]|$)`)

// compare verifies a message with both libraries, and returns how many signatures were compared.
func compare(t *testing.T, name, text string, dns records) (compared int, known []string) {
	v, err := dkim.Verify(t.Context(), dns.env(), []byte(text), dkim.Options{At: time.Now()})
	require.NoError(t, err, name)
	theirs, err := msgauth.VerifyWithOptions(strings.NewReader(text), &msgauth.VerifyOptions{LookupTXT: dns.lookup})
	switch m := message.Split([]byte(text)); {
	case len(m.Separator) == 0:
		require.Error(t, err, name)
		return 0, []string{"gives up without a blank line behind the header"}
	case len(m.Malformed) > 0:
		return 0, []string{"takes a line without a colon for a field"}
	}
	require.NoError(t, err, name)
	require.Len(t, v.Signatures, len(theirs), name)
	for i, r := range v.Signatures {
		other := theirs[i].Err
		at := slices.IndexFunc(defects, func(d defect) bool { return d.applies(r, other, text) })
		if at >= 0 {
			known = append(known, defects[at].name)
			continue
		}
		compared++
		assert.Equal(t, other == nil, r.Result == dkim.Pass, "%s: %v, but we say %s: %s", name, other, r.Result, r.Reason)
		if msgauth.IsTempFail(other) && verifiesBody(r) || r.Result == dkim.TempError {
			assert.Equal(t, msgauth.IsTempFail(other), r.Result == dkim.TempError, "%s: %v", name, other)
		}
	}
	return compared, known
}

// TestDifferentialCorpus compares both libraries over the messages of all vectors.
func TestDifferentialCorpus(t *testing.T) {
	compared, known := 0, map[string]int{}
	for _, tt := range append(mailDKIM(t), stalwart(t)...) {
		n, list := compare(t, tt.name, tt.text, tt.dns)
		compared += n
		for _, k := range list {
			known[k]++
		}
	}
	require.Positive(t, compared)
	t.Logf("%d signatures; known defects: %v", compared, known)
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// pieces are the building blocks of bodies and field values, including all that canonicalization processes.
var pieces = []string{"a", "Hello", " ", "  ", "\t", " \t", "\r\n", "\r\n\r\n", " \r\n", "\t \r\n", "=20", ".", "\u00fc", "b="}

func randomMail(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("From: Alice <alice@example.org>\r\n")
	for range r.IntN(6) {
		b.WriteString(pick(r, "Subject", "X-A", "x-a", "X-B ", "To") + ":" + pick(r, "", " ", "\t", " \r\n "))
		for range r.IntN(6) {
			b.WriteString(pick(r, "a", "B", " ", "  ", "\t", "\r\n ", "\r\n\t", ";", ":", "b=c"))
		}
		b.WriteString("x\r\n")
	}
	b.WriteString("\r\n")
	for range r.IntN(30) {
		b.WriteString(pick(r, pieces...))
	}
	return b.String()
}

// damage changes a byte, adds something, or removes something; mostly white space.
func damage(r *rand.Rand, text string) string {
	at := r.IntN(len(text))
	switch r.IntN(5) {
	case 0:
		return text[:at] + pick(r, " ", "\t", "\r\n", "\r\n ", "x", ";") + text[at:]
	case 1:
		return text[:at] + text[min(len(text), at+1+r.IntN(3)):]
	case 2:
		return text + pick(r, "\r\n", "\r\n\r\n", " ", " \r\n", "\n", "footer\r\n")
	case 3:
		return strings.Replace(text, "  ", " ", 1)
	default:
		return strings.ReplaceAll(text, "\r\n", "\n")
	}
}

func verifiesBody(r dkim.Result) bool { return r.BodyHashOK != nil && *r.BodyHashOK }
