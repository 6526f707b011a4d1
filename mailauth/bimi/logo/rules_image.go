package logo

import (
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/bimi/svg"
)

const (
	refProfile = "draft-svg-tiny-ps-abrotman-12 section 2"
	refXML     = "XML 1.0 section 2.1"
	refTiny    = "SVG Tiny 1.2 chapter 7"
)

const exportAgain = "Correct the error in a text editor, or export the logo again as SVG and upload that file as it " +
	"is: editing by hand or a content management system has damaged it."

var formatRules = rule.Rules[*evidence]{faultRule(svg.NotSVG, rule.Rule[*evidence]{
	Code: "bimi.logo.format", Weight: 5, Ref: refFormats,
	Title: "Logo is not an SVG image", Requirement: "The logo is an SVG image",
	Advice: "Export the logo as SVG from the original drawing; renaming or embedding a raster image does not help. If " +
		"the address shows a web page, use that of the file itself.",
}), faultRule(svg.Syntax, rule.Rule[*evidence]{
	Code: "bimi.logo.xml", Weight: 3, Ref: refXML,
	Title: "Logo is not well-formed XML", Requirement: "The logo is well-formed XML",
	Advice: exportAgain,
}), faultRule(svg.Encoding, rule.Rule[*evidence]{
	Code: "bimi.logo.encoding", Weight: 1, Ref: "XML 1.0 section 4.3.3",
	Title: "Logo has characters that cannot be read", Requirement: "The characters of the logo can be read",
	Advice: "Save the file in UTF-8, without a byte order mark, and with encoding=\"UTF-8\" in its first line.",
}), faultRule(svg.Charset, rule.Rule[*evidence]{
	Code: "bimi.logo.charset", Category: factorFormat, Ref: "XML 1.0 section 4.3.3",
	Title: "Logo is not in UTF-8", Requirement: "The logo is in UTF-8",
	Advice: "Save the file in UTF-8 and write encoding=\"UTF-8\" into its first line: not every receiver reads others.",
}), faultRule(svg.Limit, rule.Rule[*evidence]{
	Code: "bimi.logo.complexity", Category: factorFormat,
	Title: "Logo is too complex to be examined", Requirement: "The logo is simple enough to be examined",
	Advice: "Ungroup all shapes in the drawing software, delete what is hidden, and export the logo again.",
}), faultRule(svg.Namespace, rule.Rule[*evidence]{
	Code: "bimi.logo.namespace", Weight: 1, Ref: "Namespaces in XML 1.0 section 5",
	Title: "Logo uses a prefix that is not declared", Requirement: "The logo declares the prefixes that it uses",
	Advice: "Remove the element or attribute, or declare its prefix with xmlns on the svg element.",
}), faultRule(svg.Prefix, rule.Rule[*evidence]{
	Code: "bimi.logo.prefix", Category: factorFormat, Ref: "Namespaces in XML 1.0 section 6.2",
	Title: "Elements of the logo have a prefix", Requirement: "The elements of the logo have no prefix",
	Advice: "Write the elements without a prefix (svg, not svg:svg): simple checks do not recognize them otherwise.",
})}

