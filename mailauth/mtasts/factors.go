package mtasts

import "github.com/diagkit/diagkit/diag"

// The factors of the score, in the order of a reader.
var (
	factorRecord      = diag.Category{Code: "record", Label: "DNS record"}
	factorServer      = diag.Category{Code: "server", Label: "Policy host"}
	factorCertificate = diag.Category{Code: "certificate", Label: "Certificate"}
	factorPolicy      = diag.Category{Code: "policy", Label: "Policy"}
	factorMX          = diag.Category{Code: "mx", Label: "Mail servers"}
	factorReporting   = diag.Category{Code: "reporting", Label: "TLS reporting"}
)
