package dnsbl

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

const key = "abcd1234SECRETkey"

func keyed(w *diagtest.World) *diag.Env {
	env := w.Env()
	env.Data = fstest.MapFS{KeysFile: {Data: []byte(`{"spamhaus": "` + key + `"}`)}}
	return env
}

func TestKeysReplaceThePublicZone(t *testing.T) {
	w := working(t)
	w.Zone("2.0.0.127." + key + ".zen.dq.spamhaus.net. A 127.0.0.2\n" + rev + key + ".zen.dq.spamhaus.net. A 127.0.0.4\n" +
		rev + key + `.zen.dq.spamhaus.net. TXT "asked as ` + strings.ToUpper(key) + `.zen.dq.spamhaus.net"` + "\n" +
		"2.0.0.127." + key + ".authbl.dq.spamhaus.net. A 127.0.0.20\n")
	r, err := Check(t.Context(), keyed(w), Request{IP: diag.MustIP(ip4)})
	require.NoError(t, err)
	zen := r.Results[0]
	require.Equal(t, "zen.dq.spamhaus.net", zen.Zone)
	require.Equal(t, Listed, zen.Status)
	require.Equal(t, "asked as ….zen.dq.spamhaus.net", zen.Reason)
	require.Equal(t, 65, r.CheckedCount, "AuthBL answers now")
	require.Zero(t, w.Asked(rev+"zen.spamhaus.org.", dns.TypeA))
}

// Whatever fails, no report and no error contains a key.
func TestKeysAreSecret(t *testing.T) {
	hidden := func(t *testing.T, text string) {
		t.Helper()
		require.NotContains(t, strings.ToLower(text), strings.ToLower(key))
	}
	for name, spoil := range map[string]func(*diagtest.World){
		"silence":  func(w *diagtest.World) { w.Silence("*.dq.spamhaus.net") },
		"SERVFAIL": func(w *diagtest.World) { w.Break("*.dq.spamhaus.net", dns.RcodeServerFailure) },
		"REFUSED":  func(w *diagtest.World) { w.Break("*.dq.spamhaus.net", dns.RcodeRefused) },
		"told": func(w *diagtest.World) {
			w.Fault("*.dq.spamhaus.net", 0, diagtest.Fault{Rcode: dns.RcodeServerFailure, Explain: 22, Text: key + " fails"})
		},
		"bad key":  func(w *diagtest.World) { w.Zone("*.zen.dq.spamhaus.net. A 127.255.255.251\n") },
		"no reply": func(w *diagtest.World) { w.Silence("*.") },
		"aliases":  func(w *diagtest.World) { w.Zone("*.zen.dq.spamhaus.net. CNAME x." + key + ".zen.dq.spamhaus.net.\n") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := working(t)
				spoil(w)
				r, err := Check(t.Context(), keyed(w), Request{IP: diag.MustIP(ip4)})
				if err != nil {
					hidden(t, err.Error())
					return
				}
				text, err := json.Marshal(r)
				require.NoError(t, err)
				hidden(t, string(text))
			})
		})
	}
	k, err := parseKeys([]byte(`{"spamhaus": "` + key + `"}`))
	require.NoError(t, err)
	hidden(t, fmt.Sprintf("%v %+v %#v %s", k, k, k, k))
	const object, member = "it is not a JSON object", "a member is not the name of an account and a key"
	for text, want := range map[string]string{
		"":                                object,
		key:                               object,
		"{\n\"spamhaus\": " + key + "\n}": object,
		`{"spamhaus": "` + key + `"} x`:   object,
		`"` + key + `"`:                   object,
		`["` + key + `"]`:                 object,
		"null":                            object,
		`{"spamhaus": "` + key + `.x"}`:   member,
		`{"spamhaus": ["` + key + `"]}`:   object,
		`{"spamhaus": null}`:              member,
		`{"` + key + `": "spamhaus"}`:     member,
		`{"a": "` + key + `", "a": "b"}`:  object,
		"{\"a\": \"" + key + "\xff\"}":    object,
		strings.Repeat(key, maxFile):      object,
	} {
		_, err := parseKeys([]byte(text))
		require.ErrorContains(t, err, want, "%.100s", text)
		hidden(t, err.Error())
	}
}

func FuzzScrub(f *testing.F) {
	f.Add("asked "+key, key)
	f.Add("\xffKEY", "key")
	f.Fuzz(func(t *testing.T, text, key string) {
		if !isKey(key) {
			return
		}
		require.NotContains(t, lowerASCII(keys{"own": {key}}.redact(text)), lowerASCII(key))
	})
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := working(t)
		env := w.Env()
		env.Data = fstest.MapFS{File: {Data: []byte(strings.Replace(sample(`"rate": "2/s"`), "bl.example.net", "all.s5h.net", 1))}}
		ask := func(env *diag.Env) Status {
			r, err := Check(t.Context(), env, Request{IP: diag.MustIP(ip4)})
			if err != nil {
				require.ErrorIs(t, err, diag.ErrUnavailable)
				require.NotErrorIs(t, err, context.DeadlineExceeded)
				return Failed
			}
			return r.Results[0].Status
		}
		require.Equal(t, Clean, ask(env))
		require.Equal(t, Clean, ask(env.Cached()))
		require.Equal(t, Failed, ask(env))
		require.Equal(t, 2, w.Asked(rev+"all.s5h.net.", dns.TypeA))
		w.Advance(time.Second / 2)
		require.Equal(t, Clean, ask(env))
		require.Equal(t, Failed, ask(env))
		require.Equal(t, Clean, ask(w.NewEnv()), "another environment has its own count")
	})
}

// A list that is left out because of its rate is reported as such, next to others that answer.
func TestRateBesideOthers(t *testing.T) {
	w := working(t)
	env := w.Env()
	for range 11 {
		_, err := Check(t.Context(), env, Request{IP: diag.MustIP(ip4), Lists: []string{"spfbl"}})
		if err != nil {
			require.ErrorIs(t, err, diag.ErrUnavailable)
		}
	}
	r, err := Check(t.Context(), env, Request{IP: diag.MustIP(ip4), Lists: []string{"spfbl", "psbl"}})
	require.NoError(t, err)
	require.Equal(t, "It is asked too often, so that it was left out.", r.Results[1].Reason)
	require.True(t, r.Partial)
}
