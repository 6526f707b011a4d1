// Package raster reads image files as shades of grey, in bounded memory.
//
// [Probe] tells from the first bytes what an image is, how large, and how much memory reading takes; it
// refuses what is too large before anything is decompressed. [Read] then reads it, reduced by a whole
// factor to at most [MaxReduced] pixels.
//
//	header, err := raster.Probe(data)
//	…
//	img, err := raster.Read(ctx, data, header, 255)
//
// A file of 194 KB can hold 1.6 gigapixels, and decoders allocate all of them at the sight of the header.
// PNG, where that is worst, is read row by row here; the other formats go through the decoders of the Go
// project, whose needs are known for each kind of file.
package raster
