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

// A content is what data is that is no aggregate report.
type content string

// The contents that are recognized.
const (
	contentEmpty       content = "empty"        // no bytes, or blanks alone
	contentTLSReport   content = "tls_report"   // RFC 8460
	contentFailure     content = "failure"      // a failure report, RFC 9991 and RFC 6591
	contentJSON        content = "json"         // other JSON
	contentHTML        content = "html"         // a web page
	contentXML         content = "xml"          // XML with another root; Detail is its name
	contentRecord      content = "record"       // the DMARC record of a domain
	contentCSV         content = "csv"          // a table
	contentMessage     content = "message"      // a message without a report; Detail lists its parts
	contentArchive     content = "archive"      // an archive without a report; Detail lists its files
	contentNoFiles     content = "no_files"     // an archive without files
	contentEncrypted   content = "encrypted"    // an archive that a password protects
	contentUnsupported content = "unsupported"  // compressed in a way that reports are not; Detail names it
	contentBroken      content = "broken"       // an archive that yields nothing
	ContentText        content = "text"         // other text
	contentBinary      content = "binary"       // other bytes; Detail names the format if it is known
	contentOtherReport content = "other_report" // a report by another mechanism, such as an ARF abuse report
)

type notReportError struct {
	Content   content
	Container []Container // what was opened, from the outside
	Name      string      // of the file that Content is about, as the archive or message gives it; may be empty
	Detail    string      // a name or list, for texts; may be empty
}

func (e *notReportError) Error() string {
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
