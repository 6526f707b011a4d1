package aggregate

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/mailauth/message"
)

const maxNamed = 10

// maxFieldName is the longest name of a field below a separator, with its colon: the longest in use have 40.
const maxFieldName = 80

func (o *opener) openGzip(f *file) (next *file, err error) {
	packed := bufio.NewReader(f.reader)
	z, err := gzip.NewReader(packed)
	if err != nil {
		o.noteMismatch(f, contentBroken, "")
		return nil, nil
	}
	name := path.Base(z.Name)
	if z.Name == "" {
		name = strings.TrimSuffix(f.name, ".gz")
	}
	z.Multistream(false)
	m := &members{z: z, packed: packed}
	if err = o.openStream(m, name, f, Gzip); err == nil && m.ended {
		next = o.afterArchive(f, packed)
	}
	return next, err
}

// members reads all members of a gzip file (RFC 1952 section 2.2). Trailing data that is not a member, such as the
// zeros of a tape, ends them, where the reader of the standard library returns an error.
type members struct {
	z      *gzip.Reader
	packed *bufio.Reader
	ended  bool
}

func (m *members) Read(p []byte) (int, error) {
	n, err := m.z.Read(p)
	if err != io.EOF {
		return n, err
	}
	if next, _ := m.packed.Peek(2); string(next) != "\x1f\x8b" {
		m.ended = true
		return n, io.EOF
	}
	if err = m.z.Reset(m.packed); err == nil {
		m.z.Multistream(false)
	}
	return n, err
}

func (o *opener) openStream(r io.Reader, name string, f *file, c Container) error {
	inner, err := o.newStream(r, name, f.containersWith(c))
	if limit, ok := errors.AsType[*LimitError](err); ok {
		return limit
	}
	if err != nil {
		o.noteMismatch(f, contentBroken, "")
		return nil
	}
	return o.open(inner)
}

// The signatures of headers in a zip archive (APPNOTE.TXT sections 4.3.7, 4.3.12).
var (
	zipLocal   = []byte("PK\x03\x04")
	zipCentral = []byte("PK\x01\x02")
	zipEnd     = []byte("PK\x05\x06")
)

const zipLocalSize = 30 // APPNOTE.TXT section 4.3.7

// openZip opens archives one behind the other, of which the reader of the standard library sees the last.
func (o *opener) openZip(f *file) (next *file, err error) {
	data, err := o.readAll(f)
	if err != nil {
		return nil, err
	}
	data, rest := cutZip(data)
	if rest = bytes.TrimLeft(rest, "\x00 \t\r\n"); len(rest) > 0 {
		next = inMemory(rest, f.name, f.containers)
	}
	return next, o.openArchive(f, data)
}

// cutZip cuts data after the first archive in it, which ends with the end record whose directory directly precedes it
// (APPNOTE.TXT section 4.3.16): that of an archive within the archive does not.
func cutZip(data []byte) (first, rest []byte) {
	const size = 22
	for at := 0; ; at++ {
		i := bytes.Index(data[at:], zipEnd)
		if i < 0 || len(data)-at-i < size {
			return data, nil
		}
		at += i
		directory := int64(binary.LittleEndian.Uint32(data[at+12:])) + int64(binary.LittleEndian.Uint32(data[at+16:]))
		end := at + size + int(binary.LittleEndian.Uint16(data[at+20:]))
		if directory == int64(at) && end < len(data) {
			return data[:end], data[end:]
		}
	}
}

func (o *opener) openArchive(f *file, data []byte) error {
	if bytes.Count(data, zipCentral) > maxFiles {
		return &LimitError{"files", maxFiles} // the reader makes a struct of each
	}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return o.openLocal(f, data)
	}
	if !startsAt(data, archive.File) {
		o.noteUnread("the beginning of " + cmp.Or(f.name, "the archive"))
	}
	var names []string
	for _, entry := range archive.File {
		base := shortName(path.Base(entry.Name))
		if strings.HasSuffix(entry.Name, "/") || isClutter(entry.Name) {
			continue
		}
		names = append(names, base)
		if err := o.openEntry(f, entry, base); err != nil {
			return err
		}
	}
	o.noteArchive(f, names)
	return nil
}

