package phishing

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/diagkit/diagkit/webcheck/internal/lookalike"
	"github.com/stretchr/testify/require"
)

func TestSurvey(t *testing.T) {
	for _, tt := range []struct {
		name, page string
		asks       []secret
	}{
		{"nothing", `<form><input name=q type=search><input name=email><input type=submit value=Password></form>`, nil},
		{"type", `<input type=password>`, []secret{aPassword}},
		{"name", `<input name=txtPassword>`, []secret{aPassword}},
		{"autocomplete", `<input autocomplete="section-a cc-number"><input autocomplete=one-time-code>`, []secret{aCard, aCode}},
		{"label around", `<label>Numéro de carte <input></label>`, []secret{aCard}},
		{"label before", `<label>Contraseña</label><input>`, []secret{aPassword}},
		{"label by id", `<input id=a><p>x</p><label for=a>暗証番号</label>`, []secret{aPassword, aPIN}},
		{"text before", `<table><tr><td>CVV:<td><input></table>`, []secret{aCheck}},
		{"words", `<input placeholder=Pinterest><input placeholder=Tante>`, nil},
		{"PIN and TAN", `<input placeholder="PIN"><input aria-label="chipTAN">`, []secret{aPIN}},
		{"Turkish", `<input placeholder="ŞİFRE">`, []secret{aPassword}},
		{"later step", `<div style="display: none">Brand<input type=password></div>`, []secret{aPassword}},
		{"trap for robots", `<input type=password style="display: none">`, nil},
		{"elements in elements", `<h1>a<a>b<label>c<button>d<h2>e<input type=password>f`, []secret{aPassword}},
		{"written by a script", `<script>document.write(atob("PGZvcm0+PGlucHV0IHR5cGU9cGFzc3dvcmQgbmFtZT1wPjwvZm9ybT4="))</script>`,
			[]secret{aPassword}},
		{"phrase", `<textarea placeholder="Фраза восстановления"></textarea>`, []secret{aPhrase}},
		{"identity", `<label>Social Security Number<input></label>`, []secret{anID}},
	} {
		s := surveyPage([]byte(tt.page))
		require.Len(t, s.asks, len(tt.asks), "%s: %v", tt.name, s.asks)
		for _, a := range tt.asks {
			require.True(t, s.asks[a], "%s: %s", tt.name, a)
		}
	}
	s := surveyPage([]byte(`<title>A</title><svg><title>B</title></svg><h1>C <b style="display:none">x</b>D</h1>` +
		`<button><img alt=E></button><a href="https://example.com/"><img alt=F></a><img src="/img/g-logo.png">` +
		`<div role=heading>H</div><meta property="og:site_name" content=I><input><img alt=J><p>© 2026 K, Inc. All rights</p>`))
	require.Equal(t, []shownText{{inTitle, "A", true, false}, {inLogo, "B", true, false},
		{inHeading, "C D", true, false}, {inLogo, "g logo", true, true}, {inHeading, "H", true, false},
		{inSiteName, "I", true, false}, {inLogo, "J", false, false}, {inCopyright, "K", false, false}}, s.shown)
}

func FuzzSurvey(f *testing.F) {
	files, err := filepath.Glob("testdata/pages/*/*.html")
	require.NoError(f, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := surveyPage(text)
		if len(s.shown) > maxShown || len(s.waiting) > maxControls || len(s.loaded) > maxLoaded {
			t.Fatal("beyond the bounds")
		}
	})
}

func TestExplained(t *testing.T) {
	for tail, want := range map[string]string{
		"/a/b?c=d#e": "/a/b?c=d#e",
		"/f?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=A%2Fb&X-Amz-Date=20261101T090000Z&X-Amz-Expires=3600" +
			"&X-Amz-SignedHeaders=host&X-Amz-Signature=71887144a16bdf3185604be1dabb427fe611eaa17b7c02d2d023a5bff2233752&x=1": "/f?x=1",
		"/f?X-Amz-Signature=paypal&X-Amz-Date=login":                     "/f?X-Amz-Signature=paypal&X-Amz-Date=login",
		"/adfs/ls/?wa=wsignin1.0&wtrealm=urn%3Ax&username=a%40b.example": "/adfs/ls/?",
		"/authorize?client_id=a&response_type=code&state=zzz&evil=1":     "/authorize?evil=1",
		"/o/11111111-2222-4333-8444-555555555555/p":                      "/o/-/p",
		"/t?token=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl":     "/t?token=",
		"/t?token=eyJhbGciOiJIUzI1NiJ9":                                  "/t?token=eyJhbGciOiJIUzI1NiJ9",
	} {
		require.Equal(t, want, explained(tail), tail)
	}
}

func TestUnwrap(t *testing.T) {
	for url, want := range map[string]string{
		"https://eur01.safelinks.protection.outlook.com/?url=https%3A%2F%2Fexample.com%2Fa&data=x": "https://example.com/a",
		"https://urldefense.proofpoint.com/v2/url?u=https-3A__www.example.com_a&d=x":               "https://www.example.com/a",
		"https://urldefense.com/v3/__https://www.example.com/a__;!!x!y$":                           "https://www.example.com/a",
		"https://secure-web.cisco.com/1abc/https%3A%2F%2Fexample.com%2Fa":                          "https://example.com/a",
		"https://www.google.com/amp/s/example.com/a":                                               "https://example.com/a",
		"https://web.archive.org/web/20200101000000/https://example.com/a":                         "https://example.com/a",
		"https://my--shop-example-com.translate.goog/a?_x_tr_sl=de":                                "https://my-shop.example.com/a",
		"https://login.microsoftonline.com.mcas.ms/a":                                              "https://login.microsoftonline.com/a",
		"https://www.google.com/search?q=https%3A%2F%2Fexample.com%2F":                             "",
		"https://mcas.ms/": "",
		"https://eur01.safelinks.protection.outlook.com/": "",
	} {
		a, err := dissect(url, lookalike.BuiltIn())
		require.NoError(t, err, url)
		if want == "" {
			require.Nil(t, a.wrapped, url)
		} else {
			require.NotNil(t, a.wrapped, url)
			require.Equal(t, want, a.wrapped.url.String(), url)
		}
	}
}

// Proxies of libraries have the names of publishers and companies in front of their own.
func TestExemptProxy(t *testing.T) {
	for host, want := range map[string]lookalike.Strength{
		"www.linkedin.com.ezproxy.example.edu": 0, "www-linkedin-com.proxy.example.ac.uk": 0,
		"login.microsoftonline.com.vpn.example.edu.cn": 0, "www.linkedin.com.proxy.uni-example.de": lookalike.Fair,
		"www.linkedin.com.ezproxy.example.org": lookalike.Fair, "www.linkedin.com.proxy.example.org": lookalike.Strong,
		"ezproxy.linkedin.com.example.org": lookalike.Strong,
	} {
		a, err := dissect("https://"+host+"/", lookalike.BuiltIn())
		require.NoError(t, err)
		got := lookalike.Strength(0)
		if a.match != nil {
			got = a.match.Strength
		}
		require.Equal(t, want, got, host)
	}
}
