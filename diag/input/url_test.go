package input

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseURL(t *testing.T) {
	tests := map[string]string{
		"example.com":                     "https://example.com/",
		"example.com:8443/a":              "https://example.com:8443/a",
		"example.com?q=http://a/":         "https://example.com/?q=http://a/",
		"http://example.com":              "http://example.com/",
		"HTTP://Example.COM:80/Path":      "http://example.com/Path",
		"https://example.com:443":         "https://example.com/",
		"https://example.com:80":          "https://example.com:80/",
		"http://example.com:/":            "http://example.com/",
		"http://example.com:00080/":       "http://example.com/",
		"http://bücher.example/ü?ü#ü":     "http://xn--bcher-kva.example/%C3%BC?%C3%BC#%C3%BC",
		"https://127.1/":                  "https://127.0.0.1/",
		"https://[2001:DB8::1]:8080":      "https://[2001:db8::1]:8080/",
		"[2001:db8::1]":                   "https://[2001:db8::1]/",
		"https://example.com/a b\"<>":     "https://example.com/a%20b%22%3C%3E",
		"https://example.com/a%2fb/ü":     "https://example.com/a%2fb/%C3%BC",
		"https://example.com/a/./b/../c":  "https://example.com/a/c",
		"https://example.com/..":          "https://example.com/",
		"https://example.com/a/..":        "https://example.com/",
		"https://example.com/a/%2E%2e/b":  "https://example.com/b",
		"https://example.com/a/.":         "https://example.com/a/",
		"https://example.com/.../b":       "https://example.com/.../b",
		"https://example.com//a":          "https://example.com//a",
		"https://example.com/?":           "https://example.com/?",
		"https://example.com/#":           "https://example.com/",
		"https://example.com#a#b":         "https://example.com/#a%23b",
		"https://example.com/?100%":       "https://example.com/?100%",
		"https://example.com/?a\\b'c":     "https://example.com/?a%5Cb%27c",
		"https://example.com/?a b":        "https://example.com/?a%20b",
		"https://example.com/@user":       "https://example.com/@user",
		"https://example.com/?m=a@b.test": "https://example.com/?m=a@b.test",
	}
	for in, want := range tests {
		u, err := ParseURL(in)
		if !assert.NoError(t, err, in) {
			continue
		}
		assert.Equal(t, want, u.String(), in)
		assert.Equal(t, want, u.HTTP().String(), "what net/http makes of it")
	}
}

func TestParseURLRefuses(t *testing.T) {
	tests := map[string]string{
		"":                                                   "the host is no good: it is empty",
		"ftp://example.com/":                                 "scheme",
		"file:///etc/passwd":                                 "scheme",
		"gopher://example.com/":                              "scheme",
		"://example.com":                                     "scheme",
		"javascript:alert(1)":                                "port",
		"data:text/html,x":                                   "port",
		"mailto:postmaster@example.com":                      "user name",
		"http:/example.com":                                  "two slashes",
		"file:/etc/passwd":                                   "two slashes",
		"//example.com":                                      "empty",
		"https:///example.com":                               "empty",
		"https://?q":                                         "empty",
		"http://user@example.com/":                           "user name",
		"http://@example.com/":                               "user name",
		"http://example.com@127.0.0.1/":                      "user name",
		"http://a:b@example.com/":                            "user name",
		"http://example.com\\@127.0.0.1":                     "backslash",
		"http:\\\\example.com":                               "two slashes",
		"https://example.com/a\\b":                           "backslash",
		"https://example.com/#a\\b":                          "backslash",
		"http://example.com:0/":                              "port",
		"http://example.com:65536/":                          "port",
		"http://example.com:+80/":                            "port",
		"http://example.com:8_0/":                            "port",
		"http://example.com:-1/":                             "port",
		"http://example.com:0x50/":                           "port",
		"http://example.com:80:80/":                          "':'",
		"http://::1/":                                        "':'",
		"https://example.com/\r\nX: y":                       "control",
		"https://example.com/\x7f":                           "control",
		"https://example.com/\u0085":                         "control",
		"https://exa\tmple.com/":                             "control",
		" https://example.com/":                              "scheme",
		"https://example.com /":                              "' '",
		"https://example.com/%zz":                            "percent",
		"https://example.com/#%":                             "percent",
		"https://example.com/\xff":                           "UTF-8",
		"https://localhost/":                                 "the machine itself",
		"https://example.com/" + strings.Repeat("a", MaxURL): "8192",
		"https://example.com/" + strings.Repeat("ü", MaxURL/4): "8192",
	}
	for in, want := range tests {
		u, err := ParseURL(in)
		if assert.Error(t, err, "%q gave %s", in, u) {
			assert.Contains(t, err.Error(), want, in)
			assert.True(t, u.IsZero())
		}
	}
}

