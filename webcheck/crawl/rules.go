package crawl

import (
	"slices"
	"sync"

	"github.com/diagkit/diagkit/diag"
)

// rules is the table of all that is examined, in the order in which a crawler would meet it.
var rules = sync.OnceValue(func() diag.Rules[*evidence] {
	return slices.Concat(hostRules(), robotsRules.With(rule{Category: factorAccess}), answerRules.With(rule{Category: factorAccess}),
		indexRules.With(rule{Category: factorIndexing}), canonicalRules.With(rule{Category: factorIndexing}),
		titleRules.With(rule{Category: factorMetadata}), headRules.With(rule{Category: factorMetadata}),
		contentRules.With(rule{Category: factorContent}), dataRules.With(rule{Category: factorData}),
		securityRules.With(rule{Category: factorSecurity})).Reading(fromPage)
})

// The factors of the score, in the order of a reader.
var (
	factorAccess   = diag.Category{Code: "access", Label: "Access and answer"}
	factorIndexing = diag.Category{Code: "indexing", Label: "Indexing"}
	factorMetadata = diag.Category{Code: "metadata", Label: "Title and metadata"}
	factorContent  = diag.Category{Code: "content", Label: "Content"}
	factorData     = diag.Category{Code: "structured_data", Label: "Structured data"}
	factorSecurity = diag.Category{Code: "security", Label: "HTTPS and mixed content"}
)

// The references that stand with several rules.
const (
	htmlStandard = "HTML Standard section "
	googleDoc    = "Google Search Central, "
)
