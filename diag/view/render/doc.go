// Package render writes a view for those who read it: [Text] for terminals, [Markdown] for tickets, [HTML] for pages
// and [SVG] for its drawing alone. All are made from the view and nothing else, say the same, and never say anything by
// colour alone. What strangers wrote cannot leave its place: controls are shown rather than obeyed, and markup is
// escaped.
package render
