package csp_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/webcheck/internal/csp"
	"github.com/stretchr/testify/require"
)

var page = &url.URL{Scheme: "https", Host: "www.example.com", Path: "/"}

// kinds are the answers in the order of [csp.Runs.List], in short.
var kinds = []string{"inline", "handler", "eval", "foreign", "plugin", "base", "frame", "embedding"}

// running lists what runs, each with the directive that lets it, and with the policy if that is not the first.
func running(r csp.Runs) string {
	var list []string
	for i, a := range r.List() {
		switch {
		case !a.Runs:
		case a.By == "":
			list = append(list, kinds[i])
		case a.Policy == 1:
			list = append(list, kinds[i]+":"+a.By)
		default:
			list = append(list, fmt.Sprintf("%s:%s@%d", kinds[i], a.By, a.Policy))
		}
	}
	return strings.Join(list, " ")
}

const rest = "; object-src 'none'; base-uri 'none'; frame-src 'self'; frame-ancestors 'none'"

func TestMayRun(t *testing.T) {
	hash := csp.Hash("x")
	for _, tt := range []struct{ policy, want string }{
		{"", "inline handler eval foreign plugin base frame embedding"},
		{"img-src 'self'", "inline handler eval foreign plugin base frame embedding"},
		{"default-src 'self'", "base embedding"},
		{"default-src 'none'; base-uri 'self'; frame-ancestors 'self'", ""},
		{"default-src *" + rest, "foreign:default-src"},

		// The fallbacks of section 6.8.3.
		{"script-src 'self'" + rest, ""},
		{"script-src-elem 'self'" + rest, "handler eval"},
		{"script-src-attr 'none'" + rest, "inline eval foreign"},
		{"script-src-elem 'self'; script-src-attr 'none'" + rest, "eval"},
		{"default-src 'self'; script-src-attr 'unsafe-inline'" + rest, "handler:script-src-attr"},
		{"default-src 'self'; script-src-elem 'unsafe-inline'" + rest, "inline:script-src-elem"},
		{"default-src 'none'; script-src 'unsafe-inline'" + rest, "inline:script-src handler:script-src"},
		{"default-src 'unsafe-inline'; script-src 'self'" + rest, ""},
		{"script-src 'unsafe-inline'; script-src-attr 'none'" + rest, "inline:script-src"},
		{"script-src 'none'; script-src-elem https:" + rest, "foreign:script-src-elem"},
		{"default-src 'self' 'unsafe-eval'" + rest, "eval:default-src"},
		{"default-src 'unsafe-eval'; script-src 'self'" + rest, ""},
		{"script-src 'self'; script-src-elem 'unsafe-eval'" + rest, ""},
		{"script-src 'self' 'wasm-unsafe-eval'" + rest, ""},
		{"default-src 'self'; object-src *; base-uri 'none'; frame-ancestors 'none'", "plugin:object-src"},
		{"default-src 'self'; child-src *; base-uri 'none'; frame-ancestors 'none'", "frame:child-src"},
		{"default-src *; child-src *; frame-src 'self'; script-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors https:", "embedding:frame-ancestors"},
		{"default-src 'none'; base-uri https:; frame-ancestors 'none'", "base:base-uri"},

		// What section 6.7.3.2 ignores beside nonces, hashes and 'strict-dynamic'.
		{"script-src 'unsafe-inline' 'nonce-YWJjZGVmZ2hpamtsbW5vcA=='" + rest, ""},
		{"script-src 'unsafe-inline' " + hash + rest, ""},
		{"script-src 'unsafe-inline' 'strict-dynamic'" + rest, ""},
		{"script-src 'unsafe-inline' 'nonce-'" + rest, "inline:script-src handler:script-src"},
		{"script-src 'unsafe-hashes' " + hash + rest, ""},
		{"script-src 'nonce-YWJj' 'strict-dynamic' 'unsafe-inline' https: http: *" + rest, ""},
		{"script-src 'nonce-YWJj' https:" + rest, "foreign:script-src"},
		{"default-src 'nonce-YWJj' 'strict-dynamic' https:; base-uri 'none'; frame-ancestors 'none'", "plugin:default-src frame:default-src"},
		{"script-src 'nonce-YWJj' 'strict-dynamic'; script-src-attr 'unsafe-inline'" + rest, "handler:script-src-attr"},
		{"script-src 'UNSAFE-INLINE'" + rest, "inline:script-src handler:script-src"},
		{"script-src unsafe-inline" + rest, ""},

		// Places where anyone can put a script (section 6.7.2).
		{"script-src 'self' https:" + rest, "foreign:script-src"},
		{"script-src http:" + rest, "foreign:script-src"},
		{"script-src 'self' data:" + rest, "foreign:script-src"},
		{"script-src https://*" + rest, "foreign:script-src"},
		{"script-src https://*:8443/js/" + rest, "foreign:script-src"},
		{"script-src *.com" + rest, "foreign:script-src"},
		{"script-src *.co.uk" + rest, "foreign:script-src"},
		{"script-src *.example.com" + rest, ""},
		{"script-src https://cdn.jsdelivr.net" + rest, "foreign:script-src"},
		{"script-src https://cdn.jsdelivr.net/npm/vue@3/vue.js" + rest, ""},
		{"script-src 'self' blob:" + rest, ""},
		{"script-src 'self' wss:" + rest, ""},
		{"script-src 'none' https:" + rest, "foreign:script-src"},
		{"object-src https://cdn.jsdelivr.net; script-src 'self'; base-uri 'none'; frame-src 'none'; frame-ancestors 'none'", ""},

		// The first of two directives counts (section 2.2.1).
		{"script-src 'self'; script-src *" + rest, ""},

		// Sandboxes (section 6.3.2) and Trusted Types.
		{"sandbox allow-forms; script-src 'unsafe-inline' 'unsafe-eval' *; base-uri 'none'; frame-src 'none'; frame-ancestors 'none'", ""},
		{"sandbox allow-scripts; script-src 'unsafe-inline'; base-uri 'none'; frame-src 'none'; frame-ancestors 'none'",
			"inline:script-src handler:script-src"},
		{"script-src 'self' 'unsafe-eval'; require-trusted-types-for 'script'" + rest, ""},

		// Every policy must allow it (section 4.2).
		{"default-src 'self', script-src 'self' https://cdn.example.net" + rest, ""},
		{"script-src 'unsafe-inline', script-src 'self'" + rest, ""},
		{"img-src *, script-src 'unsafe-inline'" + rest, "inline:script-src@2 handler:script-src@2"},
		{"script-src https:, script-src *.com" + rest, "foreign:script-src"},
		{"script-src data:, script-src https:" + rest, ""},
		{"script-src *, script-src 'nonce-YWJj' 'strict-dynamic'" + rest, ""},
		{"script-src https://unpkg.com, script-src https://cdn.jsdelivr.net" + rest, ""},
		{"script-src https://unpkg.com https://esm.sh, script-src https:" + rest, "foreign:script-src"},
	} {
		require.Equal(t, tt.want, running(csp.MayRun(csp.ParseList(tt.policy), page)), tt.policy)
	}
}

