package resolve

import "github.com/diagkit/diagkit/diag"

// texts are the headlines of a lookup where the gravest finding does not say it.
var texts = diag.Texts{
	"valid": {
		Headline: "Records found",
		Sub:      "The server answered with the records below.",
	},
	"resolve.records.nodata": {
		Headline: "The name exists, but has no record of this type",
		Sub:      "That is an answer, not a failure: other types may exist at the name.",
	},
}

// reverseTexts are those of a reverse lookup.
var reverseTexts = diag.Texts{
	"valid": {
		Headline: "Reverse DNS is set up",
		Sub:      "The address has a PTR record.",
	},
}
