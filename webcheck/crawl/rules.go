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

// texts are what the verdict says in words, where title and advice of the gravest finding do not.
var texts = diag.Texts{
	"excellent": {
		Headline: "Page can be crawled and indexed, and says what it offers",
		Sub:      "Crawlers find what they need. The findings, if any, are for fine-tuning.",
	},
	"valid": {
		Headline: "Page can be crawled and indexed",
		Sub:      "Crawlers can read the page and its metadata. The findings say what could be better.",
	},
	"crawl.type": {
		Headline: "The content type is not HTML, so there is no page to examine",
		Sub:      "Crawlers may index the file as it is. Metadata of web pages does not apply to it.",
	},
	"crawl.canonical.elsewhere": {
		Headline: "Page can be crawled, but names another page as canonical",
		Sub:      "Search engines index the other page instead. Name the URL of this page unless that is intended.",
	},
	"crawl.size.truncated": {
		Headline: "Page can be crawled and indexed, as far as it was examined",
		Sub:      "It is longer than what was examined. Raise max_bytes to examine all of it.",
	},
	"crawl.index.nofollow": {
		Headline: "Page can be indexed, but tells crawlers not to follow its links",
		Sub:      "Pages that only it links to may not be found. Remove nofollow unless that is intended.",
	},
}
