package headers

import (
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/webcheck/hsts"
	"github.com/stretchr/testify/require"
)

// goodHeader is a header without a fault, a field in each line.
const goodHeader = `Content-Type: text/html; charset=utf-8
Strict-Transport-Security: max-age=63072000; includeSubDomains
Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'
X-Frame-Options: DENY
X-Content-Type-Options: nosniff
Referrer-Policy: no-referrer
Permissions-Policy: camera=(), microphone=(), geolocation=()
Cross-Origin-Opener-Policy: same-origin
Cross-Origin-Embedder-Policy: require-corp
Cross-Origin-Resource-Policy: same-origin
Cache-Control: no-cache`

const goodBody = `<!doctype html><title>Home</title><script src="/app.js"></script><link rel="stylesheet" href="/site.css">`

// goodSecurityTxt is a security.txt without a fault in the time of a world.
const goodSecurityTxt = "Contact: mailto:security@example.com\nExpires: 2026-06-30T12:00:00Z\n"

// securityPath is where it is.
const securityPath = "/.well-known/security.txt"

func serveSecurityTxt(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, goodSecurityTxt)
}

// change changes a header by lines: "Name: value" in place of existing ones, "+Name: value" beside it, "-Name".
func change(header http.Header, lines string) http.Header {
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case name == "":
		case name[0] == '-':
			header.Del(name[1:])
		case name[0] == '+':
			header.Add(name[1:], value)
		default:
			header.Set(name, value)
		}
	}
	return header
}

// hijack answers over HTTP/1.1 with a text of its own.
func hijack(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			io.WriteString(conn, text)
			conn.Close()
		}
	})
}

// serve answers with the good header, changed.
func serve(lines, body string) http.Handler {
	var requests atomic.Int32
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == securityPath {
			serveSecurityTxt(w)
			return
		}
		w.Header()["Content-Type"] = nil // not to be guessed
		random := fmt.Sprintf("%06d", requests.Add(1))
		status := http.StatusOK
		for name, values := range change(change(http.Header{}, goodHeader), lines) {
			if name == "Status" {
				status = map[string]int{"404": 404, "204": 204}[values[0]]
				continue
			}
			for i := range values {
				values[i] = strings.ReplaceAll(values[i], "{origin}", r.Header.Get("Origin"))
				values[i] = strings.ReplaceAll(values[i], "{random}", random)
			}
			if values[0] != "" || !strings.HasPrefix(name, "Access-Control") {
				w.Header()[name] = values
			}
		}
		if r.Header.Get("Origin") == "" && lines != "" && strings.Contains(lines, "{origin}") {
			w.Header().Del("Access-Control-Allow-Origin")
		}
		w.WriteHeader(status)
		if r.Method == http.MethodGet {
			io.WriteString(w, strings.ReplaceAll(body, "{random}", random))
		}
	})
}

// newWorld has a site of a changed header, to which http redirects.
func newWorld(t testing.TB, lines, body string) *diagtest.World {
	w := diagtest.NewWorld(t)
	w.HTTPS("example.com", serve(lines, body))
	w.HTTP("example.com", http.RedirectHandler("https://example.com/", http.StatusMovedPermanently))
	return w
}

func check(t testing.TB, w *diagtest.World, req Request) *Report {
	t.Helper()
	r, err := Check(t.Context(), w.Env(), req)
	require.NoError(t, err)
	return r
}

func join(codes []diag.Code) string {
	var list []string
	for _, c := range codes {
		list = append(list, strings.TrimPrefix(string(c), "headers."))
	}
	return strings.Join(list, " ")
}

var seen diagtest.Seen

func testChanges(t *testing.T) {
	for _, tt := range changes {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := check(t, newWorld(t, tt.lines, tt.body), Request{URL: diag.MustURL("example.com")})
				require.Equal(t, tt.codes, join(seen.Add(r.Verdict)))
				graded := tt.name != "error page" && tt.name != "JSON"
				require.Equal(t, []bool{graded, graded}, []bool{r.Observatory.Grade != "", r.Score != nil})
				requireExplained(t, r)
				require.False(t, r.Partial)
			})
		})
	}
}

