package crawl

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// goodHead and goodBody make a page without a fault.
const goodHead = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Bicycle repair in Sampletown</title>` +
	`<meta name="description" content="All makes, two days, with a bicycle on loan while you wait for yours.">` +
	`<meta name="viewport" content="width=device-width, initial-scale=1">` +
	`<link rel="canonical" href="https://example.com/">`

var goodBody = `</head><body><h1>Bicycle repair</h1><p>` + strings.Repeat("We repair bicycles of all makes. ", 10) +
	`</p><p><a href="/prices">Prices</a></p><img src="/shop.jpg" alt="Our shop"></body></html>`

// page is the good page with something more in its head and body.
func pageWith(head, body string) string {
	return goodHead + head + strings.Replace(goodBody, "</body>", body+"</body>", 1)
}

// a site answers with a page at / and a robots.txt.
type site struct {
	status  int
	header  string // fields, joined by line ends
	body    string
	robots  string // empty: 404; a number: that status; else the file
	respect bool
	agent   Agent
	path    string
}

func (s site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		var status int
		if _, err := fmt.Sscanf(s.robots, "%d", &status); err == nil {
			w.WriteHeader(status)
			return
		}
		if s.robots == "" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, s.robots)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	for line := range strings.SplitSeq(s.header, "\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			if value == "-" {
				w.Header()[name] = nil
				continue
			}
			if name == "Content-Type" {
				w.Header().Del(name)
			}
			w.Header().Add(name, value)
		}
	}
	if s.status != 0 {
		w.WriteHeader(s.status)
	}
	io.WriteString(w, s.body)
}

func zipped(text string) string {
	var b strings.Builder
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	z.Close()
	return b.String()
}

func check(t *testing.T, w *diagtest.World, req Request) *Report {
	t.Helper()
	if req.URL.IsZero() {
		req.URL = diag.MustURL("https://example.com/")
	}
	r, err := Check(t.Context(), w.Env(), req)
	require.NoError(t, err)
	return r
}

func join(codes []diag.Code) string {
	var list []string
	for _, c := range codes {
		if text := strings.TrimPrefix(string(c), "crawl."); len(list) == 0 || list[len(list)-1] != text {
			list = append(list, text)
		}
	}
	return strings.Join(list, " ")
}

// verdicts judges sites with one fault each.
func verdicts(t *testing.T) diagtest.Seen {
	good := pageWith("", "")
	long := strings.Repeat("<!-- filler -->", minBytes/10)
	tests := []struct {
		name  string
		site  site
		codes string
	}{
		{"good", site{body: good}, ""},
		{"good with a robots.txt", site{body: good, robots: "User-agent: *\nDisallow: /x"}, ""},
		{"robots.txt fails", site{body: good, robots: "503"}, "robots.unreachable"},
		{"disallowed", site{body: good, robots: "User-agent: *\nDisallow: /"}, "robots.disallowed"},
		{"disallowed and fetched", site{body: good, robots: "User-agent: *\nDisallow: /", respect: true}, "robots.disallowed"},
		{"disallowed for Google alone", site{body: good, robots: "User-agent: googlebot\nDisallow: /"}, "google.disallowed"},
		{"disallowed for Bing alone", site{body: good, robots: "User-agent: bingbot\nDisallow: /"}, "bing.disallowed"},
		{"disallowed for both", site{body: good, robots: "User-agent: bingbot\nUser-agent: googlebot\nDisallow: /"},
			"google.disallowed bing.disallowed"},
		{"disallowed for all but Google and Bing", site{body: good, robots: "User-agent: *\nDisallow: /\n\nUser-agent: Googlebot\nUser-agent: bingbot\nAllow: /"},
			"robots.others"},
		{"disallowed for all but Bing", site{body: good, robots: "User-agent: *\nDisallow: /\n\nUser-agent: bingbot\nAllow: /"}, "robots.disallowed"},
		{"disallowed for a crawler of a language model", site{body: good, robots: "User-agent: GPTBot\nDisallow: /\n\nUser-agent: *\nDisallow: /x"}, ""},
		{"disallowed for images", site{body: good, robots: "User-agent: Googlebot-Image\nDisallow: /"}, ""},
		{"old name of Bing", site{body: good, robots: "User-agent: msnbot\nDisallow: /"}, "bing.disallowed"},
		{"Google understands", site{body: good, robots: "User agent: *\nDissallow: /"}, "google.disallowed robots.misspelt"},
		{"Google understands, and is asked for", site{body: good, robots: "User agent: *\nDissallow: /", agent: GoogleDesktop},
			"robots.disallowed robots.misspelt"},
		{"Google reads index.html as its directory", site{body: good, robots: "User-agent: *\nDisallow: /\nAllow: /index.html"}, "robots.others"},
		{"Google may, by index.html", site{body: good, robots: "User-agent: *\nDisallow: /\nAllow: /index.html", agent: GoogleDesktop},
			"bing.disallowed"},
		{"disallowed for Google", site{body: good, robots: "User-agent: googlebot\nDisallow: /", agent: GoogleMobile}, "robots.disallowed"},
		{"robots.txt is busy", site{body: good, robots: "429"}, "google.disallowed"},
		{"robots.txt is busy for Google", site{body: good, robots: "429", agent: GoogleDesktop}, "robots.unreachable"},
		{"robots.txt is cut in a line", site{body: good, robots: "User-agent: *\n#" + strings.Repeat("-", 500<<10-len("User-agent: *\n#\nDisallow: /")) +
			"\nDisallow: /x/*/y$\n"}, "robots.size"},
		{"robots.txt is a page", site{body: good, robots: "<!doctype html><title>Home</title>"}, "robots.html"},
		{"robots.txt with faults", site{body: good, robots: "User-agent: *\nDisllow: /x"}, "robots.syntax"},
		{"robots.txt is forbidden", site{body: good, robots: "403"}, ""},
		{"robots.txt too long", site{body: good, robots: "User-agent: *\nDisallow: /x\n" + strings.Repeat("#\n", 300_000)}, "robots.size"},
		{"not found", site{body: good, status: 404}, "status.missing"},
		{"forbidden", site{body: good, status: 403}, "status.denied"},
		{"server error", site{body: good, status: 500}, "status.server"},
		{"no content", site{status: 204}, "status.other"},
		{"challenge", site{body: good, status: 403, header: "Cf-Mitigated: challenge"}, "wall"},
		{"challenge in words", site{body: "<title>Just a moment...</title>", status: 503}, "wall"},
		{"challenge of Imperva", site{body: `<html><iframe src="/_Incapsula_Resource?x"></iframe>`}, "wall"},
		{"no compression", site{body: good, header: "Content-Encoding: gzip"}, "body.encoding"},
		{"a charset as a coding", site{body: good, header: "Content-Encoding: utf-8"}, "encoding.unknown"},
		{"compressed without saying so", site{body: zipped(good)}, "body.encoding"},
		{"broken off", site{body: good, header: "Content-Length: 99999"}, "body.broken"},
		{"PDF", site{body: "%PDF-1.7\n%%EOF\n", header: "Content-Type: application/pdf"}, "type"},
		{"no body", site{}, "body.empty"},
		{"nothing in the body", site{body: goodHead + "</head><body></body></html>"}, "body.empty"},
		{"longer than was read", site{body: pageWith("", long)}, "size.truncated"},
		{"longer than Google reads", site{body: pageWith("", strings.Repeat("<!-- filler -->", 200_000)), agent: GoogleDesktop}, "size.limit size.truncated"},
		{"noindex", site{body: pageWith(`<meta name=robots content=noindex>`, "")}, "index.forbidden"},
		{"noindex in the header", site{body: good, header: "X-Robots-Tag: noindex, nofollow"}, "index.forbidden index.nofollow"},
		{"noindex for Bing", site{body: good, header: "X-Robots-Tag: bingbot: noindex"}, "bing.noindex"},
		{"noindex for Google", site{body: good, header: "X-Robots-Tag: googlebot: noindex\nX-Robots-Tag: otherbot: none"}, "google.noindex"},
		{"noindex for both in the page", site{body: pageWith(`<meta name=googlebot content="none"><meta name=bingbot content=noindex>`, "")},
			"google.noindex bing.noindex"},
		{"noindex for others", site{body: pageWith(`<meta name=googlebot-news content=noindex><meta name=yandex content=noindex>`, "")}, ""},
		{"the strictest counts", site{body: pageWith(`<meta name=robots content=noindex><meta name=googlebot content="index,follow">`, "")}, "index.forbidden"},
		{"noindex for Google, which is asked for", site{body: good, header: "X-Robots-Tag: googlebot: noindex", agent: GoogleMobile}, "index.forbidden"},
		{"noindex for Bing, which is asked for", site{body: good, header: "X-Robots-Tag: bingbot: noindex", agent: Bing}, "index.forbidden"},
		{"noindex, follow", site{body: good, header: "X-Robots-Tag: noindex, follow"}, "index.forbidden"},
		{"noindex of a PDF", site{body: "%PDF-1.7\n%%EOF\n", header: "Content-Type: application/pdf\nX-Robots-Tag: googlebot: noindex"}, "google.noindex type"},
		{"noindex that Google does not see", site{body: pageWith(`<meta name=robots content=noindex>`, ""), robots: "User-agent: Googlebot\nDisallow: /"},
			"google.disallowed index.forbidden index.hidden"},
		{"noindex, indexifembedded", site{body: good, header: "X-Robots-Tag: googlebot: noindex, indexifembedded"}, "google.noindex"},
		{"available for a while", site{body: good, header: "X-Robots-Tag: unavailable_after: 2100-01-01"}, "index.expires"},
		{"no snippet", site{body: pageWith(`<meta name=robots content="max-snippet:0, noarchive">`, "")}, "index.snippet"},
		{"noindex that nobody sees", site{body: pageWith(`<meta name=robots content=noindex>`, ""), respect: true, robots: "User-agent: *\nDisallow: /"},
			"robots.disallowed index.forbidden index.hidden"},
		{"unknown directive", site{body: pageWith(`<meta name=robots content="no-index">`, "")}, "index.unknown"},
		{"unavailable", site{body: pageWith(`<meta name=robots content="unavailable_after: 2020-01-01">`, "")}, "index.forbidden"},
		{"bad date", site{body: pageWith(`<meta name=robots content="unavailable_after: soon">`, "")}, "index.unknown"},
		{"refresh", site{body: pageWith(`<meta http-equiv=refresh content="0;url=/new">`, "")}, "refresh"},
		{"refresh of itself", site{body: pageWith(`<meta http-equiv=refresh content="30">`, "")}, ""},
		{"refresh in the header", site{body: good, header: "Refresh: 5; url=/new"}, "refresh"},
		{"soft 404", site{body: strings.Replace(good, "Bicycle repair</h1>", "404 Not Found</h1>", 1)}, "soft404"},
		{"XHTML", site{body: strings.Replace(good, `<meta charset="utf-8">`, "", 1), header: "Content-Type: application/xhtml+xml"}, ""},
		{"about error 404", site{body: strings.Replace(good, "Bicycle repair</h1>", "How to fix error 404</h1>", 1)}, ""},
		{"no canonical", site{body: strings.Replace(good, `rel="canonical"`, "", 1)}, "canonical.missing"},
		{"bad canonical", site{body: strings.Replace(good, `href="https://example.com/"`, `href="http://[bad"`, 1)}, "canonical.invalid"},
		{"two canonicals", site{body: pageWith(`<link rel=canonical href=/b>`, "")}, "canonical.multiple canonical.relative"},
		{"canonical in the body", site{body: pageWith("", `<link rel=canonical href=https://example.com/>`)}, "canonical.body"},
		{"canonical elsewhere", site{body: good, path: "?a=b"}, "canonical.elsewhere"},
		{"relative canonical", site{body: strings.Replace(good, `href="https://example.com/"`, `href="/"`, 1)}, "canonical.relative"},
		{"canonical with a fragment", site{body: strings.Replace(good, `href="https://example.com/"`, `href="https://example.com/#top"`, 1)}, "canonical.fragment"},
		{"canonical over HTTP", site{body: strings.Replace(good, `href="https://example.com/"`, `href="http://example.com/"`, 1)}, "canonical.http"},
		{"canonical in the header", site{body: strings.Replace(good, `rel="canonical"`, "", 1), header: `Link: <https://example.com/>; rel="canonical"`}, ""},
		{"canonical in the header and the page", site{body: good, header: `Link: <https://example.com/>; rel=canonical`}, ""},
		{"canonical in the header against the page", site{body: good, header: `Link: </style.css>; rel=preload, <https://example.com/other>; rel="canonical"`}, "canonical.multiple"},
		{"canonical of something else", site{body: good, header: `Link: <https://example.com/other>; rel="canonical"; anchor="https://example.com/file"`}, ""},
		{"canonical of a PDF", site{body: "%PDF-1.7\n%%EOF\n", header: "Content-Type: application/pdf\nLink: <https://example.net/>; rel=canonical"},
			"canonical.broken type"},
		{"canonical at a host that does not exist", site{body: strings.Replace(good, `href="https://example.com/"`, `href="https://example.net/"`, 1)}, "canonical.broken"},
		{"hreflang", site{body: pageWith(`<link rel=alternate hreflang=de href=/de><link rel=alternate hreflang=en href=/>`, "")}, ""},
		{"bad hreflang", site{body: pageWith(`<link rel=alternate hreflang=en-UK-x href=/>`, "")}, "hreflang.invalid"},
		{"hreflang of a reserved region", site{body: pageWith(`<link rel=alternate hreflang=en-uk href=/>`, "")}, "hreflang.invalid"},
		{"hreflang of other forms", site{body: pageWith(`<link rel=alternate hreflang=zh-Hant-TW href=/><link rel=alternate hreflang=es-419 href=/b>`, "")}, ""},
		{"hreflang without itself", site{body: pageWith(`<link rel=alternate hreflang=de href=/de>`, "")}, "hreflang.self"},
		{"no title", site{body: strings.Replace(good, "<title>Bicycle repair in Sampletown</title>", "", 1)}, "title.missing"},
		{"empty first title", site{body: strings.Replace(good, "<title>", "<title></title><title>", 1)}, "title.missing"},
		{"no description", site{body: strings.Replace(good, `name="description"`, "", 1)}, "description.missing"},
		{"Open Graph", site{body: pageWith(`<meta property=og:title content=a><meta property=og:type content=website><meta property=og:image content=/i><meta property=og:url content=/>`, "")}, ""},
		{"Open Graph lacks something", site{body: pageWith(`<meta property=og:title content=a>`, "")}, "opengraph.incomplete"},
		{"bad encoding", site{body: pageWith("", "\xff")}, "charset.invalid"},
		{"unknown encoding", site{body: good, header: "Content-Type: text/html; charset=utf-99"}, "charset.invalid"},
		{"encodings that differ", site{body: pageWith("", "Bücher"), header: "Content-Type: text/html; charset=iso-8859-1"}, "charset.conflict"},
		{"byte order mark against the page", site{body: "\uFEFF" + strings.Replace(good, `charset="utf-8"`, `charset="iso-8859-1"`, 1)}, "charset.conflict"},
		{"no encoding", site{body: strings.Replace(good, `charset="utf-8"`, "", 1), header: "Content-Type: text/html"}, "charset.undeclared"},
		{"windows-1251 that nothing states", site{body: strings.NewReplacer(`charset="utf-8"`, "", "Bicycle repair in Sampletown", "\xD7\xE0\xE9 \xE8 \xF7\xE0\xF8\xEA\xE8").Replace(good),
			header: "Content-Type: text/html"}, "charset.undeclared"},
		{"no viewport", site{body: strings.Replace(good, `name="viewport"`, "", 1)}, "viewport.missing"},
		{"no language", site{body: strings.Replace(good, ` lang="en"`, "", 1)}, "lang.missing"},
		{"deep", site{body: pageWith("", strings.Repeat("<div>", 600))}, "depth"},
		{"too large a tree", site{body: pageWith("", strings.Repeat("<p>x", 350_000))}, "size.truncated"},
		{"frames", site{body: goodHead + `</head><frameset><frame src=/a></frameset></html>`}, "frames"},
		{"scripts", site{body: goodHead + `</head><body><div id=root></div><noscript>Enable JavaScript.</noscript><script src=/a.js></script>`}, "script"},
		{"no h1", site{body: strings.ReplaceAll(good, "h1>", "h2>")}, "heading.missing"},
		{"no alt", site{body: pageWith("", `<img src=/map.png><img src=/line.png alt="">`)}, "image.alt"},
		{"script link", site{body: pageWith("", `<a href="javascript:void(0)">x</a>`)}, "link.script"},
		{"JSON-LD", site{body: pageWith(`<script type="application/ld+json">{"@context":"https://schema.org","@type":"Product"}</script>`, "")}, ""},
		{"bad JSON-LD", site{body: pageWith(`<script type="application/ld+json">{"@type":"Product",}</script>`, "")}, "jsonld.invalid"},
		{"JSON-LD without a type", site{body: pageWith(`<script type="application/ld+json">{"name":"x"}</script>`, "")}, "jsonld.type"},
		{"microdata", site{body: pageWith("", `<div itemscope itemtype="https://schema.org/Product"></div>`)}, ""},
		{"microdata without a type", site{body: pageWith("", `<div itemscope></div>`)}, "microdata.type"},
		{"blocked", site{body: pageWith(`<script src=http://cdn.example/a.js></script>`, "")}, "mixed.blocked"},
		{"upgraded", site{body: pageWith("", `<img alt="" src=http://cdn.example/a.png>`)}, "mixed.upgraded"},
		{"form", site{body: pageWith("", `<form action=/send></form><form><input type=password></form>`)}, ""},
		{"upgraded by the header", site{body: pageWith(`<script src=http://cdn.example/a.js></script>`, `<form action=http://example.com/send></form>`),
			header: "Content-Security-Policy: upgrade-insecure-requests"}, ""},
		{"upgraded by the page", site{body: pageWith(`<meta http-equiv=Content-Security-Policy content="upgrade-insecure-requests"><script src=http://cdn.example/a.js></script>`, "")}, ""},
		{"upgraded by a report", site{body: pageWith(`<script src=http://cdn.example/a.js></script>`, ""),
			header: "Content-Security-Policy-Report-Only: upgrade-insecure-requests"}, "mixed.blocked"},
		{"import in a style", site{body: pageWith(`<style>@import url(http://cdn.example/a.css);</style>`, "")}, "mixed.blocked"},
		{"headings and links of a template", site{body: pageWith("", `<template><h1>x</h1><img src=/y><script src=http://cdn.example/a.js></script></template>`)}, ""},
		{"form over HTTP", site{body: pageWith("", `<form action=http://example.com/send></form>`)}, "form.insecure"},
	}
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.HTTPS("example.com", tt.site)
			req := Request{URL: diag.MustURL("https://example.com/" + tt.site.path), UserAgent: tt.site.agent}
			if tt.site.respect {
				req.RespectRobots = new(false)
			}
			if len(tt.site.body) > minBytes {
				req.MaxBytes = max(minBytes, int64(len(tt.site.body)*9/10))
			}
			r := check(t, w, req)
			require.Equal(t, tt.codes, join(seen.Add(r.Verdict)), "%+v", r.Findings)
			require.Equal(t, r.State == diag.Unknown, r.Score == nil && r.Partial, "%+v", r)
		})
	}
	return seen
}

