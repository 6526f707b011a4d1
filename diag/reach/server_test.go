package reach_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

const day = 24 * time.Hour

var ok = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})

// served opens the site with a certificate that ends after so long, and a version of TLS.
func served(left time.Duration, version uint16, h http.Handler) func(*diagtest.World) {
	return func(w *diagtest.World) {
		cert := w.Certificate(diagtest.CertSpec{
			Names: []string{"example.com"}, NotBefore: w.Now().Add(-80 * day), NotAfter: w.Now().Add(left),
		})
		w.Site(diagtest.Site{Host: "example.com", Handler: h, HTTP1: true, TLS: &tls.Config{
			Certificates: []tls.Certificate{cert}, Time: w.Now, MinVersion: version, MaxVersion: version,
		}})
	}
}

// flawed opens the site with a certificate of a kind.
func flawed(kind diagtest.Cert) func(*diagtest.World) {
	return func(w *diagtest.World) { w.Site(diagtest.Site{Host: "example.com", Handler: ok, Cert: kind}) }
}

// spoiled opens a good site behind a port that behaves like this.
func spoiled(b diagtest.Behaviour) func(*diagtest.World) {
	return func(w *diagtest.World) {
		w.HTTPS("example.com", ok)
		w.Behave("192.0.2.1:443", b)
	}
}

func zone(text string) func(*diagtest.World) { return func(w *diagtest.World) { w.Zone(text) } }

var facts = []struct {
	name  string
	world func(*diagtest.World)
	want  string // codes
	says  string // the detail of the first finding
	open  int    // rules that are left open
}{
	{"all is well", flawed(diagtest.CertGood), "", "", 0},
	{"name servers fail", func(w *diagtest.World) { w.Break("example.com", dns.RcodeServerFailure) }, "lookup.unknown",
		"The address of example.com could not be looked up: the resolver answered SERVFAIL.", 6},
	{"silent", spoiled(diagtest.Unreachable), "unknown", "No connection to port 443 of example.com was made in time.", 6},
	{"silent in the handshake", spoiled(diagtest.Hangs), "unknown", "The TLS handshake with example.com did not end in time.", 6},
	{"silent afterwards", served(-time.Hour, 0, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	})), "certificate.expired unknown", "The certificate of example.com expired on 2025-12-31, less than a day ago.", 9},
	{"no such name", zone("example.org. A 192.0.2.1"), "nxdomain", "The DNS answers NXDOMAIN: example.com does not exist.", 0},
	{"no address", zone("example.com. MX 10 mx.example.com."), "address", "example.com has neither an A nor an AAAA record.", 0},
	{"private address", zone("example.com. A 10.0.0.1"), "blocked",
		"example.com was not contacted: its address is not public, or the port is not allowed.", 0},
	{"refused", zone("example.com. A 192.0.2.9"), "connection", "Port 443 of example.com refuses connections.", 0},
	{"no handshake", spoiled(diagtest.Closes), "handshake", "example.com broke off the TLS handshake.", 0},
	{"expired", served(-50*time.Hour, 0, ok), "certificate.expired", "The certificate of example.com expired on 2025-12-29, 2 days ago.", 0},
	{"not yet valid", flawed(diagtest.CertNotYetValid), "certificate.early",
		"The certificate of example.com is valid only from 2026-01-02T00:00:00Z.", 0},
	{"untrusted", flawed(diagtest.CertSelfSigned), "certificate.untrusted",
		"Clients do not trust the certificate of example.com: the certificate is signed with its own key, not by a certificate authority.", 0},
	{"other name", flawed(diagtest.CertWrongName), "certificate.name", "The certificate is for wrong.example, not for example.com.", 0},
	{"expires soon", served(10*day+time.Hour, 0, ok), "certificate.expiring", "The certificate of example.com expires on 2026-01-11, in 10 days.", 0},
	{"expires now", served(time.Hour, 0, ok), "certificate.expires_now",
		"The certificate of example.com expires on 2026-01-01, in less than a day.", 0},
	{"not HTTP", served(60*day, 0, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			io.WriteString(conn, "220 ready\r\n")
			conn.Close()
		}
	})), "protocol", "The answer is not HTTP, but that of a mail server (SMTP) or an FTP server: it begins with \"220 ready\".", 0},
	{"redirect out of the web", served(60*day, 0, http.RedirectHandler("tel:+1555", http.StatusFound)), "protocol",
		"The target of the redirect is not fetched: the scheme must be http or https.", 0},
	{"two lengths", served(60*day, 0, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n")
			conn.Close()
		}
	})), "protocol", "The answer does not say where its body ends: Content-Length: 1 and Content-Length: 2.", 0},
	{"redirect to a private address", served(60*day, 0, http.RedirectHandler("http://10.0.0.5/", http.StatusFound)), "blocked",
		"10.0.0.5 was not contacted: its address is not public, or the port is not allowed.", 0},
	{"line without a colon", served(60*day, 0, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nX Powered By\r\nA: b\r\n c\r\n\r\n")
			conn.Close()
		}
	})), "header.line", "The header line \"X Powered By\" has no colon. Browsers skip it; strict clients refuse the whole response.", 0},
	{"long redirect", served(60*day, 0, http.RedirectHandler("/"+strings.Repeat("a", input.MaxURL), http.StatusFound)), "redirect.long",
		"https://example.com/ redirects to a URL of more than 8192 octets, percent-encoded. That is beyond what is read here, so where " +
			"it leads is not known.", 14},
	{"redirect to a closed port", func(w *diagtest.World) {
		served(60*day, 0, http.RedirectHandler("http://example.com/", http.StatusFound))(w)
	}, "connection", "Port 80 of example.com refuses connections.", 0},
	{"old TLS", served(60*day, tls.VersionTLS11, ok), "tls.version", "example.com agreed on TLS 1.1.", 0},
}

