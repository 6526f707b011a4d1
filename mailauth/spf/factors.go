package spf

import "github.com/diagkit/diagkit/diag"

// The factors of the score, in the order of a reader.
var (
	factorRecord   = diag.Category{Code: "record", Label: "Record"}
	factorSyntax   = diag.Category{Code: "syntax", Label: "Syntax"}
	factorTerms    = diag.Category{Code: "terms", Label: "Terms"}
	factorPolicy   = diag.Category{Code: "policy", Label: "Policy"}
	factorTree     = diag.Category{Code: "tree", Label: "Includes and redirects"}
	factorLimits   = diag.Category{Code: "limits", Label: "DNS lookup limits"}
	factorNetworks = diag.Category{Code: "networks", Label: "Authorized networks"}
	factorHosts    = diag.Category{Code: "hosts", Label: "Hosts"}
)