// requireExplained compares the score with the grade of the HTTP Observatory: it is the same below the caps, the
// factors add up to it, and every point that was taken is accounted for by a finding.
func requireExplained(t *testing.T, r *Report) {
	t.Helper()
	if r.Observatory.Grade == "" {
		return
	}
	cap := 100
	for _, f := range r.Findings {
		cap = min(cap, f.Severity.Cap())
	}
	require.Equal(t, min(r.Observatory.Score, cap), *r.Score)
	require.Equal(t, *r.Score, 100*r.Breakdown.Earned/r.Breakdown.Max-r.Breakdown.Penalty)
	earned, most := 0, 0
	for _, f := range r.Factors {
		earned, most = earned+f.Points, most+f.MaxPoints
		require.Equal(t, diag.CategoryScore{Earned: f.Points, Max: f.MaxPoints}, r.Breakdown.Categories[string(f.Code)])
	}
	require.Equal(t, []int{r.Breakdown.Earned, r.Breakdown.Max}, []int{earned, most})
	codes := diagtest.Codes(r.Verdict)
	for _, test := range r.Observatory.Tests {
		i := slices.IndexFunc(parts, func(p part) bool { return p.test == test.Name })
		rules := append(slices.Clone(losses[test.Result].rules), "headers.observatory")
		told := slices.ContainsFunc(rules, func(c diag.Code) bool { return slices.Contains(codes, c) })
		require.True(t, test.Modifier >= 0 || told, "%+v: %v", test, codes)
		require.LessOrEqual(t, -test.Modifier, parts[i].most, test.Name)
	}
}

func zipped(text string) string {
	var b strings.Builder
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	z.Close()
	return b.String()
}

