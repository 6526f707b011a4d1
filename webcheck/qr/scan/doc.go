// Package scan finds QR codes (ISO/IEC 18004) in an image and corrects their errors: call [Scan].
//
// The image is turned into dark and light pixels. Finder patterns are squares whose cross-section is dark, light,
// dark, light and dark as 1:1:3:1:1 from any side; three of them, about as large and about at a right angle, are a
// candidate. From where their rings end follow the size of a module, the number of modules and the corner without a
// finder; alignment patterns say how the paper bends between. The modules are sampled through the mapping that all this
// gives, and if the timing lines alternate as they must, Reed-Solomon decoding tells whether it was right.
//
// What no threshold and no size shows may show with another: the image is tried sharper, softer, smaller, larger and
// inverted, in a fixed order, until a code is found and no likely candidate is left. The work is counted in pixels and
// bounded by the size of the image, so that the same image has the same codes on any machine.
//
// Patterns, alignment and error correction are those of github.com/makiuchi-d/gozxing. Its readers are not used: the
// one for a single code may pick three patterns of which one is noise and then gives up, the one for several takes the
// cube of their number in time, and both guess dimensions once.
package scan
