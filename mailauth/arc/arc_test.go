package arc_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/arc"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/message"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var public, private, _ = ed25519.GenerateKey(rand.Reader)

// keys are the key records that the sealers of the tests publish.
func keys() map[string]string {
	r := map[string]string{}
	for i := range arc.MaxSets + 2 {
		r[fmt.Sprintf("arc._domainkey.s%d.example.net.", i)] = "v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(public)
	}
	return r
}

// seal adds a set to a message, as the sealer si.example.net does.
func seal(t testing.TB, text, state string) string {
	m := message.Split([]byte(text))
	i := len(m.All("ARC-Seal")) + 1
	var body strings.Builder
	dkim.Relaxed.WriteBody(&body, m.Body)
	hash := sha256.Sum256([]byte(body.String()))
	tags := fmt.Sprintf("i=%d; a=ed25519-sha256; d=s%d.example.net; s=arc; ", i, i)
	results := fmt.Sprintf("ARC-Authentication-Results: i=%d; s%d.example.net; spf=pass\r\n", i, i)
	signature := "ARC-Message-Signature: " + tags + "c=relaxed/relaxed; h=from:subject; bh=" +
		base64.StdEncoding.EncodeToString(hash[:]) + "; b="
	signature = sign(signature, m.First("From").Raw, m.First("Subject").Raw)
	var sets [][]byte
	for n := 1; n < i; n++ {
		for _, name := range []string{"ARC-Authentication-Results", "ARC-Message-Signature", "ARC-Seal"} {
			all := m.All(name)
			sets = append(sets, all[len(all)-n].Raw)
		}
	}
	if state == "fail" {
		sets = nil
	}
	return sign("ARC-Seal: "+tags+"cv="+state+"; b=", append(sets, []byte(results), []byte(signature))...) + signature + results + text
}

func sign(field string, covered ...[]byte) string {
	var data []byte
	for _, raw := range append(covered, []byte(field)) {
		data = dkim.Relaxed.AppendField(data, raw)
	}
	digest := sha256.Sum256(data[:len(data)-2])
	return field + base64.StdEncoding.EncodeToString(ed25519.Sign(private, digest[:])) + "\r\n"
}

const mail = "From: alice@example.org\r\nSubject: Minutes\r\n\r\nHello.\r\n"

// chain is a message with n valid sets.
func chain(t testing.TB, n int) string {
	text := mail
	for i := range n {
		text = seal(t, text, []string{"none", "pass"}[min(i, 1)])
	}
	return text
}

func replace(old, to string) func(string) string {
	return func(s string) string {
		if !strings.Contains(s, old) {
			panic("there is no " + old)
		}
		return strings.Replace(s, old, to, 1)
	}
}

// without removes the first field with the given prefix.
func without(begin string) func(string) string {
	return func(s string) string {
		at := strings.Index("\r\n"+s, "\r\n"+begin)
		return s[:at] + s[at+strings.Index(s[at:], "\r\n")+2:]
	}
}

