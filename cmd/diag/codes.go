package main

import (
	"fmt"
	"strings"
)

// codes prints QR codes: for each the text, its parts, and how it is written.
func (p *printer) codes(list []*tree) {
	for i, c := range list {
		p.heading(fmt.Sprintf("code %d: %s", i+1, words(c.get("content_type").text())))
		for line := range strings.Lines(c.get("text").text()) {
			p.wrap("  ", line)
		}
		parsed := c.get("parsed")
		for j, name := range parsed.names {
			if !parsed.items[j].empty() {
				p.entry(name, parsed.items[j])
			}
		}
		written := fmt.Sprintf("version %s, error correction %s, %s of %s correctable codewords damaged",
			c.get("version").text(), c.get("error_correction").text(), c.get("errors_corrected").text(), c.get("errors_correctable").text())
		for _, name := range []string{"mirrored", "inverted", "gs1"} {
			if c.get(name).text() == "true" {
				written += ", " + name
			}
		}
		p.wrap("  "+p.label("symbol"), written)
		var corners []string
		for _, point := range c.get("position").items {
			corners = append(corners, point.get("x").text()+","+point.get("y").text())
		}
		p.wrap("  "+p.label("corners"), strings.Join(corners, "  "))
		if part := c.get("structured_append"); !part.empty() {
			p.entry("part", part)
		}
	}
}
