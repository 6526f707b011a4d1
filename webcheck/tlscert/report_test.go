package tlscert

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"net"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

func TestReport(t *testing.T) {
	a := newAuthorities(t)
	r := check(t, a, "", nil, cases[1].setup)
	require.Equal(t, host, r.Host)
	require.Equal(t, "192.0.2.10", r.Address)
	require.Equal(t, 4, r.IPVersion)
	require.Equal(t, 100, *r.Score, "%+v", r.Breakdown)
	require.True(t, *r.Trusted && *r.HostnameMatch && r.TLS.ChainComplete)
	require.Equal(t, 80, *r.DaysRemaining)
	require.Len(t, r.VerifiedChain, 3)
	require.Equal(t, []bool{true, true, false}, []bool{r.VerifiedChain[0].Served, r.VerifiedChain[1].Served,
		r.VerifiedChain[2].Served})
	require.Empty(t, r.ChainIssues)
	require.Equal(t, OCSPGood, r.OCSP.Status)
	require.Len(t, r.SCTs, 2)
	require.Equal(t, "Let's Encrypt", r.CAA.Issuer)
	require.True(t, *r.CAA.Allowed)
	require.Contains(t, r.ALPN, "h2")
	require.Contains(t, r.Groups, "X25519MLKEM768")
	require.True(t, *r.Features.PostQuantum)
	require.NotNil(t, r.HandshakeMS)
	for _, v := range r.Versions {
		require.Equal(t, v.Version == "TLS 1.2" || v.Version == "TLS 1.3", *v.Supported, v.Version)
	}
	require.NotEmpty(t, r.CipherSuites)
	require.False(t, r.Partial)

	for _, tt := range cases {
		issues := map[string][]ChainIssue{
			"incomplete": {Incomplete}, "repairable": {Incomplete}, "expired intermediate": {ExpiredIntermediate},
			"wrong order and extra": {WrongOrder, Extra}, "SHA-1": {WeakSignature}, "unknown authority": {},
		}
		if want, ok := issues[tt.name]; ok {
			r := check(t, a, tt.zone, tt.req, tt.setup)
			require.Equal(t, want, r.ChainIssues, tt.name)
			if tt.name == "repairable" {
				require.True(t, *r.Repairable)
			}
		}
	}
}

