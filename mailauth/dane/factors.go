package dane

import "github.com/diagkit/diagkit/diag"

// The factors of the score, in the order of a reader.
var (
	factorDNSSEC      = diag.Category{Code: "dnssec", Label: "DNSSEC"}
	factorRecords     = diag.Category{Code: "records", Label: "TLSA records"}
	factorCertificate = diag.Category{Code: "certificate", Label: "Certificates"}
	factorCoverage    = diag.Category{Code: "coverage", Label: "Mail servers covered"}
)
