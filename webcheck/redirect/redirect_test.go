package redirect

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// A route is one answer of a site.
type route struct {
	status int
	header http.Header
	body   string
}

// serve opens the sites of a script, which has a line for each URL: its status, fields of the header and
// the body, with bars between them.
func serve(t testing.TB, w *diagtest.World, script string) {
	routes := map[string]route{}
	for line := range strings.SplitSeq(strings.TrimSpace(script), "\n") {
		parts := strings.Split(strings.TrimSpace(line), " | ")
		address, status, _ := strings.Cut(parts[0], " ")
		r := route{header: http.Header{}}
		var err error
		r.status, err = strconv.Atoi(status)
		require.NoError(t, err, line)
		for _, part := range parts[1:] {
			if name, value, ok := strings.Cut(part, ": "); ok && !strings.HasPrefix(part, "<") {
				r.header.Add(name, value)
			} else {
				r.body = part
			}
		}
		if r.body != "" && !strings.HasPrefix(r.body, "<none>") {
			r.header.Set("Content-Type", "text/html; charset=utf-8")
		}
		routes[address] = r
		u, err := url.Parse(address)
		require.NoError(t, err)
		if u.Scheme == "http" {
			w.HTTP(u.Host, answer(routes, u.Scheme))
		} else {
			w.HTTPS(u.Host, answer(routes, u.Scheme))
		}
	}
}

// answer answers by the routes of a scheme.
func answer(routes map[string]route, scheme string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		found, ok := routes[scheme+"://"+r.Host+r.URL.RequestURI()]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header()["Content-Type"] = nil
		for name, values := range found.header {
			w.Header()[http.CanonicalHeaderKey(name)] = values
		}
		w.WriteHeader(found.status)
		if r.Method != http.MethodHead {
			io.WriteString(w, strings.TrimPrefix(found.body, "<none>"))
		}
	})
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
		list = append(list, strings.TrimPrefix(string(c), "url."))
	}
	return strings.Join(list, " ")
}

const home = " | <title>Home</title>"

