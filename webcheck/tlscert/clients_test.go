package tlscert

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"
	"testing/synctest"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/webcheck/internal/clients"
	"github.com/diagkit/diagkit/webcheck/internal/probe"
	"github.com/diagkit/diagkit/webcheck/tlscert/tlscerttest"
	"github.com/stretchr/testify/require"
)

// behind opens the host with a server of crypto/tls behind a box.
func (s setup) behind(box tlscerttest.Middlebox, change ...func(*tls.Config)) {
	cert, key := s.a.public.issue(s.t, leaf(nil))
	config := &tls.Config{Time: s.w.Now, Certificates: []tls.Certificate{{
		PrivateKey: key, Certificate: [][]byte{cert.Raw, s.a.public.cert.Raw},
	}}}
	for _, c := range change {
		c(config)
	}
	box.Server = func(conn net.Conn) {
		defer conn.Close()
		server := tls.Server(conn, config)
		if server.Handshake() == nil {
			server.Read(make([]byte, 1)) // until the client leaves
		}
	}
	s.w.Serve("192.0.2.10:443", box.Serve)
}

func only12(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }

func without(properties ...probe.Property) tlscerttest.Middlebox {
	return tlscerttest.Middlebox{Dropped: properties}
}

// silently lets a box say nothing instead of closing the connection.
func silently(box tlscerttest.Middlebox) tlscerttest.Middlebox {
	box.Silent = true
	return box
}

// clientCases are about who can connect.
var clientCases = []testCase{
	{name: "a box in front that takes everything", setup: func(s setup) { s.behind(tlscerttest.Middlebox{}) },
		state: diag.Valid},
	{name: "large messages are dropped", setup: func(s setup) { s.behind(tlscerttest.Middlebox{MaxOctets: 1000}) },
		codes: codes("tls.handshake.large_hello"), state: diag.Bad},
	{name: "large messages are ignored",
		setup: func(s setup) { s.behind(silently(tlscerttest.Middlebox{MaxOctets: 1000})) },
		codes: codes("tls.handshake.large_hello"), state: diag.Bad},
	{name: "only the first segment is read", setup: func(s setup) { s.behind(tlscerttest.Middlebox{OneSegment: true}) },
		codes: codes("tls.handshake.large_hello"), state: diag.Bad},
	{name: "only the first segment is read, and a record has to be whole",
		setup: func(s setup) { s.behind(tlscerttest.Middlebox{OneSegment: true, OneRecord: true}) },
		codes: codes("tls.handshake.large_hello"), state: diag.Bad},
	{name: "large messages are dropped, TLS 1.2",
		setup: func(s setup) { s.behind(tlscerttest.Middlebox{MaxOctets: 1400}, only12) },
		codes: codes("tls.handshake.large_hello", "tls.version.tls13"), state: diag.Bad},
	{name: "ALPN", setup: func(s setup) { s.behind(without(probe.Protocols)) }, codes: codes("tls.handshake.alpn"),
		state: diag.Bad},
	{name: "ALPN, ignored", setup: func(s setup) { s.behind(silently(without(probe.Protocols))) },
		codes: codes("tls.handshake.alpn"), state: diag.Bad},
	{name: "another application protocol",
		setup: func(s setup) {
			s.behind(tlscerttest.Middlebox{}, func(c *tls.Config) { c.NextProtos = []string{"smtp"} })
		},
		codes: codes("tls.handshake.alpn"), state: diag.Bad},
	{name: "TLS 1.3 in the offer", setup: func(s setup) { s.behind(without(probe.NewVersion), only12) },
		codes: codes("tls.handshake.tls13_hello", "tls.version.tls13"), state: diag.Bad},
	{name: "TLS 1.3 in the offer, ignored",
		setup: func(s setup) { s.behind(silently(without(probe.NewVersion)), only12) },
		codes: codes("tls.handshake.tls13_hello", "tls.version.tls13"), state: diag.Bad},
	{name: "post-quantum key shares, ignored", setup: func(s setup) { s.behind(silently(without(probe.KeyShare))) },
		codes: codes("tls.handshake.unknown_values"), state: diag.Bad},
	{name: "GREASE and large messages, ignored", setup: func(s setup) {
		s.behind(silently(tlscerttest.Middlebox{MaxOctets: 800, Dropped: []probe.Property{probe.Reserved}}))
	}, codes: codes("tls.handshake.large_hello", "tls.handshake.unknown_values"), state: diag.Bad},
	{name: "GREASE", setup: func(s setup) { s.behind(without(probe.Reserved)) },
		codes: codes("tls.handshake.unknown_values"), state: diag.Bad},
	{name: "new extensions", setup: func(s setup) { s.behind(silently(without(probe.Extensions))) },
		codes: codes("tls.handshake.unknown_values"), state: diag.Bad},
	{name: "post-quantum key shares", setup: func(s setup) { s.behind(without(probe.KeyShare)) },
		codes: codes("tls.handshake.unknown_values"), state: diag.Bad},

	{name: "TLS 1.3 only", setup: func(s setup) {
		s.serve(nil, func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 })
	}, codes: codes("tls.client.old"), state: diag.Valid},
	{name: "RSA key exchange only", setup: func(s setup) {
		s.rsa(func(c *tls.Config) { only12(c); c.CipherSuites = []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256} })
	}, codes: codes("tls.cipher.forward_secrecy", "tls.version.tls13"), state: diag.Bad},
	{name: "CBC with SHA-256 only", setup: func(s setup) {
		s.rsa(func(c *tls.Config) { only12(c); c.CipherSuites = []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256} })
	}, codes: codes("tls.cipher.aead", "tls.version.tls13"), state: diag.Bad},
	{name: "CBC with SHA-1 only", setup: func(s setup) {
		s.rsa(func(c *tls.Config) { only12(c); c.CipherSuites = []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA} })
	}, codes: codes("tls.cipher.aead", "tls.version.tls13"), state: diag.Warned},
	{name: "P-521 only", setup: func(s setup) {
		s.serve(nil, func(c *tls.Config) { c.CurvePreferences = []tls.CurveID{tls.CurveP521} })
	}, codes: codes("tls.client.current", "tls.client.old"), state: diag.Bad},
	{name: "an Ed25519 key", setup: func(s setup) {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		require.NoError(s.t, err)
		s.site(key, []*x509.Certificate{s.a.public.issueFor(s.t, leaf(nil), key), s.a.public.cert})
	}, codes: codes("tls.client.current", "tls.client.old"), state: diag.Bad},
}

