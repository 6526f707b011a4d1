package tlscert

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// twoAddresses is a host of which 192.0.2.10 answers first.
const twoAddresses = zone + "example.com. A 192.0.2.11\n"

// at opens one address of the host with a certificate of its own.
func (s setup) at(addr string, change func(*x509.Certificate), config ...func(*tls.Config)) {
	cert, key := s.a.public.issue(s.t, leaf(change))
	c := &tls.Config{Time: s.w.Now, Certificates: []tls.Certificate{{
		PrivateKey: key, Certificate: [][]byte{cert.Raw, s.a.public.cert.Raw},
	}}}
	for _, change := range config {
		change(c)
	}
	s.w.Site(diagtest.Site{Host: host, Addrs: []string{addr}, TLS: c})
}

func expired(c *x509.Certificate) {
	c.NotBefore, c.NotAfter = start.AddDate(0, -3, 0), start.AddDate(0, 0, -2)
}

// addressCases are about hosts with several addresses.
var addressCases = []testCase{
	{name: "two addresses alike", zone: twoAddresses, setup: func(s setup) { s.serve(nil) }, state: diag.Valid},
	{name: "the second address has an expired certificate", zone: twoAddresses, setup: func(s setup) {
		s.serve(nil)
		s.at("192.0.2.11", expired)
	}, codes: codes("tls.certificate.expired", "tls.address.renewal"), state: diag.Bad},
	{name: "the second address refuses", zone: twoAddresses, setup: func(s setup) {
		s.serve(nil)
		s.w.Behave("192.0.2.11:443", diagtest.Refuses)
	}, codes: codes("tls.address.refused"), state: diag.Bad},
	{name: "the second address closes", zone: twoAddresses, setup: func(s setup) {
		s.serve(nil)
		s.w.Behave("192.0.2.11:443", diagtest.Closes)
	}, codes: codes("tls.host.handshake"), state: diag.Bad},
	{name: "the second address is not public", zone: twoAddresses + "example.com. A 10.0.0.1\n",
		setup: func(s setup) { s.serve(nil) }, codes: codes("tls.address.blocked"), state: diag.Warned},

	{name: "the second address has an old certificate", zone: twoAddresses, setup: func(s setup) {
		s.serve(nil)
		s.at("192.0.2.11", func(c *x509.Certificate) { c.NotBefore, c.NotAfter = start.AddDate(0, 0, -70), start.AddDate(0, 0, 20) })
	}, codes: codes("tls.address.renewal"), state: diag.Warned},
	{name: "certificates of different age", zone: twoAddresses, setup: func(s setup) {
		s.serve(nil)
		s.at("192.0.2.11", func(c *x509.Certificate) { c.NotBefore, c.NotAfter = start.AddDate(0, 0, -30), start.AddDate(0, 0, 60) })
	}, codes: codes("tls.address.certificate"), state: diag.Valid},
	{name: "different certificates of the same age", zone: twoAddresses, setup: func(s setup) {
		s.serve(nil)
		s.at("192.0.2.11", nil)
	}, state: diag.Valid},
	{name: "the second address has no TLS 1.3", zone: twoAddresses, setup: func(s setup) {
		s.serve(nil)
		s.at("192.0.2.11", nil, func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 })
	}, codes: codes("tls.address.version", "tls.version.tls13"), state: diag.Warned},
	{name: "the second address has other suites", zone: twoAddresses, setup: func(s setup) {
		s.serve(nil)
		s.at("192.0.2.11", nil, func(c *tls.Config) {
			c.CipherSuites = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384}
		})
	}, codes: codes("tls.address.suite"), state: diag.Valid},
	{name: "the second address has no HTTP/2", zone: twoAddresses, setup: func(s setup) {
		cert, key := s.a.public.issue(s.t, leaf(nil))
		config := &tls.Config{Certificates: []tls.Certificate{{PrivateKey: key, Certificate: [][]byte{cert.Raw,
			s.a.public.cert.Raw}}}, NextProtos: []string{"http/1.1"}}
		s.serve(nil)
		s.w.Serve("192.0.2.11:443", func(conn net.Conn) {
			defer conn.Close()
			tls.Server(conn, config).Handshake()
			io.Copy(io.Discard, conn)
		})
	}, codes: codes("tls.address.protocol"), state: diag.Valid},
	{name: "the second address sends another chain", zone: twoAddresses, setup: func(s setup) {
		cert, key := s.a.public.issue(s.t, leaf(nil))
		s.site(key, []*x509.Certificate{cert, s.a.public.cert})
		s.w.Site(diagtest.Site{Host: host, Addrs: []string{"192.0.2.11"}, TLS: &tls.Config{Time: s.w.Now,
			Certificates: []tls.Certificate{{PrivateKey: key, Certificate: [][]byte{cert.Raw, s.a.public.cert.Raw,
				s.a.root.cert.Raw}}}}})
	}, codes: codes("tls.address.chain"), state: diag.Valid},

	{name: "a certificate for each type of key", setup: func(s setup) { s.twoKeys(nil) }, state: diag.Valid},
	{name: "the RSA certificate has expired", setup: func(s setup) { s.twoKeys(expired) },
		codes: codes("tls.certificate.expired"), state: diag.Bad},
	{name: "another certificate without SNI", setup: func(s setup) { s.bare(nil) }, state: diag.Valid},
	{name: "an expired certificate without SNI", setup: func(s setup) { s.bare(expired) },
		codes: codes("tls.certificate.without_sni"), state: diag.Valid},
	{name: "an address as a DNS name", req: func(r *Request) { r.Host = MustHost("192.0.2.10") },
		setup: func(s setup) { s.serve(func(c *x509.Certificate) { c.DNSNames = []string{"192.0.2.10"} }) },
		codes: codes("tls.certificate.name", "tls.form.san_name"), state: diag.Bad},
}