func TestVerify(t *testing.T) {
	tests := []struct {
		name   string
		sets   int
		change func(string) string
		result arc.State
		oldest int
		reason string // part of it
		faults string
	}{
		{"none", 0, nil, arc.None, 0, "", ""},
		{"one", 1, nil, arc.Pass, 0, "", ""},
		{"three", 3, nil, arc.Pass, 0, "", ""},
		{"as many as allowed", arc.MaxSets, nil, arc.Pass, 0, "", ""},
		{"too many", arc.MaxSets + 1, nil, arc.Fail, 0, "has instance 51", "too_many too_many too_many"},
		{"changed by the second sealer", 1, func(s string) string {
			return seal(t, replace("Subject: ", "Subject: [team] ")(s), "pass")
		}, arc.Pass, 2, "", ""},
		{"footer of the second sealer", 2, func(s string) string {
			return seal(t, s+"-- \r\nlist\r\n", "pass")
		}, arc.Pass, 3, "", ""},
		{"changed behind the last", 2, replace("Hello", "Hullo"), arc.Fail, 0,
			"The message signature i=2 of s2.example.net is not valid: The body was changed", ""},
		{"subject changed behind the last", 2, replace("Subject: ", "Subject: [team] "), arc.Fail, 0, `"[team]" was added before`, ""},
		{"results changed", 2, replace("i=1; s1.example.net; spf=pass", "i=1; s1.example.net; spf=fail"), arc.Fail, 0,
			"The seal i=2 of s2.example.net is not valid", ""},
		{"gap", 3, func(s string) string {
			return without("ARC-Seal: i=2")(without("ARC-Message-Signature: i=2")(without("ARC-Authentication-Results: i=2")(s)))
		}, arc.Fail, 0, "The set i=2 is missing", "gap"},
		{"no first set", 2, func(s string) string {
			return without("ARC-Seal: i=1")(without("ARC-Message-Signature: i=1")(without("ARC-Authentication-Results: i=1")(s)))
		}, arc.Fail, 0, "The set i=1 is missing", "gap"},
		{"no seal", 2, without("ARC-Seal: i=2"), arc.Fail, 0, "The set i=2 has no ARC-Seal.", "incomplete"},
		{"no message signature", 2, without("ARC-Message-Signature: i=1"), arc.Fail, 0, "", "incomplete"},
		{"no results", 1, without("ARC-Authentication-Results"), arc.Fail, 0, "", "incomplete"},
		{"twice", 1, func(s string) string { return "ARC-Authentication-Results: i=1; x\r\n" + s }, arc.Fail, 0, "", "duplicate"},
		{"no instance", 1, func(s string) string { return "ARC-Authentication-Results: x; spf=pass\r\n" + s }, arc.Fail, 0, "", "instance"},
		{"instance of nothing", 1, replace("ARC-Seal: i=1", "ARC-Seal: i=0"), arc.Fail, 0, "", "instance incomplete"},
		{"syntax", 1, replace("cv=none", "cv=maybe"), arc.Fail, 0, "cv=maybe", "syntax"},
		{"h in a seal", 1, replace("cv=none", "h=from; cv=none"), arc.Fail, 0, "must not have the tag h=", "syntax"},
		{"none after a chain", 1, func(s string) string { return seal(t, s, "none") }, arc.Fail, 0, "says cv=none", "wrong_state"},
		{"pass without a chain", 0, func(s string) string { return seal(t, s, "pass") }, arc.Fail, 0, "says cv=pass", "wrong_state"},
		{"failed before", 2, func(s string) string { return seal(t, s+"x", "fail") }, arc.Fail, 0,
			"The sealer of i=3, s3.example.net, found that the chain had already failed.", ""},
		{"no key", 2, replaceAll("s=arc", "s=gone"), arc.Fail, 0, "There is no key", ""},
		{"DNS broken", 2, replaceAll("s=arc", "s=broken"), arc.Unknown, 0, "could not be looked up", ""},
		{"DNS broken and changed", 2, func(s string) string { return replaceAll("s=arc", "s=broken")(s) + "x" }, arc.Fail, 0, "A footer of 3 bytes was added", ""},
		{"longer than is read", 1, func(s string) string { return strings.Repeat("X: y\r\n", 50_000) + s }, arc.Unknown, 0, "256 KiB", ""},
		{"sha1", 1, replace("a=ed25519-sha256", "a=rsa-sha1"), arc.Fail, 0, "is of the type ed25519", ""},
	}
	w := publish(t, keys())
	for i := range 4 {
		w.Break(fmt.Sprintf("broken._domainkey.s%d.example.net.", i), dns.RcodeServerFailure)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := chain(t, tt.sets)
			if tt.change != nil {
				text = tt.change(text)
			}
			r, err := arc.Verify(t.Context(), w.Env(), []byte(text), dkim.Options{})
			require.NoError(t, err)
			var faults []string
			for _, f := range r.Faults {
				faults = append(faults, string(f.Code))
			}
			assert.Equal(t, tt.result, r.Result, r.Reason)
			assert.Equal(t, tt.oldest, r.OldestPass)
			assert.Contains(t, r.Reason, tt.reason)
			assert.Equal(t, tt.faults, strings.Join(faults, " "))
			assert.Equal(t, tt.faults == "", r.OrderValid)
		})
	}
}

