package aggregate

import (
	"errors"
	"io"
)

// The limits of what Read takes. Data over the first five is a [LimitError]. Records over MaxRecords, texts over
// MaxText and results over MaxAuth are left out, and a Fault says so.
const (
	MaxSent     = 10 << 20  // bytes of a file
	maxExpanded = 100 << 20 // bytes of all that is in it, expanded
	maxRatio    = 200       // bytes expanded for each byte of the file, above minExpanded
	maxFiles    = 1000      // files in archives and parts of messages
	maxReports  = 50
	maxRecords  = 200_000 // of all reports together
	maxText     = 4096    // bytes of one element: names have 253, comments a few hundred
	maxUnread   = 20      // names in File.Unread
	maxAuth     = 100     // results of DKIM or SPF, overrides, extensions of one record or report
	maxErrors   = 20      // errors of one report
)

// maxMemory is what Read holds at worst beside the file that it is given, in bytes: a body of a message without its
// transfer encoding, an archive that was packed once more, and buffers. A report by itself takes 1 MiB.
const maxMemory = 40 << 20

const (
	// minExpanded is what any file may expand to: a small report compresses well.
	minExpanded = 1 << 20
	// maxNesting is how many containers may be in one another: a message, in it an archive, in it another,
	// with one to spare.
	maxNesting = 5
)

// A File is what Read found in a file.
type File struct {
	Reports []*Report // in the order of the file, at least one
	// Unread names files beside the reports, at most MaxUnread, that cannot be opened: damaged, protected by a
	// password, or compressed in another way. There may be reports in them.
	Unread []string
}

// Read finds the aggregate reports in a file, and calls each for each record as it is read. The file may be XML,
// or that in gzip, zip or tar, or a message with such attachments, or a mail box of messages (RFC 4155), also in one
// another; what it is decides its content, not its name. It is a notReportError if there is no report in it, and a
// [LimitError] if it is too large; an error of each ends it and is returned.
//
// The Record is used again for the next one: what is kept of its lists must be copied, not so its strings. Metadata and
// policy may stand behind the records, and are complete when Read returns; a Record holds the policy where it stands
// before. If it returns an error, the records so far count for nothing.
func Read(file []byte, each func(*Record) error) (*File, error) {
	if len(file) > MaxSent {
		return nil, &LimitError{"size", MaxSent}
	}
	o := &opener{each: each, left: maxExpanded, limit: LimitError{"expanded size", maxExpanded},
		room: maxRecords}
	if most := max(minExpanded, maxRatio*int64(len(file))); most < maxExpanded {
		o.left, o.limit = most, LimitError{"compression ratio", maxRatio}
	}
	if err := o.open(inMemory(file, "", nil)); err != nil {
		return nil, err
	}
	if len(o.found.Reports) == 0 {
		return nil, o.miss
	}
	return &o.found, nil
}

// readXML reads XML. What the source breaks off with is a Fault; the error is that of each, or a LimitError.
func (o *opener) readXML(src io.Reader) (*builder, error) {
	b := &builder{report: &Report{}, number: len(o.found.Reports), each: o.each, room: &o.room,
		faults: map[faultKey]int{}, names: map[string]string{}, idn: map[string]string{}}
	b.scan = scanner{src: src, buf: make([]byte, window), to: b}
	b.scan.run()
	if b.err != nil {
		return nil, b.err
	}
	if limit, ok := errors.AsType[*LimitError](b.scan.err); ok {
		return nil, limit
	}
	if b.isReport() {
		b.finish()
	}
	return b, nil
}

func (b *builder) isReport() bool {
	return b.has.feedback || b.has.metadata && b.has.policy || b.has.record
}

func (b *builder) finish() {
	r := b.report
	if !b.ended && (len(b.stack) > 0 || b.cut) {
		r.Truncated = true
		b.fault(truncated, b.path(), nil)
		if b.inRecord {
			r.Records++ // begun, not handed over
			b.inRecord = false
		}
	} else if len(b.stack) > 0 {
		b.fault(malformed, b.path(), nil) // around the report, which is whole
	}
	if b.scan.err != nil {
		b.fault(Damaged, "", nil)
	}
	if !b.has.feedback {
		b.fault(missing, "feedback", nil)
	}
	b.stack = nil
	b.require("report_metadata/org_name", r.Metadata.Organization)
	b.require("report_metadata/email", r.Metadata.Email)
	b.require("report_metadata/report_id", r.Metadata.ReportID)
	if r.Metadata.Begin.IsZero() {
		b.require("report_metadata/date_range/begin", "")
	}
	if r.Metadata.End.IsZero() {
		b.require("report_metadata/date_range/end", "")
	}
	b.require("policy_published/domain", r.Policy.Domain)
	b.require("policy_published/p", r.Policy.Policy)
	if r.Records == 0 {
		b.fault(missing, "record", nil)
	}
}
