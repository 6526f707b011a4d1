package tlscert

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// pinned opens the host with a certificate and a TLSA record: the one of its key, or that which is given.
func (s setup) pinned(record string, signing ...diagtest.Signing) {
	cert, key := s.a.public.issue(s.t, leaf(nil))
	s.site(key, []*x509.Certificate{cert, s.a.public.cert})
	if record == "" {
		sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
		record = "3 1 1 " + hex.EncodeToString(sum[:])
	}
	s.w.Zone("_443._tcp.example.com. TLSA " + record + "\n")
	s.w.ServeZones()
	s.w.Sign(".", diagtest.Signing{})
	for _, one := range signing {
		s.w.Sign("example.com.", one)
	}
}

// otherPin is a record of no certificate.
const otherPin = "3 1 1 00000000000000000000000000000000000000000000000000000000000000aa"

// daneCases are about TLSA records of the port.
var daneCases = []testCase{
	{name: "a TLSA record that matches", setup: func(s setup) { s.pinned("", diagtest.Signing{}) }, state: diag.Valid},
	{name: "a TLSA record of another key", setup: func(s setup) { s.pinned(otherPin, diagtest.Signing{}) },
		codes: codes("tls.dane.mismatch"), state: diag.Warned},
	{name: "a TLSA record that nobody can use", setup: func(s setup) { s.pinned("3 1 1 00", diagtest.Signing{}) },
		codes: codes("tls.dane.unusable"), state: diag.Warned},
	{name: "a TLSA record without DNSSEC", setup: func(s setup) { s.pinned("") }, codes: codes("tls.dane.unsigned"),
		state: diag.Warned},
	{name: "the TLSA lookup fails", setup: func(s setup) {
		s.serve(nil)
		s.w.Fault("_443._tcp.example.com.", dns.TypeTLSA, diagtest.Fault{Rcode: dns.RcodeServerFailure})
	}, codes: codes("tls.dane.unknown"), state: diag.Valid},
}

// The advice has a record that matches, and the reply what there is.
func TestDANE(t *testing.T) {
	a := newAuthorities(t)
	r := check(t, a, "", nil, func(s setup) { s.pinned(otherPin, diagtest.Signing{}) })
	require.False(t, *r.DANE.Matches)
	require.Equal(t, diag.Secure, r.DANE.Status)
	require.Equal(t, []string{otherPin}, r.DANE.Records)
	require.Equal(t, "_443._tcp.example.com", r.DANE.Name)
	require.Contains(t, r.Findings[0].Advice, "3 1 1 ")
	require.NotContains(t, r.Findings[0].Advice, otherPin)
	r = check(t, a, "", nil, func(s setup) { s.pinned("", diagtest.Signing{}) })
	require.True(t, *r.DANE.Matches)
	require.Zero(t, check(t, a, "", nil, func(s setup) { s.serve(nil) }).DANE)
	require.Zero(t, check(t, a, "", func(r *Request) { r.Host = MustHost("192.0.2.10") }, func(s setup) { s.serve(nil) }).DANE)
}
