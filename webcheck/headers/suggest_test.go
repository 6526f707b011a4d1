package headers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/webcheck/headers/csp"
	"github.com/stretchr/testify/require"
)

// pages are what policies are suggested for.
var pages = []string{
	goodBody,
	`<script>window.cart = [];</script><button onclick="cart.push(1)">Buy</button>`,
	`<script>a()</script><script>b()</script><style>a{}</style><img src="https://img.example.net/x.png"><img src="data:image/gif;base64,x">`,
	`<base href="https://cdn.example.net/site/"><script src="app.js"></script><form action="https://pay.example.net/"></form>`,
	`<iframe src="https://www.youtube.com/embed/x"></iframe><object data="/x.pdf"></object><link rel="manifest" href="/m.json"><p style="color:red">`,
	`<script src="http://[2001:db8::1]/a.js"></script><video src="//v.example.net/v.mp4" poster="/p.jpg"></video><link rel=preload as=font href=//f.example/x>`,
	`<script type="module" src="https://a.example:8443/m.js"></script><script type="application/ld+json">{"a":1}</script>`,
	strings.Repeat(`<img src="https://`, 1) + strings.Repeat(`x.example/a"><img src="https://y`, 50) + `.example/">`,
}

// TestSuggestedPolicyBlocksNothing enforces the suggested policy on the page that it was made for.
func TestSuggestedPolicyBlocksNothing(t *testing.T) {
	self := &url.URL{Scheme: "https", Host: "example.com", Path: "/"}
	for _, body := range pages {
		d := readDocument([]byte(body), &fetch.Hop{URL: self.String(), Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}})
		text := policyFor(d, self)
		p := csp.Parse(text)
		require.Empty(t, p.Faults, text)
		require.Equal(t, text, p.String())
		require.Empty(t, blocked([]csp.Policy{p}, d, self), "%s\n%s", text, body)
		if d.handlers > 0 {
			require.True(t, p.Get("script-src").Sources().AllInline(true), text)
		}
		if d.css > 0 {
			require.True(t, p.Get("style-src").Sources().AllInline(false), text)
		}
		for _, u := range d.forms {
			require.True(t, p.Get("form-action").Sources().Allows(u, self), text)
		}
	}
}

func TestHSTSSuggestionStaysOnTheHost(t *testing.T) {
	for lines, want := range map[string]string{
		"-Strict-Transport-Security":                                       "max-age=300",
		"Strict-Transport-Security: max-age=5; includeSubDomains":          "max-age=300; includeSubDomains",
		"Strict-Transport-Security: max-age=x; includeSubDomains":          "max-age=300",
		"Strict-Transport-Security: max-age=5; preload; includeSubDomains": "max-age=300; includeSubDomains; preload",
	} {
		r := check(t, newWorld(t, lines, goodBody), Request{URL: diag.MustURL("example.com")})
		require.Equal(t, "Strict-Transport-Security: "+want, r.Recommendations[0].SuggestedValue, lines)
	}
}

func TestTranslated(t *testing.T) {
	for old, want := range map[string]string{
		"camera 'none'; geolocation 'self' https://a.example; fullscreen *": `camera=(), geolocation=(self "https://a.example"), fullscreen=*`,
		"camera":                  "camera=(self)",
		"camera 'none' 'self'":    "",
		"camera=()":               "",
		"camera 'none'; camera *": "",
		"":                        "",
	} {
		require.Equal(t, want, translated(old), old)
	}
}

func TestWithoutVersions(t *testing.T) {
	for server, want := range map[string]string{
		"nginx/1.18.0 (Ubuntu)": "nginx", "Apache/2.4.41 (Ubuntu) OpenSSL/1.1.1f": "Apache", "Microsoft-IIS/10.0": "Microsoft-IIS",
		"(x)": "", "1.2": "", "": "",
	} {
		require.Equal(t, want, withoutVersions(server))
	}
}

// FuzzPermissions: what is printed reads back as the same, and a translation is always valid.
func FuzzPermissions(f *testing.F) {
	for _, s := range []string{"camera=(), geolocation=(self \"https://a.b\")", "camera=*", "camera 'none'; usb 'self'", "a=1;b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := readFeatures([]string{text})
		if p.err == nil {
			again := readFeatures([]string{p.String()})
			require.NoError(t, again.err)
			require.Equal(t, p.String(), again.String())
		}
		if s := translated(text); s != "" {
			got := readFeatures([]string{s})
			require.NoError(t, got.err)
			require.Equal(t, s, got.String())
		}
	})
}

// FuzzDocument: the policy that is suggested for a page is valid and blocks nothing of it.
func FuzzDocument(f *testing.F) {
	for _, p := range pages {
		f.Add(p)
	}
	self := &url.URL{Scheme: "https", Host: "example.com", Path: "/"}
	f.Fuzz(func(t *testing.T, body string) {
		d := readDocument([]byte(body), &fetch.Hop{URL: self.String(), Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}})
		p := csp.Parse(policyFor(d, self))
		require.Empty(t, p.Faults)
		require.Empty(t, blocked([]csp.Policy{p}, d, self))
	})
}
