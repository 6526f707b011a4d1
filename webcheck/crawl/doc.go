// Package crawl looks at a page as a search engine does: call [Check] with a URL.
//
// # How a crawler comes to a page
//
// Before a crawler asks for a page it asks for the robots.txt of the host (RFC 9309), anew for each host to which
// redirects lead. If that forbids the path, it stops there: it may still list the URL, but knows nothing of what stands
// in the page. If robots.txt cannot be had because the server fails, it must assume that everything is forbidden.
//
// Then it fetches the page, up to a size of its own, and reads the HTML. An X-Robots-Tag field or a
// robots meta element may forbid to index the page or to follow its links. A crawler that may not
// fetch a page never sees a noindex in it: the two do not add up, they exclude each other.
//
// What it takes from the page are the title, the description, the canonical URL, the alternates in
// other languages, the headings, text, images and links, and structured data.
//
// # What is not known is not missing
//
// A page that was not fetched, that a wall against bots answered for, or that could not be decompressed,
// has no title that is missing. What is not known is absent in the [Report], and not judged.
package crawl