func TestServer(t *testing.T) {
	verdicts := []diag.Verdict{}
	for _, tt := range facts {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := diagtest.NewWorld(t)
				tt.world(w)
				r, err := fetch.Do(t.Context(), w.Env(), fetch.Request{URL: diag.MustURL("https://example.com/"), AllowUntrusted: true, MaxRedirects: 1})
				require.NoError(t, err)
				v := rules.Judge(&evidence{r, w.Now()}, rule.Texts{})
				require.Equal(t, tt.want, strings.ReplaceAll(strings.Trim(fmt.Sprint(diagtest.Codes(v)), "[]"), "site.", ""))
				require.Len(t, v.Open(), tt.open, "%v", v.Open())
				if len(v.Findings) > 0 {
					require.Equal(t, tt.says, v.Findings[0].Detail)
					require.Equal(t, strings.HasPrefix(tt.name, "redirect to"), strings.HasPrefix(v.Findings[0].Advice, "Redirect"))
				}
				verdicts = append(verdicts, v)
			})
		})
	}
	diagtest.CoverRules(t, rules, verdicts)
}

// Where port 80 refuses connections, it depends on HTTPS how grave that is.
func TestSeePlain(t *testing.T) {
	var plain, secure *fetch.Result
	rules := reach.Server[*evidence]{Observation: func(e *evidence) *reach.Observation { return reach.ObservePlain(plain, secure, e.now) }}.Rules(
		rule.Rule[*evidence]{Fact: reach.Silent, Code: "a.unknown"},
		rule.Rule[*evidence]{Fact: reach.Refused, Code: "a.connection"},
		rule.Rule[*evidence]{Fact: reach.HTTPClosed, Code: "a.http.closed"},
		rule.Rule[*evidence]{Fact: reach.HTTPSilent, Code: "a.http.unknown"},
		rule.Rule[*evidence]{Fact: reach.Handshake, Code: "a.handshake"},
		rule.Rule[*evidence]{Fact: reach.Expired, Code: "a.certificate.expired"},
	)
	const says = "Port 80 of example.com refuses connections"
	verdicts := []diag.Verdict{}
	for _, tt := range []struct {
		name, url string
		world     func(*diagtest.World)
		want      string // the gravest finding
		says      string
		advice    string
	}{
		{"both answer", "http://example.com/", func(w *diagtest.World) { w.HTTPS("example.com", ok); w.HTTP("example.com", ok) }, "", "", ""},
		{"both refuse", "http://example.com/", zone("example.com. A 192.0.2.9"), "a.connection",
			says + ". Port 443 of example.com refuses connections.",
			"Start the server, have it listen on port 443 of example.com, and open the port in the firewall."},
		{"HTTPS alone", "http://example.com/", flawed(diagtest.CertGood), "a.http.closed",
			says + ", while https://example.com/ answers: an http:// link works only in clients that try HTTPS by themselves.",
			"Listen on port 80 and redirect to https:// with 301 or 308, or leave it closed: browsers try HTTPS first, old " +
				"links and other clients do not."},
		{"port 80 silent", "http://example.com/", func(w *diagtest.World) {
			w.HTTPS("example.com", ok)
			w.Behave("192.0.2.1:80", diagtest.Unreachable)
		}, "a.http.unknown", "Port 80 of example.com did not answer in time, while https://example.com/ answers: where http:// " +
			"leads is not known.", reach.SilentAdvice},
		{"both silent", "http://example.com/", func(w *diagtest.World) {
			spoiled(diagtest.Unreachable)(w)
			w.Behave("192.0.2.1:80", diagtest.Unreachable)
		}, "a.unknown", "No connection to port 80 of example.com was made in time.",
			"Check the name servers, the server and the firewall in front of it, and try again."},
		{"HTTPS alone, expired", "http://example.com/", flawed(diagtest.CertExpired), "a.certificate.expired",
			"The certificate of example.com expired on 2025-12-31, 1 day ago.", "Renew the certificate and automate renewal."},
		{"HTTPS alone, silent", "http://example.com/", spoiled(diagtest.Unreachable), "a.unknown",
			says + ". No connection to port 443 of example.com was made in time.",
			"Check the name servers, the server and the firewall in front of it, and try again."},
		{"HTTPS alone, no handshake", "http://example.com/", spoiled(diagtest.Closes), "a.handshake",
			says + ". example.com broke off the TLS handshake.",
			"Configure TLS 1.2 or 1.3 and a certificate for the host. The server's log and certificates/ssl/check say " +
				"what clients fail on."},
		{"another port", "http://example.com:8080/", flawed(diagtest.CertGood), "a.connection",
			"Port 8080 of example.com refuses connections.",
			"Start the server, have it listen on port 8080 of example.com, and open the port in the firewall."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := diagtest.NewWorld(t)
				tt.world(w)
				var err error
				plain, err = fetch.Do(t.Context(), w.Env(), fetch.Request{URL: diag.MustURL(tt.url)})
				require.NoError(t, err)
				secure, err = fetch.Do(t.Context(), w.Env(), fetch.Request{URL: diag.MustURL("https://example.com/"), AllowUntrusted: true})
				require.NoError(t, err)
				v := rules.Judge(&evidence{plain, w.Now()}, rule.Texts{})
				verdicts = append(verdicts, v)
				if tt.want == "" {
					require.Empty(t, v.Findings)
					return
				}
				require.Equal(t, tt.want, string(v.Findings[0].Code))
				require.Equal(t, tt.says, v.Findings[0].Detail)
				require.Equal(t, tt.advice, v.Findings[0].Advice)
			})
		})
	}
	diagtest.CoverRules(t, rules, verdicts)
}

