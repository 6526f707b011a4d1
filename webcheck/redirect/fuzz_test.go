package redirect

import (
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/stretchr/testify/require"
)

func TestClassify(t *testing.T) {
	tests := []struct {
		location string
		kind     locationKind
	}{
		{"https://a:b@example.com/", credentials},
		{"//a@example.com", credentials},
		{`https://example.com\@evil.example/`, malformed},
		{"https://example.com/@x", malformed},
		{"https:example.com", malformed},
		{"http://localhost", local},
		{"//LOCALHOST:80/", local},
		{"http://a.localhost./", local},
		{"JavaScript:alert(1)", unsafe},
		{"data:text/html,x", unsafe},
		{"file:///etc/passwd", unsafe},
		{"mailto:a@example.com", otherScheme},
		{"intent://x#Intent;end", otherScheme},
		{"http://", malformed},
		{":", malformed},
		{"", malformed},
	}
	for _, tt := range tests {
		require.Equal(t, tt.kind, classify(tt.location, "https").kind, tt.location)
	}
}

func TestWithoutSecret(t *testing.T) {
	for location, want := range map[string]string{
		"https://a:b@example.com/x@y": "https://…@example.com/x@y",
		"//a:b@c@example.com":         "//…@example.com",
		"/a@b":                        "/a@b",
		"https://example.com/?a@b":    "https://example.com/?a@b",
		"///a:b@example.com":          "///…@example.com",
		`http://\a:b@example.com`:     `http://\…@example.com`,
		"":                            "",
	} {
		require.Equal(t, want, withoutSecret(location))
	}
}

// FuzzLocation compares the report on a Location with the client's interpretation of it.
func FuzzLocation(f *testing.F) {
	for _, s := range []string{"https://a:b@c/", `/\x`, "javascript:1", "//localhost", "mailto:x", "/a b", "\t", "http://[::1", "///@"} {
		f.Add(s)
	}
	base := diag.MustURL("https://example.com/dir/page?x#y")
	f.Fuzz(func(t *testing.T, location string) {
		shown := withoutSecret(location)
		if len(shown) > len(location)+len("…") {
			t.Errorf("withoutSecret(%q) = %q", location, shown)
		}
		u, _, failure := base.Read(location)
		kind := classify(location, "https").kind
		if failure == nil && (kind == credentials || kind == unsafe) {
			t.Errorf("%q is followed to %s, and of kind %d", location, u, kind)
		}
		if failure != nil && kind == credentials && strings.Contains(shown, "@") && !strings.Contains(shown, "…@") {
			t.Errorf("withoutSecret(%q) = %q", location, shown)
		}
	})
}

// FuzzURL compares the findings in a URL with the URL.
func FuzzURL(f *testing.F) {
	for _, s := range []string{"https://example.com/?utm_source=a&x=//b", "http://bit.ly/x?url=https%3A%2F%2Fb.example", "1.2.3.4?gclid"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := diag.ParseURL(s)
		if err != nil {
			return
		}
		h := fetch.Hop{Index: 1, URL: u.String(), Target: u, RedirectType: fetch.HTTPRedirect}
		step := newStep(&h)
		if step.url != u || step.site == "" || step.crosses() || step.forwards != "" || len(step.tracking) > maxNames {
			t.Errorf("%q: %+v", s, step)
		}
	})
}

func FuzzScript(f *testing.F) {
	f.Add([]byte(`<p><script>location.href = 'a'</script>`))
	f.Add([]byte(`<script>window.location.replace("https:\/\/example.com")`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if target := scriptIn(text); len(target) > 3*input.MaxURL || strings.HasPrefix(target, "#") {
			t.Errorf("%q leads to %q", text, target)
		}
	})
}
