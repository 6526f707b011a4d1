package aggregate

import "fmt"

// A Kind says what is odd about a report.
type Kind string

// The kinds of faults. Of those that lose something, what could be read before and after is kept.
const (
	// Records or values are lost.
	Truncated   Kind = "truncated"    // the file ends before the report does
	BadCount    Kind = "bad_count"    // the record is left out: its count is missing, negative or no number
	BadAddress  Kind = "bad_address"  // the record is kept without an address: source_ip is none
	BadValue    Kind = "bad_value"    // the value is none of those defined, or of another type
	TooLong     Kind = "too_long"     // the text is cut to MaxText bytes
	TooMany     Kind = "too_many"     // more of an element than is kept
	Missing     Kind = "missing"      // a required element is absent or empty
	Repeated    Kind = "repeated"     // an element that may be there once; the first counts
	Ambiguous   Kind = "ambiguous"    // several results where one is expected
	Malformed   Kind = "malformed"    // not well-formed XML: tags that do not match, an unescaped & or <
	BadEntity   Kind = "bad_entity"   // an entity that XML does not define; never expanded
	BadEncoding Kind = "bad_encoding" // bytes that are not in the encoding that is declared, or in UTF-8 without one
	BadChar     Kind = "bad_char"     // a control character that XML forbids
	Damaged     Kind = "damaged"      // the archive around the XML is broken: a check sum, or its end is missing

	// Nothing is lost.
	Doctype   Kind = "doctype"    // a document type declaration; skipped
	OddValue  Kind = "odd_value"  // a value in another form than defined, and clear: "Pass", "3.0", a date in words
	Empty     Kind = "empty"      // an element that must not be empty, and can be ignored, such as a reason without a type
	Unknown   Kind = "unknown"    // an element that no version of the format has; skipped
	Misplaced Kind = "misplaced"  // an element that belongs elsewhere; read all the same
	OldName   Kind = "old_name"   // a name of a draft
	NoProlog  Kind = "no_prolog"  // no XML declaration
	OtherName Kind = "other_name" // the file is named after another container than it is
)

// MaxPlaces is how many Places a Fault lists: as many as a reader looks at.
const MaxPlaces = 5

// A Fault is something odd that a report has, once or many times.
type Fault struct {
	Kind    Kind
	Element string  // the element concerned, below its section: "row/count", "auth_results/dkim/result"; may be empty
	Count   int     // how often it was met
	Places  []Place // the first MaxPlaces of them
}

// A Place is where a Fault is.
type Place struct {
	Record int    // number of the record, from 1; 0 outside of records
	Line   int    // of the XML, from 1
	Offset int64  // in the XML, in bytes
	Value  string // what stands there, shortened; may be empty
}

// A Container is what XML is wrapped in.
type Container string

// The containers that Read opens.
const (
	Message Container = "message"
	Gzip    Container = "gzip"
	Zip     Container = "zip"
	Base64  Container = "base64"
)

// A Content is what data is that is no aggregate report.
type Content string

// The contents that are recognized.
const (
	ContentEmpty       Content = "empty"        // no bytes, or blanks alone
	ContentTLSReport   Content = "tls_report"   // RFC 8460
	ContentFailure     Content = "failure"      // a failure report, RFC 9991 and RFC 6591
	ContentJSON        Content = "json"         // other JSON
	ContentHTML        Content = "html"         // a web page
	ContentXML         Content = "xml"          // XML with another root; Detail is its name
	ContentRecord      Content = "record"       // the DMARC record of a domain
	ContentCSV         Content = "csv"          // a table
	ContentMessage     Content = "message"      // a message without a report; Detail lists its parts
	ContentArchive     Content = "archive"      // an archive without a report; Detail lists its files
	ContentNoFiles     Content = "no_files"     // an archive without files
	ContentEncrypted   Content = "encrypted"    // an archive that a password protects
	ContentUnsupported Content = "unsupported"  // compressed in a way that reports are not; Detail names it
	ContentBroken      Content = "broken"       // an archive that yields nothing
	ContentText        Content = "text"         // other text
	ContentBinary      Content = "binary"       // other bytes; Detail names the format if it is known
	ContentOtherReport Content = "other_report" // a report by another mechanism, such as an ARF abuse report
)

// A NotReportError says that data holds no aggregate report, and what it holds.
type NotReportError struct {
	Content   Content
	Container []Container // what was opened, from the outside
	Name      string      // of the file that Content is about, as the archive or message gives it; may be empty
	Detail    string      // a name or list, for texts; may be empty
}

func (e *NotReportError) Error() string {
	return fmt.Sprintf("reading an aggregate report: the data is %s %s", e.Content, e.Detail)
}

// A LimitError says that data is larger than Read takes.
type LimitError struct {
	What  string // "expanded size", "compression ratio", "nesting"
	Limit int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("reading an aggregate report: %s over %d", e.What, e.Limit)
}