// startsAt reports whether the first file of an archive is in its directory.
func startsAt(data []byte, files []*zip.File) bool {
	if len(data) < zipLocalSize || !bytes.HasPrefix(data, zipLocal) {
		return true
	}
	return slices.ContainsFunc(files, func(entry *zip.File) bool {
		at, err := entry.DataOffset()
		return err == nil && at == int64(localData(data))
	})
}

// localData returns the offset of the content of the first file of an archive.
func localData(data []byte) int {
	return zipLocalSize + int(binary.LittleEndian.Uint16(data[26:])) + int(binary.LittleEndian.Uint16(data[28:]))
}

func isClutter(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(name, "__MACOSX/") || strings.HasPrefix(base, "._") || base == ".DS_Store"
}

func (o *opener) noteArchive(f *file, names []string) {
	switch {
	case len(names) == 0:
		o.noteMismatch(f, contentNoFiles, "")
	case len(names) > 1:
		o.noteMismatch(f, contentArchive, joinNames(names))
	}
}

// openTar looks into the regular files of an archive (POSIX.1 pax and ustar). What is damaged ends it.
func (o *opener) openTar(f *file) (next *file, err error) {
	archive := tar.NewReader(f.reader)
	var names []string
	for {
		entry, err := archive.Next()
		if limit, ok := errors.AsType[*LimitError](err); ok {
			return nil, limit
		}
		if err != nil {
			o.noteArchive(f, names)
			if err == io.EOF {
				return o.afterArchive(f, f.reader), nil
			}
			o.noteMismatch(f, contentBroken, "")
			return nil, nil
		}
		if entry.Typeflag != tar.TypeReg || isClutter(entry.Name) {
			continue
		}
		base := shortName(path.Base(entry.Name))
		if len(names) <= maxNamed {
			names = append(names, base)
		}
		if err := o.openStream(archive, base, f, Tar); err != nil {
			return nil, err
		}
	}
}

func (o *opener) openEntry(f *file, entry *zip.File, name string) error {
	const encrypted = 1 // APPNOTE.TXT section 4.4.4, bit 0
	if entry.Flags&encrypted != 0 {
		o.noteMismatch(f, contentEncrypted, name)
		return nil
	}
	r, err := entry.Open()
	switch {
	case errors.Is(err, zip.ErrAlgorithm):
		o.noteMismatch(f, contentUnsupported, "zip method "+zipMethod(entry.Method))
		return nil
	case err != nil:
		o.noteMismatch(f, contentBroken, name)
		return nil
	}
	defer r.Close()
	return o.openStream(r, name, f, Zip)
}

// zipMethod names those of APPNOTE.TXT section 4.4.5 that are met.
func zipMethod(method uint16) string {
	names := map[uint16]string{9: "Deflate64", 12: "BZIP2", 14: "LZMA", 93: "Zstandard", 95: "XZ", 98: "PPMd", 99: "AES"}
	if name, ok := names[method]; ok {
		return name
	}
	return "unknown"
}

// openLocal opens the first file of an archive whose central directory is missing or broken.
func (o *opener) openLocal(f *file, data []byte) error {
	if len(data) < zipLocalSize || !bytes.HasPrefix(data, zipLocal) {
		o.noteMismatch(f, contentBroken, "")
		return nil
	}
	flags, method := binary.LittleEndian.Uint16(data[6:]), binary.LittleEndian.Uint16(data[8:])
	begin := localData(data)
	if begin >= len(data) {
		o.noteMismatch(f, contentBroken, "")
		return nil
	}
	name := string(data[zipLocalSize : zipLocalSize+int(binary.LittleEndian.Uint16(data[26:]))])
	switch {
	case flags&1 != 0:
		o.noteMismatch(f, contentEncrypted, shortName(name))
	case method == zip.Deflate:
		r := flate.NewReader(bytes.NewReader(data[begin:]))
		return o.openStream(&damaged{r}, path.Base(name), f, Zip)
	default:
		o.noteMismatch(f, contentBroken, "")
	}
	return nil
}

