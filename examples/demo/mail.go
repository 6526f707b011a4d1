package main

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"

	"github.com/diagkit/diagkit/diag/diagtest"
)

// serveMail opens the mail servers. Those of good.example have TLSA records for the keys of their certificates, and for
// the next ones.
func serveMail(world *diagtest.World) {
	for _, host := range []string{"mx1.good.example", "mx2.good.example", "mx1.example.com", "mx.renewed.example"} {
		cert := world.Certificate(diagtest.CertSpec{Names: []string{host}})
		world.SMTP(diagtest.SMTP{Host: host, TLS: &tls.Config{Certificates: []tls.Certificate{cert}, Time: world.Now}})
		if host != "mx1.good.example" && host != "mx2.good.example" {
			continue
		}
		next := world.Certificate(diagtest.CertSpec{Names: []string{host}})
		for _, key := range [][]byte{cert.Leaf.RawSubjectPublicKeyInfo, next.Leaf.RawSubjectPublicKeyInfo} {
			world.Zone(fmt.Sprintf("_25._tcp.%s. TLSA 3 1 1 %x\n", host, sha256.Sum256(key)))
		}
	}
}
