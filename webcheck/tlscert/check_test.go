package tlscert

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/webcheck/internal/lint"
	"github.com/diagkit/diagkit/webcheck/tlscert/tlscerttest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A testCase is a change of a good world, and the expected findings.
type testCase struct {
	name  string
	zone  string // instead of the usual one
	req   func(*Request)
	setup func(setup)
	codes []diag.Code // without those about a missing CAA record
	state diag.State
}

var cases = slices.Concat(reachCases, protocolCases, clientCases, issuanceCases, addressCases, daneCases, revocationCases,
	pathCases, productCases, distrustCases)

// reachCases are about reaching the server and its certificates.
var reachCases = []testCase{
	{name: "all well", setup: func(s setup) { s.serve(nil) }, state: diag.Valid},
	{name: "with a staple", setup: func(s setup) { s.stapled(nil, nil) }, state: diag.Valid},
	{name: "must-staple with a staple", setup: func(s setup) {
		cert, key := s.a.public.issue(s.t, leaf(func(c *x509.Certificate) {
			c.ExtraExtensions = append(c.ExtraExtensions,
				mustStapleExtension)
		}))
		s.site(key, []*x509.Certificate{cert, s.a.public.cert},
			func(c *tls.Config) { c.Certificates[0].OCSPStaple = s.staple(cert, nil) })
	}, state: diag.Valid},
	{name: "without versions", req: func(r *Request) { r.CheckVersions = new(false) },
		setup: func(s setup) { s.serve(nil) }, state: diag.Valid},
	{name: "no such name", zone: "other.example. A 192.0.2.1\nexample.com. SOA ns. h. 1 1 1 1 1\n",
		req:   func(r *Request) { r.Host = MustHost("nothing.example.com") },
		setup: func(setup) {}, codes: codes("tls.host.nxdomain"), state: diag.Bad},
	{name: "no address", zone: "example.com. TXT x\n", setup: func(setup) {}, codes: codes("tls.host.address"),
		state: diag.Bad},
	{name: "failing name servers", setup: func(s setup) {
		for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA} {
			s.w.Fault("example.com.", kind, diagtest.Fault{Rcode: dns.RcodeServerFailure})
		}
	}, codes: codes("tls.host.unknown"), state: diag.Unknown},
	{name: "a private address", zone: "example.com. A 10.0.0.1\n", setup: func(setup) {},
		codes: codes("tls.host.blocked"), state: diag.Bad},
	{name: "refused", setup: func(setup) {}, codes: codes("tls.host.connection"), state: diag.Bad},
	{name: "silent", setup: func(s setup) { s.w.Behave("192.0.2.10:443", diagtest.Unreachable) },
		codes: codes("tls.server.unknown"), state: diag.Unknown},
	{name: "hangs", setup: func(s setup) { s.w.Behave("192.0.2.10:443", diagtest.Hangs) },
		codes: codes("tls.server.unknown"), state: diag.Unknown},
	{name: "closes", setup: func(s setup) { s.w.Behave("192.0.2.10:443", diagtest.Closes) },
		codes: codes("tls.host.handshake"), state: diag.Bad},
	{name: "no TLS", setup: func(s setup) {
		s.w.Serve("192.0.2.10:443", func(conn net.Conn) {
			io.WriteString(conn,
				"220 mail.example.com ESMTP\r\n")
			conn.Close()
		})
	}, codes: codes("tls.handshake.plain"), state: diag.Bad},
	{name: "a message of 16 MB", setup: func(s setup) {
		server := suites12(0xC02F)
		server.ChainSize = 1<<24 - 1
		s.fake(server)
	}, codes: codes("tls.handshake.oversized", "tls.version.tls13"), state: diag.Bad},
	{name: "a flood of records", setup: func(s setup) {
		s.w.Serve("192.0.2.10:443", func(conn net.Conn) {
			go io.Copy(io.Discard, conn)
			for err := error(nil); err == nil; {
				_, err = io.WriteString(conn, "\x16\x03\x03\x00\x00")
			}
		})
	}, codes: codes("tls.host.handshake"), state: diag.Bad},
	{name: "one connection breaks off", setup: func(s setup) {
		cert, key := s.a.public.issue(s.t, leaf(nil))
		config := &tls.Config{Time: s.w.Now, Certificates: []tls.Certificate{{PrivateKey: key, Certificate: [][]byte{cert.Raw,
			s.a.public.cert.Raw}}}}
		first := make(chan struct{}, 1)
		s.w.Serve("192.0.2.10:443", func(conn net.Conn) {
			defer conn.Close()
			select {
			case first <- struct{}{}:
			default:
				tls.Server(conn, config).Handshake()
				io.Copy(io.Discard, conn)
			}
		})
	}, state: diag.Valid},
	{name: "alert", setup: func(s setup) { s.fake(tlscerttest.Server{}) }, codes: codes("tls.host.handshake"),
		state: diag.Bad},

	{name: "expired", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) { c.NotBefore, c.NotAfter = start.AddDate(0, -3, 0), start.AddDate(0, 0, -2) })
	}, codes: codes("tls.certificate.expired"), state: diag.Bad},
	{name: "expired an hour ago", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) { c.NotBefore, c.NotAfter = start.AddDate(0, -3, 0), start.Add(-time.Hour) })
	}, codes: codes("tls.certificate.expired"), state: diag.Bad},
	{name: "not yet valid", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) { c.NotBefore = start.AddDate(0, 0, 2) })
	}, codes: codes("tls.certificate.early"), state: diag.Bad},
	{name: "expires soon", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) { c.NotBefore, c.NotAfter = start.AddDate(0, 0, -80), start.AddDate(0, 0, 9) })
	}, codes: codes("tls.certificate.expiring"), state: diag.Warned},
	{name: "is about to expire", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) { c.NotBefore, c.NotAfter = start.AddDate(0, 0, -80), start.AddDate(0, 0, 5) })
	}, codes: codes("tls.certificate.expires_now"), state: diag.Bad},
	{name: "short-lived", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) { c.NotBefore, c.NotAfter = start.AddDate(0, 0, -3), start.AddDate(0, 0, 3) })
	}, state: diag.Valid},
	{name: "another name", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) { c.DNSNames = []string{"www.example.com", "*.shop.example.com"} })
	}, codes: codes("tls.certificate.name"), state: diag.Bad},
	{name: "no names", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) { c.DNSNames, c.Subject.CommonName = nil, host })
	}, codes: codes("tls.certificate.name"), state: diag.Bad},
	{name: "valid for too long", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) {
			c.NotAfter, c.ExtraExtensions = start.AddDate(0, 0, 300), []pkix.Extension{embedded(3)}
		})
	}, codes: codes("tls.certificate.validity"), state: diag.Warned},
	{name: "self-signed", setup: func(s setup) {
		cert, key := (*ca)(nil).issue(s.t, leaf(func(c *x509.Certificate) { c.Subject.CommonName = host }))
		s.site(key, []*x509.Certificate{cert})
	}, codes: codes("tls.chain.self_signed"), state: diag.Bad},
	{name: "unknown authority", setup: func(s setup) {
		other := (*ca)(nil).authority(s.t, "Example Ltd", "Example CA", start.AddDate(-1, 0, 0), start.AddDate(1, 0, 0))
		s.chain(other, nil, other.cert)
	}, codes: codes("tls.chain.untrusted"), state: diag.Bad},
	{name: "incomplete", setup: func(s setup) { s.chain(s.a.public, nil) }, codes: codes("tls.chain.incomplete"),
		state: diag.Bad},
	{name: "repairable", setup: func(s setup) {
		s.w.HTTP("ca.example.net", http.HandlerFunc(func(rw http.ResponseWriter,
			_ *http.Request) {
			rw.Write(s.a.public.cert.Raw)
		}))
		s.chain(s.a.public, func(c *x509.Certificate) { c.IssuingCertificateURL = []string{"http://ca.example.net/e99.der"} })
	}, codes: codes("tls.chain.incomplete"), state: diag.Bad},
	{name: "an internal address for the issuer", setup: func(s setup) {
		s.chain(s.a.public, func(c *x509.Certificate) { c.IssuingCertificateURL = []string{"http://127.0.0.1/e99.der"} })
	}, codes: codes("tls.chain.incomplete"), state: diag.Bad},
	{name: "expired intermediate", setup: func(s setup) { s.chain(s.a.expired, nil, s.a.expired.cert) },
		codes: codes("tls.chain.expired"), state: diag.Bad},
	{name: "intermediate that expires first", setup: func(s setup) {
		soon := s.a.root.authority(s.t, "Let's Encrypt", "E97", start.AddDate(-1, 0, 0), start.AddDate(0, 0, 40))
		s.chain(soon, nil, soon.cert)
	}, codes: codes("tls.chain.expiring"), state: diag.Warned},
	{name: "for mail", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageEmailProtection} })
	}, codes: codes("tls.chain.invalid"), state: diag.Bad},
	{name: "wrong order and extra", setup: func(s setup) {
		second := s.a.public.authority(s.t, "Let's Encrypt", "E96", start.AddDate(-1, 0, 0), start.AddDate(1, 0, 0))
		s.chain(second, nil, s.a.public.cert, s.a.expired.cert, second.cert)
	}, codes: codes("tls.chain.order", "tls.chain.extra"), state: diag.Warned},
	{name: "a signature by another key", setup: func(s setup) {
		imposter := s.a.root.authority(s.t, "Let's Encrypt", "E99", start.AddDate(-1, 0, 0), start.AddDate(2, 0, 0))
		cert, key := imposter.issue(s.t, leaf(nil))
		imposed := *s.a.public.cert
		s.site(key, []*x509.Certificate{cert, &imposed})
	}, codes: codes("tls.chain.incomplete", "tls.chain.extra"), state: diag.Bad},
	{name: "weak key", setup: func(s setup) {
		key, err := rsa.GenerateKey(rand.Reader, 1024)
		require.NoError(s.t, err)
		s.site(key, []*x509.Certificate{s.a.public.issueFor(s.t, leaf(nil), key), s.a.public.cert})
	}, codes: codes("tls.key.weak"), state: diag.Bad},
	{name: "SHA-1", setup: func(s setup) {
		s.serve(func(c *x509.Certificate) { c.SignatureAlgorithm = x509.ECDSAWithSHA1 })
	}, codes: codes("tls.key.signature"), state: diag.Bad},
	{name: "broken certificate", setup: func(s setup) {
		server := suites12(0xC02F)
		server.Chain = [][]byte{{0x30, 1, 0}}
		s.fake(server)
	}, codes: codes("tls.certificate.malformed", "tls.version.tls13"), state: diag.Bad},
	{name: "broken certificate in TLS 1.3", setup: func(s setup) {
		_, key := s.a.public.issue(s.t, leaf(nil))
		s.site(key, []*x509.Certificate{{Raw: []byte{0x30, 1, 0}}}, func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 })
	}, codes: codes("tls.certificate.malformed"), state: diag.Bad},
}

