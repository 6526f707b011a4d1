package aggregate

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
)

const (
	// headSize is how much of a file is looked at to tell what it is.
	headSize = 4096
	// maxName bounds the names of files and extensions, in bytes.
	maxName = 255
)

type opener struct {
	each  func(*Record) error
	left  int64      // bytes that may still be expanded
	limit LimitError // what it means that there are none
	files int        // that were looked at
	held  int        // bytes that were expanded into memory, and are still looked into
	room  int        // records that may still be read

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

// shortName makes a name of a file fit to be shown. Those in archives may be in any encoding.
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

func (o *opener) openXML(f *file) error {
	b, err := o.readXML(f.utf8())
	switch {
	case err != nil:
		return err
	case b.isReport() && len(o.found.Reports) == maxReports:
		return &LimitError{"reports", maxReports}
	case b.isReport():
		b.report.Container, b.report.Name = f.in, f.name
		o.found.Reports = append(o.found.Reports, b.report)
	case strings.EqualFold(b.root, "html"):
		o.missed(f, contentHTML, "")
	case b.root != "":
		o.missed(f, contentXML, b.root)
	case b.scan.err != nil:
		o.missed(f, contentBroken, "")
	default:
		o.missed(f, contentText, "")
	}
	return nil
}

// telling orders what was found by how much it says about the mistake that was made.
var telling = []content{contentEmpty, contentText, contentBinary, contentHTML, contentMessage, contentArchive,
	contentNoFiles, contentXML, contentJSON, contentCSV, contentBroken, contentUnsupported, contentRecord,
	contentOtherReport, contentFailure, contentTLSReport, contentEncrypted}

// missed notes what is in a file that is no report. Of several the most telling counts.
func (o *opener) missed(f *file, what content, detail string) {
	lost := what == contentBroken || what == contentEncrypted || what == contentUnsupported
	if lost && len(o.found.Unread) < maxUnread {
		o.found.Unread = append(o.found.Unread, f.name)
	}
	if o.miss == nil || slices.Index(telling, what) > slices.Index(telling, o.miss.Content) {
		o.miss = &notReportError{what, f.name, detail}
	}
}
