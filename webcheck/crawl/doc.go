// Package crawl examines a page as a search engine does: call [Check] with a URL.
//
// # How a crawler reads a page
//
// Before a crawler fetches a page, it fetches the robots.txt (RFC 9309) of the host, and of each further host
// of a redirect chain. If that disallows the path, it does not fetch the page: it may still list the URL, but
// without its content. If robots.txt cannot be read because of a server error, the crawler must assume that
// everything is disallowed.
//
// It then fetches the page, up to a size limit, and parses the HTML. An X-Robots-Tag field or a robots meta
// element may forbid indexing the page or following its links. A crawler that may not fetch a page never sees
// a noindex in it, so the two must not be combined.
//
// These rules may differ by crawler: robots.txt, header fields and elements may name one, and Google parses
// robots.txt in its own way. The [Report] therefore lists what a generic crawler, Googlebot and Bingbot may
// do.
//
// From the page, a crawler takes the title, the description, the canonical URL, alternates in other
// languages, headings, text, images, links, and structured data. If the canonical URL is another page, Check
// fetches that as well, because it is indexed instead only if crawlers may index it.
//
// # What is not known is not missing
//
// A title is not missing only because the page was not fetched, was replaced by a bot challenge, or could not
// be decompressed. What is unknown is absent from the Report and not judged.
package crawl
