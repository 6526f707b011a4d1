package csp_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/webcheck/internal/csp"
	"github.com/stretchr/testify/require"
)

func TestFaults(t *testing.T) {
	tests := []struct{ policy, want string }{
		{"default-src 'self'; object-src 'none'; upgrade-insecure-requests", ""},
		{"script-src self", "missing_quotes script-src self 'self'"},
		{"script-src nonce-AbC=", "missing_quotes script-src nonce-AbC= 'nonce-AbC='"},
		{"script-src \u2018self\u2019", "missing_quotes script-src \u2018self\u2019 'self'"},
		{"script-src 'self' img-src 'self'", "missing_semicolon script-src img-src ; img-src"},
		{"script-src 'self'; script-src 'none'", "duplicate_directive script-src  "},
		{"scripts-src 'self'", "unknown_directive scripts-src  script-src"},
		{"block-all-mixed-content", "deprecated_directive block-all-mixed-content  "},
		{"img-src 'none' https:", "none_with_others img-src 'none' "},
		{"img-src https://*.*", "invalid_source img-src https://*.* "},
		{"script-src 'sha256-abc='", "invalid_source script-src 'sha256-abc=' "},
		{"frame-ancestors 'unsafe-inline'", "invalid_source frame-ancestors 'unsafe-inline' "},
		{"img-src 'none' 'report-sample'", ""},
		{"img-src https://cdn.example.net/js/*.js", "wildcard_path img-src https://cdn.example.net/js/*.js "},
		{"img-src cdn.example.net/img/*", "wildcard_path img-src cdn.example.net/img/* cdn.example.net/img/"},
		{"img-src 'https://cdn.example.net' 'data:'", "invalid_source img-src 'https://cdn.example.net' https://cdn.example.net\n" +
			"invalid_source img-src 'data:' data:"},
		{"img-src data https localhost", "missing_quotes img-src data data:\nmissing_quotes img-src https https:"},
		{"script-src 'nonce-{nonce}' 'selv'", "invalid_source script-src 'nonce-{nonce}' \ninvalid_source script-src 'selv' "},
		{"sandbox allow-scripts allow-form", "invalid_value sandbox allow-form allow-forms"},
		{"require-trusted-types-for script; trusted-types default dompurify", "invalid_value require-trusted-types-for script 'script'"},
		{"webrtc 'block'; sandbox", ""},
		{"defualt-src 'self'", "unknown_directive defualt-src  default-src"},
		{"default-src: 'self'", "unknown_directive default-src:  default-src"},
		{"script_src 'self'; stylesrc 'self'; frame-ancestor 'self'; base-url 'self'", "unknown_directive script_src  script-src\n" +
			"unknown_directive stylesrc  style-src\nunknown_directive frame-ancestor  frame-ancestors\nunknown_directive base-url  base-uri"},
		{"max-age 5; x", "unknown_directive max-age  \nunknown_directive x  "},
		{"report-uri", "missing_value report-uri  "},
		{"script-src 'sha256-hqBEA/HXB3aJU2FgOnYN8rkAgEVgyfi3Vs1j2/XMPBA='", ""},
	}
	for _, tt := range tests {
		p := csp.Parse(tt.policy)
		got := []string{}
		for _, f := range p.Faults {
			got = append(got, fmt.Sprint(f.Kind, " ", f.Directive, " ", f.Value, " ", f.Correct))
		}
		require.Equal(t, tt.want, strings.Join(got, "\n"), tt.policy)
	}
}

func TestCorrected(t *testing.T) {
	for _, tt := range []struct{ policy, want string }{
		{"default-src 'self'", "default-src 'self'"},
		{"default-src self; object-src none; script-src nonce-AbC=", "default-src 'self'; object-src 'none'; script-src 'nonce-AbC='"},
		{"default-src \u2018self\u2019", "default-src 'self'"},
		{"defualt-src self", "default-src 'self'"},
		{"\"default-src 'self'\"", "default-src 'self'"},
		{"default-src 'self' img-src https: font-src data:", "default-src 'self'; img-src https:; font-src data:"},
		{"Content-Security-Policy: default-src 'self'; img-src *", "default-src 'self'; img-src *"},
		{"default-src 'self'; block-all-mixed-content; default-src 'none'", "default-src 'self'"},
		{"sandbox allow-script", "sandbox allow-scripts"},
		{"default-src 'self'; x y", ""},
		{"default-src 'none' 'self'", ""},
		{"img-src https://*.*", ""},
		{"default-src 'self'; defualt-src 'none'", "default-src 'self'"},
	} {
		p := csp.Parse(tt.policy)
		require.Equal(t, tt.want, p.Corrected(), tt.policy)
	}
}

