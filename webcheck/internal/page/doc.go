// Package page parses HTML: call [Read] with the bytes of a page and how they were served, for what search engines,
// browsers and link previews take from it. It uses no network and judges nothing.
//
// # How bytes become a page
//
// Bytes first become text. A byte order mark overrides the charset of the Content-Type field, which overrides a
// declaration in the page; without any of them the bytes show whether they are UTF-8, or which encoding of one of some
// thirty languages (encoding.spec.whatwg.org, html.spec.whatwg.org section 13.2.3). [Decode] does that.
//
// Text then becomes a tree, by the rules of browsers: every HTML can be parsed, and misplaced elements are moved.
// Scripts are not run, but the page is read as by a browser that runs them: the content of noscript is text, see
// [Page.Noscript].
//
// The parser gives up beyond 512 levels of nesting. The tokens are read nevertheless: [Page.HeadOnly] then says that
// there was no tree, and text and structure come from the tokens.
//
// # References
//
// References are resolved against the page's base as browsers do (url.spec.whatwg.org), more leniently than
// [diag.ParseURL]: [Ref.URL] may have a scheme or host that must not be fetched, so parse it again before fetching.
//
// # Untrusted input
//
// A page of 5 MiB may hold two million elements, and some make a parser build billions. Lists are capped beside
// exact counts; the tree is bounded before it is built ([Page.Cut]).
package page