// hostVerdicts judges hosts at which there is no page.
func hostVerdicts(t *testing.T) diagtest.Seen {
	tests := []struct {
		name  string
		build func(*diagtest.World)
		url   string
		codes string
	}{
		{"no host", func(*diagtest.World) {}, "", "host.nxdomain"},
		{"no address", func(w *diagtest.World) { w.Zone("example.com. MX 10 mx.example.com.\n") }, "", "host.address"},
		{"not yet valid", untrusted(diagtest.CertNotYetValid), "", "host.certificate.early"},
		{"self-signed", untrusted(diagtest.CertSelfSigned), "", "host.certificate.untrusted"},
		{"of another name", untrusted(diagtest.CertWrongName), "", "host.certificate.name"},
		{"robots.txt in a loop", func(w *diagtest.World) {
			w.HTTPS("example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" {
					http.Redirect(w, r, "/robots.txt", http.StatusFound)
					return
				}
				site{body: pageWith("", "")}.ServeHTTP(w, r)
			}))
		}, "", ""},
		{"robots.txt breaks off", func(w *diagtest.World) {
			w.HTTPS("example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" {
					w.Header().Set("Content-Length", "999")
					io.WriteString(w, "User-agent: *\nDisallow: /x\n")
					return
				}
				site{body: pageWith("", "")}.ServeHTTP(w, r)
			}))
		}, "", "google.disallowed"},
		{"refused", func(w *diagtest.World) {
			w.Host("example.com", "192.0.2.1")
			w.Behave("192.0.2.1:443", diagtest.Refuses)
		}, "", "host.connection"},
		{"bad TLS", func(w *diagtest.World) { w.HTTP("example.com:443", site{}) }, "", "host.handshake"},
		{"private", func(w *diagtest.World) { w.Host("example.com", "192.168.0.1") }, "", "host.blocked"},
		{"other port", func(w *diagtest.World) { w.HTTPS("example.com", http.HandlerFunc(panics)) }, "http://example.com:8080/", "host.connection"},
		{"expired", untrusted(diagtest.CertExpired), "", "host.certificate.expired"},
		{"HTTP", func(w *diagtest.World) {
			w.HTTP("example.com", site{body: strings.ReplaceAll(pageWith("", ""), "https://", "http://")})
		},
			"http://example.com/", "https"},
		{"password over HTTP", func(w *diagtest.World) {
			w.HTTP("example.com", site{body: strings.ReplaceAll(pageWith("", "<input type=password>"), "https://", "http://")})
		}, "http://example.com/", "form.password https"},
		{"loop", func(w *diagtest.World) { w.HTTPS("example.com", http.HandlerFunc(moves("/b", "/"))) }, "", "redirect.broken"},
		{"redirect to a private address", func(w *diagtest.World) {
			w.HTTPS("example.com", http.HandlerFunc(moves("http://192.168.0.1/", "")))
		}, "", "host.blocked"},
		{"many redirects", func(w *diagtest.World) { w.HTTPS("example.com", http.HandlerFunc(steps(6))) }, "https://example.com/6", ""},
		{"long redirect", func(w *diagtest.World) {
			w.HTTPS("example.com", http.HandlerFunc(moves("/"+strings.Repeat("a", 9000), "")))
		}, "", "redirect.long"},
		{"Brotli", func(w *diagtest.World) { w.HTTPS("example.com", site{body: "x", header: "Content-Encoding: br"}) }, "", "body.coding"},
		{"line without a colon", func(w *diagtest.World) {
			w.Site(diagtest.Site{Host: "example.com", HTTP1: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body := pageWith("", "")
				if r.URL.Path == "/robots.txt" {
					body = ""
				}
				if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
					fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nX Powered By\r\nContent-Type: text/html; charset=utf-8\r\n\r\n%s", body)
					conn.Close()
				}
			})})
		}, "", "header.line"},
		{"endless redirects", func(w *diagtest.World) { w.HTTPS("example.com", http.HandlerFunc(steps(40))) }, "https://example.com/40", "redirect.broken"},
	}
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			tt.build(w)
			var req Request
			if tt.url != "" {
				req.URL = diag.MustURL(tt.url)
			}
			r := check(t, w, req)
			require.Equal(t, tt.codes, join(seen.Add(r.Verdict)), "%+v", r.Findings)
			require.Equal(t, slices.Contains([]string{"redirect.long", "body.coding"}, tt.codes), r.Partial)
		})
	}
	return seen
}