// Messages repeat the URL, but no password: they end up in logs.
func TestParseURLKeepsPasswords(t *testing.T) {
	for in, want := range map[string]string{
		"https://a:geheim@example.com/x@y": `"https://…@example.com/x@y"`,
		"a:geheim@example.com":             `"…@example.com"`,
		"//a:geheim@b@example.com?q":       `"//…@example.com?q"`,
		"ftp://a:geheim@example.com":       `"ftp://…@example.com"`,
		"https:/a:geheim@example.com":      `"https:/…@example.com"`,
		"https://exa mple.com/?a@b":        `"https://exa mple.com/?a@b"`,
	} {
		_, err := ParseURL(in)
		require.Error(t, err, in)
		require.Contains(t, err.Error(), want)
		require.NotContains(t, err.Error(), "geheim")
		_, err = MustURL("https://example.com/").Resolve(in)
		require.False(t, err != nil && strings.Contains(err.Error(), "geheim"), "%v", err)
	}
}

func TestURLParts(t *testing.T) {
	u := MustURL("http://Example.com:8080/a?b#c")
	require.Equal(t, "http", u.Scheme())
	require.Equal(t, MustHost("example.com"), u.Host())
	require.EqualValues(t, 8080, u.Port())
	require.Equal(t, "http://example.com:8080", u.Origin())
	require.Equal(t, "https://example.com", MustURL("example.com/a").Origin())
	require.EqualValues(t, 443, MustURL("example.com").Port())
	require.EqualValues(t, 80, MustURL("http://example.com").Port())
	require.Panics(t, func() { MustURL("ftp://example.com") })

	u.HTTP().Host = "changed.example"
	require.Equal(t, "example.com:8080", u.HTTP().Host, "each call gives a URL of its own")
	require.Equal(t, new(url.URL), URL{}.HTTP())
}

func TestURLJSON(t *testing.T) {
	var request struct {
		URL URL `json:"url"`
	}
	require.NoError(t, json.Unmarshal([]byte(`{"url":"Example.com"}`), &request))
	text, err := json.Marshal(request)
	require.NoError(t, err)
	require.JSONEq(t, `{"url":"https://example.com/"}`, string(text))
	var fault *Error
	require.ErrorAs(t, json.Unmarshal([]byte(`{"url":"ftp://example.com"}`), &request), &fault)
	require.Equal(t, "url", fault.Field)
}

func TestURLRead(t *testing.T) {
	base := MustURL("https://example.com/a/b?c#d")
	odd := func(flags string) Oddities {
		has := func(word string) bool { return strings.Contains(flags, word) }
		return Oddities{Backslash: has("backslash"), Control: has("control"), Slashes: has("slashes")}
	}
	for _, tt := range []struct{ ref, want, odd string }{
		{"e", "https://example.com/a/e", ""},
		{"../e?f", "https://example.com/e?f", ""},
		{"/e", "https://example.com/e", ""},
		{"?e", "https://example.com/a/b?e", ""},
		{"#e", "https://example.com/a/b?c#e", ""},
		{"", "https://example.com/a/b?c", ""},
		{"//other.example/e", "https://other.example/e", ""},
		{"http://other.example", "http://other.example/", ""},
		{"HTTP://other.example", "http://other.example/", ""},
		{"other.example", "https://example.com/a/other.example", ""},
		{"e:f/g", "", ""}, // a scheme
		{"./e:f", "https://example.com/a/e:f", ""},
		{"http://[::1]/", "http://[::1]/", ""}, // the guard's business
		{"https://b\u00FCcher.example/", "https://xn--bcher-kva.example/", ""},
		{"/\u00FC", "https://example.com/%C3%BC", ""},
		{"/caf\xe9?\xe9#\xe9", "https://example.com/caf%E9?%E9#%E9", ""},
		{"/100% a?100% a", "https://example.com/100%25%20a?100%%20a", ""},
		{"/a#b\\c", "https://example.com/a#b%5Cc", ""},
		{"/a?b\\c", "https://example.com/a?b%5Cc", ""},
		{" /e ", "https://example.com/e", ""},
		{"\t/e\x00", "https://example.com/e", "control"},
		{"/e\tf\r\ng", "https://example.com/efg", "control"},
		{"/e\x01f", "https://example.com/e%01f", "control"},
		{"ht\ntps://other.example/", "https://other.example/", "control"},
		{`/e\f`, "https://example.com/e/f", "backslash"},
		{`\\other.example\e`, "https://other.example/e", "backslash"},
		{`/\other.example`, "https://other.example/", "backslash"},
		{`https:\\other.example`, "https://other.example/", "backslash"},
		{"https:///other.example/e", "https://other.example/e", "slashes"},
		{"///other.example/e", "https://other.example/e", "slashes"},
		{"https:/e", "https://example.com/e", "slashes"},
		{"https:e", "https://example.com/a/e", "slashes"},
		{"https:443", "https://example.com/a/443", "slashes"},
		{"http:/other.example/e", "http://other.example/e", "slashes"},
		{"http:other.example", "http://other.example/", "slashes"},
		{"https://https://other.example/", "https://https//other.example/", ""}, // as browsers have it
		{"//", "", ""},
		{"https://", "", ""},
		{"https:///", "", "slashes"},
		{"mailto:a@example.com", "", ""},
		{"tel:443", "", ""},
		{"ftp://example.com/", "", ""},
		{"http://u:p@example.com/", "", ""},
		{"http://localhost/", "", ""},
		{"http://a b/", "", ""},
		{"http://\xe9/", "", ""},
		{"http://other.example:0/", "", ""},
		{"http://other.example:65536/", "", ""},
	} {
		got, found, err := base.Read(tt.ref)
		assert.Equal(t, tt.want, got.String(), tt.ref)
		assert.Equal(t, tt.want == "", err != nil, tt.ref)
		assert.NotErrorIs(t, err, ErrURLLong, tt.ref)
		assert.Equal(t, odd(tt.odd), found, tt.ref)
		again, err := base.Resolve(tt.ref)
		assert.Equal(t, got, again)
		assert.Equal(t, tt.want == "", err != nil, tt.ref)
	}
	for _, long := range []string{strings.Repeat("a", MaxURL), strings.Repeat("\xe9", MaxURL/3)} {
		_, _, err := base.Read("/" + long)
		require.ErrorIs(t, err, ErrURLLong)
	}
}

