package logo

import "github.com/diagkit/diagkit/diag"

// The factors of the score, in the order of a reader.
var (
	factorServer  = diag.Category{Code: "server", Label: "Web server"}
	factorFormat  = diag.Category{Code: "format", Label: "File format"}
	factorSafety  = diag.Category{Code: "safety", Label: "Safety"}
	factorProfile = diag.Category{Code: "profile", Label: "SVG Tiny PS"}
	factorTitle   = diag.Category{Code: "title", Label: "Title"}
	factorDesign  = diag.Category{Code: "design", Label: "Shape and size"}
)
