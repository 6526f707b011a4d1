package logo

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// redirect returns a web server that redirects all but one path.
func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/end" {
			serve(good)(w, r)
			return
		}
		http.Redirect(w, r, to, http.StatusMovedPermanently)
	}
}

// serverVerdicts judges web servers.
func serverVerdicts(t *testing.T) []diag.Verdict {
	old := &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	tests := []struct {
		name string
		site diagtest.Site
		want string
	}{
		{"good", diagtest.Site{}, "valid"},
		{"not found", diagtest.Site{Handler: serveAs("text/plain", 404, "gone")}, "invalid status"},
		{"error", diagtest.Site{Handler: serveAs("text/html", 503, "later")}, "invalid status"},
		{"page", diagtest.Site{Handler: serveAs("text/html", 200, "<html></html>")}, "invalid format"},
		{"forbidden", diagtest.Site{Handler: serveAs("text/html", 403, "no")}, "invalid status"},
		{"redirect", diagtest.Site{Handler: redirect("/end")}, "warning redirect"},
		{"circle", diagtest.Site{Handler: redirect("/logo.svg")}, "invalid redirect.loop redirect"},
		{"redirect to http", diagtest.Site{Handler: redirect("http://brand.example.com/end")}, "invalid redirect.http redirect"},
		{"long redirect", diagtest.Site{Handler: redirect("/" + strings.Repeat("a", input.MaxURL))}, "valid redirect.long"},
		{"header line without a colon", diagtest.Site{HTTP1: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
				fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nX Powered By\r\nContent-Type: image/svg+xml\r\n\r\n%s", good)
				conn.Close()
			}
		})}, "warning header.line"},
		{"text/plain", diagtest.Site{Handler: serveAs("text/plain; charset=utf-8", 200, good)}, "warning content_type"},
		{"no media type", diagtest.Site{Handler: serveAs("", 200, good)}, "warning content_type"},
		{"media type with parameters", diagtest.Site{Handler: serveAs("Image/SVG+XML;charset=utf-8", 200, good)}, "valid"},
		{"compressed twice", diagtest.Site{Handler: func() http.HandlerFunc {
			twice := zipped(t, zipped(t, good))
			return func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				serve(twice)(w, r)
			}
		}()}, "warning compression.nested"},
		{"expired", diagtest.Site{Cert: diagtest.CertExpired}, "invalid certificate.expired"},
		{"not yet valid", diagtest.Site{Cert: diagtest.CertNotYetValid}, "invalid certificate.early"},
		{"self-signed", diagtest.Site{Cert: diagtest.CertSelfSigned}, "invalid certificate.untrusted"},
		{"incomplete", diagtest.Site{Cert: diagtest.CertMissingIntermediate}, "invalid certificate.untrusted"},
		{"wrong name", diagtest.Site{Cert: diagtest.CertWrongName}, "invalid certificate.name"},
		{"no certificate", diagtest.Site{TLS: &tls.Config{}}, "invalid tls.handshake"},
		{"old TLS", diagtest.Site{TLS: old, HTTP1: true}, "warning tls.version"},
		{"no HTTP", diagtest.Site{Handler: broken{}, HTTP1: true}, "invalid protocol"},
	}
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			site := tt.site
			site.Host = "brand.example.com"
			if site.Handler == nil {
				site.Handler = serve(good)
			}
			if site.TLS == old {
				cert := w.Certificate(diagtest.CertSpec{Names: []string{site.Host}})
				site.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: old.MinVersion, MaxVersion: old.MaxVersion, Time: w.Now}
			}
			w.Site(site)
			w.HTTP(site.Host, redirect("/end"))
			judge(t, w, byURL(address), tt.want, &seen)
		})
	}
	t.Run("expiring", func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.HTTPS("brand.example.com", serve(good))
		w.Advance(50 * 24 * time.Hour)
		judge(t, w, byURL(address), "warning certificate.expiring", &seen)
	})
	t.Run("no address", func(t *testing.T) {
		judge(t, diagtest.NewWorld(t), byURL(address), "invalid host.nxdomain", &seen)
	})
	t.Run("about to expire", func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.HTTPS("brand.example.com", serve(good))
		w.Advance(57 * 24 * time.Hour)
		judge(t, w, byURL(address), "invalid certificate.expires_now", &seen)
	})
	for zone, want := range map[string]string{"TXT x": "host.address", "A 10.0.0.1": "host.blocked"} {
		t.Run(want, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.Zone("brand.example.com. " + zone)
			judge(t, w, byURL(address), "invalid "+want, &seen)
		})
	}
	t.Run("no web server", func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.Zone("brand.example.com. A 192.0.2.77")
		judge(t, w, byURL(address), "invalid connection", &seen)
	})
	return seen
}

