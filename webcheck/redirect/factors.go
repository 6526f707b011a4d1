package redirect

import "github.com/diagkit/diagkit/diag"

// The factors of the score, in the order of a visitor.
var (
	factorReach       = diag.Category{Code: "reachability", Label: "Reachability"}
	factorRedirects   = diag.Category{Code: "redirects", Label: "Redirects"}
	factorTransport   = diag.Category{Code: "encryption", Label: "Encryption"}
	factorDestination = diag.Category{Code: "destination", Label: "Destination"}
)

// The sections that most rules rest on.
const (
	refRedirect = "RFC 9110 section 15.4"
	refLocation = "RFC 9110 section 10.2.2"
	refRefresh  = "HTML Standard, shared declarative refresh steps"
	refURI      = "RFC 9110 section 4.3.4"
)
