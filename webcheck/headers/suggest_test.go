package headers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/webcheck/internal/csp"
	"github.com/stretchr/testify/require"
)

// pages are the input of policy suggestions.
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

func TestRepaired(t *testing.T) {
	for broken, want := range map[string]string{
		"camera 'none'; geolocation 'self' https://a.example; fullscreen *": `camera=(), geolocation=(self "https://a.example"), fullscreen=*`,
		"camera":                        "camera=(self)",
		"camera 'none' 'self'":          "",
		"camera 'none'; camera *":       "",
		"":                              "",
		"camera=(), ":                   "camera=()",
		"camera=();microphone=('self')": "camera=(), microphone=(self)",
		"geolocation=(self, \"https://a.example\")":     `geolocation=(self "https://a.example")`,
		"geolocation=('self' 'https://a.example')":      `geolocation=(self "https://a.example")`,
		"Geolocation=(self), CAMERA=()":                 "geolocation=(self), camera=()",
		"camera='none', microphone=\u2018none\u2019":    "camera=(), microphone=()",
		"picture_in_picture=(), sync-xhr:(self)":        "picture-in-picture=(), sync-xhr=(self)",
		"camera=(self https://a.example/path?x)":        "",
		"camera=() microphone=() usb=(self)":            "camera=(), microphone=(), usb=(self)",
		"camera=*; microphone=*":                        "camera=*, microphone=*",
		"geolocation=(self https://maps.example.net/),": `geolocation=(self "https://maps.example.net")`,
	} {
		require.Equal(t, want, repaired(broken), broken)
	}
}

func TestFeatures(t *testing.T) {
	for _, tt := range []struct{ value, read, ignored, corrected string }{
		{`geolocation=(self "https://maps.example.net"), camera=()`, `geolocation=(self "https://maps.example.net"), camera=()`, "", "="},
		{"geolocation=(self https://maps.example.net), camera=()", "geolocation=(self), camera=()", "https://maps.example.net",
			`geolocation=(self "https://maps.example.net"), camera=()`},
		{"geolocation=https://maps.example.net", "geolocation=()", "https://maps.example.net", `geolocation=("https://maps.example.net")`},
		{"geolocation=(self maps.example.net)", "geolocation=(self)", "maps.example.net", `geolocation=(self "https://maps.example.net")`},
		{`geolocation=("maps.example.net")`, "geolocation=()", `"maps.example.net"`, `geolocation=("https://maps.example.net")`},
		{`geolocation=("self"), camera="*"`, "geolocation=(), camera=()", `"self" "*"`, "geolocation=(self), camera=*"},
		{"fullscreen=(self src)", "fullscreen=(self)", "src", "fullscreen=(self)"},
		{"geolocation=(self maps)", "geolocation=(self)", "maps", ""},
		{"camera=none, microphone=(none), usb", "camera=(), microphone=(), usb=()", "", "="},
		{`camera=(self);report-to=x, fullscreen=*, unheard-of=()`, "camera=(self), fullscreen=*, unheard-of=()", "", "="},
		{"geolocatoin=(), microfone=(), interest-cohort=(), vr=(), notifications=(), push=()",
			"geolocatoin=(), microfone=(), interest-cohort=(), vr=(), notifications=(), push=()", "geolocatoin microfone",
			"geolocation=(), microphone=(), interest-cohort=(), vr=(), notifications=(), push=()"},
		{"camera=*; microphone=*, usb=()", "camera=*, usb=()", "microphone", ""},
		{"geolocatoin=(), geolocation=(self)", "geolocatoin=(), geolocation=(self)", "", ""},
	} {
		f := readFeatures([]string{tt.value})
		require.NoError(t, f.err, tt.value)
		var ignored []string
		for _, e := range f.ignored {
			ignored = append(ignored, e.text)
		}
		for _, m := range f.misspelled() {
			ignored = append(ignored, m[0])
		}
		require.Equal(t, []string{tt.read, tt.ignored}, []string{f.String(), strings.Join(ignored, " ")})
		if tt.corrected == "=" {
			tt.corrected = f.String()
		}
		require.Equal(t, tt.corrected, f.corrected(), tt.value)
	}
}

func TestMeantToken(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"Cross-Origin-Opener-Policy: same-origin, same-origin", "same-origin"},
		{"Cross-Origin-Opener-Policy: same-origin\n+Cross-Origin-Opener-Policy: same-origin-allow-popups", "same-origin-allow-popups"},
		{`Cross-Origin-Opener-Policy: "same-origin"; report-to="x"`, "same-origin"},
		{"Cross-Origin-Opener-Policy: Same-Origin", "same-origin"},
		{"Cross-Origin-Opener-Policy: same-origin, unsafe-none", ""},
		{"Cross-Origin-Opener-Policy: same-origin, whatever", ""},
		{"Cross-Origin-Embedder-Policy: required-corp", "require-corp"},
		{"Cross-Origin-Embedder-Policy: credentialles", "credentialless"},
		{"Cross-Origin-Resource-Policy: same-site, same-origin", "same-site"},
		{"Cross-Origin-Resource-Policy: SAME-ORIGIN", "same-origin"},
		{"Cross-Origin-Resource-Policy: same_site", "same-site"},
		{"Cross-Origin-Resource-Policy: none", ""},
	} {
		r := check(t, newWorld(t, tt.line, goodBody), Request{URL: diag.MustURL("example.com")})
		name, _, _ := strings.Cut(tt.line, ": ")
		require.Equal(t, fieldOf(name, tt.want), r.Recommendations[0].SuggestedValue, tt.line)
	}
	foreign := `<img src="https://img.example.net/x.png">`
	r := check(t, newWorld(t, "Cross-Origin-Embedder-Policy: required-corp\nContent-Security-Policy: default-src 'self' https://img.example.net; base-uri 'none'", foreign),
		Request{URL: diag.MustURL("example.com")})
	require.Empty(t, r.Recommendations[0].SuggestedValue, "it would stop the image")
}

func TestWithoutVersions(t *testing.T) {
	for server, want := range map[string]string{
		"nginx/1.18.0 (Ubuntu)": "nginx", "Apache/2.4.41 (Ubuntu) OpenSSL/1.1.1f": "Apache", "Microsoft-IIS/10.0": "Microsoft-IIS",
		"(x)": "", "1.2": "", "": "",
	} {
		require.Equal(t, want, withoutVersions(server))
	}
}

// FuzzPermissions: what is printed reads back as the same, and what is repaired or corrected has no fault.
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
		for _, s := range []string{repaired(text), p.corrected()} {
			got := readFeatures([]string{s})
			require.NoError(t, got.err)
			require.Equal(t, s, got.String())
			require.Empty(t, got.ignored)
			require.Empty(t, got.misspelled())
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
