package resolve

import "github.com/diagkit/diagkit/diag"

// texts are the headlines of a lookup where the gravest finding does not say it.
var texts = diag.Texts{
	"valid": {Headline: "Records found", Sub: "The server returned the records that were asked for."},
	"resolve.records.nodata": {
		Headline: "The name exists, but has no record of this type",
		Sub:      "That is an answer, not a failure. Query other types, or add a record of this type.",
	},
}

// reverseTexts are those of a reverse lookup.
var reverseTexts = diag.Texts{
	"valid": {Headline: "Reverse DNS is set up", Sub: "The address has a PTR record."},
}