// A world with one chain of redirects, and the findings about it.
var chains = []struct {
	name   string
	url    string
	script string
	codes  string // without "url."
	final  string // where it ends, with the status in front; 0 if it does not end
}{
	{"one page", "example.com", "https://example.com/ 200" + home, "", "200 https://example.com/"},
	{"underscore", "https://my_shop.example.com/", "https://my_shop.example.com/ 200" + home, "", "200 https://my_shop.example.com/"},
	{"to https", "http://example.com/", `
		http://example.com/ 301 | Location: https://example.com/
		https://example.com/ 200` + home, "", "200 https://example.com/"},
	{"to https for now", "http://example.com/", `
		http://example.com/ 302 | Location: https://example.com/
		https://example.com/ 200` + home, "redirect.temporary", "200 https://example.com/"},
	{"plain http", "http://example.com/", "http://example.com/ 200" + home, "final.http", "200 http://example.com/"},
	{"downgrade", "https://example.com/", `
		https://example.com/ 301 | Location: http://example.com/a
		http://example.com/a 200` + home, "redirect.downgrade", "200 http://example.com/a"},
	{"downgrade that browsers undo", "https://example.com/", `
		https://example.com/ 301 | Location: http://www.example.com/ | Strict-Transport-Security: max-age=300; includeSubDomains
		http://www.example.com/ 301 | Location: https://www.example.com/
		https://www.example.com/ 200` + home, "redirect.downgrade", "200 https://www.example.com/"},
	{"HSTS of the host alone", "https://example.com/", `
		https://example.com/ 301 | Location: http://www.example.com/ | Strict-Transport-Security: max-age=300
		http://www.example.com/ 200` + home, "redirect.downgrade", "200 http://www.example.com/"},
	{"HSTS taken back", "https://example.com/a", `
		https://example.com/a 301 | Location: /b | Strict-Transport-Security: max-age=300
		https://example.com/b 301 | Location: http://example.com/ | Strict-Transport-Security: max-age=0
		http://example.com/ 200` + home, "redirect.downgrade", "200 http://example.com/"},
	{"loop of one", "https://example.com/", "https://example.com/ 301 | Location: /#top", "redirect.loop", "0 https://example.com/"},
	{"loop of two", "https://example.com/a", `
		https://example.com/a 301 | Location: /b
		https://example.com/b 301 | Location: /a`, "redirect.loop", "0 https://example.com/b"},
	{"loop behind a proxy", "https://example.com/", `
		https://example.com/ 301 | Location: http://example.com/
		http://example.com/ 301 | Location: https://example.com/`, "redirect.loop redirect.downgrade", "0 http://example.com/"},
	{"loop with a cookie", "https://example.com/", "https://example.com/ 302 | Location: / | Set-Cookie: seen=1; Path=/",
		"redirect.loop.cookie", "0 https://example.com/"},
	{"loop of both kinds", "https://example.com/", `
		https://example.com/ 200 | <meta http-equiv=refresh content="0; url=/b">
		https://example.com/b 302 | Location: /`, "redirect.loop refresh", "0 https://example.com/b"},
	{"page that reloads at once", "https://example.com/", `
		https://example.com/ 200 | <meta http-equiv=refresh content="0; url=/">`, "redirect.loop refresh", "0 https://example.com/"},
	{"four redirects", "https://example.com/1", `
		https://example.com/1 301 | Location: /2
		https://example.com/2 301 | Location: /3
		https://example.com/3 301 | Location: /4
		https://example.com/4 301 | Location: /5
		https://example.com/5 200` + home, "redirect.chain", "200 https://example.com/5"},
	{"Refresh header", "https://example.com/", `
		https://example.com/ 200 | Refresh: 0; url=/b
		https://example.com/b 200` + home, "refresh", "200 https://example.com/b"},
	{"meta refresh with a base", "https://example.com/", `
		https://example.com/ 200 | <base href="/c/"><meta http-equiv="Refresh" content="0;URL='d'">
		https://example.com/c/d 200` + home, "refresh", "200 https://example.com/c/d"},
	{"meta refresh in noscript beside a script", "https://example.com/", `
		https://example.com/ 200 | <noscript><meta http-equiv=refresh content="0;URL=/b"></noscript><script>location.replace("/b")</script>
		https://example.com/b 200` + home, "refresh", "200 https://example.com/b"},
	{"meta refresh in noscript beside another script", "https://example.com/", `
		https://example.com/ 200 | <noscript><meta http-equiv=refresh content="0;URL=/nojs"></noscript><script>run()</script>`, "",
		"200 https://example.com/"},
	{"meta refresh after a while", "https://example.com/", `
		https://example.com/ 200 | <meta http-equiv=refresh content="5;url=/b">
		https://example.com/b 200` + home, "refresh.delay refresh", "200 https://example.com/b"},
	{"meta refresh after an hour", "https://example.com/", `
		https://example.com/ 200 | <meta http-equiv=refresh content="3600;url=/logout">`, "refresh.later", "200 https://example.com/"},
	{"page that reloads", "https://example.com/", `
		https://example.com/ 200 | <meta http-equiv=refresh content="60">`, "refresh.later", "200 https://example.com/"},
	{"meta refresh to a script", "https://example.com/", `
		https://example.com/ 200 | <title>a</title><meta http-equiv=refresh content="0;url=javascript:run()">`, "refresh.unsafe",
		"200 https://example.com/"},
	{"script", "https://example.com/", `
		https://example.com/ 200 | <title>a</title><script>window.location.href = "https:\/\/example.net\/x"</script>`,
		"script", "200 https://example.com/"},
	{"script in a page with contents", "https://example.com/", "https://example.com/ 200 | <script>location = 'x'</script><p>" +
		strings.Repeat("word ", 200), "", "200 https://example.com/"},
	{"script that scrolls", "https://example.com/", "https://example.com/ 200 | <script>location = '#x'; var relocation='y'</script>",
		"", "200 https://example.com/"},
	{"no Location", "https://example.com/", "https://example.com/ 301", "location.missing", "301 https://example.com/"},
	{"empty Location", "http://empty.example.com/", "https://example.com/ 200", "location.missing final.http", "302 http://empty.example.com/"},
	{"second Location not empty", "http://second.example.com/", "https://example.com/ 200" + home, "redirect.temporary",
		"200 https://example.com/"},
	{"backslash", "https://example.com/", `
		https://example.com/ 302 | Location: /\example.net/a\b
		https://example.net/a/b 200` + home, "location.backslash", "200 https://example.net/a/b"},
	{"three slashes", "https://example.com/", `
		https://example.com/ 302 | Location: ///example.net/
		https://example.net/ 200` + home, "location.host", "200 https://example.net/"},
	{"three slashes and a word", "https://example.com/", "https://example.com/ 302 | Location: https:///login", "location.host host.nxdomain",
		"0 https://login/"},
	{"one slash", "https://example.com/", `
		https://example.com/ 302 | Location: https:/a
		https://example.com/a 200` + home, "location.host", "200 https://example.com/a"},
	{"scheme twice", "https://example.com/", "https://example.com/ 302 | Location: https://https://example.com/", "location.host host.nxdomain",
		"0 https://https//example.com/"},
	{"no scheme", "https://example.com/", `
		https://example.com/ 302 | Location: www.example.com/login
		https://example.com/www.example.com/login 200` + home, "location.host", "200 https://example.com/www.example.com/login"},
	{"scheme without a colon", "https://example.com/", `
		https://example.com/ 302 | Location: https//example.com/login
		https://example.com/https//example.com/login 200` + home, "location.host", "200 https://example.com/https//example.com/login"},
	{"page with a dot", "https://example.com/", `
		https://example.com/ 302 | Location: example.html
		https://example.com/example.html 200` + home, "", "200 https://example.com/example.html"},
	{"Location line that is none", "http://lost.example.com/", "https://example.com/ 200", "location.missing header.line final.http",
		"302 http://lost.example.com/"},
	{"no host at all", "https://example.com/", "https://example.com/ 302 | Location: //", "location.malformed", "0 https://example.com/"},
	{"tab in Location", "https://example.com/", "https://example.com/ 302 | Location: /a\tb", "location.malformed", "0 https://example.com/"},
	{"port 0", "https://example.com/", "https://example.com/ 302 | Location: https://example.net:0/", "location.malformed",
		"0 https://example.com/"},
	{"Location of Latin-1", "https://example.com/", `
		https://example.com/ 302 | Location: /caf` + "\xe9" + `
		https://example.com/caf%E9 200` + home, "location.raw", "200 https://example.com/caf%E9"},
	{"Location in capitals", "https://example.com/", `
		https://example.com/ 302 | Location: HTTPS://EXAMPLE.COM/A
		https://example.com/A 200` + home, "", "200 https://example.com/A"},
	{"Location of 8,000 octets", "https://example.com/", `
		https://example.com/ 302 | Location: /` + strings.Repeat("a", 8000) + `
		https://example.com/` + strings.Repeat("a", 8000) + " 200" + home, "", "200 https://example.com/" + strings.Repeat("a", 8000)},
	{"Location of 9,000 octets", "https://example.com/", "https://example.com/ 302 | Location: /" + strings.Repeat("a", 9000),
		"redirect.long", "0 https://example.com/"},
	{"malformed header lines", "http://lines.example.com/", "https://example.com/ 200", "header.line header.line final.http header.obsolete",
		"200 http://lines.example.com/"},
	{"two lengths", "http://lengths.example.com/", "https://example.com/ 200", "protocol", "0 http://lengths.example.com/"},
	{"no coding", "https://example.com/", "https://example.com/ 200 | Content-Encoding: none" + home, "encoding.unknown", "200 https://example.com/"},
	{"identity", "https://example.com/", "https://example.com/ 200 | Content-Encoding: identity" + home, "encoding.identity",
		"200 https://example.com/"},
	{"plain gzip", "https://example.com/", "https://example.com/ 200 | Content-Encoding: gzip" + home, "encoding.mismatch",
		"200 https://example.com/"},
	{"Brotli", "https://example.com/", "https://example.com/ 200 | Content-Encoding: br" + home, "encoding.unasked", "200 https://example.com/"},
	{"gzip without saying so", "https://example.com/", "https://example.com/ 200 | \x1f\x8b\x08", "encoding.compressed",
		"200 https://example.com/"},
	{"bare DEFLATE", "http://deflate.example.com/", "https://example.com/ 200", "final.http encoding.deflate", "200 http://deflate.example.com/"},
	{"bad host", "https://example.com/", `https://example.com/ 302 | Location: https://exa mple.net/`, "location.malformed", "0 https://example.com/"},
	{"bad port", "https://example.com/", `https://example.com/ 302 | Location: https://example.net:99999/`, "location.malformed",
		"0 https://example.com/"},
	{"user name", "https://example.com/", "https://example.com/ 302 | Location: https://a:geheim@example.net/", "location.credentials",
		"0 https://example.com/"},
	{"user name without scheme", "https://example.com/", "https://example.com/ 302 | Location: //example.com@example.net/",
		"location.credentials", "0 https://example.com/"},
	{"script URL", "https://example.com/", "https://example.com/ 302 | Location: javascript:alert(1)", "location.unsafe",
		"0 https://example.com/"},
	{"app", "https://example.com/", "https://example.com/ 302 | Location: itms-apps://apps.example/1", "location.scheme",
		"0 https://example.com/"},
	{"two Locations", "https://example.com/", `
		https://example.com/ 302 | Location: /a | Location: /b
		https://example.com/a 200` + home, "location.multiple", "200 https://example.com/a"},
	{"the same Location twice", "https://example.com/", `
		https://example.com/ 302 | Location: /a | Location: /a
		https://example.com/a 200` + home, "", "200 https://example.com/a"},
	{"Location with a space", "https://example.com/", `
		https://example.com/ 302 | Location: /a b
		https://example.com/a%20b 200` + home, "location.raw", "200 https://example.com/a%20b"},
	{"fragment", "https://example.com/#x", `
		https://example.com/ 302 | Location: /a
		https://example.com/a 200` + home, "", "200 https://example.com/a#x"},
	{"loopback", "https://example.com/", "https://example.com/ 302 | Location: http://127.0.0.1/", "redirect.blocked redirect.downgrade",
		"0 http://127.0.0.1/"},
	{"localhost", "https://example.com/", "https://example.com/ 302 | Location: https://localhost:8080/", "redirect.blocked",
		"0 https://example.com/"},
	{"private", "http://10.0.0.1/", "https://example.com/ 200", "host.blocked", "0 http://10.0.0.1/"},
	{"port", "https://example.com:22/", "https://example.com/ 200", "port.blocked", "0 https://example.com:22/"},
	{"no such host", "https://none.example.com/", "https://example.com/ 200", "host.nxdomain", "0 https://none.example.com/"},
	{"redirect to no such host", "https://example.com/", "https://example.com/ 301 | Location: https://none.example.com/", "host.nxdomain",
		"0 https://none.example.com/"},
	{"no address", "https://mail.example.com/", "https://example.com/ 200", "host.address", "0 https://mail.example.com/"},
	{"refused", "https://refuses.example.com/", "https://example.com/ 200", "connection", "0 https://refuses.example.com/"},
	{"refused at both ports", "http://refuses.example.com/", "https://example.com/ 200", "connection", "0 http://refuses.example.com/"},
	{"https alone", "http://example.com/a", "https://example.com/a 200" + home, "http.closed", "0 http://example.com/a"},
	{"https alone, an error page", "http://example.com/a", "https://example.com/ 200" + home, "http.closed", "0 http://example.com/a"},
	{"https alone at another port", "http://example.com:8080/", "https://example.com/ 200", "connection", "0 http://example.com:8080/"},
	{"https alone, expired", "http://expired.example.com/", "https://example.com/ 200", "certificate.expired http.closed",
		"0 http://expired.example.com/"},
	{"https beside a silent port 80", "http://mute.example.com/", "https://mute.example.com/ 200" + home, "http.unknown",
		"0 http://mute.example.com/"},
	{"https that is silent alone", "http://silent.example.com/", "https://example.com/ 200", "unknown",
		"0 http://silent.example.com/"},
	{"redirect to a closed port", "https://example.com/", "https://example.com/ 301 | Location: http://example.com/a", "connection redirect.downgrade",
		"0 http://example.com/a"},
	{"silent", "https://silent.example.com/", "https://example.com/ 200", "unknown", "0 https://silent.example.com/"},
	{"zone broken", "https://broken.example.com/", "https://example.com/ 200", "host.unknown", "0 https://broken.example.com/"},
	{"no TLS", "https://example.com:8080/", "http://example.com:8080/ 200", "tls.handshake", "0 https://example.com:8080/"},
	{"body too slow", "http://slow.example.com/", "https://example.com/ 200", "final.http body.unknown", "200 http://slow.example.com/"},
	{"not yet valid", "https://early.example.com/", "https://example.com/ 200", "certificate.early", "0 https://early.example.com/"},
	{"expires now", "https://now.example.com/", "https://example.com/ 200", "certificate.expires_now", "200 https://now.example.com/"},
	{"no HTTP", "http://ftp.example.com/", "https://example.com/ 200", "protocol", "0 http://ftp.example.com/"},
	{"expired", "https://expired.example.com/", "https://example.com/ 200", "certificate.expired", "0 https://expired.example.com/"},
	{"self-signed", "https://self.example.com/", "https://example.com/ 200", "certificate.untrusted", "0 https://self.example.com/"},
	{"other name", "https://other.example.com/", "https://example.com/ 200", "certificate.name", "0 https://other.example.com/"},
	{"expires soon", "https://soon.example.com/", "https://example.com/ 200", "certificate.expiring", "200 https://soon.example.com/"},
	{"old TLS", "https://old.example.com/", "https://example.com/ 200", "tls.version", "200 https://old.example.com/"},
	{"body breaks off", "http://half.example.com/", "https://example.com/ 200", "body final.http", "200 http://half.example.com/"},
	{"not found", "https://example.com/gone", "https://example.com/ 200", "status", "404 https://example.com/gone"},
	{"forbidden", "https://example.com/", "https://example.com/ 403" + home, "status.refused", "403 https://example.com/"},
	{"login", "https://example.com/", "https://example.com/ 401" + home, "status.refused", "401 https://example.com/"},
	{"limit of requests", "https://example.com/", "https://example.com/ 429" + home, "status.refused", "429 https://example.com/"},
	{"for legal reasons", "https://example.com/", "https://example.com/ 451" + home, "status", "451 https://example.com/"},
	{"server error", "https://example.com/", "https://example.com/ 503" + home, "status", "503 https://example.com/"},
	{"choices", "https://example.com/", "https://example.com/ 300" + home, "status.unusual", "300 https://example.com/"},
	{"no Content-Type", "https://example.com/", "https://example.com/ 200 | <none>text", "", "200 https://example.com/"},
	{"canonical", "https://example.com/?a", "https://example.com/?a 200 | <title>a</title><link rel=canonical href=/?a>", "",
		"200 https://example.com/?a"},
	{"other canonical", "https://example.com/?a", "https://example.com/?a 200 | <title>a</title><link rel=canonical href=/>", "",
		"200 https://example.com/?a"},
	{"lookalike", "https://аpple.example/", "https://xn--pple-43d.example/ 200" + home, "host.lookalike", "200 https://xn--pple-43d.example/"},
	{"other domain", "https://example.com/", `
		https://example.com/ 301 | Location: https://example.net/
		https://example.net/ 200` + home, "", "200 https://example.net/"},
	{"open redirect", "https://example.com/go?to=https%3A%2F%2Fexample.net%2F", `
		https://example.com/go?to=https%3A%2F%2Fexample.net%2F 302 | Location: https://example.net/
		https://example.net/ 200` + home, "redirect.open", "200 https://example.net/"},
	{"shortener", "https://bit.ly/x", `
		https://bit.ly/x 301 | Location: https://example.net/
		https://example.net/ 200` + home, "", "200 https://example.net/"},
	{"tracking", "https://example.com/?utm_source=a", "https://example.com/?utm_source=a 200" + home, "",
		"200 https://example.com/?utm_source=a"},
	{"tracking lost", "https://example.com/?gclid=a&x=1", `
		https://example.com/?gclid=a&x=1 301 | Location: /?x=1
		https://example.com/?x=1 200` + home, "", "200 https://example.com/?x=1"},
	{"detour", "https://example.com/", `
		https://example.com/ 302 | Location: https://ads.example/
		https://ads.example/ 302 | Location: https://example.net/ | Set-Cookie: id=1
		https://example.net/ 200` + home, "", "200 https://example.net/"},
}