// rsa opens the host with a certificate with an RSA key.
func (s setup) rsa(change ...func(*tls.Config)) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(s.t, err)
	s.site(key, []*x509.Certificate{s.a.public.issueFor(s.t, leaf(nil), key), s.a.public.cert}, change...)
}

// The report says which clients connect and how, why others fail, and who depends on what.
func TestClients(t *testing.T) {
	a := newAuthorities(t)
	byName := func(r *Report) map[string]Client {
		m := map[string]Client{}
		for _, c := range r.Clients {
			m[c.Name] = c
		}
		return m
	}
	r := check(t, a, "", nil, func(s setup) { s.serve(nil) })
	require.Len(t, r.Clients, len(clients.Families()))
	require.Equal(t, Client{Name: "Chrome 137", Current: true, Connects: new(true), Version: "TLS 1.3",
		CipherSuite: "TLS_AES_128_GCM_SHA256", Group: "X25519MLKEM768"}, byName(r)["Chrome 137"])
	require.Equal(t, Client{Name: "Android 7.0", Connects: new(true), Version: "TLS 1.2",
		CipherSuite: "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", Group: "P-256"}, byName(r)["Android 7.0"])
	require.Contains(t, r.IfDisabled.TLS12, "Java 8u161")
	require.Contains(t, r.IfDisabled.Classical, "Windows 11")
	require.Nil(t, r.IfDisabled.RSA)

	r = check(t, a, "", nil, func(s setup) { s.behind(tlscerttest.Middlebox{MaxOctets: 1000}) })
	require.Equal(t, Client{Name: "Chrome 137", Current: true, Connects: new(false), Reason: clients.LargeHello},
		byName(r)["Chrome 137"])
	require.True(t, *byName(r)["Windows 11"].Connects)
	require.True(t, *r.Trusted, "the certificate is seen by a client that sends less")
	require.Contains(t, r.Findings[0].Detail,
		"of 1000 octets. With 1400 octets: the server closed the connection. Chrome 137,")

	r = check(t, a, "", func(r *Request) { r.CheckVersions = new(false) }, func(s setup) { s.serve(nil) })
	require.Nil(t, r.Clients)
}

