package internet

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
		world.SMTP(diagtest.SMTP{
			Host: host, TLS: &tls.Config{Certificates: []tls.Certificate{cert}, Time: world.Now},
			Extensions: extensions(), Replies: closed(),
		})
		if host != "mx1.good.example" && host != "mx2.good.example" {
			continue
		}
		next := world.Certificate(diagtest.CertSpec{Names: []string{host}})
		for _, key := range [][]byte{cert.Leaf.RawSubjectPublicKeyInfo, next.Leaf.RawSubjectPublicKeyInfo} {
			world.Zone(fmt.Sprintf("_25._tcp.%s. TLSA 3 1 1 %x\n", host, sha256.Sum256(key)))
		}
	}
	world.SMTP(diagtest.SMTP{Host: "mx.plain.example", NoStartTLS: true, Extensions: extensions(), Replies: closed()})
	world.SMTP(diagtest.SMTP{Host: "mx.expired.example", Cert: diagtest.CertExpired, Extensions: extensions(), Replies: closed()})
	world.SMTP(diagtest.SMTP{Host: "mx.relay.example", Extensions: extensions()})
	patient := closed()
	patient["RCPT"] = "451 4.7.1 Greylisted, please try again in 5 minutes"
	world.SMTP(diagtest.SMTP{Host: "mx.testing.example", Extensions: extensions(), Replies: patient})
}

// extensions are what the mail servers list.
func extensions() []string {
	return []string{"PIPELINING", "SIZE 52428800", "8BITMIME", "ENHANCEDSTATUSCODES"}
}

// closed are the replies of a server that relays for nobody.
func closed() map[string]string { return map[string]string{"RCPT": "550 5.7.1 Relaying denied"} }
