package svg

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
)

// A Kind is a sort of fault.
type Kind string

// What makes a text no image at all, or no XML.
const (
	Syntax      Kind = "syntax"                 // it is no well-formed XML
	Encoding    Kind = "encoding"               // its characters cannot be read
	NotSVG      Kind = "not_svg"                // the root is no svg element of the namespace of SVG
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
	ForeignContent Kind = "foreign_content" // HTML, audio, video and the like
)

// What the profile has no place for.
const (
	Effect     Kind = "effect"      // filters, masks, clipping, blending
	Font       Kind = "font"        // embedded fonts
	EditorData Kind = "editor_data" // elements and attributes of other namespaces
	Element    Kind = "element"     // another element that the profile does not know
	Placement  Kind = "placement"   // an element or text where it must not stand
	Attribute  Kind = "attribute"   // an attribute that the element must not have
	Value      Kind = "value"       // a value that the attribute must not have
	Version    Kind = "version"
	Profile    Kind = "base_profile"
	NoTitle    Kind = "title_missing" // or empty
	Size       Kind = "size"          // longer than 32 KiB
)

// What a schema cannot tell, and what makes a good logo.
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

// traits are the kinds in the order in which a reader would want to know.
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

// Severity is how grave faults of the kind are.
func (k Kind) Severity() diag.Severity { return k.trait().severity }

// Forbidden is the word for what the profile keeps out for safety, such as "script"; empty for other kinds.
func (k Kind) Forbidden() string { return k.trait().forbidden }

// Kinds lists all kinds, the gravest first.
func Kinds() []Kind {
	list := make([]Kind, len(traits))
	for i, t := range traits {
		list[i] = t.kind
	}
	return list
}

// Values lists the kinds.
func (Kind) Values() []string {
	list := make([]string, len(traits))
	for i, t := range traits {
		list[i] = string(t.kind)
	}
	return list
}
