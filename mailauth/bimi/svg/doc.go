// Package svg judges images against SVG Tiny Portable/Secure, the profile of SVG for logos of brands
// (draft-svg-tiny-ps-abrotman-12, "the draft" below): call [Decode] with a file as it was served, then [Validate] with
// the image.
//
// # How the profile works
//
// A logo is rendered by software that must not trust its author. The profile therefore removes from SVG Tiny 1.2 all
// that moves, runs, or reaches outside the document: scripts, event handlers, animations, links, raster images, style
// sheets, fonts. What remains is shapes, gradients, groups and text, 24 elements in all, with presentation attributes:
//
//	<svg xmlns="http://www.w3.org/2000/svg" version="1.2" baseProfile="tiny-ps" viewBox="0 0 64 64">
//	  <title>Example</title>
//	  <rect width="64" height="64" fill="#0b5fff"/>
//	</svg>
//
// The root has version 1.2, the baseProfile tiny-ps and no position; its first element is a title, shown where the
// image cannot be. An image should be square, at most 32 KiB, and without a transparent background.
//
// The profile is also published as a schema, which says which element may have which attributes and children.
// [Validate] implements all of it, and what it cannot express: documents with a DTD, entities or processing
// instructions are refused, as are references to other documents in values that the schema treats as text.
//
// # How to use the package
//
// [Validate] parses the XML strictly, in one pass and in linear time. It reports each violation as a [Fault] with
// element, attribute and position; [Kind.Severity] is the severity of its kind. [Document.Compliant] says whether the
// image follows the profile. The package uses no network; package mailauth/bimi/logo fetches logos.
package svg