// The advice for a server that common clients cannot connect to is to enable what is missing, and nothing that it has.
func TestUncommon(t *testing.T) {
	a := newAuthorities(t)
	for want, server := range map[string]tlscerttest.Server{
		"Enable cipher suites with ECDHE and AES-GCM;": suites12(0xC09E),
		"Enable the groups X25519 and P-256.": {Suites: map[probe.Version][]uint16{probe.TLS12: {0xC02F, 0xC013}},
			Groups: []probe.Group{26}},
		"Look for the reason in the log of the server": suites12(0xC02F, 0xC013),
	} {
		r := check(t, a, "", nil, func(s setup) { s.fake(server) })
		require.Equal(t, diag.Code("tls.handshake.uncommon"), r.Findings[0].Code)
		require.Contains(t, r.Findings[0].Advice, want)
		r = check(t, a, "", func(r *Request) { r.CheckVersions = new(false) }, func(s setup) { s.fake(server) })
		require.Contains(t, r.Findings[0].Advice, want)
		require.Nil(t, r.Clients)
	}
}

// One address of two may be the one that drops messages.
func TestLargeHelloAtOneAddress(t *testing.T) {
	a := newAuthorities(t)
	r := check(t, a, "example.com. A 192.0.2.10\nexample.com. A 192.0.2.11\n", nil, func(s setup) {
		s.serve(nil)
		s.behind(tlscerttest.Middlebox{MaxOctets: 1000})
	})
	require.Equal(t, diag.Code("tls.handshake.large_hello"), r.Findings[0].Code)
	require.Contains(t, r.Findings[0].Detail, "192.0.2.10")
	require.Equal(t, clients.LargeHello, r.Clients[0].Reason)
}

// A server without application protocols in common says so, and the advice is another one.
func TestApplicationProtocols(t *testing.T) {
	a := newAuthorities(t)
	r := check(t, a, "", nil, func(s setup) {
		s.behind(tlscerttest.Middlebox{}, func(c *tls.Config) { c.NextProtos = []string{"smtp"} })
	})
	require.Contains(t, r.Findings[0].Advice, "Add h2 and http/1.1")
}

// Sessions are resumed in TLS 1.2 and 1.3 where the server has tickets.
func TestResumption(t *testing.T) {
	a := newAuthorities(t)
	for name, tt := range map[string]struct {
		config func(*tls.Config)
		want   bool
	}{
		"TLS 1.3": {func(*tls.Config) {}, true}, "TLS 1.2": {only12, true},
		"TLS 1.3 without": {func(c *tls.Config) { c.SessionTicketsDisabled = true }, false},
		"TLS 1.2 without": {func(c *tls.Config) { only12(c); c.SessionTicketsDisabled = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := check(t, a, "", nil, func(s setup) { s.behind(tlscerttest.Middlebox{}, tt.config) })
				require.Equal(t, tt.want, *r.Features.TicketResumption)
			})
		})
	}
	r := check(t, a, "", nil, func(s setup) { s.fake(suites12(0xC02F)) })
	require.Nil(t, r.Features.TicketResumption)
}

// A message that is too long for clients has a code of its own, and the reply an error.
func TestOversized(t *testing.T) {
	a := newAuthorities(t)
	r := check(t, a, "", nil, func(s setup) {
		server := suites12(0xC02F)
		server.ChainSize = 1<<24 - 1
		s.fake(server)
	})
	require.NotZero(t, r.Error)
	require.NotEmpty(t, r.Error.Code)
	for _, c := range r.Clients {
		require.True(t, c.Connects == nil || !*c.Connects, "%s has to read the message as well", c.Name)
	}
}