// What is read of a reference is a URL that is read as the same again, and no other client than a browser is needed where
// there is no oddity.
func FuzzURLRead(f *testing.F) {
	for _, s := range []string{"e", "//a/b", `/\a`, "https:/a", "///a", "?%", "#\\", "/\xe9", "http:a?b#c", "..", "\t"} {
		f.Add(s)
	}
	base := MustURL("https://example.com/a/b?c#d")
	f.Fuzz(func(t *testing.T, ref string) {
		u, odd, err := base.Read(ref)
		if err != nil {
			if !u.IsZero() {
				t.Fatalf("%q gave %s and %v", ref, u, err)
			}
			return
		}
		if again, _, err := base.Read(u.String()); err != nil || again != u {
			t.Fatalf("%q gave %s, which gave %s, %v", ref, u, again, err)
		}
		std, err := url.Parse(strings.Trim(ref, " "))
		if odd != (Oddities{}) || err != nil {
			return
		}
		if std = base.HTTP().ResolveReference(std); std.Scheme != u.Scheme() || std.Host == "example.com" && u.Host().Name() != std.Host {
			t.Fatalf("%q gave %s, and net/url %s", ref, u, std)
		}
	})
}

// The text of every URL is a URL again, the same one, and net/url agrees on its host.
func FuzzParseURL(f *testing.F) {
	for _, s := range []string{
		"example.com", "http://127.1:80/%2e?%#", "https://[::1]/a b", "http://a@b/", "https://ü.example/\\",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseURL(s)
		if err != nil {
			return
		}
		again, err := ParseURL(u.String())
		if err != nil || again != u {
			t.Fatalf("%q gave %s, which gave %s, %v", s, u, again, err)
		}
		std, err := url.Parse(u.String())
		if err != nil || std.Hostname() != u.Host().Name() || std.User != nil || std.Scheme != u.Scheme() {
			t.Fatalf("net/url reads %s as %v, %v", u, std, err)
		}
		if len(u.String()) > MaxURL {
			t.Fatalf("%d bytes", len(u.String()))
		}
	})
}

// Input with invisible characters is refused, and not requested under another URL. A link of a page is read as
// browsers do.
func TestURLWithUnseenCharacters(t *testing.T) {
	for in, want := range map[string]string{
		"https://google.com\u200B":     "U+200B ZERO WIDTH SPACE at character 19, give https://google.com",
		"https://example.com/a\u200B":  "U+200B ZERO WIDTH SPACE at character 22, give https://example.com/a",
		"https://ex\u00ADample.com/":   "U+00AD SOFT HYPHEN at character 11, give https://example.com/",
		"https://example.com/👩\u200D👧": "",
	} {
		var u URL
		err := u.UnmarshalText([]byte(in))
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
		require.True(t, u.IsZero())
	}
	require.Equal(t, "google.com", MustURL("https://google.com\u200B").Host().Name())
}

// A URL to which a form prepended a scheme is refused with the correct URL: browsers would look up a host named
// https.
func TestURLWithTwoSchemes(t *testing.T) {
	for in, give := range map[string]string{
		"https://https://example.com/a":    "give https://example.com/a",
		"https://http://example.com":       "give http://example.com",
		"HTTP://HTTPS://Example.com":       "give https://Example.com",
		"https://https//example.com":       "give https://example.com",
		"https://https:example.com":        "give https://example.com",
		"https://https:/example.com":       "give https://example.com",
		"http://https://http://a.example/": "give http://a.example/",
		"https//https://example.com":       "give https://example.com",
		"https://http://a:b@example.com":   "give http://…@example.com",
		"https://https.example.com/":       "",
		"https://example.com/https://x":    "",
		"https.example/":                   "",
		"https://https/":                   "",
		"https://https:8443/a":             "",
	} {
		var u URL
		err := u.UnmarshalText([]byte(in))
		if give == "" {
			require.NoError(t, err, in)
			continue
		}
		require.ErrorContains(t, err, "the scheme appears twice, "+give, in)
		require.NotContains(t, err.Error(), "a:b")
	}
}
