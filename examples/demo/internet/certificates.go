package internet

import (
	"crypto/tls"

	"github.com/diagkit/diagkit/diag/diagtest"
)

// serveCertificates opens sites whose certificate or TLS has one fault each.
func serveCertificates(world *diagtest.World) {
	for _, s := range []diagtest.Site{
		{Host: "stale.example", Cert: diagtest.CertExpired}, {Host: "alone.example", Cert: diagtest.CertSelfSigned},
		{Host: "half.example", Cert: diagtest.CertMissingIntermediate},
	} {
		s.Handler = page("A shop.")
		world.Site(s)
	}
	world.Site(diagtest.Site{Host: "museum.example", Handler: page("A museum."), TLS: &tls.Config{
		Certificates: []tls.Certificate{world.Certificate(diagtest.CertSpec{Names: []string{"museum.example"}})},
		MinVersion:   tls.VersionTLS10, MaxVersion: tls.VersionTLS12, Time: world.Now,
	}})
}
