package headers

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words, where title and advice of the gravest finding do not.
var texts = diag.Texts{
	"excellent": {
		Headline: "Security headers protect the visitors of this page well",
		Sub:      "Browsers enforce what the page asks for. Keep the policies in step with what the page loads.",
	},
	"valid": {
		Headline: "Security headers are set up correctly",
		Sub:      "Browsers enforce what the page asks for. The hints say what could be stricter.",
	},
}
