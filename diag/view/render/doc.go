// Package render writes a view in several formats: [Text] for terminals, [Markdown] for tickets, [HTML] or
// [Page] for the web, and [SVG] for its drawing alone. All have the same contents, and none conveys anything
// by color alone. Untrusted text cannot affect the output around it: control characters are made visible, and
// markup is escaped.
package render
