package resolver_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// certified is the time at which the certificates of these tests begin; they last for a day.
var certified = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// certificate issues a certificate to itself for a name and the loopback address.
func certificate(t *testing.T, name string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    certified, NotAfter: certified.AddDate(0, 0, 1),
		DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, roots
}

// serveTLS starts a DNS-over-TLS server on the loopback interface.
func serveTLS(t *testing.T, cert tls.Certificate) *fake {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
	require.NoError(t, err)
	f := &fake{addr: netip.MustParseAddrPort(listener.Addr().String())}
	var group sync.WaitGroup
	t.Cleanup(group.Wait)
	t.Cleanup(func() { listener.Close() })
	group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			f.mu.Lock()
			f.conns++
			f.mu.Unlock()
			group.Go(func() { f.serveStream(conn, healthy) })
		}
	})
	return f
}

func TestDNSOverTLS(t *testing.T) {
	cert, roots := certificate(t, "dns.example")
	f := serveTLS(t, cert)
	for _, c := range []struct {
		name  string
		host  string // in the certificate, or else wanted
		clock time.Time
		roots *x509.CertPool
		fault string // part of the error; empty if all is well
	}{
		{"by name", "dns.example", certified.Add(time.Hour), roots, ""},
		{"by address", "", certified.Add(time.Hour), roots, ""},
		{"another name", "other.example", certified.Add(time.Hour), roots, "not other.example"},
		{"expired", "dns.example", certified.AddDate(1, 0, 0), roots, "expired"},
		{"not yet valid", "dns.example", certified.AddDate(-1, 0, 0), roots, "not yet valid"},
		{"unknown authority", "dns.example", certified.Add(time.Hour), x509.NewCertPool(), "unknown authority"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := f.server(resolver.DoT)
			server.Name = c.host
			client := newClient(t, server)
			client.Roots, client.Clock = c.roots, func() time.Time { return c.clock }
			if c.fault != "" {
				asked := len(f.all())
				_, err := client.Exchange(t.Context(), question())
				require.ErrorContains(t, err, c.fault)
				assert.Len(t, f.all(), asked, "nothing may be sent to a server that is not the right one")
				return
			}
			connected := f.connections()
			for range 5 {
				requireAnswer(t, t.Context(), client)
			}
			assert.Equal(t, connected+1, f.connections())
		})
	}
}

func TestManyInFlightOverTLS(t *testing.T) {
	cert, roots := certificate(t, "dns.example")
	client := newClient(t, serveTLS(t, cert).server(resolver.DoT))
	client.Roots, client.Clock, client.Timeout = roots, func() time.Time { return certified }, 10*time.Second
	manyQueries(t, client, 50, 10)
}

// serveHTTPS starts a DNS-over-HTTPS server on the loopback interface.
func serveHTTPS(t *testing.T, cert tls.Certificate, answer http.HandlerFunc) resolver.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(answer)
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	addr := netip.MustParseAddrPort(s.Listener.Addr().String())
	return resolver.Server{
		Transport: resolver.DoH, Name: "dns.example", Addrs: []netip.Addr{addr.Addr()}, Port: addr.Port(), Path: "/ask",
	}
}

