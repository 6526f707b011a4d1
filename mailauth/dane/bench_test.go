package dane

import (
	"slices"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
)

// Records held against a chain of two certificates.
func BenchmarkVerify(b *testing.B) {
	k := newKit(b, diagtest.CertSpec{})
	for _, bench := range []struct {
		name    string
		records []Record
	}{
		{"DANE-EE", []Record{of(DANEEE, SPKI, SHA256, k.leaf)}},
		{"DANE-TA", []Record{of(DANETA, Cert, SHA256, k.issuer)}},
		{"50 records", slices.Repeat([]Record{of(DANETA, Cert, SHA256, k.issuer), of(PKIXEE, SPKI, SHA512, k.leaf)}, 25)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !k.verify(bench.records...).OK() {
					b.Fatal("not authenticated")
				}
			}
		})
	}
}

// All but the network: a domain with ten mail servers.
func BenchmarkJudge(b *testing.B) {
	s := setting{zone: oneMX + key + at + other + many(), down: true}
	_, env := s.world(b)
	e := &evidence{domain: diag.MustDomain("example.com"), port: portMail, now: env.Now(), verify: true}
	if err := e.gather(b.Context(), env); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		e.digest()
		e.report(env)
	}
}
