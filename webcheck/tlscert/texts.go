package tlscert

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words, where title and advice of the gravest finding do not say it better.
var texts = diag.Texts{
	"excellent": {
		Headline: "Certificate and TLS configuration are in order",
		Sub:      "Clients trust the certificate and connect securely. Keep renewal automated.",
	},
	"valid": {
		Headline: "Certificate is trusted and matches the name",
		Sub:      "Clients connect without a warning. Versions and cipher suites are good as far as they were tried.",
	},
	"tls.handshake.client_certificate": {
		Headline: "Certificate is trusted; the server asks clients for one as well",
		Sub:      "Clients without a certificate of their own may be refused. Disable client certificates unless that is intended.",
	},
	"tls.version.unknown": {
		Headline: "Certificate is trusted; not all versions and ciphers could be tried",
		Sub:      "The server stopped answering, as servers that limit the rate of connections do. Try again later.",
	},
	"tls.caa.unknown": {
		Headline: "Certificate is trusted; CAA records could not be looked up",
		Sub:      "Authorities do not issue certificates when the lookup fails. Check that every name server answers CAA queries.",
	},
}
