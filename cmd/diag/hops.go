package main

import (
	"fmt"
	"strings"
)

// hops prints the chain of redirects of a report that followed some: a line for each answer, and where the
// chain ended without one.
func (p *printer) hops(r *tree) {
	list := r.get("hops").items
	final := r.get("final_url").text()
	if len(list) == 0 || final == "" || len(list) == 1 && list[0].get("url").text() == final {
		return
	}
	p.heading("Way")
	for i, h := range list {
		p.wrap(fmt.Sprintf("  %2d  %3s  ", i+1, h.get("status_code").text()), h.get("url").text()+notes(h))
	}
	if last := list[len(list)-1].get("url").text(); last != final {
		p.wrap("   ✖       ", final+" ("+r.get("error").get("message").text()+")")
	}
}

// notes are the remarkable things about a hop.
func notes(h *tree) string {
	var list []string
	if kind := h.get("redirect_type").text(); kind != "" && kind != "http" {
		text := words(kind)
		if after := h.get("delay_seconds"); !after.empty() {
			text += " after " + after.text() + " s"
		}
		list = append(list, text)
	}
	if name := h.get("shortener").text(); name != "" {
		list = append(list, "shortener "+name)
	}
	if h.get("downgrade").text() == "true" {
		list = append(list, "leads to http")
	}
	if h.get("cross_domain").text() == "true" {
		list = append(list, "leads to another domain")
	}
	if n := len(h.get("cookies").items); n > 0 {
		list = append(list, "sets "+count(n, "cookie"))
	}
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, ", ") + ")"
}
