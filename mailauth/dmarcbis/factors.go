package dmarcbis

import "github.com/diagkit/diagkit/diag"

// The factors of the score of a check, in the order of a reader.
var (
	factorDiscovery = diag.Category{Code: "discovery", Label: "Policy discovery"}
	factorPolicy    = diag.Category{Code: "policy", Label: "Policies"}
	factorObsolete  = diag.Category{Code: "obsolete", Label: "Obsolete tags"}
	factorSuffix    = diag.Category{Code: "psd", Label: "Public suffix declaration"}
	factorLegacy    = diag.Category{Code: "legacy", Label: "Receivers of RFC 7489"}
)
