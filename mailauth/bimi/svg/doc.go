// Package svg judges images against SVG Tiny Portable/Secure, the profile of SVG for logos of brands
// (draft-svg-tiny-ps-abrotman-12, "the draft" below): call [Decode] with a file as it was served, then [Validate] with
// the image.
//
// # How the profile works
//
// A logo is shown to people by software that must trust nobody. So the profile takes SVG Tiny 1.2 and removes all that
// moves, runs, or reaches outside of the document: scripts, event handlers, animations, links, raster images, style
// sheets, fonts. What is left are shapes, gradients, groups and text, 24 elements in all, with presentation attributes:
//
//	<svg xmlns="http://www.w3.org/2000/svg" version="1.2" baseProfile="tiny-ps" viewBox="0 0 64 64">
//	  <title>Example</title>
//	  <rect width="64" height="64" fill="#0b5fff"/>
//	</svg>
//
// The root has version 1.2, the baseProfile tiny-ps and no position; its first element is a title, which stands for the
// image where it cannot be shown. An image should be square, at most 32 KiB long and without a transparent background.
//
// The profile is published as a schema besides, which says exactly which element may have which attribute and which
// children. [Validate] knows all of the schema, and what the schema cannot express: documents with a DTD, with
// entities or with processing instructions are refused, as are references to other documents in values that are just
// text to the schema.
//
// # How to use the package
//
// [Validate] reads the XML itself, strictly, in one pass and in time that is linear in its size. It reports each
// departure as a [Fault] with the element, the attribute and the place; a [Kind] tells what sort it is, [Kind.Severity]
// how grave. [Document.Compliant] sums up whether the image follows the profile. The package knows no network; the
// package mailauth/bimi/logo fetches logos.
package svg
