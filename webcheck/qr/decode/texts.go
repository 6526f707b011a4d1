package decode

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words, where title and advice of the gravest finding do not say it better.
var texts = diag.Texts{
	"valid": {Headline: "QR code read", Sub: "No fault was found in what was read of the image."},
}