func replaceAll(old, to string) func(string) string {
	return func(s string) string { return strings.ReplaceAll(s, old, to) }
}

func TestHeaderOnly(t *testing.T) {
	header, _, _ := strings.Cut(chain(t, 2), "\r\n\r\n")
	r, err := arc.Verify(t.Context(), publish(t, keys()).Env(), []byte(header), dkim.Options{HeaderOnly: true})
	require.NoError(t, err)
	require.Equal(t, arc.Unknown, r.Result)
	require.Nil(t, r.Sets[1].MessageOK)
	require.True(t, *r.Sets[1].SealOK)
	r, err = arc.Verify(t.Context(), publish(t, keys()).Env(), []byte(replace("Minutes", "Money")(header)), dkim.Options{HeaderOnly: true})
	require.NoError(t, err)
	require.Equal(t, arc.Fail, r.Result)
}

func TestParse(t *testing.T) {
	c := arc.Parse(message.Split([]byte(chain(t, 2))).Fields)
	require.Equal(t, 2, c.Instances)
	require.True(t, c.OrderValid)
	first := c.Sets[0]
	require.Equal(t, []any{1, "s1.example.net", "arc", arc.None, "s1.example.net", []string{"from", "subject"}},
		[]any{first.Instance, first.Domain, first.Selector, first.State, first.AuthServID, first.SignedFields})
	require.Nil(t, first.SealOK)
	require.Empty(t, arc.Parse(nil).Sets)
}

// TestRoundTrips: however many sets, one round trip.
func TestRoundTrips(t *testing.T) {
	text := chain(t, 5)
	trips := diagtest.RoundTrips(t, func(w *diagtest.World) {
		for name, record := range keys() {
			w.Zone(fmt.Sprintf("%s 300 IN TXT %q", name, record))
		}
	}, func(ctx context.Context, env *diag.Env) {
		r, err := arc.Verify(ctx, env, []byte(text), dkim.Options{})
		require.NoError(t, err)
		require.Equal(t, arc.Pass, r.Result)
	})
	require.Equal(t, 1, trips)
}

func TestContextEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := arc.Verify(ctx, publish(t, keys()).Env(), []byte(chain(t, 1)), dkim.Options{})
	require.ErrorIs(t, err, context.Canceled)
}

// Whatever the header is, sets are in order and faults bounded, and a chain without fault is complete.
func FuzzVerify(f *testing.F) {
	f.Add(chain(f, 2))
	f.Add("ARC-Seal: i=1; cv=none\r\nARC-Message-Signature: i=2\r\nARC-Authentication-Results: i=1; a; b=c\r\n")
	w := publish(f, keys())
	f.Fuzz(func(t *testing.T, text string) {
		r, err := arc.Verify(t.Context(), w.Env(), []byte(text), dkim.Options{})
		require.NoError(t, err)
		_, err = json.Marshal(r)
		require.NoError(t, err)
		require.LessOrEqual(t, len(r.Sets), arc.MaxSets)
		require.True(t, slices.IsSortedFunc(r.Sets, func(a, b arc.Set) int { return a.Instance - b.Instance }))
		for i, s := range r.Sets {
			if r.OrderValid {
				require.Equal(t, i+1, s.Instance)
				require.NotNil(t, s.Seal)
				require.NotNil(t, s.Message)
				require.NotNil(t, s.Authentication)
			}
		}
		require.Equal(t, r.Result == arc.Pass || r.Result == arc.None, r.Reason == "")
	})
}
