package dane

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
)

// What can be read can be printed, and the print reads the same.
func FuzzParseRecord(f *testing.F) {
	f.Add("3 1 1 60317c58126f414056dce98141")
	f.Add("_25._tcp.mx.example.com. 300 IN TLSA ( 2 0 0 30\n82 )")
	f.Add(`\# 4 03010100`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRecord(text)
		if err != nil {
			if r.Data != nil {
				t.Errorf("both %v and %v", r, err)
			}
			return
		}
		if again, err := ParseRecord(r.String()); err != nil || again.String() != r.String() {
			t.Errorf("%v is printed as %q, which reads as %v, %v", r, r.String(), again, err)
		}
		_, _ = r.Fault(), abbreviate(r)
	})
}

// For any records and certificates, only records that match a server authenticate it, and records that no client can
// use change nothing.
func FuzzVerify(f *testing.F) {
	k := newKit(f, diagtest.CertSpec{})
	f.Add(uint8(3), uint8(1), uint8(0), k.leaf.RawSubjectPublicKeyInfo, k.leaf.Raw)
	f.Add(uint8(2), uint8(0), uint8(0), k.issuer.Raw, k.leaf.Raw)
	f.Add(uint8(2), uint8(1), uint8(0), k.issuer.RawSubjectPublicKeyInfo, k.issuer.Raw)
	f.Add(uint8(0), uint8(0), uint8(1), make([]byte, 32), k.root.Raw)
	f.Fuzz(func(t *testing.T, usage, selector, matching uint8, data, der []byte) {
		leaf, err := x509.ParseCertificate(der)
		if err != nil {
			leaf = k.leaf
		}
		r := Record{Usage: Usage(usage), Selector: Selector(selector), Matching: Matching(matching), Data: data}
		peer := Peer{Chain: []*x509.Certificate{leaf, k.issuer}, Names: []string{"mx.example.com"}, Now: time.Unix(1767225600, 0),
			Roots: x509.NewCertPool()}
		one := Verify([]Record{r}, peer)
		if one.OK() != (one.Err() == nil) {
			t.Errorf("%v: OK is %t, and the error %v", r, one.OK(), one.Err())
		}
		if one.OK() && (r.Fault() != "" || r.Usage == DANEEE && !r.Matches(leaf)) {
			t.Errorf("%v authenticates another server", r)
		}
		mine := of(DANEEE, SPKI, SHA256, leaf)
		if both := Verify([]Record{r, mine}, peer); !both.OK() && (r.Fault() != "" || r.Matching != SHA512) {
			t.Errorf("%v keeps a server from being authenticated: %v", r, both.Err())
		}
	})
}