// unlucky opens hosts with faults below the names of chains.
func unlucky(w *diagtest.World) {
	w.Zone("refuses.example.com. A 192.0.2.201\nsilent.example.com. A 192.0.2.202\nmail.example.com. MX 10 mx.example.com.")
	w.Behave("192.0.2.202:443", diagtest.Unreachable)
	w.Behave("mute.example.com:80", diagtest.Unreachable)
	w.Break("broken.example.com", dns.RcodeServerFailure)
	raw := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				io.WriteString(conn, text)
				conn.Close()
			}
		}
	}
	for host, head := range map[string]string{
		"lost": "302 Found\r\nLocation : /a", "empty": "302 Found\r\nLocation: ", "second": "302 Found\r\nLocation:\r\nLocation: https://example.com/",
		"lines":   "200 OK\r\nX Powered By\r\nServer : a\r\nA: b\r\n c",
		"lengths": "200 OK\r\nContent-Length: 1\r\nContent-Length: 2",
		"deflate": "200 OK\r\nContent-Encoding: deflate\r\n\r\n\x03\x00",
	} {
		w.HTTP(host+".example.com", raw("HTTP/1.1 "+head+"\r\n\r\n"))
	}
	w.HTTP("ftp.example.com", raw("220 ready\r\n"))
	w.HTTP("half.example.com", raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"))
	w.Site(diagtest.Site{Host: "expired.example.com", Cert: diagtest.CertExpired})
	w.Site(diagtest.Site{Host: "self.example.com", Cert: diagtest.CertSelfSigned})
	w.Site(diagtest.Site{Host: "other.example.com", Cert: diagtest.CertWrongName})
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for host, left := range map[string]time.Duration{"soon.example.com": 240 * time.Hour, "now.example.com": 72 * time.Hour} {
		cert := w.Certificate(diagtest.CertSpec{
			Names: []string{host}, NotBefore: w.Now().Add(-80 * 24 * time.Hour), NotAfter: w.Now().Add(left),
		})
		w.Site(diagtest.Site{Host: host, Handler: ok, TLS: &tls.Config{Certificates: []tls.Certificate{cert}, Time: w.Now}})
	}
	w.HTTP("slow.example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "<title>a")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	w.Site(diagtest.Site{Host: "early.example.com", Cert: diagtest.CertNotYetValid})
	old := w.Certificate(diagtest.CertSpec{Names: []string{"old.example.com"}})
	w.Site(diagtest.Site{Host: "old.example.com", Handler: ok, HTTP1: true, TLS: &tls.Config{
		Certificates: []tls.Certificate{old}, Time: w.Now, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}})
}

func TestCheck(t *testing.T) {
	var seen diagtest.Seen
	for _, tt := range chains {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := diagtest.NewWorld(t)
				unlucky(w)
				serve(t, w, tt.script)
				r := check(t, w, Request{URL: tt.url})
				require.Equal(t, tt.codes, join(seen.Add(r.Verdict)), "%+v", r.Findings)
				require.Equal(t, tt.final, strconv.Itoa(r.FinalStatusCode)+" "+r.FinalURL)
				consistent(t, r)
				require.Equal(t, tt.name == "not found", strings.Contains(r.Headline, "404"))
			})
		})
	}
	seen = append(seen, limitVerdicts(t)...)
	diagtest.CoverRules(t, rules(), seen)
	diagtest.CheckTexts(t, texts, rules().Describe(), seen)
}