// What forbids something is the first policy that does.
func TestWhatDecides(t *testing.T) {
	for _, tt := range []struct {
		policies, kind, by string
		policy             int
	}{
		{"default-src 'self'", "inline", "default-src", 1},
		{"default-src 'self'; script-src-attr 'none'", "handler", "script-src-attr", 1},
		{"script-src https:, script-src 'self'", "foreign", "script-src", 2},
		{"script-src data:, default-src https:", "foreign", "script-src", 1},
		{"img-src 'self', script-src 'none'", "eval", "script-src", 2},
		{"sandbox; object-src *", "plugin", "sandbox", 1},
		{"script-src 'unsafe-eval'; require-trusted-types-for 'script'", "eval", "require-trusted-types-for", 1},
		{"frame-ancestors 'self'", "embedding", "frame-ancestors", 1},
		{"default-src 'none'; child-src 'self'", "frame", "child-src", 1},
	} {
		runs := csp.MayRun(csp.ParseList(tt.policies), page)
		for i, a := range runs.List() {
			if kinds[i] == tt.kind {
				require.Equal(t, csp.Answer{By: tt.by, Policy: tt.policy}, *a, tt.policies)
			}
		}
	}
}

// What frame-ancestors and sandbox ask for in a meta element has no effect (section 3.3).
func TestMayRunInMeta(t *testing.T) {
	p := csp.Parse("default-src 'self'; sandbox; frame-ancestors 'none'; base-uri 'none'").InMeta()
	require.Equal(t, "embedding", running(csp.MayRun([]csp.Policy{p}, page)))
	runs := csp.MayRun([]csp.Policy{p}, page)
	require.Equal(t, "default-src", runs.Plugin.By)
}

func TestSourcesThatLetScriptsRun(t *testing.T) {
	runs := csp.MayRun(csp.ParseList("script-src 'self' https: *.example.com data: https: unpkg.com"), page)
	require.Equal(t, []string{"https:", "data:", "unpkg.com"}, runs.ForeignScript.Sources)
}

// FuzzMayRun: another policy never lets more run, what one policy forbids stays forbidden, and a policy of 'none'
// lets nothing run.
func FuzzMayRun(f *testing.F) {
	for _, s := range []string{"default-src 'self'|img-src *", "script-src 'nonce-a' 'strict-dynamic' *|x", "sandbox|script-src *.com data:",
		"script-src-elem https:;script-src-attr 'unsafe-inline'|script-src https://unpkg.com"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, second, _ := strings.Cut(text, "|")
		a, b := csp.ParseList(first), csp.ParseList(second)
		both := csp.MayRun(append(a, b...), page)
		alone, other := csp.MayRun(a, page), csp.MayRun(b, page)
		for i, x := range both.List() {
			require.True(t, !x.Runs || alone.List()[i].Runs && other.List()[i].Runs, "%s: %q", kinds[i], text)
			require.True(t, x.Runs || x.By != "")
			require.Equal(t, x.Runs && x.By != "", len(x.Sources) > 0)
		}
		none := csp.ParseList("default-src 'none'; base-uri 'none'; frame-ancestors 'none'")
		require.Empty(t, running(csp.MayRun(append(a[:min(len(a), 5)], none...), page)))
	})
}
