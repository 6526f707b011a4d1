package dkim

import (
	"maps"

	"github.com/diagkit/diagkit/diag"
)

// textsOffline are those of a record that need not be published.
var textsOffline = func() diag.Texts {
	t := maps.Clone(texts)
	valid := diag.Text{Headline: "DKIM record is valid",
		Sub: "Verifiers can use the key once the record is published at its selector."}
	t["excellent"], t["valid"] = valid, valid
	return t
}()

// texts are what the verdict says in words where no rule speaks.
var texts = diag.Texts{
	"excellent": {
		Headline: "DKIM key is published correctly",
		Sub:      "Verifiers find the key and can use it. The header of a message shows whether your mail is signed with it.",
	},
	"valid": {
		Headline: "DKIM key is published correctly",
		Sub:      "Verifiers find the key and can use it. The header of a message shows whether your mail is signed with it.",
	},
}

// The factors of the score, in the order of a reader.
var (
	factorRecord   = diag.Category{Code: "record", Label: "Record"}
	factorSyntax   = diag.Category{Code: "syntax", Label: "Syntax"}
	factorKey      = diag.Category{Code: "key", Label: "Public key"}
	factorStrength = diag.Category{Code: "strength", Label: "Key strength"}
	factorUse      = diag.Category{Code: "use", Label: "Permitted use"}
)
