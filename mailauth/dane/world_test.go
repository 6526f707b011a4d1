package dane

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// zones are two domains; each test specifies which of them is signed.
const zones = `
example.com. SOA ns.example.com. hostmaster.example.com. 1 7200 3600 1209600 300
example.com. NS  ns.example.com.
ns.example.com. A 192.0.2.53
example.net. SOA ns.example.net. hostmaster.example.net. 1 7200 3600 1209600 300
example.net. NS  ns.example.net.
ns.example.net. A 198.51.100.53
`

const (
	oneMX = "example.com. MX 10 mx.example.com.\nmx.example.com. A 192.0.2.25\n"
	at    = "_25._tcp.mx.example.com. TLSA "
	other = "3 1 1 abababababababababababababababababababababababababababababababab\n" // of some other key
)

// A setting is a world with a mail server, and what is wrong with it.
type setting struct {
	zone   string            // in which {key}, {cert}, {issuer}, {rootkey} and {key512} are digests of what the server presents
	signed string            // zones that are signed, separated by blanks; empty means example.com.
	cert   diagtest.CertSpec // of the mail server
	tls    func(tls.Certificate) *tls.Config
	smtp   diagtest.SMTP // the rest of the mail server
	down   bool          // there is no mail server
	spoil  func(*diagtest.World)
	env    func(*diag.Env)
	req    Request
}

// world makes the world of a setting.
func (s *setting) world(t testing.TB) (*diagtest.World, *diag.Env) {
	w := diagtest.NewWorld(t)
	s.build(w)
	env := w.NewEnv()
	if s.env != nil {
		s.env(env)
	}
	return w, env
}

func (s *setting) build(w *diagtest.World) {
	host := s.smtp.Host
	if host == "" {
		host = "mx.example.com"
	}
	if s.cert.Names == nil {
		s.cert.Names = []string{host}
	}
	cert := w.Certificate(s.cert)
	issuer := cert.Certificate[len(cert.Certificate)-1]
	root, _ := w.Authorities()
	w.Zone(zones + strings.NewReplacer(
		"{key}", digest(cert.Leaf.RawSubjectPublicKeyInfo), "{cert}", digest(cert.Leaf.Raw), "{issuer}", digest(issuer),
		"{rootkey}", digest(root.RawSubjectPublicKeyInfo), "{key512}", digest512(cert.Leaf.RawSubjectPublicKeyInfo),
		"{keydata}", hex.EncodeToString(cert.Leaf.RawSubjectPublicKeyInfo),
	).Replace(s.zone))
	w.ServeZones()
	w.Sign(".", diagtest.Signing{})
	for zone := range strings.FieldsSeq(strings.TrimSpace(s.signed + " " + map[bool]string{true: "example.com."}[s.signed == ""])) {
		if zone != "none" {
			w.Sign(zone, diagtest.Signing{})
		}
	}
	if !s.down {
		server := s.smtp
		server.Host, server.TLS = host, &tls.Config{Certificates: []tls.Certificate{cert}, Time: w.Now}
		if s.tls != nil {
			server.TLS = s.tls(cert)
		}
		w.SMTP(server)
	}
	if s.spoil != nil {
		s.spoil(w)
	}
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func digest512(b []byte) string {
	sum := sha512.Sum512(b)
	return hex.EncodeToString(sum[:])
}

// lookup examines example.com in the world of a setting.
func (s *setting) lookup(t *testing.T) *Report {
	_, env := s.world(t)
	return s.ask(t, env)
}

func (s *setting) ask(t *testing.T, env *diag.Env) *Report {
	req := s.req
	req.Domain = diag.MustDomain("example.com")
	r, err := Lookup(t.Context(), env, req)
	require.NoError(t, err)
	return r
}

// A stripping resolver removes all DNSSEC records.
type stripping struct{ diag.Resolver }

func (r stripping) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	plain := new(dns.Msg).SetQuestion(q.Question[0].Name, q.Question[0].Qtype)
	m, err := r.Resolver.Exchange(ctx, plain)
	if err != nil {
		return nil, err
	}
	m = m.Copy()
	m.Id, m.AuthenticatedData = q.Id, false
	if t := q.Question[0].Qtype; t == dns.TypeDNSKEY || t == dns.TypeDS {
		m.Answer = nil
	}
	return m, nil
}

func hexOf(digits string) ([]byte, error) { return hex.DecodeString(digits) }
