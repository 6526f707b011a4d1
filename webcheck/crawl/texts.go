package crawl

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words, where title and advice of the gravest finding do not.
var texts = diag.Texts{
	"excellent": {
		Headline: "Page can be crawled and indexed, and says what it offers",
		Sub:      "Crawlers find what they need. The findings, if any, are for fine tuning.",
	},
	"valid": {
		Headline: "Page can be crawled and indexed",
		Sub:      "Crawlers find the page and what it says of itself. The findings say what could be better.",
	},
	"crawl.robots.disallowed": {
		Headline: "robots.txt forbids crawling the page",
		Sub:      "Crawlers do not fetch it and know nothing of its content. Allow it if it is to be found.",
	},
	"crawl.status.missing": {
		Headline: "Page not found (404 or 410), so it is not indexed",
		Sub:      "Search engines drop the page. Restore it, or redirect its URL to the content.",
	},
	"crawl.type": {
		Headline: "The content type is not HTML, so there is no page to examine",
		Sub:      "Crawlers may index the file as it is. Metadata of web pages does not apply to it.",
	},
	"crawl.canonical.elsewhere": {
		Headline: "Page can be crawled, and asks for another page to be indexed",
		Sub:      "Its canonical URL is that of another page of the site. Leave it if that page is meant.",
	},
	"crawl.size.truncated": {
		Headline: "Page can be crawled and indexed, as far as it was examined",
		Sub:      "It is longer than what was examined. Raise max_bytes to have all of it looked at.",
	},
	"crawl.index.nofollow": {
		Headline: "Page can be indexed, and asks crawlers not to follow its links",
		Sub:      "Pages that only it links to may not be found. Remove nofollow unless that is meant.",
	},
}