// Worlds in which more is wrong than a field, and the findings about them.
var worlds = []struct {
	name, url string
	world     func(*diagtest.World)
	codes     string
	reason    string // code of the error
	state     diag.State
}{
	{"no such host", "nowhere.example", func(*diagtest.World) {}, "site.nxdomain", "dns", diag.Bad},
	{"no address", "mail.example", func(w *diagtest.World) { w.Zone("mail.example. MX 10 mx.mail.example.\n") }, "site.address", "dns", diag.Bad},
	{"silent", "example.com", func(w *diagtest.World) {
		w.HTTPS("example.com", nil)
		w.Behave("example.com:443", diagtest.Hangs)
	}, "site.unknown", "timeout", diag.Unknown},
	{"private", "https://10.0.0.5/", func(*diagtest.World) {}, "site.blocked", "blocked", diag.Bad},
	{"refused", "example.com", func(w *diagtest.World) { w.Host("example.com") }, "site.connection", "connect", diag.Bad},
	{"refused at both ports", "http://example.com", func(w *diagtest.World) { w.Host("example.com") }, "site.connection", "connect", diag.Bad},
	{"https alone", "http://example.com", func(w *diagtest.World) { w.HTTPS("example.com", serve("", goodBody)) },
		"site.http.closed", "connect", diag.Warned},
	{"line without a colon", "example.com", func(w *diagtest.World) {
		w.Site(diagtest.Site{Host: "example.com", HTTP1: true, Handler: hijack("HTTP/1.1 404 Not Found\r\nX Powered By\r\n\r\n")})
	}, "header.line hsts.missing csp.missing frame_options.missing content_type_options.missing status.error security_txt.missing",
		"", diag.Warned},
	{"redirect beyond what is read", "example.com", func(w *diagtest.World) {
		w.HTTPS("example.com", http.RedirectHandler("/"+strings.Repeat("a", 9000), http.StatusFound))
	}, "redirect.long", "", diag.Valid},
	{"a coding that was not offered", "example.com", func(w *diagtest.World) {
		w.HTTPS("example.com", serve("Content-Encoding: br", goodBody))
	}, "encoding.invalid", "", diag.Warned},
	{"plain and called gzip", "example.com", func(w *diagtest.World) {
		w.HTTPS("example.com", serve("Content-Encoding: gzip", goodBody))
	}, "encoding.invalid", "", diag.Warned},
	{"no coding", "example.com", func(w *diagtest.World) {
		w.HTTPS("example.com", serve("Content-Encoding: none", goodBody))
	}, "encoding.invalid", "", diag.Warned},
	{"https beside a silent port 80", "http://example.com", func(w *diagtest.World) {
		w.HTTPS("example.com", serve("", goodBody))
		w.Behave("example.com:80", diagtest.Unreachable)
	}, "site.http.unknown", "timeout", diag.Unknown},
	{"https alone, a loop", "http://example.com", func(w *diagtest.World) {
		w.HTTPS("example.com", http.RedirectHandler("https://example.com/", http.StatusFound))
	}, "site.http.closed", "connect", diag.Warned},
	{"https without a handshake alone", "http://example.com", func(w *diagtest.World) {
		w.Site(diagtest.Site{Host: "example.com", Port: 443, Plain: true})
	}, "site.handshake", "connect", diag.Bad},
	{"no TLS", "https://example.com:8443", func(w *diagtest.World) { w.Site(diagtest.Site{Host: "example.com", Port: 8443, Plain: true}) },
		"site.handshake", "tls", diag.Bad},
	{"loop", "example.com", func(w *diagtest.World) {
		w.HTTPS("example.com", http.RedirectHandler("https://example.com/", http.StatusFound))
	}, "redirect.endless", "loop", diag.Bad},
	{"redirect to no URL of the web", "example.com", func(w *diagtest.World) {
		w.HTTPS("example.com", http.RedirectHandler("https://user:secret@www.example.com/", http.StatusFound))
	}, "redirect.endless", "blocked", diag.Bad},
	{"expired", "example.com", func(w *diagtest.World) {
		w.Site(diagtest.Site{Host: "example.com", Cert: diagtest.CertExpired, Handler: serve("", goodBody)})
	}, "site.certificate.expired", "tls", diag.Bad},
	{"not yet valid", "example.com", func(w *diagtest.World) {
		w.Site(diagtest.Site{Host: "example.com", Cert: diagtest.CertNotYetValid, Handler: serve("", goodBody)})
	}, "site.certificate.early", "tls", diag.Bad},
	{"self-signed", "example.com", func(w *diagtest.World) {
		w.Site(diagtest.Site{Host: "example.com", Cert: diagtest.CertSelfSigned, Handler: serve("", goodBody)})
	}, "site.certificate.untrusted", "tls", diag.Bad},
	{"certificate of another", "example.com", func(w *diagtest.World) {
		w.Site(diagtest.Site{Host: "example.com", Cert: diagtest.CertWrongName, Handler: serve("", goodBody)})
	}, "site.certificate.name", "tls", diag.Bad},
	{"plain", "http://example.com", func(w *diagtest.World) { w.HTTP("example.com", serve("", goodBody)) },
		"https.missing hsts.over_http", "", diag.Bad},
	{"plain beside https", "http://example.com", func(w *diagtest.World) {
		w.HTTP("example.com", serve("-Strict-Transport-Security\nSet-Cookie: a=x; Secure", goodBody))
		w.HTTPS("example.com", serve("", goodBody))
	}, "https.missing cookies.rejected", "", diag.Bad},
	{"not redirected", "example.com", func(w *diagtest.World) {
		w.HTTP("example.com", serve("", goodBody))
		w.HTTPS("example.com", serve("", goodBody))
	}, "redirect.missing", "", diag.Warned},
	{"by plain HTTP", "http://example.com", func(w *diagtest.World) {
		w.HTTP("example.com", http.RedirectHandler("http://www.example.com/", http.StatusFound))
		w.HTTP("www.example.com", http.RedirectHandler("https://www.example.com/", http.StatusFound))
		w.HTTPS("www.example.com", serve("", goodBody))
	}, "redirect.insecure", "", diag.Warned},
	{"to another host", "http://example.com", func(w *diagtest.World) {
		w.HTTP("example.com", http.RedirectHandler("https://www.example.com/", http.StatusFound))
		w.HTTPS("www.example.com", serve("", goodBody))
	}, "redirect.host", "", diag.Valid},
	{"http silent", "example.com", func(w *diagtest.World) {
		w.HTTPS("example.com", serve("", goodBody))
		w.HTTP("example.com", nil)
		w.Behave("example.com:80", diagtest.Hangs)
	}, "redirect.unknown", "", diag.Valid},
	{"compressed", "example.com", func(w *diagtest.World) {
		w.HTTPS("example.com", serve("Content-Encoding: gzip", zipped(goodBody+strings.Repeat("<p>text</p>", 200))))
	}, "", "", diag.Valid},
	{"no HTTP", "http://example.com", func(w *diagtest.World) {
		w.Serve("example.com:80", func(c net.Conn) { io.WriteString(c, "220 hello\r\n"); c.Close() })
	}, "site.protocol", "protocol", diag.Bad},
}

func testWorlds(t *testing.T) {
	for _, tt := range worlds {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := diagtest.NewWorld(t)
				tt.world(w)
				r := check(t, w, Request{URL: diag.MustURL(tt.url)})
				require.Equal(t, tt.codes, join(seen.Add(r.Verdict)))
				require.Equal(t, tt.state, r.State)
				require.Equal(t, tt.reason, string(r.Error.Code))
				if r.StatusCode == 0 {
					require.Nil(t, r.Score)
				}
				requireExplained(t, r)
			})
		})
	}
}

// TestRules plays both tables, and then compares the findings with the rules.
func TestRules(t *testing.T) {
	if t.Run("changes", testChanges) && t.Run("worlds", testWorlds) && t.Run("silence", testSilence) && t.Run("security.txt", testSecurityTxt) {
		diagtest.CoverRules(t, rules(), seen)
		diagtest.CheckTexts(t, texts, rules().Describe(), seen)
	}
}

