package tlsrpt

import "github.com/diagkit/diagkit/diag"

// The factors of the score, in the order of a reader.
var (
	factorRecord   = diag.Category{Code: "record", Label: "DNS record"}
	factorSyntax   = diag.Category{Code: "syntax", Label: "Syntax and uniqueness"}
	factorAddress  = diag.Category{Code: "addresses", Label: "Report addresses"}
	factorDelivery = diag.Category{Code: "delivery", Label: "Delivery of reports"}
)