// untrusted is a site with a certificate that clients do not trust.
func untrusted(cert diagtest.Cert) func(*diagtest.World) {
	return func(w *diagtest.World) {
		w.Site(diagtest.Site{Host: "example.com", Handler: site{body: pageWith("", "")}, Cert: cert})
	}
}

func panics(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// moves redirects from / to a, and from everywhere else to b. There is no robots.txt.
func moves(a, b string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			http.NotFound(w, r)
		case "/":
			http.Redirect(w, r, a, http.StatusFound)
		default:
			http.Redirect(w, r, b, http.StatusFound)
		}
	}
}

// steps redirects from /n to /n-1, and serves a page at /0.
func steps(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var i int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &i); err != nil || i > n {
			http.NotFound(w, r)
		} else if i > 0 {
			http.Redirect(w, r, fmt.Sprintf("/%d", i-1), http.StatusMovedPermanently)
		} else {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, strings.Replace(pageWith("", ""), `href="https://example.com/"`, `href="https://example.com/0"`, 1))
		}
	}
}

// silentVerdicts judges what is not known.
func silentVerdicts(t *testing.T) diagtest.Seen {
	var seen diagtest.Seen
	slow := func(path string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == path {
				<-r.Context().Done()
			}
			site{body: pageWith("", "")}.ServeHTTP(w, r)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.HTTPS("example.com", http.HandlerFunc(moves("https://www.example.com/", "")))
		w.Host("www.example.com", "192.0.2.9")
		w.Behave("192.0.2.9:443", diagtest.Unreachable)
		r := check(t, w, Request{})
		require.Equal(t, "host.unknown", join(seen.Add(r.Verdict)))

		w = diagtest.NewWorld(t)
		w.HTTPS("example.com", http.HandlerFunc(moves("https://www.example.com/", "")))
		w.Silence("www.example.com")
		r = check(t, w, Request{})
		require.Equal(t, "host.unknown", join(seen.Add(r.Verdict)))
		require.True(t, r.Partial)
		require.Nil(t, r.Score)
		require.Nil(t, r.Robots.Allowed)

		w = diagtest.NewWorld(t)
		w.HTTPS("example.com", slow("/robots.txt"))
		r = check(t, w, Request{})
		require.Equal(t, "robots.unknown", join(seen.Add(r.Verdict)))
		require.Equal(t, diag.Unknown, r.State)
		require.Nil(t, r.Robots.Allowed)
		require.Empty(t, r.Recommendations[0].SuggestedValue)
		r = check(t, w, Request{RespectRobots: new(false)})
		require.Equal(t, "robots.unknown", join(seen.Add(r.Verdict)))
		require.Contains(t, r.Open(), diag.Code("crawl.robots.disallowed"))

		w = diagtest.NewWorld(t)
		w.HTTPS("example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				http.NotFound(w, r)
				return
			}
			io.WriteString(w, goodHead)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}))
		r = check(t, w, Request{})
		require.Equal(t, "body.unknown", join(seen.Add(r.Verdict)))

		w = diagtest.NewWorld(t)
		w.Break("example.com", dns.RcodeRefused)
		_, err := Check(context.Background(), w.Env(), Request{URL: diag.MustURL("https://example.com/")})
		require.ErrorIs(t, err, diag.ErrUnavailable)
	})
	w := diagtest.NewWorld(t)
	w.Site(diagtest.Site{Host: "example.com", Plain: true, Handler: http.HandlerFunc(panics)})
	r := check(t, w, Request{URL: diag.MustURL("http://example.com/")})
	require.Equal(t, "host.protocol", join(seen.Add(r.Verdict)))
	return seen
}

