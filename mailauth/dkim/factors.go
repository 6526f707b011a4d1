package dkim

import "github.com/diagkit/diagkit/diag"

// The factors of the score, in the order of a reader.
var (
	factorRecord   = diag.Category{Code: "record", Label: "Record"}
	factorSyntax   = diag.Category{Code: "syntax", Label: "Syntax"}
	factorKey      = diag.Category{Code: "key", Label: "Public key"}
	factorStrength = diag.Category{Code: "strength", Label: "Key strength"}
	factorUse      = diag.Category{Code: "use", Label: "Permitted use"}
)
