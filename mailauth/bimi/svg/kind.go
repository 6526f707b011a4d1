package svg

import (
	"github.com/diagkit/diagkit/diag/kit"
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
)

// A Kind is a sort of fault.
type Kind string

// Faults by which a text is not an image at all, or not XML.
const (
	Syntax      Kind = "syntax"                 // it is not well-formed XML
	Encoding    Kind = "encoding"               // its characters cannot be read
	NotSVG      Kind = "not_svg"                // the root is not an svg element in the SVG namespace
	Limit       Kind = "limit"                  // it is longer or nests deeper than is examined
	Doctype     Kind = "doctype"                // it has a document type declaration
	Entity      Kind = "entity"                 // it declares or uses entities
	Instruction Kind = "processing_instruction" // it has a processing instruction, such as xml-stylesheet
	Namespace   Kind = "namespace"              // a prefix is not declared, or wrongly
)

// What the profile keeps out for safety.
const (
	Script         Kind = "script"
	EventHandler   Kind = "event_handler"
	External       Kind = "external_reference" // an element that loads another document
	ExternalValue  Kind = "external_value"     // a value that refers to another document, which the schema permits
	Animation      Kind = "animation"
	RasterImage    Kind = "raster_image"
	Stylesheet     Kind = "stylesheet"
	Link           Kind = "link"
	ForeignContent Kind = "foreign_content" // such as HTML, audio and video
)

// What the profile has no place for.
const (
	Effect     Kind = "effect"      // filters, masks, clipping, blending
	Font       Kind = "font"        // embedded fonts
	EditorData Kind = "editor_data" // elements and attributes of other namespaces
	Element    Kind = "element"     // another element that the profile does not know
	Placement  Kind = "placement"   // an element or text where it is not allowed
	Attribute  Kind = "attribute"   // an attribute that the element must not have
	Value      Kind = "value"       // a value that the attribute must not have
	Version    Kind = "version"
	Profile    Kind = "base_profile"
	NoTitle    Kind = "title_missing" // or empty
	Size       Kind = "size"          // longer than 32 KiB
)

// Constraints that a schema cannot express, and recommendations for logos.
const (
	LongTitle        Kind = "title_long"
	PlaceholderTitle Kind = "title_placeholder"
	NoViewBox        Kind = "view_box_missing"
	BadViewBox       Kind = "view_box_invalid"
	NotSquare        Kind = "not_square"
	Dimension        Kind = "dimension"  // a width or height of the root that is relative, or no length
	Malformed        Kind = "malformed"  // a value that software cannot understand
	Dangling         Kind = "dangling"   // a reference to what is not in the document
	Base             Kind = "base"       // xml:base
	Prefix           Kind = "prefix"     // elements written with a prefix
	Charset          Kind = "charset"    // not in UTF-8
	Blank            Kind = "blank"      // nothing is drawn
	Lettering        Kind = "lettering"  // text, which looks different on each device
	Background       Kind = "background" // transparent
)

type trait struct {
	kind      Kind
	severity  diag.Severity
	forbidden string
}

// traits lists the kinds in order of importance to a reader.
var traits = []trait{
	{Syntax, diag.Critical, ""}, {Encoding, diag.Critical, ""}, {NotSVG, diag.Critical, ""}, {Limit, diag.Error, ""},
	{Script, diag.Critical, "script"}, {EventHandler, diag.Critical, "event_handler"},
	{External, diag.Error, "external_reference"}, {ExternalValue, diag.Error, "external_reference"},
	{Doctype, diag.Error, "doctype"}, {Entity, diag.Error, "entity"},
	{Instruction, diag.Error, "processing_instruction"}, {RasterImage, diag.Error, "raster_image"},
	{Animation, diag.Error, "animation"}, {Stylesheet, diag.Error, "stylesheet"}, {Link, diag.Error, "link"},
	{ForeignContent, diag.Error, "foreign_content"},
	{Effect, diag.Error, ""}, {Font, diag.Error, "font"},
	{EditorData, diag.Error, ""}, {Element, diag.Error, ""}, {Placement, diag.Error, ""},
	{Attribute, diag.Error, ""}, {Value, diag.Error, ""}, {Namespace, diag.Error, ""},
	{Version, diag.Error, ""}, {Profile, diag.Error, ""}, {NoTitle, diag.Error, ""},
	{Size, diag.Error, ""},
	{LongTitle, diag.Warning, ""}, {PlaceholderTitle, diag.Warning, ""},
	{NoViewBox, diag.Warning, ""}, {BadViewBox, diag.Warning, ""}, {NotSquare, diag.Warning, ""},
	{Dimension, diag.Warning, ""}, {Malformed, diag.Warning, ""}, {Dangling, diag.Warning, ""},
	{Base, diag.Warning, ""}, {Prefix, diag.Warning, ""}, {Charset, diag.Warning, ""},
	{Blank, diag.Warning, ""}, {Lettering, diag.Info, ""}, {Background, diag.Info, ""},
}

func (k Kind) trait() trait {
	if i := slices.IndexFunc(traits, func(t trait) bool { return t.kind == k }); i >= 0 {
		return traits[i]
	}
	return trait{kind: k, severity: diag.Error}
}

// Severity returns the severity of faults of the kind.
func (k Kind) Severity() diag.Severity { return k.trait().severity }

// forbidden is the word for what the profile keeps out for safety, such as "script"; empty for other kinds.
func (k Kind) forbidden() string { return k.trait().forbidden }

// Values lists the kinds, the gravest first.
func (Kind) Values() []string {
	return kit.Map(traits, func(t trait) string { return string(t.kind) })
}

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

// bannedAttrs are attributes with a kind of their own, more specific than not being in the profile.
var bannedAttrs = kindsOf(map[Kind]string{
	Stylesheet: "style",
	Effect:     "filter mask clip-path clip enable-background mix-blend-mode isolation",
})

// places describes the faults of known elements in places where they are not allowed.
var places = map[string]string{
	"title":    "a title names the whole image and is allowed only as the first element of svg",
	"desc":     "a description is allowed only directly in svg",
	"metadata": "metadata is allowed only directly in svg",
	"svg":      "images cannot be nested",
	"stop":     "a stop is allowed only in a gradient",
}

var placeholders = kit.Words("bimi-svg-tiny-12-ps bimi-svg untitled untitled-1 title logo svg image icon drawing " +
	"graphic artboard layer layer_1 test todo placeholder yourbrand")

var placeholderTitles = []string{"company name", "brand name", "your company", "your brand", "your logo", "my logo",
	"artboard 1", "layer 1", "bimi logo", "logo title", "insert title here", "title here"}

func isPlaceholder(title string) bool {
	title = strings.ToLower(title)
	return placeholders()[title] || slices.Contains(placeholderTitles, title)
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

var formats = []struct{ magic, name string }{
	{"\x89PNG", "a PNG image"}, {"GIF8", "a GIF image"}, {"\xFF\xD8\xFF", "a JPEG image"}, {"%PDF", "a PDF document"},
	{"%!PS", "a PostScript file"}, {"RIFF", "a WebP image"}, {"PK\x03\x04", "a ZIP archive"},
	{"\x1F\x8B", "compressed with gzip"},
	{"\x00\x00\x01\x00", "an icon (ICO)"}, {"BM", "a bitmap (BMP)"}, {"II*\x00", "a TIFF image"},
	{"MM\x00*", "a TIFF image"},
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
