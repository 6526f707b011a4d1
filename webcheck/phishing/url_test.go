package phishing

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/webcheck/internal/lookalike"
	"github.com/stretchr/testify/require"
)

// urls are judged by themselves; each has at least this signal.
var urls = []struct{ url, code string }{
	{"https://paypal.com@evil.example/x", "phishing.url.userinfo"},
	{"https://https://example.com/", "phishing.url.corrected"},
	{"https://twitter.com\u2044login.evil.example/", "phishing.url.obfuscated"},
	{`https:\\paypal.com\@evil.example\`, "phishing.url.obfuscated"},
	{"https://evil.example\n.com/", "phishing.url.obfuscated"},
	{"https://ex%61mple.com/", "phishing.url.obfuscated"},
	{"https://example.com:8443/", "phishing.url.port"},
	{"http://example.com/", "phishing.url.unencrypted"},
	{"https://example.com/?x=data:text/html;base64,PGI+", "phishing.url.data_uri"},
	{"https://example.com/" + strings.Repeat("abcde-fgh/", 9), "phishing.url.long"},
	{"https://example.com/" + strings.Repeat("abcde-fgh/", 19), "phishing.url.very_long"},
	{"https://example.com/a/b/c/d/e", "phishing.url.deep"},
	{"https://example.com/wp-content/x/index.html", "phishing.url.program_directory"},
	{"https://example.com/login", "phishing.url.keyword"},
	{"https://example.com/account/verify", "phishing.url.keywords"},
	{"https://example.com/?cmd=_x&dispatch=1", "phishing.url.kit_parameter"},
	{"https://example.com/?u=victim@example.net", "phishing.url.mail_address"},
	{"https://example.com/?to=https%3A%2F%2Fother.example", "phishing.url.embedded_url"},
	{"https://example.com/a//b", "phishing.url.double_slash"},
	{"https://example.com/invoice.pdf.html", "phishing.url.double_extension"},
	{"https://example.com/x.php", "phishing.url.program_page"},
	{"https://example.com/5d577a86b1c4e02fa7", "phishing.url.random"},
	{"https://example.com/aWhx30qZRmx", "phishing.url.code"},
	{"https://example.com/Dhlx/Dhlx/", "phishing.url.repeated"},
	{"https://example.com/1234567890123456", "phishing.url.digits"},
	{"https://example.com/~jo/", "phishing.url.home_directory"},
	{"https://example.com/?a=1&amp;b=2", "phishing.url.entity"},
	{"https://example.com/paypal/", "phishing.url.brand"},
	{"https://example.com/www.paypal.com/", "phishing.url.brand_domain"},
	{"http://192.0.2.80/paypal/signin.php", "phishing.host.ip_address"},
	{"http://0xC0.0.2.80/", "phishing.host.ip_address.disguised"},
	{"http://3221225552/", "phishing.host.ip_address.disguised"},
	{"[2001:db8::1]", "phishing.host.ip_address"},
	{"secure-server-login.example.com", "phishing.host.keyword"},
	{"a-very-long-name-of-some-host.example.com", "phishing.host.long"},
	{"a.b.c.example.com", "phishing.host.subdomains"},
	{"one-two-three.com", "phishing.host.hyphens"},
	{"abc123def.com", "phishing.host.digits"},
	{"xkcdtfgh.com", "phishing.host.random"},
	{"example.top", "phishing.host.tld"},
	{"someone.000webhostapp.com", "phishing.host.free_hosting"},
	{"someone.pages.dev", "phishing.host.free_hosting"},
	{"someone.blogspot.com", "phishing.host.blog"},
	{"someone.blogspot.ru", "phishing.host.blog"},
	{"someone.duckdns.org", "phishing.host.dynamic_dns"},
	{"https://bit.ly/abc", "phishing.host.shortener"},
	{"https://docs.google.com/forms/d/e/x/viewform", "phishing.host.service"},
	{"https://xn--pypal-4ve.com/", "phishing.host.mixed_scripts"},
	{"https://münchen.de/", "phishing.host.punycode"},
	{"https://www.example.com.evil.example/", "phishing.host.inner_suffix"},
	{"http://www.paypa1.com/", "phishing.lookalike.homoglyph"},
	{"https://xn--80ak6aa92e.com/", "phishing.lookalike.homoglyph"},
	{"payapl.com", "phishing.lookalike.typo"},
	{"paypal-support.com", "phishing.lookalike.combo"},
	{"https://paypal.com.evil.example/", "phishing.lookalike.subdomain"},
	{"https://usps.com-track.example/", "phishing.lookalike.subdomain"},
	{"https://paypa1-com.translate.goog/", "phishing.lookalike.homoglyph"},
	{"https://www.google.com/url?q=https%3A%2F%2Fpaypa1.com%2F", "phishing.lookalike.homoglyph"},
	{"https://paypal.com.ezproxy.firm.example/", "phishing.lookalike.fair"},
	{"facebook.xyz", "phishing.lookalike.fair"},
	{"dhl.xyz", "phishing.lookalike.weak"},
}

// alone judges a URL without asking anyone.
func alone(t testing.TB, url string) (*evidence, *Report) {
	t.Helper()
	a, err := dissect(url, lookalike.BuiltIn())
	require.NoError(t, err, url)
	e := &evidence{anatomy: a, targets: lookalike.BuiltIn()}
	return e, e.report(e.now)
}

func TestURLs(t *testing.T) {
	for _, tt := range urls {
		_, r := alone(t, tt.url)
		require.Contains(t, diagtest.CodesOf(r.Findings), diag.Code(tt.code), tt.url)
		require.Contains(t, r.Sub, "Examined: URL; not examined: address, page, certificate, registration, reputation.")
		hold(t, r)
	}
}

func TestHost(t *testing.T) {
	for url, want := range map[string][3]string{
		"EXAMPLE.com":                     {"https://example.com/", "example.com", "example.com"},
		"HTTP://WWW.Example.COM/Path?Q=A": {"http://www.example.com/Path?Q=A", "www.example.com", "example.com"},
		"https://bücher.example/": {"https://xn--bcher-kva.example/", "xn--bcher-kva.example",
			"xn--bcher-kva.example"},
		"192.0.2.1":                        {"https://192.0.2.1/", "192.0.2.1", ""},
		"http://[2001:DB8::1]:8080/":       {"http://[2001:db8::1]:8080/", "2001:db8::1", ""},
		"http:/\\/example.com\\a":          {"http://example.com/a", "example.com", "example.com"},
		" https://a.b.co.uk/100% ":         {"https://a.b.co.uk/100%25", "a.b.co.uk", "b.co.uk"},
		"https://u:p@example.com/":         {"https://example.com/", "example.com", "example.com"},
		"https://co.uk/":                   {"https://co.uk/", "co.uk", ""},
		"example.com/x#f\\g":               {"https://example.com/x#f%5Cg", "example.com", "example.com"},
		"https://someone.github.io/a?b=\\": {"https://someone.github.io/a?b=%5C", "someone.github.io", "someone.github.io"},
	} {
		_, r := alone(t, url)
		require.Equal(t, want, [3]string{r.NormalizedURL, r.Host, r.Registered.String()}, url)
		require.Equal(t, url, r.Input)
	}
	for _, url := range []string{ // what these sites' own pages link to
		"https://stackoverflow.com/users/login?ssrc=head&returnurl=https%3a%2f%2fstackoverflow.com%2f",
		"https://secure.gravatar.com/avatar/205e460b479e2e5b48aec07710c08d50",
		"https://www.nytimes.com/2023/05/02/technology/paypal-phishing-scams.html",
		"https://github.com/login?return_to=%2Fgolang%2Fgo",
	} {
		_, r := alone(t, url)
		require.Equal(t, Inconclusive, r.Verdict, "%s: %v", url, r.Signals)
	}
	for _, url := range []string{"", " ", "ftp://example.com/", "javascript:alert(1)", "data:text/html,x", "http://",
		"localhost",
		"https://exa mple.com/", "http://256.1.1.1/", "https://example.com:99999/", "https://" + strings.Repeat("a", 3000)} {
		_, err := examine(t.Context(), nil, Request{URL: url})
		var input *diag.InputError
		require.ErrorAs(t, err, &input, url)
	}
}

// Defanged URLs and URLs pasted twice are read as they were meant; what is not a page is reported as such.
func TestCorrect(t *testing.T) {
	for input, want := range map[string]string{
		"hxxps://example[.]com/a":            "https://example.com/a",
		"hXXp://example(dot)com":             "http://example.com/",
		"h**ps://www[.]example{.}com/?q=[.]": "https://www.example.com/?q=[.]",
		"https[:]//example[.]com":            "https://example.com/",
		"hxxps[://]example [dot] com/x":      "https://example.com/x",
		"example[.]com":                      "https://example.com/",
		"https://https://example.com/":       "https://example.com/",
		"http://https//example.com/":         "https://example.com/",
		"http//example.com/":                 "http://example.com/",
		"https:https://example.com/":         "https://example.com/",
	} {
		_, r := alone(t, input)
		require.Equal(t, want, r.NormalizedURL, input)
		require.Contains(t, diagtest.CodesOf(r.Findings), diag.Code("phishing.url.corrected"), input)
		require.Equal(t, Inconclusive, r.Verdict, input)
	}
	for _, url := range []string{"https://https.example/", "http://http:8080/", "https://example.com/https://x", "https://example.com/Period_(dot)",
		"[2001:db8::1]"} {
		if a, err := dissect(url, lookalike.BuiltIn()); err == nil {
			require.Empty(t, a.corrected, url)
		}
	}
	for _, url := range []string{"mailto:a@example.com", "MAILTO:a@example.com?subject=x", "tel:+4930123456",
		"javascript:alert(1)", "data:text/html,x"} {
		_, err := dissect(url, lookalike.BuiltIn())
		var input *diag.InputError
		require.ErrorAs(t, err, &input, url)
		require.Contains(t, input.Error(), "give", url)
	}
}

// above is the share of scores from a limit on.
func above(scores []int, limit int) float64 {
	n := 0
	for _, s := range scores {
		if s >= limit {
			n++
		}
	}
	return float64(n) / float64(len(scores))
}

// auc is how often a bad one scores above a good one, ties being half.
func auc(bad, good []int) float64 {
	var count [2][101]float64
	for _, s := range bad {
		count[0][s]++
	}
	for _, s := range good {
		count[1][s]++
	}
	below, wins := 0.0, 0.0
	for s := range 101 {
		wins += count[0][s] * (below + count[1][s]/2)
		below += count[1][s]
	}
	return wins / float64(len(bad)*len(good))
}

// Pages to log in, trackers, shared documents, reports on brands and names with a brand's in them raise no alarm.
func TestHonestURLs(t *testing.T) {
	text, err := os.ReadFile("testdata/honest_urls.txt")
	require.NoError(t, err)
	list := strings.Fields(string(text))
	require.NotEmpty(t, list)
	for _, url := range list {
		_, r := alone(t, url)
		require.Equal(t, Inconclusive, r.Verdict, "%s: %d %v", url, r.RiskScore, r.Signals)
	}
}

func TestTexts(t *testing.T) {
	known := describe()
	for key, text := range texts() {
		_, isRule := known[diag.Code(key)]
		_, isVerdict := texts()[strings.SplitN(key, ".", 2)[0]]
		require.True(t, isRule || isVerdict, key)
		require.LessOrEqual(t, len([]rune(strings.ReplaceAll(text.Headline, "{brand}", strings.Repeat("x",
			maxBrand)))), rule.MaxHeadline, key)
		require.False(t, strings.HasSuffix(text.Headline, "."), key)
		require.True(t, strings.HasSuffix(text.Sub, "."), key)
	}
	golden, err := json.MarshalIndent(texts(), "", "  ")
	require.NoError(t, err)
	diagtest.Golden(t, "texts.json", append(golden, '\n'))
}

func FuzzURL(f *testing.F) {
	for _, tt := range urls {
		f.Add(tt.url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		a, err := dissect(url, lookalike.BuiltIn())
		if err != nil {
			if a != nil {
				t.Fatal("both an error and a result")
			}
			return
		}
		e := &evidence{anatomy: a, targets: lookalike.BuiltIn()}
		r := e.report(e.now)
		hold(t, r)
		if r.Host == "http" || r.Host == "https" {
			return // which is read as a scheme that was written twice
		}
		if again, err := dissect(r.NormalizedURL, lookalike.BuiltIn()); err != nil || again.url != a.url {
			t.Fatalf("%q is normalised to %q, and that to something else: %v", url, r.NormalizedURL, err)
		}
	})
}

// worst are URLs of 8,192 bytes that keep the rules busy.
func worst() []string {
	fill := func(s, part string) string { return (s + strings.Repeat(part, input.MaxURL))[:input.MaxURL] }
	host := strings.Repeat("paypa1-", 8) + "x." + strings.Repeat("micros0ft-", 5) + "y." + strings.Repeat("a.",
		30) + "example.com"
	return []string{
		fill("https://"+host+"/", "paypal-login/"), fill("https://"+host+"/?", "a@a.a.a.a."), fill("https://example.com/",
			"%61"),
		fill("https://example.com/", "1a"), fill("https://example.com/", "a/"), fill("https://example.com/?", "cmd=&"),
		fill("https://example.com/?", "https%3a"), fill("https://example.com/", "data:text/html"),
	}
}

func BenchmarkURL(b *testing.B) {
	list := worst()
	for i, url := range list {
		b.Run(fmt.Sprint(i), func(b *testing.B) {
			for b.Loop() {
				alone(b, url)
			}
		})
	}
}
