package dkim

import "github.com/diagkit/diagkit/diag"

var texts = diag.Texts{string(diag.Valid): {
	Headline: "DKIM key is published correctly",
	Sub:      "Verifiers find the key and can use it. The header of a message shows whether your mail is signed with it.",
}}

// textsOffline are those of a record that need not be published.
var textsOffline = diag.Texts{string(diag.Valid): {
	Headline: "DKIM record is valid",
	Sub:      "Verifiers can use the key once the record is published at its selector.",
}}

// The factors of the score, in the order of a reader.
var (
	factorRecord   = diag.Category{Code: "record", Label: "Record"}
	factorSyntax   = diag.Category{Code: "syntax", Label: "Syntax"}
	factorKey      = diag.Category{Code: "key", Label: "Public key"}
	factorStrength = diag.Category{Code: "strength", Label: "Key strength"}
	factorUse      = diag.Category{Code: "use", Label: "Permitted use"}
)