// The reply says what each crawler may do, and by which rule.
func TestAgents(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.HTTPS("example.com", site{
		body: pageWith(`<meta name=bingbot content=nofollow>`, ""), header: "X-Robots-Tag: googlebot: noindex\nX-Robots-Tag: noarchive",
		robots: "User-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n\nUser-agent: bingbot\nCrawl-delay: 10\nAllow: /\nDisallow: /x\n",
	})
	r := check(t, w, Request{})
	yes, no := new(true), new(false)
	require.Equal(t, []AgentReport{
		{Agent: "diagkit", Allowed: yes, Indexable: yes, Followable: yes, By: []Cause{}},
		{Agent: "Googlebot", Allowed: yes, Indexable: no, Followable: yes, By: []Cause{{Place: InHeader, Text: "googlebot: noindex"}}},
		{Agent: "Bingbot", Allowed: yes, Indexable: yes, Followable: no, CrawlDelay: 10, By: []Cause{
			{InRobotsTxt, "https://example.com/robots.txt", 7, "Allow: /"}, {Place: InMeta, Text: "bingbot: nofollow"}}},
	}, r.Robots.Agents)
	require.Equal(t, []string{"CCBot", "GPTBot"}, r.Robots.Refused)
	require.Equal(t, "Google may not index the page (noindex)", r.Headline)
	require.True(t, *r.Robots.Allowed && *r.Robots.Indexable)
	require.Len(t, r.Examined, 3)
	require.Contains(t, r.View().Facts[1].Value, "; Googlebot may fetch · must not index · may follow links · googlebot: noindex")
}