// damaged is a reader of an archive that is known to be damaged, although its contents may not be.
type damaged struct{ r io.Reader }

func (d *damaged) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	if err == io.EOF {
		err = zip.ErrFormat
	}
	return n, err
}

func (o *opener) openMessage(f *file) error {
	data, err := o.readAll(f)
	if err != nil {
		return err
	}
	var types []string
	for text := range messages(data) {
		for _, part := range message.Parts(text) {
			if len(types) <= maxNamed {
				types = append(types, part.Type)
			}
			if err := o.open(inMemory(part.Body(), part.Name, f.containersWith(Message))); err != nil {
				return err
			}
		}
	}
	o.noteMismatch(f, contentMessage, joinNames(types))
	return nil
}

// messages splits a mailbox at its separators: lines that begin with "From " after an empty line, with a field below
// them (RFC 4155 appendix A; not every program quotes such lines of text, but hardly one has a field below it). What
// has no separator is one message.
func messages(box []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		start := 0
		for at := range separators(box) {
			if at > start && !yield(box[start:at]) {
				return
			}
			start = max(start, at)
		}
		if start < len(box) {
			yield(box[start:])
		}
	}
}

// separators yields the offsets of separator lines.
func separators(box []byte) iter.Seq[int] {
	return func(yield func(int) bool) {
		for at := 0; ; {
			i := bytes.Index(box[at:], []byte("\nFrom "))
			if i < 0 {
				return
			}
			at += i + 1
			above := bytes.TrimSuffix(box[:at-1], []byte("\r"))
			_, below, _ := bytes.Cut(box[at:], []byte("\n"))
			name, _, found := bytes.Cut(below[:min(len(below), maxFieldName)], []byte(":"))
			isField := found && len(name) > 0 && bytes.IndexFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
			if bytes.HasSuffix(above, []byte("\n")) && isField && !yield(at) {
				return
			}
		}
	}
}

func (o *opener) openBase64(f *file) error {
	data, err := o.readAll(f)
	if err != nil {
		return err
	}
	return o.open(inMemory(decodeBase64(data), f.name, f.containersWith(Base64)))
}

// decodeBase64 decodes a text, and those behind it: padding ends each.
func decodeBase64(text []byte) []byte {
	digits := make([]byte, 0, len(text))
	for _, c := range text {
		if c > ' ' {
			digits = append(digits, c)
		}
	}
	data := digits[:0]
	for len(digits) > 0 {
		one, rest, _ := bytes.Cut(digits, []byte("="))
		n, err := base64.RawStdEncoding.Decode(digits, one)
		data = append(data, digits[:n]...)
		if digits = bytes.TrimLeft(rest, "="); err != nil {
			break
		}
	}
	return data
}

func joinNames(names []string) string {
	if len(names) > maxNamed {
		names = append(names[:maxNamed:maxNamed], "…")
	}
	return strings.Join(names, ", ")
}

// open opens a file, and the data after it.
func (o *opener) open(f *file) error {
	defer func(held int) { o.memoryUsed = held }(o.memoryUsed)
	for f != nil {
		next, err := o.openOne(f)
		if err != nil {
			return err
		}
		f = next
	}
	return nil
}

func (o *opener) openOne(f *file) (next *file, err error) {
	kind := sniff(f.head)
	if o.files++; o.files > maxFiles {
		return nil, &LimitError{"files", maxFiles}
	}
	if len(f.containers) == maxNesting && kind.content != formatXML && kind.opens() {
		return nil, &LimitError{"nesting", maxNesting}
	}
	switch kind.content {
	case formatXML:
		return nil, o.openXML(f)
	case formatGzip:
		return o.openGzip(f)
	case formatZip:
		return o.openZip(f)
	case formatTar:
		return o.openTar(f)
	case formatMessage:
		return nil, o.openMessage(f)
	case formatBase64:
		return nil, o.openBase64(f)
	}
	o.noteMismatch(f, kind.content, kind.detail)
	return nil, nil
}
