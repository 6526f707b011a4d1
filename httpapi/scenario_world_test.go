package httpapi

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// scenarioWorld is the Internet of a scenario, in the words of its file.
type scenarioWorld struct {
	Now      time.Time                `json:"now"`
	Zone     string                   `json:"zone"`
	ServFail []string                 `json:"servfail"`
	Silent   []string                 `json:"silent"`
	Signed   []string                 `json:"signed"`
	Bogus    []string                 `json:"bogus"`
	SignedBy map[string]scenarioKeys  `json:"signed_by"`
	Answers  []scenarioAnswer         `json:"answers"`
	Servers  map[string]scenarioNS    `json:"servers"`
	HTTPS    map[string]scenarioSite  `json:"https"`
	HTTP     map[string]scenarioSite  `json:"http"`
	SMTP     map[string]*scenarioMail `json:"smtp"`

	RDAP  map[string]json.RawMessage `json:"rdap"`
	WHOIS map[string]string          `json:"whois"`
}

type scenarioMail struct {
	Banner         string   `json:"banner"`
	Extensions     []string `json:"extensions"`
	Certificate    string   `json:"certificate"`
	AuthBeforeTLS  []string `json:"auth_before_tls"`
	AuthAfterTLS   []string `json:"auth_after_tls"`
	EHLO           string   `json:"ehlo"`
	RCPT           string   `json:"rcpt"`
	STARTTLS       string   `json:"starttls"`
	Refused        bool     `json:"refused"`
	Silent         bool     `json:"silent"`
	tlsCertificate tls.Certificate
}

var scenarioStart = time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)

// build makes the world. Zones are delegated validly from a signed root; addresses without a service refuse
// connections.
func (s *scenarioWorld) build(t testing.TB) *diagtest.World {
	one := *s // several worlds of one file may be made concurrently, each with certificates of its own
	one.SMTP = map[string]*scenarioMail{}
	for host, mail := range s.SMTP {
		one.SMTP[host] = new(*mail)
	}
	s = &one
	w := diagtest.NewWorld(t)
	w.SetTime(scenarioStart)
	if !s.Now.IsZero() {
		w.SetTime(s.Now)
	}
	for _, host := range sortedKeys(s.SMTP) { // before the zone, which may hold their fingerprints
		s.SMTP[host].tlsCertificate = w.Certificate(diagtest.CertSpec{
			Names: []string{host}, Cert: certificateKind(t, s.SMTP[host].Certificate)})
	}
	zone := s.fingerprints(t, w)
	w.Zone(zone)
	names := scenarioNames{t: t, world: w, scenario: s, servers: map[string]*diagtest.Server{}, zone: zone}
	names.open()
	w.ServeZones()
	names.sign()
	names.trouble()
	for _, host := range sortedKeys(s.HTTPS) {
		site := s.HTTPS[host]
		site.open(t, w, host)
	}
	for _, host := range sortedKeys(s.HTTP) {
		site := s.HTTP[host]
		site.openPlain(t, w, host)
	}
	s.register(t, w)
	for _, host := range sortedKeys(s.SMTP) {
		s.SMTP[host].open(w, host)
	}
	return w
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

var placeholder = regexp.MustCompile(`\{\{([a-z0-9-]+):([^}]*)\}\}`)

// fingerprints replaces the placeholders of the zone by hashes of what mail servers present.
func (s *scenarioWorld) fingerprints(t testing.TB, w *diagtest.World) string {
	return placeholder.ReplaceAllStringFunc(s.Zone, func(found string) string {
		parts := placeholder.FindStringSubmatch(found)
		server := s.SMTP[parts[2]]
		require.NotNil(t, server, "%s: there is no such mail server", found)
		leaf := server.tlsCertificate.Leaf
		var hashed []byte
		switch parts[1] {
		case "sha256-spki":
			hashed = leaf.RawSubjectPublicKeyInfo
		case "sha256-cert":
			hashed = leaf.Raw
		case "sha256-issuer":
			hashed = leaf.Raw // of a certificate that signed itself
			if chain := server.tlsCertificate.Certificate; len(chain) > 1 {
				hashed = chain[1]
			}
		default:
			require.Fail(t, "unknown placeholder", found)
		}
		sum := sha256.Sum256(hashed)
		return hex.EncodeToString(sum[:])
	})
}

// privateKeys replaces the placeholders of a request by private keys in PEM, as text inside JSON.
func privateKeys(t testing.TB, request []byte) []byte {
	return placeholder.ReplaceAllFunc(request, func(found []byte) []byte {
		parts := placeholder.FindStringSubmatch(string(found))
		require.Equal(t, "private-key-pem", parts[1], "unknown placeholder %s", found)
		text, err := json.Marshal(string(privateKey(t, parts[2])))
		require.NoError(t, err)
		return text[1 : len(text)-1]
	})
}

func privateKey(t testing.TB, form string) []byte {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	block := &pem.Block{Type: form + " PRIVATE KEY"}
	switch form {
	case "PKCS8":
		block.Type = "PRIVATE KEY"
		block.Bytes, err = x509.MarshalPKCS8PrivateKey(ec)
	case "EC":
		block.Bytes, err = x509.MarshalECPrivateKey(ec)
	case "RSA":
		var key *rsa.PrivateKey
		if key, err = rsa.GenerateKey(rand.Reader, 2048); err == nil {
			block.Bytes = x509.MarshalPKCS1PrivateKey(key)
		}
	default:
		require.Fail(t, "unknown form of a private key", form)
	}
	require.NoError(t, err)
	return pem.EncodeToMemory(block)
}

// open starts a mail server, unless it refuses connections.
func (m *scenarioMail) open(w *diagtest.World, host string) {
	if m.Refused {
		return
	}
	s := diagtest.SMTP{
		Host: host, TLS: tlsOf(w, m.tlsCertificate),
		NoStartTLS: true, Encrypted: []string{}, Replies: map[string]string{},
	}
	for _, e := range m.Extensions {
		if strings.EqualFold(e, "STARTTLS") {
			s.NoStartTLS = false
			continue
		}
		s.Extensions, s.Encrypted = append(s.Extensions, e), append(s.Encrypted, e)
	}
	if len(m.AuthBeforeTLS) > 0 {
		s.Extensions = append(s.Extensions, "AUTH "+strings.Join(m.AuthBeforeTLS, " "))
	}
	if len(m.AuthAfterTLS) > 0 {
		s.Encrypted = append(s.Encrypted, "AUTH "+strings.Join(m.AuthAfterTLS, " "))
	}
	replies := map[string]string{"CONNECT": m.Banner, "EHLO": m.EHLO, "RCPT": m.RCPT, "STARTTLS": m.STARTTLS}
	for command, line := range replies {
		if line != "" && line != "250" { // the code alone: as usual
			s.Replies[command] = line
		}
	}
	w.SMTP(s)
	if m.Silent {
		w.Behave(host+":25", diagtest.Hangs)
	}
}