// check runs a case.
func check(t *testing.T, a authorities, text string, req func(*Request), prepare func(setup)) *Report {
	t.Helper()
	w := diagtest.NewWorld(t)
	w.SetTime(start)
	if text == "" {
		text = zone
	}
	w.Zone(text)
	openLists(w)
	prepare(setup{w, a, t})
	w.Env().Roots = x509.NewCertPool()
	w.Env().Roots.AddCert(a.root.cert)
	r := Request{Host: MustHost(host)}
	if req != nil {
		req(&r)
	}
	report, err := Check(t.Context(), w.Env(), r)
	require.NoError(t, err)
	return report
}

func TestCheck(t *testing.T) {
	a := newAuthorities(t)
	var seen diagtest.Seen
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			var r *Report
			synctest.Test(t, func(t *testing.T) { r = check(t, a, tt.zone, tt.req, tt.setup) })
			got := seen.Add(r.Verdict)
			if tt.state == "" {
				assert.Contains(t, got, diag.Code("tls.version.unknown"))
				return
			}
			if tt.codes == nil {
				tt.codes = codes()
			}
			assert.Equal(t, tt.codes, got, "%+v", r.Findings)
			assert.Equal(t, tt.state, r.State)
			if _, err := json.Marshal(r); err != nil {
				t.Error(err)
			}
		})
	}
	seen = append(seen, formVerdicts()...)
	seen = append(seen, distrustVerdicts(t)...)
	diagtest.CoverRules(t, rules(), seen)
	diagtest.CheckTexts(t, texts, rules().Describe(), seen)
}

