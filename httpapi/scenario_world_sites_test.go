package httpapi

import (
	"cmp"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/webcheck/tlscert/tlscerttest"
	"github.com/stretchr/testify/require"
)

// scenarioSite is a web site. All but the routes is of HTTPS.
type scenarioSite struct {
	Routes      map[string]scenarioRoute   `json:"routes"`
	Certificate string                     `json:"certificate"`
	NotAfter    time.Time                  `json:"not_after"`
	Names       []string                   `json:"names"`
	Subject     *scenarioSubject           `json:"subject"`
	Issuer      *scenarioSubject           `json:"issuer"`
	MustStaple  bool                       `json:"must_staple"`
	OCSP        string                     `json:"ocsp"`
	CRL         *scenarioCRL               `json:"crl"`
	Cross       bool                       `json:"expired_cross"`
	Second      *scenarioSecond            `json:"second_certificate"`
	Oldest      string                     `json:"oldest_version"`
	Newest      string                     `json:"newest_version"`
	Front       *scenarioFront             `json:"front"`
	Addresses   map[string]scenarioAddress `json:"addresses"`
}

type scenarioRoute struct {
	Status  int                     `json:"status"`
	Headers map[string]headerValues `json:"headers"`
	Body    string                  `json:"body"`
	Base64  []byte                  `json:"body_base64"`
	Raw     []byte                  `json:"raw_base64"` // in place of all else
	DelayMS int                     `json:"delay_ms"`
}

// scenarioSubject is the subject or issuer of a certificate.
type scenarioSubject struct {
	CommonName   string `json:"common_name"`
	Organization string `json:"organization"`
}

func (s *scenarioSubject) name() pkix.Name {
	n := pkix.Name{CommonName: s.CommonName}
	if s.Organization != "" {
		n.Organization = []string{s.Organization}
	}
	return n
}

// scenarioCRL is a list of revoked certificates.
type scenarioCRL struct {
	Host    string `json:"host"`
	Revoked bool   `json:"revoked"`
	Missing bool   `json:"missing"`
}

// scenarioFront is a box in front of the site that drops some messages of clients.
type scenarioFront struct {
	MaxOctets  int                    `json:"max_octets"`
	OneSegment bool                   `json:"one_segment"`
	Drops      []tlscerttest.Property `json:"drops"`
	Silent     bool                   `json:"silent"`
}

// behindPort is the port of a site behind a middlebox.
const behindPort = 10443

// install places the middlebox in front of a site.
func (f *scenarioFront) install(t testing.TB, w *diagtest.World, host string) {
	for _, addr := range w.Host(host) {
		box := tlscerttest.Middlebox{
			MaxOctets: f.MaxOctets, OneSegment: f.OneSegment, Dropped: f.Drops, Silent: f.Silent,
			Server: func(conn net.Conn) {
				defer conn.Close()
				site, err := w.Dial(t.Context(), "tcp", netip.AddrPortFrom(addr, behindPort).String())
				if err != nil {
					return // the world has ended
				}
				var g diag.Group
				g.Go(func() {
					io.Copy(site, conn)
					site.Close()
				})
				io.Copy(conn, site)
				conn.Close()
				g.Wait()
			},
		}
		w.Serve(netip.AddrPortFrom(addr, 443).String(), box.Serve)
	}
}

type scenarioSecond struct {
	Certificate string `json:"certificate"`
}

// scenarioAddress is the behaviour of one address of a host.
type scenarioAddress struct {
	Certificate string `json:"certificate"`
	Refused     bool   `json:"refused"`
	Hangs       bool   `json:"hangs"`
}

// headerValues is one value, or a list of them that are sent one by one.
type headerValues []string

func (h *headerValues) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*h = headerValues{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(h))
}

var scenarioCertificates = map[string]diagtest.Cert{
	"": diagtest.CertGood, "valid": diagtest.CertGood, "expired": diagtest.CertExpired,
	"self_signed": diagtest.CertSelfSigned, "wrong_name": diagtest.CertWrongName,
	"untrusted": diagtest.CertUnknownAuthority, "not_yet_valid": diagtest.CertNotYetValid,
	"incomplete": diagtest.CertMissingIntermediate,
}

func certificateKind(t testing.TB, name string) diagtest.Cert {
	kind, known := scenarioCertificates[name]
	require.True(t, known, "there is no kind of certificate %q", name)
	return kind
}