// consistent checks the fields of a report against each other.
func consistent(t *testing.T, r *Report) {
	t.Helper()
	require.NotNil(t, r.Domains)
	require.LessOrEqual(t, r.RedirectCount, 20)
	require.Equal(t, r.LoopDetected, r.Error.Code == fetch.Loop)
	require.False(t, r.PermanentOnly && r.RedirectCount == 0)
	unscored := strings.Contains(join(diagtest.Codes(r.Verdict)), "nxdomain") ||
		strings.Contains(join(diagtest.Codes(r.Verdict)), "http.closed") ||
		strings.Contains(join(diagtest.Codes(r.Verdict)), "redirect.long")
	require.Equal(t, r.State == diag.Unknown, r.Score == nil && !(unscored && r.State != diag.Unknown))
	for i, h := range r.Hops {
		require.Equal(t, i+1, h.Index)
		require.NotNil(t, h.Cookies)
		require.NotNil(t, h.TrackingParameters)
		if i+1 < len(r.Hops) {
			require.Equal(t, r.Hops[i+1].URL, h.ResolvedLocation)
			require.NotEmpty(t, h.RedirectType)
		}
	}
	for _, f := range r.Findings {
		require.NotContains(t, f.Detail, "geheim", "no password is repeated")
	}
	require.False(t, strings.Contains(r.Error.Message, "geheim"), "nor in the error")
}

