// Package scan finds QR codes (ISO/IEC 18004) in an image and corrects their errors: call [Scan].
//
// The image is turned into dark and light pixels. Finder patterns are squares whose cross-section is dark, light,
// dark, light and dark as 1:1:3:1:1 from any direction; three of about equal size, at about a right angle, are a
// candidate. Their edges give the module size, the number of modules and the fourth corner; alignment patterns show
// how the paper bends in between. The modules are sampled through the resulting mapping, and if the timing patterns
// alternate as they must, Reed-Solomon decoding shows whether it was right.
//
// What one threshold or size does not show, another may: the image is tried sharper, softer, smaller, larger and
// inverted, in a fixed order, until a code is found and no likely candidate is left. A view that shows dark codes is
// searched for inverted ones as well. Work is counted in pixels and
// bounded by the size of the image, so the same image gives the same codes on any machine.
//
// An image without a QR code may show a code of another kind: [Foreign] names it where that is certain.
//
// Patterns, alignment and error correction are those of github.com/makiuchi-d/gozxing. Its readers are not used: the
// one for a single code may pick three patterns of which one is noise and then gives up, the one for several takes the
// cube of their number in time, and both guess dimensions once.
package scan
