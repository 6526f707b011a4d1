package tlscert

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/webcheck/internal/probe"
	"github.com/diagkit/diagkit/webcheck/tlscert/tlscerttest"
	"github.com/miekg/dns"
	"golang.org/x/crypto/ocsp"
)

// protocolCases are about versions, cipher suites and extensions.
var protocolCases = []testCase{
	{name: "everything obsolete", setup: func(s setup) {
		s.fake(tlscerttest.Server{
			Suites: map[probe.Version][]uint16{
				probe.SSL3: {0x0005}, probe.TLS10: {0x000A, 0x0033, 0x0003}, probe.TLS11: {0x002F},
			}, DHBits: 1024, Compress: true, Bare: true, SSL2: true, ClientOrder: true,
		})
	}, codes: codes("tls.handshake.uncommon", "tls.version.ssl", "tls.version.modern",
		"tls.cipher.export", "tls.cipher.rc4",
		"tls.cipher.dh_broken", "tls.feature.compression", "tls.version.obsolete",
		"tls.cipher.small_block",
		"tls.cipher.aead", "tls.feature.renegotiation", "tls.cipher.static"), state: diag.Bad},
	{name: "TLS 1.0 and 1.2 with protection against fallback", setup: func(s setup) {
		s.fake(tlscerttest.Server{
			Suites: map[probe.Version][]uint16{probe.TLS10: {0xC013}, probe.TLS12: {0xC02F, 0xC013, 0x009C}},
			Groups: []probe.Group{23}, Fallback: true,
		})
	}, codes: uncommon("tls.version.obsolete", "tls.version.tls13", "tls.cipher.static"), state: diag.Bad},
	{name: "client certificates", setup: func(s setup) {
		s.serve(nil, func(c *tls.Config) { c.ClientAuth, c.MaxVersion = tls.RequireAnyClientCert, tls.VersionTLS12 })
	}, codes: codes("tls.handshake.client_certificate", "tls.version.tls13"), state: diag.Valid},
	{name: "client certificates in TLS 1.3", setup: func(s setup) {
		s.serve(nil, func(c *tls.Config) { c.ClientAuth, c.MinVersion = tls.RequireAnyClientCert, tls.VersionTLS13 })
	}, codes: codes("tls.handshake.client_certificate"), state: diag.Valid},
	{name: "optional client certificates", setup: func(s setup) {
		s.serve(nil, func(c *tls.Config) { c.ClientAuth = tls.RequestClientCert })
	}, codes: codes("tls.handshake.client_certificate"), state: diag.Valid},
	{name: "no group for older clients", setup: func(s setup) {
		s.serve(nil, func(c *tls.Config) { c.CurvePreferences = []tls.CurveID{tls.X25519MLKEM768} })
	}, codes: codes("tls.group.hybrid_only", "tls.client.old"), state: diag.Bad},
	{name: "NULL", setup: func(s setup) { s.fake(suites12(0x003B, 0x003C)) },
		codes: codes("tls.cipher.null", "tls.handshake.uncommon", "tls.cipher.forward_secrecy", "tls.cipher.aead",
			"tls.version.tls13"), state: diag.Bad},
	{name: "anonymous", setup: func(s setup) { s.fake(suites12(0xC018)) },
		codes: codes("tls.certificate.missing", "tls.cipher.anonymous", "tls.version.tls13"), state: diag.Bad},
	{name: "a prime of 1536 bits",
		setup: func(s setup) { server := suites12(0x009E); server.DHBits = 1536; s.fake(server) },
		codes: uncommon("tls.cipher.dh_small", "tls.version.tls13"), state: diag.Bad},
	{name: "a certificate that nobody can see", setup: func(s setup) {
		s.fake(tlscerttest.Server{Suites: map[probe.Version][]uint16{probe.TLS13: {0x1304}}, Groups: []probe.Group{23}})
	}, codes: uncommon("tls.certificate.unread"), state: diag.Bad},
	{name: "a server that stops to answer", setup: func(s setup) {
		server, n := suites12(0xC02F), make(chan struct{}, 16)
		cert, _ := s.a.public.issue(s.t, leaf(nil))
		server.Chain = [][]byte{cert.Raw, s.a.public.cert.Raw}
		s.w.Serve("192.0.2.10:443", func(conn net.Conn) {
			select {
			case n <- struct{}{}:
				server.Serve(conn)
			default:
				conn.Close()
			}
		})
	}, codes: nil, state: ""},
}

