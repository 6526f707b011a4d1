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
	each  func(*Record) error
	left  int64      // bytes that may still be expanded
	limit LimitError // the error when none are left
	files int        // that were examined
	held  int        // bytes that were expanded into memory, and are still looked into
	room  room

	names map[string]string // that are used again
	idn   map[string]string // names beyond ASCII, in their DNS form

	found File
	miss  *notReportError // the most telling of what was found instead
}

type file struct {
	name string
	in   []Container
	head []byte
	data []byte // all of it, if it is in memory
	rest io.Reader
}

func inMemory(data []byte, name string, in []Container) *file {
	return &file{shortName(name), in, data[:min(len(data), headSize)], data, bytes.NewReader(data)}
}

// shortName makes the name of a file displayable. Names in archives may be in any encoding.
func shortName(name string) string {
	return strings.ToValidUTF8(name[:min(len(name), maxName)], "\ufffd")
}

func (o *opener) streamed(r io.Reader, name string, in []Container) (*file, error) {
	b := bufio.NewReaderSize(&limited{o, r}, headSize)
	head, err := b.Peek(headSize)
	if len(head) == 0 && err != io.EOF || errors.Is(err, &o.limit) {
		return nil, err
	}
	return &file{shortName(name), in, head, nil, b}, nil
}

// all returns the contents of a file. What is expanded to that end must not be larger than what may be sent.
func (o *opener) all(f *file) ([]byte, error) {
	if f.data != nil {
		return f.data, nil
	}
	room := MaxSent - o.held
	data, err := io.ReadAll(io.LimitReader(f.rest, int64(room)+1))
	if o.held += len(data); len(data) > room {
		return nil, &LimitError{"size", MaxSent}
	}
	if limit, ok := errors.AsType[*LimitError](err); ok {
		return nil, limit
	}
	return data, nil // as far as it can be expanded
}

func (f *file) inside(c Container) []Container { return append(slices.Clip(f.in), c) }

type limited struct {
	o *opener
	r io.Reader
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.o.left -= int64(n); l.o.left < 0 {
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
		around = b.around()
		if s.next && b.ended {
			b.stack = nil // they are still open
		}
		switch {
		case b.isReport() && len(o.found.Reports) == maxReports:
			return &LimitError{"reports", maxReports}
		case b.isReport():
			b.finish()
			b.report.Container, b.report.Name = f.in, f.name
			o.found.Reports = append(o.found.Reports, b.report)
		case !found:
			o.missedXML(f, b)
		case b.cut || b.root != "":
			o.lost("what follows the last report in " + cmp.Or(f.name, "the XML"))
		}
		if b.packed || b.ended && b.cut {
			o.lost("what follows the XML in " + cmp.Or(f.name, "the file"))
		}
		if !s.next {
			return nil
		}
	}
}

func (o *opener) missedXML(f *file, b *builder) {
	switch {
	case strings.EqualFold(b.root, "html"):
		o.missed(f, contentHTML, "")
	case b.root != "":
		o.missed(f, contentXML, b.root)
	case b.scan.err != nil:
		o.missed(f, contentBroken, "")
	default:
		o.missed(f, contentText, "")
	}
}

// lost notes what cannot be opened, in which there may be reports.
func (o *opener) lost(name string) {
	if len(o.found.Unread) < maxUnread {
		o.found.Unread = append(o.found.Unread, name)
	}
}

// behind returns what follows an archive in the same file: another one, or XML; nil if there are only the zeros that
// fill a block.
func (o *opener) behind(f *file, rest io.Reader) *file {
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
	return &file{f.name, f.in, head, nil, b}
}

// telling orders what was found by how much it reveals about the mistake.
var telling = []content{contentEmpty, contentText, contentBinary, contentHTML, contentMessage, contentArchive,
	contentNoFiles, contentXML, contentJSON, contentCSV, contentBroken, contentUnsupported, contentRecord,
	contentOtherReport, contentFailure, contentTLSReport, contentEncrypted}

// missed records the content of a file that is not a report. Of several the most telling counts.
func (o *opener) missed(f *file, what content, detail string) {
	if what == contentBroken || what == contentEncrypted || what == contentUnsupported {
		o.lost(f.name)
	}
	if o.miss == nil || slices.Index(telling, what) > slices.Index(telling, o.miss.Content) {
		o.miss = &notReportError{what, f.name, detail}
	}
}