// Rows may leave facts out; severity and suffix are those of the table unless the row says why not.
func TestServerRows(t *testing.T) {
	list := site.Rules(
		rule.Rule[*evidence]{Fact: reach.Silent, Code: "a.unknown"},
		rule.Rule[*evidence]{Fact: reach.NoAddress, Code: "a.address", Severity: diag.Info, Differs: "mail only", Advice: "Leave it."},
		rule.Rule[*evidence]{Fact: reach.Refused, Code: "a.connection", Severity: diag.Info, When: func(*evidence) bool { return false }},
	)
	require.Equal(t, diag.Info, list[1].Severity)
	require.Equal(t, "Leave it.", list[1].Advice)
	require.Equal(t, diag.Critical, list[2].Severity)
	require.Equal(t, []diag.Code{"a.address"}, list[2].DependsOn)
	require.Equal(t, diag.Unknown, list[0].StateIfFailed)
	require.False(t, list[2].When(&evidence{page: new(fetch.Result)}))
	for _, r := range slices.Concat(rules, list) {
		require.True(t, strings.HasSuffix(string(r.Code), "."+reach.Specs[r.Fact].Suffix), r.Code)
	}
	unasked := reach.Server[*evidence]{Observation: func(*evidence) *reach.Observation { return nil }}
	row := unasked.Rules(rule.Rule[*evidence]{Fact: reach.NoName, Code: "b.nxdomain"})[0]
	require.False(t, row.When(nil))
	require.Equal(t, "Host does not exist", row.Title)
	require.Empty(t, (*reach.Observation)(nil).Unanswered())
}