// rsaKey takes long to make.
var rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err) // of the system's random numbers
	}
	return key
})

// twoKeys opens the host with a good ECDSA certificate, and one with an RSA key.
func (s setup) twoKeys(change func(*x509.Certificate), config ...func(*tls.Config)) {
	second := s.a.public.issueFor(s.t, leaf(change), rsaKey())
	s.serve(nil, append(config, func(c *tls.Config) {
		c.Certificates = append(c.Certificates, tls.Certificate{
			PrivateKey: rsaKey(), Certificate: [][]byte{second.Raw, s.a.public.cert.Raw}})
	})...)
}

// bare opens the host with another certificate for clients that name no host.
func (s setup) bare(change func(*x509.Certificate)) {
	cert, key := s.a.public.issue(s.t, leaf(func(c *x509.Certificate) {
		c.DNSNames = []string{"other.example"}
		if change != nil {
			change(c)
		}
	}))
	usual, own := s.a.public.issue(s.t, leaf(nil))
	chain := func(leaf *x509.Certificate, key crypto.Signer) *tls.Config {
		return &tls.Config{NextProtos: []string{"h2"}, Certificates: []tls.Certificate{{
			PrivateKey: key, Certificate: [][]byte{leaf.Raw, s.a.public.cert.Raw}}}}
	}
	other, config := chain(cert, key), chain(usual, own)
	config.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		if h.ServerName == "" {
			return other, nil
		}
		return nil, nil
	}
	s.w.Serve("192.0.2.10:443", func(conn net.Conn) {
		defer conn.Close()
		tls.Server(conn, config).Handshake()
		io.Copy(io.Discard, conn)
	})
}

// A certificate that only some clients get is named by its key, in every version of TLS.
func TestTwoKeys(t *testing.T) {
	a := newAuthorities(t)
	for name, config := range map[string]func(*tls.Config){
		"as it comes": func(*tls.Config) {},
		"TLS 1.2":     func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 },
		"TLS 1.3":     func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 },
	} {
		for _, scan := range []bool{true, false} {
			r := check(t, a, "", func(r *Request) { r.CheckVersions = new(scan) }, func(s setup) { s.twoKeys(expired, config) })
			require.Equal(t, "The certificate of example.com expired on 2026-10-30, 2 days ago. Affected: the RSA certificate.",
				r.Findings[0].Detail, name)
			require.Equal(t, diag.Bad, r.State)
			require.Less(t, *r.DaysRemaining, 0, "the worst is described")
			require.Len(t, r.Certificates, 2)
			require.Equal(t, []string{"ECDSA", "RSA"}, []string{r.Certificates[0].KeyType, r.Certificates[1].KeyType})
			require.Equal(t, []string{"192.0.2.10"}, r.Certificates[1].Addresses)
			require.Equal(t, BareSame, r.WithoutSNI.Outcome)
		}
	}
	r := check(t, a, twoAddresses, nil, func(s setup) {
		s.twoKeys(expired)
		s.at("192.0.2.11", nil)
	})
	require.Contains(t, r.Findings[0].Detail, "Affected: the RSA certificate at 192.0.2.10.")
	r = check(t, a, twoAddresses, nil, func(s setup) { s.twoKeys(expired) })
	require.Contains(t, r.Findings[0].Detail, "Affected: the RSA certificate at 192.0.2.10 and 192.0.2.11.")
}

