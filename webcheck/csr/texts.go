package csr

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words, where title and advice of the gravest finding do not say it better.
var texts = diag.Texts{
	"valid": {
		Headline: "Signing request is compliant",
		Sub:      "Nothing in it keeps public authorities from issuing a certificate. Send them the file unchanged.",
	},
}
