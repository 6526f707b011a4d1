package tlscert

import "github.com/diagkit/diagkit/diag"

// The factors of the score, in the order of a reader.
var (
	factorConnection  = diag.Category{Code: "connection", Label: "Connection"}
	factorCertificate = diag.Category{Code: "certificate", Label: "Certificate and name"}
	factorChain       = diag.Category{Code: "chain", Label: "Chain and trust"}
	factorKey         = diag.Category{Code: "key", Label: "Keys and signatures"}
	factorProtocol    = diag.Category{Code: "protocol", Label: "Protocol versions"}
	factorCipher      = diag.Category{Code: "cipher", Label: "Cipher suites"}
	factorIssuance    = diag.Category{Code: "issuance", Label: "Transparency, revocation and CAA"}
)
