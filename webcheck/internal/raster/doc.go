// Package raster reads image files as shades of grey, in bounded memory: call [Probe], then [Read].
//
// [Probe] reads format, dimensions and memory needs from the header, and refuses what is too large before anything
// is decompressed. [Read] decodes the image, reduced by a whole factor to at most [MaxReduced] pixels.
//
//	header, err := raster.Probe(data)
//	…
//	img, err := raster.Read(ctx, data, header, 255)
//
// A file of 194 KB can hold 1.6 gigapixels, and decoders allocate them all on reading the header. PNG, where that is
// worst, is read row by row here; other formats use the Go project's decoders, whose needs are known per format.
package raster
