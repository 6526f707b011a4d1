package mx

import "github.com/diagkit/diagkit/diag"

// The factors of the score, in the order of a reader.
var (
	factorRecords    = diag.Category{Code: "records", Label: "MX records"}
	factorNames      = diag.Category{Code: "names", Label: "Names of the mail servers"}
	factorAddresses  = diag.Category{Code: "addresses", Label: "Addresses of the mail servers"}
	factorRedundancy = diag.Category{Code: "redundancy", Label: "Redundancy and IP versions"}
)