var safetyRules = rule.Rules[*evidence]{faultRule(svg.Script, rule.Rule[*evidence]{
	Code: "bimi.logo.script", Weight: 3,
	Title: "Logo contains a script", Requirement: "The logo contains no script",
	Advice: "Remove scripts, and comments that mention them. If nobody put one there, find out who changed the file: " +
		"the web server may have been broken into.",
}), faultRule(svg.EventHandler, rule.Rule[*evidence]{
	Code: "bimi.logo.event_handler", Weight: 3,
	Title: "Logo contains event handlers", Requirement: "The logo contains no event handlers",
	Advice: "Remove all attributes that begin with on, such as onclick and onload.",
}), faultRule(svg.External, rule.Rule[*evidence]{
	Code: "bimi.logo.external", Weight: 2,
	Title: "Logo loads from other addresses", Requirement: "The logo loads nothing from other addresses",
	Advice: "Draw into the file what it refers to: references may only lead to elements of the image itself (#id).",
}), faultRule(svg.ExternalValue, rule.Rule[*evidence]{
	Code: "bimi.logo.external.value", Weight: 2,
	Title: "Colors of the logo refer to other documents", Requirement: "No color of the logo refers to another document",
	Advice: "Define the gradient in the image itself and refer to it as url(#id), without xml:base.",
}), faultRule(svg.Doctype, rule.Rule[*evidence]{
	Code: "bimi.logo.doctype", Weight: 1, Ref: "XML 1.0 section 2.8",
	Title: "Logo has a DOCTYPE", Requirement: "The logo has no DOCTYPE",
	Advice: "Remove everything from <!DOCTYPE to its closing >. Older versions of Illustrator write it; \"Export As\" " +
		"instead of \"Save As\" does not.",
}), faultRule(svg.Entity, rule.Rule[*evidence]{
	Code: "bimi.logo.entity", Weight: 1, Ref: "XML 1.0 section 4.2",
	Title: "Logo uses entities", Requirement: "The logo uses no entities",
	Advice: "Write the characters themselves instead of entities such as &nbsp; in the text. In Illustrator choose " +
		"\"Presentation Attributes\" for CSS properties, not \"Style Attributes (Entity References)\".",
}), faultRule(svg.Instruction, rule.Rule[*evidence]{
	Code: "bimi.logo.instruction", Weight: 1, Ref: "XML 1.0 section 2.6",
	Title: "Logo has processing instructions", Requirement: "The logo has no processing instructions",
	Advice: "Remove all that begins with <?, except for the first line <?xml version=\"1.0\" encoding=\"UTF-8\"?>.",
}), faultRule(svg.RasterImage, rule.Rule[*evidence]{
	Code: "bimi.logo.raster", Weight: 2,
	Title: "Logo contains a raster image", Requirement: "The logo contains no raster image",
	Advice: "Redraw the picture with shapes, or trace it (Image Trace in Illustrator, Trace Bitmap in Inkscape), and " +
		"delete the embedded image.",
}), faultRule(svg.Animation, rule.Rule[*evidence]{
	Code: "bimi.logo.animation", Weight: 1,
	Title: "Logo is animated", Requirement: "The logo is not animated",
	Advice: "Remove the animation elements and keep the state that the logo is to be shown in.",
}), faultRule(svg.Stylesheet, rule.Rule[*evidence]{
	Code: "bimi.logo.stylesheet", Weight: 2,
	Title: "Logo uses CSS", Requirement: "The logo uses no CSS",
	Advice: "Export with presentation attributes (in Illustrator Styling: Presentation Attributes, in Inkscape Plain " +
		"SVG and Preferences for SVG output) and remove style elements and attributes: fill=\"#06c\" instead of " +
		"style=\"fill:#06c\".",
}), faultRule(svg.Link, rule.Rule[*evidence]{
	Code: "bimi.logo.link", Weight: 1,
	Title: "Logo contains links", Requirement: "The logo contains no links",
	Advice: "Remove the element and keep the shapes inside it: logos cannot be clicked.",
}), faultRule(svg.ForeignContent, rule.Rule[*evidence]{
	Code: "bimi.logo.foreign", Weight: 1,
	Title: "Logo contains HTML, audio or video", Requirement: "The logo contains no HTML, audio or video",
	Advice: "Remove foreignObject, audio, video and the like, and draw what they show with shapes. In Illustrator " +
		"export without \"Preserve Illustrator Editing Capabilities\".",
}), faultRule(svg.Font, rule.Rule[*evidence]{
	Code: "bimi.logo.font", Weight: 1,
	Title: "Logo embeds a font", Requirement: "The logo embeds no font",
	Advice: outlines,
})}

