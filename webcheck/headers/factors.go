package headers

import "github.com/diagkit/diagkit/diag"

// The factors of the score, in the order of a reader.
var (
	factorTransport = diag.Category{Code: "transport", Label: "HTTPS"}
	factorPolicy    = diag.Category{Code: "content_policy", Label: "Content-Security-Policy"}
	factorFraming   = diag.Category{Code: "framing", Label: "Embedding by other sites"}
	factorTypes     = diag.Category{Code: "content_types", Label: "Media types"}
	factorPrivacy   = diag.Category{Code: "privacy", Label: "Referrer and permissions"}
	factorCookies   = diag.Category{Code: "cookies", Label: "Cookies"}
	factorScripts   = diag.Category{Code: "scripts", Label: "Scripts of other sites"}
	factorSharing   = diag.Category{Code: "sharing", Label: "Cross-origin access"}
	factorIsolation = diag.Category{Code: "isolation", Label: "Isolation from other sites"}
)