func TestRequest(t *testing.T) {
	for text, want := range map[string]string{
		"example.com": "example.com", "EXAMPLE.com.:8443": "example.com:8443", "192.0.2.1": "192.0.2.1",
		"192.0.2.1:993": "192.0.2.1:993", "2001:db8::1": "[2001:db8::1]", "[2001:db8::1]": "[2001:db8::1]",
		"[2001:db8::1]:443": "[2001:db8::1]:443", "b\u00fccher.example:443": "xn--bcher-kva.example:443",
	} {
		h, err := ParseHost(text)
		require.NoError(t, err, text)
		got, err := h.MarshalText()
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	for _, text := range []string{"", "https://example.com/", "example.com:", "example.com:0", "example.com:65536",
		"a b", "example.com:https", "localhost", ":443", "example.com\u200B"} {
		_, err := ParseHost(text)
		require.Error(t, err, text)
	}
	for _, tt := range []struct {
		host, field string
		port        int
	}{
		{"example.com", "port", 22}, {"example.com:22", "host", 0}, {"example.com:443", "port", 8443}, {"example.com",
			"port", -1},
	} {
		_, err := Check(t.Context(), nil, Request{Host: MustHost(tt.host), Port: tt.port})
		input := new(diag.InputError)
		require.ErrorAs(t, err, &input)
		require.Equal(t, tt.field, input.Field)
	}
	_, err := Check(t.Context(), nil, Request{})
	require.Error(t, err)
}

// An address, a server name and IPv6.
func TestServerName(t *testing.T) {
	a := newAuthorities(t)
	r := check(t, a, "example.com. AAAA 2001:db8::10\n", nil, func(s setup) { s.serve(nil) })
	require.Equal(t, "2001:db8::10", r.Address)
	require.Equal(t, 6, r.IPVersion)
	r = check(t, a, "", func(r *Request) { r.Host = MustHost("192.0.2.10") }, func(s setup) { s.serve(nil) })
	require.False(t, *r.HostnameMatch)
	require.Zero(t, r.CAA)
	r = check(t, a, "", func(r *Request) { r.Host, r.ServerName = MustHost("192.0.2.10"), diag.MustDomain(host) },
		func(s setup) { s.serve(nil) })
	require.True(t, *r.HostnameMatch)
	require.True(t, r.CAA.Found)
}

// The logs of an operator name timestamps, and say that their signatures are wrong.
func TestLogs(t *testing.T) {
	a := newAuthorities(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	spki, err := x509.MarshalPKIXPublicKey(key.Public())
	require.NoError(t, err)
	id := sha256.Sum256(spki)
	list := `{"operators": [{"name": "Example", "logs": [{"description": "Example 2026", "key": "` +
		base64.StdEncoding.EncodeToString(spki) + `"}]}]}`
	require.NoError(t, CheckLogs([]byte(list)))
	require.Error(t, CheckLogs([]byte(`{}`)))
	r := check(t, a, "", nil, func(s setup) {
		s.w.Env().Data = fstest.MapFS{LogsFile: {Data: []byte(list)}}
		s.serve(func(c *x509.Certificate) {
			one := embedded(2)
			copy(one.Value[bytes.IndexByte(one.Value, 0)+5:], id[:]) // behind the lengths and the version
			c.ExtraExtensions = []pkix.Extension{one}
		})
	})
	require.Equal(t, "Example 2026", r.SCTs[0].Log)
	require.False(t, *r.SCTs[0].Verified)
	require.Contains(t, diagtest.Codes(r.Verdict), diag.Code("tls.sct.invalid"))
}

// A second more than the limit is another day (Baseline Requirements section 6.3.2).
func TestLongestValidity(t *testing.T) {
	a := newAuthorities(t)
	for seconds, want := range map[int]string{-1: "", 0: "The certificate is valid for 201 days; the CA/Browser Forum allows 200."} {
		r := check(t, a, "", nil, func(s setup) {
			s.serve(func(c *x509.Certificate) {
				c.NotAfter = c.NotBefore.Add(200*day + time.Duration(seconds)*time.Second)
				c.ExtraExtensions = []pkix.Extension{embedded(3)}
			})
		})
		got := ""
		for _, f := range r.Findings {
			if f.Code == "tls.certificate.validity" {
				got = f.Detail
			}
		}
		require.Equal(t, want, got)
	}
}

// What was not answered or not asked is neither praised nor blamed, and keeps the score below excellent.
func TestUnanswered(t *testing.T) {
	a := newAuthorities(t)
	full := check(t, a, "", nil, func(s setup) { s.serve(nil) })
	for name, tt := range map[string]struct {
		req     func(*Request)
		setup   func(setup)
		source  string // prefix of the codes that are open
		partial bool
	}{
		"versions not asked": {
			req: func(r *Request) { r.CheckVersions = new(false) }, setup: func(s setup) { s.serve(nil) }, source: "tls.cipher.",
		},
		"CAA unanswered": {setup: func(s setup) {
			s.serve(nil)
			s.w.Fault("example.com.", dns.TypeCAA, diagtest.Fault{Rcode: dns.RcodeServerFailure})
		}, source: "tls.caa.", partial: true},
		"connections stop": {setup: func(s setup) {
			cert, key := s.a.public.issue(s.t, leaf(nil))
			config := &tls.Config{Time: s.w.Now, Certificates: []tls.Certificate{{
				PrivateKey: key, Certificate: [][]byte{cert.Raw, s.a.public.cert.Raw},
			}}}
			served := make(chan struct{}, 8)
			s.w.Serve("192.0.2.10:443", func(conn net.Conn) {
				defer conn.Close()
				select {
				case served <- struct{}{}:
					tls.Server(conn, config).Handshake()
				default:
				}
			})
		}, source: "tls.version.", partial: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := check(t, a, "", tt.req, tt.setup)
			require.Equal(t, diag.Valid, r.State, "%+v", r.Findings)
			require.Equal(t, tt.partial, r.Partial)
			require.LessOrEqual(t, *r.Score, diag.Warning.Cap())
			require.NotContains(t, r.Headline, "are in order")
			for _, c := range r.Passed {
				require.Contains(t, full.Passed, c)
				require.NotContains(t, string(c.Code), tt.source)
			}
		})
	}
}

// A resolver that says nothing is not a fault of the domain, and of an address that is silent nothing is known.
func TestUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.Silence("example.com.")
		_, err := Check(t.Context(), w.Env(), Request{Host: MustHost(host)})
		require.ErrorIs(t, err, diag.ErrUnavailable)

		w.Behave("192.0.2.99:443", diagtest.Unreachable)
		_, err = Check(t.Context(), w.Env(), Request{Host: MustHost("192.0.2.99")})
		require.ErrorIs(t, err, diag.ErrUnavailable)
	})
}

// Days are whole days, rounded towards zero.
func TestDays(t *testing.T) {
	a := newAuthorities(t)
	for ends, want := range map[time.Duration]string{
		-103 * time.Hour:              "expired on 2026-10-28, 4 days ago.",
		-24*time.Hour - 7*time.Minute: "expired on 2026-10-31, 1 day ago.",
		-time.Minute:                  "expired on 2026-11-01, less than a day ago.",
		time.Minute:                   "expires on 2026-11-01, in less than a day.",
		47 * time.Hour:                "expires on 2026-11-03, in 1 day.",
	} {
		r := check(t, a, "", nil, func(s setup) {
			s.serve(func(c *x509.Certificate) { c.NotBefore, c.NotAfter = start.AddDate(0, 0, -80), start.Add(ends) })
		})
		require.Contains(t, r.Findings[0].Detail, want)
		require.Equal(t, int(ends/day), *r.DaysRemaining)
	}
}