// broken is a web server that closes connections.
type broken struct{}

func (broken) ServeHTTP(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func judge(t *testing.T, w *diagtest.World, request Request, want string, seen *diagtest.Seen) *Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	r, err := Lookup(ctx, w.Env(), request)
	require.NoError(t, err)
	require.Equal(t, want, strings.TrimSpace(fmt.Sprintf("%s %s", r.State, join(seen.Add(r.Verdict)))), "%+v", r.Findings)
	return r
}

const soa = "example.com. SOA ns1.example.com. hostmaster.example.com. 1 7200 900 1209600 300\n"

// recordVerdicts judges records.
func recordVerdicts(t *testing.T) []diag.Verdict {
	tests := []struct{ name, zone, want string }{
		{"good", soa + bimi, "valid"},
		{"no record", soa, "missing record.missing"},
		{"no domain", "", "missing domain.nxdomain"},
		{"two records", soa + bimi + strings.Replace(bimi, "logo", "other", 1), "invalid record.multiple"},
		{"declined", soa + `default._bimi.example.com. TXT "v=BIMI1; l=; a="`, "valid record.declined"},
		{"http", soa + strings.Replace(bimi, "https", "http", 1), "invalid record.http"},
		{"PNG", soa + strings.Replace(bimi, ".svg", ".png", 1), "invalid record.address"},
		{"no l", soa + `default._bimi.example.com. TXT "v=BIMI1; a=https://example.com/a.pem"`, "invalid record.address"},
	}
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run("record: "+tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			if w.Zone(tt.zone); tt.zone != "" {
				w.HTTPS("brand.example.com", serve(good))
			}
			r := judge(t, w, byName, tt.want, &seen)
			require.False(t, r.Partial)
			if !strings.HasPrefix(tt.want, "valid") || tt.name == "declined" {
				require.False(t, r.TinyPSCompliant)
				for _, c := range r.Passed {
					require.Regexp(t, `^bimi\.logo\.(record|domain)\.`, c.Code, "nothing else was examined")
				}
			}
		})
	}
	return seen
}

// unknownVerdicts judges worlds in which servers do not answer.
func unknownVerdicts(t *testing.T) []diag.Verdict {
	var seen diagtest.Seen
	for name, spoil := range map[string]func(*diagtest.World){
		"record.unknown": func(w *diagtest.World) { w.Break("default._bimi.example.com", dns.RcodeServerFailure) },
		"unknown":        func(w *diagtest.World) { w.Behave("192.0.2.1:443", diagtest.Hangs) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := diagtest.NewWorld(t)
				w.Zone(soa + bimi)
				w.HTTPS("brand.example.com", serve(good))
				spoil(w)
				r := judge(t, w, byName, "unknown "+name, &seen)
				require.True(t, r.Partial && r.Score == nil)
			})
		})
	}
	return seen
}

func TestUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.Silence("*.")
		for _, request := range []Request{byName, byURL(address)} {
			_, err := Lookup(t.Context(), w.Env(), request)
			require.ErrorIs(t, err, diag.ErrUnavailable)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := Lookup(ctx, w.Env(), byName)
		require.ErrorIs(t, err, context.Canceled)
	})
}

// The record takes one round trip, the address of the host the next; then a connection is made.
func TestRoundTrips(t *testing.T) {
	trips := diagtest.RoundTrips(t, func(w *diagtest.World) {
		w.Zone(soa + bimi)
		w.HTTPS("brand.example.com", serve(good))
	}, func(ctx context.Context, env *diag.Env) {
		r, err := Lookup(ctx, env, byName)
		require.NoError(t, err)
		require.Equal(t, diag.Valid, r.State)
	})
	require.Equal(t, 3, trips)
}
