//go:build !race

package httpapi

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// inside is an address of a private network, with a server that records what it was asked for.
const inside = "10.9.0.99"

// leads are all ways by which what a diagnostic reads refers to other addresses, by the path requested at their end,
// and the operations that follow them. No operation follows those without one: they are listed so that a change that
// begins to follow them is noticed.
var leads = map[string]string{
	"/location":   "bimi/logo/lookup certificats/bimi/lookup http/headers-check page/crawl-check phishing/check url/check",
	"/refresh":    "phishing/check url/check",
	"/meta":       "phishing/check url/check",
	"/from-http":  "http/headers-check http/hsts-check page/crawl-check phishing/check url/check",
	"/from-https": "http/headers-check http/hsts-check",
	// A second redirect, behind one that stays outside.
	"/after": "bimi/logo/lookup certificats/bimi/lookup http/headers-check http/hsts-check page/crawl-check " +
		"phishing/check url/check",
	"/robots":        "page/crawl-check",
	"/robots.txt":    "page/crawl-check", // of the host to which a page redirects
	"/issuer":        "certificates/ssl/check",
	"/issuer-behind": "certificates/ssl/check", // to which the URL of an issuer redirects
	"/crl":           "certificates/ssl/check",
	"/crl-behind":    "certificates/ssl/check", // to which the URL of a revocation list redirects
	"/ocsp":          "certificates/ssl/check",
	"/bimi-behind":   "bimi/logo/lookup bimi/lookup deliverability/score mail/domain-check",
	"/rdap":          "phishing/check rdap/lookup",
	"/mta-sts":       "", // RFC 8461 section 3.3 forbids to follow it
	"/canonical":     "page/crawl-check",
	"/image":         "", "/icon": "", "/style": "", "/script": "", "/frame": "",
	"/link": "", "/form": "", "/sitemap": "", "/manifest": "", "/preload": "", "/report": "", "/hint": "",
	"/profile": "",
}

// A maze is an Internet in which everything leads to one server inside.
type maze struct {
	*diagtest.World
	mu    sync.Mutex
	asked map[string]bool // paths at the server inside, by their first part
}

// to is a URL inside.
func to(path string) string { return "http://" + inside + path }

func newMaze(t *testing.T, guard diag.Guard) *maze {
	m := &maze{World: diagtest.NewWorld(t), asked: map[string]bool{}}
	m.Env().Guard = guard
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		defer m.mu.Unlock()
		first, _, _ := strings.Cut(r.URL.Path[1:], "/")
		m.asked["/"+first] = true
		if r.URL.Path == "/robots.txt" {
			fmt.Fprint(w, "User-agent: *\nAllow: /\n")
		}
	})
	m.HTTP(inside, server)
	m.HTTPS(inside, server)
	const hosts = "turn.com www.turn.com robots.com mta-sts.turn.com bimi.com loop.com www.loop.com issuers.com crls.com " +
		"rdap.verisign.com"
	for _, host := range strings.Fields(hosts) {
		m.Host(host, publicWeb)
	}
	m.Zone("turn.com. MX 10 mx.turn.com.\nmx.turn.com. A " + publicWeb + "\n_mta-sts.turn.com. TXT \"v=STSv1; id=1\"\n" +
		"_dmarc.bimi.com. TXT \"v=DMARC1; p=reject\"\n" +
		"default._bimi.bimi.com. TXT \"v=BIMI1; l=https://bimi.com/logo.svg; a=\"\n")
	m.open()
	return m
}

// leadTo answers with a redirect.
func leadTo(target string) http.Handler { return http.RedirectHandler(target, http.StatusFound) }

// open opens the sites that lead inside.
func (m *maze) open() {
	site := http.NewServeMux()
	site.Handle("/location", leadTo(to("/location")))
	site.HandleFunc("/refresh", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Refresh", "0; url="+to("/refresh"))
	})
	site.HandleFunc("/meta", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<meta http-equiv=refresh content='0; url=%s'>", to("/meta"))
	})
	site.HandleFunc("/page", richPage)
	site.Handle("/{$}", leadTo(to("/from-https")))
	m.HTTPS("turn.com", site)
	m.HTTPS("www.turn.com", site)
	m.HTTP("turn.com", leadTo(to("/from-http")))
	m.HTTP("www.turn.com", leadTo(to("/from-http")))

	behind := http.NewServeMux()
	behind.Handle("/{$}", leadTo("/next"))
	behind.Handle("/next", leadTo(to("/after")))
	m.HTTPS("loop.com", behind)
	m.HTTP("loop.com", behind)

	robots := http.NewServeMux()
	robots.Handle("/robots.txt", leadTo(to("/robots")))
	robots.HandleFunc("/", richPage)
	m.HTTPS("robots.com", robots)

	m.HTTPS("mta-sts.turn.com", leadTo(to("/mta-sts")))
	logo := http.NewServeMux()
	logo.Handle("/logo.svg", leadTo(to("/bimi-behind")))
	m.HTTPS("bimi.com", logo)
	m.chain("chain.com", diagtest.CertMissingIntermediate, to("/issuer"))
	m.HTTP("issuers.com", leadTo(to("/issuer-behind")))
	m.chain("chain2.com", diagtest.CertMissingIntermediate, "http://issuers.com/a.crt")
	m.HTTP("crls.com", leadTo(to("/crl-behind")))
	m.chain("revoked.com", diagtest.CertGood)
	m.HTTPS("rdap.verisign.com", leadTo(to("/rdap")))
}