func TestAllows(t *testing.T) {
	self := &url.URL{Scheme: "https", Host: "www.example.com", Path: "/"}
	tests := []struct {
		sources, url string
		want         bool
	}{
		{"'self'", "https://www.example.com/a.js", true},
		{"'self'", "https://www.example.com:8443/a.js", false},
		{"'self'", "https://example.com/a.js", false},
		{"'none'", "https://www.example.com/a.js", false},
		{"*", "https://other.example/a.js", true},
		{"*", "data:text/plain,x", false},
		{"data:", "data:text/plain,x", true},
		{"https:", "https://other.example/", true},
		{"http:", "https://other.example/", true},
		{"https:", "http://other.example/", false},
		{"*.example.net", "https://cdn.example.net/", true},
		{"*.example.net", "https://example.net/", false},
		{"cdn.example.net", "http://cdn.example.net/", false},
		{"cdn.example.net:*", "https://cdn.example.net:444/", true},
		{"cdn.example.net:80", "https://cdn.example.net/", true},
		{"cdn.example.net/lib/", "https://cdn.example.net/lib/a.js", true},
		{"cdn.example.net/lib", "https://cdn.example.net/lib/a.js", false},
		{"cdn.example.net/%41", "https://cdn.example.net/A", true},
		{"CDN.example.NET", "https://cdn.EXAMPLE.net/x", true},
		{"https://www.example.com", "https://www.example.com", true},
	}
	for _, tt := range tests {
		p := csp.Parse("script-src " + tt.sources)
		u, err := url.Parse(tt.url)
		require.NoError(t, err)
		require.Equal(t, tt.want, p.Get("script-src").Sources().Allows(u, self), "%s %s", tt.sources, tt.url)
	}
}

func TestInline(t *testing.T) {
	text := "alert(1)"
	tests := []struct {
		sources            string
		all, nonced, plain bool
	}{
		{"'unsafe-inline'", true, true, true},
		{"'unsafe-inline' 'nonce-abc'", false, true, false},
		{"'unsafe-inline' 'strict-dynamic'", false, false, false},
		{"'self' " + csp.Hash(text), false, true, true},
		{"'self'", false, false, false},
	}
	for _, tt := range tests {
		l := csp.Parse("script-src " + tt.sources)
		s := l.Get("script-src").Sources()
		require.Equal(t, []bool{tt.all, tt.nonced, tt.plain}, []bool{s.AllInline(true),
			s.AllowsInline(true, "abc", text), s.AllowsInline(true, "", text)}, tt.sources)
	}
}

func TestAllowsScript(t *testing.T) {
	self := &url.URL{Scheme: "https", Host: "www.example.com"}
	u := &url.URL{Scheme: "https", Host: "www.example.com", Path: "/a.js"}
	hash := strings.Trim(csp.Hash("x"), "'")
	for _, tt := range []struct {
		sources, nonce string
		integrity      []string
		want           bool
	}{
		{"'self'", "", nil, true},
		{"'self' 'strict-dynamic' 'nonce-abc'", "", nil, false},
		{"'strict-dynamic' 'nonce-abc'", "abc", nil, true},
		{"'" + hash + "'", "", []string{hash}, true},
		{"'" + hash + "'", "", []string{hash, "sha256-x"}, false},
	} {
		p := csp.Parse("script-src " + tt.sources)
		require.Equal(t, tt.want, p.Get("script-src").Sources().AllowsScript(u, self, tt.nonce, tt.integrity), tt.sources)
	}
}

func TestBypasses(t *testing.T) {
	for source, want := range map[string]bool{
		"https://cdn.jsdelivr.net": true, "cdn.jsdelivr.net/npm/vue@3.4.0/dist/vue.js": false, "*.googleapis.com": true,
		"*.github.io": true, "me.github.io": false, "example.com": false, "https://www.google.com/recaptcha/": false,
		"www.google.com": true, "*.example.com": false,
	} {
		s, ok := csp.ParseSource(source)
		require.True(t, ok)
		_, got := csp.BypassOf(s)
		require.Equal(t, want, got, source)
	}
}

func TestParseList(t *testing.T) {
	list := csp.ParseList("default-src 'self', , script-src x;;")
	require.Len(t, list, 2)
	require.Equal(t, 22, list[1].Directives[0].Offset)
	require.Len(t, csp.ParseList(strings.Repeat("img-src *,", 1000)), csp.MaxPolicies)
}

// FuzzParse checks that what is printed reads back as the same, that a corrected policy has no faults, and that the
// faults of a source do not depend on its position.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"default-src 'self'; img-src *", "script-src 'nonce-a' 'strict-dynamic', x", ";;a b c;A d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range csp.ParseList(text) {
			again := csp.Parse(p.String())
			require.Equal(t, p.String(), again.String())
			corrected := csp.Parse(p.Corrected())
			require.Empty(t, corrected.Faults)
			require.Equal(t, p.Corrected(), corrected.String())
			for _, d := range p.Directives {
				require.LessOrEqual(t, d.Offset+d.Length, len(text))
				d.Sources().Allows(&url.URL{Scheme: "https", Host: "a.b", Path: "/%"}, &url.URL{Scheme: "https", Host: "a.b"})
			}
		}
	})
}

func ExampleParse() {
	p := csp.Parse("script-src self 'unsafe-inline'; object-src 'none'")
	for _, f := range p.Faults {
		fmt.Println(f.Kind, f.Value, f.Correct)
	}
	fmt.Println(p.Get("script-src").Sources().AllInline(true))
	// Output:
	// missing_quotes self 'self'
	// true
}
