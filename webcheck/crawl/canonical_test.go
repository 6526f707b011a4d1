package crawl

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// naming is the good page with another canonical URL.
func naming(url string) string {
	return strings.Replace(pageWith("", ""), `href="https://example.com/"`, `href="`+url+`"`, 1)
}

// targetVerdicts judges what canonical URLs lead to. The page is https://example.com/, and names /b or another host.
func targetVerdicts(t *testing.T) diagtest.Seen {
	b := func(s string) string { return strings.Replace(s, "https://example.com/", "https://example.com/b", 1) }
	other := pageWith("", "")
	tests := []struct {
		name   string
		names  string
		target site
		codes  string
	}{
		{"good", "https://example.com/b", site{body: b(other)}, "canonical.elsewhere"},
		{"without a canonical of its own", "https://example.com/b", site{body: strings.Replace(other, "rel=", "x=", 1)}, "canonical.elsewhere"},
		{"PDF", "https://example.com/b", site{body: "%PDF-1.7", header: "Content-Type: application/pdf"}, "canonical.elsewhere"},
		{"not found", "https://example.com/b", site{status: 404}, "canonical.broken"},
		{"gone", "https://example.com/b", site{status: 410}, "canonical.broken"},
		{"server error", "https://example.com/b", site{status: 503}, "canonical.broken"},
		{"redirects", "https://example.com/b", site{status: 301, header: "Location: /c"}, "canonical.redirect"},
		{"redirects back", "https://example.com/b", site{status: 301, header: "Location: /"}, "canonical.redirect"},
		{"noindex", "https://example.com/b", site{body: strings.Replace(b(other), "</head>", "<meta name=robots content=noindex></head>", 1)}, "canonical.noindex"},
		{"noindex for Google in the header", "https://example.com/b", site{body: b(other), header: "X-Robots-Tag: googlebot: none"}, "canonical.noindex"},
		{"noindex for Bing", "https://example.com/b", site{body: b(other), header: "X-Robots-Tag: bingbot: none"}, "canonical.elsewhere"},
		{"chain", "https://example.com/b", site{body: naming("https://example.com/c")}, "canonical.chain"},
		{"chain in the header", "https://example.com/b", site{body: b(other), header: "Link: <https://example.com/b>; rel=canonical"}, "canonical.elsewhere"},
		{"each names the other", "https://example.com/b", site{body: other}, "canonical.chain"},
		{"another language", "https://example.com/b", site{body: strings.Replace(b(other), `lang="en"`, `lang="fr-CA"`, 1)}, "canonical.language canonical.elsewhere"},
		{"the same language elsewhere", "https://example.com/b", site{body: strings.Replace(b(other), `lang="en"`, `lang="en-GB"`, 1)}, "canonical.elsewhere"},
		{"forbidden for all", "https://example.com/private/x", site{body: b(other)}, "canonical.disallowed"},
		{"forbidden for Google", "https://example.com/secret", site{body: b(other)}, "canonical.disallowed"},
		{"forbidden for us", "https://example.com/ours", site{body: b(other)}, "canonical.elsewhere"},
		{"another host of the site", "https://www.example.com/", site{}, "canonical.elsewhere"},
		{"another site", "https://example.net/", site{}, "canonical.foreign"},
		{"a site whose robots.txt fails", "https://example.org/", site{}, "canonical.disallowed"},
		{"another port", "https://example.com:8444/", site{}, "canonical.elsewhere"},
		{"a user", "https://me@example.com/", site{}, "canonical.elsewhere"},
		{"private", "https://intern.example.com/", site{}, "canonical.broken"},
	}
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			const rules = "User-agent: *\nDisallow: /private/\n\nUser-agent: Googlebot\nDisallow: /secret\nDisallow: /private/\n\nUser-agent: diagkit\nDisallow: /ours\nDisallow: /private/\n"
			w.HTTPS("example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				served := site{body: naming(tt.names), robots: rules}
				if r.URL.Path != "/" {
					tt.target.robots = rules
					served = tt.target
				}
				served.ServeHTTP(w, r)
			}))
			for host, file := range map[string]string{"www.example.com": "", "example.net": "", "example.org": "503"} {
				w.HTTPS(host, site{body: strings.Replace(other, "https://example.com/", "https://"+host+"/", 1), robots: file})
			}
			w.Host("intern.example.com", "10.0.0.1")
			r := check(t, w, Request{})
			require.Equal(t, tt.codes, join(seen.Add(r.Verdict)), "%+v", r.Findings)
			require.False(t, r.Partial)
		})
	}
	return seen
}

