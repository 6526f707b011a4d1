// Package render writes a view for its readers: [Text] for terminals, [Markdown] for tickets, [HTML] for pages and
// [SVG] for its drawing alone. All are made from the view alone, have the same contents, and never convey anything
// by color alone. Untrusted text cannot affect the output around it: control characters are shown rather than
// obeyed, and markup is escaped.
package render
