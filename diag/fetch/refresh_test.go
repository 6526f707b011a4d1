package fetch_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/stretchr/testify/require"
)

func TestParseRefresh(t *testing.T) {
	tests := []struct {
		value  string
		after  int // seconds
		target string
		ok     bool
	}{
		{"5", 5, "", true},
		{" 0 ", 0, "", true},
		{"0; url=/new", 0, "/new", true},
		{"0;URL=/new", 0, "/new", true},
		{"0, url=/new", 0, "/new", true},
		{"0 url=/new", 0, "/new", true},
		{"0;url = '/new' and more", 0, "/new", true},
		{`0;url="/new`, 0, "/new", true},
		{"0; '/new'", 0, "/new", true},
		{"0; /new", 0, "/new", true},
		{"0; uri=/new", 0, "uri=/new", true},
		{"0; url/new", 0, "url/new", true},
		{"0; u", 0, "u", true},
		{"0; url=", 0, "", true},
		{"0;;url=/new", 0, ";url=/new", true},
		{"0.9; url=/new", 0, "/new", true},
		{"1.2.3; url=/new", 1, "/new", true},
		{".5; url=/new", 0, "/new", true},
		{"\f5\n;\turl=/new", 5, "/new", true},
		{"99999999999999999999; /new", 1 << 31, "/new", true},
		{"", 0, "", false},
		{"; url=/new", 0, "", false},
		{"url=/new", 0, "", false},
		{"-1; url=/new", 0, "", false},
		{"5x; url=/new", 0, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.value, func(t *testing.T) {
			after, target, ok := fetch.ParseRefresh(tt.value)
			require.Equal(t, tt.ok, ok)
			require.Equal(t, time.Duration(tt.after)*time.Second, after)
			require.Equal(t, tt.target, target)
		})
	}
}

func FuzzParseRefresh(f *testing.F) {
	for _, s := range []string{"0; url=/new", "1.5,'x'", "\f7 URL = \"a b", ". u"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		after, target, ok := fetch.ParseRefresh(s)
		if after < 0 || !strings.Contains(s, target) || !ok && (after != 0 || target != "") {
			t.Errorf("ParseRefresh(%q) = %v, %q, %v", s, after, target, ok)
		}
	})
}

// inBody is a hook that follows the Refresh header, and the text after "next " in a body.
func inBody(h fetch.Hop, body []byte) fetch.Lead {
	if lead := fetch.Refresh(h.Header); lead.Type != "" {
		return lead
	}
	base, target, ok := strings.Cut(strings.TrimPrefix(string(body), "next "), " ")
	if !ok {
		base, target = "", base
	}
	return fetch.Lead{Type: fetch.MetaRefresh, Target: target, Base: base}
}

func TestDoNext(t *testing.T) {
	tests := []struct {
		name    string
		refresh string
		body    string
		url     string
		hops    int
		err     fetch.Reason
	}{
		{"header", "0; url=/end", "next /never", "http://example.com/end", 2, ""},
		{"header, after a while", "10; url=/end", "", "http://example.com/end", 2, ""},
		{"header that reloads", "10", "", "http://example.com/a/b", 1, ""},
		{"header that reloads by name", "10; url=b", "", "http://example.com/a/b", 1, ""},
		{"header that reloads at once", "0; url=/a/b", "", "", 1, fetch.Loop},
		{"header that is none", "soon", "next /end", "http://example.com/end", 2, ""},
		{"body", "", "next end", "http://example.com/a/end", 2, ""},
		{"body with a base", "", "next /c/ end", "http://example.com/c/end", 2, ""},
		{"body with a base that is none", "", "next ftp://x/ end", "http://example.com/a/end", 2, ""},
		{"body with line breaks", "", "next \n/e\tnd\n", "http://example.com/end", 2, ""},
		{"script", "", "next java\nscript:alert(1)", "http://example.com/a/b", 1, ""},
		{"private", "", "next http://10.0.0.1/", "", 1, fetch.Blocked},
		{"other scheme", "", "next ftp://example.com/", "", 1, fetch.Blocked},
		{"user name", "", "next http://a:b@example.com/", "", 1, fetch.Blocked},
		{"loop of both kinds", "", "next /back", "", 2, fetch.Loop},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.HTTP("example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/a/b":
					if tt.refresh != "" {
						w.Header().Set("Refresh", tt.refresh)
					}
					text(tt.body)(w, r)
				case "/back":
					http.Redirect(w, r, "/a/b", http.StatusFound)
				default:
					text("")(w, r)
				}
			}))
			req := get("http://example.com/a/b")
			req.Next = inBody
			r := do(t, w, req)
			require.Len(t, r.Hops, tt.hops)
			if tt.err != "" {
				require.Equal(t, tt.err, r.Err.Code)
				return
			}
			require.Nil(t, r.Err)
			require.Equal(t, tt.url, r.URL.String())
			require.Equal(t, tt.hops == 2, r.Hops[0].RedirectType != "")
			require.Equal(t, tt.hops == 2, r.Hops[0].Location != "")

			req.MaxRedirects = 0
			r = do(t, w, req)
			require.Nil(t, r.Err)
			require.Len(t, r.Hops, 1)
			require.Equal(t, tt.hops == 2, r.Final().RedirectType != "")
			require.Equal(t, tt.body, string(r.Body))
		})
	}
}

func TestDoNextLimit(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.HTTP("example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text("next "+r.URL.Path+"x")(w, r)
	}))
	req := get("http://example.com/")
	req.Next = inBody
	r := do(t, w, req)
	require.Equal(t, fetch.TooManyRedirects, r.Err.Code)
	require.Len(t, r.Hops, fetch.DefaultRedirects+1)
}
