package svg

import (
	"fmt"
	"strings"
	"testing"
)

// traps are images of maximum size that would be slow to judge if the validator had quadratic steps.
func traps() map[string]string {
	fill := func(before, piece, after string) string {
		n := (MaxBytes - len(before) - len(after) - 200) / len(piece)
		return with(before + strings.Repeat(piece, n) + after)
	}
	var attrs, ids, names strings.Builder
	for i := 0; attrs.Len() < MaxBytes-500; i++ {
		fmt.Fprintf(&attrs, ` a%d=""`, i)
	}
	for i := 0; ids.Len() < MaxBytes-500; i++ {
		fmt.Fprintf(&ids, `<g id="i%d" fill="url(#j%d)"/>`, i, i)
	}
	for i := range maxNamespaces - 3 {
		fmt.Fprintf(&names, ` xmlns:n%d="n%d"`, i, i)
	}
	return map[string]string{
		"path":        fill(`<path d="M0 0`, `c1.5-.5 2 3 4,5`, `"/>`),
		"shapes":      fill("", `<path fill="#0b5fff" d="M0 0h9v9H0z" stroke-width="2"/>`, ""),
		"attributes":  with("<g" + attrs.String() + "/>"),
		"identifiers": with(ids.String()),
		"namespaces":  with("<g" + names.String() + ">" + strings.Repeat("<n0:a n1:b=''/>", MaxBytes/17) + "</g>"),
		"references":  fill("<desc>", "&#65;", "</desc>"),
		"entities":    fill("<desc>", "&a;", "</desc>"),
		"ampersands":  fill("<desc>", "&", "</desc>"),
		"urls":        fill(`<g fill="`, "url(#", `"/>`),
		"url":         fill(`<g fill="`, "url(#a)", `"/>`),
		"angles":      fill("<!--", "<", "-->"),
		"transforms":  fill(`<g transform="`, "scale(", `"/>`),
		"nesting":     fill("", "<g></g>", ""),
		"faults":      fill("", "<a b=''/>", ""),
		"doctype":     "<!DOCTYPE a [" + strings.Repeat("<!ENTITY a ''>", MaxBytes/15) + "]>",
		"lines":       fill("", "\n", "<a/>"),
	}
}

func BenchmarkValidate(b *testing.B) {
	for name, image := range traps() {
		b.Run(name, func(b *testing.B) {
			text := []byte(image[:min(len(image), MaxBytes)])
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				Validate(text)
			}
		})
	}
}