// chain serves a site with a certificate whose issuer is available at some URLs, and its revocation at others.
func (m *maze) chain(host string, kind diagtest.Cert, issuers ...string) {
	m.Host(host, publicWeb)
	cert := m.Certificate(diagtest.CertSpec{
		Names: []string{host}, Cert: kind, Change: func(c *x509.Certificate) {
			c.IssuingCertificateURL = issuers
			c.OCSPServer, c.CRLDistributionPoints = []string{to("/ocsp")}, []string{to("/crl"), "http://crls.com/"}
		},
	})
	m.Site(diagtest.Site{Host: host, TLS: &tls.Config{Certificates: []tls.Certificate{cert}, Time: m.Now}})
}

// richPage is a page that names all that a browser would load, and more.
func richPage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	w.Header().Set("Link", "<"+to("/hint")+">; rel=preload; as=style")
	w.Header().Set("Reporting-Endpoints", `default="`+to("/report")+`"`)
	w.Header().Set("Content-Security-Policy", "report-uri "+to("/report"))
	fmt.Fprintf(w, `<!doctype html><html lang=en><title>Sign in</title>
<link rel=canonical href="%[1]s/canonical"><link rel=icon href="%[1]s/icon">
<link rel=stylesheet href="%[1]s/style"><link rel=manifest href="%[1]s/manifest">
<link rel=preload href="%[1]s/preload" as=image><link rel=sitemap href="%[1]s/sitemap">
<meta property="og:image" content="%[1]s/image"><script src="%[1]s/script"></script>
<script type="application/ld+json">{"@context":"%[1]s/profile","image":"%[1]s/image"}</script>
<img src="%[1]s/image"><iframe src="%[1]s/frame"></iframe><a href="%[1]s/link">a</a>
<form action="%[1]s/form"><input type=password></form>`, strings.TrimSuffix(to("/"), "/"))
}

// starts returns the values of the fields that lead to other addresses.
func starts(field string) []string {
	switch field {
	case "url":
		return []string{"https://turn.com/location", "https://turn.com/refresh", "https://turn.com/meta",
			"https://turn.com/page", "http://turn.com/", "https://loop.com/", "https://robots.com/"}
	case "host":
		return []string{"chain.com", "chain2.com", "revoked.com", "turn.com"}
	case "domain":
		return []string{"turn.com", "loop.com", "bimi.com"}
	}
	return newTrap(inside).values(field)
}

// walk sends all starts to all operations, and returns which of them requested what inside.
func (m *maze) walk(t *testing.T) map[string]string {
	by := map[string]map[string]bool{}
	for _, ep := range endpoints {
		if !outgoing(ep) {
			continue
		}
		for _, body := range requests(t, ep, starts) {
			clear(m.asked)
			_, err := ep.Run(t.Context(), m.Env(), body)
			if err != nil {
				require.NotEqual(t, http.StatusInternalServerError, problemFor(err).status, "%s %s: %v", ep.Path, body, err)
			}
			m.mu.Lock()
			for path := range m.asked {
				if by[path] == nil {
					by[path] = map[string]bool{}
				}
				by[path][ep.Name()] = true
			}
			m.mu.Unlock()
		}
	}
	list := map[string]string{}
	for path, names := range by {
		list[path] = strings.Join(slices.Sorted(maps.Keys(names)), " ")
	}
	return list
}

// Every reference that an operation follows is followed if that is allowed, so that the tests above are effective:
// redirects of first and of second requests, refreshes, the robots.txt of other hosts, issuers of certificates, logos
// and registries. If it is not allowed, the same requests reach nothing.
func TestSSRFLeads(t *testing.T) {
	t.Run("allowed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := newMaze(t, diag.Guard{AllowNetworks: []netip.Prefix{netip.MustParsePrefix(inside + "/32")}})
			got := m.walk(t)
			want := maps.Clone(leads)
			maps.DeleteFunc(want, func(_, names string) bool { return names == "" })
			require.Equal(t, want, got)
			time.Sleep(time.Minute) // of the bubble, for the servers to notice
		})
	})
	t.Run("not allowed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := newMaze(t, diag.Guard{})
			require.Empty(t, m.walk(t))
			for _, c := range m.Connections() {
				require.NotEqual(t, inside, c.Addr.Addr().String())
			}
			time.Sleep(time.Minute)
		})
	})
}
