package dmarc

import "github.com/diagkit/diagkit/diag"

// The factors of the score, in the order of a reader.
var (
	factorPolicy      = diag.Category{Code: "policy", Label: "Policy"}
	factorSubdomains  = diag.Category{Code: "subdomains", Label: "Subdomains"}
	factorReporting   = diag.Category{Code: "reporting", Label: "Aggregate reports"}
	factorApplication = diag.Category{Code: "application", Label: "Full application"}
	factorAlignment   = diag.Category{Code: "alignment", Label: "Alignment"}
	factorSyntax      = diag.Category{Code: "syntax", Label: "Syntax and uniqueness"}
)