var profileRules = rule.Rules[*evidence]{faultRule(svg.Version, rule.Rule[*evidence]{
	Code: "bimi.logo.version", Weight: 2,
	Title: "SVG version is not 1.2", Requirement: "The SVG version is 1.2",
	Advice: `Write version="1.2" into the svg element. Drawing software has no such option: do it last, in a text editor.`,
}), faultRule(svg.Profile, rule.Rule[*evidence]{
	Code: "bimi.logo.base_profile", Weight: 2,
	Title: "baseProfile is not tiny-ps", Requirement: "The baseProfile is tiny-ps",
	Advice: `Write baseProfile="tiny-ps" into the svg element, once the image has no other fault. Drawing software has ` +
		`no ` +
		"such option: do it last, in a text editor.",
}), faultRule(svg.Effect, rule.Rule[*evidence]{
	Code: "bimi.logo.effect", Weight: 1,
	Title: "Logo uses filters, masks or clipping", Requirement: "The logo uses no filters, masks or clipping",
	Advice: "Remove the effect, or expand it into shapes (Object > Expand Appearance in Illustrator) and export again.",
}), faultRule(svg.EditorData, rule.Rule[*evidence]{
	Code: "bimi.logo.editor_data", Weight: 1,
	Title: "Logo has data of the drawing software", Requirement: "The logo has no data of the drawing software",
	Advice: "Export without it: Plain SVG or Optimized SVG in Inkscape, \"Export As\" in Illustrator. Otherwise remove " +
		"the elements and attributes of other namespaces, such as sodipodi:, inkscape: and rdf:.",
}), faultRule(svg.Element, rule.Rule[*evidence]{
	Code: "bimi.logo.element", Weight: 1,
	Title: "Logo has elements that SVG Tiny PS does not have", Requirement: "The logo has only elements of SVG Tiny PS",
	Advice: "Remove the element, or replace it with shapes: path, rect, circle, ellipse, line, polyline and polygon.",
}), faultRule(svg.Placement, rule.Rule[*evidence]{
	Code: "bimi.logo.placement", Weight: 1,
	Title: "Elements or text are where they must not be", Requirement: "All elements and text are where they may be",
	Advice: "Move the element or the text, or remove it: one title as the first element of svg; desc and metadata only " +
		"directly in svg; shapes only in svg, g and defs.",
}), faultRule(svg.Attribute, rule.Rule[*evidence]{
	Code: "bimi.logo.attribute", Weight: 2,
	Title:       "Logo has attributes that SVG Tiny PS does not have",
	Requirement: "The logo has only attributes of SVG Tiny PS",
	Advice:      "Remove the attribute. If the picture changes then, expand the effect into shapes and export again.",
}), faultRule(svg.Value, rule.Rule[*evidence]{
	Code: "bimi.logo.value", Weight: 1,
	Title: "Attributes have values that are not allowed", Requirement: "All attributes have values that are allowed",
	Advice: "Replace the value with one that the detail names, or remove the attribute.",
}), faultRule(svg.Malformed, rule.Rule[*evidence]{
	Code: "bimi.logo.value.malformed", Weight: 1, Ref: "SVG Tiny 1.2 chapter 4",
	Title:       "Attributes have values that software cannot read",
	Requirement: "All attributes have values that software can read",
	Advice:      "Correct the value: the schema accepts it, but the shape is drawn in part, in black, or not at all.",
}), faultRule(svg.Dangling, rule.Rule[*evidence]{
	Code: "bimi.logo.reference", Weight: 1, Ref: "SVG Tiny 1.2 chapter 14",
	Title: "References lead to nothing", Requirement: "All references lead to elements of the image",
	Advice: "Put back the element with that id, or remove the reference: what it should draw is missing or black.",
}), faultRule(svg.Base, rule.Rule[*evidence]{
	Code: "bimi.logo.base", Category: factorProfile, Ref: "SVG Tiny 1.2 chapter 5",
	Title: "xml:base is set", Requirement: "xml:base is not set",
	Advice: "Remove xml:base: references would lead out of the image, and cautious receivers refuse it.",
})}