// issuanceCases are about what logs, authorities and CAA records say.
var issuanceCases = []testCase{
	{name: "one timestamp", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) { c.ExtraExtensions = []pkix.Extension{embedded(1)} })
	}, codes: codes("tls.sct.missing"), state: diag.Bad},
	{name: "broken timestamps", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) {
			c.ExtraExtensions = []pkix.Extension{{Id: embedded(1).Id, Value: octets([]byte{0, 9, 1})}}
		})
	}, codes: codes("tls.sct.missing", "tls.sct.invalid"), state: diag.Bad},
	{name: "must-staple without a staple", setup: func(s setup) {
		s.responder(nil, nil)
		s.serve(func(c *x509.Certificate) {
			c.OCSPServer, c.ExtraExtensions = []string{ocspURL}, append(c.ExtraExtensions, mustStapleExtension)
		})
	}, codes: codes("tls.ocsp.must_staple"), state: diag.Bad},
	{name: "must-staple without a responder", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) {
			c.OCSPServer, c.ExtraExtensions = []string{ocspURL}, append(c.ExtraExtensions, mustStapleExtension)
			c.CRLDistributionPoints = []string{s.a.public.publish(s.t, nil)}
		})
	}, codes: codes("tls.ocsp.must_staple", "tls.revocation.service"), state: diag.Bad},
	{name: "must-staple without OCSP", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) { c.ExtraExtensions = append(c.ExtraExtensions, mustStapleExtension) })
	}, codes: codes("tls.ocsp.impossible"), state: diag.Bad},
	{name: "broken staple", setup: func(s setup) { s.stapled(nil, func(b []byte) []byte { return b[:len(b)/2] }) },
		codes: codes("tls.ocsp.invalid"), state: diag.Warned},
	{name: "revoked", setup: func(s setup) {
		s.stapled(func(r *ocsp.Response) { r.Status, r.RevokedAt = ocsp.Revoked, start.AddDate(0, 0, -1) }, nil)
	}, codes: codes("tls.ocsp.revoked"), state: diag.Bad},
	{name: "revoked, by the issuer with its certificate", setup: func(s setup) {
		s.stapled(func(r *ocsp.Response) {
			r.Status, r.RevokedAt, r.Certificate = ocsp.Revoked, start.AddDate(0, 0, -1), s.a.public.cert
		}, nil)
	}, codes: codes("tls.ocsp.revoked"), state: diag.Bad},
	{name: "good, by the issuer with its certificate", setup: func(s setup) {
		s.stapled(func(r *ocsp.Response) { r.Certificate = s.a.public.cert }, nil)
	}, state: diag.Valid},
	{name: "signed by a responder of the issuer", setup: func(s setup) {
		s.delegated(s.a.public, x509.ExtKeyUsageOCSPSigning)
	}, state: diag.Valid},
	{name: "signed by another certificate of the issuer", setup: func(s setup) {
		s.delegated(s.a.public, x509.ExtKeyUsageServerAuth)
	}, codes: codes("tls.ocsp.invalid"), state: diag.Warned},
	{name: "signed by a responder of another authority", setup: func(s setup) {
		s.delegated(s.a.root, x509.ExtKeyUsageOCSPSigning)
	}, codes: codes("tls.ocsp.invalid"), state: diag.Warned},
	{name: "staple from the future", setup: func(s setup) {
		s.stapled(func(r *ocsp.Response) { r.ThisUpdate, r.NextUpdate = start.AddDate(0, 0, 2), start.AddDate(0, 0, 9) }, nil)
	}, codes: codes("tls.ocsp.outdated"), state: diag.Warned},
	{name: "outdated staple", setup: func(s setup) {
		s.stapled(func(r *ocsp.Response) { r.NextUpdate = start.Add(-time.Minute) }, nil)
	}, codes: codes("tls.ocsp.outdated"), state: diag.Warned},
	{name: "unknown to the authority", setup: func(s setup) {
		s.stapled(func(r *ocsp.Response) { r.Status = ocsp.Unknown }, nil)
	}, codes: codes("tls.ocsp.status"), state: diag.Warned},

	{name: "another authority in CAA", zone: "example.com. A 192.0.2.10\nexample.com. CAA 0 issue \"pki.goog\"\n",
		setup: func(s setup) { s.serve(nil) }, codes: codes("tls.caa.issuer"), state: diag.Warned},
	{name: "nobody in CAA", zone: "example.com. A 192.0.2.10\nexample.com. CAA 0 issue \";\"\n",
		setup: func(s setup) { s.serve(nil) }, codes: codes("tls.caa.issuer"), state: diag.Warned},
	{name: "syntax error in CAA",
		zone:  "example.com. A 192.0.2.10\nexample.com. CAA 0 issue \"lets encrypt\"\nexample.com. CAA 0 issue \"letsencrypt.org\"\n",
		setup: func(s setup) { s.serve(nil) }, codes: codes("tls.caa.syntax"), state: diag.Warned},
	{name: "critical CAA", zone: "example.com. A 192.0.2.10\nexample.com. CAA 128 tbs \"x\"\n",
		setup: func(s setup) { s.serve(nil) }, codes: codes("tls.caa.critical"), state: diag.Warned},
	{name: "CAA lookup fails", setup: func(s setup) {
		s.serve(nil)
		s.w.Fault("example.com.", dns.TypeCAA, diagtest.Fault{Rcode: dns.RcodeServerFailure})
	}, codes: codes("tls.caa.unknown"), state: diag.Valid},
	{name: "no CAA", zone: "example.com. A 192.0.2.10\n", setup: func(s setup) { s.serve(nil) },
		codes: codes(), state: diag.Valid},
}