// For certificates of a private authority only what clients enforce is reported, not the Baseline Requirements.
func TestPrivateAuthority(t *testing.T) {
	a := authorities{root: (*ca)(nil).authority(t, "Example Ltd", "Example Root", start.AddDate(-5, 0, 0), start.AddDate(9, 0, 0))}
	a.public = a.root.authority(t, "Example Ltd", "Example CA", start.AddDate(-1, 0, 0), start.AddDate(2, 0, 0))
	for want, change := range map[diag.Code]func(*x509.Certificate){
		"":                     func(c *x509.Certificate) { c.ExtraExtensions, c.Subject.CommonName = nil, "other" },
		"tls.form.eku_missing": func(c *x509.Certificate) { c.ExtKeyUsage = nil },
		"tls.form.leaf_ca":     func(c *x509.Certificate) { c.IsCA = true },
	} {
		r := check(t, a, "", nil, func(s setup) { s.serve(change) })
		if want == "" {
			require.Empty(t, slices.DeleteFunc(r.Findings, func(f diag.Finding) bool { return strings.HasPrefix(string(f.Code), "tls.caa.") }))
			continue
		}
		require.Contains(t, diagtest.Codes(r.Verdict), want)
		require.LessOrEqual(t, *r.Score, diag.Warning.Cap())
	}
}

