package bimi

import "github.com/diagkit/diagkit/diag"

// The factors of the score, in the order of a reader.
var (
	factorRecord      = diag.Category{Code: "record", Label: "Record"}
	factorDMARC       = diag.Category{Code: "dmarc", Label: "DMARC policy"}
	factorLogo        = diag.Category{Code: "logo", Label: "Logo"}
	factorCertificate = diag.Category{Code: "certificate", Label: "Certificate"}
)