// What forbids a redirect forbids the page behind it, and what was not fetched is not known.
func TestAgentsOnTheWay(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.HTTPS("example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			io.WriteString(w, "User-agent: Googlebot\nDisallow: /\n")
			return
		}
		http.Redirect(w, r, "https://www.example.com/", http.StatusFound)
	}))
	w.HTTPS("www.example.com", site{body: pageWith("", ""), robots: "User-agent: diagkit\nDisallow: /\n"})
	r := check(t, w, Request{})
	require.Equal(t, "https://example.com/robots.txt", r.Robots.Agents[1].By[0].URL)
	require.False(t, *r.Robots.Agents[0].Allowed)
	require.False(t, *r.Robots.Agents[1].Allowed)
	require.True(t, *r.Robots.Agents[2].Allowed)
	require.Nil(t, r.Robots.Agents[2].Indexable)
	require.Equal(t, diag.ScopePart{Part: "Bingbot", State: diag.LeftOut, Reason: "the page was not fetched: robots.txt forbids diagkit"},
		r.Examined[0])
}

// A page without a byte has no words, which is known.
func TestNoWords(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.HTTPS("example.com", site{})
	r := check(t, w, Request{})
	require.NotZero(t, r.Text)
	require.Zero(t, r.Text.Words)
}

func TestVerdicts(t *testing.T) {
	var seen diagtest.Seen
	seen = append(seen, verdicts(t)...)
	seen = append(seen, hostVerdicts(t)...)
	seen = append(seen, silentVerdicts(t)...)
	seen = append(seen, targetVerdicts(t)...)
	seen = append(seen, silentTargets(t)...)
	if t.Failed() {
		return
	}
	diagtest.CoverRules(t, rules(), seen)
	diagtest.CheckTexts(t, texts, rules().Describe(), seen)
}
