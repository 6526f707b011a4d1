package aggregate

import "github.com/diagkit/diagkit/diag"

// The factors of the score, in the order of a reader. What the receiver did wrong in its report carries no
// weight: it says nothing about the domain.
var (
	factorAuthentication = diag.Category{Code: "authentication", Label: "Own mail passes"}
	factorCoverage       = diag.Category{Code: "coverage", Label: "DKIM and SPF alignment"}
	factorPolicy         = diag.Category{Code: "policy", Label: "Policy against spoofing"}
	factorScope          = diag.Category{Code: "scope", Label: "Full application"}
)
