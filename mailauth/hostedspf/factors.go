package hostedspf

import "github.com/diagkit/diagkit/diag"

// The factors of the score, in the order of a reader.
var (
	factorSource = diag.Category{Code: "source", Label: "Source record"}
	factorLimits = diag.Category{Code: "limits", Label: "Limits"}
	factorDomain = diag.Category{Code: "domain", Label: "Domain's own record"}
)
