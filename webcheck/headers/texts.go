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
	"headers.status.error": {
		Headline: "The headers are those of an error page",
		Sub:      "Servers often send others with it, and it has no score. Examine a page that exists too.",
	},
	"headers.cors.unknown": {
		Headline: "Security headers are in place, but CORS could not be examined",
		Sub:      "Requests with an Origin field were not answered, so what other sites may read is not known.",
	},
	"headers.redirect.unknown": {
		Headline: "Security headers are in place, but HTTP did not answer",
		Sub:      "Whether HTTP leads to HTTPS is not known. Let port 80 redirect, or refuse connections at once.",
	},
}