// Where port 80 leads is neither praised nor blamed if it does not speak HTTP, or only leads around.
func TestPlainHTTPLeadsNowhere(t *testing.T) {
	for name, plain := range map[string]http.HandlerFunc{
		"another protocol": hijack("220 ready\r\n").ServeHTTP,
		"loop":             http.RedirectHandler("http://example.com/", http.StatusFound).ServeHTTP,
	} {
		w := diagtest.NewWorld(t)
		w.HTTPS("example.com", serve("", goodBody))
		w.HTTP("example.com", plain)
		r := check(t, w, Request{URL: diag.MustURL("https://example.com/")})
		require.NotContains(t, diagtest.Codes(r.Verdict), diag.Code("headers.redirect.missing"), name)
		for _, c := range r.Passed {
			require.NotEqual(t, diag.Code("headers.redirect.missing"), c.Code, name)
		}
	}
}

func TestNoRedirects(t *testing.T) {
	w := newWorld(t, "", goodBody)
	no := false
	r := check(t, w, Request{URL: diag.MustURL("http://example.com/"), FollowRedirects: &no})
	require.Equal(t, http.StatusMovedPermanently, r.StatusCode)
	require.Equal(t, "http://example.com/", r.FinalURL)
	require.Len(t, r.Hops, 1)
	require.Equal(t, diag.Valid, r.State, "%v", diagtest.Codes(r.Verdict))
}

// TestPreloaded grades a site that browsers have on their list, and one that will be.
func TestPreloaded(t *testing.T) {
	list := `{"version":"1","entries":[{"name":"example.com","include_subdomains":true,"policy":"bulk-1-year"},
		{"name":"pending.example","include_subdomains":true,"policy":"bulk-1-year","status":"pending"}]}`
	for _, tt := range []struct{ host, list, transport, redirection string }{
		{"www.example.com", list, "hsts-preloaded", "redirection-all-redirects-preloaded"},
		{"pending.example", list, "hsts-implemented-max-age-at-least-six-months", "redirection-to-https"},
		{"www.example.com", "{}", "hsts-implemented-max-age-at-least-six-months", "redirection-to-https"},
	} {
		w := diagtest.NewWorld(t)
		w.HTTPS(tt.host, serve("", goodBody))
		w.HTTP(tt.host, http.RedirectHandler("https://"+tt.host+"/", http.StatusMovedPermanently))
		env := w.Env()
		env.Data = fstest.MapFS{hsts.File: {Data: []byte(tt.list)}}
		r, err := Check(t.Context(), env, Request{URL: diag.MustURL(tt.host)})
		require.NoError(t, err)
		results := map[string]string{}
		for _, test := range r.Observatory.Tests {
			results[test.Name] = test.Result
		}
		require.Equal(t, tt.transport, results["strict-transport-security"])
		require.Equal(t, tt.redirection, results["redirection"])
	}
	w := diagtest.NewWorld(t)
	w.HTTPS("site.app", serve("-Strict-Transport-Security", goodBody))
	r := check(t, w, Request{URL: diag.MustURL("site.app")})
	require.Equal(t, "site.app is covered by the preload list, so browsers use HTTPS only. Other clients are not covered.", r.Findings[0].Detail)

	env := diagtest.NewWorld(t).Env()
	env.Data = fstest.MapFS{hsts.File: {Data: []byte(`[]`)}}
	_, err := Check(t.Context(), env, Request{URL: diag.MustURL("example.com")})
	require.ErrorContains(t, err, hsts.File)
}

func TestHead(t *testing.T) {
	r := check(t, newWorld(t, "-X-Content-Type-Options", goodBody), Request{URL: diag.MustURL("https://example.com/"), Method: http.MethodHead})
	require.Equal(t, "content_type_options.missing", join(diagtest.Codes(r.Verdict)))
	require.Zero(t, r.Observatory)
	require.Equal(t, "HEAD", r.Hops[0].Method)
}

func TestRequestIsChecked(t *testing.T) {
	for _, req := range []Request{{}, {URL: diag.MustURL("example.com"), Method: "POST"}} {
		_, err := Check(t.Context(), nil, req)
		var input *diag.InputError
		require.ErrorAs(t, err, &input)
	}
}

// A loop that waits for a cookie is one for crawlers, and perhaps not for browsers.
func TestCookieLoop(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.HTTPS("example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "seen=1")
		http.Redirect(w, r, "/", http.StatusFound)
	}))
	r := check(t, w, Request{URL: diag.MustURL("example.com")})
	require.Contains(t, r.Findings[0].Detail, "a browser that sends them back may get further")
	require.Contains(t, r.Findings[0].Advice, "without waiting for a cookie")
}
