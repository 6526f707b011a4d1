package smtpcheck

import "github.com/diagkit/diagkit/diag"

// The factors of the score, in the order of a reader.
var (
	factorReach       = diag.Category{Code: "reachability", Label: "Reachability"}
	factorProtocol    = diag.Category{Code: "protocol", Label: "Banner and EHLO"}
	factorTLS         = diag.Category{Code: "encryption", Label: "Encryption"}
	factorCertificate = diag.Category{Code: "certificate", Label: "Certificate"}
	factorAbuse       = diag.Category{Code: "abuse", Label: "Relaying and authentication"}
	factorNames       = diag.Category{Code: "names", Label: "Names and reverse DNS"}
)
