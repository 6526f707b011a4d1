// Package crawl examines a page as a search engine does: call [Check] with a URL.
//
// # How a crawler reads a page
//
// Before a crawler fetches a page it fetches the host's robots.txt (RFC 9309), anew for each host on a redirect
// chain. If that disallows the path, it stops: it may still list the URL, but knows nothing of the content. If
// robots.txt is unavailable because the server fails, it must assume that everything is disallowed.
//
// It then fetches the page, up to a size limit, and parses the HTML. An X-Robots-Tag field or a robots meta element
// may forbid indexing the page or following its links. A crawler that may not fetch a page never sees a noindex in
// it: the two exclude each other.
//
// Each crawler decides that for itself: robots.txt, header fields and elements may name one, and Google's reads
// robots.txt with a parser of its own. So the [Report] says for our crawler, Googlebot and Bingbot what they may do.
//
// From the page it takes the title, the description, the canonical URL, alternates in other languages, headings,
// text, images, links, and structured data. Where the canonical URL is another page, that page is fetched as well: it
// is indexed instead only if it can be.
//
// # What is not known is not missing
//
// A page that was not fetched, was replaced by a bot challenge, or could not be decompressed has no missing title.
// What is unknown is absent from the [Report] and not judged.
package crawl
