package svg

import (
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
)

// banned are the elements of SVG that the profile leaves out, by the kind of fault that they are.
var banned = kindsOf(map[Kind]string{
	Script:         "script handler listener",
	Animation:      "animate animateColor animateMotion animateTransform animation set discard mpath",
	RasterImage:    "image feImage",
	Stylesheet:     "style",
	Link:           "a view",
	External:       "prefetch link",
	ForeignContent: "foreignObject iframe html body canvas embed object div span p audio video",
	Effect: "filter mask clipPath color-profile cursor feBlend feColorMatrix feComponentTransfer feComposite " +
		"feConvolveMatrix feDiffuseLighting feDisplacementMap feDistantLight feDropShadow feFlood feFuncA feFuncB " +
		"feFuncG feFuncR feGaussianBlur feMerge feMergeNode feMorphology feOffset fePointLight feSpecularLighting " +
		"feSpotLight feTile feTurbulence",
	Font: "font font-face font-face-src font-face-uri font-face-name font-face-format glyph missing-glyph hkern vkern",
})

// bannedAttrs are attributes that say more than that they are not in the profile.
var bannedAttrs = kindsOf(map[Kind]string{
	Stylesheet: "style",
	Effect:     "filter mask clip-path clip enable-background mix-blend-mode isolation",
})

// places are the faults of elements that the profile knows, where they must not stand.
var places = map[string]string{
	"title":    "a title names the whole image and stands only as the first element of svg",
	"desc":     "a description stands only directly in svg",
	"metadata": "metadata stands only directly in svg",
	"svg":      "images cannot be nested",
	"stop":     "a stop stands only in a gradient",
}

// placeholders are titles that export software writes.
var placeholders = diag.Words("bimi-svg-tiny-12-ps bimi-svg untitled untitled-1 title logo svg image icon drawing graphic " +
	"artboard layer layer_1 test todo placeholder yourbrand")

// placeholderTitles are those of several words.
var placeholderTitles = []string{"company name", "brand name", "your company", "your brand", "your logo", "my logo",
	"artboard 1", "layer 1", "bimi logo", "logo title", "insert title here", "title here"}

func isPlaceholder(title string) bool {
	title = strings.ToLower(title)
	for _, p := range placeholderTitles {
		if title == p {
			return true
		}
	}
	return placeholders()[title]
}

// kindsOf turns lists of names around, when they are first needed.
func kindsOf(lists map[Kind]string) func() map[string]Kind {
	return sync.OnceValue(func() map[string]Kind {
		m := map[string]Kind{}
		for kind, names := range lists {
			for name := range strings.FieldsSeq(names) {
				m[name] = kind
			}
		}
		return m
	})
}

// formats are the beginnings of files that are given for SVG by mistake.
var formats = []struct{ magic, name string }{
	{"\x89PNG", "a PNG image"}, {"GIF8", "a GIF image"}, {"\xFF\xD8\xFF", "a JPEG image"}, {"%PDF", "a PDF document"},
	{"%!PS", "a PostScript file"}, {"RIFF", "a WebP image"}, {"PK\x03\x04", "a ZIP archive"}, {"\x1F\x8B", "compressed with gzip"},
	{"\x00\x00\x01\x00", "an icon (ICO)"}, {"BM", "a bitmap (BMP)"}, {"II*\x00", "a TIFF image"}, {"MM\x00*", "a TIFF image"},
	{"8BPS", "a Photoshop document"}, {"\xC5\xD0\xD3\xC6", "an EPS file"},
}

func otherFormat(image []byte) string {
	head := string(image[:min(len(image), 512)])
	for _, f := range formats {
		if strings.HasPrefix(head, f.magic) {
			return f.name
		}
	}
	switch trimmed := strings.ToLower(strings.TrimLeft(head, white+markUTF8)); {
	case strings.HasPrefix(trimmed, "<!doctype html"), strings.HasPrefix(trimmed, "<html"):
		return "an HTML page"
	case strings.HasPrefix(trimmed, "{"):
		return "JSON or other text"
	}
	return ""
}