// What is wrong at some addresses is said of these, once; what was not examined is named, and is neither praised nor
// blamed.
func TestAddresses(t *testing.T) {
	a := newAuthorities(t)
	for _, tt := range []struct {
		name    string
		zone    string
		setup   func(setup)
		details []string // of the gravest findings
		state   diag.State
		scope   []diag.ScopePart
		outcome []AddressOutcome
		sub     string // what it has
	}{
		{"alike", twoAddresses, func(s setup) { s.serve(expired) },
			[]string{"The certificate of example.com expired on 2026-10-30, 2 days ago."}, diag.Bad, nil,
			[]AddressOutcome{AddressSpeaks, AddressSpeaks}, "Renew the certificate"},
		{"one of two expired", twoAddresses, func(s setup) { s.serve(nil); s.at("192.0.2.11", expired) },
			[]string{"The certificate of example.com expired on 2026-10-30, 2 days ago. Affected: 192.0.2.11."}, diag.Bad, nil,
			[]AddressOutcome{AddressSpeaks, AddressSpeaks}, "Affected: 192.0.2.11. Install the renewed certificate"},
		{"one of two refuses", twoAddresses, func(s setup) { s.serve(nil); s.w.Behave("192.0.2.11:443", diagtest.Refuses) },
			[]string{"192.0.2.11 refuses connections on port 443, while another address of example.com accepts them."},
			diag.Bad, nil, []AddressOutcome{AddressSpeaks, AddressRefused}, "Start the server at that address"},
		{"one of two hangs", twoAddresses, func(s setup) { s.serve(nil); s.w.Behave("192.0.2.11:443", diagtest.Hangs) },
			nil, diag.Valid, []diag.ScopePart{{Part: "192.0.2.11", State: diag.NotAnswered,
				Reason: "the TLS handshake with the server did not end in time"}},
			[]AddressOutcome{AddressSpeaks, AddressUnanswered}, "Not examined: 192.0.2.11"},
		{"one of two is silent", twoAddresses,
			func(s setup) { s.serve(nil); s.w.Behave("192.0.2.11:443", diagtest.Unreachable) },
			nil, diag.Valid, []diag.ScopePart{{Part: "192.0.2.11", State: diag.NotAnswered,
				Reason: "no connection to port 443 of 192.0.2.11 was made in time"}},
			[]AddressOutcome{AddressSpeaks, AddressUnanswered}, "Not examined: 192.0.2.11"},
		{"both kinds", "example.com. A 192.0.2.10\nexample.com. AAAA 2001:db8::10\n",
			func(s setup) { s.serve(nil); s.at("192.0.2.10", expired) },
			[]string{"The certificate of example.com expired on 2026-10-30, 2 days ago. Affected: 192.0.2.10."}, diag.Bad, nil,
			[]AddressOutcome{AddressSpeaks, AddressSpeaks}, "Affected: 192.0.2.10."},
		{"IPv6 addresses unknown", twoAddresses, func(s setup) {
			s.serve(nil)
			s.w.Fault("example.com.", dns.TypeAAAA, diagtest.Fault{Rcode: dns.RcodeServerFailure})
		}, nil, diag.Valid, []diag.ScopePart{{Part: "IPv6 addresses", State: diag.NotAnswered, Reason: "the lookup failed"}},
			[]AddressOutcome{AddressSpeaks, AddressSpeaks}, "Not examined: IPv6 addresses"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r *Report
			synctest.Test(t, func(t *testing.T) { r = check(t, a, tt.zone, nil, tt.setup) })
			var details []string
			for _, f := range r.Findings {
				if f.Severity >= diag.Error {
					details = append(details, f.Detail)
				}
			}
			require.Equal(t, tt.details, details, "%+v", r.Findings)
			require.Equal(t, tt.state, r.State)
			require.Contains(t, r.Sub, tt.sub)
			var missing []diag.ScopePart
			for _, p := range r.Examined {
				if p.State != diag.Examined {
					missing = append(missing, p)
				}
			}
			require.Equal(t, tt.scope, missing)
			require.Equal(t, tt.outcome, kit.Map(r.Addresses, func(a AddressReport) AddressOutcome { return a.Outcome }))
			require.Equal(t, len(missing) > 0, r.Partial)
			if len(missing) > 0 {
				require.LessOrEqual(t, *r.Score, diag.Warning.Cap())
			}
		})
	}
}

