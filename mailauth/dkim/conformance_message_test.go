package dkim_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A vector is a message with the records of its keys, and the result that its origin expects.
type vector struct {
	name, text, verdict string
	dns                 records
}

// mailDKIM reads the messages of Mail::DKIM.
func mailDKIM(t testing.TB) (list []vector) {
	expected := diagtest.Suite(t, "mail/dkim/mail-dkim/EXPECTED.tsv")[0]
	dir := filepath.Dir(expected)
	zone := readRecords(read(t, filepath.Join(dir, "FAKE_DNS.dat")))
	for line := range strings.Lines(read(t, expected)) {
		name, verdict, ok := strings.Cut(strings.TrimSpace(line), "\t")
		require.True(t, ok, line)
		list = append(list, vector{name, read(t, filepath.Join(dir, name)), verdict, zone})
	}
	require.NotEmpty(t, list)
	return list
}

// stalwart reads messages below the records of their keys, which are to pass.
func stalwart(t testing.TB) (list []vector) {
	for _, path := range diagtest.Suite(t, "mail/dkim/stalwart") {
		zone, text, ok := strings.Cut(lf(read(t, path)), "\n\n")
		require.True(t, ok, path)
		list = append(list, vector{filepath.Base(path), text, "pass", readRecords(zone)})
	}
	return list
}

func read(t testing.TB, path string) string {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

func (v vector) verify(t testing.TB) *dkim.Verification {
	found, err := dkim.Verify(t.Context(), v.dns.env(), []byte(v.text), dkim.Options{})
	require.NoError(t, err, v.name)
	return found
}

// TestConformanceMailDKIM plays the messages of Mail::DKIM. What it calls pass or fail is a cryptographic verdict,
// regardless of policy. Two kinds of signatures are only recognized, since they are no longer verified: those of
// DomainKeys, and those of the first draft of DKIM, which had no hash of the body.
func TestConformanceMailDKIM(t *testing.T) {
	counts := map[string]int{}
	for _, tt := range mailDKIM(t) {
		v := tt.verify(t)
		require.Positive(t, len(v.Signatures)+v.Historic, tt.name)
		kind := tt.verdict
		switch {
		case len(v.Signatures) == 0:
			kind = "DomainKeys"
		case !slices.ContainsFunc(v.Signatures, func(r dkim.Result) bool { return r.Cause != dkim.TagMissing }):
			kind = "first draft"
		case tt.verdict == "pass":
			assert.True(t, slices.ContainsFunc(v.Signatures, verifies), tt.name)
		case tt.verdict == "fail":
			assert.False(t, slices.ContainsFunc(v.Signatures, verifies), tt.name)
			assert.True(t, slices.ContainsFunc(v.Signatures, forged), tt.name)
		default:
			assert.NotEqual(t, dkim.Pass, v.Result(), tt.name)
		}
		counts[kind]++
		for _, r := range v.Signatures {
			checkPolicy(t, tt.name, r)
		}
	}
	t.Log(counts)
}

func verifies(r dkim.Result) bool { return r.BodyHashOK != nil && r.SignatureOK != nil && !forged(r) }

func forged(r dkim.Result) bool {
	return dkim.Check{BodyHashOK: r.BodyHashOK, SignatureOK: r.SignatureOK}.Failed()
}

// checkPolicy asserts the verdict of policy by its rules: RFC 8301 sections 3.1 and 3.2, RFC 6376 section 3.5.
func checkPolicy(t *testing.T, name string, r dkim.Result) {
	s := r.Signature
	refused := s.Algorithm == "rsa-sha1" || s.Version != "1" ||
		r.Key != nil && r.Key.Type == dkim.RSA && r.PublicKey.Algorithm != "" && r.PublicKey.SizeBits < 1024
	if refused {
		assert.NotEqual(t, dkim.Pass, r.Result, name)
	}
	if r.Result == dkim.Policy {
		assert.True(t, verifies(r), name)
		assert.True(t, slices.ContainsFunc(r.Issues, func(i dkim.Issue) bool { return i.Refused }), name)
	}
	assert.Equal(t, r.Result == dkim.Pass, r.Reason == "", name)
}

// TestConformanceStalwart plays messages of the library mail-auth, at the time when they were signed. All
// signatures are valid, and policy refuses those alone that checkPolicy knows.
func TestConformanceStalwart(t *testing.T) {
	passed, list := 0, stalwart(t)
	for _, tt := range list {
		for i, r := range tt.verify(t).Signatures {
			assert.True(t, verifies(r), "%s: %s", tt.name, r.Reason)
			options := dkim.Options{}
			if !r.SignedAt.IsZero() { // else the time of signing is unknown
				options.At = r.SignedAt
			}
			v, err := dkim.Verify(t.Context(), tt.dns.env(), []byte(tt.text), options)
			require.NoError(t, err)
			checkPolicy(t, tt.name, v.Signatures[i])
			assert.Contains(t, []dkim.AuthResult{dkim.Pass, dkim.Policy}, v.Signatures[i].Result, tt.name)
			if v.Signatures[i].Result == dkim.Pass {
				passed++
			}
		}
	}
	require.Positive(t, passed)
	t.Logf("%d signatures pass in %d messages", passed, len(list))
}

// TestConformanceHeaders verifies all kinds of real messages, whose keys are unknown: each signature has its result,
// even in truncated or damaged messages.
func TestConformanceHeaders(t *testing.T) {
	messages, signatures, intact := 0, 0, 0
	for _, path := range diagtest.Suite(t, "mail/headers") {
		tt := vector{name: path, text: read(t, path), dns: records{}}
		v := tt.verify(t)
		require.Len(t, v.Signatures, len(message.Split([]byte(tt.text)).All("DKIM-Signature")), path)
		for _, r := range v.Signatures {
			require.NotEqual(t, dkim.Pass, r.Result, path)
			require.NotEmpty(t, r.Reason, path)
			if r.BodyHashOK != nil && *r.BodyHashOK {
				intact++
			}
		}
		messages++
		signatures += len(v.Signatures)
	}
	require.Positive(t, signatures)
	t.Logf("%d messages, %d signatures, %d bodies as signed", messages, signatures, intact)
}
