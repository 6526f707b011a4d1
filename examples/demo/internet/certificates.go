package internet

import (
	"crypto/tls"

	"github.com/diagkit/diagkit/diag/diagtest"
)

// serveCertificates opens sites whose certificate or TLS has one fault each.
func serveCertificates(world *diagtest.World) {
	for host, cert := range map[string]diagtest.Cert{
		"stale.example": diagtest.CertExpired, "alone.example": diagtest.CertSelfSigned, "half.example": diagtest.CertMissingIntermediate,
	} {
		world.Site(diagtest.Site{Host: host, Handler: page("A shop."), Cert: cert})
	}
	world.Site(diagtest.Site{Host: "museum.example", Handler: page("A museum."), TLS: &tls.Config{
		Certificates: []tls.Certificate{world.Certificate(diagtest.CertSpec{Names: []string{"museum.example"}})},
		MinVersion:   tls.VersionTLS10, MaxVersion: tls.VersionTLS12, Time: world.Now,
	}})
}