// formVerdicts are one for each rule of package lint, and one for timestamps that are valid.
func formVerdicts() (list []diag.Verdict) {
	form := formRules.Reading(reach.SourceServer)
	list = append(list, form.Judge(&evidence{digested: digested{linted: true}}, texts))
	for _, id := range lintIDs {
		list = append(list, form.Judge(&evidence{
			digested: digested{linted: true, faults: []lint.Fault{{ID: id, Detail: "It is broken"}}}}, texts))
	}
	i := slices.IndexFunc(issuanceRules, func(r rule.Rule[*evidence]) bool { return r.Code == "tls.sct.invalid" })
	signed := &evidence{digested: digested{tls: &pki.TLS{}, scts: []SCT{{Verified: new(true)}}}}
	return append(list, issuanceRules[i:i+1].Reading(reach.SourceServer).Judge(signed, texts))
}

// lintIDs are the rules of package lint that are findings here.
var lintIDs = strings.Fields(`version.old serial.zero serial.long issuer.empty subject.empty extension.critical aki.missing
	aki.form ski.missing ca.missing ca.noncritical ca.usage leaf.ca leaf.usage eku.missing eku.any eku.critical
	eku.server san.missing san.critical san.noncritical san.name san.suffix cn.foreign constraints.form constraints.name
	constraints.noncritical constraints.leaf constraints.many constraints.violated path.length policy.noncritical aia.form
	key.odd key.curve key.kind`)
