// Package page reads HTML: call [Read] with the bytes of a page and what was said of them, and get what
// search engines, browsers and link previews take from it. It asks nobody and judges nothing.
//
// # How bytes become a page
//
// First the bytes become text. A byte order mark outweighs the charset of the Content-Type field, that
// outweighs a declaration in the page itself, and without any of them the bytes tell whether they are
// UTF-8 (encoding.spec.whatwg.org, html.spec.whatwg.org section 13.2.3). [Decode] does that.
//
// Then the text becomes a tree, by the rules of browsers: there is no HTML that cannot be parsed, and
// what stands where it should not is moved to where it works. Scripts are not run, but the page is read as
// by a browser that would: what stands in noscript is text, not elements. [Page.Noscript] has it.
//
// The parser gives up where elements are nested more than 512 deep. What stands in the tokens is read nevertheless:
// [Page.HeadOnly] then says that there was no tree, so that text and structure are those of tokens.
//
// # References
//
// All references are resolved against the base of the page as browsers resolve them
// (url.spec.whatwg.org), which is more lenient than [diag.ParseURL]: [Ref.URL] may hold a scheme or a
// host at which nothing may be fetched. Whoever fetches one parses it again.
//
// # A hostile world
//
// A page of 5 MiB may hold two million elements, and some arrangements of 5 MiB make a parser build thousands of
// millions. Lists have maxima, beside counts that have none; the tree is bounded before it is built ([Page.Cut]).
package page
