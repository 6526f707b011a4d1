package aggregate

import "fmt"

// A Container is what XML is wrapped in.
type Container string

// The containers that Read opens.
const (
	Message Container = "message"
	Gzip    Container = "gzip"
	Zip     Container = "zip"
	Tar     Container = "tar"
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
	What  string // "expanded size", "compression ratio", "nesting", "files", "reports"
	Limit int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("reading an aggregate report: %s over %d", e.What, e.Limit)
}