// versionOf returns the number of a version of TLS, and 0 for the usual one.
func versionOf(t testing.TB, name string) uint16 {
	number, known := map[string]uint16{"": 0, "TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13}[name]
	require.True(t, known, "there is no version %q", name)
	return number
}

func tlsOf(w *diagtest.World, certs ...tls.Certificate) *tls.Config {
	return &tls.Config{Certificates: certs, Time: w.Now}
}

// openPlain opens a site without TLS.
func (s *scenarioSite) openPlain(t testing.TB, w *diagtest.World, host string) {
	routes := scenarioSite{Routes: s.Routes}
	require.Equal(t, routes, *s, "http: %s has something of HTTPS", host)
	w.Site(diagtest.Site{Host: host, Handler: s, Plain: true})
}

// open opens a site with TLS.
func (s *scenarioSite) open(t testing.TB, w *diagtest.World, host string) {
	site := diagtest.Site{Host: host, Handler: s}
	for _, route := range s.Routes {
		site.HTTP1 = site.HTTP1 || route.Raw != nil
	}
	certs := []tls.Certificate{s.certificate(t, w, host, s.Certificate)}
	if s.Second != nil {
		certs = append(certs, w.Certificate(diagtest.CertSpec{
			Names: s.names(host), Cert: certificateKind(t, s.Second.Certificate), Key: scenarioRSA()}))
	}
	site.TLS = tlsOf(w, certs...)
	site.TLS.MinVersion, site.TLS.MaxVersion = versionOf(t, s.Oldest), versionOf(t, s.Newest)
	if s.Front != nil {
		site.Port = behindPort
		s.Front.install(t, w, host)
	}
	w.Site(site)
	if s.CRL != nil {
		s.CRL.serve(w, certs[0].Leaf)
	}
	for _, addr := range sortedKeys(s.Addresses) {
		at := s.Addresses[addr]
		switch https := addr + ":443"; {
		case at.Refused:
			w.Behave(https, diagtest.Refuses)
		case at.Hangs:
			w.Behave(https, diagtest.Hangs)
		default:
			site.Addrs, site.TLS = []string{addr}, tlsOf(w, s.certificate(t, w, host, at.Certificate))
			w.Site(site)
		}
	}
}

func (s *scenarioSite) names(host string) []string {
	if len(s.Names) > 0 {
		return s.Names
	}
	return []string{host}
}

// scenarioRSA is the key of certificates for clients that take no other; it takes long to make.
var scenarioRSA = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err) // of the system's random numbers
	}
	return key
})

// certificate issues a certificate of a kind. One with a subject signed itself, and one with an issuer is untrusted.
func (s *scenarioSite) certificate(t testing.TB, w *diagtest.World, host, kind string) tls.Certificate {
	spec := diagtest.CertSpec{Names: s.names(host), Cert: certificateKind(t, kind), NotAfter: s.NotAfter}
	if s.Subject != nil {
		spec.Cert = diagtest.CertSelfSigned
	}
	if s.Issuer != nil {
		issuer := s.Issuer.name()
		spec.Cert, spec.Issuer = diagtest.CertUnknownAuthority, &issuer
	}
	spec.Change = func(cert *x509.Certificate) {
		if s.Subject != nil {
			cert.Subject = s.Subject.name()
		}
		if s.OCSP != "" {
			cert.OCSPServer = []string{s.OCSP}
		}
		if s.CRL != nil {
			cert.CRLDistributionPoints = []string{"http://" + s.CRL.Host + crlPath}
		}
		if s.MustStaple {
			cert.ExtraExtensions = append(cert.ExtraExtensions, mustStaple)
		}
	}
	cert := w.Certificate(spec)
	if s.Cross {
		cert.Certificate = append(cert.Certificate, w.CrossCertificate(w.Now().AddDate(0, 0, -30)).Raw)
	}
	return cert
}

// mustStaple demands a stapled OCSP response (RFC 7633 section 6).
var mustStaple = pkix.Extension{
	Id: []int{1, 3, 6, 1, 5, 5, 7, 1, 24}, Value: []byte{0x30, 3, 2, 1, 5},
}

const crlPath = "/list.crl"

// serve publishes the list, in which the certificate may be.
func (c *scenarioCRL) serve(w *diagtest.World, cert *x509.Certificate) {
	var revoked []*x509.Certificate
	if c.Revoked {
		revoked = append(revoked, cert)
	}
	list := w.RevocationList(revoked...)
	w.HTTP(c.Host, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.Missing || r.URL.Path != crlPath {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/pkix-crl") // RFC 5280 section 4.2.1.13
		w.Write(list)
	}))
}

// ServeHTTP answers by the routes. It sends no type of content that the file does not name.
func (s *scenarioSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	route, known := s.Routes[r.URL.RequestURI()]
	if !known {
		route, known = s.Routes[r.URL.Path]
	}
	if !known {
		http.NotFound(w, r)
		return
	}
	if route.DelayMS > 0 {
		select {
		case <-time.After(time.Duration(route.DelayMS) * time.Millisecond):
		case <-r.Context().Done():
			panic(http.ErrAbortHandler) // no reply: a client that has gone might still read it
		}
	}
	if route.Raw != nil {
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			c.Write(route.Raw)
			c.Close()
		}
		return
	}
	w.Header()["Content-Type"] = nil
	for _, name := range sortedKeys(route.Headers) {
		w.Header()[http.CanonicalHeaderKey(name)] = route.Headers[name]
	}
	w.WriteHeader(cmp.Or(route.Status, http.StatusOK))
	w.Write(append([]byte(route.Body), route.Base64...)) // a status may allow no body, and a client may have gone
}
