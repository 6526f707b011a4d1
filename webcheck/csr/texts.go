package csr

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words, where title and advice of the gravest finding do not say it better.
var texts = diag.Texts{
	"valid": {
		Headline: "Signing request is compliant",
		Sub:      "Public authorities can issue a certificate for it. Send them the file as the program wrote it.",
	},
	"csr.private_key.present": {
		Headline: "Private key in the text",
		Sub:      "Whoever could read it can use it. Generate a new key, and paste the signing request alone.",
	},
}