// limitVerdicts judges chains that are longer than is followed.
func limitVerdicts(t *testing.T) (seen diagtest.Seen) {
	tests := []struct {
		limit            int
		codes            string
		hops, redirects  int
		error, truncated bool
		state            diag.State
	}{
		{0, "redirect.stopped", 1, 0, false, true, diag.Valid},
		{1, "redirect.stopped", 2, 1, true, true, diag.Valid},
		{10, "redirect.limit", 11, 10, true, true, diag.Bad},
		{11, "redirect.chain", 12, 11, false, false, diag.Warned},
		{20, "redirect.chain", 12, 11, false, false, diag.Warned},
	}
	var script strings.Builder
	for i := 1; i < 12; i++ {
		script.WriteString("https://example.com/" + strconv.Itoa(i) + " 308 | Location: " + strconv.Itoa(i+1) + "\n")
	}
	for _, tt := range tests {
		t.Run("limit of "+strconv.Itoa(tt.limit), func(t *testing.T) {
			w := diagtest.NewWorld(t)
			serve(t, w, script.String()+"https://example.com/12 200"+home)
			r := check(t, w, Request{URL: "https://example.com/1", MaxRedirects: &tt.limit})
			require.Equal(t, tt.codes, join(seen.Add(r.Verdict)))
			require.Len(t, r.Hops, tt.hops)
			require.Equal(t, tt.redirects, r.RedirectCount)
			require.Equal(t, tt.error, r.Error.Code != "")
			require.Equal(t, tt.truncated, r.Truncated)
			require.Equal(t, tt.state, r.State)
			require.Equal(t, tt.redirects > 0, r.PermanentOnly)
		})
	}
	w := diagtest.NewWorld(t)
	serve(t, w, "https://example.com/ 405")
	r := check(t, w, Request{URL: "https://example.com/", Method: "HEAD"})
	require.Equal(t, "method", join(seen.Add(r.Verdict)))
	require.Equal(t, "HEAD", r.Hops[0].Method)
	return seen
}