// silentTargets judges canonical URLs that do not answer: what is there is not known.
func silentTargets(t *testing.T) diagtest.Seen {
	var seen diagtest.Seen
	for _, slow := range []string{"/b", "/robots.txt"} {
		synctest.Test(t, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.HTTPS("example.com", site{body: naming("https://www.example.com/b")})
			w.HTTPS("www.example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == slow {
					<-r.Context().Done()
				}
				site{}.ServeHTTP(w, r)
			}))
			r := check(t, w, Request{})
			require.Equal(t, "canonical.unknown", join(seen.Add(r.Verdict)))
			require.Equal(t, diag.Valid, r.State)
			require.True(t, r.Partial)
			require.LessOrEqual(t, *r.Score, 89)
			require.Contains(t, r.Headline, "3 of 4")
			require.Subset(t, r.Open(), []diag.Code{"crawl.canonical.noindex", "crawl.canonical.elsewhere", "crawl.canonical.foreign"})
		})
	}
	w := diagtest.NewWorld(t)
	w.HTTPS("example.com", site{body: naming("https://www.example.com/b")})
	w.HTTPS("www.example.com", site{status: 403, header: "Cf-Mitigated: challenge"})
	require.Equal(t, "canonical.unknown", join(seen.Add(check(t, w, Request{}).Verdict)))
	return seen
}

func TestCanonicalTarget(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.HTTPS("example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/b":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("X-Robots-Tag", "noindex")
			w.Header().Set("Link", `</c>; rel="Canonical"`)
			io.WriteString(w, `<!doctype html><html lang=de><title>x</title>`)
		default:
			site{body: naming("https://example.com/b#x")}.ServeHTTP(w, r)
		}
	}))
	r := check(t, w, Request{})
	require.Equal(t, CanonicalReport{URL: "https://example.com/b", StatusCode: 200, Allowed: new(true), Indexable: new(false),
		Canonical: "https://example.com/c", Language: "de"}, r.Canonical)
	require.Equal(t, "https://example.com/b#x", r.Metadata.Canonical)
}

// What is not HTML names its canonical URL in the header.
func TestCanonicalOfFile(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.HTTPS("example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		site{body: "%PDF-1.7", header: "Content-Type: application/pdf\nLink: </b>; rel=canonical"}.ServeHTTP(w, r)
	}))
	r := check(t, w, Request{})
	require.Equal(t, diag.Code("crawl.canonical.broken"), r.Findings[0].Code)
	require.Equal(t, `Link: <https://example.com/>; rel="canonical"`, r.Recommendations[0].SuggestedValue)
	require.Equal(t, 404, r.Canonical.StatusCode)
}

func TestParseLinks(t *testing.T) {
	for _, tt := range []struct {
		value string
		want  []webLink
	}{
		{`<https://example.com/>; rel="canonical"`, []webLink{{"https://example.com/", []string{"canonical"}, ""}}},
		{`<a>; rel=canonical, <b>;rel="next prev" , <c>`, []webLink{{"a", []string{"canonical"}, ""}, {"b", []string{"next", "prev"}, ""}, {target: "c"}}},
		{`<a,b;c> ; REL = CANONICAL ; title="x, <y>; rel=\"z\""`, []webLink{{"a,b;c", []string{"canonical"}, ""}}},
		{`<a>; rel=next; rel=canonical; anchor="#x"`, []webLink{{"a", []string{"next"}, "#x"}}},
		{`<a>; crossorigin; rel=canonical`, []webLink{{"a", []string{"canonical"}, ""}}},
		{`, ,<a>;rel=canonical;`, []webLink{{"a", []string{"canonical"}, ""}}},
		{`<>; rel=canonical`, []webLink{{"", []string{"canonical"}, ""}}},
		{`https://example.com/; rel=canonical`, nil},
		{`<a; rel=canonical`, nil},
		{`<a>; rel="canonical`, []webLink{{"a", []string{"canonical"}, ""}}},
		{`<a> rel=canonical`, []webLink{{target: "a"}}},
	} {
		require.Equal(t, tt.want, parseLinks([]string{tt.value}), tt.value)
	}
	require.Len(t, parseLinks([]string{strings.Repeat("<a>,", 1000), "<b>"}), maxWebLinks)
}

func FuzzParseLinks(f *testing.F) {
	f.Add(`<a>; rel="canonical"; title="\"", <b>;rel=x`)
	f.Fuzz(func(t *testing.T, value string) {
		for _, l := range parseLinks([]string{value}) {
			if !strings.Contains(value, "<"+l.target+">") || len(l.rel) > maxRels {
				t.Errorf("%+v", l)
			}
		}
	})
}

func TestPrimary(t *testing.T) {
	for tag, want := range map[string]string{"en-GB": "en", "zh-Hant": "zh", "iw": "he", "he": "he", "EN_us": "en", "": "", "und": "", "english": "",
		"nb": "no", "no": "no"} {
		require.Equal(t, want, primary(tag), tag)
	}
}