// A family of addresses that our machine lacks is left out, and is not a fault.
func TestLackingFamily(t *testing.T) {
	a := newAuthorities(t)
	r := check(t, a, zone+"example.com. AAAA 2001:db8::10\n", nil, func(s setup) {
		s.serve(nil)
		dial := s.w.Env().Dial
		s.w.Env().Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if network == "tcp" && strings.HasPrefix(addr, "[") {
				return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ENETUNREACH}
			}
			return dial(ctx, network, addr)
		}
	})
	require.Equal(t, diag.ScopePart{Part: "2001:db8::10", State: diag.LeftOut, Reason: "cannot be reached from here"},
		r.Examined[0])
	require.Equal(t, AddressLeftOut, r.Addresses[1].Outcome)
	require.Equal(t, diag.Valid, r.State)
	require.False(t, r.Partial)
	require.Contains(t, r.Sub, "1 of 2 parts")
}

// A type of key of which the server does not say whether it has a certificate for it was not examined.
func TestUnheardKey(t *testing.T) {
	a := newAuthorities(t)
	var r *Report
	synctest.Test(t, func(t *testing.T) {
		r = check(t, a, "", nil, func(s setup) {
			cert, key := s.a.public.issue(s.t, leaf(nil))
			config := &tls.Config{Certificates: []tls.Certificate{{PrivateKey: key, Certificate: [][]byte{cert.Raw,
				s.a.public.cert.Raw}}}}
			s.w.Serve("192.0.2.10:443", func(conn net.Conn) {
				defer conn.Close()
				config := config.Clone()
				config.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
					if !slices.Contains(h.SignatureSchemes, tls.ECDSAWithP256AndSHA256) && len(h.SignatureSchemes) > 2 {
						io.Copy(io.Discard, conn) // says nothing
					}
					return nil, nil
				}
				tls.Server(conn, config).Handshake()
				io.Copy(io.Discard, conn)
			})
		})
	})
	require.Equal(t, diag.ScopePart{Part: "RSA certificate at 192.0.2.10", State: diag.NotAnswered,
		Reason: "a client that accepts no other got no answer"}, r.Examined[0])
	require.Equal(t, diag.Valid, r.State, "%+v", r.Findings)
	require.True(t, r.Partial)
	require.LessOrEqual(t, *r.Score, diag.Warning.Cap())
	require.Contains(t, r.Headline, "1 of 2")
}

// Eight addresses are examined, and the reply says how many more there are.
func TestMaxAddresses(t *testing.T) {
	a := newAuthorities(t)
	var zone strings.Builder
	for i := range 9 {
		fmt.Fprintf(&zone, "example.com. A 192.0.2.%d\n", i+10)
	}
	zone.WriteString("example.com. AAAA 2001:db8::1\nexample.com. AAAA 2001:db8::2\n")
	r := check(t, a, zone.String(), nil, func(s setup) { s.serve(nil) })
	require.Equal(t, diag.Valid, r.State)
	require.Len(t, r.Addresses, maxAddresses)
	require.Equal(t, diag.ScopePart{Part: "3 more addresses", State: diag.LeftOut, Reason: "at most 8 are examined"},
		r.Examined[0])
	require.False(t, r.Partial)
	require.Contains(t, r.Sub, "8 of 9 parts")
}