// answerHTTP answers like a healthy DoH server.
func answerHTTP(w http.ResponseWriter, r *http.Request, change ...func([]byte) []byte) {
	body, _ := io.ReadAll(r.Body)
	q := new(dns.Msg)
	if err := q.Unpack(body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	wire := reply(q)
	for _, f := range change {
		wire = f(wire)
	}
	w.Header().Set("Content-Type", "application/dns-message")
	w.Write(wire)
}

func TestDNSOverHTTPS(t *testing.T) {
	cert, roots := certificate(t, "dns.example")
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		fault  string
	}{
		{"good", func(w http.ResponseWriter, r *http.Request) { answerHTTP(w, r) }, ""},
		{"status 500", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			answerHTTP(w, r)
		}, "HTTP status 500"},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, "HTTP status 307"},
		{"HTML", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, "<p>hello")
		}, "text/html"},
		{"no type", func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Content-Type"] = nil
			io.Copy(w, r.Body)
		}, `type ""`},
		{"oversize", func(w http.ResponseWriter, r *http.Request) {
			answerHTTP(w, r, func(wire []byte) []byte { return append(wire, make([]byte, 70000)...) })
		}, "longer than a message can be"},
		{"empty", func(w http.ResponseWriter, r *http.Request) {
			answerHTTP(w, r, func([]byte) []byte { return nil })
		}, "not one to the question"},
		{"another question", func(w http.ResponseWriter, r *http.Request) {
			answerHTTP(w, r, func(wire []byte) []byte { wire[13] ^= 1; return wire })
		}, "not one to the question"},
		{"an identifier", func(w http.ResponseWriter, r *http.Request) {
			answerHTTP(w, r, func(wire []byte) []byte { wire[0] ^= 1; return wire })
		}, "not one to the question"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := newClient(t, serveHTTPS(t, cert, c.answer))
			client.Roots, client.Clock, client.Attempts = roots, func() time.Time { return certified }, 1
			if c.fault == "" {
				requireAnswer(t, t.Context(), client)
				return
			}
			_, err := client.Exchange(t.Context(), question())
			assert.ErrorContains(t, err, c.fault)
		})
	}
}

func TestDNSOverHTTPSRequest(t *testing.T) {
	cert, roots := certificate(t, "dns.example")
	var mu sync.Mutex
	var request *http.Request
	var bodies [][]byte
	peers := map[string]bool{}
	server := serveHTTPS(t, cert, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		request, bodies, peers[r.RemoteAddr] = r, append(bodies, body), true
		mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		w.Header().Set("Age", "50")
		answerHTTP(w, r)
	})
	client := newClient(t, server)
	client.Roots, client.Clock = roots, func() time.Time { return certified }
	var trace resolver.Trace
	for range 3 {
		m, err := client.Exchange(resolver.WithTrace(t.Context(), &trace), question())
		require.NoError(t, err)
		require.Len(t, m.Answer, 1)
		assert.EqualValues(t, 10, m.Answer[0].Header().Ttl, "RFC 8484 section 5.1: the age counts")
	}
	assert.Equal(t, http.MethodPost, request.Method)
	assert.Equal(t, "/ask", request.URL.Path)
	assert.Equal(t, 2, request.ProtoMajor)
	assert.Equal(t, "application/dns-message", request.Header.Get("Content-Type"))
	assert.Equal(t, "application/dns-message", request.Header.Get("Accept"))
	assert.Empty(t, request.Header.Get("User-Agent"))
	assert.Len(t, peers, 1, "one connection serves all")
	for _, body := range bodies {
		assert.Equal(t, []byte{0, 0}, body[:2], "RFC 8484 section 4.1: the identifier is zero")
	}
	for _, step := range trace.Steps() {
		assert.Equal(t, resolver.DoH, step.Transport)
		assert.Equal(t, netip.AddrPortFrom(server.Addrs[0], server.Port), step.Addr)
	}
}

func TestDNSOverHTTPSWrongCertificate(t *testing.T) {
	cert, roots := certificate(t, "other.example")
	client := newClient(t, serveHTTPS(t, cert, func(w http.ResponseWriter, r *http.Request) { answerHTTP(w, r) }))
	client.Roots, client.Clock = roots, func() time.Time { return certified }
	_, err := client.Exchange(t.Context(), question())
	assert.ErrorContains(t, err, "not dns.example")
}

func TestAskOverTLSAndHTTPS(t *testing.T) {
	cert, roots := certificate(t, "dns.example")
	c := &resolver.Client{Roots: roots, Clock: func() time.Time { return certified }}
	for _, server := range []resolver.Server{
		serveTLS(t, cert).server(resolver.DoT),
		serveHTTPS(t, cert, func(w http.ResponseWriter, r *http.Request) { answerHTTP(w, r) }),
	} {
		for range 3 {
			m, err := c.Ask(t.Context(), server, question())
			require.NoError(t, err)
			assert.Len(t, m.Answer, 1)
		}
	}
}
