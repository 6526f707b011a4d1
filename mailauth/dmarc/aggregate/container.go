package aggregate

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"
)

const (
	// headSize is how much of a file is examined to detect its type.
	headSize = 4096
	// maxName bounds the names of files and extensions, in bytes.
	maxName = 255
)

type opener struct {
	each       func(*Record) error
	remaining  int64      // bytes that may still be expanded
	limit      LimitError // the error when none are left
	files      int        // that were examined
	memoryUsed int        // bytes that were expanded into memory, and are still looked into
	capacity   capacity

	names map[string]string // that are used again
	idn   map[string]string // names beyond ASCII, in their DNS form

	found    File
	mismatch *notReportError // the most telling of what was found instead
}

type file struct {
	name       string
	containers []Container
	head       []byte
	data       []byte // all of it, if it is in memory
	reader     io.Reader
}

func inMemory(data []byte, name string, in []Container) *file {
	return &file{shortName(name), in, data[:min(len(data), headSize)], data, bytes.NewReader(data)}
}

// shortName makes the name of a file displayable. Names in archives may be in any encoding.
func shortName(name string) string {
	return strings.ToValidUTF8(name[:min(len(name), maxName)], "\ufffd")
}

func (o *opener) newStream(r io.Reader, name string, in []Container) (*file, error) {
	b := bufio.NewReaderSize(&limited{o, r}, headSize)
	head, err := b.Peek(headSize)
	if len(head) == 0 && err != io.EOF || errors.Is(err, &o.limit) {
		return nil, err
	}
	return &file{shortName(name), in, head, nil, b}, nil
}

// readAll returns the contents of a file. What is expanded to that end must not be larger than what may be sent.
func (o *opener) readAll(f *file) ([]byte, error) {
	if f.data != nil {
		return f.data, nil
	}
	room := MaxSent - o.memoryUsed
	data, err := io.ReadAll(io.LimitReader(f.reader, int64(room)+1))
	if o.memoryUsed += len(data); len(data) > room {
		return nil, &LimitError{"size", MaxSent}
	}
	if limit, ok := errors.AsType[*LimitError](err); ok {
		return nil, limit
	}
	return data, nil // as far as it can be expanded
}

func (f *file) containersWith(c Container) []Container { return append(slices.Clip(f.containers), c) }

type limited struct {
	o *opener
	r io.Reader
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.o.remaining -= int64(n); l.o.remaining < 0 {
		return 0, &l.o.limit
	}
	return n, err
}

// openXML reads the reports in XML, one behind the other.
func (o *opener) openXML(f *file) error {
	s := &scanner{src: f.utf8(), buf: make([]byte, window)}
	var around []frame
	for found := false; ; found = true {
		b, err := o.readXML(s, around)
		if err != nil {
			return err
		}
		around = b.enclosing()
		if s.anotherReport && b.ended {
			b.stack = nil // they are still open
		}
		switch {
		case b.isReport() && len(o.found.Reports) == maxReports:
			return &LimitError{"reports", maxReports}
		case b.isReport():
			b.finish()
			b.report.Container, b.report.Name = f.containers, f.name
			o.found.Reports = append(o.found.Reports, b.report)
		case !found:
			o.noteXML(f, b)
		case b.cut || b.root != "":
			o.noteUnread("what follows the last report in " + cmp.Or(f.name, "the XML"))
		}
		if b.trailingData || b.ended && b.cut {
			o.noteUnread("what follows the XML in " + cmp.Or(f.name, "the file"))
		}
		if !s.anotherReport {
			return nil
		}
	}
}

func (o *opener) noteXML(f *file, b *builder) {
	switch {
	case strings.EqualFold(b.root, "html"):
		o.noteMismatch(f, contentHTML, "")
	case b.root != "":
		o.noteMismatch(f, contentXML, b.root)
	case b.scan.err != nil:
		o.noteMismatch(f, contentBroken, "")
	default:
		o.noteMismatch(f, contentText, "")
	}
}

// noteUnread notes what cannot be opened, in which there may be reports.
func (o *opener) noteUnread(name string) {
	if len(o.found.Unread) < maxUnread {
		o.found.Unread = append(o.found.Unread, name)
	}
}

// afterArchive returns what follows an archive in the same file: another one, or XML; nil if there are only the zeros
// that fill a block.
func (o *opener) afterArchive(f *file, rest io.Reader) *file {
	b := bufio.NewReaderSize(rest, headSize)
	for {
		c, err := b.ReadByte()
		if err != nil {
			return nil
		}
		if c != 0 && c > ' ' {
			break
		}
	}
	_ = b.UnreadByte() // it was read
	head, _ := b.Peek(headSize)
	return &file{f.name, f.containers, head, nil, b}
}

// contentOrder orders what was found by how much it reveals about the mistake.
var contentOrder = []content{contentEmpty, contentText, contentBinary, contentHTML, contentMessage, contentArchive,
	contentNoFiles, contentXML, contentJSON, contentCSV, contentBroken, contentUnsupported, contentRecord,
	contentOtherReport, contentFailure, contentTLSReport, contentEncrypted}

// noteMismatch records the content of a file that is not a report. Of several the most telling counts.
func (o *opener) noteMismatch(f *file, what content, detail string) {
	if what == contentBroken || what == contentEncrypted || what == contentUnsupported {
		o.noteUnread(f.name)
	}
	if o.mismatch == nil || slices.Index(contentOrder, what) > slices.Index(contentOrder, o.mismatch.Content) {
		o.mismatch = &notReportError{what, f.name, detail}
	}
}