var titleRules = rule.Rules[*evidence]{faultRule(svg.NoTitle, rule.Rule[*evidence]{
	Code: "bimi.logo.title.missing", Weight: 2,
	Title: "Logo has no title, or an empty one", Requirement: "The logo has a title",
	Advice: "Write <title>Name of the brand</title> directly after the svg tag: screen readers read it aloud.",
}), faultRule(svg.LongTitle, rule.Rule[*evidence]{
	Code: "bimi.logo.title.long", Weight: 1,
	Title:       "Title of the logo is longer than 64 characters",
	Requirement: "The title of the logo has at most 64 characters",
	Advice:      "Shorten the title to the name of the brand.",
}), faultRule(svg.PlaceholderTitle, rule.Rule[*evidence]{
	Code: "bimi.logo.title.placeholder", Weight: 1,
	Title: "Title of the logo is a placeholder", Requirement: "The title of the logo names the brand",
	Advice: "Write the name of the brand into the title: export software has put a placeholder there.",
})}

var designRules = rule.Rules[*evidence]{faultRule(svg.Size, rule.Rule[*evidence]{
	Code: "bimi.logo.size", Weight: 2,
	Title: "Logo is larger than 32 KiB", Requirement: "The logo has at most 32 KiB",
	Advice: "Make the file smaller: remove hidden layers and metadata, simplify paths, export with 2 decimal places. " +
		"Compression does not help, as the size without it counts.",
}), faultRule(svg.NoViewBox, rule.Rule[*evidence]{
	Code: "bimi.logo.view_box.missing", Weight: 1, Ref: refTiny,
	Title: "Logo has no viewBox", Requirement: "The logo has a viewBox",
	Advice: `Write a viewBox with the size of the drawing into the svg element, such as viewBox="0 0 64 64": without it ` +
		`the logo is not scaled but cropped.`,
}), faultRule(svg.BadViewBox, rule.Rule[*evidence]{
	Code: "bimi.logo.view_box.invalid", Weight: 1, Ref: refTiny,
	Title: "viewBox of the logo is not valid", Requirement: "The viewBox of the logo is valid",
	Advice: `Write four numbers into viewBox: left, top, width and height, such as "0 0 64 64".`,
}), faultRule(svg.NotSquare, rule.Rule[*evidence]{
	Code: "bimi.logo.square", Weight: 1,
	Title: "Logo is not square", Requirement: "The logo is square",
	Advice: "Place the logo in the middle of a square artboard, with some room at the edges, and export again: " +
		"mailboxes show it in a square or circle.",
}), faultRule(svg.Dimension, rule.Rule[*evidence]{
	Code: "bimi.logo.dimension", Weight: 1,
	Title: "Width or height of the logo is not absolute", Requirement: "The width and height of the logo are absolute",
	Advice: "Write width and height in pixels, the same for both and at least 96, or remove them: the viewBox is enough.",
}), faultRule(svg.Blank, rule.Rule[*evidence]{
	Code: "bimi.logo.blank", Weight: 1,
	Title: "Logo draws nothing", Requirement: "The logo draws something",
	Advice: "Draw the logo with shapes outside of defs: what is in defs is drawn only where use refers to it.",
}), faultRule(svg.Lettering, rule.Rule[*evidence]{
	Code: "bimi.logo.lettering", Category: factorDesign,
	Title: "Logo has text that depends on installed fonts", Requirement: "The logo has no text that depends on " +
		"installed fonts",
	Advice: "Convert text to outlines (Type > Create Outlines in Illustrator, Path > Object to Path in Inkscape), so " +
		"that it looks the same everywhere.",
}), faultRule(svg.Background, rule.Rule[*evidence]{
	Code: "bimi.logo.background", Category: factorDesign,
	Title: "Background of the logo may be transparent", Requirement: "The background of the logo is filled",
	Advice: "Put a rectangle with a solid color behind the logo, as large as the viewBox: mailboxes with a dark theme " +
		"show theirs otherwise.",
})}
