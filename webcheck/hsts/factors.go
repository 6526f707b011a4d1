package hsts

import "github.com/diagkit/diagkit/diag"

// The factors of the score, in the order of a reader.
var (
	factorHTTPS    = diag.Category{Code: "https", Label: "HTTPS"}
	factorHeader   = diag.Category{Code: "header", Label: "Header"}
	factorDuration = diag.Category{Code: "duration", Label: "Duration"}
	factorScope    = diag.Category{Code: "scope", Label: "Subdomains"}
	factorRedirect = diag.Category{Code: "redirect", Label: "Redirect from HTTP"}
	factorPreload  = diag.Category{Code: "preload", Label: "Preloading"}
)
